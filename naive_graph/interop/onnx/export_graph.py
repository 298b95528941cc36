"""Write an ONNX graph by tracing: arithmetic on a `Value` writes nodes, which a `GraphBuilder` collects.

So a rule's value function, called with Values, writes the nodes that compute it. A `Value` can be read
in several entry types and axis orders: a Cast or Transpose is written when a reader first needs it.
`make_graph_proto` and `make_function_proto` make protobuf messages of what was written.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
from onnx import FunctionProto, GraphProto, NodeProto, TensorProto, ValueInfoProto, defs, helper, numpy_helper

from ...core.numpy_protocol import RULE_OF_UFUNC
from ...core.records import unique_name
from ...core.rules import RULES, Arithmetic, Rule
from ...errors import ExportError, NaiveGraphError
from ...tensor.evaluation.entries import VALUES
from ...tensor.operators.table import TABLE
from .custom_ops import DOMAIN, describe_call

LAST = 2**31 - 1  # an end index beyond all axes
SHARED = 64  # unnamed constants up to so many entries are written once and shared
Order = tuple[int, ...]
Extents = Sequence[Any]  # integers, or names of dynamic dimensions


class ExportRefused(Exception):
    """Raised for something that cannot be exported; the text says what it is, and how to fix it."""


class Value(Arithmetic):
    """A tensor of a graph that is being written. Arithmetic on it writes nodes, so rules run on it as on an array.

    exact: whether it holds integers, which keep an integer type where operators allow it. forms: the names under which
    it was written so far, by (entry type, axis order).
    """

    __array_ufunc__: Any = None  # so that NumPy arrays defer to this class's operators
    dtype = float

    def __init__(self, builder: GraphBuilder, shape: Iterable[Any], label: str, exact: bool = False) -> None:
        self.builder, self.shape, self.label, self.exact = builder, tuple(shape), label, exact
        self.natural_order: Order = tuple(range(len(self.shape)))  # the identity permutation of its axes
        self.forms: dict[tuple[int, Order], str] = {}

    def form(self, kind: int | None = None, order: Order | None = None) -> str:
        """Name of the value in this entry type and axis order; Cast and Transpose are written when first needed."""
        wanted = self.builder.real if kind is None else kind, self.natural_order if order is None else order
        if not self.forms:
            self.begin(*wanted)
        if wanted not in self.forms:
            closest = max(self.forms, key=lambda form: (form[0] == wanted[0], form[1] == wanted[1]))
            name = self.forms[closest]
            if closest[0] != wanted[0]:
                name = self._derive_form("Cast", name, (wanted[0], closest[1]), to=wanted[0])
            if closest[1] != wanted[1]:
                name = self._derive_form("Transpose", name, wanted, perm=[closest[1].index(axis) for axis in wanted[1]])
        return self.forms[wanted]

    def whole(self) -> Value:
        """The same value, to be read as integers."""
        value = Value(self.builder, self.shape, self.label, exact=True)
        value.forms[TensorProto.INT64, self.natural_order] = self.form(TensorProto.INT64)
        return value

    def begin(self, kind: int, order: Order) -> None:
        """Write a leaf in its first type and axis order, when it is first read."""
        raise NotImplementedError

    # --- as an array ---

    @property
    def ndim(self) -> int:
        return len(self.shape)

    def __array_namespace__(self) -> ArrayFunctions:
        return ArrayFunctions(self.builder)

    def apply(self, rule: Rule, *operands: Any) -> Any:
        return self.builder.rule(rule, operands)

    def astype(self, kind: Any) -> Value:
        return self

    def reshape(self, *shape: Any) -> Any:
        return self.builder.reshape(self, shape[0] if isinstance(shape[0], (tuple, list)) else shape)

    def transpose(self, order: Sequence[int]) -> Any:
        return self.builder.transpose(self, order)

    def __eq__(self, other: object) -> Any:
        return self.builder.emit_elementwise("Equal", [self, other])

    def __ne__(self, other: object) -> Any:
        if other is self:
            return self.builder.emit_elementwise("IsNaN", [self])
        is_truth = any(kind == TensorProto.BOOL for kind, _ in self.forms)
        if is_truth and isinstance(other, (int, float)) and other == 0:
            return self
        return self.builder.emit_elementwise("Not", [self == other])

    def __and__(self, other: Any) -> Any:
        return self.builder.emit_elementwise("And", [self, other])

    def __or__(self, other: Any) -> Any:
        return self.builder.emit_elementwise("Or", [self, other])

    __hash__ = object.__hash__

    def _derive_form(self, operator: str, source: str, form: tuple[int, Order], **attributes: Any) -> str:
        name = self.forms[form] = unique_name(self.builder.taken, self.label)
        self.builder.node(operator, [source], [name], name, **attributes)
        return name


class StoredValue(Value):
    """A weight or constant, stored when it is first read, in the type and layout of that reader."""

    def __init__(self, builder: GraphBuilder, array: Any, label: str, weight: bool = False) -> None:
        super().__init__(builder, array.shape, label, array.dtype.kind in "iu")
        self.array, self.weight = array, weight

    def begin(self, kind: int, order: Order) -> None:
        if (self.weight and kind == TensorProto.BOOL) or (kind != self.builder.real and not self._fits_type(kind)):
            kind = self.builder.real  # other types are cast from it
        with np.errstate(over="ignore"):  # a bound may exceed the file's type
            array = np.asarray(self.array, helper.tensor_dtype_to_np_dtype(kind)).transpose(order)
        if self.weight and kind == TensorProto.FLOAT and np.isinf(array).any() and np.isfinite(self.array).all():
            raise ExportError(f'{self.label!r} has numbers beyond single precision. Write dtype="float64".')
        name = self.forms[kind, order] = unique_name(self.builder.taken, self.label)
        tensor = numpy_helper.from_array(np.ascontiguousarray(array).reshape(array.shape), name)
        self.builder.hold(tensor)
        if self.weight:
            self.builder.model_builder.learned.append(name)

    def _fits_type(self, kind: int) -> bool:
        """Whether an integer or truth type holds the numbers exactly (-0.0 it does not)."""
        array = np.asarray(self.array, np.float64)
        converted = np.asarray(self.array, helper.tensor_dtype_to_np_dtype(kind))
        return not (np.signbit(array) & (array == 0.0)).any() and np.array_equal(converted, self.array)


class TransposedValue(Value):
    """A transposed view of a value; a Transpose is written only if the reader's layout does not cancel it."""

    def __init__(self, base: Value, perm: Sequence[int], label: str) -> None:
        super().__init__(base.builder, [base.shape[axis] for axis in perm], label, base.exact)
        self.base, self.perm = base, tuple(perm)

    def form(self, kind: int | None = None, order: Order | None = None) -> str:
        return self.base.form(kind, tuple(self.perm[axis] for axis in order or self.natural_order))


class InputValue(Value):
    """An input of the graph. kind: its entry type; if None, its first reader decides, so that indices are integers."""

    def __init__(self, builder: GraphBuilder, shape: Iterable[Any], label: str, kind: int | None = None) -> None:
        super().__init__(builder, shape, label)
        self.kind = kind
        self.info: ValueInfoProto | None = None
        builder.fed.append(self)

    def begin(self, kind: int, order: Order) -> None:
        holds_numbers = self.builder.inside or kind == TensorProto.BOOL  # truth values are cast from numbers
        kind = self.kind or (self.builder.real if holds_numbers else kind)
        name = self.forms[kind, self.natural_order] = unique_name(self.builder.taken, self.label)
        self.info = helper.make_tensor_value_info(name, kind, self.shape)


class ArrayFunctions:
    """The array functions that rules and selections call, under NumPy's names, which write ONNX nodes."""

    def __init__(self, builder: GraphBuilder) -> None:
        self.builder, self.__name__ = builder, "onnx"

    def __getattr__(self, name: str) -> Callable[..., Any]:
        rule = RULES[RULE_OF_UFUNC.get(name, name)]
        return lambda *operands: self.builder.rule(rule, operands)

    def where(self, condition: Any, a: Any, b: Any) -> Any:
        return self.builder.emit_elementwise("Where", [condition, a, b])

    def take(self, x: Value, indices: Any, axis: int) -> Any:
        indices = np.asarray(indices)
        shape = (*x.shape[:axis], *indices.shape, *x.shape[axis + 1 :])
        steps = np.unique(np.diff(indices)) if indices.ndim == 1 else indices[:0]
        if len(steps) == 1 and steps[0]:
            last = indices[-1] + steps[0]
            ends = ([indices[0]], [last if last >= 0 else -LAST], [axis], steps)
            return self.builder.emit("Slice", [x, *map(np.array, ends)], [shape])[0]
        return self.builder.emit("Gather", [x, indices], [shape], attributes={"axis": axis})[0]

    def full_like(self, pattern: Any, value: float) -> Any:
        return self.builder.constant(float(value))

    # --- rules that ONNX lacks, without loss of precision ---

    def square(self, a: Any) -> Any:
        return a * a

    def expm1(self, a: Any) -> Any:
        return self.tanh(0.5 * a) * (self.exp(a) + 1.0)

    def log1p(self, a: Any) -> Any:
        return self.where(abs(a) < 0.5, 2.0 * self.arctanh(a / (a + 2.0)), self.log(1.0 + a))

    def hypot(self, a: Any, b: Any) -> Any:
        a, b = abs(a), abs(b)
        large, small = self.maximum(a, b), self.minimum(a, b)
        slope = small / large
        return self.where((large == 0.0) | (large == math.inf), large, large * self.sqrt(1.0 + slope * slope))

    def remainder(self, a: Any, b: Any) -> Any:
        rest = self.builder.emit_elementwise("Mod", [a, b], fmod=1)
        return self.where((rest == 0.0) | ((rest < 0.0) == (b < 0.0)), rest, rest + b)

    def arctan2(self, a: Any, b: Any) -> Any:
        left, below = ((value < 0.0) | (1.0 / value < 0.0) for value in (b, a))  # 1 / value < 0: also for -0.0
        right = self.where((a == 0.0) & (b == 0.0), a, self.arctan(a / b))
        return self.where(left, right + self.where(below, -math.pi, math.pi), right)  # -0.0 + 0.0 would be 0.0


# --- builders ---


@lru_cache(maxsize=1024)
def entry_types(operator: str, opset: int, real: int) -> tuple[list[tuple[int, int]], list[int]]:
    """Entry types of an operator: of each input (for floats, for integers) and of each result; the last repeats."""
    schema = defs.get_schema(operator, opset, "")

    def first_allowed(kinds: Sequence[int], port: Any) -> int:
        names = [(kind, f"tensor({TensorProto.DataType.Name(kind).lower()})") for kind in kinds]
        return next((kind for kind, name in names if name in port.types), TensorProto.UNDEFINED)

    whole = TensorProto.INT64, TensorProto.INT32
    floats, integers = (real, TensorProto.BOOL, *whole), (*whole, real, TensorProto.BOOL)
    inputs = [(first_allowed(floats, port), first_allowed(integers, port)) for port in schema.inputs]
    return inputs, [first_allowed(floats, port) for port in schema.outputs]


class ModelBuilder:
    """State shared by all graphs of one model: float type, opset, local functions."""

    def __init__(self, real: int, opset: int, has_dynamic_axes: bool = False) -> None:
        self.real, self.opset, self.has_dynamic_axes = real, opset, has_dynamic_axes
        self.functions: dict[bytes, FunctionProto] = {}  # by serialized content
        self.names: dict[str, int] = {}  # function names, and how often each is used
        self.named: dict[Any, str] = {}  # scalar rule -> the name of its function
        self.learned: list[str] = []  # names of parameters

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
        self.taken: dict[str, int] = {}  # names of values in use
        self.called: dict[str, int] = {}  # names of nodes in use
        self.given: set[str] = set()  # names of outputs
        self.constants: dict[Any, StoredValue] = {}

    def constant(self, value: Any) -> Value:
        """Write an unnamed constant; small ones are shared, except sizes that may become dynamic."""
        array = np.asarray(value)
        is_integer = array.dtype.kind in "iu"
        array = array.astype(np.int64) if is_integer else array
        stored = StoredValue(self, array, "sizes" if is_integer else "constant")
        if array.size > SHARED or (is_integer and self.model_builder.has_dynamic_axes):
            return stored
        return self.constants.setdefault((array.tobytes(), array.shape, array.dtype.kind), stored)

    def hold(self, tensor: TensorProto) -> None:
        """Store a tensor: as an initializer of the model, or as a Constant node of a function."""
        if self.inside:
            self.node("Constant", [], [tensor.name], tensor.name, value=tensor)
        else:
            self.weights.append(tensor)

    def emit(
        self, operator: str, operands: Sequence[Any], shapes: Sequence[Extents], label: str = "", *, scope: str = "",
        orders: Mapping[int, Order | None] = {}, turned: Sequence[Order | None] = (), domain: str = "",
        attributes: Mapping[str, Any] = {},
    ) -> list[Value]:  # fmt: skip
        """Write one node; inputs are cast and transposed to what the operator takes.

        operands: values, numbers or arrays, or None for an input that is left out.
        shapes: of the results. orders: by position, the order of axes in which the operator reads an input. turned: the
        order of axes in which each result comes out. domain: of a local function.
        """
        floats = [(self.real, self.real)], [self.real]
        kinds, result_kinds = floats if domain else entry_types(operator, self.opset, self.real)
        inputs, results, outputs = [], [], []
        for position, operand in enumerate(operands):
            if operand is None:
                inputs.append("")
                continue
            value = operand if isinstance(operand, Value) else self.constant(operand)
            kind = kinds[min(position, len(kinds) - 1)][value.exact]
            inputs.append(value.form(kind, orders.get(position)))
        label = label or operator.lower()
        for index, shape in enumerate(shapes):
            result = Value(self, shape, label if len(shapes) == 1 else f"{label}_{index}")
            order = turned[index] if index < len(turned) else None
            name = unique_name(self.taken, result.label)
            result.forms[result_kinds[min(index, len(result_kinds) - 1)], order or result.natural_order] = name
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
        more: dict[str, Any] = {"orders": orders, "turned": [order], "attributes": attributes}
        return self.emit(operator, values, [shape], label, scope=scope, **more)[0]

    def rule(self, rule: Rule, operands: Sequence[Any], label: str = "", scope: str = "") -> Value:
        """Write a scalar rule elementwise: as one operator, or as a call of its local function.

        Raises ExportRefused.
        """
        name = onnx_name(rule.name, self.opset)
        if name is None:
            values = [self.value(operand) for operand in operands]
            shape = np.broadcast_shapes(*(value.shape for value in values))
            function = _rule_function(self.model_builder, rule, len(values))
            return self.emit(function, values, [shape], label or rule.name, scope=scope, domain=DOMAIN)[0]
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
        return self.emit(
            "Transpose", [value], [[value.shape[axis] for axis in order]], attributes={"perm": list(order)}
        )[0]

    def expand(self, value: Value, shape: Sequence[int]) -> Value:
        """Expand to a shape; extents that stay are written as 1, which Expand keeps."""
        shape = tuple(shape)
        aligned_shape = (*[1] * (len(shape) - len(value.shape)), *value.shape)
        expand_extents = [1 if extent == due else due for extent, due in zip(aligned_shape, shape)]
        return value if shape == value.shape else self.emit("Expand", [value, _int64_array(expand_extents)], [shape])[0]

    def total(self, value: Value, axes: Sequence[int]) -> Value:
        """Sum over some axes, which are dropped."""
        rest = [extent for axis, extent in enumerate(value.shape) if axis not in axes]
        if not axes:
            return value
        return self.emit("ReduceSum", [value, _int64_array(axes)], [rest], attributes={"keepdims": 0})[0]


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
def onnx_name(operator: str, opset: int) -> str | None:
    """Name of ONNX's operator for one of ours, or a scalar rule, in this opset; None if there is none."""
    mappings = TABLE[operator].mappings if operator in TABLE else []
    names = [mapping.operator for mapping in mappings if mapping.framework == "onnx" and mapping.since <= opset]
    return names[0] if names else None


def _rule_function(model_builder: ModelBuilder, rule: Rule, count: int) -> str:
    """Write a scalar rule that ONNX lacks as a local function, once, and return its name.

    Raises ExportRefused.
    """
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
        model_builder.named[key] = model_builder.enter(make_function_proto(builder, rule.name, [result], metadata))
    return model_builder.named[key]


# --- protobuf messages --------------------------------------------------


def make_graph_proto(
    builder: GraphBuilder, name: str, outputs: Sequence[Value], names: Sequence[str] = ()
) -> GraphProto:
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


def make_function_proto(
    builder: GraphBuilder, name: str, outputs: Sequence[Value], metadata: dict[str, str]
) -> FunctionProto:
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
