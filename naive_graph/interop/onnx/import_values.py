"""What a step reads: values by name, and the operands and properties of its row by the row's mapping."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from onnx import TensorProto, defs, helper

from ...errors import (
    ImportAttributeError,
    ImportModelError,
)
from ...tensor.base import TensorNode
from ...tensor.differentiate import BEHIND, ancestors
from ...tensor.nodes import LeafNode, LeafType
from ...tensor.operators.kinds import OfRule
from ...tensor.operators.mapping import ALL, Input, Name, Permuted
from ...tensor.operators.properties import LARGEST
from ...tensor.operators.row import Row
from ...tensor.operators.signature import RowParameter
from ...tensor.operators.table import TABLE
from ..network import InputLeaf, listed
from ..row_properties import read_properties
from ..weights import StoredWeights, Weight
from .steps import Application

WHOLE = {getattr(TensorProto, f"{sign}INT{bits}") for sign in ("", "U") for bits in (2, 4, 8, 16, 32, 64)
         if hasattr(TensorProto, f"{sign}INT{bits}")}  # fmt: skip


class Values:
    """The values of a graph, by name: arrays that are known, weights, and tensor nodes."""

    def __init__(self, weights: StoredWeights, types: Mapping[str, int], most: int) -> None:
        self.weights, self.most, self.made = weights, most, 0
        self.values: dict[str, Any] = {}
        self.types = dict(types)  # ONNX's, of all values by their names
        self.nodes: dict[str, Any] = {}  # by the names of steps
        self.constants: dict[str, LeafNode] = {}

    def value(self, name: str) -> Any:
        """An array that is known, or a node. Raises ImportModelError for a result that no row gives."""
        if name in self.weights:
            return self.weights[name]
        if name not in self.values:
            raise ImportModelError(f"{name!r} is a further result of its operator, which is not given here.")
        return self.values[name]

    def hold(self, size: int, what: str) -> None:
        """Count bytes that are made of the file. Raises ImportModelError if they are too many."""
        self.made += size
        if self.made > self.most:
            raise ImportModelError(
                f"{what} would bring what the file's constants make to {self.made:_} bytes, and most is {self.most:_}. "
                f"If that is meant, say most={2 * self.made:_}."
            )

    def input(self, step: Application, place: int) -> Any:
        """One input; None if it is left out."""
        name = step.inputs[place] if -len(step.inputs) <= place < len(step.inputs) else ""
        return self.value(name) if name else None

    def operand(self, step: Application, place: int) -> Any:
        """One input as a tensor node; None if it is left out."""
        value = self.input(step, place)
        if isinstance(value, Weight):
            self.weights.used[value.name or ""] = value  # of which there may be other names
        return self.node(step.inputs[place], value) if isinstance(value, np.ndarray) else value

    def node(self, name: str, array: Any) -> LeafNode:
        """A known array as a constant."""
        if name not in self.constants:
            if not array.size or array.dtype.kind not in "biuf":
                raise ImportModelError(
                    f"{name!r} of shape {array.shape} and type {array.dtype} is no tensor of numbers."
                )
            if name in self.weights:
                return self.weights.constant(name)
            self.hold(8 * array.size, repr(name))
            self.constants[name] = Weight(array, name, LeafType.CONSTANT)
        return self.constants[name]

    def known(self, step: Application, place: int) -> Any:
        """One input as an array; None if it is left out. Raises ImportModelError if it is not known yet."""
        value = self.input(step, place)
        if isinstance(value, Weight):
            return np.asarray(value._value)
        if isinstance(value, TensorNode):
            raise ImportModelError(
                f"{step.label}: {step.inputs[place]!r} must be known before the network runs. {advice(value)}"
            )
        return value

    def type(self, step: Application, place: int) -> int:
        """ONNX's type of an input's entries."""
        return self.types.get(step.inputs[place], int(TensorProto.FLOAT))

    def is_whole(self, step: Application, place: int) -> bool:
        """Whether an input's entries are whole numbers."""
        return self.type(step, place) in WHOLE


def advice(value: TensorNode) -> str:
    """How to make a value known before the network runs: give the inputs that it is computed from."""
    leaves = ancestors([value], of=BEHIND)
    inputs = [each.name for each in leaves if isinstance(each, InputLeaf)]
    if not inputs:
        weights = [each.name for each in leaves if isinstance(each, Weight)]
        return f"It is computed from {listed(weights)}: leave these out of from_onnx(..., parameters=[...])."
    said, many = ", ".join(f"{each!r}: ..." for each in inputs), "s" * (len(inputs) > 1)
    options = " ".join(f"--known {each}=..." for each in inputs)
    return (
        f"It is computed from the input{many} {listed(inputs)}: give from_onnx(..., known={{{said}}}), or on the "
        f"command line {options}."
    )


# --- by the mappings that rows carry ------------------------------------------


def mapping_of(op: str, opset: int, domain: str = "") -> tuple[Row, Name] | None:
    """The row that stands for an operator in this opset, and how it is called there.

    In a domain besides ONNX's own there are the names that rows have there and ONNX has not.
    """
    return None if domain and defs.has(op) else TABLE.mapping("onnx", op, opset)


def operands(values: Values, step: Application, row: Row, mapping: Name) -> dict[str, Any]:
    """The operands of a row, by their names."""
    read = {home.position for home in mapping.homes(step.opset).values() if isinstance(home, Input)}
    places = mapping.operands or [place for place in range(len(step.inputs)) if place not in read]
    if ALL in places:
        there = [at for at in range(len(step.inputs)) if getattr(values.input(step, at), "size", 0)]  # of entries
        return {row.operand_names[0]: [values.operand(step, at) for at in there]}
    if (isinstance(row, OfRule) and row.rule.arity != 1) or row.name in ("maximum", "minimum"):
        return _chained(values, step, row)
    if len(places) > len(row.operand_names):
        raise ImportModelError(f"{step.label}: {row.usage()} takes fewer operands than its {len(places)} inputs.")
    return {name: _turned(values, step, each) for name, each in zip(row.operand_names, places)}


def _turned(values: Values, step: Application, place: int | Permuted) -> Any:
    """An operand, its axes in our order."""
    if not isinstance(place, Permuted):
        return values.operand(step, place)
    x = values.operand(step, place.position)
    if x is not None and x.rank != len(place.order):
        raise ImportModelError(f"{step.label}: {step.inputs[place.position]!r} has {x.rank} axes, not 4.")
    return None if x is None else TABLE["transpose"](x, list(place.order))


def _chained(values: Values, step: Application, row: Row) -> dict[str, Any]:
    """Two operands of a rule: all but the last input, joined by it, and the last."""
    each = [values.operand(step, place) for place in range(len(step.inputs))]
    if len(each) == 1:
        return dict(zip(row.operand_names, each * 2))
    while len(each) > len(row.operand_names):
        each[:2] = [row(*each[:2])]
    return dict(zip(row.operand_names, each))


def properties(values: Values, step: Application, row: Row, mapping: Name) -> dict[str, Any]:
    """The properties of a row, by their names. Raises ImportAttributeError."""

    def read_input(place: int, parameter: RowParameter) -> Any:
        given = values.input(step, place)
        return given if isinstance(given, TensorNode) and parameter.keeps(given) else values.known(step, place)

    def read_shape(place: int) -> Any:
        return values.operand(step, place).shape

    attributes = {name: attribute_value(step, each) for name, each in step.attributes.items()}
    return read_properties(row, mapping, step.opset, step.label, attributes, read_input, read_shape)


def check_attributes(step: Application, schema: Any) -> None:
    """Attributes are those of the operator, and of its types. Raises ImportAttributeError."""
    for name, each in step.attributes.items():
        if name not in schema.attributes:
            raise ImportAttributeError(
                step.label, name, attribute_value(step, each), f"{step.op} has none of this name."
            )
        if each.type != schema.attributes[name].type.value:
            raise ImportAttributeError(step.label, name, attribute_value(step, each), "It is of another type.")
    for name, said in schema.attributes.items():
        if said.required and name not in step.attributes:
            raise ImportAttributeError(step.label, name, None, "It must be there.")


def attribute_value(step: Application, attribute: Any) -> Any:
    """An attribute as a number, a text or a list."""
    value = helper.get_attribute_value(attribute)
    try:
        if isinstance(value, bytes):
            return value.decode()
        if attribute.type == attribute.INTS:
            return [max(-LARGEST, min(each, LARGEST)) for each in value]  # ends beyond all ends are written so
        if attribute.type in (attribute.FLOATS, attribute.STRINGS):
            return [each.decode() if isinstance(each, bytes) else each for each in value]
    except UnicodeDecodeError:
        raise ImportAttributeError(step.label, attribute.name, value, "It is no text.") from None
    return value
