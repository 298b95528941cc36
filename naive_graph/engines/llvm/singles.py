"""The functions of networks for sixteen float32 at once.

By way of float64 they would cost as much as there. Here they are computed in
float32, without a branch; what the larger roundings lost is carried along, so
each result is within 1.5 units in the last place of the true value. Reductions
and coefficients: Cephes (Moshier) for tanh, FDLIBM (Sun Microsystems, 1993) for
log, Taylor's series for the others.

The functions take and give registers, as those of `mathematics` do.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from .emit import Emitted
from .mathematics import LARGEST_ANGLE, Layout, Logarithm, bits, fma, logarithm, polynomial, select, whole

NARROW = Layout(32, 23)
LAST_EXP = 88.72283172607422  # beyond, exp is infinite
LN2_HIGH, LN2_LOW = 6.9313812256e-01, 9.0580006145e-06  # the first has few digits, so that multiples are exact
HALF_PI = (1.5707963705062866, -4.371138828673793e-08, -1.7151245100059148e-15)
EXP = tuple(1 / math.factorial(k) for k in range(2, 8))
SIN = (-1 / 6, 1 / 120, -1 / 5040, 1 / 362880)
COS = (1 / 24, -1 / 720, 1 / 40320, -1 / 3628800)
LOG = Logarithm(NARROW, 0x3F3504F3, (LN2_HIGH, LN2_LOW), (0.66666662693, 0.40000972152, 0.28498786688, 0.24279078841))
TANH = (-3.33332819422e-1, 1.33314422036e-1, -5.37397155531e-2, 2.06390887954e-2, -5.70498872745e-3)


def exp(x: Emitted, factor: float = 1.0, more: Any = None) -> Any:
    """2**n * exp(r) with x = n log 2 + r and abs(r) <= log(2) / 2.

    factor: a power of two that the result is multiplied by. more: what x was too short for.
    """
    inside = select(x > LAST_EXP, LAST_EXP, select(x < -108.0, -108.0, x))
    shifted = fma(inside, 1 / math.log(2), NARROW.round)
    n, power = shifted - NARROW.round, whole(bits(shifted), "sub", NARROW.round_bits)
    r = fma(n, -LN2_HIGH, inside)
    s = fma(n, -LN2_LOW, r)
    lost = fma(n, -LN2_LOW, r - s)
    near_one = (s + fma(s * s, polynomial(s, EXP), lost)) + 1.0
    near_one = near_one if more is None else fma(near_one, more, near_one)
    first = whole(power, "ashr", 1)  # 2**n in two steps: one alone would overflow, or lose a subnormal
    second = x.writer.line(f"sub {x.writer.module.whole} {power.name}, {first.name}")
    result = factor * near_one * NARROW.power_of_two(first) * NARROW.power_of_two(second)
    return select(x != x, x, select(x > LAST_EXP, math.inf, result))


def exp_below(x: Emitted, top: Emitted) -> Any:
    """exp(x - top) for x <= top, with the rounding of the difference carried along; 1 for two that are infinite."""
    d = x - top
    back = d - x
    more = (x - (d - back)) - (top + back)
    value = select(d > -150.0, exp(d, more=select(d > -150.0, more, 0.0)), 0.0)
    either = select(x == top, 1.0, value)
    return select(x != x, x, select(top != top, top, either))


def log(x: Emitted) -> Any:
    return logarithm(x, LOG)


def sin(x: Emitted) -> Any:
    return select(x == 0.0, x, _wave(x, 0))  # -0.0 stays -0.0


def cos(x: Emitted) -> Any:
    return _wave(x, 1)


def tanh(x: Emitted) -> Any:
    """x times a polynomial near 0, else 1 - 2 / (exp(2 x) + 1)."""
    size, square = abs(x), x * x
    near = fma(size * square, polynomial(square, TANH), size)
    bounded = select(size > 10.0, 10.0, size)
    e = exp(bounded + bounded)
    d = e + 1.0
    share = _quotient(2.0, d, 1.0 - (d - e))
    signed = x.writer.outside("llvm.copysign.f64", [select(size < 0.625, near, 1.0 - share), x])  # -0.0 stays -0.0
    return select(x != x, x, signed)


def sech_squared(x: Emitted) -> Any:
    """4 e / (1 + e)**2 for e = exp(-2 abs(x)): the slope of tanh."""
    size = abs(x)
    return _bell(exp(-(size + size), 4.0), exp(-(size + size)))


def sigmoid(x: Emitted) -> Any:
    """1 / (1 + exp(-x)), without overflow on either side."""
    e = exp(-abs(x))
    d = 1.0 + e
    return _quotient(select(x >= 0.0, 1.0, e), d, e - (d - 1.0))


def sigmoid_slope(x: Emitted) -> Any:
    """e / (1 + e)**2 for e = exp(-abs(x))."""
    e = exp(-abs(x))
    return _bell(e, e)


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "exp": exp, "log": log, "sin": sin, "cos": cos, "tanh": tanh, "sech_squared": sech_squared, "sigmoid": sigmoid,
    "sigmoid_slope": sigmoid_slope, "exp_below": exp_below,
}  # fmt: skip
LIMITS = {"sin": LARGEST_ANGLE, "cos": LARGEST_ANGLE}  # beyond, float64 is asked


def _quotient(a: Any, d: Any, lost: Any) -> Any:
    """a / (d + lost), for a `lost` that d was too short for."""
    inverse = 1.0 / d
    y = a * inverse
    return fma(fma(-y, lost, fma(-y, d, a)), inverse, y)


def _bell(a: Any, e: Any) -> Any:
    """a / (1 + e)**2 for e up to 1."""
    d = 1.0 + e
    square = d * d
    lost = fma(d + d, e - (d - 1.0), fma(d, d, -square))
    return _quotient(a, square, lost)


def _wave(x: Emitted, quarter: int) -> Any:
    """The sine, `quarter` turns further on, from sine and cosine of x - n pi/2, which is r + lost."""
    shifted = fma(x, 2 / math.pi, NARROW.round)
    n, last = shifted - NARROW.round, bits(shifted)
    rough = fma(n, -HALF_PI[0], x)  # exact
    step = n * HALF_PI[1]
    r = rough - step
    back = r - rough
    lost = (rough - (r - back)) - (step + back) - fma(n, HALF_PI[1], -step)
    lost = fma(n, -HALF_PI[2], lost)
    z = r * r
    sine = r + fma(z * r, polynomial(z, SIN), lost)
    cosine = fma(z, -0.5, fma(z * z, polynomial(z, COS), -(r * lost))) + 1.0
    return NARROW.turned(sine, cosine, last, quarter)
