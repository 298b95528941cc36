"""Weights of an imported network, converted to float64 only when they are used."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import numpy as np

from ..tensor.nodes import LeafNode, LeafType
from ..tensor.versions import write_tick
from ..training.model import Model
from ..training.parameters import Parameter


class Weight(LeafNode):
    """A parameter. Its array has the file's own type until its numbers are asked for, and is float64 from then on."""

    source: Parameter | None = None  # of a Model, once there is one

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
    """All that a file stores, by name: arrays, which are known, and those that are learned as leaves.

    parameters: names of those that are learned.
    """

    def __init__(self, arrays: dict[str, Any], parameters: Collection[str]) -> None:
        self.arrays, self.parameters = arrays, parameters
        self.leaves: dict[str, Weight] = {}
        self.constants: dict[str, Weight] = {}
        self.used: dict[str, Weight] = {}  # that stand in an expression

    def __contains__(self, name: object) -> bool:
        return name in self.arrays or name in self.leaves

    def __getitem__(self, name: str) -> Any:
        """The leaf of a weight that is learned; the array of another."""
        if name not in self.leaves:
            array = self.arrays[name]
            if name not in self.parameters or array.dtype.kind != "f" or not array.size:
                return array
            self.leaves[name] = Weight(self.arrays.pop(name), name, LeafType.PARAMETER)
        return self.leaves[name]

    def constant(self, name: str) -> Weight:
        """The leaf of a weight that is not learned, where a tensor reads it."""
        if name not in self.constants:
            self.constants[name] = Weight(self.arrays[name], name, LeafType.CONSTANT)
        return self.constants[name]

    def learned(self) -> dict[str, Weight]:
        """The trainable weights that the network uses."""
        return dict(self.used)

    def model(self) -> Model:
        """A Model that owns the learned weights from now on, in one array of float64."""
        model, learned = Model(), self.learned()
        model.held = np.concatenate([np.zeros(0), *(np.ravel(weight.held) for weight in learned.values())])
        model.gradients = np.zeros(len(model.held))
        start = 0
        for name, leaf in learned.items():
            leaf.source = Parameter(model, start, leaf.shape, name)
            model.parameters.append(leaf.source)
            leaf._value, leaf.watch, start = leaf.source.values, leaf.source.watch, leaf.source.end
            leaf._version = write_tick()
        return model
