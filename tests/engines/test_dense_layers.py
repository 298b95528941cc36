"""Layers and outer products: of every shape, for any number of samples, wherever their numbers lie."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from naive_graph import Graph, PlaceHolder, Program, Variable, total

sizes, samples, seeds = st.integers(1, 40), st.integers(1, 70), st.integers(0, 2**32 - 1)
EPS = 2.0**-52


def numbers(random, *shape):
    """Small whole numbers: whatever is added up in whatever order, the sum is exact."""
    return random.integers(-9, 10, shape).astype(float)


class Layer:
    """A layer in a Program, over a batch, with all of its numbers."""

    def __init__(self, outputs, inputs, samples, seed):
        self.random = random = np.random.default_rng(seed)
        self.w, self.b = random.normal(size=(outputs, inputs)), random.normal(size=outputs)
        self.x, self.t = random.normal(size=(samples, inputs)), random.normal(size=(samples, outputs))
        self.weights = [[Variable(each) for each in line] for line in self.w.tolist()]
        self.bias = [Variable(each) for each in self.b.tolist()]
        self.given = [PlaceHolder() for _ in range(inputs)], [PlaceHolder() for _ in range(outputs)]
        self.y = [
            sum((w * x for w, x in zip(line, self.given[0], strict=True)), bias)
            for line, bias in zip(self.weights, self.bias, strict=True)
        ]

    def slopes(self, wrt):
        """Those of the sum over the samples of y[0]*t[0] + y[1]*t[1] + ..."""
        loss = total(Graph.sum([y * t for y, t in zip(self.y, self.given[1], strict=True)]))
        return Program(loss, wrt, inputs=self.given, engine="compiled")(self.x, self.t).gradient


@given(sizes, sizes, samples, seeds)
@settings(max_examples=15, deadline=None)
def test_a_layer_of_any_shape_adds_up_in_the_written_order(outputs, inputs, samples, seed):
    with Graph.scratch():
        layer = Layer(outputs, inputs, samples, seed)
        found = Program(layer.y, inputs=[layer.given[0]], engine="compiled")(layer.x)
    expected = np.tile(layer.b, (samples, 1))
    for k in range(inputs):
        expected = expected + layer.x[:, k : k + 1] * layer.w[:, k]
    assert np.array_equal(np.array(found.value), expected.T)


@given(sizes, sizes, samples, seeds, st.booleans())
@settings(max_examples=15, deadline=None)
def test_the_gradients_of_a_layer_of_any_shape_are_its_sums_over_the_samples(outputs, inputs, samples, seed, in_order):
    with Graph.scratch():
        layer = Layer(outputs, inputs, samples, seed)
        wrt = [*(each for line in layer.weights for each in line), *layer.bias]
        order = np.arange(len(wrt)) if in_order else layer.random.permutation(len(wrt))
        found = np.empty(len(wrt))
        found[order] = layer.slopes([wrt[place] for place in order])
    terms = np.concatenate([layer.t[:, :, None] * layer.x[:, None], layer.t[:, :, None]], axis=2)
    grid = np.concatenate([found[: outputs * inputs].reshape(outputs, inputs), found[outputs * inputs :, None]], axis=1)
    assert (np.abs(grid - terms.sum(axis=0)) <= 2 * samples * EPS * np.abs(terms).sum(axis=0)).all()
