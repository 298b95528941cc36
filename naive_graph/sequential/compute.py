"""Forward and backward of each layer on blocks of samples (along the first axis), and the losses.

Each layer is defined once, as a composition of tensor operators. Its forward is
that composition, evaluated. Dense, convolution and pooling go backward by the
composition's vjp; activations and dropout multiply by a residual that the forward
saved; softmax and cross-entropy have gradients written by hand, which reuse the
forward's exponentials.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from ..core.catalogue import log as logarithm
from ..core.catalogue import maximum, relu, sigmoid, square
from ..tensor.base import TensorNode
from ..tensor.calculus import Calculus, NodeAlgebra
from ..tensor.differentiate import gradients, reverse
from ..tensor.evaluation.cached_function import PlannedFunction
from ..tensor.nodes import LeafNode
from ..tensor.operators.convolution import conv2d
from ..tensor.operators.pooling import avg_pool2d, max_pool2d
from ..tensor.operators.reductions import softmax
from ..tensor.slicing import reshape
from .layers import Activation, AveragePooling2D, Conv2D, Dense, Dropout, Layer, LayerInNetwork, MaxPooling2D

Array = Any
Weights = Mapping[str, Array]
Chances = Sequence[tuple[int, ...]] | None  # for each sample the seed of its random numbers
TINY = 1e-12  # probabilities are clipped to this before the logarithm


class LayerArithmetic:
    """Forward, backward and weight gradients of a layer, for blocks of samples; planned once per block size."""

    def __init__(self, layer_in_network: LayerInNetwork) -> None:
        self.layer_in_network = layer_in_network
        self.names = list(layer_in_network.weight_shapes)
        self.made: dict[int, tuple[PlannedFunction, ...]] = {}

    def planned_functions(self, count: int) -> tuple[PlannedFunction, ...]:
        """The planned functions for blocks of `count` samples: forward, input gradients, weight gradients. Cached."""
        if count not in self.made:
            forward, back = self._made(count)
            parts = back.outputs[:1], back.outputs[1:]
            self.made[count] = forward, *(PlannedFunction(back.inputs, part) for part in parts)
        return self.made[count]

    def _made(self, count: int) -> tuple[PlannedFunction, PlannedFunction]:
        x = LeafNode.input((count, *self.layer_in_network.input_shape), "x")
        delta = LeafNode.input((count, *self.layer_in_network.output_shape), "delta")
        weights = [LeafNode.input(shape, name) for name, shape in self.layer_in_network.weight_shapes.items()]
        result = apply_layer(self.layer_in_network.layer, x, dict(zip(self.names, weights)))
        adjoints = reverse(Calculus(NodeAlgebra(), (), lambda node: node), {result: delta}, [x, *weights])
        slopes = [adjoints[leaf] for leaf in (x, *weights)]
        return PlannedFunction([x, *weights], [result]), PlannedFunction([delta, x, *weights], slopes)

    def forward(self, x: Array, weights: Weights, seeds: Chances = None) -> tuple[Array, Array | None]:
        """The results, and the residual for the backward (None: it uses the inputs)."""
        return self.planned_functions(len(x))[0](x, *(weights[name] for name in self.names))[0], None

    def backward(self, delta: Array, residual: Array | None, weights: Weights) -> Array:
        """The gradients at the inputs, from the inputs or the forward's residual."""
        x = residual
        if x is None:  # a linear layer, which does not use it
            x = np.empty((len(delta), *self.layer_in_network.input_shape))
        return self.planned_functions(len(x))[1](delta, x, *(weights[name] for name in self.names))[0]

    def learned(self, delta: Array, residual: Array | None, weights: Weights) -> dict[str, Array]:
        """The gradients of the weights, summed over the block."""
        if not self.names:
            return {}
        layer_weights = (weights[name] for name in self.names)
        return dict(zip(self.names, self.planned_functions(len(delta))[2](delta, residual, *layer_weights)))


class SlopeArithmetic(LayerArithmetic):
    """relu and sigmoid: the residual is the derivative at each entry."""

    def _made(self, count: int) -> tuple[PlannedFunction, PlannedFunction]:
        shape = (count, *self.layer_in_network.input_shape)
        x, delta, slope = (LeafNode.input(shape, name) for name in ("x", "delta", "slope"))
        y = apply_layer(self.layer_in_network.layer, x, {})
        return PlannedFunction([x], [y, gradients(y.sum(), [x])[0]]), PlannedFunction([delta, slope], [delta * slope])

    def forward(self, x: Array, weights: Weights, seeds: Chances = None) -> tuple[Array, Array | None]:
        y, residual = self.planned_functions(len(x))[0](x)
        return y, residual

    def backward(self, delta: Array, residual: Array | None, weights: Weights) -> Array:
        return self.planned_functions(len(delta))[1](delta, residual)[0]


class SoftmaxArithmetic(SlopeArithmetic):
    """softmax: the residual is the probabilities p; backward, dx = p * (delta - sum of delta * p)."""

    def _made(self, count: int) -> tuple[PlannedFunction, PlannedFunction]:
        shape = (count, *self.layer_in_network.input_shape)
        x, delta, p = (LeafNode.input(shape, name) for name in ("x", "delta", "p"))
        y = apply_layer(self.layer_in_network.layer, x, {})
        slope = p * (delta - (delta * p).sum(-1, keepdims=True))
        return PlannedFunction([x], [y, y]), PlannedFunction([delta, p], [slope])


class DropoutArithmetic(SlopeArithmetic):
    """Dropout: the residual is the scaled mask. Without seeds (inference) the mask is all ones."""

    def forward(self, x: Array, weights: Weights, seeds: Chances = None) -> tuple[Array, Array | None]:
        rate = self.layer_in_network.layer.rate
        if seeds is None:
            return x, np.ones_like(x)
        if rate == 1.0:
            return np.zeros_like(x), np.zeros_like(x)
        random_numbers = [np.random.default_rng(chance).random(self.layer_in_network.input_shape) for chance in seeds]
        mask = (np.stack(random_numbers) >= rate) / (1.0 - rate)
        return x * mask, mask


def make_arithmetic(placed: LayerInNetwork) -> LayerArithmetic:
    """The arithmetic of a layer, by its kind."""
    layer = placed.layer
    if isinstance(layer, Activation):
        return (SoftmaxArithmetic if layer.activation == "softmax" else SlopeArithmetic)(placed)
    return (DropoutArithmetic if isinstance(layer, Dropout) else LayerArithmetic)(placed)


# --- layers as tensor operators ---------------------------------------------------


def _dense(layer: Any, x: TensorNode, weights: Mapping[str, TensorNode]) -> TensorNode:
    y: TensorNode = reshape(x, (*x.shape[:1], weights["W"].shape[0])) @ weights["W"]
    return y + weights["b"] if layer.use_bias else y


def _conv2d(layer: Any, x: TensorNode, weights: Mapping[str, TensorNode]) -> TensorNode:
    """W is (filters, channels, height, width); the operator takes (height, width, channels, filters)."""
    w = weights["W"].transpose(2, 3, 1, 0)
    y: TensorNode = conv2d(x, w, strides=layer.strides, padding=[*layer.padding, *layer.padding])
    return y + weights["b"] if layer.use_bias else y


def _crop_to_windows(layer: Any, x: TensorNode) -> TensorNode:
    """Crop images to whole pooling windows."""
    (_, height, width, _), (window_height, window_width) = x.shape, layer.pool_size
    cropped: TensorNode = x[:, : height // window_height * window_height, : width // window_width * window_width]
    return cropped


ACTIVATIONS: dict[str, Callable[..., Any]] = {"relu": relu, "sigmoid": sigmoid, "softmax": softmax}
COMPOSED: dict[type[Layer], Callable[[Any, Any, Any], TensorNode]] = {
    Dense: _dense,
    Conv2D: _conv2d,
    MaxPooling2D: lambda layer, x, _: max_pool2d(_crop_to_windows(layer, x), layer.pool_size),
    AveragePooling2D: lambda layer, x, _: avg_pool2d(_crop_to_windows(layer, x), layer.pool_size),
    Activation: lambda layer, x, _: ACTIVATIONS[layer.activation](x),
    Dropout: lambda layer, x, _: x,  # inference; DropoutArithmetic drops in training
}


def apply_layer(layer: Layer, x: TensorNode, weights: Mapping[str, TensorNode]) -> TensorNode:
    """Apply a layer to a block of samples, as tensor operators."""
    return COMPOSED[type(layer)](layer, x, weights)


# --- losses ---------------------------------------------------------------------


class Loss:
    """The loss of each sample and its gradient at the prediction (E2).

    variance: sum of (p - y)**2 / 2. crossEntropy: -sum of y log max(p, 1e-12),
    whose gradient is -y / max(p, 1e-12) below the cut, too.
    """

    def __init__(self, kind: str, shape: tuple[int, ...]) -> None:
        self.kind = kind
        self.shape = shape
        self.made: dict[int, PlannedFunction] = {}

    def _made(self, count: int) -> PlannedFunction:
        p, y = (LeafNode.input((count, *self.shape), name) for name in ("p", "y"))
        loss = self.of(p, y, tuple(range(1, 1 + len(self.shape))))
        slope = gradients(loss.sum(), [p])[0] if self.kind == "variance" else -y / maximum(p, TINY)
        return PlannedFunction([p, y], [loss, slope])

    def of(self, p: TensorNode, y: TensorNode, axes: tuple[int, ...]) -> TensorNode:
        """The loss as tensor operators, summed along these axes."""
        total: TensorNode
        if self.kind == "variance":
            total = square(p - y).sum(axes) * 0.5
        else:
            total = -(y * logarithm(maximum(p, TINY))).sum(axes)
        return total

    def __call__(self, predictions: Array, labels: Array) -> tuple[list[float], Array]:
        count = len(predictions)
        if count not in self.made:
            self.made[count] = self._made(count)
        losses, slopes = self.made[count](predictions, labels)
        return losses.tolist(), slopes
