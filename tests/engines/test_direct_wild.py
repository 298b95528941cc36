"""What is infinite or NaN in a large graph is named by the direct engine, in the reference engine's words."""

import math
import random
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import naive_graph as ng
from naive_graph import Graph, Program, Variable
from naive_graph.engines.direct import engine as direct
from naive_graph.errors import NumericError

NASTY = [0.0, -0.0, 1.0, -1.0, 2.0, 1e308, -1e308, 1e-308, math.inf, -math.inf, math.nan]
EXACT = [
    lambda a, b: a + b, lambda a, b: a - b, lambda a, b: a * b, lambda a, b: a / b, lambda a, b: ng.sqrt(a),
    lambda a, b: ng.maximum(a, b), lambda a, b: ng.where(a > b, a, b), lambda a, b: ng.relu(a), lambda a, b: a + b + a,
]  # fmt: skip


@pytest.fixture
def at_once(monkeypatch):
    """From now on every graph is a large one."""
    monkeypatch.setattr(direct, "MOST_REPLAYED", -1)


def graph(seed, size):
    dice = random.Random(seed)
    nodes = [Variable(dice.choice(NASTY if dice.random() < 0.3 else NASTY[:5]), name=f"v{k}") for k in range(4)]
    for _ in range(size):
        nodes.append(dice.choice(EXACT)(*dice.sample(nodes[-6:], 2)))
    return nodes


def said(run):
    """What is warned of, but for where."""
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        run()
    return [str(each.message) for each in found]


def alike(ours, theirs):
    return np.array_equal(np.array(ours, float), np.array(theirs, float), equal_nan=True)


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32), st.integers(1, 14))
def test_values_gradients_and_messages_are_the_reference_engines(seed, size):
    with pytest.MonkeyPatch.context() as patch, Graph.scratch():
        patch.setattr(direct, "MOST_REPLAYED", -1)
        nodes = graph(seed, size)
        found = []
        for engine in ("reference", "direct"):
            messages = said(lambda engine=engine: Graph.forward(nodes[-1], engine=engine))
            messages += said(lambda engine=engine: Graph.backward(nodes[-1], engine=engine))
            found.append((messages, [each.value for each in nodes], [each.grad for each in nodes]))
    (law, values, slopes), (messages, ours, own) = found
    assert messages == law and alike(ours, values) and alike(own, slopes)


@pytest.mark.usefixtures("at_once")
@pytest.mark.parametrize("engine", ["direct", "reference"])
def test_where_that_is_an_error_the_graph_stays_as_it_was(engine):
    x = Variable(1.0)
    y = (x * 1e200) * 1e200
    x.value = 1e-300
    Graph.forward()
    Graph.on_invalid = "raise"
    x.value = 1.0
    with pytest.raises(NumericError, match=r"'mul' \(row \d+\) gave mul\(1.0, 1e\+200, 1e\+200\) = inf"):
        Graph.forward(engine=engine)
    assert y.value == 1e100


@pytest.mark.usefixtures("at_once")
@pytest.mark.parametrize("engine", ["compiled", None])
def test_a_program_says_what_the_reference_engine_says(engine):
    x, w = Variable(0.0, name="x"), Variable(-2.0, name="w")
    for y in ((x / (x * w)) + 1.0, x.sqrt() * w, (w + x) * 1e308):
        law = said(lambda y=y: Program(y, [x, w], engine="reference")())
        assert said(lambda y=y: Program(y, [x, w], engine=engine)()) == law and len(law) == 1
