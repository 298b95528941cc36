"""Gradients in float32 keep the laws of those in float64, at its precision."""

import math

import numpy as np
import pytest
from asking import (
    ENGINES,
    LAW,
    SEEDS,
    SIZES,
    asking,
    fed,
    fed_graph,
    of_each_engine,
    of_each_machine,
)
from hypothesis import assume, given
from hypothesis import strategies as st
from large_graphs import EXACT, allowance, grown, leaves_of

import naive_graph as ng
from naive_graph import Constant, Graph, PlaceHolder, Program, Variable, mean, total, where


@of_each_machine
@LAW
@given(SEEDS, SIZES)
def test_gradients_keep_the_law_of_reordered_sums(engine, seed, size):
    with Graph.scratch():
        Graph.on_invalid = "ignore"
        nodes = grown(seed, size, EXACT)
        leaves = leaves_of(nodes)
        law, found = (asking(nodes[-1], leaves, each)().gradient for each in ("reference", engine))
        assume(np.isfinite(law).all())
        most = np.array(allowance(nodes[-1], leaves)) * 2.0**29
        assert found.dtype == law.dtype == np.float32 and (np.abs(found - law) <= most).all()


@LAW
@given(SEEDS, st.integers(3, 120), st.sampled_from([1, 7, 16, 17, 40]))
def test_gradients_of_a_total_are_sums_over_samples(seed, size, samples):
    with Graph.scratch():
        Graph.on_invalid = "ignore"
        output, leaves = fed_graph(seed, size, EXACT)
        data, shared = fed(seed, leaves, samples), [leaf for leaf in leaves if type(leaf) is Variable]
        found = asking(total(output), shared)(feed=data).gradient
        law, most, singly = np.zeros(len(shared)), np.zeros(len(shared)), asking(output, shared, "reference")
        for sample in range(samples):
            for holder, numbers in data.items():
                holder.value = numbers[sample]
            law += singly().gradient
            most += np.array(allowance(output, shared)) * 2.0**29
        assume(np.isfinite(law).all())
        assert (np.abs(found - law) <= (1 + samples) * most).all()


@pytest.mark.parametrize("samples", [1, 5, 8, 15, 16, 17, 31, 33, 100, 257])
@pytest.mark.parametrize("hidden", [3, 4, 9])
def test_a_networks_gradient_is_right_at_every_size(samples, hidden):
    dice = np.random.default_rng(samples)
    first, second = dice.normal(0, 1, (hidden, 5)), dice.normal(0, 1, (2, hidden))
    rows = [[[Variable(w) for w in row] for row in layer.tolist()] for layer in (first, second)]
    x, y = [PlaceHolder() for _ in range(5)], [PlaceHolder() for _ in range(2)]
    h = x
    for layer in rows:
        h = [sum((w * v for w, v in zip(row, h)), Constant(0.0)).tanh() for row in layer]
    loss = mean(sum((a - b) ** 2 for a, b in zip(h, y)))
    every = [w for layer in rows for row in layer for w in row]
    points, labels = dice.normal(0, 1, (samples, 5)), dice.normal(0, 1, (samples, 2))
    exact = Program(loss, every, inputs=[x, y])(points, labels)
    found = asking(loss, every, inputs=[x, y])(points, labels)
    assert found.value == pytest.approx(exact.value, rel=1e-5)
    assert np.allclose(found.gradient, exact.gradient, rtol=1e-4, atol=1e-5)


def test_the_conventions_at_nasty_points_hold():
    x, y = Variable(0.0), Variable(0.0)
    for engine in ENGINES:
        Graph.on_invalid = "ignore"
        assert asking(where(x > 0, x.sqrt(), 0.0), [x], engine)().gradient.tolist() == [0.0]
        assert asking(x**y, [x, y], engine)().gradient.tolist() == [0.0, 0.0]
        assert asking(ng.maximum(x, y), [x, y], engine)().gradient.tolist() == [0.5, 0.5]
        assert asking(ng.atan2(x, y), [x, y], engine)().gradient.tolist() == [0.0, 0.0]
        assert math.isnan(asking((x - 1.0).log(), [x], engine)().gradient[0])
        assert asking(abs(x) + x.relu(), [x], engine)().gradient.tolist() == [0.0]


@of_each_engine
@pytest.mark.parametrize("function", [ng.tanh, ng.sigmoid, ng.erf, ng.expm1])
def test_derivatives_keep_their_digits_in_the_tails(engine, function):
    for value in (-9.0, -5.0, 3.0, 8.5):
        x = Variable(value)
        (found,) = asking(function(x), [x], engine)().gradient
        (exact,) = Program(function(x), [x])().gradient
        assert found == pytest.approx(exact, rel=2.0**-22)
