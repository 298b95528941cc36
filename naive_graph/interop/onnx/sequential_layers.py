"""A Sequential as an ONNX file, and back from a file whose operators form a chain: one layer for each operator.

In the file there is a batch axis, and convolution and pooling have channels first (NCHW); here channels are
last. A Transpose between the two orders adds no layer. If the file flattens images that are channels first, the
rows of the next dense layer's weights are rearranged.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable, Mapping
from math import prod
from typing import Any

import numpy as np
from onnx import GraphProto

from ...errors import ImportModelError, SequentialError, SequentialWarning
from ...sequential import layers
from ...sequential.model import Sequential
from ...sequential.network import Network
from .custom_ops import SETTINGS
from .export_graph import GraphBuilder, InputValue, ModelBuilder, StoredValue, Value, common_order, make_graph_proto
from .import_graph import attributes_of
from .reading import OnnxContent, read
from .steps import OnnxStep


def sequential_from_onnx(source: Any) -> Sequential:
    """A Sequential from an ONNX file whose operators are layers one after the other, as `to_onnx` of one writes them.

    Images are NCHW in the file and NHWC (channels last) here;
    the weights are rearranged for that. Raises
    ImportModelError, which lists all operators that are no layer.

    >>> from naive_graph.interop.onnx.export import export_model
    >>> from naive_graph.sequential import Dense, Sequential
    >>> line = Sequential([Dense(2), Dense(1)], 3, initializer=0.5)
    >>> sequential_from_onnx(export_model(line)).predict([1.0, 2.0, 3.0]).tolist()
    [4.0]
    """
    content = read(source)
    reader = LayerReader(content)
    for step in content.steps:
        reader.take(step)
    reader.check_end()
    network = _make_network(content, reader)
    for mine, weight in zip(network.weights, reader.weights):
        for name, array in weight.items():
            mine[name][...] = array
    return network


class LayerReader:
    """Walks a chain of operators and collects layers.

    last_output: the value that the next operator must read. shape: its shape here, without the batch axis.
    """

    def __init__(self, content: OnnxContent) -> None:
        self.content = content
        self.layers: list[layers.Layer] = []
        self.weights: list[dict[str, Any]] = []
        self.unrecognised: dict[str, None] = {}
        if len(content.inputs) != 1 or len(content.outputs) != 1 or not content.inputs[0].extents:
            raise ImportModelError("A Sequential has one input, whose shape is known, and one output.")
        self.last_output = content.inputs[0].name
        is_transposed = any(step.op == "Transpose" for step in content.steps[:1])
        extents = [extent if isinstance(extent, int) else 0 for extent in content.inputs[0].extents[1:]]
        is_own_export = SETTINGS in content.said
        # Whether images are channels first at the operator that is read next.
        self.channels_first = len(extents) == 3 and not is_transposed and not is_own_export
        self.shape = (*extents[1:], extents[0]) if self.channels_first else tuple(extents)
        self.input_shape = self.shape

    def take(self, step: OnnxStep) -> None:
        """Read one operator; unrecognised ones are collected for the error message."""
        read_layer = None if step.domain else LAYER_READERS.get(step.op)
        follows = step.inputs[:1] == (self.last_output,) and len(step.outputs) == 1
        try:
            is_layer = follows and read_layer is not None and read_layer(self, step)
        except (SequentialError, KeyError, TypeError, ValueError):  # its sizes or attributes fit no layer
            is_layer = False
        if not is_layer:
            self.unrecognised.setdefault(step.label)
        self.last_output = next(iter(step.outputs), "")

    def check_end(self) -> None:
        """Raise ImportModelError unless all operators are layers and the last one gives the output."""
        if self.last_output != self.content.outputs[0].name:
            self.unrecognised.setdefault(f"what comes after {self.content.outputs[0].name!r}")
        if self.unrecognised:
            raise ImportModelError(
                f"A Sequential has no layer for {', '.join([*self.unrecognised][:10])}. Its layers, one after the "
                "other, are Gemm, Conv, MaxPool, AveragePool, Relu, Sigmoid, Softmax and Dropout; from_onnx reads "
                "others."
            )

    def said(self, step: OnnxStep, **usual: Any) -> Any:
        """Return the step's attributes with these defaults; None if another one has a value that no layer can have."""
        attributes = attributes_of(step)
        odd = {name for name, value in attributes.items() if name in ACCEPTED and value not in ACCEPTED[name]}
        return None if odd - usual.keys() else {**usual, **attributes}

    def array(self, step: OnnxStep, place: int) -> Any:
        """Return an input that is a weight; None if it is absent or no weight."""
        name = step.inputs[place] if place < len(step.inputs) else ""
        return self.content.weights.get(name)

    def add(self, layer: layers.Layer, **weights: Any) -> bool:
        """Add a layer if the weights fit its shapes; return whether they do."""
        expected_shapes = layer.weight_shapes(self.shape)
        if {name: weight.shape for name, weight in weights.items()} != expected_shapes:
            return False
        self.shape = layer.output_shape(self.shape)
        self.layers.append(layer)
        self.weights.append(weights)
        return True


# Attributes that no layer has -> the values with which an operator is a layer all the same.
ACCEPTED: dict[str, Any] = {
    "alpha": [1.0], "beta": [1.0], "transA": [0], "group": [1], "ceil_mode": [0], "count_include_pad": [0, 1],
    "auto_pad": ["NOTSET", "VALID"], "dilations": [[1, 1]], "storage_order": [0], "seed": range(2**63),
}  # fmt: skip


def _read_transpose(reader: LayerReader, step: OnnxStep) -> bool:
    perm = attributes_of(step).get("perm")
    if perm not in ([0, 3, 1, 2], [0, 2, 3, 1]) or (perm == [0, 3, 1, 2]) == reader.channels_first:
        return False
    reader.channels_first = not reader.channels_first
    return True


def _read_flatten(reader: LayerReader, step: OnnxStep) -> bool:
    """Flatten, or a Reshape that does the same."""
    if step.op == "Flatten":
        return bool(attributes_of(step).get("axis", 1) == 1)
    shape = reader.array(step, 1)
    return shape is not None and len(shape) == 2 and shape[1] in (-1, prod(reader.shape))


def _read_dense(reader: LayerReader, step: OnnxStep) -> bool:
    attributes, w, b = reader.said(step, transB=0), reader.array(step, 1), reader.array(step, 2)
    if attributes is None or w is None or w.ndim != 2 or (b is None) != (len(step.inputs) < 3):
        return False
    w = w.T if attributes["transB"] else w
    if reader.channels_first and len(reader.shape) == 3 and len(w) == prod(reader.shape):
        rows, columns, channels = reader.shape
        w = w.reshape(channels, rows, columns, -1).transpose(1, 2, 0, 3).reshape(w.shape)
    biases = {} if b is None else {"b": b.reshape(-1)}
    return reader.add(layers.Dense(w.shape[1], use_bias=int(b is not None)), W=w, **biases)


def _read_conv2d(reader: LayerReader, step: OnnxStep) -> bool:
    attributes, w, b = reader.said(step, strides=[1, 1], pads=[0] * 4), reader.array(step, 1), reader.array(step, 2)
    if not reader.channels_first or attributes is None or w is None or w.ndim != 4:
        return False
    strides, before, after = tuple(attributes["strides"]), tuple(attributes["pads"][:2]), tuple(attributes["pads"][2:])
    biases = {} if b is None else {"b": b}
    layer = layers.Conv2D(len(w), w.shape[2:], strides=strides, use_bias=len(biases), padding=before)
    return before == after and reader.add(layer, W=w, **biases)


def _read_pooling(reader: LayerReader, step: OnnxStep) -> bool:
    attributes = reader.said(step, strides=[1, 1], pads=[0] * 4)
    if not reader.channels_first or attributes is None or any(attributes["pads"]):
        return False
    kind = layers.MaxPooling2D if step.op == "MaxPool" else layers.AveragePooling2D
    size = attributes["kernel_shape"]
    return attributes["strides"] == size and reader.add(kind(tuple(size)))


def _read_activation(reader: LayerReader, step: OnnxStep) -> bool:
    rank = len(reader.shape) + 1
    axis = attributes_of(step).get("axis", -1)
    channels = 1 if reader.channels_first and rank == 4 else rank - 1
    return (step.op != "Softmax" or axis % rank == channels) and reader.add(layers.Activation(step.op.lower()))


def _read_dropout(reader: LayerReader, step: OnnxStep) -> bool:
    rate = 0.5 if len(step.inputs) < 2 else reader.array(step, 1)
    # Via str: float32(0.3) becomes 0.3, not 0.30000001192...
    return len(step.inputs) < 3 and rate is not None and (rate == 0 or reader.add(layers.Dropout(float(str(rate)))))


LAYER_READERS: dict[str, Callable[[LayerReader, OnnxStep], bool]] = {
    "Transpose": _read_transpose, "Flatten": _read_flatten, "Reshape": _read_flatten, "Gemm": _read_dense,
    "Conv": _read_conv2d,    "MaxPool": _read_pooling, "AveragePool": _read_pooling, "Dropout": _read_dropout,
    "Identity": lambda reader, step: True, **dict.fromkeys(("Relu", "Sigmoid", "Softmax"), _read_activation),
}  # fmt: skip


def _make_network(content: OnnxContent, reader: LayerReader) -> Sequential:
    """Make the Sequential, with the training settings in the file's metadata or else defaults."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SequentialWarning)
        try:
            network = Sequential.from_settings(reader.layers, json.loads(content.said[SETTINGS]))
        except (KeyError, TypeError, ValueError, AttributeError, RecursionError):
            network = Sequential(reader.layers, reader.input_shape)
    if network.input_shape != reader.input_shape:
        raise ImportModelError(f"The file says that samples are {network.input_shape}, and has {reader.input_shape}.")
    return network


# --- writing: one node for each layer, a batch axis, and images channels first (NCHW) -----------------


SAMPLES = "N"  # the name of the dynamic batch dimension
CHANNELS_FIRST = (0, 3, 1, 2)  # the permutation from NHWC to NCHW
LAYER_OPERATORS = {
    layers.Dense: "Gemm", layers.Conv2D: "Conv", layers.MaxPooling2D: "MaxPool",
    layers.AveragePooling2D: "AveragePool", layers.Dropout: "Dropout",
}  # fmt: skip


def write_layers(model_builder: ModelBuilder, network: Network) -> GraphProto:
    """Write a Sequential as a graph with one node for each layer."""
    builder = GraphBuilder(model_builder)
    value: Value = InputValue(builder, (SAMPLES, *network.input_shape), network.streams.data)
    for placed, weights in zip(network.layers, network.weights):
        value = _write_layer(builder, placed, value, weights)
    return make_graph_proto(builder, "sequential", [value], [network.streams.result])


def _write_layer(builder: GraphBuilder, placed: layers.LayerInNetwork, x: Value, weights: Mapping[str, Any]) -> Value:
    layer: Any = placed.layer
    operator = layer.activation.capitalize() if isinstance(layer, layers.Activation) else LAYER_OPERATORS[type(layer)]
    attributes: dict[str, Any] = {}
    order = common_order([x])
    if isinstance(layer, layers.Dense) and len(x.shape) > 2:
        flat_shape = SAMPLES, prod(placed.input_shape)
        x, order = builder.emit("Flatten", [x], [flat_shape], f"{placed.number}.Flatten")[0], None
    elif isinstance(layer, layers.Conv2D):
        order, attributes = CHANNELS_FIRST, {
            "kernel_shape": [*layer.kernel_size], "strides": [*layer.strides], "pads": [*layer.padding] * 2
        }  # fmt: skip
    elif isinstance(layer, layers.Pooling):
        order, attributes = CHANNELS_FIRST, {"kernel_shape": [*layer.pool_size], "strides": [*layer.pool_size]}
    elif operator == "Softmax":
        attributes = {"axis": 1 if order else -1}
    operands: list[Any] = [x]
    operands += [StoredValue(builder, array, f"{placed.number}.{name}", True) for name, array in weights.items()]
    operands += [np.array(layer.rate)] if isinstance(layer, layers.Dropout) else []
    label = f"{placed.number}.{type(layer).__name__}"
    shapes = [(SAMPLES, *placed.output_shape)]
    return builder.emit(operator, operands, shapes, label, orders={0: order}, turned=[order], attributes=attributes)[0]
