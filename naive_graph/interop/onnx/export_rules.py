"""Export rules: a call of a row as one operator of ONNX, and the kinds of node that no call stands for.

The mapping of a row is read backwards; what it does not say is an `export_rule`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from string import ascii_letters
from typing import Any

import numpy as np
from onnx import AttributeProto, defs

from ...core.rules import RULES
from ...tensor.base import Call, TensorNode
from ...tensor.evaluation.contraction import settled
from ...tensor.index import Ids
from ...tensor.nodes import LinearNode, NonlinearNode, OpType, TransformNode
from ...tensor.operators.mapping import ALL, REQUIRED, Attribute, Fixed, Input, ListElement, Name, Permuted, undone
from ...tensor.operators.table import TABLE
from ...tensor.reduction import Places, ReductionNode
from ...tensor.selection import SelectionNode
from ..builder import register
from .export_graph import SPELT, GraphBuilder, common_order
from .export_values import BOOL, FLOAT, INT32, INT64, LAST, Extents, Order, Refused, Value

TURNED = ("data_format", "axis")  # properties that ONNX fixes: what they concern is turned
ORDERED = {("matmul", "transpose_a"), ("matmul", "transpose_b")}  # those that it lacks, for which operands are turned
UNREAD = ("GlobalLpPool", "Swish")  # which onnxruntime has not
SINGLE = ("MeanVarianceNormalization",)  # whose definition has numbers in single precision
STANDS_FOR = {"strides": "pool"}  # what a property that is None means, where ONNX means something else
ROWS = {"minimum": "reduce_min", "mul": "reduce_prod", "logsumexp": "reduce_logsumexp"}  # the others: the largest
CHOICES = {f"tensor({SPELT[kind]})" for kind in (BOOL, INT64, INT32)}


class Unfit(Exception):
    """Raised if ONNX's operator cannot express a call."""


def require(fits: Any) -> None:
    if not fits:
        raise Unfit


class ExportedOperator:
    """A call as one ONNX node: inputs by position, the order of their axes, and attributes.

    Made from a row's mapping, the operands' values, and the properties; shapes are those of the results. Raises Unfit.
    """

    def __init__(
        self, builder: GraphBuilder, call: Call, mapping: Name, operands: Sequence[Any], properties: Mapping[str, Any],
        *, shapes: Sequence[Extents], label: str, scope: str,
    ) -> None:  # fmt: skip
        self.builder, self.call, self.operator = builder, call, mapping.operator
        self.shapes, self.label, self.scope = shapes, label, scope
        self.schema = builder.model_builder.schema(mapping.operator)
        self.inputs: dict[int, Any] = {}
        self.orders: dict[int, Order] = {}
        self.attributes: dict[str, Any] = {}
        self._place_operands(mapping, operands)
        self._place_properties(mapping, properties)
        self._check()

    def emit(self, turned: Sequence[Order | None] = (), wide: Extents | None = None) -> list[Value]:
        """Write the node. turned: the order of axes in which the results come out. wide: the shape of its one result
        there, if that is another; a Reshape follows."""
        if wide is None or tuple(wide) == tuple(self.shapes[0]):
            return self._emit(self.shapes, self.label, turned)
        shape = np.array(self.shapes[0], dtype=np.int64)
        given = [*self._emit([wide], "", turned), shape]
        return self.builder.emit("Reshape", given, self.shapes, self.label, scope=self.scope)

    def _emit(self, shapes: Sequence[Extents], label: str, turned: Sequence[Order | None]) -> list[Value]:
        places = range(max(self.inputs, default=-1) + 1)
        given, orders = [self.inputs.get(place) for place in places], [self.orders.get(place) for place in places]
        return self.builder.emit(
            self.operator, given, shapes, label, scope=self.scope, orders=orders, turned=turned, **self.attributes
        )

    def _place_operands(self, mapping: Name, operands: Sequence[Any]) -> None:
        places = range(len(operands)) if mapping.operands is None else mapping.operands
        require(all(each is None for each in operands[len(places) :]))
        for place, each in zip(places, operands):
            if each is None:
                continue
            if isinstance(place, Permuted):
                self.orders[place.position] = tuple(place.order.index(at) for at in range(len(place.order)))
                self.inputs[place.position] = each
            elif place == ALL:
                self.inputs.update(enumerate(each))
            else:
                self.inputs[place] = each

    def _place_properties(self, mapping: Name, properties: Mapping[str, Any]) -> None:
        row, homes = self.call.operator, mapping.homes(self.builder.opset)
        lists: dict[int, dict[int, Any]] = {}
        for name, value in properties.items():
            home = homes.get(name)
            if value is None and name in STANDS_FOR:
                value = properties[STANDS_FOR[name]]
            if home is None:
                require(_is_same(value, row.by_name[name].default) or (row.name, name) in ORDERED)
            elif isinstance(home, Fixed):
                require(name in TURNED or _is_same(value, home.value))
            elif isinstance(home, Attribute):
                self._place_attribute(home, value)
            elif isinstance(home, Input) and isinstance(home.adapt, ListElement):
                lists.setdefault(home.position, {})[home.adapt.place] = value
            elif isinstance(home, Input) and value is not None:
                self.inputs[home.position] = value if isinstance(value, Value) else np.asarray(value)
        for position, entries in lists.items():
            self.inputs[position] = np.array([entries[place] for place in range(len(entries))])

    def _place_attribute(self, home: Attribute, value: Any) -> None:
        # A file has its attributes in single precision. What this rounds is another number in double.
        single = self.builder.real == FLOAT
        require(single or not isinstance(value, float) or float(np.float32(value)) == value)
        if value is None or (home.default is not REQUIRED and _is_same(value, home.default)):
            require(home.default is None or value is not None)
            return
        try:
            found = undone(home, value)
        except KeyError:
            raise Unfit from None
        for name, each in found.items():
            self.attributes[name] = _fit_type(each, self.schema.attributes[name].type)

    def _check(self) -> None:
        """Check inputs against the operator's schema. Raises Unfit."""
        formal, real = self.schema.inputs, self.builder.real
        variadic = bool(formal) and formal[-1].option == type(formal[-1].option).Variadic
        require(self.operator not in (UNREAD if real == FLOAT else (*UNREAD, *SINGLE)))
        require(variadic or max(self.inputs, default=-1) < len(formal))
        for place, each in enumerate(formal):
            require(each.option != type(each.option).Single or place in self.inputs)
            require(CHOICES.intersection(each.types) or f"tensor({SPELT[real]})" in each.types)


def _is_same(one: Any, other: Any) -> bool:
    return not isinstance(one, Value) and (one is other or (one is not None and np.array_equal(one, other)))


def _fit_type(value: Any, kind: int) -> Any:
    """A number in the type of an attribute."""
    if kind == AttributeProto.INT:
        require(float(value).is_integer())
        return int(value)
    return float(value) if kind == AttributeProto.FLOAT else value


# --- what stands otherwise there ----------------------------------------------


ExportRule = Callable[[ExportedOperator], list[Value]]
Of = Callable[[TensorNode], Value]
EXPORT_RULES: dict[str, ExportRule] = {}  # by a row's name, or its kind
export_rule = partial(register, EXPORT_RULES)


def export_call(
    builder: GraphBuilder, call: Call, results: Sequence[TensorNode], value: Of, label: str, scope: str
) -> list[Value] | None:
    """Write a call as one ONNX node and return its results; None if no mapping of its operator can express it."""
    row, shapes = call.operator, [each.shape for each in results]
    operands = [value(each) if isinstance(each, TensorNode) else each and [*map(value, each)]
                for each in call.operands]  # fmt: skip
    properties = {name: value(each) if isinstance(each, TensorNode) else each
                  for name, each in {**call.properties, **_slice_ends(call)}.items()}  # fmt: skip
    rule = EXPORT_RULES.get(row.name) or EXPORT_RULES.get(row.kind) or ExportedOperator.emit
    for mapping in row.mappings:
        until = mapping.until or builder.opset
        if mapping.framework == "onnx" and defs.has(mapping.operator) and mapping.since <= builder.opset <= until:
            with suppress(Unfit):
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
    values = [each for each in exported.inputs.values() if isinstance(each, Value)]
    require(exported.operator != "PRelu" or values[0].shape == exported.shapes[0])  # it spreads the slope alone
    order = common_order(values) if len(values) == len(exported.inputs) else None
    if order is not None:
        exported.orders.update({place: order for place, each in exported.inputs.items() if each.shape})
    return exported.emit([order])


@export_rule("reduction")
def _reduction(exported: ExportedOperator) -> list[Value]:
    axes = exported.call.properties["axis"]
    require(axes is None or len(axes))  # none at all would mean all there
    return exported.emit()


@export_rule("window")
def _window(exported: ExportedOperator) -> list[Value]:
    """Convolution and pooling: ONNX wants four axes with channels second."""
    properties, builder, (shape,) = exported.call.properties, exported.builder, exported.shapes
    require(not properties.get("ceil_mode") or builder.opset >= 22)  # before, ONNX counted otherwise
    exported.inputs[0] = _reshape_to_four_axes(builder, exported.inputs[0])
    order = (0, 3, 1, 2) if properties["data_format"] == "NHWC" else None
    if order is not None:
        exported.orders[0] = order
    return exported.emit([order], wide=(int(np.prod(shape[:-3], dtype=int)), *shape[-3:]))


@export_rule("attention")
def _attention(exported: ExportedOperator) -> list[Value]:
    """Attention: ONNX wants batch and heads as leading axes."""
    (shape,) = exported.shapes
    require(len(shape) <= 4)
    for place in range(3):
        exported.inputs[place] = _reshape_to_four_axes(exported.builder, exported.inputs[place])
    return exported.emit(wide=(*[1] * (4 - len(shape)), *shape))


def _reshape_to_four_axes(builder: GraphBuilder, x: Value) -> Value:
    """Reshape to four axes: merge leading axes, or add axes of extent 1."""
    lead, tail = x.shape[:-3], x.shape[-3:]
    return builder.reshape(x, (*[1] * (3 - len(tail)), int(np.prod(lead, dtype=int)), *tail))


# --- by name ------------------------------------------------------------------


@export_rule("batch_norm", "instance_norm", "group_norm", "depth_to_space", "space_to_depth")
def _put_channels_second(exported: ExportedOperator) -> list[Value]:
    """ONNX wants channels second: transpose if they are last here."""
    require(not exported.call.properties.get("training"))  # runtimes have it for training alone
    if exported.call.properties["data_format"] == "NCHW":
        return exported.emit()
    rank = len(exported.shapes[0])
    order = (0, rank - 1, *range(1, rank - 1))
    exported.orders[0] = order
    return exported.emit([order])


@export_rule("local_response_norm")
def _local_response_norm(exported: ExportedOperator) -> list[Value]:
    require(len(exported.shapes[0]) == 4)  # runtimes have it for images alone
    return _put_channels_second(exported)


@export_rule("mean_variance_norm")
def _mean_variance_norm(exported: ExportedOperator) -> list[Value]:
    """Axes are always written: ONNX's own definition of the operator does not use their default."""
    axes = exported.call.properties["axis"]
    exported.attributes["axes"] = list(range(len(exported.shapes[0])) if axes is None else axes)
    return exported.emit()


@export_rule("matmul")
def _matmul(exported: ExportedOperator) -> list[Value]:
    for place, turn in enumerate(("transpose_a", "transpose_b")):
        if exported.call.properties[turn]:
            own = exported.inputs[place].straight
            exported.orders[place] = (*own[:-2], own[-1], own[-2])
    return exported.emit()


@export_rule("one_hot")
def _one_hot(exported: ExportedOperator) -> list[Value]:
    exported.inputs[0] = exported.inputs[0].whole()
    return exported.emit()


@export_rule("nll_loss", "softmax_cross_entropy_loss")
def _class_axis(exported: ExportedOperator) -> list[Value]:
    """ONNX wants classes along axis 1."""
    rank = len(exported.inputs[0].shape)
    require(rank > 1)
    axis = exported.call.properties["axis"] % rank
    rest = [each for each in range(rank) if each != axis]
    exported.orders[0] = (rest[0], axis, *rest[1:])
    return exported.emit()


@export_rule("rnn", "gru", "lstm")
def _recurrent(exported: ExportedOperator) -> list[Value]:
    """Recurrent layers are written with time first, which all runtimes support."""
    exported.attributes["hidden_size"] = exported.shapes[0][-1]
    if not exported.attributes.pop("layout", 0):
        return exported.emit()
    exported.orders.update({place: (1, 0, 2) for place in (0, 5, 6) if place in exported.inputs})
    return exported.emit([(1, 2, 0, 3), *[(1, 0, 2)] * (len(exported.shapes) - 1)])


# --- kinds of node that no call stands for ------------------------------------


def export_node(builder: GraphBuilder, node: TensorNode, value: Of) -> Value:
    """Write a node that no operator's call made, by its kind. Raises Refused."""
    if isinstance(node, TransformNode):
        return _export_transform(builder, node, value(node.sources[0]))
    if isinstance(node, LinearNode):
        return _export_linear(builder, node, value)
    if isinstance(node, NonlinearNode):
        return _export_nonlinear(builder, node, [value(each) for each in node.sources])
    if isinstance(node, ReductionNode):
        return _export_reduction(builder, node, value(node.sources[0]))
    raise Refused(f"{node.label} is of a kind that no file can hold. Compute it with tensor operators")


def _export_transform(builder: GraphBuilder, node: TransformNode, source: Value) -> Value:
    found = _align_axes(builder, source, node.index.src, node.index.dst)
    found = builder.expand(found, node.shape)
    return found if node.alpha == 1.0 else builder.rule(RULES["mul"], [found, node.alpha])


def _align_axes(builder: GraphBuilder, source: Value, ids: Ids, dst: Ids) -> Value:
    """Sum over dummy indices, transpose to the order of dst, and add axes of extent 1 for those that are missing."""
    found = builder.total(source, [axis for axis, each in enumerate(ids) if each < 0])
    rest = [each for each in ids if each > 0]
    found = builder.transpose(found, [rest.index(each) for each in dst if each in rest])
    extents = dict(zip(ids, source.shape))
    return builder.reshape(found, [extents[each] if each > 0 and each in rest else 1 for each in dst])


def _export_linear(builder: GraphBuilder, node: LinearNode, value: Of) -> Value:
    multiplies = node.op == OpType.mul
    if multiplies and (node.index.dummies or any(isinstance(each, SelectionNode) for each in node.sources)):
        return _export_contraction(builder, node, value)
    sources = zip(node.sources, (node.index.left, node.index.right))
    sides = [_align_axes(builder, value(source), ids, node.index.dst) for source, ids in sources]
    return builder.rule(RULES[node.op.name], sides)


def _export_contraction(builder: GraphBuilder, node: LinearNode, value: Of) -> Value:
    """Write a product: selections as Slice and Gather, the rest as one Einsum."""
    given = [
        (each if isinstance(each, SelectionNode) else value(each), tuple(map(abs, ids)))
        for each, ids in zip(node.sources, (node.index.left, node.index.right))
    ]
    factors = settled(given, node.index.dst) or [(np.array(1.0), ())]
    if len(factors) == 1 and factors[0][1] == node.index.dst:
        return builder.value(factors[0][0])
    letters: dict[int, str] = {}
    for each in (each for _, ids in factors for each in ids):
        if len(letters) == len(ascii_letters):
            raise Refused(f"{node.label} has more than {len(ascii_letters)} indices. Multiply in several steps")
        letters.setdefault(each, ascii_letters[len(letters)])
    terms = ",".join("".join(map(letters.get, ids)) for _, ids in factors)  # type: ignore[arg-type]
    equation = f"{terms}->{''.join(letters[each] for each in node.index.dst)}"
    return builder.emit("Einsum", [builder.value(each) for each, _ in factors], [node.shape], equation=equation)[0]


def _export_nonlinear(builder: GraphBuilder, node: NonlinearNode, sources: list[Value]) -> Value:
    steps = node.function.steps
    values: list[Any] = steps.constants[:]
    for place, source in zip(steps.arguments, sources):
        if place is not None:
            values[place] = source
    for step, rule, operands in steps.rules:
        given = [values[each] for each in operands]
        values[step] = rule(*given) if all(type(each) is float for each in given) else builder.rule(rule, given)
    return builder.expand(builder.value(values[steps.result]), node.shape)


def _export_reduction(builder: GraphBuilder, node: ReductionNode, source: Value) -> Value:
    places = Places.of(node.index)
    order = [each - 1 for each in (*places.kept, *places.dropped)]
    found = builder.transpose(source, order)
    kept = [source.shape[each - 1] for each in places.kept]
    axes = list(range(len(kept), len(order)))
    if node.rule == "argmax":
        flat = builder.reshape(found, (*kept, int(np.prod([source.shape[each - 1] for each in places.dropped]))))
        return builder.emit("ArgMax", [flat], [kept], axis=len(kept), keepdims=0)[0]
    (name,) = [each.operator for each in TABLE[ROWS.get(node.rule, "reduce_max")].mappings if each.framework == "onnx"]
    return builder.emit(name, [found, np.array(axes)], [kept], keepdims=0)[0] if axes else found
