"""`from_onnx`: read an ONNX file as a network of differentiable tensor nodes."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from onnx import ModelProto

from ...core.number import shortened
from ...errors import ImportModelError
from ...tensor.base import TensorNode
from ...tensor.nodes import LeafNode
from .. import network
from ..network import BuiltGraph, Port, named_extents
from ..steps import check_supported
from ..summary import format_summary
from ..weights import StoredWeights
from .arrays import dtype_of, entry_type, type_name
from .custom_ops import operator_name
from .import_graph import OnnxBuilder, exported_function, mapping_of, why_unsupported
from .reading import OnnxContent, read
from .steps import OnnxStep


class OnnxNetwork(network.ImportedNetwork):
    """A network read by `from_onnx`.

    >>> from onnx.parser import parse_model
    >>> from naive_graph.interop import from_onnx
    >>> text = "g (float[2] x) => (float[2] y) {y = Relu(x)}"
    >>> network = from_onnx(parse_model('<ir_version: 8, opset_import: ["": 18]>' + text))
    >>> [type(network).__name__, *network.nodes]
    ['OnnxNetwork', 'x', 'y']
    """

    def __init__(self, content: OnnxContent, sizes: Mapping[str, int], known: Mapping[str, Any], most: int) -> None:
        self.content, self.steps = content, content.steps
        self.known = {slot.name: known[slot.name].astype(entry_type(slot.type))
                      for slot in content.inputs if slot.name in known}  # fmt: skip
        self.said = summarize_content(content, content.name)  # before the weights are moved out of content
        slots = [input_ for input_ in content.inputs if input_.name not in self.known]
        super().__init__(content.name, slots, StoredWeights(content.weights, content.learned), sizes, most)

    def advice(self, names: Collection[str]) -> str:
        open_sizes = named_extents(self.shapes[name] for name in names)
        return f"give sizes: from_onnx(path, sizes={dict.fromkeys(sorted(open_sizes), 1)})"

    def dtype(self, slot: Port) -> np.dtype[Any]:
        return dtype_of(slot.type, f"Input {slot.name!r}")

    def new_builder(self) -> OnnxBuilder:
        return OnnxBuilder(self.weights, self.known, self.content.types, self.most)

    def collect_nodes(self, builder: OnnxBuilder, inputs: dict[str, LeafNode]) -> BuiltGraph:
        values = {output.name: builder.value(output.name) for output in self.content.outputs}
        outputs = {}
        for name, value in values.items():
            if isinstance(value, TensorNode):
                outputs[name] = value
            elif value.size:
                outputs[name] = builder.node(name, value)
        nodes = {name: value for name, value in builder.values.items() if isinstance(value, TensorNode)}
        return BuiltGraph(inputs, outputs, nodes | builder.nodes, values)


def summarize_content(content: OnnxContent, title: str) -> str:
    """Format a summary table of a file."""
    opset = max((step.opset for step in content.steps if not step.domain), default=0)
    ports = [(what, port, type_name(port.type))
             for what, some in (("input", content.inputs), ("output", content.outputs)) for port in some]  # fmt: skip
    version = f" of opset {opset}" if opset else ""
    weights, learned = content.weights, content.learned
    return format_summary(title, version, ports, content.steps, _here, why_unsupported, weights, learned)


def _here(step: OnnxStep) -> str:
    """How a step is imported: the operator's name, or a phrase for the summary."""
    function = exported_function(step)
    if function is not None:
        return operator_name(function)
    mapping = mapping_of(step.op, step.opset, step.domain)
    return mapping[0].name if mapping else "computed from shapes, or spelt out"


def from_onnx(
    source: str | os.PathLike[str] | bytes | ModelProto,
    sizes: Mapping[str, int] | None = None,
    known: Mapping[str, Any] | None = None,
    *,
    inputs: str | Sequence[str] | None = None,
    outputs: str | Sequence[str] | None = None,
    parameters: Iterable[str] | None = None,
    most: int = network.MOST,
) -> OnnxNetwork:
    """A network from an ONNX file of opset 7 on, as tensor nodes: to look at, differentiate, train and run.

    source: a path, the bytes of a file, or a ModelProto. sizes: numbers for
    dimensions that the file only names, as {"batch": 8}; without them the nodes
    are made when the network is first called, for the arrays that it is given,
    and made anew for arrays of another shape; the parameters stay the same. known:
    arrays for inputs that must be known beforehand, such as a shape. inputs, outputs:
    names of values in the file to use as inputs or outputs in place of its own;
    everything outside is ignored. parameters: names of the trainable weights;
    without it those that the file declares, or else the weights of products,
    convolutions, recurrent layers, normalisations and embeddings, but not masks,
    angles, scales and running means: `network.summary()` lists both. most: how
    many bytes the file's constants may make in all, besides its weights.

    Weights keep the type that they have in the file until they are used, and
    are float64 from then on, as is all arithmetic. What the file
    computes from shapes alone is computed now. Raises ImportModelError,
    UnknownOperatorError and ImportAttributeError, which name what is wrong.

    >>> import onnx.parser
    >>> network = from_onnx(onnx.parser.parse_model(
    ...     '<ir_version: 8, opset_import: ["": 17]> bent (float[n] x) => (float[n] y) { y = Relu(x) }'
    ... ))
    >>> network(x=[-1.0, 2.0]).tolist(), network.nodes["y"].operator.name
    ([0.0, 2.0], 'relu')
    """
    for what, argument in (("sizes", sizes), ("known", known)):
        if argument is not None and not isinstance(argument, Mapping):
            raise ImportModelError(f"from_onnx takes {what}={{name: ...}}, a dict, not {shortened(argument)}.")
    return make_network(read(source, inputs, outputs, parameters), sizes or {}, known or {}, most)


def make_network(
    content: OnnxContent, sizes: Mapping[str, int], known: Mapping[str, Any], most: int = network.MOST
) -> OnnxNetwork:
    """Make the network that a file's content describes."""
    check_supported(content.steps, why_unsupported, "ONNX")
    names = [input_.name for input_ in content.inputs]
    for name in known:
        if name not in names:
            raise ImportModelError(f"known={{{name!r}: ...}}: there is no such input. There are {', '.join(names)}.")
    return OnnxNetwork(content, sizes, {name: to_known_array(value, name) for name, value in known.items()}, most)


def to_known_array(value: Any, name: str) -> Any:
    """Convert a value of known={...} to an array. Raises ImportModelError."""
    try:
        array = np.asarray(value)
    except ValueError:
        array = np.empty(0, object)
    if array.dtype.kind not in "biuf":
        raise ImportModelError(f"known={{{name!r}: ...}} takes an array of numbers, not {shortened(value)}.")
    return array
