"""Write tensor nodes and scalar nodes into a graph, in topological order.

A call of a tensor operator is exported as the ONNX operator of its
mapping; if ONNX lacks it, as a local function with its name and
its composition as the body. Nodes without an operator call are exported by their
kind; scalar nodes by their rules.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from onnx import helper

from ...core.plan import plan_for
from ...core.rules import Rule
from ...core.tables import CONSTANT, PLACEHOLDER, Tables
from ...errors import ExportError
from ...graph.nodes import Node
from ...tensor.base import Call, TensorNode
from ...tensor.nodes import LeafNode, LeafType
from ...tensor.operators.families import RuleOperator
from ...tensor.operators.moves import transpose
from ...tensor.operators.operator_def import OperatorDef
from ...tensor.sparse_selector import SelectionNode
from ...training.model import ParameterLeaf
from ..network import InputLeaf
from .custom_ops import custom_name, describe_call
from .export_graph import GraphBuilder, function
from .export_rules import export_call, export_node
from .export_values import ExportRefused, InputValue, StoredValue, TransposedValue, Value

MOST_SAID = 10  # things that a message names


class NodeWriter:
    """Writes tensor nodes into a graph. root: a common scope prefix, omitted from names."""

    def __init__(self, builder: GraphBuilder, values: dict[TensorNode, Value] | None = None, root: str = "") -> None:
        self.builder, self.root = builder, root
        self.values: dict[TensorNode, Value] = values or {}
        self.inner: dict[TensorNode, Call | None] = {}  # result of a composition -> the call inside it, if any
        self.sources: dict[Any, Value] = {}  # a model's parameter -> its value
        self.refused: dict[str, None] = {}
        self.scalars = ScalarWriter(builder, self.refused)

    def write_or_raise(self, nodes: Sequence[TensorNode | Node]) -> list[Value]:
        """Write nodes and return their values. Raises ExportError that names all that cannot be exported."""
        values = self.write_all(nodes)
        if self.refused:
            reasons = [*self.refused]
            more = f"; and {len(reasons) - MOST_SAID} more" if len(reasons) > MOST_SAID else ""
            raise ExportError(f"Nothing was written: {'; '.join(reasons[:MOST_SAID])}{more}.")
        return values

    def write_all(self, nodes: Sequence[TensorNode | Node]) -> list[Value]:
        """Write nodes and return their values; reasons for refusals are collected."""
        for root in nodes:
            getattr(root, "home" if isinstance(root, TensorNode) else "row")  # raises an error if the node is stale
        tensors = [node for node in nodes if isinstance(node, TensorNode)]
        for tensor in self.find_needed(tensors):
            self.write(tensor)
        self.scalars([node for node in nodes if isinstance(node, Node)])
        return [self.value_of(node) for node in nodes]

    def reserve_names(self, names: Iterable[str], results: Sequence[TensorNode | Node]) -> None:
        """Reserve the names of outputs, except those that inputs and parameters have."""
        needed = self.find_needed(result for result in results if isinstance(result, TensorNode))
        leaf_names = {node.name for node in needed if _is_input_or_parameter(node)}
        self.builder.taken.update({name: 1 for name in names if name not in leaf_names})

    def value_of(self, node: Any) -> Value:
        """Return the value of a node that was written, or of a number or an array."""
        if isinstance(node, SelectionNode):
            return self.builder.constant(node.dense())
        if isinstance(node, Node):
            return self.scalars([node])[0]
        return self.values[node] if isinstance(node, TensorNode) else self.builder.constant(np.asarray(node, float))

    # --- dependencies ---

    def find_needed(self, results: Iterable[TensorNode]) -> list[TensorNode]:
        """Collect all nodes that these results need, in topological order."""
        needed: dict[TensorNode, None] = {}
        waiting = list(results)
        while waiting:
            node = waiting.pop()
            if node not in needed and node not in self.values and not isinstance(node, SelectionNode):
                needed[node] = None
                waiting.extend(self.dependencies(node))
        return sorted(needed, key=lambda tensor: tensor.serial)

    def dependencies(self, node: TensorNode) -> list[TensorNode]:
        """Return the tensors that a node is written from."""
        call = self.call(node)
        if call is None:
            return list(node.sources)
        operands = flat([*call.operands, *call.properties.values()])
        return operands + (
            self.captured_tensors(node, call, operands) if isinstance(call.operator, OperatorDef) else []
        )

    def call(self, node: TensorNode) -> Call | None:
        """The operator call that a node is exported as; None if it is exported by its kind."""
        return self.inner.get(node, node.call)

    def captured_tensors(self, node: TensorNode, call: Call, given: Sequence[TensorNode]) -> list[TensorNode]:
        """Tensors that a composition captures besides its operands: parameters, and closure variables."""
        captures: dict[TensorNode, None] = {}
        seen = set(given)
        waiting = list(call.results or (node,))
        while waiting:
            tensor = waiting.pop()
            if tensor in seen or isinstance(tensor, SelectionNode):
                continue
            seen.add(tensor)
            if tensor.serial < call.first or _is_input_or_parameter(tensor):
                captures[tensor] = None
            else:
                waiting.extend(tensor.reads)
        return sorted(captures, key=lambda capture: capture.serial)

    # --- writing ---

    def write(self, node: TensorNode) -> None:
        """Write one node, or all results of the call that made it."""
        if node in self.values:
            return
        call = self.call(node)
        results = (node,) if call is None or not isinstance(call.operator, OperatorDef) else call.results or (node,)
        try:
            if isinstance(node, LeafNode):
                values = [self.write_leaf(node)]
            elif call is None:
                values = [self.write_by_kind(node)]
            elif isinstance(call.operator, Rule):
                values = [self.write_rule(node, call)]
            else:
                values = self.write_operator_call(results, call)
        except ExportRefused as refused:
            self.refused[str(refused)] = None
            values = [self.builder.constant(0.0)] * len(results)
        self.values.update(zip(results, values))

    def write_by_kind(self, node: TensorNode) -> Value:
        before = len(self.builder.nodes)
        value = export_node(self.builder, node, self.value_of)
        if node.given_name and len(self.builder.nodes) > before:
            self.builder.rename_last(value, node.name)
        return value

    def write_leaf(self, leaf: LeafNode) -> Value:
        label = leaf.given_name or ("input", "parameter", "constant")[leaf.leaf_type]
        if isinstance(leaf, ParameterLeaf):
            return self.write_parameter(leaf)
        if leaf.nodes is not None:
            reshaped = [self.builder.reshape(scalar, (1,)) for scalar in self.scalars(leaf.nodes)]
            joined = self.builder.emit("Concat", reshaped, [(len(reshaped),)], label, axis=0)[0]
            return self.builder.reshape(joined, leaf.shape)
        if leaf.leaf_type == LeafType.INPUT:
            dtype = leaf.dtype if isinstance(leaf, InputLeaf) else np.dtype(float)
            kind = helper.np_dtype_to_tensor_dtype(dtype) if dtype.kind in "biu" else None
            return InputValue(self.builder, leaf.shape, label, kind)
        if leaf.value is None:
            raise ExportRefused(f"{leaf.label} has no value. Set it: t.value = an array of shape {leaf.shape}")
        return StoredValue(self.builder, np.asarray(leaf.value), label, leaf.leaf_type == LeafType.PARAMETER)

    def write_parameter(self, leaf: ParameterLeaf) -> Value:
        """A model's parameter, once for all leaves that read it; of a table its rows."""
        source = leaf.source
        if source not in self.sources:
            self.sources[source] = StoredValue(self.builder, source.values, source.name, True)
        value = self.sources[source]
        if leaf.rows is None:
            return value
        return self.builder.emit("Gather", [value, np.asarray(leaf.rows)], [leaf.shape], axis=0)[0]

    def write_rule(self, node: TensorNode, call: Call) -> Value:
        operands = [self.value_of(operand) for operand in call.operands]
        return self.builder.rule(call.operator, operands, node.given_name or "", self.scope(node, call))

    def write_operator_call(self, results: Sequence[TensorNode], call: Call) -> list[Value]:
        named = None if call.results else results[0].given_name
        label = named or (call.operator.name if self.builder.inside else call.name or call.operator.name)
        scope = self.scope(results[0], call)
        if call.operator is transpose and not named:
            perm = call.properties["axes"] or range(results[0].rank)[::-1]
            return [TransposedValue(self.value_of(call.operands[0]), [axis % results[0].rank for axis in perm], label)]
        if isinstance(call.operator, RuleOperator):
            return [
                self.builder.rule(
                    call.operator.rule, [self.value_of(operand) for operand in call.operands], label, scope
                )
            ]
        values = export_call(self.builder, call, results, self.value_of, label, scope)
        return self.write_local_function(results, call, label, scope) if values is None else values

    def write_local_function(self, results: Sequence[TensorNode], call: Call, label: str, scope: str) -> list[Value]:
        """Write the nodes inside an operator that ONNX lacks as a local function, and call it."""
        inside = GraphBuilder(self.builder.model_builder, inside=True)
        names = [name for name, operand in zip(call.operator.operand_names, call.operands) for _ in flat([operand])]
        fed: dict[TensorNode, InputValue] = {}
        for index, source in enumerate(self.dependencies(results[0])):
            if source not in fed:
                fed[source] = InputValue(inside, source.shape, names[index] if index < len(names) else "outside")
        scope_path = scope_of(results[0], call)
        writer = NodeWriter(inside, {**fed}, f"{scope_path}/{call.name}" if scope_path else call.name or "")
        writer.inner = dict.fromkeys(results, call.within)
        values = writer.write_all(results)
        self.refused.update(writer.refused)
        metadata = describe_call(call.operator.name, [*fed], call.operands, call.properties)
        function_name, attributes = custom_name(call)
        proto = function(inside, function_name, values, metadata)
        proto.attribute.extend(attributes)  # their values are already in the body
        name = self.builder.model_builder.enter(proto)
        shapes = [result.shape for result in results]
        return self.builder.call(name, [self.value_of(tensor) for tensor in fed], shapes, label, scope, attributes)

    def scope(self, node: TensorNode, call: Call) -> str:
        """The path of the scopes of this graph around a call."""
        path = scope_of(node, call)
        if not self.root:
            return path
        return path.removeprefix(f"{self.root}/") if path.startswith(f"{self.root}/") else ""


def _is_input_or_parameter(node: TensorNode) -> bool:
    """Whether a leaf is an input or a parameter, which no local function can contain."""
    return isinstance(node, LeafNode) and node.leaf_type != LeafType.CONSTANT


def scope_of(node: TensorNode, call: Call) -> str:
    """The path of the scopes around a call."""
    path = node.scope.path if node.scope else ""
    call_name = call.name or ""
    return path.removesuffix(call_name).rstrip("/") if path == call_name or path.endswith(f"/{call_name}") else path


def flat(operands: Iterable[Any]) -> list[TensorNode]:
    """Collect the tensors among operands and properties, also those in lists."""
    tensors: list[TensorNode] = []
    for operand in operands:
        if isinstance(operand, (list, tuple)):
            tensors.extend(x for x in operand if isinstance(x, TensorNode))
        elif isinstance(operand, TensorNode):
            tensors.append(operand)
    return tensors


# --- scalar nodes -------------------------------------------------------------


class ScalarWriter:
    """Writes scalar nodes, each once. refused: collects the reasons why some cannot be exported."""

    def __init__(self, builder: GraphBuilder, refused: dict[str, None]) -> None:
        self.builder, self.refused = builder, refused
        self.rows: dict[Tables, dict[int, Value]] = {}

    def __call__(self, nodes: Sequence[Node]) -> list[Value]:
        """Write scalar nodes of one graph and all that they depend on; return their values."""
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
                operands = [rows[plan.rows[operand]] for operand in plan.operands(step)]
                rows[row] = self._write_rule(rule, operands, name, scope.path if scope else "")
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

    def _write_rule(self, rule: Rule, operands: Sequence[Value], name: str, scope: str) -> Value:
        try:
            return self.builder.rule(rule, operands, name, scope)
        except ExportRefused as refused:
            self.refused[str(refused)] = None
            return self.builder.constant(0.0)
