"""Elementwise rules and reductions on arrays: the scalar catalogue's functions, vectorised by an array library.

`VALUES` maps a rule's name to its vectorised value, f(xp, *operands), xp being the array namespace
(numpy, torch, ...): VALUES["exp"](numpy, x) is numpy.exp(x). Derivatives come from the rules themselves. A user-defined
operator is called on whole arrays if its value is composed of rules; otherwise its Python function is called once for
each entry. What a formula computes at its nasty points (0 ** 0, inf - inf) is stated in core/ieee.py, for floats; the
functions of the same names here follow the same conventions for arrays.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any, NoReturn

import numpy as np

from ...core.ieee import less_one_is_exact
from ...core.rules import Arithmetic, Rule
from ...errors import NaiveGraphError
from ..function import Function
from .arrays import Array, convert_like, namespace


class OverloadedArray(Arithmetic):
    """An array wrapped so that the scalar catalogue's rules, applied to it, compute arrays entry by entry."""

    __slots__ = ("array",)

    def __init__(self, array: Array) -> None:
        self.array = array

    def apply(self, rule: Rule, *operands: Any) -> OverloadedArray:
        arrays = [operand.array if isinstance(operand, OverloadedArray) else float(operand) for operand in operands]
        if rule.name in VALUES:
            return OverloadedArray(VALUES[rule.name](namespace(self.array), *arrays))
        return self._apply_user_defined(rule, operands, arrays)

    def _apply_user_defined(self, rule: Rule, operands: tuple[Any, ...], arrays: list[Any]) -> OverloadedArray:
        """Apply a user-defined operator: to whole arrays if its value is composed of rules, else entry by entry."""
        try:
            result = rule.value(*operands)
            if isinstance(result, OverloadedArray):
                return result
            return OverloadedArray(namespace(self.array).full_like(self.array, result))
        except (TypeError, NaiveGraphError):  # the function needs floats: call it for each entry
            shape = np.broadcast_shapes(*(np.shape(array) for array in arrays))
            columns = [np.broadcast_to(np.asarray(array), shape).ravel() for array in arrays]
            results = [rule(*(float(number) for number in entry)) for entry in zip(*columns)]
            return OverloadedArray(convert_like(self.array, np.array(results, dtype=np.float64).reshape(shape)))

    def __bool__(self) -> NoReturn:
        raise TypeError("An array has no truth value.")

    def __float__(self) -> NoReturn:
        raise TypeError("An array is not a number.")


def apply_function(function: Function, arrays: Sequence[Array]) -> Array:
    """Apply a function to arrays, entry by entry."""
    result = function(*map(OverloadedArray, arrays))
    return result.array if isinstance(result, OverloadedArray) else namespace(arrays[0]).full_like(arrays[0], result)


def cast_like(array: Array, pattern: Array) -> Array:
    """The array in the type of `pattern`: a condition becomes 1.0 where it holds, else 0.0."""
    return array.to(pattern.dtype) if hasattr(array, "to") else array.astype(pattern.dtype)


def first_array(*operands: Any) -> Array:
    """The first operand that is an array."""
    return next(operand for operand in operands if hasattr(operand, "dtype"))


def as_arrays(xp: Any, *operands: Any) -> list[Array]:
    """The operands as arrays: a number becomes a constant array like the first operand that is an array."""
    pattern = first_array(*operands)
    return [operand if hasattr(operand, "dtype") else xp.full_like(pattern, operand) for operand in operands]


# --- values that take more than a line; each is named as its rule -----------------------


def where(xp: Any, condition: Any, a: Any, b: Any) -> Array:
    if not hasattr(a, "dtype") and not hasattr(b, "dtype"):
        a = xp.full_like(first_array(condition), a)
    return xp.where(as_arrays(xp, condition, a, b)[0] != 0, a, b)


def relu(xp: Any, a: Array) -> Array:
    if xp is np:  # without a branch for each entry
        return np.maximum(a, 0.0) + 0.0  # -0.0 becomes 0.0
    return where(xp, a <= 0, 0.0, a)


def heaviside(xp: Any, a: Array) -> Array:
    above = cast_like(a > 0, a)
    return above if xp is np and not (a != a).any() else xp.where(a != a, a, above)


def erf(xp: Any, a: Array) -> Array:
    if hasattr(xp, "erf"):
        return xp.erf(a)
    return convert_like(a, np.asarray(np.frompyfunc(math.erf, 1, 1)(np.asarray(a)), dtype=np.float64))


def sigmoid(xp: Any, a: Array) -> Array:
    e = xp.exp(-abs(a))
    return where(xp, a >= 0, 1.0, e) / (1.0 + e)


def sigmoid_slope(xp: Any, a: Array) -> Array:
    e = xp.exp(-abs(a))
    return e / ((1.0 + e) * (1.0 + e))


def logsumexp(xp: Any, *xs: Array) -> Array:
    top = VALUES["top"](xp, *xs)
    finite = where(xp, abs(top) < math.inf, top, 0.0)
    total = reduce(operator.add, (xp.exp(x - finite) for x in xs))
    return where(xp, abs(top) < math.inf, finite + xp.log(total), top)


def softmax_share(xp: Any, a: Array, *xs: Array) -> Array:
    top = VALUES["top"](xp, a, *xs)
    shares = [exp_below(xp, x, top) for x in (a, *xs)]
    return shares[0] / reduce(operator.add, shares[1:])


def exp_below(xp: Any, a: Array, b: Array) -> Array:
    a, b = as_arrays(xp, a, b)
    return where(xp, abs(b) == math.inf, cast_like(a == b, b), xp.exp(a - b))


def pow_log(xp: Any, a: Any, b: Any) -> Array:
    a, b = as_arrays(xp, a, b)
    return where(xp, (a == 0) & (b >= 0), 0.0, a**b * xp.log(a))


def pow_slope(xp: Any, a: Any, b: Any) -> Array:
    """d(a**b)/da = b * a**(b - 1), or a**b * (b / a) for the exponents b where b - 1 rounds."""
    plain = where(xp, b == 0, 0.0, b * a ** (b - 1.0))
    if type(b) is float and less_one_is_exact(b):
        return plain
    a, b = as_arrays(xp, a, b)
    # Beyond 2**53 subtracting 1 changes nothing or rounds. A power or ratio near the ends of the float range (1e-308,
    # 1e308) may have lost digits or overflowed; such entries take another order of the factors, or the plain formula.
    power, rounds = a**b, (b - 1.0 + 1.0 != b) | ((abs(b) > 2.0**53) & (abs(b) < math.inf))
    ratio = b / a
    slope = where(xp, (abs(ratio) > 1e-290) & (abs(ratio) < math.inf), power * ratio, power / a * b)
    return where(xp, rounds & (a != 0) & (abs(power) > 1e-290) & (abs(power) < 1e290), slope, plain)


def hypot_share(xp: Any, a: Any, b: Any) -> Array:
    a, b = as_arrays(xp, a, b)
    h = xp.hypot(a, b)
    share, sign = where(xp, h == 0, 0.0, a / h), cast_like(a > 0, a) - cast_like(a < 0, a)
    return where(xp, (abs(a) == math.inf) & (abs(b) < math.inf), sign, share)


def inverse_radius(xp: Any, a: Any, b: Any) -> Array:
    a, b = as_arrays(xp, a, b)
    h = xp.hypot(a, b)
    return where(xp, (h == 0) | ((h == math.inf) & (a == a) & (b == b)), 0.0, a / h / h)


def precedence(xp: Any, a: Any, b: Any) -> Array:
    share = cast_like(a > b, first_array(a, b)) + 0.5 * cast_like(a == b, first_array(a, b))
    return where(xp, (a != a) | (b != b), math.nan, share)


# --- rule name -> vectorised value, called with the array namespace, then the operands ----

VALUES: dict[str, Callable[..., Array]] = {
    "add": lambda xp, *xs: reduce(operator.add, xs),  # a left fold, as the rule has it
    "mul": lambda xp, *xs: reduce(operator.mul, xs),
    "sub": lambda xp, a, b: a - b,
    "div": lambda xp, a, b: a / b,
    "pow": lambda xp, a, b: a**b,
    "neg": lambda xp, a: -a,
    "reciprocal": lambda xp, a: 1.0 / a,
    "greater": lambda xp, a, b: cast_like(a > b, first_array(a, b)),
    "less": lambda xp, a, b: cast_like(a < b, first_array(a, b)),
    "greater_equal": lambda xp, a, b: cast_like(a >= b, first_array(a, b)),
    "less_equal": lambda xp, a, b: cast_like(a <= b, first_array(a, b)),
    "equal": lambda xp, a, b: cast_like(a == b, first_array(a, b)),
    "not_equal": lambda xp, a, b: cast_like(a != b, first_array(a, b)),
    "held": lambda xp, a: a,
    "sign": lambda xp, a: np.sign(a) if xp is np else xp.where(a != a, a, cast_like(a > 0, a) - cast_like(a < 0, a)),
    "softplus": lambda xp, a: where(xp, a <= 0, 0.0, a) + xp.log1p(xp.exp(-abs(a))),
    "nonnegative": lambda xp, a: where(xp, a >= 0, a + 0.0, math.nan),
    "sech_squared": lambda xp, a: 4.0 * sigmoid_slope(xp, 2.0 * a),
    "gaussian": lambda xp, a: xp.exp(-a * a),
    "atan_slope": lambda xp, a: where(xp, abs(a) < 1e150, 1.0 / (1.0 + a * a), 1.0 / a / a),  # 1e160**2 overflows
    "top": lambda xp, *xs: reduce(lambda a, b: VALUES["maximum"](xp, a, b), xs),
    "exp_below": exp_below,
}
_NAMED_AS_RULES = (
    where, relu, heaviside, erf, sigmoid, sigmoid_slope, logsumexp, softmax_share, pow_log, pow_slope, hypot_share,
    inverse_radius, precedence,
)  # fmt: skip
VALUES |= {function.__name__: function for function in _NAMED_AS_RULES}
# Rules that are the library's own function: rule name -> function name, the same in all four libraries.
for _name, _library_name in {
    "square": "square", "sqrt": "sqrt", "exp": "exp", "expm1": "expm1", "log": "log", "log1p": "log1p", "sin": "sin",
    "cos": "cos", "tan": "tan", "asin": "arcsin", "acos": "arccos", "atan": "arctan", "sinh": "sinh", "cosh": "cosh",
    "tanh": "tanh", "asinh": "arcsinh", "acosh": "arccosh", "atanh": "arctanh", "abs": "abs",
    "maximum": "maximum", "minimum": "minimum", "floor": "floor",
    "mod": "remainder", "atan2": "arctan2", "hypot": "hypot",
}.items():  # fmt: skip
    VALUES[_name] = lambda xp, *xs, name=_library_name: getattr(xp, name)(*as_arrays(xp, *xs))


# --- reductions along axes: the rules of tensor/reduction_node.py -------------------------

MAXIMUM_RULES = ("maximum", "first_maximum", "peak")  # their value is the largest entry; they differ in the derivative


def reduce_array(rule: str, x: Array, count: int) -> Array:
    """Reduce an array over its last `count` axes."""
    if not count:
        x, count = x[..., None], 1
    axes = tuple(range(x.ndim - count, x.ndim))
    if rule in MAXIMUM_RULES:
        return _largest(x, axes)
    if rule == "minimum":
        return getattr(x, "amin", x.min)(axes)
    if rule == "logsumexp":
        return _logsumexp(x, axes)
    flat = x.reshape((*x.shape[:-count], math.prod(x.shape[-count:])))
    return flat.prod(-1) if rule == "mul" else cast_like(flat.argmax(-1), x)


def _largest(x: Array, axes: tuple[int, ...]) -> Array:
    return getattr(x, "amax", x.max)(axes)


def _logsumexp(x: Array, axes: tuple[int, ...]) -> Array:
    xp, top = namespace(x), _largest(x, axes)
    finite = where(xp, abs(top) < math.inf, top, 0.0)
    total = xp.exp(x - finite[(..., *[None] * len(axes))]).sum(axes)
    return where(xp, abs(top) < math.inf, finite + xp.log(total), top)


def product_of_others(rows: Array, count: int) -> Array:
    """For each entry the product of all others along the last `count` axes, from prefix and suffix products."""
    xp, x = namespace(rows), rows.reshape((*rows.shape[: rows.ndim - count], -1))
    one = xp.full_like(x[..., :1], 1.0)
    prefix = xp.concatenate([one, x[..., :-1]], -1).cumprod(-1)
    suffix = xp.flip(xp.concatenate([one, xp.flip(x[..., 1:], (x.ndim - 1,))], -1).cumprod(-1), (x.ndim - 1,))
    return (prefix * suffix).reshape(rows.shape)
