"""What a step reads: values by name, as arrays that are known or as tensor nodes."""

from __future__ import annotations

from typing import Any

import numpy as np
from onnx import TensorProto

from ...errors import ImportModelError
from ...tensor.base import TensorNode
from ...tensor.nodes import LeafNode
from ..weights import StoredWeights, Weight
from .inlining import Application


class Values:
    """The values of a graph, by name: arrays that are known, weights, and tensor nodes."""

    def __init__(self, weights: StoredWeights, most: int) -> None:
        self.weights, self.most, self.made = weights, most, 0
        self.values: dict[str, Any] = {}
        self.types: dict[str, int] = {}
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
            self.hold(8 * array.size, repr(name))
            self.constants[name] = LeafNode.constant(array.astype(np.float64), name)
        return self.constants[name]

    def known(self, step: Application, place: int) -> Any:
        """One input as an array; None if it is left out. Raises ImportModelError if it is not known yet."""
        value = self.input(step, place)
        if isinstance(value, Weight):
            return np.asarray(value._value)
        if isinstance(value, TensorNode):
            name = step.inputs[place]
            raise ImportModelError(
                f"{step.label}: {name!r} must be known before the network runs. If it is an input, give it: "
                f"from_onnx(..., known={{{name!r}: ...}})."
            )
        return value

    def type(self, step: Application, place: int) -> int:
        return self.types.get(step.inputs[place], int(TensorProto.FLOAT))
