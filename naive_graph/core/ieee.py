"""Arithmetic on floats that follows IEEE 754 and never raises.

Python's own functions raise on `1/0`, `log(0)` and `exp(710)`, and turn
`(-2) ** 0.5` into a complex number. Here the results are inf, -inf, inf and
NaN, as in C. The second half holds careful forms: functions whose
textbook formula loses digits that a derivative needs.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from math import copysign, inf, isinf, nan

# --- total functions ----------------------------------------------------------


def div(a: float, b: float) -> float:
    try:
        return a / b
    except ZeroDivisionError:
        return nan if a == 0 or a != a else copysign(inf, a) * copysign(1.0, b)


def pow(a: float, b: float) -> float:
    """a**b; NaN for a negative base with an exponent that is not whole."""
    try:
        return math.pow(a, b)
    except OverflowError:
        return -inf if a < 0 and _is_odd(b) else inf
    except ValueError:  # a pole (0 to a negative power), or no real answer
        if a != 0:
            return nan
        return copysign(inf, a) if _is_odd(b) else inf


def _is_odd(b: float) -> bool:
    return math.fmod(b, 2.0) in (1.0, -1.0)


def log(a: float) -> float:
    if a > 0:
        return math.log(a)
    return -inf if a == 0 else nan


def log1p(a: float) -> float:
    if a > -1:
        return math.log1p(a)
    return -inf if a == -1 else nan


def atanh(a: float) -> float:
    return copysign(inf, a) if abs(a) == 1 else _total(math.atanh, ValueError, nan)(a)


def sinh(a: float) -> float:
    try:
        return math.sinh(a)
    except OverflowError:
        return copysign(inf, a)


def _total(function: Callable[[float], float], error: type[Exception], result: float) -> Callable[[float], float]:
    """The function, with this result where it raises the error."""

    def total(a: float) -> float:
        try:
            return function(a)
        except error:
            return result

    return total


# NaN where there is no real answer, inf where it is too large for a float.
sqrt, sin, cos, tan = (_total(function, ValueError, nan) for function in (math.sqrt, math.sin, math.cos, math.tan))
asin, acos, acosh = (_total(function, ValueError, nan) for function in (math.asin, math.acos, math.acosh))
exp, expm1, cosh = (_total(function, OverflowError, inf) for function in (math.exp, math.expm1, math.cosh))


def sign(a: float) -> float:
    """-1, 0 or 1; NaN for NaN."""
    return a if a != a else float((a > 0) - (a < 0))


def floor(a: float) -> float:
    """The largest whole number that is not above a."""
    return a if a - a != 0.0 or a == 0.0 else math.floor(a) + 0.0


def mod(a: float, b: float) -> float:
    """a % b: what is left of a, with the sign of b; NaN for a division by 0 and for an infinite a."""
    rest = nan if a - a != 0.0 or b == 0.0 else math.fmod(a, b)
    return rest + b if (rest < 0.0 and b > 0.0) or (rest > 0.0 and b < 0.0) else rest


def heaviside(a: float) -> float:
    """1 if a > 0, else 0; NaN for NaN."""
    return a if a != a else float(a > 0)


def relu(a: float) -> float:
    return a if a > 0 or a != a else 0.0


def nonnegative(a: float) -> float:
    """a where it is 0 or more, else NaN: the domain of a logarithm."""
    return a + 0.0 if a >= 0 else nan


def maximum(a: float, b: float) -> float:
    """The larger of two; NaN if either is."""
    return a if a > b or a != a else b


def minimum(a: float, b: float) -> float:
    """The smaller of two; NaN if either is."""
    return a if a < b or a != a else b


def precedence(a: float, b: float) -> float:
    """1 if a is the larger, 1/2 at a tie, else 0; NaN if either is."""
    if a != a or b != b:
        return nan
    if a == b:
        return 0.5
    return 1.0 if a > b else 0.0


# --- careful forms ------------------------------------------------------------


def gaussian(a: float) -> float:
    """exp(-a*a). Rounding a*a alone would cost hundreds of units in the last place.

    s is a*a rounded, and s + e is a*a exactly. Source: Dekker, Numer. Math. 18 (1971).
    """
    if abs(a) > 28.0:
        return a if a != a else 0.0
    t = 134217729.0 * a  # 2**27 + 1 splits a double into halves whose products are exact
    high = t - (t - a)
    low = a - high
    s = a * a
    e = ((high * high - s) + 2.0 * high * low) + low * low
    return math.exp(-s) * (1.0 - e)


def sigmoid(a: float) -> float:
    """1 / (1 + exp(-a)), without overflow on either side."""
    e = math.exp(-abs(a))
    return 1.0 / (1.0 + e) if a >= 0 else e / (1.0 + e)


def sigmoid_slope(a: float) -> float:
    """s * (1 - s) for s = sigmoid(a); 1 - s has no digits left once s rounds to 1."""
    e = math.exp(-abs(a))
    return e / ((1.0 + e) * (1.0 + e))


def sech_squared(a: float) -> float:
    """1 - tanh(a)**2, which as written is exactly 0 from a = 19.1 on.

    Near 0 it is computed as written, since tanh(a)**2 is small there. Elsewhere (1 + e)**2
    is multiplied out: squared, the rounding of 1 + e would count twice.
    """
    t = math.tanh(a)
    if abs(t) < 0.5:
        return 1.0 - t * t
    x = 2.0 * abs(a)
    lift = exp_shift(x)
    e = math.exp(lift - x)
    return FOUR_OVER_EXP_4 * e if lift > 0.0 else 4.0 * e / (1.0 + e * (2.0 + e))


FOUR_OVER_EXP_4 = 0.07326255555493671


def exp_shift(x: float) -> float:
    """What to add to -x before exp: beyond 708, exp(-x) is subnormal and has lost digits that 4 exp(-x) has."""
    return 4.0 if x > 700.0 else 0.0


def softplus(a: float) -> float:
    """log(1 + exp(a)), without overflow."""
    return relu(a) + math.log1p(math.exp(-abs(a)))


def atan_slope(a: float) -> float:
    """1 / (1 + a*a), also where a*a would overflow."""
    return 1.0 / (1.0 + a * a) if abs(a) < 1e150 else 1.0 / a / a


def hypot_share(a: float, b: float) -> float:
    """a / hypot(a, b), and 0 at the origin: the slope of hypot along a."""
    if isinf(a) and not isinf(b):
        return copysign(1.0, a) if b == b else nan
    k = safe_scale(a, b)
    h = math.hypot(k * a, k * b)
    return div(k * a, h) if h != 0 else 0.0


def inverse_radius(a: float, b: float) -> float:
    """a / (a*a + b*b), and 0 at the origin: the slope of the angle atan2(b, a) along b."""
    k = safe_scale(a, b)
    h = math.hypot(k * a, k * b)
    if h == 0 or (isinf(h) and a == a and b == b):
        return 0.0
    share = div(k * a, h)
    if abs(share) < 1e-290:  # the share may be subnormal where the result is not: scale it up first
        return k * (div(div(LIFT * (k * a), h), h) / LIFT)
    return k * div(share, h)


LIFT = 2.0**600


def safe_scale(a: float, b: float) -> float:
    """A power of two by which hypot(a, b) neither overflows nor loses digits."""
    size = maximum(abs(a), abs(b))
    if size > 1e300:
        return 0.25
    return LIFT if size < 1e-150 else 1.0


def pow_slope(a: float, b: float) -> float:
    """b * a**(b - 1), the slope of a**b along a; 0 for b = 0.

    b - 1 is often not exact, and a large log(a) magnifies what it lost; then
    a**b * (b/a) keeps its digits.
    """
    if b == 0:
        return 0.0
    if a != 0 and not less_one_is_exact(b):
        y = pow(a, b)
        if 1e-290 < abs(y) < 1e290:
            return times_ratio(y, b, a)
        if 0 < a < inf:
            half = pow(a, 0.5 * b)
            return times_ratio(half, b, a) * half
    return scaled_pow(b, a, b - 1.0)


def less_one_is_exact(b: float) -> bool:
    """Whether b - 1 is exact; False for a finite b beyond 2**53."""
    return (b - 1.0) + 1.0 == b and not 2.0**53 < abs(b) < inf


def times_ratio(y: float, b: float, a: float) -> float:
    """y * (b/a), also where b/a alone leaves the range of normal floats."""
    ratio = div(b, a)
    return y * ratio if 1e-290 < abs(ratio) < inf else div(y, a) * b


def pow_log(a: float, b: float) -> float:
    """a**b * log(a), the slope of a**b along b; 0 for a = 0 and b >= 0."""
    if a == 0 and b >= 0:
        return 0.0
    return scaled_pow(log(a), a, b)


def scaled_pow(factor: float, a: float, b: float) -> float:
    """factor * a**b, in halves where a**b alone would leave the range of normal floats (for a >= 0)."""
    y = pow(a, b)
    if 1e-290 < abs(y) < inf or a < 0:
        return factor * y
    half = pow(a, 0.5 * b)
    return (factor * half) * half


def logsumexp(*xs: float) -> float:
    """log(exp(x1) + exp(x2) + ...), without overflow: the largest x, plus log1p of the other exp(x - largest)."""
    top = largest(xs)
    if top - top != 0.0:
        return top
    rest = 0.0
    parts = 0.0
    for x in xs:
        e = exp_below(x, top)
        part = below_one(e)
        rest += e * part
        parts += part
    return top + math.log1p(rest + ((len(xs) - 1.0) - parts))


def below_one(a: float) -> float:
    """1 if a < 1, else 0: in logsumexp, whether the operand is smaller than the largest."""
    return 1.0 if a < 1.0 else 0.0


def softmax_shares(xs: tuple[float, ...], shares: list[float]) -> None:
    """Write each operand's `softmax_share` into `shares`; exponentials and their sum are computed once."""
    top, total = largest(xs), 0.0
    for k in range(len(xs)):
        shares[k] = exp_below(xs[k], top)
        total += shares[k]
    for k in range(len(xs)):
        shares[k] = div(shares[k], total)


def softmax_share(a: float, *xs: float) -> float:
    """exp(a) / (exp(x1) + exp(x2) + ...): the slope of logsumexp along an operand a.

    The rounding of each difference is carried along: at 600 it alone would cost
    hundreds of units in the last place. An infinite operand takes it all.
    """
    top = maximum(a, largest(xs))
    if top != top:
        return nan
    total = 0.0
    for x in xs:
        total += exp_below(x, top)
    return div(exp_below(a, top), total)


def exp_below(a: float, b: float) -> float:
    """exp(a - b), for a <= b, with the rounding of the difference carried along; 1 where both are the same infinity.

    d is a - b rounded, and d + e is a - b exactly. Source: Knuth, TAOCP 4.2.2.
    """
    if isinf(b):
        return float(a == b)
    d = a - b
    t = d - a
    e = (a - (d - t)) - (b + t)
    return exp(d) * (1.0 + e) if d != -inf else 0.0


def largest(xs: tuple[float, ...]) -> float:
    top = -inf
    for x in xs:
        top = maximum(top, x)
    return top
