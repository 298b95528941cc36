"""Every first derivative within 4 units in the last place of the 50-digit answer, tails included."""

import math
import random

import mpmath
import pytest

import naive_graph as ng
from naive_graph import Graph, Variable, hessian

mp = mpmath.mp.clone()
mp.dps = 60
NORMAL = mp.mpf(2) ** -1022
FINITE = mp.mpf(2) ** 1023


def spread(low, high, near, positive=False):
    """Points half spread over magnitudes from low to high, half uniform over `near`."""

    def draw(dice):
        if dice.random() < 0.5:
            sign = 1 if positive else dice.choice([-1, 1])
            return sign * 10 ** dice.uniform(math.log10(low), math.log10(high))
        return dice.uniform(*near)

    return draw


def near_one(dice):
    """Between -1 and 1, half of them close to either end."""
    if dice.random() < 0.5:
        return dice.uniform(-1, 1)
    return dice.choice([-1, 1]) * (1 - 10 ** dice.uniform(-12, -1))


def sigmoid_slope(x):
    return 1 / (mp.exp(x / 2) + mp.exp(-x / 2)) ** 2


EXPONENT = spread(1e-8, 700, (-20, 20))
POSITIVE = spread(1e-300, 1e300, (1e-3, 20), positive=True)
ANY = spread(1e-8, 1e8, (-10, 10))
WIDE = spread(1e-50, 1e50, (-10, 10))
ANGLE = spread(1e-8, 1e15, (-20, 20))

# name: (points for each operand, the exact derivative along each operand)
UNARY = {
    "neg": (WIDE, lambda x: mp.mpf(-1)),
    "abs": (WIDE, lambda x: mp.sign(x)),
    "exp": (EXPONENT, mp.exp),
    "expm1": (EXPONENT, mp.exp),
    "log": (POSITIVE, lambda x: 1 / x),
    "log1p": (lambda dice: abs(ANY(dice)) if dice.random() < 0.5 else -(dice.random()), lambda x: 1 / (1 + x)),
    "sqrt": (POSITIVE, lambda x: 1 / (2 * mp.sqrt(x))),
    "square": (WIDE, lambda x: 2 * x),
    "reciprocal": (WIDE, lambda x: -1 / x**2),
    "sin": (ANGLE, mp.cos),
    "cos": (ANGLE, lambda x: -mp.sin(x)),
    "tan": (ANGLE, lambda x: 1 / mp.cos(x) ** 2),
    "asin": (near_one, lambda x: 1 / mp.sqrt((1 - x) * (1 + x))),
    "acos": (near_one, lambda x: -1 / mp.sqrt((1 - x) * (1 + x))),
    "atan": (ANY, lambda x: 1 / (1 + x * x)),
    "sinh": (EXPONENT, mp.cosh),
    "cosh": (EXPONENT, mp.sinh),
    "tanh": (spread(1e-8, 300, (-20, 20)), lambda x: 1 / mp.cosh(x) ** 2),
    "asinh": (WIDE, lambda x: 1 / mp.sqrt(x * x + 1)),
    "acosh": (lambda dice: 1 + abs(ANY(dice)), lambda x: 1 / mp.sqrt((x - 1) * (x + 1))),
    "atanh": (near_one, lambda x: 1 / ((1 - x) * (1 + x))),
    "sigmoid": (EXPONENT, sigmoid_slope),
    "softplus": (EXPONENT, lambda x: 1 / (1 + mp.exp(-x))),
    "relu": (WIDE, lambda x: mp.mpf(x > 0)),
    "total": (WIDE, lambda x: mp.mpf(1)),
    "mean": (WIDE, lambda x: mp.mpf(1)),
    "erf": (spread(1e-8, 26, (-6, 6)), lambda x: 2 / mp.sqrt(mp.pi) * mp.exp(-x * x)),
    "sign": (WIDE, lambda x: mp.mpf(0)),
    "heaviside": (WIDE, lambda x: mp.mpf(0)),
}
BASE, POWER = spread(1e-6, 1e6, (0.01, 10), positive=True), spread(1e-4, 40, (-8, 8))
LOGITS = spread(1e-3, 600, (-20, 20))
BINARY = {
    "add": (WIDE, WIDE, lambda a, b: mp.mpf(1), lambda a, b: mp.mpf(1)),
    "sub": (WIDE, WIDE, lambda a, b: mp.mpf(1), lambda a, b: mp.mpf(-1)),
    "mul": (WIDE, WIDE, lambda a, b: b, lambda a, b: a),
    "div": (WIDE, WIDE, lambda a, b: 1 / b, lambda a, b: -a / b**2),
    "pow": (BASE, POWER, lambda a, b: b * mp.power(a, b - 1), lambda a, b: mp.power(a, b) * mp.log(a)),
    "atan2": (WIDE, WIDE, lambda a, b: b / (a * a + b * b), lambda a, b: -a / (a * a + b * b)),
    "hypot": (WIDE, WIDE, lambda a, b: a / mp.sqrt(a * a + b * b), lambda a, b: b / mp.sqrt(a * a + b * b)),
    "logsumexp": (LOGITS, LOGITS, lambda a, b: 1 / (1 + mp.exp(b - a)), lambda a, b: 1 / (1 + mp.exp(a - b))),
    "maximum": (WIDE, WIDE, lambda a, b: mp.mpf(a > b), lambda a, b: mp.mpf(b > a)),
    "minimum": (WIDE, WIDE, lambda a, b: mp.mpf(a < b), lambda a, b: mp.mpf(b < a)),
}


def units_off(found, exact):
    """The error in units in the last place; None where the exact answer is no normal float."""
    size = abs(exact)
    if size != 0 and not NORMAL <= size <= FINITE:
        return None
    if size == 0:
        return 0.0 if found == 0 else math.inf
    unit = mp.mpf(2) ** (mp.frexp(size)[1] - 53)
    return float(abs(mp.mpf(found) - exact) / unit) if math.isfinite(found) else math.inf


def derivative_errors(name, points, exact, count):
    """Errors of the gradients that a learner reads, for each operand position."""
    dice = random.Random(f"{name}")
    variables = [Variable(1.0) for _ in points]
    y = getattr(ng, name)(*variables)
    errors = [[] for _ in points]
    for _ in range(count):
        values = [draw(dice) for draw in points]
        for variable, value in zip(variables, values):
            variable.value = value
        Graph.forward(y)
        Graph.backward(y)
        for variable, derivative, found in zip(variables, exact, errors):
            off = units_off(variable.grad, derivative(*[mp.mpf(value) for value in values]))
            if off is not None:
                found.append(off)
    return errors


def check(name, count):
    if name in UNARY:
        points, exact = [UNARY[name][0]], [UNARY[name][1]]
    else:
        points, exact = list(BINARY[name][:2]), list(BINARY[name][2:])
    Graph.on_invalid = "ignore"
    for position, errors in enumerate(derivative_errors(name, points, exact, count)):
        assert len(errors) > count / 2
        assert max(errors) <= 4.0, f"operand {position}: {max(errors):.3g} units"


EVERY = [*UNARY, *BINARY]


@pytest.mark.parametrize("name", EVERY)
def test_a_first_derivative_is_within_four_units_in_the_last_place(name):
    check(name, 200)


@pytest.mark.slow
@pytest.mark.parametrize("name", EVERY)
def test_a_first_derivative_is_within_four_units_on_ten_thousand_points(name):
    check(name, 10_000)


def test_every_operator_of_the_catalogue_is_measured():
    comparisons = {"greater", "less", "where"}  # they respond to no operand, or select one
    rules = [rule for rule in vars(ng.core.catalogue).values() if isinstance(rule, ng.core.rules.Rule)]
    assert {rule.name for rule in rules if not rule.helper} == set(EVERY) | comparisons


SECOND = {
    "exp": (0.3, mp.exp), "log": (2.5, lambda x: -1 / x**2), "sqrt": (2.5, lambda x: -1 / (4 * x ** mp.mpf("1.5"))),
    "tanh": (3.0, lambda x: -2 * mp.tanh(x) / mp.cosh(x) ** 2), "tan": (1.2, lambda x: 2 * mp.tan(x) / mp.cos(x) ** 2),
    "sigmoid": (5.0, lambda x: mp.diff(lambda t: 1 / (1 + mp.exp(-t)), x, 2)),
    "erf": (1.5, lambda x: mp.diff(mp.erf, x, 2)),
    "asin": (0.7, lambda x: mp.diff(mp.asin, x, 2)), "acos": (0.7, lambda x: mp.diff(mp.acos, x, 2)),
    "atan": (0.7, lambda x: mp.diff(mp.atan, x, 2)), "asinh": (0.7, lambda x: mp.diff(mp.asinh, x, 2)),
    "acosh": (1.7, lambda x: mp.diff(mp.acosh, x, 2)), "atanh": (0.7, lambda x: mp.diff(mp.atanh, x, 2)),
    "softplus": (-4.0, sigmoid_slope), "log1p": (0.7, lambda x: -1 / (1 + x) ** 2), "expm1": (0.7, mp.exp),
    "sin": (0.7, lambda x: -mp.sin(x)), "cos": (0.7, lambda x: -mp.cos(x)), "sinh": (0.7, mp.sinh),
    "cosh": (0.7, mp.cosh), "square": (0.7, lambda x: mp.mpf(2)), "reciprocal": (0.7, lambda x: 2 / x**3),
}  # fmt: skip


@pytest.mark.parametrize("name", SECOND)
def test_second_derivatives_are_right(name):
    point, exact = SECOND[name]
    x = Variable(point)
    assert hessian(getattr(ng, name)(x), [x])[0][0] == pytest.approx(float(exact(mp.mpf(point))), rel=1e-12)


@pytest.mark.parametrize("name", ["pow", "div", "atan2", "hypot", "logsumexp"])
def test_mixed_second_derivatives_are_right(name):
    exact = {
        "pow": lambda a, b: a**b, "div": lambda a, b: a / b, "atan2": mp.atan2,
        "hypot": lambda a, b: mp.sqrt(a * a + b * b), "logsumexp": lambda a, b: mp.log(mp.exp(a) + mp.exp(b)),
    }[name]  # fmt: skip
    a, b = Variable(1.7), Variable(0.6)
    found = hessian(getattr(ng, name)(a, b), [a, b])
    point = (mp.mpf(1.7), mp.mpf(0.6))
    for i, j, order in ((0, 0, (2, 0)), (0, 1, (1, 1)), (1, 1, (0, 2))):
        assert found[i][j] == pytest.approx(float(mp.diff(exact, point, order)), rel=1e-10)
