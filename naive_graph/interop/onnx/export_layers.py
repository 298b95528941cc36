"""A Sequential as an ONNX file: one operator for each layer.

In a file the samples are many, and a picture has its channels before its rows.
Here they stand last: so pictures are turned at the input, and where a dense
layer lays them out in a row.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from math import prod
from typing import Any

import numpy as np
from onnx import GraphProto

from ...sequential.layers import Activation, AveragePooling2D, Conv2D, Dense, Dropout, Layer, MaxPooling2D, Placed
from ...sequential.network import Network
from .export_graph import GraphBuilder, ModelBuilder, common_order, graph
from .export_values import InputValue, StoredValue, Value

FIRST = (0, 3, 1, 2)  # channels before rows and columns, seen from here
SAMPLES = "N"  # how many there are is open
SAID = "sequential"  # by which the file says what else belongs to a network
Weights = Mapping[str, Value]


def write_layers(model_builder: ModelBuilder, network: Network) -> GraphProto:
    """Write a Sequential as a graph with one node for each layer."""
    builder = GraphBuilder(model_builder)
    value: Value = InputValue(builder, (SAMPLES, *network.input_shape), network.streams.data)
    for placed, arrays in zip(network.layers, network.weights):
        label = f"{placed.number}.{type(placed.layer).__name__}"
        held = {name: StoredValue(builder, array, f"{placed.number}.{name}", True) for name, array in arrays.items()}
        value = WRITTEN[type(placed.layer)](builder, placed, value, held, label)
    return graph(builder, "sequential", [value], [network.streams.result])


def training_metadata(network: Network) -> str:
    """Training settings of a Sequential as JSON, for the file's metadata."""
    training = [network.input_shape, network.learning_rate, network.batch_size, network.loss, network.initializer]
    return json.dumps({"training": training, "seed": network.seed, "streams": network.streams})


def _one(
    builder: GraphBuilder, placed: Placed, operator: str, given: list[Any], label: str, order: Any = None, **said: Any
) -> Value:
    shapes = [(SAMPLES, *placed.output_shape)]
    return builder.emit(operator, given, shapes, label, orders=[order], turned=[order], **said)[0]


def _dense(builder: GraphBuilder, placed: Placed, x: Value, weights: Weights, label: str) -> Value:
    if len(x.shape) > 2:
        x = builder.emit("Flatten", [x], [(SAMPLES, prod(placed.input_shape))], f"{placed.number}.Flatten")[0]
    return _one(builder, placed, "Gemm", [x, *weights.values()], label)


def _conv2d(builder: GraphBuilder, placed: Placed, x: Value, weights: Weights, label: str) -> Value:
    layer: Any = placed.layer
    pads = [*layer.padding, *layer.padding]
    kernel, strides = [*layer.kernel_size], [*layer.strides]
    return _one(
        builder, placed, "Conv", [x, *weights.values()], label, FIRST, kernel_shape=kernel, strides=strides, pads=pads
    )


def _pooling(operator: str) -> Any:
    def write(builder: GraphBuilder, placed: Placed, x: Value, weights: Weights, label: str) -> Value:
        size = [*placed.layer.pool_size]
        return _one(builder, placed, operator, [x], label, FIRST, kernel_shape=size, strides=size)

    return write


def _activation(builder: GraphBuilder, placed: Placed, x: Value, weights: Weights, label: str) -> Value:
    order = common_order([x])
    kind = placed.layer.activation
    if kind != "softmax":
        return _one(builder, placed, kind.capitalize(), [x], label, order)
    return _one(builder, placed, "Softmax", [x], label, order, axis=1 if order else -1)


def _dropout(builder: GraphBuilder, placed: Placed, x: Value, weights: Weights, label: str) -> Value:
    return _one(builder, placed, "Dropout", [x, np.array(placed.layer.rate)], label, common_order([x]))


WRITTEN: dict[type[Layer], Callable[..., Value]] = {
    Dense: _dense, Conv2D: _conv2d, MaxPooling2D: _pooling("MaxPool"), AveragePooling2D: _pooling("AveragePool"),
    Activation: _activation, Dropout: _dropout,
}  # fmt: skip
