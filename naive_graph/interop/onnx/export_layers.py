"""Export a Sequential to ONNX: one operator for each layer.

In the file there is a batch axis, and images are NCHW (channels first).
Here they are channels last: so images are transposed at the input, and before a dense
layer flattens them.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import prod
from typing import Any

import numpy as np
from onnx import GraphProto

from ...sequential.layers import (
    Activation,
    AveragePooling2D,
    Conv2D,
    Dense,
    Dropout,
    LayerInNetwork,
    MaxPooling2D,
    Pooling,
)
from ...sequential.network import Network
from .export_graph import GraphBuilder, ModelBuilder, common_order, graph
from .export_values import InputValue, StoredValue, Value

FIRST = (0, 3, 1, 2)  # the permutation from NHWC to NCHW
SAMPLES = "N"  # the name of the dynamic batch dimension
SAID = "sequential"  # metadata key of the network's training settings
OPERATORS = {
    Dense: "Gemm", Conv2D: "Conv", MaxPooling2D: "MaxPool", AveragePooling2D: "AveragePool", Dropout: "Dropout",
}  # fmt: skip


def write_layers(model_builder: ModelBuilder, network: Network) -> GraphProto:
    """Write a Sequential as a graph with one node for each layer."""
    builder = GraphBuilder(model_builder)
    value: Value = InputValue(builder, (SAMPLES, *network.input_shape), network.streams.data)
    for placed, weights in zip(network.layers, network.weights):
        value = _write_layer(builder, placed, value, weights)
    return graph(builder, "sequential", [value], [network.streams.result])


def _write_layer(builder: GraphBuilder, placed_layer: LayerInNetwork, x: Value, weights: Mapping[str, Any]) -> Value:
    layer: Any = placed_layer.layer
    operator = layer.activation.capitalize() if isinstance(layer, Activation) else OPERATORS[type(layer)]
    attributes: dict[str, Any] = {}
    order = common_order([x])
    if isinstance(layer, Dense) and len(x.shape) > 2:
        x = builder.emit("Flatten", [x], [(SAMPLES, prod(placed_layer.input_shape))], f"{placed_layer.number}.Flatten")[
            0
        ]
        order = None
    elif isinstance(layer, Conv2D):
        order, attributes = FIRST, {
            "kernel_shape": [*layer.kernel_size], "strides": [*layer.strides], "pads": [*layer.padding] * 2
        }  # fmt: skip
    elif isinstance(layer, Pooling):
        order, attributes = FIRST, {"kernel_shape": [*layer.pool_size], "strides": [*layer.pool_size]}
    elif operator == "Softmax":
        attributes = {"axis": 1 if order else -1}
    operands: list[Any] = [x]
    operands += [StoredValue(builder, array, f"{placed_layer.number}.{name}", True) for name, array in weights.items()]
    operands += [np.array(layer.rate)] if isinstance(layer, Dropout) else []
    label = f"{placed_layer.number}.{type(layer).__name__}"
    shapes = [(SAMPLES, *placed_layer.output_shape)]
    return builder.emit(operator, operands, shapes, label, orders=[order], turned=[order], **attributes)[0]
