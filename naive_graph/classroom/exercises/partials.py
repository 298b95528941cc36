"""Exercises of lessons 9 and 14a: partials of operators of one's own, and a check against the central difference.

A solution's docstring is the statement that learners read; a generator yields the test cases, or their arguments.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from ...core.interpreters.dual import DualNumber
from ..cases import ExerciseCall, ExerciseCase, Formula, make_random, plain_case
from ..exercise import Exercise


def both_partials(a, b, y):
    """Return the list of both partials of y = exp(a / b): for a, and for b.

    y is given, since it is computed already. Write it with + - * / and **: a and b
    may also be nodes, or tensors.
    """
    outer = y
    square = b * b
    partials = [outer / b, -outer * a / square]
    return partials


def robust_slope(adjoint, x, scale):
    """Return what robust hands back for an entry x: adjoint times its slope in x.

    robust(x, scale) is scale^2 (sqrt(1 + (x / scale)^2) - 1). Write it with + - * /
    and **, with ** 0.5 for the root: x may also be a node, or a tensor.
    """
    ratio = x / scale
    root = (1 + ratio * ratio) ** 0.5
    slope = x / root
    return adjoint * slope


def row_slopes(adjoint, x, b):
    """Return what y[i][j] = x[i][j] b[j] hands back: for x a list of rows, for b a list.

    adjoint: a list of rows, what came back to y. x: a list of rows. b has one
    number for each column, and each row of x met it.
    """
    for_x = [[d * factor for d, factor in zip(row, b)] for row in adjoint]
    for_b = [0.0 for factor in b]
    for x_row, row in zip(x, adjoint):
        for j, entry in enumerate(x_row):
            for_b[j] = for_b[j] + entry * row[j]
    return for_x, for_b


def disagreement(f, df, x, h):
    """Return how far df(x) is from the slope of f at x: |d - n| / (|d| + |n|).

    d is df(x), and n the central difference (f(x + h) - f(x - h)) / (2 h). Where
    both are 0, return 0.
    """
    d = df(x)
    n = (f(x + h) - f(x - h)) / (2 * h)
    off = abs(d - n)
    size = abs(d) + abs(n)
    if size == 0:
        return 0.0
    return off / size


# --- cases ----------------------------------------------------------------------


def _dual_case(names: str, row: tuple[float, ...]) -> ExerciseCase:
    """The same numbers as dual numbers, which Python's math does not know."""
    text = ", ".join(f"{name} = {value!r}" for name, value in zip(names.split(), row))
    special = frozenset({"the operands are dual numbers"})
    return ExerciseCase(f"{text}, as dual numbers", lambda _: ExerciseCall(tuple(map(DualNumber, row)), []), special)


def _call(answer: Any, arguments: tuple[Any, ...]) -> Any:
    return _values(answer(*arguments))


def _values(given: Any) -> Any:
    """What dual numbers stand for."""
    if isinstance(given, (list, tuple)):
        return [_values(each) for each in given]
    return given.value if isinstance(given, DualNumber) else given


def _with_duals(names: str, rows: list[tuple[float, ...]]) -> Iterator[Any]:
    yield from rows
    yield from (_dual_case(names, row) for row in rows[-4:])


def _operands() -> list[tuple[float, ...]]:
    pairs = ((1.0, 1.0), (1.0, 2.0), (0.0, 1.0), (3.0, 2.0), (-1.0, 0.5), (2.0, -1.0), (0.5, 4.0), (-3.0, -1.5))
    return [(a, b, math.exp(a / b)) for a, b in pairs]


def _entries() -> list[tuple[float, ...]]:
    points = ((1.0, 0.75, 1.0), (2.0, 0.75, 1.0), (1.0, 0.0, 1.0), (1.0, 1.5, 2.0), (1.0, -3.0, 0.5), (-1.0, 2.0, 4.0))
    return [*points, (0.5, -1.2, 0.5), (3.0, 0.4, 0.1), (0.25, 6.0, 3.0), (-2.0, -0.9, 1.5)]


def _tables() -> Iterator[tuple[Any, ...]]:
    chance = make_random(17)
    for rows, columns in ((1, 1), (1, 2), (2, 1), (2, 2), (3, 2), (2, 3), (4, 3)):
        d, x = ([[float(chance.randrange(1, 9)) for _ in range(columns)] for _ in range(rows)] for _ in range(2))
        yield d, x, [float(10 * (j + 1)) for j in range(columns)]


def _claims() -> Iterator[ExerciseCase]:
    for f, df, x, what in (
        ("x * x", "x", 1.0, ""), ("x * x", "2 * x", 1.0, "df is right"), ("x * x", "2 * x", 0.0, "both are 0"),
        ("3.0", "0.0", 2.0, "both are 0"), ("sin(x)", "-cos(x)", 0.5, "the signs differ"),
        ("sin(x)", "cos(x)", 0.5, ""), ("exp(2 * x)", "exp(2 * x)", 0.25, ""), ("x ** 3", "0.0", 2.0, "df is 0"),
        ("3.0", "x", 2.0, "f is flat, and df is not 0"), ("x ** 3", "3 * x", 2.0, ""), ("log(x)", "x", 0.5, ""),
        ("x * x", "2 * x + 1", -0.5, ""),
    ):  # fmt: skip
        for h in (0.25, 1e-5):
            text = f"f(x) = {f}, df(x) = {df}, x = {x!r}, h = {h!r}"
            yield plain_case(text, Formula(f), Formula(df), x, h, features=what)


BOTH_PARTIALS = Exercise(both_partials, lambda: _with_duals("a b y", _operands()), call=_call)
ROBUST_SLOPE = Exercise(robust_slope, lambda: _with_duals("adjoint x scale", _entries()), call=_call)
ROW_SLOPES = Exercise(row_slopes, _tables)
DISAGREEMENT = Exercise(disagreement, _claims)
