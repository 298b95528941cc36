"""Exercise of lesson 5: dual numbers, which carry their derivative (forward mode).

A solution's docstring is the statement that learners read; a generator yields the test cases, or their arguments.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from ..cases import ExerciseCase, Formula, plain_case
from ..exercise import Exercise
from ..run_answer import MutatedArguments


class Dual:
    """A number that carries its slope: Dual(value, slope=0.0), with attributes value and slope.

    It knows + - * / with Duals and plain numbers on either side, ** n for a
    number n, unary minus, and has methods sin(), exp() and log().
    """

    def __init__(self, value, slope=0.0):
        self.value, self.slope = value, slope

    def __add__(self, other):
        other = dual(other)
        return Dual(self.value + other.value, self.slope + other.slope)

    def __neg__(self):
        return Dual(-self.value, -self.slope)

    def __sub__(self, other):
        other = dual(other)
        return Dual(self.value - other.value, self.slope - other.slope)

    def __mul__(self, other):
        other = dual(other)
        slope = self.slope * other.value + self.value * other.slope
        return Dual(self.value * other.value, slope)

    def __truediv__(self, other):
        other = dual(other)
        slope = (self.slope * other.value - self.value * other.slope) / (other.value * other.value)
        return Dual(self.value / other.value, slope)

    def __pow__(self, n):
        slope = n * self.value ** (n - 1) * self.slope
        return Dual(self.value**n, slope)

    def sin(self):
        slope = math.cos(self.value) * self.slope
        return Dual(math.sin(self.value), slope)

    def exp(self):
        slope = math.exp(self.value) * self.slope
        return Dual(math.exp(self.value), slope)

    def log(self):
        slope = self.slope / self.value
        return Dual(math.log(self.value), slope)

    __radd__, __rmul__ = __add__, __mul__

    def __rsub__(self, other):
        return dual(other) - self

    def __rtruediv__(self, other):
        return dual(other) / self


def dual(number):
    return number if isinstance(number, Dual) else Dual(number, 0.0)


def _call_dual(answer: Any, arguments: tuple[Any, ...]) -> Any:
    """Evaluate an expression of Duals: [value, slope]. Raises MutatedArguments if it changed its operands."""
    expression, *numbers = arguments
    operands = [answer(*pair) for pair in numbers]
    before = [(operand.value, operand.slope) for operand in operands]
    result = expression(*operands)
    if result is None:
        return None
    value_and_slope = [result.value, result.slope] if hasattr(result, "slope") else ["no Dual", result]
    if [(operand.value, operand.slope) for operand in operands] != before:
        raise MutatedArguments(value_and_slope)
    return value_and_slope


_OF_ONE_DUAL = {  # feature -> expressions
    "a plain number stands on the right": ("a + 1", "a - 1", "a * 3", "a / 4"),
    "a plain number stands on the left": ("2 + a", "1 - a", "3 * a", "1 / a"),
    "there is a unary minus": ("-a",),
    "there is a power": ("a ** 2", "a ** 3", "a ** -1"),
    "there is a sine": ("a.sin()",),
    "there is an exponential": ("a.exp()",),
}
_OF_ONE_POSITIVE_DUAL = {"there is a logarithm": ("a.log()",), "there is a power": ("a ** 0.5", "a ** 0")}
_OF_TWO_DUALS = {
    "two Duals are added": ("a + b",),
    "two Duals are subtracted": ("a - b",),
    "two Duals are multiplied": ("a * b", "a * a"),
    "two Duals are divided": ("a / b", "b / a"),
    "there are several operations": (
        "-a * b + 1", "(a * b).sin() / (b ** 2 + 3)", "(2 - a) / (1 + b.exp())", "(a * a + 1).log() - 2 / b",
    ),
}  # fmt: skip


def _make_cases(expressions: dict[str, tuple[str, ...]], **duals: tuple[float, ...]) -> Iterator[ExerciseCase]:
    """A case for each expression of these Duals. duals: (value, slope) by name."""
    operands = ", ".join(f"{name} = Dual{pair}" for name, pair in duals.items())
    for feature, texts in expressions.items():
        for text in texts:
            formula = Formula(text, ", ".join(duals))
            yield plain_case(f"{text}, where {operands}", formula, *duals.values(), features=feature)


def _dual_cases() -> Iterator[ExerciseCase]:
    yield plain_case("Dual(3.0)", lambda a: a, (3.0,), features="no slope is given")
    yield plain_case("Dual(3.0, 2.0)", lambda a: a, (3.0, 2.0))
    for value, slope in ((3.0, 1.0), (0.7, -2.0), (-1.5, 0.5), (2.0, 0.0)):
        yield from _make_cases(_OF_ONE_DUAL, a=(value, slope))
        yield from _make_cases(_OF_ONE_POSITIVE_DUAL if value > 0 else {}, a=(value, slope))
    for a, b in (((3.0, 1.0), (0.5, 2.0)), ((-1.2, 0.7), (2.5, -1.5)), ((1.5, 0.0), (-0.8, 1.0))):
        yield from _make_cases(_OF_TWO_DUALS, a=a, b=b)
    yield from _make_cases({"the value is 0": ("a ** 2",)}, a=(0.0, 1.0))
    yield from _make_cases({"the value is 0": ("a * b",)}, a=(0.0, 1.0), b=(2.0, 3.0))


DUAL = Exercise(Dual, _dual_cases, call=_call_dual, helpers=(dual,))
