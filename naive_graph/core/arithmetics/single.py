"""Numbers in single precision: floats that are rounded to float32 after every operator.

A rule computes in float64, and its result is rounded once. For + - * / and
square roots this gives what a float32 machine gives, because float64 has more
than twice the digits (Figueroa, SIGNUM Newsletter 30, 1995). For the rest it is
right to just over half a unit in the last place. Only logsumexp and the shares
of a softmax are put together from pieces that are rounded, so that their sum
can be computed once for all of them.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable
from functools import reduce
from operator import add, mul
from typing import Any

from .. import ieee
from ..rules import RULES, Arithmetic, Rule


def rounded(value: float) -> float:
    """The nearest float32; infinite beyond about 3.4e38.

    >>> rounded(0.1), rounded(1e39)
    (0.10000000149011612, inf)
    """
    return array("f", [value])[0]


class Single(Arithmetic, float):  # type: ignore[misc] # two ways to write powers, of which Arithmetic's holds
    """A float that float32 can hold; so is all that rules make of it.

    >>> Single(0.1) * Single(0.1)
    0.010000000707805157
    """

    __slots__ = ()

    def __new__(cls, value: float) -> Single:
        return super().__new__(cls, rounded(value))

    def apply(self, rule: Rule, *operands: Any) -> Single:
        rule.check_arity(len(operands))
        numbers = [rounded(operand) for operand in operands]
        if rule.associative:  # a sum of many is rounded after each addition
            return Single(reduce(lambda a, b: rounded(rule.value(a, b)), numbers))
        if rule.name in PIECES:
            return Single(PIECES[rule.name](*map(Single, numbers)))
        return Single(rule.value(*numbers))

    __bool__ = float.__bool__

    def __floordiv__(self, other: float) -> Any:
        return Single(float(self) // other)

    def __mod__(self, other: float) -> Any:
        return Single(float(self) % other)


def in_pieces(largest: Any) -> dict[str, Callable[..., Any]]:
    """The rules that consist of rounded pieces, written with other rules and this largest of operands."""
    exp_below, less, log1p = (RULES[name] for name in ("exp_below", "less", "log1p"))

    def logsumexp(*xs: Any) -> Any:
        top = largest(*xs)
        exponentials = [exp_below(x, top) for x in xs]
        parts = [less(e, 1.0) for e in exponentials]
        rest = reduce(add, map(mul, exponentials, parts), 0.0)
        return top + log1p(rest + ((len(xs) - 1.0) - reduce(add, parts)))

    def softmax_share(x: Any, *xs: Any) -> Any:
        top = largest(x, *xs)
        return exp_below(x, top) / reduce(lambda total, x: total + exp_below(x, top), xs, 0.0)

    return {"logsumexp": logsumexp, "softmax_share": softmax_share}


PIECES = in_pieces(lambda *xs: Single(ieee.largest(xs)))
