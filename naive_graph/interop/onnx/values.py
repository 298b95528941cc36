"""What a step reads: values by name, as arrays that are known or as tensor nodes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from onnx import TensorProto

from ...errors import ImportModelError
from ...tensor.base import TensorNode
from ...tensor.differentiate import BEHIND, ancestors
from ...tensor.nodes import LeafNode, LeafType
from ..network import InputLeaf, listed
from ..weights import StoredWeights, Weight
from .inlining import Application

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
