"""Symbolic expressions: a derivative is built and simplified as expressions before any row is written.

A derivative graph that is written straight into the tables is full of `1 * g`
and `x ** 1`. So the sweeps run over expressions first. An expression stands for
a row that exists, or for a rule applied to other expressions; only those that the answers
depend on become rows. Constants of formulas stay plain floats.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Any

from ..core.number import number
from ..core.origin import user_frame_above
from ..core.progress import with_progress
from ..core.rules import Arithmetic, Rule
from ..core.tables import CONSTANT, Tables
from ..core.waiting import operator_entries
from .node_factory import handle
from .nodes import Constant, Node
from .simplify import simplify


class Expression(Arithmetic):
    """An existing node (`_row`), or the application of `rule` to `operands` that has no row yet."""

    __slots__ = ("_row", "number", "operands", "owner", "rule", "serial")

    def __init__(
        self, owner: Expressions, row: int | None = None, rule: Rule | None = None, operands: tuple[Any, ...] = ()
    ) -> None:
        self.owner = owner
        self._row: Any = row
        self.rule = rule
        self.operands = operands
        self.number: float | None = None  # the value, if it is a Constant
        # Sort key: existing rows by number, then new expressions in the order of their making.
        self.serial = owner.size + len(owner.planned) if row is None else row

    def apply(self, rule: Rule, *operands: Any) -> Any:
        checked = [x if type(x) in (Expression, float) else number(x, f"'{rule.name}'") for x in operands]
        return self.owner.apply(rule, tuple(checked))


class Expressions:
    """All expressions over one graph. Equal applications of a rule are one expression (hash-consing)."""

    def __init__(self, tables: Tables) -> None:
        self.tables, self.size = tables, len(tables)
        self.planned: list[Expression] = []  # in topological order
        self.memory: dict[int, dict[Any, Expression]] = defaultdict(dict)  # rule number -> operands -> expression

    def node(self, row: int, rule: Rule | None = None, operands: tuple[Any, ...] = ()) -> Expression:
        """The expression for an existing node."""
        expression = Expression(self, row, rule, operands)
        if rule is not None:
            self.memory[rule.number][operands] = expression
        elif self.tables.operators[row] == CONSTANT:
            expression.number = self.tables.values[row]
        return expression

    def apply(self, rule: Rule, operands: tuple[Any, ...]) -> Any:
        """Apply a rule to operands: an expression that exists already, a simpler one, or a new one."""
        memory, key = self.memory[rule.number], operands
        if 0.0 in operands:  # -0.0 == 0.0, but they are different operands
            key = tuple([x.hex() if type(x) is float else x for x in operands])
        expression = memory.get(key)
        if expression is None:
            simpler = simplify(rule, operands)
            if simpler is not None:
                return simpler
            expression = memory[key] = Expression(self, None, rule, operands)
            self.planned.append(expression)
        return expression

    def to_nodes(self, answers: list[Any]) -> list[Node]:
        """The answers as nodes: only what they depend on is appended to the tables; on an error, nothing is."""
        rows = self.rows(answers)
        self.memory.clear()  # all expressions now: they and this form reference cycles, left to the collector otherwise
        self.planned.clear()
        return [Constant(row) if isinstance(row, float) else handle(self.tables, row) for row in rows]

    def rows(self, answers: list[Any]) -> list[int | float]:
        """Write what the answers depend on; return the row of each, or the float if it is a number."""
        needed, frame = self._collect_needed(answers), user_frame_above()
        entries: list[Any] = []
        code, instruction = frame.f_code, frame.f_lasti
        for expression in with_progress(needed, "gradients", len(needed)):
            rule, left = expression.rule, expression.operands[0]
            assert rule is not None  # an expression without a row applies a rule
            is_new = type(left) is float or left._row is None  # existing nodes are not absorbed
            entries += operator_entries(rule.number, expression.operands, code, instruction, expression, is_new)
        self.tables.write_nodes(entries)  # which gives the expressions their rows
        return [answer._row if isinstance(answer, Expression) else answer for answer in answers]

    def _collect_needed(self, answers: Sequence[Any]) -> list[Expression]:
        """The expressions without a row that the answers depend on, in topological order."""
        reached, needed = set(answers), []
        for expression in reversed(self.planned):
            if expression in reached and expression._row is None:
                needed.append(expression)
                reached.update(expression.operands)
        return needed[::-1]
