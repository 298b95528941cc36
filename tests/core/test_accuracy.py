"""Every value and first derivative within 4 units in the last place of the 60-digit answer, over the whole domain."""

import math
import random
from fractions import Fraction

import mpmath
import pytest

import naive_graph as ng
from naive_graph import Graph, Variable, hessian

mp = mpmath.mp.clone()
mp.dps = 60
SMALLEST, NORMAL, LARGEST = mp.mpf(2) ** -1074, mp.mpf(2) ** -1022, mp.mpf(2) ** 1024
ENDS = [5e-324, 1e-323, 1e-310, 2.2250738585072014e-308, 1e-160, 1.4e154, 1.5e308, 1.7976931348623157e308]


def size(dice):
    """A float above 0: of any size, near one, or at an end."""
    way = dice.random()
    if way < 0.1:
        return dice.choice(ENDS)
    return math.ldexp(dice.uniform(0.5, 1), dice.randint(-1073, 1024)) if way < 0.5 else 10 ** dice.uniform(-9, 3)


def real(dice):
    return dice.choice([-1, 1]) * size(dice)


def angle(dice):
    """A real, for what overflows or is flat beyond some hundreds."""
    return dice.uniform(-746, 711) if dice.random() < 0.5 else real(dice)


def inside(dice):
    """Between -1 and 1, often close to an end."""
    near = 1 - 10 ** dice.uniform(-15, -1)
    return dice.choice([-1, 1]) * (near if dice.random() < 0.3 else min(size(dice), 0.99))


def pair(dice):
    """Two reals, half of them of one size."""
    a = real(dice)
    if dice.random() < 0.5:
        return a, real(dice)
    return a, math.copysign(min(abs(a) * 2 ** dice.uniform(-30, 30), ENDS[-1]), dice.uniform(-1, 1)) or a


def power(dice):
    """A base and an exponent, mostly of a power that is neither 0 nor infinite."""
    a = size(dice) if dice.random() < 0.7 else 1 + 10 ** dice.uniform(-15, -1)
    b = dice.uniform(-740, 709) / (math.log(a) or 1)
    return a, b if dice.random() < 0.8 else dice.uniform(-40, 40)


def logits(dice):
    return pair(dice) if dice.random() < 0.3 else (dice.uniform(-600, 600), dice.uniform(-600, 600))


def exp(x):
    return mp.exp(max(min(x, mp.mpf(3000)), mp.mpf(-3000)))


def share(x):
    """1 / (1 + exp(-x))."""
    return 1 / (1 + exp(-x))


def larger(a, b):
    return max(a, b) + mp.log1p(exp(-abs(a - b)))


def slope_of_power(a, b):
    return mp.sign(b) * exp((b - 1) * mp.log(a) + mp.log(abs(b)))


def above(a, b):
    return mp.mpf(a > b) + mp.mpf(a == b) / 2


zero, one = (lambda x: mp.mpf(0)), (lambda *xs: mp.mpf(1))


# name: (how operands are drawn, the exact value, the exact derivative along each operand)
def rest(a, b):
    found = Fraction(float(a)) % Fraction(float(b))
    return mp.mpf(found.numerator) / found.denominator


UNARY = {
    "neg": (real, lambda x: -x, lambda x: mp.mpf(-1)),
    "abs": (real, abs, mp.sign),
    "exp": (angle, exp, exp),
    "expm1": (angle, lambda x: mp.expm1(min(x, 3000)), exp),
    "log": (size, mp.log, lambda x: 1 / x),
    "log1p": (lambda dice: size(dice) if dice.random() < 0.5 else inside(dice), mp.log1p, lambda x: 1 / (1 + x)),
    "sqrt": (size, mp.sqrt, lambda x: 1 / (2 * mp.sqrt(x))),
    "square": (real, lambda x: x * x, lambda x: 2 * x),
    "reciprocal": (real, lambda x: 1 / x, lambda x: -1 / x**2),
    "sin": (real, mp.sin, mp.cos),
    "cos": (real, mp.cos, lambda x: -mp.sin(x)),
    "tan": (real, mp.tan, lambda x: 1 / mp.cos(x) ** 2),
    "asin": (inside, mp.asin, lambda x: 1 / mp.sqrt((1 - x) * (1 + x))),
    "acos": (inside, mp.acos, lambda x: -1 / mp.sqrt((1 - x) * (1 + x))),
    "atan": (real, mp.atan, lambda x: 1 / (1 + x * x)),
    "sinh": (angle, lambda x: mp.sinh(max(min(x, 3000), -3000)), lambda x: (exp(x) + exp(-x)) / 2),
    "cosh": (angle, lambda x: (exp(x) + exp(-x)) / 2, lambda x: mp.sinh(max(min(x, 3000), -3000))),
    "tanh": (angle, lambda x: mp.tanh(x), lambda x: 4 / (exp(x) + exp(-x)) ** 2),
    "asinh": (real, mp.asinh, lambda x: 1 / mp.sqrt(x * x + 1)),
    "acosh": (lambda dice: max(1 + size(dice), 1 + 2**-52), mp.acosh, lambda x: 1 / mp.sqrt((x - 1) * (x + 1))),
    "atanh": (inside, mp.atanh, lambda x: 1 / ((1 - x) * (1 + x))),
    "sigmoid": (angle, share, lambda x: share(x) * share(-x)),
    "softplus": (angle, lambda x: larger(x, mp.mpf(0)), share),
    "relu": (real, lambda x: max(x, mp.mpf(0)), lambda x: mp.mpf(x > 0)),
    "total": (real, lambda x: x, one),
    "mean": (real, lambda x: x, one),
    "erf": (lambda dice: dice.uniform(-28, 28) if dice.random() < 0.5 else real(dice), mp.erf,
            lambda x: 2 / mp.sqrt(mp.pi) * exp(-x * x)),
    "sign": (real, mp.sign, zero),
    "heaviside": (real, lambda x: mp.mpf(x > 0), zero),
    "floor": (real, mp.floor, zero),
}  # fmt: skip
BINARY = {
    "add": (pair, lambda a, b: a + b, one, one),
    "sub": (pair, lambda a, b: a - b, one, lambda a, b: mp.mpf(-1)),
    "mul": (pair, lambda a, b: a * b, lambda a, b: b, lambda a, b: a),
    "div": (pair, lambda a, b: a / b, lambda a, b: 1 / b, lambda a, b: -a / b**2),
    "pow": (power, lambda a, b: exp(b * mp.log(a)), slope_of_power, lambda a, b: exp(b * mp.log(a)) * mp.log(a)),
    "atan2": (pair, mp.atan2, lambda a, b: b / (a * a + b * b), lambda a, b: -a / (a * a + b * b)),
    "hypot": (pair, mp.hypot, lambda a, b: a / mp.hypot(a, b), lambda a, b: b / mp.hypot(a, b)),
    "logsumexp": (logits, larger, lambda a, b: share(a - b), lambda a, b: share(b - a)),
    "mod": (pair, rest, one, lambda a, b: -mp.mpf(Fraction(float(a)) // Fraction(float(b)))),
    "maximum": (pair, max, above, lambda a, b: above(b, a)),
    "minimum": (pair, min, lambda a, b: above(b, a), above),
}


def units_off(found, exact, at_least=SMALLEST):
    """The error in units in the last place, of `at_least` or of what is exact; subnormals have the smallest unit."""
    if abs(exact) >= LARGEST or not math.isfinite(found):
        return 0.0 if abs(exact) > LARGEST * (1 - mp.mpf(2) ** -51) and abs(found) >= ENDS[-1] else math.inf
    unit = max(mp.mpf(2) ** (mp.frexp(max(abs(exact), at_least))[1] - 53), SMALLEST)
    return float(abs(mp.mpf(found) - exact) / unit)


def is_excused(name, position, xs):
    """SPEC writes the slope of a quotient -(a/b)/b: where a/b is subnormal, so are its digits."""
    return name == "div" and position == 2 and abs(xs[0] / xs[1]) < NORMAL


def errors(name, points, exact, count):
    """The errors of a value and its gradients as a learner reads them, with the operands of the largest of each."""
    dice, worst = random.Random(name), [(0.0, ())] * len(exact)
    variables = [Variable(1.0) for _ in exact[1:]]
    y = getattr(ng, name)(*variables)
    for _ in range(count):
        drawn = points(dice)
        drawn = drawn if isinstance(drawn, tuple) else (drawn,)
        for variable, value in zip(variables, drawn):
            variable.value = value
        Graph.forward(y)
        Graph.backward(y)
        xs = [mp.mpf(value) for value in drawn]
        for position, (node, function) in enumerate(zip([y, *variables], exact)):
            # A logsumexp adds the largest to a logarithm; where they cancel, it has the digits of the largest.
            scale = max(map(abs, xs)) if name == "logsumexp" and position == 0 else SMALLEST
            if not is_excused(name, position, xs):
                off = units_off(node.value if position == 0 else node.grad, function(*xs), scale)
                worst[position] = max(worst[position], (off, drawn))
    return worst


def check(name, count):
    points, *exact = (UNARY | BINARY)[name]
    Graph.on_invalid = "ignore"
    for position, (off, xs) in enumerate(errors(name, points, exact, count)):
        assert off <= 4.0, f"{'value' if position == 0 else f'slope {position}'} at {xs}: {off:.3g} units"


EVERY = [*UNARY, *BINARY]


@pytest.mark.parametrize("name", EVERY)
def test_values_and_first_derivatives_are_within_four_units_in_the_last_place(name):
    check(name, 150)


@pytest.mark.slow
@pytest.mark.parametrize("name", EVERY)
def test_values_and_first_derivatives_are_within_four_units_on_ten_thousand_points(name):
    check(name, 10_000)


@pytest.mark.parametrize(
    ("name", "xs", "value", "slopes"),
    [
        ("hypot", (5e-324, 5e-324), 5e-324, (0.7071067811865476,) * 2),
        ("hypot", (1.5e308, 1.5e308), math.inf, (0.7071067811865476,) * 2),
        ("atan", (1.4e154,), math.pi / 2, (5.10204081632653e-309,)),
        ("atan2", (1.7e308, 1.7e308), math.pi / 4, (2.941176470588235e-309, -2.941176470588235e-309)),
        ("logsumexp", (0.0, -26.5), 3.098819138717e-12, None),
        ("logsumexp", (0.0, -40.0), 4.24835425529e-18, None),
        ("logsumexp", (-700.0, 0.0), math.exp(-700.0), None),
        ("pow", (1e-310, 0.25), 1e-310**0.25, (0.25 * 1e-310**0.25 / 1e-310,)),
    ],
)
def test_the_ends_of_the_range_are_right(name, xs, value, slopes):
    Graph.on_invalid = "ignore"
    variables = [Variable(x) for x in xs]
    y = getattr(ng, name)(*variables)
    Graph.forward(y)
    Graph.backward(y)
    assert y.value == pytest.approx(value, rel=1e-8, abs=0)
    for variable, slope in zip(variables, slopes or ()):
        assert variable.grad == pytest.approx(slope, rel=1e-12, abs=1e-322)


def test_every_operator_of_the_catalogue_is_measured():
    comparisons = {  # they respond to no operand, or select one
        "greater", "less", "greater_equal", "less_equal", "equal", "not_equal", "where",
    }  # fmt: skip
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
    "softplus": (-4.0, lambda x: share(x) * share(-x)), "log1p": (0.7, lambda x: -1 / (1 + x) ** 2),
    "expm1": (0.7, mp.exp),
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
