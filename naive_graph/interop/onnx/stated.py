"""An operator of the table as ONNX states it: the row's own mapping, read backwards."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from onnx import AttributeProto

from ...tensor.base import Call, TensorNode
from ...tensor.operators.mapping import ALL, REQUIRED, Attribute, Element, Fixed, Input, Name, Permuted, undone
from ...tensor.operators.row import Row
from .book import BOOL, FLOAT, INT32, INT64, SPELT
from .drawn import LAST, common_order
from .sheet import Order, Sheet, Value

TURNED = {("matmul", "transpose_a"), ("matmul", "transpose_b")}  # by the order of an operand's axes
UNREAD = ("GlobalLpPool",)  # which no runtime has
SINGLE = ("MeanVarianceNormalization",)  # whose definition has numbers in single precision
STANDS_FOR = {"strides": "pool"}  # what a property that is None means, where ONNX means something else


CHOICE = {f"tensor({SPELT[kind]})" for kind in (BOOL, INT64, INT32)}


class Unfit(Exception):
    """ONNX's operator cannot say this call."""


class Stated(NamedTuple):
    """One operator of ONNX: its inputs by position, and its attributes."""

    operator: str
    inputs: dict[int, Any]
    orders: dict[int, Order]
    attributes: dict[str, Any]


def emitted(
    sheet: Sheet, call: Call, results: Sequence[TensorNode], values: Mapping[TensorNode, Value], label: str, scope: str
) -> list[Value] | None:
    """The results of a call as one operator of ONNX; None if there is none that says it."""
    row: Row = call.operator
    shapes = [each.shape for each in results]
    for mapping in row.mappings:
        if mapping.framework != "onnx" or not mapping.since <= sheet.book.opset <= (mapping.until or 10**9):
            continue
        try:
            return _written(sheet, row, mapping, call, values, shapes, label, scope)
        except Unfit:
            continue
    return None


def _written(
    sheet: Sheet, row: Row, mapping: Name, call: Call, values: Mapping[TensorNode, Value], shapes: Sequence[Any],
    label: str, scope: str,
) -> list[Value]:  # fmt: skip
    properties = {**call.properties, **_ended(row, call)}
    operands = [values[each] if isinstance(each, TensorNode) else each if each is None else [values[x] for x in each]
                for each in call.operands]  # fmt: skip
    stated = _stated(sheet, row, mapping, operands, {
        name: values[each] if isinstance(each, TensorNode) else each for name, each in properties.items()
    })  # fmt: skip
    around = AROUND.get(row.name) or AROUND.get(row.kind)
    if around is not None:
        found: list[Value] = around(sheet, stated, call, shapes, label, scope)
        return found
    return _emit(sheet, stated, shapes, label, scope)


def _ended(row: Row, call: Call) -> dict[str, Any]:
    """A slice by its ends, where it was given by its sizes."""
    if row.name != "slice" or call.properties["sizes"] is None:
        return {}
    begin, sizes = call.properties["begin"], call.properties["sizes"]
    ends = [b + size if b + size or b >= 0 else LAST for b, size in zip(begin, sizes)]
    return {"end": [LAST if size == -1 else end for end, size in zip(ends, sizes)], "sizes": None}


def _emit(
    sheet: Sheet, stated: Stated, shapes: Sequence[Any], label: str, scope: str, turned: Sequence[Order | None] = ()
) -> list[Value]:
    last = max(stated.inputs, default=-1)
    given = [stated.inputs.get(place) for place in range(last + 1)]
    orders = [stated.orders.get(place) for place in range(last + 1)]
    return sheet.emit(
        stated.operator, given, shapes, label, scope=scope, orders=orders, turned=turned, **stated.attributes
    )


# --- the mapping, read backwards --------------------------------------------------


def _stated(sheet: Sheet, row: Row, mapping: Name, operands: Sequence[Any], properties: Mapping[str, Any]) -> Stated:
    schema = sheet.book.schema(mapping.operator)
    stated = Stated(mapping.operator, {}, {}, {})
    _place_operands(stated, mapping, operands)
    lists: dict[int, dict[int, Any]] = {}
    homes = mapping.homes(sheet.book.opset)
    for name, value in properties.items():
        home = homes.get(name)
        if value is None and name in STANDS_FOR:
            value = properties[STANDS_FOR[name]]
        if home is None:
            _require(_same(value, row.by_name[name].default) or (row.name, name) in TURNED)
        elif isinstance(home, Fixed):
            _require(name in ("data_format", "axis") or _same(value, home.value))  # those are turned to
        elif isinstance(home, Attribute):
            _place_attribute(stated, home, value, schema, sheet.book.real)
        elif isinstance(home, Input) and isinstance(home.adapt, Element):
            lists.setdefault(home.position, {})[home.adapt.place] = value
        elif isinstance(home, Input) and value is not None:
            stated.inputs[home.position] = value if isinstance(value, Value) else np.asarray(value)
    for position, entries in lists.items():
        stated.inputs[position] = np.array([entries[place] for place in range(len(entries))])
    _check(stated, schema, sheet.book.real)
    return stated


def _require(fits: Any) -> None:
    if not fits:
        raise Unfit


def _same(one: Any, other: Any) -> bool:
    return not isinstance(one, Value) and (one is other or (one is not None and np.array_equal(one, other)))


def _place_operands(stated: Stated, mapping: Name, operands: Sequence[Any]) -> None:
    places = range(len(operands)) if mapping.operands is None else mapping.operands
    _require(all(each is None for each in operands[len(places) :]))
    for place, each in zip(places, operands):
        if each is None:
            continue
        if isinstance(place, Permuted):
            stated.orders[place.position] = tuple(place.order.index(at) for at in range(len(place.order)))
            stated.inputs[place.position] = each
        elif place == ALL:
            stated.inputs.update(enumerate(each))
        else:
            stated.inputs[place] = each


def _place_attribute(stated: Stated, home: Attribute, value: Any, schema: Any, real: int) -> None:
    # A file has its attributes in single precision. A default that this rounds is another number in double.
    _require(real == FLOAT or not isinstance(value, float) or float(np.float32(value)) == value)
    if value is None or (home.default is not REQUIRED and _same(value, home.default)):
        _require(home.default is None or value is not None)
        return
    try:
        found = undone(home, value)
    except KeyError:
        raise Unfit from None
    for name, each in found.items():
        stated.attributes[name] = _fitting(each, schema.attributes[name].type)


def _fitting(value: Any, kind: int) -> Any:
    """A number in the type of an attribute."""
    if kind == AttributeProto.INT:
        _require(float(value).is_integer())
        return int(value)
    return float(value) if kind == AttributeProto.FLOAT else value


def _check(stated: Stated, schema: Any, real: int) -> None:
    """What ONNX asks for is there, and nothing that it does not know."""
    formal = schema.inputs
    _require(stated.operator not in (UNREAD if real == FLOAT else (*UNREAD, *SINGLE)))
    _require(all(CHOICE.intersection(each.types) or f"tensor({SPELT[real]})" in each.types for each in formal))
    variadic = bool(formal) and formal[-1].option == type(formal[-1].option).Variadic
    _require(variadic or max(stated.inputs, default=-1) < len(formal))
    for place, each in enumerate(formal):
        _require(each.option != type(each.option).Single or place in stated.inputs)


# --- rows that stand otherwise there ----------------------------------------------


def _elementwise(sheet: Sheet, stated: Stated, call: Call, shapes: Any, label: str, scope: str) -> list[Value]:
    """Nothing is turned between images that all lie turned."""
    values = [each for each in stated.inputs.values() if isinstance(each, Value)]
    _require(stated.operator != "PRelu" or values[0].shape == shapes[0])  # it spreads the slope alone
    order = common_order(values)
    if order is not None and len(values) == len(stated.inputs):
        stated.orders.update({place: order for place, each in stated.inputs.items() if each.shape})
        return _emit(sheet, stated, shapes, label, scope, [order])
    return _emit(sheet, stated, shapes, label, scope)


def _reduction(sheet: Sheet, stated: Stated, call: Call, shapes: Any, label: str, scope: str) -> list[Value]:
    _require(call.properties["axes"] is None or len(call.properties["axes"]))  # none at all means all there
    return _emit(sheet, stated, shapes, label, scope)


def _image(sheet: Sheet, stated: Stated, call: Call, shapes: Any, label: str, scope: str) -> list[Value]:
    """Windows: of four axes there, with the channels before the space."""
    (shape,) = shapes
    first, wide = _widened(sheet, stated.inputs[0]), (1, *shape) if len(shape) == 3 else shape
    wide = wide if len(wide) == 4 else (int(np.prod(shape[:-3])), *shape[-3:])
    order = (0, 3, 1, 2) if call.properties["data_format"] == "NHWC" else None
    stated.inputs[0] = first
    if order is not None:
        stated.orders[0] = order
    named = wide == shape
    (found,) = _emit(sheet, stated, [wide], label if named else "", scope, [order])
    return [found if named else sheet.emit("Reshape", [found, _whole(shape)], shapes, label, scope=scope)[0]]


def _widened(sheet: Sheet, x: Value, axes: int = 4) -> Value:
    """The value with this many axes: what leads is made one axis, or one is put before."""
    if len(x.shape) == axes:
        return x
    tail = x.shape[len(x.shape) - axes + 1 :] if len(x.shape) > axes else x.shape
    lead = x.shape[: len(x.shape) - len(tail)]
    return sheet.reshape(x, (*(1 for _ in range(axes - len(tail) - 1)), int(np.prod(lead, dtype=int)), *tail))


def _normalised(sheet: Sheet, stated: Stated, call: Call, shapes: Any, label: str, scope: str) -> list[Value]:
    """Channels stand after the batch there."""
    _require(not call.properties.get("training"))  # runtimes have it for training alone
    rank = len(shapes[0])
    if call.properties["data_format"] == "NCHW":
        return _emit(sheet, stated, shapes, label, scope)
    order = (0, rank - 1, *range(1, rank - 1))
    stated.orders[0] = order
    return _emit(sheet, stated, shapes, label, scope, [order])


def _local(sheet: Sheet, stated: Stated, call: Call, shapes: Any, label: str, scope: str) -> list[Value]:
    _require(len(shapes[0]) == 4)  # runtimes have it for images alone
    return _normalised(sheet, stated, call, shapes, label, scope)


def _product(sheet: Sheet, stated: Stated, call: Call, shapes: Any, label: str, scope: str) -> list[Value]:
    for place, turn in enumerate((call.properties["transpose_a"], call.properties["transpose_b"])):
        if turn:
            own = stated.inputs[place].straight
            stated.orders[place] = (*own[:-2], own[-1], own[-2])
    return _emit(sheet, stated, shapes, label, scope)


def _hot(sheet: Sheet, stated: Stated, call: Call, shapes: Any, label: str, scope: str) -> list[Value]:
    stated.inputs[0] = stated.inputs[0].whole()
    return _emit(sheet, stated, shapes, label, scope)


def _classes(sheet: Sheet, stated: Stated, call: Call, shapes: Any, label: str, scope: str) -> list[Value]:
    """Classes stand along axis 1 there."""
    rank = len(stated.inputs[0].shape)
    _require(rank > 1)
    axis = call.properties["axis"] % rank
    rest = [each for each in range(rank) if each != axis]
    stated.orders[0] = (rest[0], axis, *rest[1:])
    return _emit(sheet, stated, shapes, label, scope)


def _attention(sheet: Sheet, stated: Stated, call: Call, shapes: Any, label: str, scope: str) -> list[Value]:
    """Batch and heads lead there."""
    (shape,) = shapes
    _require(len(shape) <= 4)
    for place in range(3):
        stated.inputs[place] = _widened(sheet, stated.inputs[place])
    wide = (*[1] * (4 - len(shape)), *shape)
    (found,) = _emit(sheet, stated, [wide], label if wide == shape else "", scope)
    if wide == shape:
        return [found]
    return sheet.emit("Reshape", [found, _whole(shape)], shapes, label, scope=scope)


def _recurrent(sheet: Sheet, stated: Stated, call: Call, shapes: Any, label: str, scope: str) -> list[Value]:
    """Time first, which all runtimes know."""
    stated.attributes["hidden_size"] = shapes[0][-1]
    if not call.properties["batch_first"]:
        return _emit(sheet, stated, shapes, label, scope)
    del stated.attributes["layout"]
    stated.orders.update({place: (1, 0, 2) for place in (0, 5, 6) if place in stated.inputs})
    return _emit(sheet, stated, shapes, label, scope, [(1, 2, 0, 3), *[(1, 0, 2)] * (len(shapes) - 1)])


AROUND: dict[str, Any] = {
    "elementwise": _elementwise, "reduction": _reduction, "window": _image, "attention": _attention,
    "local_response_norm": _local, "matmul": _product, "one_hot": _hot,
    **dict.fromkeys(("batch_norm", "instance_norm", "group_norm"), _normalised),
    **dict.fromkeys(("nll_loss", "softmax_cross_entropy_loss"), _classes),
    **dict.fromkeys(("depth_to_space", "space_to_depth"), _normalised),
    **dict.fromkeys(("rnn", "gru", "lstm"), _recurrent),
}  # fmt: skip


def _whole(numbers: Sequence[int]) -> Any:
    return np.array(numbers, dtype=np.int64)
