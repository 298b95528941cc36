"""Exercises of lessons 3 and 4: local partials, the sum over paths, a step with a halved rate, and the loss of a line.

A solution's docstring is the statement that learners read; a generator yields the test cases, or their arguments.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from ..cases import ExerciseCase, Formula, make_random, plain_case
from ..exercise import Exercise


def local_slopes(operator, values):
    """Return the list of local partials of an operator: one for each of its operands.

    operator: "add", "sub", "mul", "div" (of two values), "sin", "exp" or "log"
    (of one). values: the list of its operands' values.
    """
    a, b = values[0], values[-1]
    if operator == "add":
        return [1.0, 1.0]
    if operator == "sub":
        return [1.0, -1.0]
    if operator == "mul":
        return [b, a]
    if operator == "div":
        below = b * b
        above = -a
        return [1 / b, above / below]
    if operator == "sin":
        return [math.cos(a)]
    if operator == "exp":
        return [math.exp(a)]
    return [1 / a]


def _operators() -> Iterator[ExerciseCase]:
    for a, b in ((3.0, 2.0), (-1.5, 4.0), (2.0, -0.5), (0.25, 3.0)):
        for operator in ("add", "sub", "mul", "div", "sin", "exp", "log"):
            values = [a, b] if operator in ("add", "sub", "mul", "div") else [abs(a) if operator == "log" else a]
            text = f"operator = {operator!r}, values = {values}"
            yield plain_case(text, operator, values, features=f"the operator is {operator}")


def along_paths(paths):
    """Return the slope: along each path the local partials are multiplied, and the paths are added.

    paths: a list of paths, each a list of the local partials on its edges. A
    path without edges leads from the result to itself: its slope is 1.
    """
    products = []
    for path in paths:
        product = 1.0
        for partial in path:
            product = product * partial
        products.append(product)
    return sum(products)


def _paths() -> Iterator[tuple[Any, ...]]:
    yield from (([],), ([[]],), ([[3.0]],), ([[3.0, 2.0]],), ([[2.0], [5.0]],), ([[3.0], [3.0]],))
    yield from (([[6.0], [6.0], [3.0]],), ([[1.0, -2.0], [4.0, 0.5, 3.0]],), ([[], [0.5]],), ([[-2.0], [-3.0]],))
    chance = make_random(8)
    for count in (2, 3, 4, 5):
        yield ([[round(chance.gauss(0, 2), 2) for _ in range(1 + int(chance.random() * 4))] for _ in range(count)],)


def halving(f, df, x, rate):
    """One step downhill, with a rate that is short enough: return x - rate * df(x).

    The rate is halved as long as f at the new place is not lower than f(x).
    Where the slope is 0, return x.
    """
    slope = df(x)
    if slope == 0:
        return x
    step = rate * slope
    while f(x - step) >= f(x):
        step = step / 2
    return x - step


def _hills() -> Iterator[tuple[Any, ...]]:
    hills = [("x * x", "2 * x"), ("(x - 3) ** 2 / 4", "(x - 3) / 2"), ("cos(x)", "-sin(x)"), ("x ** 4", "4 * x ** 3")]
    for rate in (0.1, 1.0, 3.0, 40.0):
        for f, df in hills:
            yield from ((Formula(f), Formula(df), x, rate) for x in (1.0, -2.0, 0.0, 0.5))
    yield Formula("(x - 3) ** 2 / 4"), Formula("(x - 3) / 2"), 3.0, 1.0  # flat, and not at 0


def line_loss(rest, stretch, loads, lengths):
    """Return (loss, slope for rest, slope for stretch) of the line length = rest + stretch * load.

    loads, lengths: the measurements, two lists. loss: the mean of the squared
    errors (rest + stretch * load - length) ** 2.
    """
    errors = [rest + stretch * load - length for load, length in zip(loads, lengths)]
    count = len(errors)
    loss = sum(error**2 for error in errors) / count
    factor = 2 / count
    for_rest = factor * sum(errors)
    for_stretch = factor * sum(error * load for error, load in zip(errors, loads))
    return loss, for_rest, for_stretch


def _measurements() -> Iterator[tuple[Any, ...]]:
    yield from ((1.0, 2.0, [3.0], [5.0]), (0.0, 0.0, [1.0, 2.0], [3.0, 5.0]), (12.0, 2.0, [0.0, 1.0], [12.0, 14.0]))
    chance = make_random(2)
    for count in (2, 3, 4, 6):
        loads = [float(place) for place in range(count)]
        yield 10.0, 1.5, loads, [round(12 + 2 * load + chance.gauss(0, 1), 1) for load in loads]


LOCAL_SLOPES = Exercise(local_slopes, _operators)
ALONG_PATHS = Exercise(along_paths, _paths)
HALVING = Exercise(halving, _hills)
LINE_LOSS = Exercise(line_loss, _measurements)
