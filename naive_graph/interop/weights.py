"""Weights of an imported network, as leaves; an array is converted to float64 only when it is first read."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import numpy as np

from ..tensor.nodes import LeafNode, LeafType
from ..tensor.versions import write_tick
from ..training.model import Model
from ..training.parameters import Parameter


class Weight(LeafNode):
    """A stored weight as a leaf; its array keeps the file's type until first read, then becomes float64."""

    source: Parameter | None = None  # the Model's parameter that holds the values, once model() was called

    def __init__(self, array: Any, name: str, leaf_type: LeafType) -> None:
        super().__init__(leaf_type, array.shape, name=name)
        self._value = array

    @property
    def held(self) -> Any:
        """The current values, as float64."""
        if self.source is not None:
            return self.source.values
        array: Any = self._value
        if array.dtype != np.float64:
            array = self._value = array.astype(np.float64)
        return array

    def _hold(self, value: object) -> None:
        if self.source is not None:
            self.source.values = value
        else:
            super()._hold(value)

    def receive(self, gradient: Any) -> None:
        if self.source is not None:
            self.source.receive(gradient)


class StoredWeights:
    """All stored arrays of a file by name: constants as arrays, trainable weights as leaves.

    parameters: names of the trainable weights.
    """

    def __init__(self, arrays: dict[str, Any], parameters: Collection[str]) -> None:
        self.arrays, self.parameters = arrays, parameters
        self.leaves: dict[str, Weight] = {}
        self.constants: dict[str, Weight] = {}
        self.used: dict[str, Weight] = {}  # trainable weights that the built graph uses

    def __contains__(self, name: object) -> bool:
        return name in self.arrays or name in self.leaves

    def __getitem__(self, name: str) -> Any:
        """The leaf of a trainable weight; the array of any other."""
        if name not in self.leaves:
            array = self.arrays[name]
            if name not in self.parameters or array.dtype.kind != "f" or not array.size:
                return array
            self.leaves[name] = Weight(self.arrays.pop(name), name, LeafType.PARAMETER)
        return self.leaves[name]

    def constant(self, name: str) -> Weight:
        """A stored array that is not trainable, as a constant leaf."""
        if name not in self.constants:
            self.constants[name] = Weight(self.arrays[name], name, LeafType.CONSTANT)
        return self.constants[name]

    def model(self) -> Model:
        """Make a Model that owns the trainable weights from now on, in one float64 array."""
        model, learned = Model(), self.used
        model.held = np.concatenate([np.zeros(0), *(np.ravel(weight.held) for weight in learned.values())])
        model.gradients = np.zeros(len(model.held))
        start = 0
        for name, leaf in learned.items():
            leaf.source = Parameter(model, start, leaf.shape, name)
            model.parameters.append(leaf.source)
            leaf._value, leaf.watch, start = leaf.source.values, leaf.source.watch, leaf.source.end
            leaf._version = write_tick()
        return model
