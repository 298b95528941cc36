"""`to_onnx`: write tensors, scalars, models and networks as an ONNX file.

One walk writes all nodes in topological order: a call of a tensor operator as the ONNX operator of
its mapping (export_rules); if ONNX lacks it, as a local function with its name and its composition
as the body. Nodes without an operator call are written by their kind; scalar nodes by their rules.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from onnx import GraphProto, ModelProto, TensorProto, defs, helper

from ...core.files import path_of, write_atomically
from ...core.number import shortened
from ...core.plan import plan_for
from ...core.rules import Rule
from ...core.tables import CONSTANT, PLACEHOLDER, Tables
from ...core.version import __version__
from ...errors import ExportError
from ...graph.nodes import Node, Operator
from ...sequential.network import Network as Layers
from ...tensor.base import Call, TensorNode
from ...tensor.differentiate import ancestors
from ...tensor.nodes import LeafNode, LeafType
from ...tensor.operators.families import RuleOperator
from ...tensor.operators.moves import transpose
from ...tensor.operators.operator_def import OperatorDef
from ...tensor.sparse_selector import SelectionNode
from ...training.model import Model, ParameterLeaf
from ..network import ImportedNetwork, InputLeaf, Sizes
from .custom_ops import DOMAIN, PARAMETERS, SETTINGS, custom_name, describe_call
from .dynamic_axes import Written, write_with_dynamic_axes
from .export_graph import (
    ExportRefused,
    GraphBuilder,
    InputValue,
    ModelBuilder,
    StoredValue,
    TransposedValue,
    Value,
    make_function_proto,
    make_graph_proto,
)
from .export_rules import export_call, export_node
from .sequential_layers import write_layers

KINDS = {"float32": TensorProto.FLOAT, "float64": TensorProto.DOUBLE}
OLDEST, NEWEST = 18, 26  # opsets that runtimes read today
OPSET = 24
NEWEST_IR = 13
MOST_SAID = 10  # things that a message names
MOST_BYTES = 2**31 - 2**20  # protobuf's limit of 2 GB, less a reserve for everything but weights


def to_onnx(what: Any, path: str | os.PathLike[str], *, dtype: str = "float32", opset: int | None = None) -> Path:
    """Export to an ONNX file, written atomically.

    what: a tensor node, a scalar node, or several, in a list or by name in a dict,
    which become the results; what from_onnx or from_tensorflow gave; a Model, whose parameters
    become results; or a Sequential. dtype: "float32" or
    "float64". opset: from 18 to 26, by default 24. Parameters become initializers
    with their names, inputs stay inputs. Raises ExportError, which names
    what cannot be exported (of many things the first ten).

    >>> import tempfile
    >>> from naive_graph import LeafNode
    >>> x = LeafNode.input((2, 2), "x")
    >>> y = (x @ LeafNode.parameter([[1.0, 0.0], [2.0, 1.0]], "W")).softmax(name="y")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     to_onnx(y, folder + "/model.onnx").name
    'model.onnx'
    """
    target = path_of(path, ExportError)
    write_atomically(target, export_model(what, dtype, opset).SerializeToString(), ExportError)
    return target


def export_model(target: Any, dtype: str = "float32", opset: int | None = None) -> ModelProto:
    """Build the ModelProto that `to_onnx` writes."""
    try:
        return _build_model(target, ModelBuilder(*_check_options(dtype, opset)))
    except UnicodeEncodeError as error:
        name = shortened(error.object)
        raise ExportError(f"The name {name} is no text that a file can hold. Choose another.") from None


def _build_model(target: Any, model_builder: ModelBuilder) -> ModelProto:
    if isinstance(target, Layers):  # before Model: it is a subclass
        return make_model(model_builder, write_layers(model_builder, target), {SETTINGS: json.dumps(target.settings())})
    if isinstance(target, Model):
        return make_model(model_builder, _write_parameters(model_builder, target))
    if isinstance(target, ImportedNetwork):
        return make_model(*_write_imported(target, model_builder.real, model_builder.opset))
    return make_model(model_builder, _write_graph(model_builder, target))


def _write_imported(network: ImportedNetwork, element_type: int, opset: int) -> Written:
    """Write an imported network, with dynamic axes as named dimensions where possible."""
    built = network.with_sizes()
    shapes = tuple(built.inputs[slot.name].shape for slot in network.slots)

    def write(sizes: Sizes) -> Written:
        model_builder = ModelBuilder(element_type, opset, has_dynamic_axes=sizes != shapes)
        nodes = built if sizes == shapes else network.build(sizes)
        return model_builder, _write_graph(model_builder, nodes.outputs)

    return write_with_dynamic_axes(network, shapes, write)


def _write_graph(model_builder: ModelBuilder, target: Any) -> GraphProto:
    names: list[Any] = [*target] if isinstance(target, dict) else []
    results = [target]
    if names:
        results = [*target.values()]
    elif isinstance(target, (list, tuple)):
        results = [*target]
    if not all(isinstance(name, str) for name in names):
        raise ExportError(f"The results of a dict are called by texts, not by {shortened(names)}.")
    if not results or not all(isinstance(result, (TensorNode, Node)) for result in results):
        kinds = "a tensor node, a scalar node, several in a list or dict, a Model or a Sequential"
        raise ExportError(f"to_onnx takes {kinds}, not {shortened(target)}.")
    builder = GraphBuilder(model_builder)
    writer = NodeWriter(builder)
    names = names or [*map(_own_name, results)]
    writer.reserve_names(names, results)
    return make_graph_proto(builder, "naive_graph", writer.write_or_raise(results), names)


def _own_name(result: TensorNode | Node) -> str:
    """The name that the user gave a result, else empty; empty for a scalar leaf, too: its output is a copy."""
    if isinstance(result, TensorNode):
        return result.given_name or ""
    return result.name or "" if isinstance(result, Operator) else ""


def _check_options(dtype: Any, opset: Any) -> tuple[int, int]:
    if not isinstance(dtype, str) or dtype not in KINDS:
        raise ExportError(f'dtype is "float32" or "float64", not {shortened(dtype)}.')
    newest = min(NEWEST, defs.onnx_opset_version())
    chosen = min(OPSET, newest) if opset is None else opset
    if not isinstance(chosen, int) or isinstance(chosen, bool) or not OLDEST <= chosen <= newest:
        raise ExportError(f"opset is a whole number from {OLDEST} to {newest}, not {shortened(opset)}.")
    return KINDS[dtype], chosen


def make_model(model_builder: ModelBuilder, graph_proto: GraphProto, metadata: Mapping[str, str] = {}) -> ModelProto:
    """Wrap a graph as a ModelProto, with the local functions that it calls."""
    if sum(len(tensor.raw_data) for tensor in graph_proto.initializer) > MOST_BYTES:
        much = "The weights take more than the 2 GB that an ONNX file can hold"
        raise ExportError(f'{much}. Write dtype="float32", or fewer of them.')
    opsets = [helper.make_opsetid("", model_builder.opset)]
    if model_builder.functions:
        opsets.append(helper.make_opsetid(DOMAIN, 1))
    version = min(NEWEST_IR, max(10, helper.find_min_ir_version_for(opsets, ignore_unknown=True)))
    functions = list(model_builder.functions.values())
    model = helper.make_model(graph_proto, opset_imports=opsets, ir_version=version, functions=functions)
    model.producer_name, model.producer_version = "naive_graph", __version__
    for key, text in {**metadata, PARAMETERS: json.dumps(model_builder.learned)}.items():
        model.metadata_props.add(key=key, value=text)
    return model


def _write_parameters(model_builder: ModelBuilder, model: Model) -> GraphProto:
    """Write a model's parameters as the outputs of a graph."""
    builder = GraphBuilder(model_builder)
    values = [StoredValue(builder, parameter.values, parameter.name, True) for parameter in model]
    names = [value.form() for value in values]
    infos = [helper.make_tensor_value_info(name, model_builder.real, value.shape) for name, value in zip(names, values)]
    return helper.make_graph([], "naive_graph", [], infos, builder.weights)


# --- the walk over all nodes ---


class NodeWriter:
    """Writes tensor nodes into a graph. root: a common scope prefix with a slash, omitted from names."""

    def __init__(self, builder: GraphBuilder, values: dict[TensorNode, Value] | None = None, root: str = "") -> None:
        self.builder, self.root = builder, root
        self.values: dict[TensorNode, Value] = values or {}
        self.inner: dict[TensorNode, Call | None] = {}  # result of a composition -> the call inside it, if any
        self.sources: dict[Any, Value] = {}  # a model's parameter -> its value
        self.refused: dict[str, None] = {}
        self.scalars: dict[Tables, dict[int, Value]] = {}  # values of rows

    def write_or_raise(self, nodes: Sequence[TensorNode | Node]) -> list[Value]:
        """Write nodes and return their values. Raises ExportError, which names what cannot be exported."""
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
        for tensor in ancestors(tensors, predecessors=self.dependencies):
            self.write(tensor)
        self.write_scalars([node for node in nodes if isinstance(node, Node)])
        return [self.value_of(node) for node in nodes]

    def reserve_names(self, names: Iterable[str], results: Sequence[TensorNode | Node]) -> None:
        """Reserve the names of outputs, except those that inputs and parameters have."""
        tensors = [result for result in results if isinstance(result, TensorNode)]
        needed = ancestors(tensors, predecessors=self.dependencies)
        leaf_names = {node.name for node in needed if _is_input_or_parameter(node)}
        self.builder.taken.update({name: 1 for name in names if name not in leaf_names})

    def value_of(self, node: Any) -> Value:
        """Return the value of a node that was written, or of a number or an array."""
        if isinstance(node, SelectionNode):
            return self.builder.constant(node.dense())
        if isinstance(node, Node):
            return self.write_scalars([node])[0]
        return self.values[node] if isinstance(node, TensorNode) else self.builder.constant(np.asarray(node, float))

    # --- dependencies ---

    def dependencies(self, node: TensorNode) -> Sequence[TensorNode]:
        """The tensors that a node is written from; none if it is written already."""
        if node in self.values or isinstance(node, SelectionNode):
            return ()
        call = self.call(node)
        if call is None:
            return node.sources
        operands = flat([*call.operands, *call.properties.values()])
        is_composed = isinstance(call.operator, OperatorDef)
        return operands + (self.captured_tensors(node, call, operands) if is_composed else [])

    def call(self, node: TensorNode) -> Call | None:
        """The operator call that a node is exported as; None if it is exported by its kind."""
        return self.inner.get(node, node.call)

    def captured_tensors(self, node: TensorNode, call: Call, given: Sequence[TensorNode]) -> list[TensorNode]:
        """Tensors that a composition captures besides its operands: parameters, and closure variables."""

        def is_outside(tensor: TensorNode) -> bool:
            return tensor.serial < call.first or _is_input_or_parameter(tensor)

        known = set(given)
        inner = ancestors(call.results or (node,), predecessors=lambda tensor: (
            () if tensor in known or is_outside(tensor) else tensor.reads
        ))  # fmt: skip
        return [tensor for tensor in inner
                if is_outside(tensor) and tensor not in known and not isinstance(tensor, SelectionNode)]  # fmt: skip

    # --- writing ---

    def write(self, node: TensorNode) -> None:
        """Write one node, or all results of the call that made it."""
        if node in self.values or isinstance(node, SelectionNode):
            return
        call = self.call(node)
        results = (node,) if call is None or not isinstance(call.operator, OperatorDef) else call.results or (node,)
        try:
            if isinstance(node, LeafNode):
                values = [self.write_leaf(node)]
            elif call is None:
                values = [self.write_by_kind(node)]
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
            reshaped = [self.builder.reshape(scalar, (1,)) for scalar in self.write_scalars(leaf.nodes)]
            joined = self.builder.emit("Concat", reshaped, [(len(reshaped),)], label, attributes={"axis": 0})[0]
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
        return self.builder.emit("Gather", [value, np.asarray(leaf.rows)], [leaf.shape], attributes={"axis": 0})[0]

    def write_operator_call(self, results: Sequence[TensorNode], call: Call) -> list[Value]:
        named = None if call.results else results[0].given_name
        label = named or (call.operator.name if self.builder.inside else call.name or call.operator.name)
        scope = self.scope(results[0], call)
        if call.operator is transpose and not named:
            perm = call.properties["axes"] or range(results[0].rank)[::-1]
            return [TransposedValue(self.value_of(call.operands[0]), [axis % results[0].rank for axis in perm], label)]
        if isinstance(call.operator, (Rule, RuleOperator)):
            rule = call.operator if isinstance(call.operator, Rule) else call.operator.rule
            return [self.builder.rule(rule, [*map(self.value_of, call.operands)], label, scope)]
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
        root = "".join(f"{part}/" for part in (scope_of(results[0], call), call.name) if part)
        writer = NodeWriter(inside, {**fed}, root)
        writer.inner = dict.fromkeys(results, call.within)
        values = writer.write_all(results)
        self.refused.update(writer.refused)
        metadata = describe_call(call.operator.name, [*fed], call.operands, call.properties)
        function_name, attributes = custom_name(call)
        proto = make_function_proto(inside, function_name, values, metadata)
        proto.attribute.extend(attributes)  # their values are already in the body
        name = self.builder.model_builder.enter(proto)
        shapes = [result.shape for result in results]
        more: dict[str, Any] = {"domain": DOMAIN, "attributes": attributes}
        return self.builder.emit(name, [*map(self.value_of, fed)], shapes, label, scope=scope, **more)

    def scope(self, node: TensorNode, call: Call) -> str:
        """The path of the scopes of this graph around a call."""
        path = scope_of(node, call)
        return path.removeprefix(self.root) if path.startswith(self.root) else ""

    # --- scalar nodes ---

    def write_scalars(self, nodes: Sequence[Node]) -> list[Value]:
        """Write scalar nodes of one graph and all that they depend on, each once; return their values."""
        if not nodes:
            return []
        tables = nodes[0].tables
        values = self.scalars.setdefault(tables, {})
        missing = [node.row for node in nodes if node.row not in values]
        if not missing:
            return [values[node.row] for node in nodes]
        plan = plan_for(tables, missing)
        for step, row in enumerate(plan.rows):
            if row in values:
                continue
            rule, name = plan.rule(step), tables.name(row) or ""
            if rule is None:
                values[row] = self.write_scalar_leaf(tables, row, plan.kinds[step], name)
                continue
            scope, operands = tables.scope(row), [values[plan.rows[operand]] for operand in plan.operands(step)]
            try:
                values[row] = self.builder.rule(rule, operands, name, scope.path if scope else "")
            except ExportRefused as refused:
                self.refused[str(refused)] = None
                values[row] = self.builder.constant(0.0)
        return [values[node.row] for node in nodes]

    def write_scalar_leaf(self, tables: Tables, row: int, kind: int, name: str) -> Value:
        if kind == PLACEHOLDER:
            return InputValue(self.builder, (), name or "input")
        number: Any = tables.value(row)
        if number is None:
            self.refused[f"{tables.label(row)} has no value. Set it: x.value = 1.0"] = None
        array = np.array(0.0 if number is None else number)
        if kind == CONSTANT and not name:
            return self.builder.constant(array)
        return StoredValue(self.builder, array, name or "variable", True)


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
