"""Exercises of lessons 3 and 4: the central difference, and gradient descent.

A solution's docstring is the statement that learners read; a generator yields the test cases, or their arguments.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

from ..cases import ExerciseCase, plain_case
from ..exercise import Exercise


def slope(f, x, h=1e-05):
    """Return the central difference of f at x: how much f rises from x - h to x + h, for each unit of x."""
    after, before = f(x + h), f(x - h)
    rise = after - before
    return rise / (2 * h)


def _slope_cases() -> Iterator[ExerciseCase]:
    functions: list[tuple[str, Callable[[float], float], str]] = [
        ("x", lambda x: x, "f is a line"),
        ("x * x", lambda x: x * x, "f is bent"),
        ("x ** 3", lambda x: x**3, "f is bent"),
        ("5.0", lambda x: 5.0, "f is flat"),
        ("abs(x)", abs, "f has a kink"),
        ("2 - 3 * x", lambda x: 2 - 3 * x, "f falls;f is a line"),
        ("exp(-x)", lambda x: math.exp(-x), "f falls;f is bent"),
        ("cos(3 * x)", lambda x: math.cos(3 * x), "f is bent"),
    ]
    for x in (1.0, 0.0, -2.0, 0.3):
        for text, f, special in functions:
            for h in (0.5, 0.1, 1e-3):
                yield plain_case(f"f = {text}, x = {x}, h = {h}", f, x, h, features=special)
    for x in (0.2, -1.0):
        for text, f, special in [*functions[:4], ("sin(100 * x)", lambda x: math.sin(100 * x), "f is bent")]:
            yield plain_case(f"f = {text}, x = {x}", f, x, features=f"{special};h is not given")


SLOPE = Exercise(slope, _slope_cases)


def descend(f, df, x, rate, steps):
    """Gradient descent. Return the list of the values f(x) before each step and after the last one (steps + 1)."""
    values = []
    for _ in range(steps):
        values.append(f(x))
        move = rate * df(x)
        x = x - move
    values.append(f(x))
    return values


def _descend_cases() -> Iterator[ExerciseCase]:
    functions: list[tuple[str, Callable[[float], float], Callable[[float], float]]] = [
        ("x * x", lambda x: x * x, lambda x: 2 * x),
        ("(x - 3) ** 2 + 1", lambda x: (x - 3) ** 2 + 1, lambda x: 2 * (x - 3)),
        ("cos(x)", math.cos, lambda x: -math.sin(x)),
    ]
    for steps in (0, 1, 2, 3, 7):
        for text, f, df in functions:
            for x, rate in ((1.0, 0.1), (-2.0, 0.7), (0.0, 0.3), (1.5, 1.2)):
                features = [f"steps is {steps}" if steps < 2 else "there are several steps"]
                features += ["there is a step" * (steps > 0), "the slope is 0 at the start" * (df(x) == 0)]
                case = f"f = {text}, x = {x}, rate = {rate}, steps = {steps}"
                yield plain_case(case, f, df, x, rate, steps, features=";".join(features))


DESCEND = Exercise(descend, _descend_cases)
