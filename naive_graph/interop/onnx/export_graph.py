"""Builders of ONNX graphs: the GraphProto of a model, and its local functions (FunctionProto)."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from onnx import FunctionProto, GraphProto, NodeProto, TensorProto, defs, helper

from ...core.rules import Rule
from ...errors import NaiveGraphError
from ...tensor.evaluation.entries import VALUES
from ...tensor.operators.table import TABLE
from .custom_ops import DOMAIN, describe_call
from .export_values import (
    BOOL,
    DOUBLE,
    FLOAT,
    INT32,
    INT64,
    ArrayFunctions,
    ExportRefused,
    Extents,
    InputValue,
    Order,
    StoredValue,
    TransposedValue,
    Value,
    unique_name,
)

SHARED = 64  # unnamed constants up to so many entries are written once and shared
SPELT = {FLOAT: "float", DOUBLE: "double", BOOL: "bool", INT64: "int64", INT32: "int32"}


class EntryTypes(NamedTuple):
    """Entry types of an operator: of each input (as float, as integer) and of each result; the last repeats."""

    inputs: list[tuple[int, int]]
    outputs: list[int]


def _first_allowed_type(kinds: Iterable[int], types: Collection[str]) -> int:
    return next((kind for kind in kinds if f"tensor({SPELT[kind]})" in types), TensorProto.UNDEFINED)


class ModelBuilder:
    """State shared by all graphs of one model: float type, opset, local functions."""

    def __init__(self, real: int, opset: int, has_dynamic_axes: bool = False) -> None:
        self.real, self.opset, self.has_dynamic_axes = real, opset, has_dynamic_axes
        self.functions: dict[bytes, FunctionProto] = {}  # by serialized content
        self.names: dict[str, int] = {}  # function names, and how often each is used
        self.named: dict[Any, str] = {}  # scalar rule -> the name of its function
        self.known: dict[str, EntryTypes] = {}
        self.learned: list[str] = []  # names of parameters

    def schema(self, operator: str) -> Any:
        return defs.get_schema(operator, self.opset, "")

    def kinds(self, operator: str) -> EntryTypes:
        """Entry types in which we call an operator, by its schema."""
        if operator not in self.known:
            schema, reals = self.schema(operator), (self.real, BOOL, INT64, INT32)
            as_float = [_first_allowed_type(reals, port.types) for port in schema.inputs]
            as_integer = [_first_allowed_type((INT64, INT32, *reals), port.types) for port in schema.inputs]
            outputs = [_first_allowed_type(reals, port.types) for port in schema.outputs]
            self.known[operator] = EntryTypes([*zip(as_float, as_integer)], outputs)
        return self.known[operator]

    def enter(self, function: FunctionProto) -> str:
        """Add a local function, if none is equal to it, and return its name: its operator's, numbered if need be."""
        key = function.SerializeToString(deterministic=True)
        if key not in self.functions:
            function.name = unique_name(self.names, function.name)
            self.functions[key] = function
        return self.functions[key].name


class GraphBuilder:
    """Writes one graph. inside: whether it is a local function's body, which has no initializers."""

    def __init__(self, model_builder: ModelBuilder, inside: bool = False) -> None:
        self.model_builder, self.inside = model_builder, inside
        self.real, self.opset = model_builder.real, model_builder.opset
        self.nodes: list[NodeProto] = []
        self.fed: list[InputValue] = []
        self.weights: list[TensorProto] = []
        self.taken: dict[str, int] = {}  # names of values
        self.called: dict[str, int] = {}  # names of nodes
        self.given: set[str] = set()  # names of results
        self.constants: dict[Any, StoredValue] = {}

    def constant(self, value: Any) -> Value:
        """Write an unnamed constant; small ones are shared, except sizes that may become dynamic."""
        array = np.asarray(value)
        is_integer = array.dtype.kind in "iu"
        array = array.astype(np.int64) if is_integer else array
        value_node = StoredValue(self, array, "sizes" if is_integer else "constant")
        if array.size > SHARED or (is_integer and self.model_builder.has_dynamic_axes):
            return value_node
        return self.constants.setdefault((array.tobytes(), array.shape, array.dtype.kind), value_node)

    def hold(self, tensor: TensorProto) -> None:
        """Store a tensor: as an initializer of the model, or as a Constant node of a function."""
        if self.inside:
            self.node("Constant", [], [tensor.name], tensor.name, value=tensor)
        else:
            self.weights.append(tensor)

    def emit(
        self, operator: str, operands: Sequence[Any], shapes: Sequence[Extents], label: str = "", *, scope: str = "",
        orders: Mapping[int, Order | None] = {}, turned: Sequence[Order | None] = (), **attributes: Any,
    ) -> list[Value]:  # fmt: skip
        """Write one node; inputs are cast and transposed to what the operator takes.

        operands: values, numbers or arrays, or None for an input that is left out.
        shapes: of the results. orders: how the axes of an input stand there, by
        position. turned: how those of the results do.
        """
        kinds, inputs = self.model_builder.kinds(operator), []
        for position, operand in enumerate(operands):
            if operand is None:
                inputs.append("")
                continue
            value = operand if isinstance(operand, Value) else self.constant(operand)
            kind = kinds.inputs[min(position, len(kinds.inputs) - 1)][value.exact]
            inputs.append(value.form(kind, orders.get(position)))
        while inputs and not inputs[-1]:
            inputs.pop()
        label = label or operator.lower()
        more: dict[str, Any] = {"scope": scope, "attributes": attributes, "turned": turned}
        return self._write(operator, inputs, shapes, kinds.outputs, label, **more)

    def call(
        self, function: str, given: Sequence[Value], shapes: Sequence[Extents], label: str, scope: str = "",
        attributes: Mapping[str, Any] = {},
    ) -> list[Value]:  # fmt: skip
        """Write a call of a local function."""
        inputs = [value.form() for value in given]
        more: dict[str, Any] = {"scope": scope, "attributes": attributes, "domain": DOMAIN}
        return self._write(function, inputs, shapes, [self.real], label, **more)

    def _write(
        self, operator: str, inputs: Sequence[str], shapes: Sequence[Extents], kinds: Sequence[int], label: str,
        *, scope: str, attributes: Mapping[str, Any], turned: Sequence[Order | None] = (), domain: str = "",
    ) -> list[Value]:  # fmt: skip
        """Write a node; return its results. kinds: their entry types, of which the last repeats."""
        results, outputs = [], []
        for index, shape in enumerate(shapes):
            result = Value(self, shape, label if len(shapes) == 1 else f"{label}_{index}")
            order = turned[index] if index < len(turned) else None
            name = unique_name(self.taken, result.label)
            result.forms[kinds[min(index, len(kinds) - 1)], order or result.natural_order] = name
            results.append(result)
            outputs.append(name)
        # Names of imported networks begin with their scopes.
        inside = not scope or label.removeprefix("/").startswith((f"{scope}/", f"{scope.replace('/', '.')}."))
        self.node(operator, inputs, outputs, label if inside else f"{scope}/{label}", domain=domain, **attributes)
        return results

    def node(self, operator: str, inputs: Sequence[str], outputs: Sequence[str], name: str, **attributes: Any) -> None:
        self.nodes.append(helper.make_node(operator, inputs, outputs, unique_name(self.called, name), **attributes))

    def rename_last(self, value: Value, label: str) -> None:
        """Rename the last node and its value to the name that the user gave."""
        form = self.real, value.natural_order
        last = self.nodes[-1]
        if list(last.output) == [value.forms.get(form)]:
            value.label = label
            value.forms[form] = last.output[0] = unique_name(self.taken, label)
            last.name = unique_name(self.called, label)

    # --- rules, entry by entry ---

    def value(self, operand: Any) -> Value:
        """Convert an operand of a rule to a Value: a Value, a number, or an array."""
        if isinstance(operand, Value):
            return operand
        array = np.asarray(operand)
        return self.constant(array if array.dtype == bool else array.astype(float))

    def emit_elementwise(
        self, operator: str, operands: Sequence[Any], label: str = "", scope: str = "", **attributes: Any
    ) -> Value:
        """Write one elementwise operator; operands broadcast as in NumPy."""
        values = [self.value(operand) for operand in operands]
        order = common_order(values)
        orders = {position: order for position, value in enumerate(values) if value.shape}
        shape = np.broadcast_shapes(*(value.shape for value in values))
        return self.emit(operator, values, [shape], label, scope=scope, orders=orders, turned=[order], **attributes)[0]

    def rule(self, rule: Rule, operands: Sequence[Any], label: str = "", scope: str = "") -> Value:
        """Write a scalar rule elementwise: as one operator, or as a call of its local function. Raises Refused."""
        name = onnx_name(rule, self.opset)
        if name is None:
            values = [self.value(operand) for operand in operands]
            shape = np.broadcast_shapes(*(value.shape for value in values))
            return self.call(_rule_function(self.model_builder, rule, len(values)), values, [shape],
                             label or rule.name, scope)[0]  # fmt: skip
        if rule.arity is None and len(operands) != 2:
            if rule.name == "add":
                return self.emit_elementwise("Sum", operands, label, scope)
            first, *rest = operands
            for index, factor in enumerate(rest):  # ONNX multiplies two at a time
                last = index == len(rest) - 1
                first = self.emit_elementwise(name, [first, factor], label if last else "", scope)
            return self.value(first)
        return self.emit_elementwise(name, operands, label, scope)

    # --- common operators ---

    def reshape(self, value: Value, shape: Sequence[int]) -> Value:
        shape = tuple(shape)
        return value if shape == value.shape else self.emit("Reshape", [value, _int64_array(shape)], [shape])[0]

    def transpose(self, value: Value, order: Sequence[int]) -> Value:
        if tuple(order) == value.natural_order:
            return value
        return self.emit("Transpose", [value], [[value.shape[axis] for axis in order]], perm=list(order))[0]

    def expand(self, value: Value, shape: Sequence[int]) -> Value:
        """Expand to a shape; extents that stay are written as 1, which Expand keeps."""
        shape = tuple(shape)
        aligned_shape = (*[1] * (len(shape) - len(value.shape)), *value.shape)
        expand_extents = [1 if extent == due else due for extent, due in zip(aligned_shape, shape)]
        return value if shape == value.shape else self.emit("Expand", [value, _int64_array(expand_extents)], [shape])[0]

    def total(self, value: Value, axes: Sequence[int]) -> Value:
        """Sum over some axes, which are dropped."""
        rest = [extent for axis, extent in enumerate(value.shape) if axis not in axes]
        return self.emit("ReduceSum", [value, _int64_array(axes)], [rest], keepdims=0)[0] if axes else value


def _int64_array(numbers: Sequence[int]) -> Any:
    return np.array(numbers, dtype=np.int64)


def common_order(values: Sequence[Value]) -> Order | None:
    """A non-trivial axis order in which all values are already written, if any: then no Transpose is needed."""
    large = [value for value in values if value.shape]
    if not large or len({value.shape for value in large}) > 1:
        return None
    orders_of_values = [{order for _, order in value.forms} for value in large]
    common = set.intersection(*orders_of_values)
    return None if large[0].natural_order in common else next(iter(common), None)


# --- scalar rules --------------------------------------------------------------


@lru_cache(maxsize=1024)
def onnx_name(rule: Rule, opset: int) -> str | None:
    """Name of ONNX's operator for a scalar rule in this opset; None if there is none."""
    mappings = TABLE[rule.name].mappings if rule.name in TABLE else []
    names = [mapping.operator for mapping in mappings if mapping.framework == "onnx" and mapping.since <= opset]
    return names[0] if names else None


def _rule_function(model_builder: ModelBuilder, rule: Rule, count: int) -> str:
    """Write a scalar rule that ONNX lacks as a local function, once, and return its name. Raises Refused."""
    key = rule.name, count
    if key not in model_builder.named:
        builder = GraphBuilder(model_builder, inside=True)
        letters = [InputValue(builder, (), f"x_{index}") for index in range(count)]
        try:
            by_array = VALUES.get(rule.name)
            result = rule.value(*letters) if by_array is None else by_array(ArrayFunctions(builder), *letters)
            result = builder.value(result if isinstance(result, Value) else float(result))
        except (TypeError, ValueError, NaiveGraphError):
            raise ExportRefused(
                f"operator '{rule.name}' computes with Python's own functions, which no file can hold. Write its "
                "value with naive_graph's functions (exp, log, where ...)"
            ) from None
        metadata = describe_call(rule.name, letters, letters, {})
        model_builder.named[key] = model_builder.enter(function(builder, rule.name, [result], metadata))
    return model_builder.named[key]


# --- protobuf messages --------------------------------------------------


def graph(builder: GraphBuilder, name: str, outputs: Sequence[Value], names: Sequence[str] = ()) -> GraphProto:
    """Return the GraphProto with these outputs, under these names where they are free."""
    output_names = [_output_name(builder, value) for value in outputs]
    inputs = [input_value.info for input_value in builder.fed if input_value.info]
    leaves = {*(weight.name for weight in builder.weights), *(input_.name for input_ in inputs)}
    renamed: dict[str, str] = {}
    for current, wanted in zip(output_names, names):
        if wanted and wanted != current and wanted not in (*leaves, *output_names, *renamed.values()):
            renamed[current] = wanted
    for node in builder.nodes if renamed else ():
        for part in (node.input, node.output):
            part[:] = [renamed.get(value_name, value_name) for value_name in part]
    final_names = [renamed.get(output_name, output_name) for output_name in output_names]
    infos = [helper.make_tensor_value_info(final, builder.real, value.shape)
             for final, value in zip(final_names, outputs)]  # fmt: skip
    return helper.make_graph(builder.nodes, name, inputs, infos, builder.weights)


def _output_name(builder: GraphBuilder, value: Value) -> str:
    """Name of an output: the value's own, or that of a copy if the value is a leaf or was returned already."""
    output_name = value.form()
    if isinstance(value, (StoredValue, InputValue, TransposedValue)) or output_name in builder.given:
        name = unique_name(builder.taken, value.label)
        builder.node("Identity", [output_name], [name], name)
        output_name = name
    builder.given.add(output_name)
    return output_name


def function(builder: GraphBuilder, name: str, outputs: Sequence[Value], metadata: dict[str, str]) -> FunctionProto:
    """Return the graph as a FunctionProto; metadata: its metadata."""
    proto = FunctionProto(name=name, domain=DOMAIN)
    proto.input.extend(input_value.form() for input_value in builder.fed)
    proto.output.extend(_output_name(builder, output) for output in outputs)
    proto.node.extend(builder.nodes)
    proto.opset_import.append(helper.make_opsetid("", builder.opset))
    if any(node.domain == DOMAIN for node in builder.nodes):
        proto.opset_import.append(helper.make_opsetid(DOMAIN, 1))
    for key, text in metadata.items():
        proto.metadata_props.add(key=f"{DOMAIN}.{key}", value=text)
    return proto
