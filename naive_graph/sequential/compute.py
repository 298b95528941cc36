"""Forward and backward of each layer on blocks of samples (along the first axis), and the losses.

Each layer is defined once, as a composition of tensor operators. Its forward is
that composition, evaluated. Dense, convolution and pooling go backward by the
composition's vjp; activations and dropout multiply by a residual that the forward
saved; softmax's backward is written by hand from its results, and cross-entropy's gradient by hand as well.

`saved` is what a backward needs of its forward besides delta, the gradient at the
layer's output: a residual, or else the layer's input (Dense, convolution, max pooling).
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
from ..tensor.evaluation.evaluate import PlannedFunction
from ..tensor.nodes import LeafNode
from ..tensor.operators.convolution import conv2d
from ..tensor.operators.pooling import avg_pool2d, max_pool2d
from ..tensor.operators.reductions import softmax
from ..tensor.slicing import reshape
from .layers import Activation, AveragePooling2D, Conv2D, Dense, Dropout, Layer, LayerInNetwork, MaxPooling2D

Array = Any
Weights = Mapping[str, Array]
Seeds = Sequence[tuple[int, ...]] | None  # for each sample the seed of its random numbers
TINY = 1e-12  # probabilities are clipped to this before the logarithm


class LayerArithmetic:
    """Forward, backward and weight gradients of a layer, for blocks of samples; planned once per block size."""

    def __init__(self, layer_in_network: LayerInNetwork) -> None:
        self.layer_in_network = layer_in_network
        self.names = list(layer_in_network.weight_shapes)
        self._planned: dict[int, tuple[PlannedFunction, ...]] = {}  # by block size

    def planned_functions(self, count: int) -> tuple[PlannedFunction, ...]:
        """The planned functions for blocks of `count` samples: forward, input gradients, weight gradients. Cached."""
        if count not in self._planned:
            forward, backward = self._plan(count)
            dx, *weight_gradients = backward.outputs
            inputs = backward.inputs
            self._planned[count] = forward, PlannedFunction(inputs, [dx]), PlannedFunction(inputs, weight_gradients)
        return self._planned[count]

    def _plan(self, count: int) -> tuple[PlannedFunction, PlannedFunction]:
        """Plan the forward, and the backward: its outputs are the gradient at the input, then those of the weights."""
        x = LeafNode.input((count, *self.layer_in_network.input_shape), "x")
        delta = LeafNode.input((count, *self.layer_in_network.output_shape), "delta")
        weights = [LeafNode.input(shape, name) for name, shape in self.layer_in_network.weight_shapes.items()]
        result = apply_layer(self.layer_in_network.layer, x, dict(zip(self.names, weights)))
        adjoints = reverse(Calculus(NodeAlgebra(), (), lambda node: node), {result: delta}, [x, *weights])
        input_and_weights = [x, *weights]
        backward = PlannedFunction([delta, *input_and_weights], [adjoints[leaf] for leaf in input_and_weights])
        return PlannedFunction(input_and_weights, [result]), backward

    def forward(self, x: Array, weights: Weights, seeds: Seeds = None) -> tuple[Array, Array | None]:
        """The results, and the residual for the backward (None: it uses the inputs)."""
        return self.planned_functions(len(x))[0](x, *(weights[name] for name in self.names))[0], None

    def backward(self, delta: Array, saved: Array | None, weights: Weights) -> Array:
        """The gradients at the inputs. saved: the inputs, or the forward's residual; None if neither is needed."""
        return self.planned_functions(len(delta))[1](delta, saved, *(weights[name] for name in self.names))[0]

    def weight_gradients(self, delta: Array, saved: Array | None, weights: Weights) -> dict[str, Array]:
        """The gradients of the weights, summed over the block."""
        if not self.names:
            return {}
        layer_weights = (weights[name] for name in self.names)
        return dict(zip(self.names, self.planned_functions(len(delta))[2](delta, saved, *layer_weights)))


class SlopeArithmetic(LayerArithmetic):
    """relu and sigmoid: the residual is the derivative at each entry."""

    def _plan(self, count: int) -> tuple[PlannedFunction, PlannedFunction]:
        shape = (count, *self.layer_in_network.input_shape)
        x, delta, slope = (LeafNode.input(shape, name) for name in ("x", "delta", "slope"))
        y = apply_layer(self.layer_in_network.layer, x, {})
        derivative = gradients(y.sum(), [x])[0]  # each entry of y depends on one of x: the sum's gradient has them all
        return PlannedFunction([x], [y, derivative]), PlannedFunction([delta, slope], [delta * slope])

    def forward(self, x: Array, weights: Weights, seeds: Seeds = None) -> tuple[Array, Array | None]:
        y, residual = self.planned_functions(len(x))[0](x)
        return y, residual

    def backward(self, delta: Array, saved: Array | None, weights: Weights) -> Array:
        return self.planned_functions(len(delta))[1](delta, saved)[0]


class SoftmaxArithmetic(SlopeArithmetic):
    """softmax: the residual is the probabilities p; backward, dx = p * (delta - sum of delta * p)."""

    def _plan(self, count: int) -> tuple[PlannedFunction, PlannedFunction]:
        shape = (count, *self.layer_in_network.input_shape)
        x, delta, p = (LeafNode.input(shape, name) for name in ("x", "delta", "p"))
        y = apply_layer(self.layer_in_network.layer, x, {})
        dx = p * (delta - (delta * p).sum(-1, keepdims=True))
        return PlannedFunction([x], [y, y]), PlannedFunction([delta, p], [dx])


class DropoutArithmetic(SlopeArithmetic):
    """Dropout: the residual is the scaled mask. Without seeds (inference) the mask is all ones."""

    def forward(self, x: Array, weights: Weights, seeds: Seeds = None) -> tuple[Array, Array | None]:
        rate = self.layer_in_network.layer.rate
        if seeds is None:
            return x, np.ones_like(x)
        if rate == 1.0:
            return np.zeros_like(x), np.zeros_like(x)
        random_numbers = [np.random.default_rng(seed).random(self.layer_in_network.input_shape) for seed in seeds]
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
    """The loss of each sample, and its gradient with respect to the prediction p; y is the label.

    variance: sum of (p - y)**2 / 2. crossEntropy: -sum of y log max(p, 1e-12). Its
    gradient is -y / max(p, 1e-12), also where p is smaller than 1e-12, so that training can leave there.
    """

    def __init__(self, kind: str, shape: tuple[int, ...]) -> None:
        self.kind = kind
        self.shape = shape
        self._planned: dict[int, PlannedFunction] = {}  # by block size

    def _plan(self, count: int) -> PlannedFunction:
        p, y = (LeafNode.input((count, *self.shape), name) for name in ("p", "y"))
        loss = self.of(p, y, tuple(range(1, 1 + len(self.shape))))
        gradient = gradients(loss.sum(), [p])[0] if self.kind == "variance" else -y / maximum(p, TINY)
        return PlannedFunction([p, y], [loss, gradient])

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
        if count not in self._planned:
            self._planned[count] = self._plan(count)
        losses, gradient = self._planned[count](predictions, labels)
        return losses.tolist(), gradient
