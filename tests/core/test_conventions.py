"""What happens at the nasty points: one line for each convention."""

import math
from itertools import product

import pytest

import naive_graph as ng
from naive_graph import Graph, Variable, gradients, hessian, where
from naive_graph.core.rules import RULES

inf, nan = math.inf, math.nan
ANYTHING = object()

# operator, operands, value, gradients, diagonal of second derivatives (ANYTHING: not finite, so not agreed on)
CONVENTIONS = [
    ("div", (1.0, 0.0), inf, (inf, -inf), ANYTHING),
    ("div", (0.0, 0.0), nan, (inf, nan), ANYTHING),
    ("log", (0.0,), -inf, (inf,), ANYTHING),
    ("log", (-0.0,), -inf, (inf,), ANYTHING),
    ("log", (-1.0,), nan, (nan,), (nan,)),
    ("log1p", (-2.0,), nan, (nan,), (nan,)),
    ("log1p", (-1.0,), -inf, (inf,), ANYTHING),
    ("sqrt", (0.0,), 0.0, (inf,), ANYTHING),
    ("sqrt", (-1.0,), nan, (nan,), (nan,)),
    ("atanh", (1.0,), inf, (inf,), ANYTHING),
    ("atanh", (2.0,), nan, (nan,), (nan,)),
    ("acosh", (0.5,), nan, (nan,), (nan,)),
    ("acosh", (-2.0,), nan, (nan,), (nan,)),
    ("acosh", (1.0,), 0.0, (inf,), ANYTHING),
    ("asin", (1.0,), math.pi / 2, (inf,), ANYTHING),
    ("asin", (2.0,), nan, (nan,), (nan,)),
    ("acos", (-2.0,), nan, (nan,), (nan,)),
    ("exp", (710.0,), inf, (inf,), (inf,)),
    ("exp", (-800.0,), 0.0, (0.0,), (0.0,)),
    ("exp", (-740.0,), math.exp(-740.0), (math.exp(-740.0),), (math.exp(-740.0),)),  # a subnormal is kept
    ("sinh", (-800.0,), -inf, (inf,), (-inf,)),
    ("sin", (inf,), nan, (nan,), (nan,)),
    ("abs", (0.0,), 0.0, (0.0,), (0.0,)),
    ("abs", (-3.0,), 3.0, (-1.0,), (0.0,)),
    ("relu", (0.0,), 0.0, (0.0,), (0.0,)),
    ("relu", (nan,), nan, (nan,), ANYTHING),
    ("sign", (0.0,), 0.0, (0.0,), (0.0,)),
    ("heaviside", (0.0,), 0.0, (0.0,), (0.0,)),
    ("mod", (-3.0, inf), inf, (1.0, 1.0), ANYTHING),
    ("mod", (1.0, 0.0), nan, (1.0, -inf), ANYTHING),
    ("floor", (-0.5,), -1.0, (0.0,), (0.0,)),
    ("floor", (-inf,), -inf, (0.0,), (0.0,)),
    ("maximum", (1.0, 1.0), 1.0, (0.5, 0.5), (0.0, 0.0)),
    ("minimum", (1.0, 1.0), 1.0, (0.5, 0.5), (0.0, 0.0)),
    ("maximum", (2.0, 1.0), 2.0, (1.0, 0.0), (0.0, 0.0)),
    ("maximum", (nan, 1.0), nan, (nan, nan), ANYTHING),
    ("maximum", (1.0, nan), nan, (nan, nan), ANYTHING),
    ("minimum", (1.0, nan), nan, (nan, nan), ANYTHING),
    ("pow", (0.0, 0.0), 1.0, (0.0, 0.0), (0.0, ANYTHING)),
    ("pow", (0.0, 0.5), 0.0, (inf, 0.0), (ANYTHING, 0.0)),
    ("pow", (0.0, 2.0), 0.0, (0.0, 0.0), (2.0, ANYTHING)),
    ("pow", (0.0, 1.0), 0.0, (1.0, 0.0), (0.0, ANYTHING)),
    ("pow", (0.0, -1.0), inf, (-inf, -inf), ANYTHING),
    ("pow", (-2.0, 2.0), 4.0, (-4.0, nan), (2.0, ANYTHING)),
    ("pow", (-2.0, 0.5), nan, (nan, nan), ANYTHING),
    ("pow", (3.0, 0.0), 1.0, (0.0, math.log(3.0)), (0.0, math.log(3.0) ** 2)),
    ("logsumexp", (inf, 0.0), inf, (1.0, 0.0), ANYTHING),
    ("logsumexp", (-inf, 0.0), 0.0, (0.0, 1.0), (0.0, 0.0)),
    ("logsumexp", (1000.0, 1000.0), 1000.0 + math.log(2.0), (0.5, 0.5), (0.25, 0.25)),
    ("atan2", (0.0, 0.0), 0.0, (0.0, 0.0), (0.0, 0.0)),
    ("hypot", (0.0, 0.0), 0.0, (0.0, 0.0), (0.0, 0.0)),
    ("hypot", (1e200, 1e200), math.hypot(1e200, 1e200), (math.sqrt(0.5), math.sqrt(0.5)), (0.125**0.5 / 1e200,) * 2),
    ("tanh", (1000.0,), 1.0, (0.0,), (0.0,)),
    ("sigmoid", (-1000.0,), 0.0, (0.0,), (0.0,)),
    ("softplus", (1000.0,), 1000.0, (1.0,), (0.0,)),
    ("reciprocal", (0.0,), inf, (-inf,), ANYTHING),
    ("mul", (0.0, inf), nan, (inf, 0.0), (0.0, 0.0)),
    ("greater", (2.0, 1.0), 1.0, (0.0, 0.0), (0.0, 0.0)),
    ("less", (2.0, 1.0), 0.0, (0.0, 0.0), (0.0, 0.0)),
    ("greater_equal", (1.0, 1.0), 1.0, (0.0, 0.0), (0.0, 0.0)),
    ("greater_equal", (nan, 1.0), 0.0, (0.0, 0.0), (0.0, 0.0)),
    ("less_equal", (2.0, 1.0), 0.0, (0.0, 0.0), (0.0, 0.0)),
    ("less_equal", (inf, inf), 1.0, (0.0, 0.0), (0.0, 0.0)),
    ("equal", (0.0, -0.0), 1.0, (0.0, 0.0), (0.0, 0.0)),
    ("equal", (nan, nan), 0.0, (0.0, 0.0), (0.0, 0.0)),
    ("not_equal", (nan, nan), 1.0, (0.0, 0.0), (0.0, 0.0)),
    ("not_equal", (2.0, 2.0), 0.0, (0.0, 0.0), (0.0, 0.0)),
]  # fmt: skip


def same(found, expected):
    if expected is ANYTHING:
        return True
    if math.isnan(expected):
        return math.isnan(found)
    return found == pytest.approx(expected, rel=1e-15, abs=1e-320)


@pytest.fixture(autouse=True)
def silent(ignoring_invalid):
    yield


def asked(row):
    name, operands, *_ = row
    variables = [Variable(operand) for operand in operands]
    return variables, getattr(ng, name)(*variables)


@pytest.mark.parametrize("row", CONVENTIONS, ids=lambda row: f"{row[0]}{row[1]}")
def test_the_value_the_gradients_and_the_second_derivatives_are_as_agreed(row):
    variables, y = asked(row)
    built = gradients(y, variables)
    Graph.forward()
    Graph.backward(y)
    assert same(y.value, row[2])
    for found in ([variable.grad for variable in variables], [node.value for node in built]):
        assert all(map(same, found, row[3])), found
    if row[4] is not ANYTHING:
        found = hessian(y, variables)
        assert all(same(found[place][place], expected) for place, expected in enumerate(row[4])), found


@pytest.mark.parametrize(
    ("expression", "at", "value", "grad"),
    [
        (lambda x: where(x > 0, x.sqrt(), 0), -1.0, 0.0, 0.0),
        (lambda x: where(x > 0, x.log(), x * 3), -1.0, -3.0, 3.0),
        (lambda x: where(x > 0, 0, 1 / x), 0.5, 0.0, 0.0),
        (lambda x: where(x > 0, where(x > 1, x.log(), x), (x - 1).sqrt()), 0.5, 0.5, 1.0),
        (lambda x: where(x > 0, x.sqrt(), 0) + x, -1.0, -1.0, 1.0),
        (lambda x: where(x.sqrt() > 0, 2 * x, 5 * x), -1.0, -5.0, 5.0),
        (lambda x: x.sqrt() * x.sqrt(), 0.0, 0.0, nan),
        (lambda x: x / x, 0.0, nan, nan),
        (lambda x: x**2, -3.0, 9.0, -6.0),
        (lambda x: x**0, 0.0, 1.0, 0.0),
        (lambda x: 2**x, 0.0, 1.0, math.log(2.0)),
        (lambda x: Graph.prod([x, x, x]), 0.0, 0.0, 0.0),
        (lambda x: Graph.prod([x, 0.0, 2.0]), 5.0, 0.0, 0.0),
        (lambda x: x.elu(), 1000.0, 1000.0, 1.0),
    ],
)
def test_compositions_follow_in_every_mode(expression, at, value, grad):
    x = Variable(at)
    y = expression(x)
    Graph.forward()
    Graph.backward(y)
    assert same(y.value, value) and same(x.grad, grad)
    assert same(ng.tangent(y, {x: 1.0}), grad)
    node = gradients(y, x)
    Graph.forward()
    assert same(node.value, grad)


def test_a_partial_is_asked_for_only_if_its_operand_varies():
    x = Variable(-3.0)
    Graph.on_invalid = "raise"
    y = x**2
    Graph.forward()
    Graph.backward(y)
    assert x.grad == -6.0


NASTY = [0.0, -0.0, 1.0, -1.0, 0.5, 2.0, inf, -inf, nan, 5e-324, 1e308, -1e308, 710.0, -745.2, 1e16, 3.0000000000000004]


@pytest.mark.parametrize("name", RULES)
def test_no_operator_raises_on_any_floats_and_all_answers_are_floats(name):
    rule = RULES[name]
    arity = rule.arity or 2
    points = product(NASTY, repeat=arity) if arity < 3 else product(NASTY[:9], repeat=3)
    for point in points:
        y = rule(*point)
        assert type(y) is float
        assert all(
            partial is None or type(partial) is float for partial in rule.partials_at(point, y, [True] * arity)
        ), (point, y)
