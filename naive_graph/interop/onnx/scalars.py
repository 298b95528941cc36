"""Scalar nodes as they are written: one operator each, of numbers without axes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...core.plan import plan_for
from ...core.rules import Rule
from ...core.tables import CONSTANT, PLACEHOLDER, Tables
from ...graph.nodes import Node
from .drawn import applied
from .graph_builder import GraphBuilder, InputValue, StoredValue, Value
from .model_builder import Refused


class ScalarWriter:
    """Writes scalar nodes, each once. refused: where what cannot leave is noted."""

    def __init__(self, builder: GraphBuilder, refused: dict[str, None]) -> None:
        self.builder, self.refused = builder, refused
        self.rows: dict[Tables, dict[int, Value]] = {}

    def __call__(self, nodes: Sequence[Node]) -> list[Value]:
        """Nodes of one graph, and all that they depend on."""
        if not nodes:
            return []
        tables = nodes[0].tables
        rows = self.rows.setdefault(tables, {})
        missing = [node.row for node in nodes if node.row not in rows]
        if missing:
            self._write(tables, missing, rows)
        return [rows[node.row] for node in nodes]

    def _write(self, tables: Tables, targets: Sequence[int], rows: dict[int, Value]) -> None:
        plan = plan_for(tables, targets)
        for step, row in enumerate(plan.rows):
            if row in rows:
                continue
            rule, name = plan.rule(step), tables.name(row) or ""
            if rule is not None:
                scope = tables.scope(row)
                operands = [rows[plan.rows[each]] for each in plan.operands(step)]
                rows[row] = self._applied(rule, operands, name, scope.path if scope else "")
            else:
                rows[row] = self._leaf(tables, row, plan.kinds[step], name)

    def _leaf(self, tables: Tables, row: int, kind: int, name: str) -> Value:
        if kind == PLACEHOLDER:
            return InputValue(self.builder, (), name or "input")
        number: Any = tables.value(row)
        if number is None:
            self.refused[f"{tables.label(row)} has no value. Set it: x.value = 1.0"] = None
        array = np.array(0.0 if number is None else number)
        constant = kind == CONSTANT and not name
        return self.builder.constant(array) if constant else StoredValue(self.builder, array, name or "variable", True)

    def _applied(self, rule: Rule, operands: Sequence[Value], name: str, scope: str) -> Value:
        try:
            return applied(self.builder, rule, operands, name, scope)
        except Refused as refused:
            self.refused[str(refused)] = None
            return self.builder.constant(0.0)
