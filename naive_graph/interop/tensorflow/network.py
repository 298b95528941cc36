"""from_tensorflow: read a frozen TensorFlow graph (GraphDef) as tensor nodes."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ...errors import ImportModelError
from ...tensor.base import TensorNode
from ...tensor.nodes import LeafNode
from ...tensor.operators import register_all  # noqa: F401 - all rows
from .. import network
from ..network import BuiltGraph, Port
from ..steps import check_supported
from ..summary import format_summary
from ..weights import StoredWeights
from .building import TensorFlowBuilder, mapping_of, why_unsupported
from .reading import TensorFlowContent, read
from .steps import PASSED, GraphStep, value_name
from .values import Type, dtype, type_name


class TensorFlowNetwork(network.ImportedNetwork):
    """The network that `from_tensorflow` returns."""

    def __init__(self, name: str, content: TensorFlowContent, sizes: Mapping[str, int], most: int) -> None:
        self.content, self.steps = content, content.steps
        self.said = summarize_content(content, name)  # before the weights are moved out of content
        super().__init__(name, content.slots, StoredWeights(content.arrays, content.learned), sizes, most)

    def dtype(self, slot: Port) -> np.dtype[Any]:
        return dtype(Type(slot.type), slot.name)  # type: ignore[no-any-return]

    def new_builder(self) -> TensorFlowBuilder:
        return TensorFlowBuilder(self.weights, self.most)

    def collect_nodes(self, builder: TensorFlowBuilder, inputs: dict[str, LeafNode]) -> BuiltGraph:
        outputs = {written: _output(builder, *source) for written, source in self.content.outputs.items()}
        return BuiltGraph(inputs, outputs, {**self.weights.constants, **builder.constants, **builder.nodes})

    def advice(self, names: Collection[str]) -> str:
        return f"say them: from_tensorflow(..., shapes={dict.fromkeys(names, (1, 28, 28, 1))})"


def _output(builder: TensorFlowBuilder, name: str, index: int) -> TensorNode:
    value = value_name(name, index)
    if value not in builder.values:
        count = sum(key.partition(":")[0] == name for key in builder.values)
        raise ImportModelError(f"Node {name!r} gives {count} results here; there is no {value}.")
    return builder.tensor(builder.origins.get(value, value))


def summarize_content(content: TensorFlowContent, title: str) -> str:
    """Summarize a file as a table: inputs, outputs, operators and weights."""
    ports = [("input", slot, type_name(slot.type)) for slot in content.slots]
    ports += [("output", Port(output, 0, None), "") for output in content.outputs]
    steps = [step for step in content.steps if step.op not in ("Const", "Placeholder", PASSED)]
    return format_summary(title, "", ports, steps, _here, why_unsupported, content.arrays, content.learned)


def _here(step: GraphStep) -> str:
    """How a step is imported: the name of its row, or a phrase for the summary."""
    mapping = mapping_of(step.op)
    return mapping[0].name if mapping else "computed from shapes, or passed on"


def from_tensorflow(
    source: Any,
    *,
    inputs: str | Sequence[str] | None = None,
    outputs: str | Sequence[str] | None = None,
    shapes: Mapping[str, Sequence[int]] | None = None,
    parameters: Iterable[str] | None = None,
    most: int = network.MOST,
) -> TensorFlowNetwork:
    """Read a frozen graph: a .pb file, a .pbtxt in text, bytes, or a GraphDef.

    outputs: which nodes are asked for, as `dense/Softmax` or `split:1`; without
    it, those that no other node takes, with all their parts. What they do not need is not looked at.
    inputs: nodes that are given, in place of what they would be computed from.
    shapes: of Placeholders that the file leaves open; without them the nodes are
    made when the network is first called, for the arrays that it is given, and
    made anew for arrays of another shape; the parameters stay the same.
    parameters: the names of the Consts that are learned; without it the weights of
    products, convolutions, recurrent layers, normalisations and embeddings, but not
    masks, angles, scales and running means. most: how many bytes the file's
    constants may make in all, besides its weights.

    Nodes keep their names, and belong to the scopes that the names give. What is
    computed from shapes alone is computed now; a PlaceholderWithDefault is its
    default. Raises ImportModelError, ImportAttributeError, or
    UnknownOperatorError, which names all operators that are missing.

    >>> from google.protobuf.text_format import Parse
    >>> from tensorboard.compat.proto.graph_pb2 import GraphDef
    >>> graph = Parse('node {name: "x" op: "Placeholder"} node {name: "y" op: "Relu" input: "x"}', GraphDef())
    >>> from_tensorflow(graph, shapes={"x": [2]})(x=[-1.0, 2.0]).tolist()
    [0.0, 2.0]
    """
    name = Path(source).stem if isinstance(source, (str, os.PathLike)) else "graph"
    return make_network(read(source, outputs, shapes, parameters, inputs), name, {}, most)


def make_network(
    content: TensorFlowContent, name: str, sizes: Mapping[str, int], most: int = network.MOST
) -> TensorFlowNetwork:
    """The network that a file's content describes, as from_tensorflow gives it."""
    check_supported(content.steps, why_unsupported, "TensorFlow")
    return TensorFlowNetwork(name, content, sizes, most)
