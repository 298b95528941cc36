"""Where numbers are rounded: each product of a value before it is added, a sum for the derivatives within its bound."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from naive_graph import Graph, PlaceHolder, Program, Variable, mean

sizes, samples, seeds = st.integers(2, 12), st.integers(1, 40), st.integers(0, 2**32 - 1)
engines = pytest.mark.parametrize("engine", ["compiled", None])


class Layer:
    """A layer with a bias, over a batch, and what it is fed."""

    def __init__(self, outputs, inputs, samples, seed):
        random = np.random.default_rng(seed)
        self.w, self.b = random.normal(size=(outputs, inputs)), random.normal(size=outputs)
        self.x = random.normal(size=(samples, inputs))
        self.given = [PlaceHolder() for _ in range(inputs)]
        self.weights = [[Variable(each) for each in line] for line in self.w.tolist()]
        self.y = [
            sum((w * x for w, x in zip(line, self.given, strict=True)), Variable(bias))
            for line, bias in zip(self.weights, self.b.tolist(), strict=True)
        ]

    def values(self, **wishes):
        return np.array(Program(self.y, inputs=[self.given], **wishes)(self.x).value)


@engines
@given(sizes, sizes, samples, seeds)
@settings(max_examples=10, deadline=None)
def test_a_layers_products_are_rounded_before_they_are_added(engine, outputs, inputs, samples, seed):
    with Graph.scratch():
        layer = Layer(outputs, inputs, samples, seed)
        found = layer.values(engine=engine)
    expected = np.tile(layer.b, (samples, 1))
    for k in range(inputs):
        expected = expected + layer.x[:, k : k + 1] * layer.w[:, k]
    assert np.array_equal(found, expected.T)


@engines
@given(sizes, sizes, samples, seeds)
@settings(max_examples=10, deadline=None)
def test_gradients_stay_within_the_bound(engine, outputs, inputs, samples, seed):
    with Graph.scratch():
        layer = Layer(outputs, inputs, samples, seed)
        wrt = [each for line in layer.weights for each in line]
        slopes = Program(mean(Graph.sum(layer.y)), wrt, inputs=[layer.given], engine=engine)(layer.x).gradient
    bound = 2 * (samples + 2) * np.finfo(float).eps * np.abs(layer.x).mean(axis=0)
    assert (np.abs(slopes.reshape(outputs, inputs) - layer.x.mean(axis=0)) <= bound).all()
