"""Dual numbers (forward mode): a value and its slope.

Applying a rule to dual numbers applies it to the values; the slope is the sum over the
operands of partial times slope (the chain rule).
"""

from __future__ import annotations

from functools import reduce
from operator import add
from typing import Any

from ..catalogue import where
from ..rules import Arithmetic, Rule


class DualNumber(Arithmetic):
    """value + slope * epsilon, where epsilon squared is 0. A slope of None is an exact 0, and skips work.

    >>> from naive_graph.core.catalogue import sin
    >>> x = DualNumber(3.0, 1.0)
    >>> (x * x).slope
    6.0
    """

    __slots__ = ("slope", "value")

    def __init__(self, value: float, slope: float | None = None) -> None:
        self.value = value
        self.slope = slope

    def apply(self, rule: Rule, *operands: Any) -> DualNumber:
        duals = [operand if isinstance(operand, DualNumber) else DualNumber(operand) for operand in operands]
        values = [dual.value for dual in duals]
        value = rule(*values)
        partials = rule.partials_at(values, value, [dual.slope is not None for dual in duals])
        moving = [(partial, dual.slope) for partial, dual in zip(partials, duals, strict=True) if partial is not None]
        if rule.selects:
            return DualNumber(value, _select_slope(moving))
        contributions = [partial * slope for partial, slope in moving]  # the chain rule
        return DualNumber(value, reduce(add, contributions) if contributions else None)

    def __repr__(self) -> str:
        return f"DualNumber({self.value}, {self.slope})"


def _select_slope(moving: list[tuple[Any, Any]]) -> Any:
    """The slope of the branch that `where` took; the other's may be infinite, and is not used."""
    chosen = None
    for partial, slope in reversed(moving):
        chosen = where(partial, slope, 0.0 if chosen is None else chosen)
    return chosen


def slope_of(value: Any) -> float:
    """The slope of a result; 0.0 if it does not depend on the moving leaves."""
    slope = value.slope if isinstance(value, DualNumber) else None
    return 0.0 if slope is None else slope
