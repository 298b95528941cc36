"""Vectorised exp, log, log1p, sin, cos and tanh: branch-free code for eight numbers at once.

The C library computes one number at a time. Here each function reduces its argument
to a small interval, and evaluates a polynomial (for tanh, a quotient of two) there,
without a branch: 1 to 2 ns a number, and within 2 units in the last place of the true
value. Coefficients and reductions: FDLIBM (Sun Microsystems, 1993) for log, sin and
cos, Cephes (Moshier) for tanh, Taylor's series for exp. Beyond LARGEST_ANGLE, sin and
cos call the C library.

The functions take and return registers (`emit.Emitted`); `x.writer` emits the instructions.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from ...core import ieee
from .emit import Emitted, traceable

PLACES, BIAS = 52, 1023  # of a float64: fraction bits, and exponent bias
ROUND = 1.5 * 2.0**PLACES  # adding it leaves the nearest integer in the last bits
ROUND_BITS = ((BIAS + PLACES) << PLACES) + (1 << (PLACES - 1))  # the bits of ROUND
LARGEST_ANGLE = 1e5  # up to here a reduction with three parts of pi/2 (Cody and Waite) is accurate
SIN = (-1.66666666666666324348e-01, 8.33333333332248946124e-03, -1.98412698298579493134e-04,
       2.75573137070700676789e-06, -2.50507602534068634195e-08, 1.58969099521155010221e-10)  # fmt: skip
COS = (4.16666666666666019037e-02, -1.38888888888741095749e-03, 2.48015872894767294178e-05,
       -2.75573143513906633035e-07, 2.08757232129817482790e-09, -1.13596475577881948265e-11)  # fmt: skip
TANH_OVER = (-1.61468768441708447952e3, -9.92877231001918586564e1, -9.64399179425052238628e-1)
TANH_UNDER = (4.84406305325125486048e3, 2.23548839060100448583e3, 1.12811678491632931402e2, 1.0)
EXP = tuple(1 / math.factorial(k) for k in range(2, 14))
LN2_HIGH, LN2_LOW = 6.93147180369123816490e-01, 1.90821492927058770002e-10
ROOT = 0x3FE6A09E667F3BCD  # the bits of sqrt(1/2)
LOG = (6.666666666666735130e-01, 3.999999999940941908e-01, 2.857142874366239149e-01, 2.222219843214978396e-01,
       1.818357216161805012e-01, 1.531383769920937332e-01, 1.479819860511658591e-01)  # fmt: skip
HALF_PI = (-1.5707963267948966, -6.123233995736766e-17, 1.4973849048591833e-33)  # their sum is -pi/2


def exp(x: Emitted) -> Any:
    """2**n * exp(r) with x = n log 2 + r and abs(r) <= log(2) / 2."""
    high, low = 710.0, -745.2  # clamp: here and beyond, exp overflows to infinity or underflows to 0
    inside = select(x > high, high, select(x < low, low, x))
    n, last = _nearest(inside, 1 / math.log(2))
    r = fma(n, -LN2_LOW, fma(n, -LN2_HIGH, inside))
    near_one = fma(r * r, polynomial(r, EXP), r) + 1.0
    halves = whole(last, "sub", ROUND_BITS)
    first = whole(halves, "ashr", 1)  # 2**n in two steps: one alone would overflow, or lose a subnormal
    second = x.writer.line(f"sub {x.writer.module.int_type} {halves.name}, {first.name}")
    return near_one * _power_of_two(first) * _power_of_two(second)


def log(x: Emitted) -> Any:
    """k log 2 + log(m) with x = 2**k m and m near 1; log m by a polynomial for log((1 + s) / (1 - s))."""
    tiny, up = x < 2.0 ** (1 - BIAS), PLACES + 2  # a subnormal is scaled up to a normal number
    shifted = whole(bits(select(tiny, x * 2.0**up, x)), "add", (BIAS << PLACES) - ROOT)
    exponent = whole(whole(shifted, "ashr", PLACES), "sub", BIAS)
    m = number(whole(whole(shifted, "and", (1 << PLACES) - 1), "add", ROOT))
    k = number(whole(exponent, "add", ROUND_BITS)) - ROUND - select(tiny, float(up), 0.0)
    f = m - 1.0
    s = f / (f + 2.0)
    z = s * s
    half = f * f * 0.5
    correction = fma(s, half + z * polynomial(z, LOG), k * LN2_LOW)
    y = fma(k, LN2_HIGH, f - (half - correction))
    y = select(x > 0.0, y, select(x == 0.0, -math.inf, math.nan))
    return select(x == math.inf, x, y)


def log1p(x: Emitted) -> Any:
    """log(u) + lost / u, where u = 1 + x is rounded, and lost is its rounding error."""
    u = x + 1.0
    back = u - x
    lost = (x - (u - back)) + (1.0 - back)
    near = log(u) + select(u > 0.0, select(u < math.inf, lost / u, 0.0), 0.0)
    return select(x == 0.0, x, near)  # -0.0 stays -0.0


def sin(x: Emitted) -> Any:
    return select(x == 0.0, x, _sine_from_quarter(x, 0))  # -0.0 stays -0.0


def cos(x: Emitted) -> Any:
    return _sine_from_quarter(x, 1)


def tanh(x: Emitted) -> Any:
    """x + x**3 times a rational function near 0, else 1 - 2 e / (1 + e) for e = exp(-2 x): one division for both."""
    size, square = abs(x), x * x
    twice = 2.0 * size
    lift = x.writer.call("ieee.exp_shift", traceable(ieee.exp_shift), [twice])
    near, e = size < 0.625, exp(lift - twice)
    over = select(near, polynomial(square, TANH_OVER), 2.0 * e)
    share = over / select(near, polynomial(square, TANH_UNDER), 1.0 + e)
    value = select(near, fma(size * square, share, size), 1.0 - share)
    return x.writer.outside("llvm.copysign.f64", [value, x])  # -0.0 stays -0.0


FUNCTIONS = {"exp": exp, "log": log, "log1p": log1p, "sin": sin, "cos": cos, "tanh": tanh}
LIMITS = {"sin": LARGEST_ANGLE, "cos": LARGEST_ANGLE}  # for larger arguments the C library is called


def _sine_from_quarter(x: Emitted, quarter: int) -> Any:
    """sin(x + quarter * pi/2), from the sine and cosine of the reduced argument x - n pi/2."""
    n, last = _nearest(x, 2 / math.pi)
    r = x
    for piece in HALF_PI:
        r = fma(n, piece, r)
    z = r * r
    sine = fma(z * r, polynomial(z, SIN), r)
    cosine = fma(z * z, polynomial(z, COS), fma(z, -0.5, 1.0))
    writer, turns = x.writer, whole(last, "add", quarter)
    odd = writer.line(f"trunc {writer.module.int_type} {turns.name} to {writer.module.bool_type}")
    sign = whole(whole(turns, "and", 2), "shl", 62)
    value = bits(select(odd, cosine, sine))
    return number(writer.line(f"xor {writer.module.int_type} {value.name}, {sign.name}"))


def _power_of_two(n: Emitted) -> Any:
    return number(whole(whole(n, "add", BIAS), "shl", PLACES))


def _nearest(x: Emitted, factor: float) -> tuple[Any, Emitted]:
    """The integer nearest to factor * x, as a float; and a bit pattern whose last bits are that integer."""
    shifted = fma(x, factor, ROUND)
    return shifted - ROUND, bits(shifted)


def polynomial(x: Any, coefficients: Sequence[float]) -> Any:
    """c0 + c1 x + c2 x**2 + ... by Estrin's scheme (1960): fewer dependent steps than Horner's rule."""
    terms: list[Any] = list(coefficients)
    while len(terms) > 1:
        pairs = [fma(terms[k + 1], x, terms[k]) for k in range(0, len(terms) - 1, 2)]
        terms = pairs + terms[2 * len(pairs) :]
        if len(terms) > 1:
            x = x * x
    return terms[0]


def fma(a: Any, b: Any, c: Any) -> Any:
    """a * b + c, rounded once."""
    writer = next(operand.writer for operand in (a, b, c) if isinstance(operand, Emitted))
    return writer.outside("llvm.fma.f64", [a, b, c])


def select(condition: Any, a: Any, b: Any) -> Any:
    return condition.writer.select(condition.name, a, b)


def bits(x: Emitted) -> Emitted:
    return x.writer.line(f"bitcast {x.writer.module.float_type} {x.name} to {x.writer.module.int_type}")


def number(whole: Emitted) -> Any:
    return whole.writer.line(f"bitcast {whole.writer.module.int_type} {whole.name} to {whole.writer.module.float_type}")


def whole(x: Emitted, operation: str, value: int) -> Emitted:
    """Emit an integer operation on the bits of x with a constant."""
    module = x.writer.module
    return x.writer.line(f"{operation} {module.int_type} {x.name}, {module.integer(value)}")
