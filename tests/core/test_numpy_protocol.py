"""NumPy's functions of nodes: they build what they compute, or say what to write instead."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import naive_graph as ng
from naive_graph import Graph, LeafNode, Variable
from naive_graph.core import numpy_protocol
from naive_graph.core.did_you_mean import names_elsewhere
from naive_graph.core.rules import RULES
from naive_graph.errors import OperandError

UFUNCS = {name: each for name, each in vars(np).items() if isinstance(each, np.ufunc)}
OURS = {  # every function of NumPy's that has a rule, or is made of one
    name: each
    for name, each in UFUNCS.items()
    if numpy_protocol.RULE_OF_UFUNC.get(each.__name__, each.__name__) in RULES
    and name not in ("heaviside", "equal", "not_equal")
}
IN_ARRAYS = ("sin", "negative", "add", "multiply", "power", "hypot", "exp2", *numpy_protocol.OBJECT_ARRAY_METHODS)
tame = st.floats(0.05, 0.95)


def value_of(node):
    Graph.forward(node)
    return node.value


def near(found, expected):
    """The same, but for two units in the last place: NumPy has functions of its own."""
    return found == pytest.approx(expected, rel=5e-16) or abs(found - expected) <= 2 * math.ulp(expected)


@pytest.mark.parametrize("name", sorted(OURS))
@settings(max_examples=15)
@given(tame, tame)
def test_a_function_of_numpys_builds_what_it_computes(name, a, b):
    a = a + 1.0 if name in ("arccosh", "acosh") else a
    with Graph.scratch():
        given = [a, b][: OURS[name].nin]
        nodes = [Variable(each) for each in given]
        assert near(value_of(OURS[name](*nodes)), float(OURS[name](*given)))
        for place, node in enumerate(nodes):  # beside a number
            assert near(value_of(OURS[name](*given[:place], node, *given[place + 1 :])), float(OURS[name](*given)))


@pytest.mark.parametrize("name", IN_ARRAYS)
def test_an_array_of_nodes_is_an_array_of_results(name):
    with Graph.scratch():
        function = UFUNCS[name]
        rows = [np.array([0.25, 0.5]), np.array([0.75, 0.125])][: function.nin]
        rows = [row + 1.0 for row in rows] if name == "arccosh" else rows
        nodes = [np.array([Variable(each) for each in row]) for row in rows]
        found = [value_of(each) for each in function(*nodes)]
        assert all(map(near, found, function(*rows).tolist()))


def test_gradients_pass_through_numpys_functions():
    with Graph.scratch():
        x, y = Variable(1.5), Variable(0.5)
        f = np.exp2(x) * np.logaddexp(x, y) + np.dot([x, y], [y, 2.0]) + np.mean([x, y]) + np.sum(np.array([x, y]) * 2)
        g = 2.0**x * ng.logsumexp([x, y]) + (x * y + y * 2.0) + (x + y) / 2.0 + (x * 2.0 + y * 2.0)
        found = []
        for each in (f, g):
            Graph.forward()
            Graph.backward(each)
            found.append((each.value, x.grad, y.grad))
            Graph.kill_grad()
        assert found[0] == found[1]


def test_every_other_function_of_numpys_is_refused_with_a_repair():
    x = Variable(1.0)
    for name in set(UFUNCS) - set(OURS) - {"equal", "not_equal"}:
        with pytest.raises(OperandError, match=r"NumPy's \w+ cannot take a Variable\. .*[.)]$") as found:
            UFUNCS[name](*[x, 2.0][: UFUNCS[name].nin])
        repair = names_elsewhere("numpy").get(UFUNCS[name].__name__, "Use naive_graph's functions")
        assert repair.split("{")[0] in str(found.value)


@pytest.mark.parametrize(
    "name", sorted(set(UFUNCS) & {"log2", "log10", "cbrt", "deg2rad", "rad2deg", "fmax", "copysign"})
)
@given(st.floats(0.5, 8.0), st.sampled_from([-1.0, 1.0]))
def test_what_to_write_instead_computes_the_function(name, a, sign):
    x = a * sign if name in ("cbrt", "deg2rad", "rad2deg", "copysign", "fmax") else a
    text = names_elsewhere("numpy")[name].removeprefix("Write ")
    expected = UFUNCS[name](*[x, 1.0 - a][: UFUNCS[name].nin])
    with Graph.scratch():
        nodes = {"x": Variable(x), "a": Variable(x), "b": Variable(1.0 - a)}
        found = value_of(eval(text, {**vars(ng), "abs": abs, "math": math, **nodes}))
    assert found == pytest.approx(float(expected), rel=1e-14)


def test_an_array_of_nodes_says_what_to_write_where_there_is_no_rule():
    with pytest.raises(TypeError) as found:
        np.log2(np.array([Variable(1.0)]))
    assert "Write log(x) / log(2.0)" in str(found.value.__cause__)


@pytest.mark.parametrize("two", [np.float64(2.0), np.float32(2.0), np.int64(2)])
def test_a_number_of_numpys_compares_like_any_number(two):
    with Graph.scratch():
        x = Variable(1.0)
        assert (value_of(two > x), value_of(x > two), value_of(two < x), value_of(x < two)) == (1.0, 0.0, 0.0, 1.0)
        assert (value_of(two >= x), value_of(x >= two), value_of(two <= x), value_of(x <= two)) == (1.0, 0.0, 0.0, 1.0)
        assert (two == x) is False and (x == two) is False
        assert (two != x) is True and (x != two) is True


def test_an_array_without_dimensions_is_a_number():
    for call in (lambda x: np.array(2.0) * x, lambda x: x * np.array(2.0)):
        y = call(Variable(1.5))
        Graph.forward(y)
        assert y.value == 3.0


def test_a_number_of_numpys_equals_no_tensor():
    w = LeafNode.parameter([1.0, 2.0])
    assert (np.float64(1.0) == w) is False and (w == np.float64(1.0)) is False


def test_matmul_of_numpys_takes_a_tensor_on_either_side():
    w = LeafNode.parameter([1.0, 2.0])
    for product in (np.matmul(w, np.ones(2)), np.matmul(np.ones(2), w), w @ np.ones(2), np.ones(2) @ w):
        assert float(product.eval()) == 3.0


def test_an_array_that_is_compared_with_a_node_is_refused():
    with pytest.raises(OperandError, match=r"compare the numbers: x\.value == 2\.0"):
        np.ones(2) == Variable(1.0)  # noqa: B015


@pytest.mark.parametrize(
    ("call", "repair"),
    [
        (lambda x: np.clip(x, 0.0, 1.0), r"minimum\(maximum\(x, low\), high\)"),
        (lambda x: np.max([x, x * 2.0]), r"minimum\(maximum\(x, low\), high\)"),
        (lambda x: np.where(x > 0.0, x, 0.0), r"where\(x > 0, a, b\)"),
        (lambda x: np.sum(x), r"Over the samples of a batch write total\(x\), over a list np\.sum\(\[x, y\]\)"),
        (lambda x: np.heaviside(x, 0.5), r"heaviside\(x\)"),
        (lambda x: np.matmul(x, x), "A node is a single number"),
        (lambda x: np.ones(2) @ x, "A node is a single number"),
        (lambda x: x @ np.ones(2), "A node is a single number"),
        (lambda x: np.matmul(x, np.ones(2)), "A node is a single number"),
        (lambda x: np.ceil(x * 1.0), r"cannot take an Operator\. .* np\.ceil\(x\.value\)"),
    ],
)
def test_functions_that_do_not_ask_the_node_lead_to_what_to_write(call, repair):
    with pytest.raises(OperandError, match=repair):
        call(Variable(1.0))


def test_the_mean_over_a_batch_is_a_method():
    p = ng.PlaceHolder()
    assert ng.Program(p.mean(), inputs=[p])([1.0, 3.0]).value == 2.0
