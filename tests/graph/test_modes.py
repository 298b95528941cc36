"""Reverse, forward, graphs of gradients, Jacobian and Hessian: one derivative, many ways to it."""

import math

import pytest
from graphs import any_graph, build, tame, varying_leaves
from hypothesis import assume, given, settings

from naive_graph import (
    Constant,
    Graph,
    Variable,
    gradcheck,
    gradients,
    hessian,
    jacobian,
    operator,
    operators,
    tangent,
    tangents,
)
from naive_graph.errors import NodeError, NumericError

LAW = settings(max_examples=40, deadline=None)


def alike(one, other):
    """Equal up to the rounding of another order of operations; NaN is like NaN."""
    if math.isnan(one) or math.isnan(other) or math.isinf(one) or math.isinf(other):
        return one == other or (math.isnan(one) and math.isnan(other))
    return math.isclose(one, other, rel_tol=1e-9, abs_tol=1e-9 * max(1.0, abs(one)))


@LAW
@given(tame())
def test_reverse_forward_and_graph_modes_agree(recipe):
    with Graph.scratch():
        Graph.on_invalid = "ignore"
        nodes = build(recipe)
        f, leaves = nodes[-1], varying_leaves(nodes)
        assume(leaves and not isinstance(f, Constant))
        Graph.forward()
        assume(math.isfinite(f.value) and abs(f.value) < 1e6)
        Graph.backward(f)
        reverse = [leaf.grad for leaf in leaves]
        assume(all(math.isfinite(grad) for grad in reverse))
        built = gradients(f, leaves)
        forward_built = [tangents(leaf, f) for leaf in leaves]
        Graph.forward()
        for leaf, grad, node, other in zip(leaves, reverse, built, forward_built):
            assert alike(grad, tangent(f, {leaf: 1.0}))
            assert alike(grad, node.value)
            assert alike(grad, other.value)
        assert all(map(alike, jacobian([f], leaves)[0], reverse))


@LAW
@given(tame(most=8))
def test_the_hessian_is_the_jacobian_of_the_gradients_and_symmetric(recipe):
    with Graph.scratch():
        Graph.on_invalid = "ignore"
        nodes = build(recipe)
        f, leaves = nodes[-1], varying_leaves(nodes)
        assume(leaves and not isinstance(f, Constant))
        built = gradients(f, leaves)
        by_graph = jacobian(built, leaves)
        by_duals = hessian(f, leaves)
        assume(all(math.isfinite(entry) and abs(entry) < 1e6 for row in by_graph for entry in row))
        for i in range(len(leaves)):
            for j in range(len(leaves)):
                assert math.isclose(by_duals[i][j], by_graph[i][j], rel_tol=1e-7, abs_tol=1e-7)
                assert math.isclose(by_duals[i][j], by_duals[j][i], rel_tol=1e-7, abs_tol=1e-7)


@LAW
@given(tame(most=8))
def test_every_mode_agrees_with_finite_differences(recipe):
    with Graph.scratch():
        nodes = build(recipe)
        f = nodes[-1]
        assume(not isinstance(f, Constant))
        Graph.on_invalid = "ignore"
        Graph.forward()
        # where(x, x, 2*x) at 0 has the slope 1, yet the branch that is taken there has 2: gradcheck says so, rightly.
        # So it is asked a little way off, where a condition that is still 0 is so all around.
        if any(str(node) == "where" and node.last[0].value == 0.0 for node in nodes):
            for at, leaf in enumerate(varying_leaves(nodes), 1):
                leaf.value += 0.0123 * at
            Graph.forward()
        try:
            report = gradcheck(f, max_rel=1e-4, min_abs=1e-4)
        except NumericError:
            assume(False)
        assume(not any(abs(failure.derivative) > 1e4 for failure in report.failures))
        report.require()


@LAW
@given(any_graph())
def test_whatever_the_graph_every_mode_gives_floats_and_no_exception(recipe):
    with Graph.scratch():
        Graph.on_invalid = "ignore"
        nodes = build(recipe)
        f, leaves = nodes[-1], varying_leaves(nodes)
        assume(leaves and not isinstance(f, Constant))
        Graph.forward()
        Graph.backward(f)
        assert all(type(node.value) is float for node in nodes)
        assert all(type(leaf.grad) is float for leaf in leaves)
        assert all(type(entry) is float for entry in jacobian([f], leaves)[0])
        assert all(type(tangent(f, {leaf: 1.0})) is float for leaf in leaves)
        gradients(f, leaves)
        Graph.forward()


@LAW
@given(any_graph())
def test_forward_again_gives_the_same_bits(recipe):
    with Graph.scratch():
        Graph.on_invalid = "ignore"
        nodes = build(recipe)
        Graph.forward()
        first = [repr(node.value) for node in nodes]
        Graph.forward(*nodes)
        assert [repr(node.value) for node in nodes] == first


def test_a_gradient_of_the_third_order_is_a_graph_too():
    x = Variable(0.7)
    f = x.sin()
    for _ in range(3):
        f = gradients(f, x)
    Graph.forward(f)
    assert f.value == pytest.approx(-math.cos(0.7), rel=4e-16)


def test_a_difference_with_zero_in_a_learners_partial_is_simplified():
    less_zero = operator("less_zero_example", lambda a: a * a, [lambda a, y: (0.0 - a) - 0.0])
    try:
        x = Variable(1.0, name="x")
        assert gradients(less_zero(x), x).formula() == "-x"
    finally:
        operators().forget("less_zero_example")


def test_gradients_of_one_node_come_alone_and_of_a_list_as_a_list():
    x, y = Variable(1.0), Variable(2.0)
    assert isinstance(gradients(x * y, [x, y]), list) and gradients(x * y, x) is y


def test_a_node_that_does_not_matter_has_the_gradient_zero():
    x, y = Variable(1.0), Variable(2.0)
    assert str(gradients(x * x, y)) == "0.0" and tangent(x * x, {y: 1.0}) == 0.0
    assert jacobian([x * x], [x, y]) == [[2.0, 0.0]]


def test_gradients_add_only_what_the_answer_needs():
    x = Variable(0.5)
    y = x * 3.0
    rows = len(Graph.node_list)
    gradients(y, x)
    assert len(Graph.node_list) - rows <= 1


def test_gradients_leave_the_learners_nodes_live():
    a, b, c = Variable(1.0), Variable(2.0), Variable(3.0)
    f = (a + b) * c
    gradients(f, [a, b, c])
    assert not any(node.absorbed for node in (a, b, c, f))


@pytest.mark.parametrize(
    "ask",
    [
        lambda x: gradients(x * 2, [3.0]),
        lambda x: gradients(2.0, x),
        lambda x: jacobian([], [x]),
        lambda x: tangent(x * x, {3.0: 1.0}),
        lambda x: gradients(x * 2, Constant(1.0)),
    ],
)
def test_what_cannot_be_differentiated_is_refused(ask):
    with pytest.raises(NodeError):
        ask(Variable(1.0))


def test_forward_mode_moves_leaves_only():
    x = Variable(1.0)
    y = x * x
    with pytest.raises(NodeError, match="moves leaves"):
        tangent(y.sin(), {y: 1.0})


@pytest.mark.parametrize("ask", [gradients, lambda f, h: jacobian([f], [h]), lambda f, h: tangent(f, {h: 1.0})])
def test_a_node_that_was_merged_away_is_not_silently_given_a_derivative_of_zero(ask):
    a, b, c = Variable(1.0), Variable(2.0), Variable(3.0)
    y = a * b
    with pytest.raises(NodeError, match="was merged into"):
        ask(y * c, y)
