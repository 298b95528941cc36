"""Networks of tensor nodes learn, on arrays and as scalars, with the same numbers."""

from itertools import pairwise

import numpy as np
import pytest

from naive_graph import Graph, LeafNode, lower
from naive_graph.tensor import conv2d, losses, max_pool2d


def moons(count, seed=0):
    """Two half circles that reach into each other: points (count, 2) and labels (count, 1). As scikit-learn's."""
    rng = np.random.default_rng(seed)
    angles = np.linspace(0.0, np.pi, count // 2)
    outer = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    inner = np.stack([1.0 - np.cos(angles), 0.5 - np.sin(angles)], axis=1)
    points = np.concatenate([outer, inner]) + rng.normal(scale=0.1, size=(2 * (count // 2), 2))
    return points, np.repeat([[0.0], [1.0]], count // 2, axis=0)


def perceptron(seed=1):
    """Weights and biases of a network 2-16-16-1."""
    rng = np.random.default_rng(seed)
    sizes = [2, 16, 16, 1]
    parameters = []
    for layer, (inputs, outputs) in enumerate(pairwise(sizes), 1):
        weights = rng.normal(size=(inputs, outputs)) * (2.0 / inputs) ** 0.5
        parameters.append(LeafNode.parameter(weights, f"W{layer}"))
        parameters.append(LeafNode.parameter(np.zeros(outputs), f"b{layer}"))
    return parameters


def logits(parameters, x):
    h = x
    for place in range(0, len(parameters), 2):
        h = h @ parameters[place] + parameters[place + 1]
        h = h.relu() if place + 2 < len(parameters) else h
    return h


def descend(loss, parameters, rate):
    """One step of gradient descent on arrays."""
    loss.forward()
    loss.backward()
    slopes = [parameter.gradient() for parameter in parameters]  # all, before a write makes them those of other leaves
    for parameter, slope in zip(parameters, slopes, strict=True):
        parameter.value = parameter.value - rate * slope


def descend_scalars(loss, parameters, rate):
    """The same step on scalar nodes."""
    Graph.forward(loss)
    Graph.backward(loss)
    for parameter in parameters:
        for node in lower(parameter):
            node.value -= rate * node.grad


def test_moons_are_told_apart_on_arrays():
    points, labels = moons(200)
    parameters = perceptron()
    z = logits(parameters, LeafNode.constant(points))
    loss = losses.sigmoid_cross_entropy(labels, z)
    for _ in range(400):
        descend(loss, parameters, 0.5)
    assert ((z.forward() > 0) == (labels > 0)).mean() >= 0.97


def test_scalars_learn_the_same_numbers():
    points, labels = moons(10)
    parameters, same = perceptron(), perceptron()  # two: what an array is set to is written into its scalars
    loss, other = (
        losses.sigmoid_cross_entropy(labels, logits(each, LeafNode.constant(points))) for each in (parameters, same)
    )
    scalar = lower(other)[()]
    for _ in range(4):
        descend(loss, parameters, 0.5)
        descend_scalars(scalar, same, 0.5)
    for parameter, each in zip(parameters, same, strict=True):
        assert lower(each).values == pytest.approx(parameter.value, abs=1e-12)
    Graph.forward(scalar)
    assert scalar.value == pytest.approx(float(loss.forward()), abs=1e-12)


class Convolutional:
    """8 x 8 images: 8 filters of 3 x 3, relu, the largest of each 2 x 2, and a layer for 10 classes."""

    def __init__(self, seed=0):
        rng = np.random.default_rng(seed)
        self.kernel = LeafNode.parameter(rng.normal(size=(3, 3, 1, 8)) * 0.3, "kernel")
        self.bias = LeafNode.parameter(np.zeros(8), "bias")
        self.weights = LeafNode.parameter(rng.normal(size=(72, 10)) * 0.15, "weights")
        self.shift = LeafNode.parameter(np.zeros(10), "shift")
        self.parameters = [self.kernel, self.bias, self.weights, self.shift]

    def __call__(self, images):
        h = max_pool2d((conv2d(images, self.kernel) + self.bias).relu(), 2)
        return h.reshape(images.shape[0], -1) @ self.weights + self.shift


def digits():
    data = pytest.importorskip("sklearn.datasets").load_digits()
    order = np.random.default_rng(0).permutation(len(data.target))
    return data.images[order][..., None] / 16.0, data.target[order]


def test_a_small_convolution_reads_digits():
    images, classes = digits()
    network, size = Convolutional(), 64
    x, labels = LeafNode.input((size, 8, 8, 1)), LeafNode.input((size, 10))
    loss = losses.softmax_cross_entropy(labels, network(x))
    moves = [np.zeros(parameter.shape) for parameter in network.parameters]
    for step in range(200):
        chosen = np.arange(step * size, (step + 1) * size) % 1500
        x.value, labels.value = images[chosen], np.eye(10)[classes[chosen]]
        loss.forward()
        loss.backward()
        slopes = [parameter.gradient() for parameter in network.parameters]
        for parameter, move, slope in zip(network.parameters, moves, slopes):
            move *= 0.9
            move -= 0.05 * slope
            parameter.value = parameter.value + move
    unseen = network(LeafNode.constant(images[1500:])).eval().argmax(1)
    assert (unseen == classes[1500:]).mean() >= 0.93


def test_a_convolution_learns_the_same_numbers_as_scalars():
    images, classes = digits()
    network, same = Convolutional(), Convolutional()
    loss, other = (
        losses.sparse_softmax_cross_entropy(classes[:2], each(LeafNode.constant(images[:2])))
        for each in (network, same)
    )
    scalar = lower(other)[()]
    for _ in range(2):
        descend(loss, network.parameters, 0.1)
        descend_scalars(scalar, same.parameters, 0.1)
    for parameter, each in zip(network.parameters, same.parameters, strict=True):
        assert lower(each).values == pytest.approx(parameter.value, abs=1e-12)
