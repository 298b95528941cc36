"""The golden optimisation histories, to one unit of the last digit printed."""

import pytest

from naive_graph import Graph, Variable

LOG = {0: ("2.39789527279837", "6"), 1: ("2.39756494025811", "6.00181818181818"),
       10: ("2.39463594939414", "6.01806018174899"), 100: ("2.36941453705804", "6.16865699596908"),
       999: ("2.30460373270384", "6.85784942720524"), 1999: ("2.30262202780666", "6.98078139060464")}  # fmt: skip
VALLEY = {0: ("48", "6"), 1: ("46.02", "5.9"), 10: ("31.3803985877547", "5.08536403443773"),
          100: ("-1.12060266971392", "1.66309777947377"), 999: ("-2.00000000000000", "1.00000000858657")}  # fmt: skip


def unit(text):
    """One unit of the last digit printed."""
    return 10.0 ** -len(text.partition(".")[2])


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


def check(history, golden):
    for step, texts in golden.items():
        for found, text in zip(history[step], texts):
            assert found == pytest.approx(float(text), rel=0, abs=1.01 * unit(text))


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
