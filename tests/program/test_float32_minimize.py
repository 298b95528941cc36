"""minimize in float32 is the loop in float32."""

import numpy as np
import pytest
from asking import asking, of_each_engine, of_each_machine
from singles import same_bits

from naive_graph import Graph, PlaceHolder, Variable, mean
from naive_graph.training.formulas import adam, momentum, sgd


def walked(start, steps):
    """w <- w - 0.1 * g for f = (w - 3)**2 * 0.7, in NumPy's float32."""
    w, rate, history = np.float32(start), np.float32(0.1), []
    for _ in range(steps):
        d = w - np.float32(3)
        history.append(d * d * np.float32(0.7))
        w = w - rate * (np.float32(0.7) * (np.float32(2) * d))
    return np.array(history), w


@of_each_engine
def test_minimize_walks_as_a_loop_in_float32(engine):
    w = Variable(0.1)
    history = asking((w - 3.0) ** 2 * 0.7, [w], engine).minimize(0.1, steps=25)
    wanted, end = walked(0.1, 25)
    assert same_bits(history, wanted) and w.value == float(end)


@of_each_machine
@pytest.mark.parametrize("formula", [sgd, momentum, adam])
def test_minimize_with_a_formula_is_the_reference_engines(engine, formula):
    walks = []
    for each in ("reference", engine):
        with Graph.scratch():
            xs = [Variable(0.5 * k - 1.2) for k in range(4)]
            loss = Graph.sum([(a - 0.3 * k) * (a - 0.3 * k) * (1.0 + k) for k, a in enumerate(xs)])
            history = asking(loss, xs, each).minimize(formula, steps=30)
            walks.append((history, np.array([x.value for x in xs], np.float32)))
    (law, ends), (found, reached) = walks
    assert found.dtype == law.dtype == np.float32
    assert np.allclose(found, law, rtol=1e-5, atol=1e-6) and np.allclose(reached, ends, rtol=1e-5, atol=1e-6)


def test_minimize_over_a_batch_keeps_float32():
    w, p = Variable(0.0), PlaceHolder()
    history = asking(mean((w * p - 2.0 * p) ** 2), [w], inputs=[p]).minimize(0.1, 60, np.linspace(-2, 2, 30))
    assert history.dtype == np.float32 and w.value == pytest.approx(2.0, abs=1e-5)
    assert w.value == float(np.float32(w.value))
