"""Exercises of lesson 5: derivatives over a graph backwards and forwards, the number of paths, and dual numbers.

A solution's docstring is the statement that learners read; a generator yields the test cases, or their arguments.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from ..cases import PARTIALS, ExerciseCase, Formula, choose_targets, graph_case, many_graphs, name_by_index, plain_case
from ..exercise import Exercise
from ..run_answer import MutatedArguments


def backward(order, y, partials):
    """Return a dict {node: dy/dnode} with an entry for every node in order, 0.0 where y does not depend on it.

    order: all nodes in Kahn's order, with their values. partials(node): the
    partial derivatives of a node with respect to its operands node.last, one
    for each position.
    """
    grads = dict.fromkeys(order, 0.0)
    grads[y] = 1.0
    for node in reversed(order):
        for operand, partial in zip(node.last, partials(node)):
            contribution = grads[node] * partial
            grads[operand] = grads[operand] + contribution
    return grads


def _backward_cases() -> Iterator[ExerciseCase]:
    for recipe in many_graphs(40):
        for target in choose_targets(recipe) if recipe.size < 21 else [recipe.size - 1]:
            arguments = range(recipe.size), target, PARTIALS
            yield graph_case(recipe, arguments, f", y = {name_by_index(target)}", target)


BACKWARD = Exercise(backward, _backward_cases)


def tangents(order, x, partials):
    """Forward mode: return a dict {node: dnode/dx} with an entry for every node, 0.0 where it does not depend on x.

    order: all nodes in Kahn's order. partials(node): the partial derivatives of
    a node with respect to its operands node.last, one for each position.
    """
    slopes = dict.fromkeys(order, 0.0)
    slopes[x] = 1.0
    for node in order:
        for operand, partial in zip(node.last, partials(node)):
            share = slopes[operand] * partial
            slopes[node] = slopes[node] + share
    return slopes


def _tangent_cases() -> Iterator[ExerciseCase]:
    for recipe in many_graphs(25):
        for index in {0, recipe.size // 2}:
            yield graph_case(recipe, (range(recipe.size), index, PARTIALS), f", x = {name_by_index(index)}")


def count_roads(order, y, x):
    """Return how many roads lead from y down to x, over the edges to the operands. From y to itself there is one.

    order: all nodes in Kahn's order. node.last: the operands of a node; each
    position is an edge of its own. There may be a billion roads: count, do not drive.
    """
    roads = dict.fromkeys(order, 0)
    roads[y] = 1
    for node in reversed(order):
        for operand in node.last:
            roads[operand] += roads[node]
    return roads[x]


def _road_cases() -> Iterator[ExerciseCase]:
    for recipe in many_graphs(25):
        for y, x in sorted({(recipe.size - 1, 0), (recipe.size - 1, recipe.size // 2), (recipe.size // 2, 0)}):
            suffix = f", y = {name_by_index(y)}, x = {name_by_index(x)}"
            yield graph_case(recipe, (range(recipe.size), y, x), suffix, y, ["x is y"] * (x == y))


TANGENTS = Exercise(tangents, _tangent_cases)
COUNT_ROADS = Exercise(count_roads, _road_cases)


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
