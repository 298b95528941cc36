"""Exercises of lessons 10a and 10b: a Hessian times a vector, and the derivative of a fixed point.

A solution's docstring is the statement that learners read; a generator yields the test cases, or their arguments.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ..cases import Formula
from ..exercise import Exercise


def hessian_times(gradient, x, v, h):
    """Return the Hessian times v: how fast each slope changes as x moves along v.

    gradient(x) gives the list of slopes at the point x, a list. Take the
    central difference, from x - h * v to x + h * v; return a list.
    """
    steps = [h * each for each in v]
    above = gradient([a + b for a, b in zip(x, steps)])
    below = gradient([a - b for a, b in zip(x, steps)])
    return [(a - b) / (2 * h) for a, b in zip(above, below)]


def _gradients() -> Iterator[tuple[Any, ...]]:
    one = ("[2 * x[0]]", "[x[0] ** 3]")
    two = ("[x[1], x[0]]", "[2 * x[0] + x[1], x[0] - 4 * x[1]]", "[x[0] * x[1], x[0] ** 2 / 2]")
    three = ("[x[0] * x[2], x[1] ** 3, x[0] ** 2 / 2 + x[2]]",)
    for h in (0.5, 0.125):
        for text in one:
            yield from ((Formula(text), [1.0], [v], h) for v in (1.0, 3.0, -0.5))
        for text in two:
            yield from ((Formula(text), [1.0, 2.0], v, h) for v in ([1.0, 0.0], [1.0, -1.0], [0.5, 3.0]))
        for text in three:
            yield from ((Formula(text), [1.0, 2.0, -0.5], v, h) for v in ([0.0, 2.0, 1.0], [1.0, 1.0, 1.0]))


def fixed_point(f, f_x, f_a, x, a, steps):
    """Put x = f(x, a) so many times; return (x, dx/da) at the end.

    f_x, f_a: the slopes of f with respect to x and to a, functions of (x, a).
    Take the last x for the fixed point, where x = f(x, a): there
    dx/da = f_x * dx/da + f_a. Solve that for dx/da.
    """
    for _ in range(steps):
        x = f(x, a)
    of_x, of_a = f_x(x, a), f_a(x, a)
    return x, of_a / (1 - of_x)


def _fixed_points() -> Iterator[tuple[Any, ...]]:
    known = (
        ("x / 2 + a", "0.5", "1.0", 1.0, 3.0),
        ("a * x + 1", "a", "x", 2.0, 0.25),
        ("a * cos(x)", "-a * sin(x)", "cos(x)", 1.0, 0.7),
        ("(x + a / x) / 2", "(1 - a / x**2) / 2", "1 / (2 * x)", 1.0, 2.0),
        ("1 + a * sin(x)", "a * cos(x)", "sin(x)", 0.5, 0.5),
    )
    for steps in (1, 2, 5, 40):
        for text, by_x, by_a, x, a in known:
            yield *(Formula(each, "x, a") for each in (text, by_x, by_a)), x, a, steps


HESSIAN_TIMES = Exercise(hessian_times, _gradients)
FIXED_POINT = Exercise(fixed_point, _fixed_points)
