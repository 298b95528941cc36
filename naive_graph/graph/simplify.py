"""Algebraic simplification of derivatives: one rewrite function per operator.

Each takes the operands that a rule is about to be applied to. It returns an expression
to use instead, or None. That is simpler, or a product with its factors in the usual order.

A float among the operands comes from a derivative formula; an expression that has a number
may be the learner's own Constant. A learner's `0 * x` stays: only zeros from the formulas
are simplified away, and then 0 * x is 0 even where x may be infinite.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..core import catalogue as c
from ..core import ieee
from ..core.rules import Rule

COMPUTED = {c.add, c.sub, c.neg, c.mul, c.div, c.pow}  # of numbers alone, and of no learner's 0, these give a number


def simplify(rule: Rule, operands: tuple[Any, ...]) -> Any:
    """A number, or a simpler expression, for the rule applied to these operands; None if there is none."""
    if rule in COMPUTED and len(operands) <= 2 and are_numbers(*operands):
        return rule(*[number_of(x) for x in operands])
    rewrite = REWRITES.get(rule)
    return None if rewrite is None else rewrite(*operands)


def number_of(x: Any) -> float | None:
    """The value of an operand that is a float or a Constant; None for others."""
    return x if isinstance(x, float) else x.number


def are_numbers(*xs: Any) -> bool:
    """Whether all operands are numbers, and none is a learner's own 0."""
    for x in xs:  # noqa: SIM110 - faster than all(), and called very often
        if type(x) is not float and (x.number is None or x.number == 0.0):
            return False
    return True


def is_rule(x: Any, rule: Any) -> bool:
    return type(x) is not float and x.rule is rule


def coefficient(x: Any) -> tuple[float, Any]:
    """Split x into a number times the rest: 3 * y is (3, y), and y is (1, y)."""
    if type(x) is not float and x.rule is c.mul and len(x.operands) == 2:
        for one, other in (x.operands, x.operands[::-1]):
            if are_numbers(one):
                return number_of(one), other  # type: ignore[return-value]
    return 1.0, x


def sort_key(x: Any) -> int:
    """Sort key of a factor in a product: numbers first, then nodes by row, then expressions by age."""
    return -1 if isinstance(x, float) else x.serial


def add(*xs: Any) -> Any:
    if len(xs) != 2:
        return None
    a, b = xs
    if a == 0.0 or b == 0.0:  # an expression equals only itself, so these are floats
        return b if a == 0.0 else a
    if is_rule(b, c.neg):
        return c.sub(a, b.operands[0])
    if is_rule(a, c.neg):
        return c.sub(b, a.operands[0])
    (m, p), (n, q) = coefficient(a), coefficient(b)
    if p is q:
        return c.mul(m + n, p)
    if n < 0.0:
        return c.sub(a, c.mul(-n, q))
    return _merge_complementary_selects(a, b)


def _merge_complementary_selects(a: Any, b: Any) -> Any:
    """where(c, p, 0) + where(c, 0, q) = where(c, p, q)."""
    for one, other in ((a, b), (b, a)):
        if is_rule(one, c.where) and is_rule(other, c.where):
            (c1, p, nothing), (c2, zero, q) = one.operands, other.operands
            if c1 is c2 and nothing == 0.0 and zero == 0.0:
                return c.where(c1, p, q)
    return None


def sub(a: Any, b: Any) -> Any:
    if b == 0.0:
        return a
    if a == 0.0:
        return c.neg(b)
    if is_rule(b, c.neg):
        return c.add(a, b.operands[0])
    if is_rule(a, c.neg):
        return c.neg(c.add(a.operands[0], b))
    return None


def neg(a: Any) -> Any:
    if is_rule(a, c.neg):
        return a.operands[0]
    number, rest = coefficient(a)
    return None if rest is a else c.mul(-number, rest)


def mul(*xs: Any) -> Any:
    if len(xs) != 2:
        return None
    a, b = xs
    m, n = number_of(a), number_of(b)
    out_of_order = m is None and (n is not None or sort_key(a) > sort_key(b))
    is_learners_zero_first = m == 0.0 and are_numbers(b)  # a is a Constant, or both would be numbers
    if out_of_order or is_learners_zero_first:
        return c.mul(b, a)
    if a == 0.0 or m == 1.0:
        return 0.0 if a == 0.0 else b
    if m == -1.0:
        return c.neg(b)
    rules = {x.rule for x in xs if type(x) is not float}
    if c.neg in rules and (simpler := _pull_sign_out(a, b)) is not None:
        return simpler
    if c.mul in rules and (simpler := _multiply_coefficients(a, b)) is not None:
        return simpler
    return _merge_fractions(a, b) if c.div in rules else None


def _pull_sign_out(a: Any, b: Any) -> Any:
    """(-p) * b = -(p * b)."""
    if is_rule(a, c.neg):
        return c.neg(c.mul(a.operands[0], b))
    if is_rule(b, c.neg):
        return c.neg(c.mul(a, b.operands[0]))
    return None


def _multiply_coefficients(a: Any, b: Any) -> Any:
    """3 * (2 * x) = 6 * x, and x * (2 * y) = 2 * (x * y)."""
    (m, p), (n, q) = coefficient(a), coefficient(b)
    if are_numbers(a):
        return None if q is b else c.mul(number_of(a) * n, q)  # type: ignore[operator]
    return None if p is a and q is b else c.mul(m * n, c.mul(p, q))


def _merge_fractions(a: Any, b: Any) -> Any:
    """a * (1 / u) = a / u, and 3 * (p / u) = 3 * p / u."""
    for one, other in ((a, b), (b, a)):
        if is_rule(other, c.div):
            numerator, denominator = other.operands
            if number_of(numerator) == 1.0 or are_numbers(one):
                return c.div(c.mul(one, numerator), denominator)
    return None


def div(a: Any, b: Any) -> Any:
    if number_of(b) == 1.0:
        return a
    if is_rule(a, c.neg):
        return c.neg(c.div(a.operands[0], b))
    number, rest = coefficient(a)
    if number < 0.0:
        return c.neg(c.div(c.mul(-number, rest), b))
    return None


def pow_(a: Any, b: Any) -> Any:
    if number_of(b) == 1.0:
        return a
    return 1.0 if b == 0.0 else None


def pow_slope(a: Any, b: Any) -> Any:
    """b * a**(b - 1), if b is a number and b - 1 is exact: then the result has the same bits as the rule's own."""
    number = number_of(b)
    if number is None or not ieee.less_one_is_exact(number):
        return None
    return 0.0 if number == 0.0 else c.mul(number, c.pow(a, number - 1.0))


def nonnegative(a: Any) -> Any:
    number = number_of(a)
    return a if number is not None and number >= 0.0 else None


def where(condition: Any, a: Any, b: Any) -> Any:
    number = number_of(condition)
    if number is not None:
        return a if number != 0.0 else b
    if a is b or (isinstance(a, float) and a == b):
        return a
    if is_rule(condition, c.where):  # where(where(c, 1, 0), a, b)
        inner, *branches = condition.operands
        if branches == [1.0, 0.0]:
            return c.where(inner, a, b)
        if branches == [0.0, 1.0]:
            return c.where(inner, b, a)
    if is_rule(a, c.where) and a.operands[0] is condition:
        return c.where(condition, a.operands[1], b)
    if is_rule(b, c.where) and b.operands[0] is condition:
        return c.where(condition, a, b.operands[2])
    return None


REWRITES: dict[Rule, Callable[..., Any]] = {
    c.add: add, c.sub: sub, c.neg: neg, c.mul: mul, c.div: div, c.pow: pow_,
    c.pow_slope: pow_slope, c.nonnegative: nonnegative, c.where: where,
}  # fmt: skip
