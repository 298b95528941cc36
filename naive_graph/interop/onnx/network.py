"""A network that came from a file: its inputs, parameters, outputs and inner nodes as ordinary tensor nodes."""

from __future__ import annotations

import os
from collections.abc import Mapping
from functools import cached_property
from typing import Any

import numpy as np
from onnx import ModelProto

from ...errors import FeedError, ImportModelError
from ...tensor.arrays import as_array
from ...tensor.base import TensorNode
from ...tensor.evaluate import forward
from ...tensor.nodes import LeafNode
from ...training.model import Model
from .building import Builder, unsupported
from .folding import check_entries
from .inlining import check_known
from .reading import Content, Slot, read, sized
from .weights import Weight, Weights

Sizes = tuple[tuple[int, ...], ...]


class Network:
    """What `from_onnx` gives. Called with arrays, it gives the outputs' arrays.

    inputs, outputs: tensor nodes by name. parameters: the weights that are
    learned, leaves by name. nodes: every inner node by its name in the file, and
    by the name of its result; of an operator with several results a tuple.
    model: a Model of the parameters, for trainers and for saving.
    """

    def __init__(self, content: Content, sizes: Mapping[str, int], known: Mapping[str, Any]) -> None:
        self.name = content.name
        self.content = content
        self.sizes, self.known = dict(sizes), {name: np.asarray(each) for name, each in known.items()}
        self.weights = Weights(content.weights, statistics_of(content))
        self.built: dict[Sizes, Graph] = {}
        self.slots = [each for each in content.inputs if each.name not in self.known]
        if all(map(self._is_sized, self.slots)):
            self.graph_of(tuple(self._shape(each) for each in self.slots))

    # --- what it is made of ---

    @property
    def graph(self) -> Graph:
        """The nodes for the sizes that were used last."""
        if not self.built:
            free = [each.name for each in self.slots if not self._is_sized(each)]
            names = {each for slot in self.slots for each in sized(slot, self.sizes) or () if isinstance(each, str)}
            raise ImportModelError(
                f"The network's nodes depend on the shapes of {', '.join(free)}, which the file leaves open. Call the "
                f"network with arrays, or give sizes: from_onnx(path, sizes={dict.fromkeys(sorted(names), 1)})."
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
        graph = self.built.pop(sizes, None) or Graph(self, sizes)
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
        return f"<Network {self.name!r} of {len(self.content.steps)} operators: {said}>"


class Graph:
    """The nodes of a network, for inputs of certain shapes."""

    def __init__(self, network: Network, sizes: Sizes) -> None:
        builder = Builder(network.weights)
        for slot, shape in zip(network.slots, sizes):
            check_entries(shape, f"Input {slot.name!r}")
            builder.values[slot.name] = LeafNode.input(shape, slot.name)
            builder.types[slot.name] = slot.type
        builder.values |= network.known
        builder.types |= {each.name: each.type for each in network.content.inputs if each.name in network.known}
        for step in network.content.steps:
            builder.take(step)
        self.inputs = {each.name: builder.values[each.name] for each in network.slots}
        self.values = {each.name: builder.value(each.name) for each in network.content.outputs}
        self.outputs = {
            name: builder.node(name, value) if isinstance(value, np.ndarray) else value
            for name, value in self.values.items()
            if not isinstance(value, np.ndarray) or value.size
        }
        found = {name: each for name, each in builder.values.items() if isinstance(each, TensorNode)}
        self.nodes = found | builder.nodes

    def run(self) -> dict[str, Any]:
        """The outputs' arrays, from the inputs' present ones."""
        return {name: forward(each) for name, each in self.outputs.items()}


def statistics_of(content: Content) -> list[str]:
    """The weights that stand where the running mean and variance do."""
    return [name for step in content.steps if step.op == "BatchNormalization" for name in step.inputs[3:5]]


def from_onnx(
    source: str | os.PathLike[str] | bytes | ModelProto,
    sizes: Mapping[str, int] | None = None,
    known: Mapping[str, Any] | None = None,
) -> Network:
    """A network from an ONNX file of opset 7 on, as tensor nodes: to look at, differentiate, train and run.

    source: a path, the bytes of a file, or a ModelProto. sizes: numbers for
    dimensions that the file only names, as {"batch": 8}; without them the nodes
    are made when the network is first called, for the arrays that it is given,
    and made anew for arrays of another shape; the parameters stay the same. known:
    arrays for inputs that must be known beforehand, such as a shape.

    Weights keep the type that they have in the file until they are used, and
    are float64 from then on, as is all arithmetic. Those with more than one
    number, but for running means and variances, are parameters. What the file
    computes from shapes alone is computed now. Raises ImportModelError,
    UnknownOperatorError and ImportAttributeError, which name what is wrong.
    """
    content = read(source)
    check_known(content.steps, unsupported)
    names = [each.name for each in content.inputs]
    for name in known or {}:
        if name not in names:
            raise ImportModelError(f"known={{{name!r}: ...}}: there is no such input. There are {', '.join(names)}.")
    return Network(content, sizes or {}, known or {})
