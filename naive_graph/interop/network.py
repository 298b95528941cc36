"""A network that came from a file: its inputs, parameters, outputs and inner nodes as ordinary tensor nodes."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from ..errors import FeedError, ImportModelError
from ..tensor.arrays import as_array
from ..tensor.base import TensorNode
from ..tensor.evaluate import forward
from ..tensor.nodes import LeafNode
from ..training.model import Model
from .weights import Weight, Weights

Sizes = tuple[tuple[int, ...], ...]
FEW = 8  # names in a message


class Slot(NamedTuple):
    """An input or output: its name, its type of entries, and its extents: numbers, names, or None where unsaid."""

    name: str
    type: int
    extents: tuple[int | str | None, ...] | None


def sized(slot: Slot, sizes: Mapping[str, int]) -> tuple[int | str | None, ...] | None:
    """The extents, with numbers for the names that are known."""
    if slot.extents is None:
        return None
    return tuple(sizes.get(each, each) if isinstance(each, str) else each for each in slot.extents)


class Graph:
    """The nodes of a network, for inputs of certain shapes. values: its outputs; arrays where they have no entries."""

    def __init__(self, inputs: dict[str, LeafNode], outputs: dict[str, TensorNode], nodes: dict[str, Any]) -> None:
        self.inputs, self.outputs, self.nodes = inputs, outputs, nodes
        self.values: dict[str, Any] = {**outputs}

    def run(self) -> dict[str, Any]:
        """The outputs' arrays, from the inputs' present ones."""
        return {name: forward(each) for name, each in self.outputs.items()}


class Network:
    """What `from_onnx` or `from_tensorflow` gives. Called with arrays, it gives the outputs' arrays.

    inputs, outputs: tensor nodes by name. parameters: the weights that are
    learned, leaves by name. nodes: every inner node by its name in the file, and
    by the name of its result; of an operator with several results a tuple.
    model: a Model of the parameters, for trainers and for saving.
    """

    size = 0  # how many operators it is made of

    def __init__(self, name: str, slots: Sequence[Slot], weights: Weights, sizes: Mapping[str, int]) -> None:
        self.name, self.slots, self.weights, self.sizes = name, list(slots), weights, dict(sizes)
        self.built: dict[Sizes, Graph] = {}
        if all(map(self._is_sized, self.slots)):
            self.graph_of(tuple(self._shape(each) for each in self.slots))

    def build(self, sizes: Sizes) -> Graph:
        """The nodes for inputs of these shapes."""
        raise NotImplementedError

    def advice(self, names: Collection[str]) -> str:
        """How to say the shapes of these inputs."""
        raise NotImplementedError

    # --- what it is made of ---

    @property
    def graph(self) -> Graph:
        """The nodes for the sizes that were used last."""
        if not self.built:
            free = [each.name for each in self.slots if not self._is_sized(each)]
            raise ImportModelError(
                f"The network's nodes depend on the shapes of {', '.join(free)}, which the file leaves open. Call the "
                f"network with arrays, or {self.advice(free)}."
            )
        return next(reversed(self.built.values()))

    @property
    def inputs(self) -> dict[str, LeafNode]:
        return self.graph.inputs

    @property
    def outputs(self) -> dict[str, TensorNode]:
        return self.graph.outputs

    @property
    def nodes(self) -> dict[str, Any]:
        return self.graph.nodes

    @property
    def parameters(self) -> dict[str, Weight]:
        self.graph  # noqa: B018 - which says what is used
        return self.weights.learned()

    @cached_property
    def model(self) -> Model:
        """A Model that owns the parameters: `AdamTrainer(network.model)`, `network.model.save(path)`."""
        self.graph  # noqa: B018 - which says what is used
        return self.weights.model()

    # --- building ---

    def _is_sized(self, slot: Slot) -> bool:
        extents = sized(slot, self.sizes)
        return extents is not None and all(isinstance(each, int) for each in extents)

    def _shape(self, slot: Slot) -> tuple[int, ...]:
        return tuple(int(each or 0) for each in sized(slot, self.sizes) or ())

    def graph_of(self, sizes: Sizes) -> Graph:
        """The nodes for inputs of these shapes; built once."""
        graph = self.built.pop(sizes, None) or self.build(sizes)
        self.built[sizes] = graph  # the last
        return graph

    # --- running ---

    def __call__(self, *arrays: Any, **named: Any) -> Any:
        """The output's array, from an array for each input: in the file's order, or by name. Several: a dict."""
        given = self._given(arrays, named)
        graph = self.graph_of(tuple(each.shape for each in given))
        for leaf, array in zip(graph.inputs.values(), given):
            leaf.value = array
        found = graph.run()
        return found if len(found) > 1 else next(iter(found.values()))

    def _given(self, arrays: tuple[Any, ...], named: Mapping[str, Any]) -> list[Any]:
        names = [each.name for each in self.slots]
        values = {**dict(zip(names, arrays)), **named}
        if len(arrays) + len(named) != len(names) or values.keys() != set(names):
            raise FeedError(
                f"The network takes {', '.join(names) or 'no inputs'}: an array for each, in order or by name."
            )
        found = [as_array(np.asarray(values[each]) * 1, f"Input {each!r}") for each in names]
        for slot, array in zip(self.slots, found):
            due = sized(slot, self.sizes)
            if due is not None and (len(due) != array.ndim or any(
                isinstance(each, int) and each != extent for each, extent in zip(due, array.shape)
            )):  # fmt: skip
                raise FeedError(f"Input {slot.name!r} has the shape {due}; an array of {array.shape} was given.")
        return found

    def __repr__(self) -> str:
        said = ", ".join(f"{each.name} {each.extents}" for each in self.slots)
        return f"<Network {self.name!r} of {self.size} operators: {said}>"


def listed(names: Collection[Any]) -> str:
    """Names in a message, the first few of many."""
    shown = ", ".join(map(repr, [*names][:FEW])) or "nothing"
    return shown if len(names) <= FEW else f"{shown} and {len(names) - FEW:,} more"
