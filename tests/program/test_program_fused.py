"""`fused=True`: a product and its addition rounded once, in values too; never without it."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from naive_graph import Graph, LeafNode, LoweredLoss, Model, PlaceHolder, Program, Variable, mean, parameter, relu
from naive_graph.errors import EngineError

sizes, samples, seeds = st.integers(2, 12), st.integers(1, 40), st.integers(0, 2**32 - 1)
engines = pytest.mark.parametrize("engine", ["tape", None])


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


def rounded_once(w, b, x):
    """The sum from the left, with one rounding for each product and its addition."""
    for one, other in zip(w.tolist(), x.tolist(), strict=True):
        b = float(Fraction(one) * Fraction(other) + Fraction(b))
    return b


@engines
@given(sizes, sizes, samples, seeds)
@settings(max_examples=15, deadline=None)
def test_a_layers_values_are_rounded_once_a_term(engine, outputs, inputs, samples, seed):
    with Graph.scratch():
        layer = Layer(outputs, inputs, samples, seed)
        found = layer.values(engine=engine, fused=True)
    expected = [[rounded_once(w, float(b), x) for x in layer.x] for w, b in zip(layer.w, layer.b, strict=True)]
    assert found.tolist() == expected


@engines
def test_without_it_no_value_is(engine):
    layer = Layer(8, 8, 16, seed=1)
    kept, fused = (layer.values(engine=engine, fused=each) for each in (False, True))
    expected = np.tile(layer.b, (16, 1))
    for k in range(8):
        expected = expected + layer.x[:, k : k + 1] * layer.w[:, k]
    assert np.array_equal(kept, expected.T) and not np.array_equal(kept, fused)
    assert np.array_equal(layer.values(engine=engine), kept)


@engines
@pytest.mark.parametrize("dtype", ["float64", "float32"])
@given(sizes, sizes, samples, seeds)
@settings(max_examples=10, deadline=None)
def test_values_and_gradients_stay_within_the_bound(engine, dtype, outputs, inputs, samples, seed):
    with Graph.scratch():
        layer = Layer(outputs, inputs, samples, seed)
        wrt = [each for line in layer.weights for each in line]
        values = layer.values(engine=engine, dtype=dtype, fused=True)
        loss = mean(Graph.sum(layer.y))
        slopes = Program(loss, wrt, inputs=[layer.given], engine=engine, dtype=dtype, fused=True)(layer.x).gradient
    eps = np.finfo(dtype).eps
    terms = np.abs(layer.w) @ np.abs(layer.x).T + np.abs(layer.b)[:, None]
    assert (np.abs(values - (layer.w @ layer.x.T + layer.b[:, None])) <= 2 * (inputs + 2) * eps * terms).all()
    sizes = np.abs(layer.x).mean(axis=0)
    assert (np.abs(slopes.reshape(outputs, inputs) - layer.x.mean(axis=0)) <= 2 * (samples + 2) * eps * sizes).all()


@engines
def test_a_walk_downhill_goes_the_same_way(engine):
    layer = Layer(4, 3, 24, seed=2)
    wrt = [each for line in layer.weights for each in line]
    loss = mean(Graph.sum([relu(y) * y for y in layer.y]))
    begin = [each.value for each in wrt]
    ends = []
    for fused in (False, True):
        for each, value in zip(wrt, begin, strict=True):
            each.value = value
        history = Program(loss, wrt, inputs=[layer.given], engine=engine, fused=fused).minimize(0.05, 30, layer.x)
        ends.append([*history, *(each.value for each in wrt)])
    assert ends[0] == pytest.approx(ends[1], rel=1e-9)


def test_the_loss_of_a_model_takes_it_too():
    model = Model(seed=3)
    w, x = model.add_parameters((6, 5)), LeafNode.input((12, 5))
    loss = ((x @ parameter(w).T) ** 2).sum()
    given = np.random.default_rng(3).normal(size=(12, 5))
    plain, fused = (LoweredLoss(loss, inputs=[x], fused=each).forward(given) for each in (False, True))
    assert plain == pytest.approx(fused, rel=1e-13)


def test_it_is_said():
    layer = Layer(4, 4, 8, seed=4)
    program = Program(layer.y, inputs=[layer.given], fused=True)
    assert "rounded once" in program.explain(layer.x)
    assert "rounded once" not in Program(layer.y, inputs=[layer.given]).explain(layer.x)


@pytest.mark.parametrize("wrong", ["yes", 1, None])
def test_it_is_true_or_false(wrong):
    x = Variable(1.0)
    with pytest.raises(EngineError, match=r"fused= is True or False, not"):
        Program(x * x, wrt=[x], fused=wrong)


def test_the_reference_engine_keeps_the_written_order():
    x, y = Variable(0.1), Variable(3.0)
    assert Program(x * y - 0.3, engine="reference", fused=True)().value == 0.1 * 3.0 - 0.3
