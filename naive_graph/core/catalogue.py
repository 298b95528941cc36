"""The catalogue of scalar operators: a row for each, with its value and its partial derivatives.

It is the only place where scalar derivatives are written, but for the ten of naive.py; values that need care are
functions of ieee.py. A partial is written in the operands `a, b, ...` and the result `y`, with other rules, so that
it can itself be differentiated. In it division and the functions are called by name (`div(1.0, a)`, not `1 / a`),
because Python's own raise where IEEE 754 gives inf or NaN. Most helper rules at the end keep digits that
the textbook formulas lose; formulas are shown without helpers.
"""

from __future__ import annotations

import builtins
import math
from collections.abc import Callable, Iterable, Sequence
from functools import reduce
from typing import Any

from . import ieee
from .did_you_mean import explains
from .number import as_list
from .numpy_protocol import OBJECT_ARRAY_METHODS, RULE_OF_UFUNC
from .rules import POSITIVE, REALS, RULES, Arithmetic, Interval, Rule, define, method_of

Value = Any
READABLE = 16  # up to so many operands, each partial of logsumexp is one operator, softmax_share, which is readable

# fmt: off
# --- arithmetic ---------------------------------------------------------------


def _total(total: float, *others: float) -> float:
    """Sum from the left; builtin sum is compensated since Python 3.12, and would give other bits."""
    for x in others:
        total += x
    return total


def _product(product: float, *others: float) -> float:
    for x in others:
        product *= x
    return product


def products_of_others(xs: tuple[float, ...], partials: list[float]) -> None:
    """Partials of a product, without division: at each position the product of those before and of those after."""
    if len(xs) == 2:  # the usual case
        partials[0], partials[1] = xs[1], xs[0]
    elif len(xs) == 1:
        partials[0] = 1.0
    else:
        partials[1] = xs[0]
        for k in range(2, len(xs)):
            partials[k] = partials[k - 1] * xs[k - 1]
        after = xs[len(xs) - 1]
        for k in range(len(xs) - 2, 0, -1):
            partials[k] = partials[k] * after
            after = xs[k] * after
        partials[0] = after


def _collect_partials(write: Callable[..., None], xs: Sequence[Value]) -> list[Value]:
    """All partials as a list. write: fills the list; engines compile it from its source."""
    partials: list[Value] = [None] * len(xs)
    write(xs, partials)
    return partials


def _softmax_weights(xs: Sequence[Value]) -> list[Value]:
    """Softmax: the partials of logsumexp. For numbers all are computed at once: one alone would cost as much."""
    if all(type(x) is float for x in xs):
        return _collect_partials(ieee.softmax_shares, xs)
    if len(xs) <= READABLE:
        return [softmax_share(x, *xs) for x in xs]
    # Expanded, n partials need some 7 n operands instead of n * n, and so do their derivatives.
    top = held(reduce(maximum, xs))
    exponentials = [exp_below(x, top) for x in xs]
    total = add(*exponentials)
    return [div(exponential, total) for exponential in exponentials]


add: Rule = define("add", _total, lambda xs, y: [1.0] * len(xs),
    associative=True, infix="+", onnx="Add", tensorflow=("AddV2", "Add"))
sub: Rule = define("sub", lambda a, b: a - b, [lambda a, b, y: 1.0, lambda a, b, y: -1.0],
    infix="-", onnx="Sub", tensorflow=("Sub",))
mul: Rule = define("mul", _product, lambda xs, y: _collect_partials(products_of_others, xs),
    associative=True, infix="*", symbol="×", onnx="Mul", tensorflow=("Mul",))
div: Rule = define("div", ieee.div, [lambda a, b, y: div(1.0, b), lambda a, b, y: -div(y, b)],
    infix="/", symbol="÷", tex=r"\frac{{{0}}}{{{1}}}", onnx="Div", tensorflow=("RealDiv", "Div"))
pow: Rule = define("pow", ieee.pow, [lambda a, b, y: pow_slope(a, b), lambda a, b, y: pow_log(a, b)],
    domain=(POSITIVE, REALS), infix="**", onnx="Pow", tensorflow=("Pow",))
neg: Rule = define("neg", lambda a: -a, [lambda a, y: -1.0],
    symbol="−", onnx="Neg", tensorflow=("Neg",))

# --- powers, exponentials, logarithms -----------------------------------------

square: Rule = define("square", lambda a: a * a, [lambda a, y: 2.0 * a],
    symbol="²", tex="{0}^{{2}}", tensorflow=("Square",))
sqrt: Rule = define("sqrt", ieee.sqrt, [lambda a, y: div(0.5, y)],
    domain=POSITIVE, symbol="√", tex=r"\sqrt{{{0}}}", onnx="Sqrt", tensorflow=("Sqrt",))
reciprocal: Rule = define("reciprocal", lambda a: ieee.div(1.0, a), [lambda a, y: -(y * y)],
    symbol="1/", tex=r"\frac{{1}}{{{0}}}", onnx="Reciprocal", tensorflow=("Reciprocal", "Inv"))
exp: Rule = define("exp", ieee.exp, [lambda a, y: y],
    tex="e^{{{0}}}", onnx="Exp", tensorflow=("Exp",))
expm1: Rule = define("expm1", ieee.expm1, [lambda a, y: exp(a)],
    tex="e^{{{0}}} - 1", tensorflow=("Expm1",))
log: Rule = define("log", ieee.log, [lambda a, y: div(1.0, nonnegative(a))],
    domain=POSITIVE, onnx="Log", tensorflow=("Log",))
log1p: Rule = define("log1p", ieee.log1p, [lambda a, y: div(1.0, nonnegative(1.0 + a))],
    domain=Interval(-1.0), tex=r"\log\left(1 + {0}\right)", tensorflow=("Log1p",))

# --- circular and hyperbolic --------------------------------------------------

sin: Rule = define("sin", ieee.sin, [lambda a, y: cos(a)], onnx="Sin", tensorflow=("Sin",))
cos: Rule = define("cos", ieee.cos, [lambda a, y: -sin(a)], onnx="Cos", tensorflow=("Cos",))
tan: Rule = define("tan", ieee.tan, [lambda a, y: 1.0 + y * y], onnx="Tan", tensorflow=("Tan",))
asin: Rule = define("asin", ieee.asin, [lambda a, y: div(1.0, sqrt((1.0 - a) * (1.0 + a)))],
    domain=Interval(-1.0, 1.0), tex=r"\arcsin", onnx="Asin", tensorflow=("Asin",))
acos: Rule = define("acos", ieee.acos, [lambda a, y: div(-1.0, sqrt((1.0 - a) * (1.0 + a)))],
    domain=Interval(-1.0, 1.0), tex=r"\arccos", onnx="Acos", tensorflow=("Acos",))
atan: Rule = define("atan", math.atan, [lambda a, y: atan_slope(a)],
    tex=r"\arctan", onnx="Atan", tensorflow=("Atan",))
sinh: Rule = define("sinh", ieee.sinh, [lambda a, y: cosh(a)], onnx="Sinh", tensorflow=("Sinh",))
cosh: Rule = define("cosh", ieee.cosh, [lambda a, y: sinh(a)], onnx="Cosh", tensorflow=("Cosh",))
tanh: Rule = define("tanh", math.tanh, [lambda a, y: sech_squared(a)], onnx="Tanh", tensorflow=("Tanh",))
asinh: Rule = define("asinh", math.asinh, [lambda a, y: div(1.0, hypot(a, 1.0))], onnx="Asinh", tensorflow=("Asinh",))
# Two roots: the root of their product would be real below -1, and wrong.
acosh: Rule = define("acosh", ieee.acosh, [lambda a, y: div(1.0, sqrt(a - 1.0) * sqrt(a + 1.0))],
    domain=Interval(1.0), onnx="Acosh", tensorflow=("Acosh",))
atanh: Rule = define("atanh", ieee.atanh, [lambda a, y: div(1.0, nonnegative(1.0 - a) * nonnegative(1.0 + a))],
    domain=Interval(-1.0, 1.0), onnx="Atanh", tensorflow=("Atanh",))
atan2: Rule = define("atan2", math.atan2, [lambda a, b, y: inverse_radius(b, a), lambda a, b, y: -inverse_radius(a, b)],
    kink=lambda a, b: where(less(b, 0.0), a, hypot(a, b)), tensorflow=("Atan2",))
hypot: Rule = define("hypot", math.hypot, [lambda a, b, y: hypot_share(a, b), lambda a, b, y: hypot_share(b, a)],
    kink=lambda a, b: hypot(a, b), tex=r"\sqrt{{{0}^2 + {1}^2}}")

# --- learning -----------------------------------------------------------------

sigmoid: Rule = define("sigmoid", ieee.sigmoid, [lambda a, y: sigmoid_slope(a)],
    symbol="σ", tex=r"\sigma", onnx="Sigmoid", tensorflow=("Sigmoid",))
softplus: Rule = define("softplus", ieee.softplus, [lambda a, y: sigmoid(a)], onnx="Softplus", tensorflow=("Softplus",))
erf: Rule = define("erf", math.erf, [lambda a, y: 1.1283791670955126 * gaussian(a)],  # 2 / sqrt(pi)
    onnx="Erf", tensorflow=("Erf",))
relu: Rule = define("relu", ieee.relu, [lambda a, y: heaviside(a)], kink=lambda a: a, onnx="Relu", tensorflow=("Relu",))
logsumexp: Rule = define("logsumexp", ieee.logsumexp, lambda xs, y: _softmax_weights(xs), onnx="ReduceLogSumExp")

# --- pieces, comparisons, choice ----------------------------------------------

abs: Rule = define("abs", builtins.abs, [lambda a, y: sign(a)],
    kink=lambda a: a, symbol="|·|", tex=r"\left|{0}\right|", onnx="Abs", tensorflow=("Abs",))
sign: Rule = define("sign", ieee.sign, [None],
    kink=lambda a: a, tex=r"\operatorname{sign}", onnx="Sign", tensorflow=("Sign",))
heaviside: Rule = define("heaviside", ieee.heaviside, [None], kink=lambda a: a, tex="H")
floor: Rule = define("floor", ieee.floor, [None], kink=lambda a: sin(math.pi * a),
    tex=r"\left\lfloor {0} \right\rfloor", onnx="Floor", tensorflow=("Floor",))
# If b is infinite and of the other sign, the remainder is b itself.
mod: Rule = define("mod", ieee.mod, [lambda a, b, y: 1.0, lambda a, b, y: where(equal(y, b), 1.0, -floor(div(a, b)))],
    kink=lambda a, b: sin(math.pi * div(a, b)), tex=r"\operatorname{mod}")
maximum: Rule = define("maximum", ieee.maximum, [lambda a, b, y: precedence(a, b), lambda a, b, y: precedence(b, a)],
    kink=lambda a, b: a - b, symbol="max", tex=r"\max", onnx="Max", tensorflow=("Maximum",))
minimum: Rule = define("minimum", ieee.minimum, [lambda a, b, y: precedence(b, a), lambda a, b, y: precedence(a, b)],
    kink=lambda a, b: a - b, symbol="min", tex=r"\min", onnx="Min", tensorflow=("Minimum",))
greater: Rule = define("greater", lambda a, b: float(a > b), [None, None],
    kink=lambda a, b: a - b, infix=">", onnx="Greater", tensorflow=("Greater",))
less: Rule = define("less", lambda a, b: float(a < b), [None, None],
    kink=lambda a, b: a - b, infix="<", onnx="Less", tensorflow=("Less",))
greater_equal: Rule = define("greater_equal", lambda a, b: float(a >= b), [None, None],
    kink=lambda a, b: a - b, infix=">=", symbol="≥", onnx="GreaterOrEqual", tensorflow=("GreaterEqual",))
less_equal: Rule = define("less_equal", lambda a, b: float(a <= b), [None, None],
    kink=lambda a, b: a - b, infix="<=", symbol="≤", onnx="LessOrEqual", tensorflow=("LessEqual",))
# No infix: Python's == tests whether two nodes are the same node.
equal: Rule = define("equal", lambda a, b: float(a == b), [None, None],
    kink=lambda a, b: a - b, symbol="==", tex=r"\left[{0} = {1}\right]", onnx="Equal", tensorflow=("Equal",))
not_equal: Rule = define("not_equal", lambda a, b: float(a != b), [None, None],
    kink=lambda a, b: a - b, symbol="≠", tex=r"\left[{0} \neq {1}\right]", tensorflow=("NotEqual",))
where: Rule = define("where", lambda condition, a, b: a if condition != 0 else b,
    [None, lambda c, a, b, y: where(c, 1.0, 0.0), lambda c, a, b, y: where(c, 0.0, 1.0)],
    selects=True, kink=lambda c, a, b: where(c, 1.0, -1.0), symbol="?:",
    onnx="Where", tensorflow=("SelectV2", "Select"),
    tex=r"\begin{{cases}} {1} & {0} \\ {2} & \text{{otherwise}} \end{{cases}}")

# --- over a batch -------------------------------------------------------------

# For one sample, the identity. A Program with a batch reduces over it, in order. An operand that does not
# vary with the sample has one value in a Program too, and is returned: total(w) is w.
total: Rule = define("total", lambda a: a, [lambda a, y: 1.0], symbol="Σ", tex=r"\sum")
mean: Rule = define("mean", lambda a: a, [lambda a, y: 1.0], symbol="mean", tex=r"\operatorname{mean}")

# --- helpers: derivatives that keep their digits ------------------------------

# Guards the domain: 1/a exists below 0, where log(a) does not. Formulas show `a` itself.
nonnegative: Rule = define("nonnegative", ieee.nonnegative, [lambda a, y: 1.0],
    symbol="≥0", expands_to=lambda a: a)
pow_slope: Rule = define("pow_slope", ieee.pow_slope,
    [lambda a, b, y: where(b, b * pow_slope(a, b - 1.0), 0.0),
    lambda a, b, y: pow(a, b - 1.0) + b * pow_log(a, b - 1.0)],
    domain=(POSITIVE, REALS), expands_to=lambda a, b: b * pow(a, b - 1.0))
pow_log: Rule = define("pow_log", ieee.pow_log,
    [lambda a, b, y: pow(a, b - 1.0) + b * pow_log(a, b - 1.0), lambda a, b, y: where(y, y * log(a), 0.0)],
    domain=(POSITIVE, REALS), expands_to=lambda a, b: pow(a, b) * log(a))
sech_squared: Rule = define("sech_squared", ieee.sech_squared, [lambda a, y: -2.0 * tanh(a) * y],
    expands_to=lambda a: 1.0 - pow(tanh(a), 2.0))
sigmoid_slope: Rule = define("sigmoid_slope", ieee.sigmoid_slope, [lambda a, y: -tanh(0.5 * a) * y],
    expands_to=lambda a: sigmoid(a) * (1.0 - sigmoid(a)))
gaussian: Rule = define("gaussian", ieee.gaussian, [lambda a, y: -2.0 * a * y], expands_to=lambda a: exp(-pow(a, 2.0)))
atan_slope: Rule = define("atan_slope", ieee.atan_slope, [lambda a, y: -2.0 * (a * y) * y],
    expands_to=lambda a: div(1.0, 1.0 + a * a))
hypot_share: Rule = define("hypot_share", ieee.hypot_share,
    [lambda a, b, y: hypot_share(b, a) * inverse_radius(b, a),
    lambda a, b, y: -hypot_share(a, b) * inverse_radius(b, a)],
    expands_to=lambda a, b: a / hypot(a, b))
inverse_radius: Rule = define("inverse_radius", ieee.inverse_radius,
    [lambda a, b, y: inverse_radius(b, a) * inverse_radius(b, a) - y * y,
    lambda a, b, y: -2.0 * y * inverse_radius(b, a)],
    expands_to=lambda a, b: a / (a * a + b * b))
softmax_share: Rule = define("softmax_share", ieee.softmax_share,
    lambda xs, y: [y, *(-y * share for share in _softmax_weights(xs[1:]))],
    expands_to=lambda a, *xs: exp(a - logsumexp(*xs)))
exp_below: Rule = define("exp_below", ieee.exp_below, [lambda a, b, y: y, lambda a, b, y: -y],
    expands_to=lambda a, b: exp(a - b))


# stop_gradient: the operand as a constant; no gradient flows through.
held: Rule = define("held", lambda a: a, [None], symbol="=", expands_to=lambda a: a)

# Partial of maximum: 1 for the larger operand, 1/2 for each at a tie.
precedence: Rule = define("precedence", ieee.precedence, [None, None], kink=lambda a, b: a - b,
    expands_to=lambda a, b: 0.5 * (1.0 + sign(a - b)))

BUILT_IN = len(RULES)  # rules from this number on are user-defined

OVER_A_BATCH = (total.name, mean.name)
UNARY = tuple(name for name, rule in RULES.items() if rule.arity == 1 and not (rule.helper or name in OVER_A_BATCH))

# fmt: on


@explains
def softmax(xs: Iterable[Value]) -> list[Value]:
    """exp(x) / (sum of all exp) for each x of a list: positive numbers that add up to 1.

    >>> softmax([0.0, 0.0])
    [0.5, 0.5]
    """
    if isinstance(xs, Arithmetic) and hasattr(xs, "softmax"):
        return xs.softmax()  # type: ignore[no-any-return] # a tensor, along its last axis
    operands = as_list(xs, "'softmax'", "a list of numbers or nodes")
    return _softmax_weights(operands)


def _exp2(self: Value, *others: Value, **named: Any) -> Value:
    """2**self, as a node of its own."""
    return pow(2.0, self, *others, **named)


# Operators as methods: `x.sin()` is `sin(x)`; and by NumPy's names.
for _rule in RULES.values():
    if not _rule.helper:
        setattr(Arithmetic, _rule.name, method_of(_rule.name))
for _name in OBJECT_ARRAY_METHODS:
    setattr(Arithmetic, _name, method_of(RULE_OF_UFUNC[_name]))
Arithmetic.exp2 = _exp2  # type: ignore[attr-defined]

# Names that `from naive_graph import *` brings: without `abs` and `pow`, which are Python's builtins.
STEPS = ("floor", "mod")  # nodes write x.floor() and x % y
__all__ = [
    *(name for name, rule in RULES.items() if not rule.helper and not hasattr(builtins, name) and name not in STEPS),
    "softmax",
]
