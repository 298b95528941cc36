"""Numbers in single precision: floats that are rounded to float32 after every operator.

A rule computes in float64, and its result is rounded once. For + - * / and
square roots this gives what a float32 machine gives, because float64 has more
than twice the digits (Figueroa, SIGNUM Newsletter 30, 1995). For the rest it is
right to just over half a unit in the last place.
"""

from __future__ import annotations

from array import array
from functools import reduce
from typing import Any

from ..rules import Arithmetic, Rule


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
        return Single(rule.value(*numbers))

    __bool__ = float.__bool__
