"""A network from an ONNX file."""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping
from typing import Any

import numpy as np
from onnx import ModelProto

from ...errors import ImportModelError
from ...tensor.base import TensorNode
from ...tensor.nodes import LeafNode
from .. import network
from ..network import Sizes, sized
from ..weights import Weights
from .building import Builder, unsupported
from .folding import check_entries
from .inlining import check_known
from .reading import Content, read


class Network(network.Network):
    """What `from_onnx` gives."""

    def __init__(self, content: Content, sizes: Mapping[str, int], known: Mapping[str, Any]) -> None:
        self.content, self.size = content, len(content.steps)
        self.known = {name: np.asarray(each) for name, each in known.items()}
        weights = Weights(content.weights, statistics_of(content))
        slots = [each for each in content.inputs if each.name not in self.known]
        super().__init__(content.name, slots, weights, sizes)

    def build(self, sizes: Sizes) -> Graph:
        return Graph(self, sizes)

    def advice(self, names: Collection[str]) -> str:
        slots = [each for each in self.slots if each.name in names]
        open_ = {each for slot in slots for each in sized(slot, self.sizes) or () if isinstance(each, str)}
        return f"give sizes: from_onnx(path, sizes={dict.fromkeys(sorted(open_), 1)})"


class Graph(network.Graph):
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
        values = {each.name: builder.value(each.name) for each in network.content.outputs}
        outputs = {
            name: builder.node(name, value) if isinstance(value, np.ndarray) else value
            for name, value in values.items()
            if not isinstance(value, np.ndarray) or value.size
        }
        found = {name: each for name, each in builder.values.items() if isinstance(each, TensorNode)}
        inputs = {each.name: builder.values[each.name] for each in network.slots}
        super().__init__(inputs, outputs, found | builder.nodes)
        self.values = values


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
