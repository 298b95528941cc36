"""Export rules: write a call of a tensor operator as one ONNX node; a node without a call by its kind.

Each operator carries a mapping that says how its ONNX counterpart is imported (`onnx=Onnx(...)`). On export this
mapping is inverted: operands become inputs, properties become attributes or inputs. Where that does not
suffice, because ONNX wants other axes, ranks or attributes, an `export_rule` changes the node before it is written.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from string import ascii_letters
from typing import Any

import numpy as np
from onnx import AttributeProto, TensorProto, defs

from ...core.rules import RULES
from ...tensor.base import Call, TensorNode
from ...tensor.evaluation.contraction import apply_selections
from ...tensor.index import Ids
from ...tensor.nodes import LinearNode, NonlinearNode, OpType, TransformNode
from ...tensor.operators.mapping import (
    ALL,
    REQUIRED,
    Attribute,
    Fixed,
    ForeignOperator,
    Input,
    ListElement,
    Permuted,
    to_attributes,
)
from ...tensor.reduction_node import ReductionAxes, ReductionNode
from ...tensor.sparse_selector import SelectionNode
from ..builder import register
from .export_graph import LAST, ExportRefused, Extents, GraphBuilder, Order, Value, common_order, entry_types, onnx_name

LAYOUT_PROPERTIES = ("data_format", "axis")  # properties that ONNX fixes: operands are transposed to fit
TRANSPOSING = {("matmul", "transpose_a"), ("matmul", "transpose_b")}  # ONNX lacks them: operands are transposed
NOT_IN_ONNXRUNTIME = ("GlobalLpPool", "Swish")  # operators that onnxruntime lacks
SINGLE_PRECISION = ("MeanVarianceNormalization",)  # defined with single-precision constants
DEFAULTS_TO = {"strides": "pool"}  # a property that is None here has another one's value; ONNX has another default
# Rule of a ReductionNode -> operator; of other rules reduce_max.
REDUCTION_OPERATORS = {"minimum": "reduce_min", "mul": "reduce_prod", "logsumexp": "reduce_logsumexp"}


class NotExpressible(Exception):
    """Raised if an operator of ONNX cannot express a call, or a file another size of its inputs."""


def require_fit(fits: Any) -> None:
    """Raise NotExpressible unless the condition holds."""
    if not fits:
        raise NotExpressible


class ExportedOperator:
    """A call as one ONNX node: inputs by position, the order of their axes, and attributes.

    Made from a row's mapping, the operands' values, and the properties; shapes are those of the results.
    Raises NotExpressible.
    """

    def __init__(
        self, builder: GraphBuilder, call: Call, mapping: ForeignOperator, operands: Sequence[Any],
        properties: Mapping[str, Any], *, shapes: Sequence[Extents], label: str, scope: str,
    ) -> None:  # fmt: skip
        self.builder, self.call, self.operator = builder, call, mapping.operator
        self.shapes, self.label, self.scope = shapes, label, scope
        self.schema = defs.get_schema(mapping.operator, builder.opset, "")
        self.inputs: dict[int, Any] = {}
        self.orders: dict[int, Order] = {}
        self.attributes: dict[str, Any] = {}
        self._place_operands(mapping, operands)
        self._place_properties(mapping, properties)
        self._check()

    def emit(self, turned: Sequence[Order | None] = (), onnx_shape: Extents | None = None) -> list[Value]:
        """Write the node, and return its results.

        turned: for each result the order of axes in which ONNX gives it. onnx_shape: the shape of the only result in
        ONNX; if it is another than here, a Reshape follows.
        """
        inputs = [self.inputs.get(position) for position in range(max(self.inputs, default=-1) + 1)]
        more: dict[str, Any] = {"orders": self.orders, "turned": turned, "attributes": self.attributes}
        if onnx_shape is None or tuple(onnx_shape) == tuple(self.shapes[0]):
            return self.builder.emit(self.operator, inputs, self.shapes, self.label, scope=self.scope, **more)
        values = self.builder.emit(self.operator, inputs, [onnx_shape], scope=self.scope, **more)
        shape = np.array(self.shapes[0], dtype=np.int64)
        return self.builder.emit("Reshape", [*values, shape], self.shapes, self.label, scope=self.scope)

    def _place_operands(self, mapping: ForeignOperator, operands: Sequence[Any]) -> None:
        positions = range(len(operands)) if mapping.operands is None else mapping.operands
        require_fit(all(operand is None for operand in operands[len(positions) :]))
        for slot, value in zip(positions, operands):
            if value is None:
                continue
            if isinstance(slot, Permuted):
                self.orders[slot.position] = tuple(slot.order.index(axis) for axis in range(len(slot.order)))
                self.inputs[slot.position] = value
            elif slot == ALL:
                self.inputs.update(enumerate(value))
            else:
                self.inputs[slot] = value

    def _place_properties(self, mapping: ForeignOperator, properties: Mapping[str, Any]) -> None:
        row, homes = self.call.operator, mapping.homes(self.builder.opset)
        lists: dict[int, dict[int, Any]] = {}
        for name, value in properties.items():
            home = homes.get(name)
            if value is None and name in DEFAULTS_TO:
                value = properties[DEFAULTS_TO[name]]
            if home is None:
                require_fit(_is_same(value, row.by_name[name].default) or (row.name, name) in TRANSPOSING)
            elif isinstance(home, Fixed):
                require_fit(name in LAYOUT_PROPERTIES or _is_same(value, home.value))
            elif isinstance(home, Attribute):
                self._place_attribute(home, value)
            elif isinstance(home, Input) and isinstance(home.adapt, ListElement):
                lists.setdefault(home.position, {})[home.adapt.place] = value
            elif isinstance(home, Input) and value is not None:
                self.inputs[home.position] = value if isinstance(value, Value) else np.asarray(value)
        for position, entries in lists.items():
            self.inputs[position] = np.array([entries[index] for index in range(len(entries))])

    def _place_attribute(self, home: Attribute, value: Any) -> None:
        # Attributes are stored in single precision: in a double-precision file, rounding would change the value.
        single = self.builder.real == TensorProto.FLOAT
        require_fit(single or not isinstance(value, float) or float(np.float32(value)) == value)
        if value is None or (home.default is not REQUIRED and _is_same(value, home.default)):
            require_fit(home.default is None or value is not None)
            return
        try:
            attributes = to_attributes(home, value)
        except KeyError:
            raise NotExpressible from None
        for name, attribute in attributes.items():
            self.attributes[name] = _fit_type(attribute, self.schema.attributes[name].type)

    def _check(self) -> None:
        """Check inputs against the operator's schema. Raises NotExpressible."""
        formal, real = self.schema.inputs, self.builder.real
        kinds, _ = entry_types(self.operator, self.builder.opset, real)
        variadic = bool(formal) and formal[-1].option == type(formal[-1].option).Variadic
        require_fit(self.operator not in NOT_IN_ONNXRUNTIME)
        require_fit(real == TensorProto.FLOAT or self.operator not in SINGLE_PRECISION)
        require_fit(variadic or max(self.inputs, default=-1) < len(formal))
        for position, parameter in enumerate(formal):
            require_fit(parameter.option != type(parameter.option).Single or position in self.inputs)
            require_fit(kinds[position][0] != TensorProto.UNDEFINED)


def _is_same(one: Any, other: Any) -> bool:
    return not isinstance(one, Value) and (one is other or (one is not None and np.array_equal(one, other)))


def _fit_type(value: Any, kind: Any) -> Any:
    """Convert a number to the type of an attribute. Raises NotExpressible if an integer is needed and it is none."""
    if kind == AttributeProto.INT:
        require_fit(float(value).is_integer())
        return int(value)
    return float(value) if kind == AttributeProto.FLOAT else value


# --- operators whose ONNX form differs in axes, ranks or attributes ----------------------------------------------


ExportRule = Callable[[ExportedOperator], list[Value]]
Of = Callable[[TensorNode], Value]
EXPORT_RULES: dict[str, ExportRule] = {}  # by a row's name, or its kind
export_rule = partial(register, EXPORT_RULES)


def export_call(
    builder: GraphBuilder, call: Call, results: Sequence[TensorNode], value: Of, label: str, scope: str
) -> list[Value] | None:
    """Write a call as one ONNX node and return its results; None if no mapping of its operator can express it."""
    row, shapes = call.operator, [result.shape for result in results]
    operands = [value(each) if isinstance(each, TensorNode) else each and [*map(value, each)]
                for each in call.operands]  # fmt: skip
    properties = {name: value(property_value) if isinstance(property_value, TensorNode) else property_value
                  for name, property_value in {**call.properties, **_slice_ends(call)}.items()}  # fmt: skip
    rule = EXPORT_RULES.get(row.name) or EXPORT_RULES.get(row.kind) or ExportedOperator.emit
    for mapping in row.mappings:
        until = mapping.until or builder.opset
        if mapping.framework == "onnx" and defs.has(mapping.operator) and mapping.since <= builder.opset <= until:
            with suppress(NotExpressible):
                return rule(ExportedOperator(
                    builder, call, mapping, operands, properties, shapes=shapes, label=label, scope=scope
                ))  # fmt: skip
    return None


def _slice_ends(call: Call) -> dict[str, Any]:
    """Properties of a slice given by sizes, as begin and end."""
    if call.operator.name != "slice" or call.properties["sizes"] is None:
        return {}
    begin, sizes = call.properties["begin"], call.properties["sizes"]
    ends = [b + size if b + size or b >= 0 else LAST for b, size in zip(begin, sizes)]
    return {"end": [LAST if size == -1 else end for end, size in zip(ends, sizes)], "sizes": None}


# --- by kind ------------------------------------------------------------------


@export_rule("elementwise")
def _elementwise(exported: ExportedOperator) -> list[Value]:
    """Elementwise operators keep the transposed layout that all their operands have."""
    values = [input_ for input_ in exported.inputs.values() if isinstance(input_, Value)]
    require_fit(exported.operator != "PRelu" or values[0].shape == exported.shapes[0])  # it broadcasts the slope alone
    order = common_order(values) if len(values) == len(exported.inputs) else None
    if order is not None:
        exported.orders.update({place: order for place, each in exported.inputs.items() if each.shape})
    return exported.emit([order])


@export_rule("reduction")
def _reduction(exported: ExportedOperator) -> list[Value]:
    axes = exported.call.properties["axis"]
    require_fit(axes is None or len(axes))  # an empty list means all axes in ONNX
    return exported.emit()


@export_rule("window")
def _window(exported: ExportedOperator) -> list[Value]:
    """Convolution and pooling: ONNX wants four axes with channels second."""
    properties, builder, (shape,) = exported.call.properties, exported.builder, exported.shapes
    require_fit(not properties.get("ceil_mode") or builder.opset >= 22)  # earlier opsets count windows differently
    exported.inputs[0] = _reshape_to_four_axes(builder, exported.inputs[0])
    order = (0, 3, 1, 2) if properties["data_format"] == "NHWC" else None
    if order is not None:
        exported.orders[0] = order
    return exported.emit([order], onnx_shape=(int(np.prod(shape[:-3], dtype=int)), *shape[-3:]))


@export_rule("attention")
def _attention(exported: ExportedOperator) -> list[Value]:
    """Attention: ONNX wants batch and heads as leading axes."""
    (shape,) = exported.shapes
    require_fit(len(shape) <= 4)
    for position in range(3):
        exported.inputs[position] = _reshape_to_four_axes(exported.builder, exported.inputs[position])
    return exported.emit(onnx_shape=(*[1] * (4 - len(shape)), *shape))


def _reshape_to_four_axes(builder: GraphBuilder, x: Value) -> Value:
    """Reshape to four axes: merge leading axes, or add axes of extent 1."""
    lead, tail = x.shape[:-3], x.shape[-3:]
    return builder.reshape(x, (*[1] * (3 - len(tail)), int(np.prod(lead, dtype=int)), *tail))


# --- by name ------------------------------------------------------------------


@export_rule("batch_norm", "instance_norm", "group_norm", "depth_to_space", "space_to_depth")
def _put_channels_second(exported: ExportedOperator) -> list[Value]:
    """ONNX wants channels second: transpose if they are last here."""
    require_fit(not exported.call.properties.get("training"))  # not exported in training mode
    if exported.call.properties["data_format"] == "NCHW":
        return exported.emit()
    rank = len(exported.shapes[0])
    order = (0, rank - 1, *range(1, rank - 1))
    exported.orders[0] = order
    return exported.emit([order])


@export_rule("local_response_norm")
def _local_response_norm(exported: ExportedOperator) -> list[Value]:
    require_fit(len(exported.shapes[0]) == 4)  # runtimes support only images
    return _put_channels_second(exported)


@export_rule("mean_variance_norm")
def _mean_variance_norm(exported: ExportedOperator) -> list[Value]:
    """Axes are always written: ONNX's own definition of the operator does not use their default."""
    axes = exported.call.properties["axis"]
    exported.attributes["axes"] = list(range(len(exported.shapes[0])) if axes is None else axes)
    return exported.emit()


@export_rule("matmul")
def _matmul(exported: ExportedOperator) -> list[Value]:
    for position, turn in enumerate(("transpose_a", "transpose_b")):
        if exported.call.properties[turn]:
            order = exported.inputs[position].natural_order
            exported.orders[position] = (*order[:-2], order[-1], order[-2])
    return exported.emit()


@export_rule("one_hot")
def _one_hot(exported: ExportedOperator) -> list[Value]:
    exported.inputs[0] = exported.inputs[0].whole()
    return exported.emit()


@export_rule("nll_loss", "softmax_cross_entropy_loss")
def _class_axis(exported: ExportedOperator) -> list[Value]:
    """ONNX wants classes along axis 1."""
    rank = len(exported.inputs[0].shape)
    require_fit(rank > 1)
    axis = exported.call.properties["axis"] % rank
    rest = [other for other in range(rank) if other != axis]
    exported.orders[0] = (rest[0], axis, *rest[1:])
    return exported.emit()


@export_rule("rnn", "gru", "lstm")
def _recurrent(exported: ExportedOperator) -> list[Value]:
    """Recurrent layers are written with time first, which all runtimes support."""
    exported.attributes["hidden_size"] = exported.shapes[0][-1]
    if not exported.attributes.pop("layout", 0):
        return exported.emit()
    exported.orders.update({position: (1, 0, 2) for position in (0, 5, 6) if position in exported.inputs})
    return exported.emit([(1, 2, 0, 3), *[(1, 0, 2)] * (len(exported.shapes) - 1)])


# --- nodes without an operator call, by kind ------------------------------------


def export_node(builder: GraphBuilder, node: TensorNode, value: Of) -> Value:
    """Write a node that no operator's call made, by its kind. Raises ExportRefused."""
    if isinstance(node, TransformNode):
        return _export_transform(builder, node, value(node.sources[0]))
    if isinstance(node, LinearNode):
        return _export_linear(builder, node, value)
    if isinstance(node, NonlinearNode):
        return _export_nonlinear(builder, node, [value(source) for source in node.sources])
    if isinstance(node, ReductionNode):
        return _export_reduction(builder, node, value(node.sources[0]))
    raise ExportRefused(f"{node.label} is of a kind that no file can hold. Compute it with tensor operators")


def _export_transform(builder: GraphBuilder, node: TransformNode, source: Value) -> Value:
    result = _align_axes(builder, source, node.index.src, node.index.dst)
    result = builder.expand(result, node.shape)
    return result if node.alpha == 1.0 else builder.rule(RULES["mul"], [result, node.alpha])


def _align_axes(builder: GraphBuilder, source: Value, ids: Ids, dst: Ids) -> Value:
    """Sum over dummy indices, transpose to the order of dst, and add axes of extent 1 for those that are missing."""
    value = builder.total(source, [axis for axis, index in enumerate(ids) if index < 0])
    rest = [index for index in ids if index > 0]
    value = builder.transpose(value, [rest.index(index) for index in dst if index in rest])
    extents = dict(zip(ids, source.shape))
    return builder.reshape(value, [extents[index] if index > 0 and index in rest else 1 for index in dst])


def _export_linear(builder: GraphBuilder, node: LinearNode, value: Of) -> Value:
    is_product = node.op == OpType.mul
    if is_product and (node.index.dummies or any(isinstance(source, SelectionNode) for source in node.sources)):
        return _export_contraction(builder, node, value)
    sources = zip(node.sources, (node.index.left, node.index.right))
    operands = [_align_axes(builder, value(source), ids, node.index.dst) for source, ids in sources]
    return builder.rule(RULES[node.op.name], operands)


def _export_contraction(builder: GraphBuilder, node: LinearNode, value: Of) -> Value:
    """Write a product: selections as Slice and Gather, the rest as one Einsum."""
    sources = [source if isinstance(source, SelectionNode) else value(source) for source in node.sources]
    operands = [*zip(sources, (tuple(map(abs, ids)) for ids in (node.index.left, node.index.right)))]
    factors = apply_selections(operands, node.index.dst) or [(np.array(1.0), ())]
    if len(factors) == 1 and factors[0][1] == node.index.dst:
        return builder.value(factors[0][0])
    letters: dict[int, str] = {}
    for index_id in (index for _, ids in factors for index in ids):
        if len(letters) == len(ascii_letters):
            raise ExportRefused(f"{node.label} has more than {len(ascii_letters)} indices. Multiply in several steps")
        letters.setdefault(index_id, ascii_letters[len(letters)])
    terms = ",".join("".join(map(letters.get, ids)) for _, ids in factors)  # type: ignore[arg-type]
    equation = f"{terms}->{''.join(letters[index] for index in node.index.dst)}"
    values = [builder.value(factor) for factor, _ in factors]
    return builder.emit("Einsum", values, [node.shape], attributes={"equation": equation})[0]


def _export_nonlinear(builder: GraphBuilder, node: NonlinearNode, sources: list[Value]) -> Value:
    plan, values = node.function.plan, node.function.columns(sources)
    for step, rule in enumerate(plan.rules):
        if rule is not None:
            arguments = [values[operand] for operand in plan.operands(step)]
            is_known = all(type(argument) is float for argument in arguments)
            values[step] = rule(*arguments) if is_known else builder.rule(rule, arguments)
    return builder.expand(builder.value(values[plan.targets[0]]), node.shape)


def _export_reduction(builder: GraphBuilder, node: ReductionNode, source: Value) -> Value:
    axes_of = ReductionAxes.of(node.index)
    order = [axis - 1 for axis in (*axes_of.kept, *axes_of.dropped)]
    transposed = builder.transpose(source, order)
    shape = [source.shape[axis - 1] for axis in axes_of.kept]
    axes = list(range(len(shape), len(order)))
    if node.rule == "argmax":
        flat = builder.reshape(transposed, (*shape, int(np.prod([source.shape[axis - 1] for axis in axes_of.dropped]))))
        return builder.emit("ArgMax", [flat], [shape], attributes={"axis": len(shape), "keepdims": 0})[0]
    if not axes:
        return transposed
    name = onnx_name(REDUCTION_OPERATORS.get(node.rule, "reduce_max"), builder.opset) or ""
    return builder.emit(name, [transposed, np.array(axes)], [shape], attributes={"keepdims": 0})[0]
