"""Rules on arrays, entry by entry: the same catalogue, computed by an array library.

Each row here is the vectorised value of a rule, nothing else; derivatives come
from the rules. An operator of the learner's own runs on arrays as it is, if its
value is made of rules; else its Python function is called for each entry.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NoReturn

import numpy as np

from ..core.rules import Arithmetic, Rule
from ..errors import NaiveGraphError
from .arrays import Array, like, namespace

VALUES: dict[str, Callable[..., Array]] = {}


class Entries(Arithmetic):
    """An array that rules can be applied to."""

    __slots__ = ("array",)

    def __init__(self, array: Array) -> None:
        self.array = array

    def apply(self, rule: Rule, *operands: Any) -> Entries:
        arrays = [each.array if isinstance(each, Entries) else float(each) for each in operands]
        if rule.name in VALUES:
            return Entries(VALUES[rule.name](namespace(self.array), *arrays))
        return self._own(rule, operands, arrays)

    def _own(self, rule: Rule, operands: tuple[Any, ...], arrays: list[Any]) -> Entries:
        """A learner's operator."""
        try:
            result = rule.value(*operands)
            return result if isinstance(result, Entries) else Entries(full(namespace(self.array), self.array, result))
        except (TypeError, NaiveGraphError):  # it asks for floats: one call for each entry
            shape = np.broadcast_shapes(*(np.shape(each) for each in arrays))
            spread = [np.broadcast_to(np.asarray(each), shape).ravel() for each in arrays]
            found = [rule(*(float(each) for each in entry)) for entry in zip(*spread)]
            return Entries(like(self.array, np.array(found, dtype=np.float64).reshape(shape)))

    def __bool__(self) -> NoReturn:
        raise TypeError("An array has no truth value.")

    def __float__(self) -> NoReturn:
        raise TypeError("An array is not a number.")


def full(xp: Any, pattern: Array, value: float) -> Array:
    """An array like `pattern`, filled with one number."""
    return xp.full_like(pattern, value)


def floats(condition: Array, pattern: Array) -> Array:
    """1.0 where the condition holds, else 0.0, in the type of `pattern`."""
    return condition.to(pattern.dtype) if hasattr(condition, "to") else condition.astype(pattern.dtype)


def pattern(*arrays: Any) -> Array:
    """The first operand that is an array."""
    return next(each for each in arrays if hasattr(each, "dtype"))


def value(function: Callable[..., Array]) -> Callable[..., Array]:
    VALUES[function.__name__.rstrip("_")] = function
    return function


# --- one row for each rule ----------------------------------------------------

# The library's own function, under the name that all four share.
for _name, _theirs in {
    "square": "square", "sqrt": "sqrt", "exp": "exp", "expm1": "expm1", "log": "log", "log1p": "log1p", "sin": "sin",
    "cos": "cos", "tan": "tan", "asin": "arcsin", "acos": "arccos", "atan": "arctan", "sinh": "sinh", "cosh": "cosh",
    "tanh": "tanh", "asinh": "arcsinh", "acosh": "arccosh", "atanh": "arctanh", "abs": "abs",
}.items():  # fmt: skip
    VALUES[_name] = lambda xp, a, theirs=_theirs: getattr(xp, theirs)(a)


def _folded(function: Callable[[Array, Array], Array]) -> Callable[..., Array]:
    """A left fold, as the rule of any number of operands has it."""

    def total(xp: Any, first: Array, *rest: Array) -> Array:
        for each in rest:
            first = function(first, each)
        return first

    return total


VALUES["add"] = _folded(lambda a, b: a + b)
VALUES["mul"] = _folded(lambda a, b: a * b)
VALUES["sub"] = lambda xp, a, b: a - b
VALUES["div"] = lambda xp, a, b: a / b
VALUES["pow"] = lambda xp, a, b: a**b
VALUES["neg"] = lambda xp, a: -a
VALUES["reciprocal"] = lambda xp, a: 1.0 / a
VALUES["greater"] = lambda xp, a, b: floats(a > b, pattern(a, b))
VALUES["less"] = lambda xp, a, b: floats(a < b, pattern(a, b))
VALUES["held"] = lambda xp, a: a


def both(function: str) -> Callable[..., Array]:
    """A library's function of two arrays; a number is spread into one first."""

    def value(xp: Any, a: Any, b: Any) -> Array:
        example = pattern(a, b)
        a, b = (each if hasattr(each, "dtype") else full(xp, example, each) for each in (a, b))
        return getattr(xp, function)(a, b)

    return value


for _name, _theirs in {"maximum": "maximum", "minimum": "minimum", "atan2": "arctan2", "hypot": "hypot"}.items():
    VALUES[_name] = both(_theirs)


@value
def where(xp: Any, condition: Any, a: Any, b: Any) -> Array:
    example = pattern(a, b, condition)  # the condition last: NaN spread in an array of truths is a 1
    a, b = (each if hasattr(each, "dtype") else full(xp, example, each) for each in (a, b))
    return xp.where(condition != 0, a, b) if hasattr(condition, "dtype") else (a if condition != 0 else b)


@value
def sign(xp: Any, a: Array) -> Array:
    return xp.where(a != a, a, floats(a > 0, a) - floats(a < 0, a))


@value
def heaviside(xp: Any, a: Array) -> Array:
    return xp.where(a != a, a, floats(a > 0, a))


@value
def relu(xp: Any, a: Array) -> Array:
    return where(xp, a <= 0, 0.0, a)


@value
def sigmoid(xp: Any, a: Array) -> Array:
    e = xp.exp(-abs(a))
    return where(xp, a >= 0, 1.0, e) / (1.0 + e)


@value
def softplus(xp: Any, a: Array) -> Array:
    return relu(xp, a) + xp.log1p(xp.exp(-abs(a)))


@value
def erf(xp: Any, a: Array) -> Array:
    if hasattr(xp, "erf"):
        return xp.erf(a)
    return like(a, np.frompyfunc(math.erf, 1, 1)(np.asarray(a)).astype(np.float64))


@value
def logsumexp(xp: Any, *xs: Array) -> Array:
    top = _top(xp, xs)
    finite = where(xp, abs(top) < math.inf, top, 0.0)
    total = _folded(lambda a, b: a + b)(xp, *(xp.exp(x - finite) for x in xs))
    return where(xp, abs(top) < math.inf, finite + xp.log(total), top)


@value
def softmax_share(xp: Any, a: Array, *xs: Array) -> Array:
    top = _top(xp, (a, *xs))
    shares = [where(xp, abs(top) < math.inf, xp.exp(x - top), floats(x == top, top)) for x in (a, *xs)]
    return shares[0] / _folded(lambda a, b: a + b)(xp, *shares[1:])


def _top(xp: Any, xs: tuple[Array, ...]) -> Array:
    return _folded(lambda a, b: VALUES["maximum"](xp, a, b))(xp, *xs)


@value
def nonnegative(xp: Any, a: Array) -> Array:
    return where(xp, a >= 0, a + 0.0, math.nan)


@value
def pow_slope(xp: Any, a: Any, b: Any) -> Array:
    return where(xp, b == 0, 0.0, b * a ** (b - 1.0)) if hasattr(b, "dtype") else (
        b * a ** (b - 1.0) if b != 0 else full(xp, a, 0.0)
    )  # fmt: skip


@value
def pow_log(xp: Any, a: Any, b: Any) -> Array:
    example = pattern(a, b)
    a = a if hasattr(a, "dtype") else full(xp, example, a)
    b = b if hasattr(b, "dtype") else full(xp, example, b)
    return where(xp, (a == 0) & (b >= 0), 0.0, a**b * xp.log(a))


@value
def sech_squared(xp: Any, a: Array) -> Array:
    e = xp.exp(-2.0 * abs(a))
    return 4.0 * e / ((1.0 + e) * (1.0 + e))


@value
def sigmoid_slope(xp: Any, a: Array) -> Array:
    e = xp.exp(-abs(a))
    return e / ((1.0 + e) * (1.0 + e))


@value
def gaussian(xp: Any, a: Array) -> Array:
    return xp.exp(-a * a)


@value
def hypot_share(xp: Any, a: Any, b: Any) -> Array:
    h = VALUES["hypot"](xp, a, b)
    return where(xp, h == 0, 0.0, a / h)


@value
def inverse_radius(xp: Any, a: Any, b: Any) -> Array:
    h = VALUES["hypot"](xp, a, b)
    return where(xp, h == 0, 0.0, a / h / h)


@value
def precedence(xp: Any, a: Any, b: Any) -> Array:
    example = pattern(a, b)
    share = floats(a > b, example) + 0.5 * floats(a == b, example)
    return where(xp, (a != a) | (b != b), math.nan, share)
