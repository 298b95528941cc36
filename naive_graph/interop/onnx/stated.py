"""An operator of the table as ONNX states it: the row's own mapping, read backwards."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from onnx import AttributeProto

from ...tensor.base import Call
from ...tensor.operators.mapping import ALL, REQUIRED, Attribute, Fixed, Input, ListElement, Name, Permuted, undone
from .graph_builder import GraphBuilder, Order, Value
from .model_builder import BOOL, FLOAT, INT32, INT64, SPELT

TURNED = ("data_format", "axis")  # properties that ONNX fixes: what they concern is turned
ORDERED = {("matmul", "transpose_a"), ("matmul", "transpose_b")}  # those that it lacks, for which operands are turned
UNREAD = ("GlobalLpPool", "Swish")  # which onnxruntime has not
SINGLE = ("MeanVarianceNormalization",)  # whose definition has numbers in single precision
STANDS_FOR = {"strides": "pool"}  # what a property that is None means, where ONNX means something else
CHOICES = {f"tensor({SPELT[kind]})" for kind in (BOOL, INT64, INT32)}


class Unfit(Exception):
    """ONNX's operator cannot say this call."""


def require(fits: Any) -> None:
    if not fits:
        raise Unfit


class Statement:
    """A call as one operator of ONNX: its inputs by position and how their axes stand, and its attributes.

    Made from a row's mapping, the operands' values, and the properties. Raises Unfit.
    """

    def __init__(
        self, builder: GraphBuilder, call: Call, mapping: Name, operands: Sequence[Any], properties: Mapping[str, Any]
    ) -> None:
        self.builder, self.call, self.operator = builder, call, mapping.operator
        self.schema = builder.model_builder.schema(mapping.operator)
        self.inputs: dict[int, Any] = {}
        self.orders: dict[int, Order] = {}
        self.attributes: dict[str, Any] = {}
        self._place_operands(mapping, operands)
        self._place_properties(mapping, properties)
        self._check()

    def emit(
        self, shapes: Sequence[Any], label: str, scope: str, turned: Sequence[Order | None] = ()
    ) -> list[Value]:  # fmt: skip
        """Write it. turned: how the axes of the results stand there."""
        places = range(max(self.inputs, default=-1) + 1)
        given, orders = [self.inputs.get(place) for place in places], [self.orders.get(place) for place in places]
        return self.builder.emit(
            self.operator, given, shapes, label, scope=scope, orders=orders, turned=turned, **self.attributes
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
        row, homes = self.call.operator, mapping.homes(self.builder.model_builder.opset)
        lists: dict[int, dict[int, Any]] = {}
        for name, value in properties.items():
            home = homes.get(name)
            if value is None and name in STANDS_FOR:
                value = properties[STANDS_FOR[name]]
            if home is None:
                require(_same(value, row.by_name[name].default) or (row.name, name) in ORDERED)
            elif isinstance(home, Fixed):
                require(name in TURNED or _same(value, home.value))
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
        single = self.builder.model_builder.real == FLOAT
        require(single or not isinstance(value, float) or float(np.float32(value)) == value)
        if value is None or (home.default is not REQUIRED and _same(value, home.default)):
            require(home.default is None or value is not None)
            return
        try:
            found = undone(home, value)
        except KeyError:
            raise Unfit from None
        for name, each in found.items():
            self.attributes[name] = _fitting(each, self.schema.attributes[name].type)

    def _check(self) -> None:
        """What ONNX asks for is there, nothing that it does not know, and in types that it takes."""
        formal, real = self.schema.inputs, self.builder.model_builder.real
        variadic = bool(formal) and formal[-1].option == type(formal[-1].option).Variadic
        require(self.operator not in (UNREAD if real == FLOAT else (*UNREAD, *SINGLE)))
        require(variadic or max(self.inputs, default=-1) < len(formal))
        for place, each in enumerate(formal):
            require(each.option != type(each.option).Single or place in self.inputs)
            require(CHOICES.intersection(each.types) or f"tensor({SPELT[real]})" in each.types)


def _same(one: Any, other: Any) -> bool:
    return not isinstance(one, Value) and (one is other or (one is not None and np.array_equal(one, other)))


def _fitting(value: Any, kind: int) -> Any:
    """A number in the type of an attribute."""
    if kind == AttributeProto.INT:
        require(float(value).is_integer())
        return int(value)
    return float(value) if kind == AttributeProto.FLOAT else value
