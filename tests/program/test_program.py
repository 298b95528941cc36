"""A Program's answers on every engine are the reference engine's, on random graphs of 3 to 3,000 nodes."""

import math
import struct

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from large_graphs import EPS, EVERY, EXACT, allowance, grown, leaves_of

import naive_graph as ng
from naive_graph import Graph, Program, Variable, gradients, hessian, operator, where
from naive_graph.core.rules import RULES

LAW = settings(max_examples=15, deadline=None)
SEEDS = st.integers(0, 10**6)
SMALL = st.integers(3, 120)
COMPILED = ["runs", None]  # None compiles what is small


def learners_own():
    """Operators written with rules, as a learner would; defined once for the whole run."""
    if "own_swish" not in RULES:
        operator("own_swish", lambda a: a * ng.sigmoid(a), [lambda a, y: ng.sigmoid(a) + y * (1.0 - ng.sigmoid(a))])
        operator("own_ratio", lambda a, b: a / (1.0 + b * b), [lambda a, b, y: 1.0 / (1.0 + b * b),
                 lambda a, b, y: -2.0 * b * y / (1.0 + b * b)])  # fmt: skip
    return ["own_ratio"], ["own_ratio", "own_swish"]


def bits(number):
    return "nan" if number != number else struct.pack("d", number)


def asked(nodes, dice):
    """The last node, and some others."""
    return [nodes[-1], *(nodes[place % len(nodes)] for place in dice)]


def check_values_bit_for_bit(seed, size, engine, wild):
    with Graph.scratch():
        Graph.on_invalid = "ignore"
        outputs = asked(grown(seed, size, EXACT + learners_own()[0], wild), [seed, seed // 7])
        law, found = (Program(outputs, engine=each)().value for each in ("reference", engine))
        assert list(map(bits, found)) == list(map(bits, law))


@pytest.mark.parametrize("engine", COMPILED)
@LAW
@given(SEEDS, SMALL, st.booleans())
def test_values_agree_bit_for_bit(engine, seed, size, wild):
    check_values_bit_for_bit(seed, size, engine, wild)


@pytest.mark.parametrize("engine", ["compiled", None])
@settings(max_examples=15, deadline=None)
@given(SEEDS, st.integers(500, 3000), st.booleans())
def test_values_of_large_graphs_agree_bit_for_bit(engine, seed, size, wild):
    check_values_bit_for_bit(seed, size, engine, wild)


@pytest.mark.parametrize("engine", ["runs", "compiled"])
@pytest.mark.parametrize("name", sorted(set(EVERY) - set(EXACT) - {"sum", "prod"}))
def test_a_library_function_is_within_two_units(name, engine):
    rule = RULES[name]
    most = 2 * 4 if name == "logsumexp" else 2  # three exponentials and a logarithm
    xs = [Variable(1.0) for _ in range(rule.arity or 3)]
    program, law = (Program(rule(*xs), engine=each) for each in (engine, "reference"))
    Graph.on_invalid = "ignore"
    for number in (0.5, -0.75, 1e-300, 1.5, 30.0, -800.0, 5e-324, 0.0, -0.0, math.inf, math.nan):
        for place, x in enumerate(xs):
            x.value = number * (1.0 + 0.25 * place)
        found, wanted = program().value, law().value
        assert bits(found) == bits(wanted) or abs(found - wanted) <= most * math.ulp(wanted)


@pytest.mark.parametrize("engine", COMPILED)
@LAW
@given(SEEDS, SMALL)
def test_gradients_agree_within_the_bound(engine, seed, size):
    check_gradients(seed, size, engine)


@pytest.mark.parametrize("engine", ["compiled", None])
@settings(max_examples=15, deadline=None)
@given(SEEDS, st.integers(500, 3000))
def test_gradients_of_large_graphs_agree_within_the_bound(engine, seed, size):
    check_gradients(seed, size, engine)


def check_gradients(seed, size, engine):
    """The Jacobian's rows against the reference engine's: 2 n eps times the terms' magnitudes."""
    with Graph.scratch():
        Graph.on_invalid = "ignore"
        nodes = grown(seed, size, EXACT + learners_own()[0])
        outputs, leaves = asked(nodes, [seed, seed // 7]), leaves_of(nodes)
        law, found = (Program(outputs, wrt=leaves, engine=each)().gradient for each in ("reference", engine))
        for output, wanted, row in zip(outputs, law, found):
            for one, other, most in zip(wanted, row, allowance(output, leaves)):
                assert bits(one) == bits(other) or abs(one - other) <= most


@pytest.mark.parametrize("engine", COMPILED)
@LAW
@given(SEEDS, SMALL)
def test_graphs_with_library_functions_agree(engine, seed, size):
    with Graph.scratch():
        Graph.on_invalid = "ignore"
        nodes = grown(seed, size, EVERY + learners_own()[1])
        leaves = leaves_of(nodes)
        law, found = (Program(nodes[-1], wrt=leaves, engine=each)() for each in ("reference", engine))
        assume(np.isfinite(law.gradient).all())
        assert found.value == pytest.approx(law.value, rel=1e-9, abs=1e-9)
        most = np.array(allowance(nodes[-1], leaves)) / EPS
        assert (np.abs(found.gradient - law.gradient) <= 1e-9 * (1.0 + most)).all()


@pytest.mark.parametrize("engine", COMPILED)
@LAW
@given(SEEDS, SMALL)
def test_a_run_that_is_not_finite_has_the_reference_engines_answers(engine, seed, size):
    with Graph.scratch():
        Graph.on_invalid = "ignore"
        nodes = grown(seed, size, EVERY, wild=True)
        leaves = leaves_of(nodes)
        law, found = (Program(nodes[-1], wrt=leaves, engine=each)() for each in ("reference", engine))
        if not (math.isfinite(law.value) and np.isfinite(law.gradient).all()):
            assert bits(found.value) == bits(law.value)
            assert list(map(bits, found.gradient)) == list(map(bits, law.gradient))


@pytest.mark.parametrize("engine", ["runs", "reference", None])
def test_an_output_may_be_a_leaf_and_stand_twice(engine):
    x, c = Variable(3.0), ng.Constant(2.0)
    values, rows = Program([x, x, c], wrt=[x, x], engine=engine)()
    assert values == [3.0, 3.0, 2.0] and np.array_equal(rows, [[1.0, 1.0], [1.0, 1.0], [0.0, 0.0]])


@pytest.mark.parametrize("engine", ["runs", "reference", None])
def test_without_wrt_there_are_no_gradients(engine):
    x = Variable(3.0)
    assert Program(x * x, engine=engine)().gradient == []


@pytest.mark.parametrize("engine", ["runs", "reference", None])
def test_an_untaken_branch_leaks_no_nan_into_gradients(engine):
    x, z = Variable(-1.0), Variable(0.5)
    shared = x.sqrt() * z
    y = where(x > 0, shared + shared.log(), z * x)
    value, gradient = Program(y, wrt=[x, z], engine=engine)()
    assert (value, gradient.tolist()) == (-0.5, [0.5, -1.0])


def softplus_net(xs):
    hidden = [(xs[k] * xs[k - 1] + 0.3 * xs[k - 2]).softplus() for k in range(len(xs))]
    return Graph.sum([a * b for a, b in zip(hidden, [*hidden[1:], *hidden[:1]])]).tanh() + Graph.sum(hidden)


@pytest.mark.parametrize("engine", ["runs", "reference", None])
def test_hessian_vector_products_come_from_composed_gradients(engine):
    xs = [Variable(0.3 * k - 0.5) for k in range(5)]
    f = softplus_net(xs)
    v = [1.0, -0.5, 0.25, 2.0, -1.0]
    slope = Graph.sum([a * g for a, g in zip(v, gradients(f, xs))])
    product = Program(slope, wrt=xs, engine=engine)().gradient
    assert product == pytest.approx(np.array(hessian(f, xs)) @ v, rel=1e-11)
