"""Defects of the classic tutorial implementation that must not recur: one test for each."""

import math

import pytest

from naive_graph import Constant, Graph, Variable
from naive_graph.errors import NodeError, NumericWarning, StaleGraphError


def evaluated(y):
    Graph.forward()
    Graph.backward(y)
    return y.value


def test_a_quotient_divides():
    assert evaluated(Variable(6) / Variable(3)) == 2.0


def test_exp_works_as_a_method_and_by_name():
    x = Variable(1.0)
    assert evaluated(x.exp()) == evaluated(Graph.exp(x)) == pytest.approx(math.e, rel=4e-16)


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        (lambda x: 2 + x, 6.0),
        (lambda x: 2 - x, -2.0),
        (lambda x: 2 / x, 0.5),
        (lambda x: 2 * x, 8.0),
        (lambda x: 2**x, 16.0),
        (lambda x: -x, -4.0),
        (lambda x: +x, 4.0),
        (lambda x: abs(-x), 4.0),
        (lambda x: 0.5 * x**2, 8.0),
    ],
)
def test_reflected_and_unary_operators_work(expression, value):
    assert evaluated(expression(Variable(4))) == value


def test_after_an_invalid_value_the_next_forward_is_right():
    x = Variable(-1.0)
    y = x.log()
    z = y + 1
    with pytest.warns(NumericWarning, match="log"):
        Graph.forward()
    assert math.isnan(y.value) and math.isnan(z.value)
    x.value = math.e
    Graph.forward()
    assert (y.value, z.value) == (1.0, 2.0)


def test_kill_grad_leaves_constants_without_a_gradient():
    x, c = Variable(3), Constant(2)
    evaluated(x * c)
    Graph.kill_grad()
    assert c.grad is None and type(x.grad) is float and x.grad == 0.0


def test_a_negative_base_with_a_variable_exponent_warns_by_name():
    x, n = Variable(-2), Variable(2, name="n")
    y = x**n
    Graph.forward()
    with pytest.warns(NumericWarning, match="Variable 'n'"):
        Graph.backward(y)
    assert (y.value, x.grad) == (4.0, -4.0) and math.isnan(n.grad)


def test_a_negative_base_with_a_fixed_exponent_is_ordinary():
    x = Variable(-2)
    assert evaluated(x**2) == 4.0 and x.grad == -4.0


def test_the_power_zero_at_zero_has_the_gradient_zero():
    x = Variable(0)
    assert evaluated(x**0) == 1.0 and x.grad == 0.0


def test_a_zero_base_with_a_variable_exponent_has_gradients_zero():
    x, n = Variable(0), Variable(2)
    evaluated(x**n)
    assert (x.grad, n.grad) == (0.0, 0.0)


def test_backward_without_forward_is_refused():
    with pytest.raises(StaleGraphError, match=r"Graph\.forward"):
        Graph.backward(Variable(3) * 2)


def test_a_constant_cannot_be_differentiated():
    with pytest.raises(NodeError, match="Constant does not vary"):
        Graph.backward(Constant(3))


def test_nodes_are_equal_only_to_themselves():
    a, b = Variable(1), Variable(1)
    assert a == a and a != b and len({a, b}) == 2
