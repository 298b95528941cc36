"""The golden optimisation histories are walked by the loop that a learner writes."""

import pytest
from histories import LOG, VALLEY, check

from naive_graph import Graph, Variable


def walk(f, leaves, steps):
    history = []
    for _ in range(steps):
        Graph.forward()
        Graph.backward(f)
        history.append((f.value, leaves[0].value))
        for leaf in leaves:
            leaf.value -= 0.01 * leaf.grad
        Graph.kill_grad()
    return history


def test_the_logarithm_goes_downhill_as_known():
    x = Variable(6)
    f = ((x - 7) ** 2 + 10).log()
    check(walk(f, [x], 2000), LOG)
    assert x.value == pytest.approx(6.98081982640378, rel=0, abs=1.01e-14)


def test_the_valley_goes_downhill_as_known():
    x, y = Variable(6), Variable(6)
    f = 0.5 * x**2 + x * y + 0.5 * y**2 - 2 * x - 2 * y
    history = walk(f, [x, y], 1000)
    check(history, VALLEY)
    assert x.value == pytest.approx(1.00000000841484, rel=0, abs=1.01e-14)
    for step, (value, at) in enumerate(history):
        assert at == pytest.approx(1 + 5 * 0.98**step, rel=1e-12)
        assert value == pytest.approx(50 * 0.98 ** (2 * step) - 2, rel=1e-10)
