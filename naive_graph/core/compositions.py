"""Functions composed of the catalogue's operators, such as gelu, clip and round: no derivative is written for them.

Of scalar nodes they build several nodes, of a tensor one. Each is a method of nodes and tensors too: `x.gelu()`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from functools import partial, wraps
from itertools import chain, repeat
from typing import Any, Literal

from ..errors import PropertyError
from .catalogue import (
    equal,
    erf,
    expm1,
    floor,
    greater,
    less,
    less_equal,
    maximum,
    minimum,
    mod,
    reciprocal,
    relu,
    sigmoid,
    softplus,
    sqrt,
    square,
    tanh,
    where,
)  # fmt: skip
from .did_you_mean import explains
from .number import number, shortened
from .rules import Arithmetic, call_and_name

Value = Any

HALF_ROOT = math.sqrt(2.0 / math.pi)
COMPOSITIONS: dict[str, Callable[..., Value]] = {}


def define_composition(function: Callable[..., Value]) -> Callable[..., Value]:
    """Decorator: check the arguments, let tensors compose it as one node, and register it as a method of nodes."""
    # Types that an argument may have besides a number, by its default: None, or a string.
    kinds = [[] if isinstance(default, float) else [type(default)] for default in function.__defaults__ or ()]
    names = function.__code__.co_varnames[: function.__code__.co_argcount]
    other_kinds = dict(zip(reversed(names), reversed(kinds)))

    function = explains(function)

    @wraps(function)
    def checked(*operands: Any, name: str | None = None, **named: Any) -> Value:
        for operand in operands:
            if isinstance(operand, Arithmetic) and hasattr(operand, "compose"):  # a tensor makes one node of it
                return operand.compose(function.__name__, *operands, name=name, **named)
        who, keys = f"'{function.__name__}'", chain(names, repeat(""))
        checked_operands = [_checked(x, other_kinds.get(key, ()), who) for key, x in zip(keys, operands)]
        properties = {key: _checked(x, other_kinds.get(key, ()), f"{who}, {key}") for key, x in named.items()}
        if name is not None:
            return call_and_name(partial(function, **properties), checked_operands, name, function.__name__)
        return function(*checked_operands, **properties)

    COMPOSITIONS[function.__name__] = checked
    setattr(Arithmetic, function.__name__, checked)
    return checked


def _checked(x: Any, others: Iterable[type], who: str) -> Any:
    return x if isinstance(x, (Arithmetic, *others)) else number(x, who)


@define_composition
def gelu(x: Value, approximate: Literal["none", "tanh"] = "none") -> Value:
    """x * (1 + erf(x / sqrt(2))) / 2; approximately with tanh. Source: Hendrycks & Gimpel, 2016."""
    if approximate == "none":
        return 0.5 * x * (1.0 + erf(math.sqrt(0.5) * x))
    if approximate != "tanh":
        raise PropertyError(f"gelu: approximate is 'none' or 'tanh', not {shortened(approximate)}.")
    return 0.5 * x * (1.0 + tanh(HALF_ROOT * (x + 0.044715 * x * x * x)))


@define_composition
def silu(x: Value, alpha: float = 1.0) -> Value:
    """x * sigmoid(alpha * x), also called swish."""
    return x * sigmoid(x if alpha == 1.0 else alpha * x)


@define_composition
def leaky_relu(x: Value, alpha: float = 0.01) -> Value:
    """x where x > 0, else alpha * x."""
    return where(greater(x, 0.0), x, alpha * x)


@define_composition
def elu(x: Value, alpha: float = 1.0) -> Value:
    """x where x > 0, else alpha * (exp(x) - 1)."""
    below = expm1(x) if alpha == 1.0 else alpha * expm1(x)
    return where(greater(x, 0.0), x, below)


@define_composition
def selu(x: Value, alpha: float = 1.6732632423543772, gamma: float = 1.0507009873554805) -> Value:
    """gamma * elu(x, alpha), which keeps a layer's mean 0 and variance 1. Source: Klambauer et al., 2017."""
    return gamma * elu(x, alpha)


@define_composition
def mish(x: Value) -> Value:
    """x * tanh(log(1 + exp(x))). Source: Misra, 2019."""
    return x * tanh(softplus(x))


@define_composition
def celu(x: Value, alpha: float = 1.0) -> Value:
    """x where x > 0, else alpha * (exp(x / alpha) - 1): its slope does not jump at 0. Source: Barron, 2017."""
    return where(greater(x, 0.0), x, alpha * expm1(x / alpha))


@define_composition
def hard_swish(x: Value) -> Value:
    """x * max(0, min(1, x / 6 + 1 / 2))."""
    return where(less(x, 3.0), where(greater(x, -3.0), x * (x / 6.0 + 0.5), 0.0), x)  # no 0 * inf far out


@define_composition
def hard_sigmoid(x: Value, alpha: float = 0.2, beta: float = 0.5) -> Value:
    """max(0, min(1, alpha * x + beta))."""
    return maximum(0.0, minimum(1.0, alpha * x + beta))


@define_composition
def thresholded_relu(x: Value, alpha: float = 1.0) -> Value:
    """x where x > alpha, else 0."""
    return where(less_equal(x, alpha), 0.0, x)


@define_composition
def shrink(x: Value, lambd: float = 0.5, bias: float = 0.0) -> Value:
    """x + bias where x < -lambd, x - bias where x > lambd, else 0."""
    return where(less(x, -lambd), x + bias, where(less_equal(x, lambd), 0.0, x - bias))


@define_composition
def prelu(x: Value, slope: Value) -> Value:
    """x where x > 0, else slope * x; the slope is learned. Source: He et al., 2015."""
    return where(greater(x, 0.0), x, slope * x)


@define_composition
def relu6(x: Value) -> Value:
    """min(max(x, 0), 6)."""
    return minimum(relu(x), 6.0)


@define_composition
def softsign(x: Value) -> Value:
    """x / (1 + |x|)."""
    return x / (1.0 + abs(x))


@define_composition
def identity(x: Value) -> Value:
    """x."""
    return x


@define_composition
def cube(x: Value) -> Value:
    """x * x * x."""
    return x * x * x


@define_composition
def rsqrt(x: Value) -> Value:
    """1 / sqrt(x)."""
    return reciprocal(sqrt(x))


@define_composition
def squared_difference(a: Value, b: Value) -> Value:
    """(a - b)**2."""
    return square(a - b)


@define_composition
def clip(x: Value, min: float | None = None, max: float | None = None) -> Value:
    """min(max(x, low), high), where low and high are the arguments `min` and `max`; None is no bound."""
    if min is None and max is None:
        return x + 0.0
    bounded = x if min is None else maximum(x, min)
    return bounded if max is None else minimum(bounded, max)


# --- steps: no gradient -------------------------------------------------------


@define_composition
def ceil(x: Value) -> Value:
    """The smallest whole number that is not below x."""
    return -floor(-x)


@define_composition
def round(x: Value) -> Value:
    """The nearest whole number; the even one of two that are equally near."""
    low = floor(x)
    above, odd = x - low, low - 2.0 * floor(0.5 * low)
    return low + where(greater(above, 0.5), 1.0, where(equal(above, 0.5), odd, 0.0))


@define_composition
def fmod(a: Value, b: Value) -> Value:
    """What is left of a divided by b, with the sign of a, as in C; mod has that of b."""
    return where(less(a, 0.0), -mod(-a, abs(b)), mod(a, abs(b)))


# --- logic: 0 is false, all else is true; the result is 1 or 0; no gradient -----------------------


@define_composition
def logical_and(a: Value, b: Value) -> Value:
    """1 where neither is 0, else 0."""
    return where(a, where(b, 1.0, 0.0), 0.0)


@define_composition
def logical_or(a: Value, b: Value) -> Value:
    """1 where one of them is not 0, else 0."""
    return where(a, 1.0, where(b, 1.0, 0.0))


@define_composition
def logical_not(x: Value) -> Value:
    """1 where x is 0, else 0."""
    return where(x, 0.0, 1.0)


@define_composition
def logical_xor(a: Value, b: Value) -> Value:
    """1 where exactly one of them is not 0, else 0."""
    return where(a, where(b, 0.0, 1.0), where(b, 1.0, 0.0))


COMPOSITIONS["swish"] = Arithmetic.swish = silu  # type: ignore[attr-defined]
