"""Exercises of lessons 3 and 4: numerical derivatives, local partials, the sum over paths, and steps downhill.

A solution's docstring is the statement that learners read; a generator yields the test cases, or their arguments.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
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


def complex_step(f, x, h):
    """The slope of f at x by a complex step: the imaginary part of f(x + ih), over h."""
    shifted = f(complex(x, h))
    return shifted.imag / h


def _complex_functions() -> Iterator[tuple[Any, ...]]:
    texts = "x", "x * x", "x**3 - x", "1 / (1 + x * x)", "2 - 3 * x", "x * (1 - x) / (3 + x)", "5.0 + 0 * x"
    for x in (1.0, -2.0, 0.5):
        for text in texts:
            yield Formula(text), x, 1e-20
            yield Formula(text), x, 0.125


def best_h(f, x, right, tries):
    """Return the h of tries with which the central difference comes nearest to right.

    The central difference is (f(x + h) - f(x - h)) / (2 * h); right is the
    slope of f at x. Where several are as near, return the first of them.
    """
    best, least = None, math.inf
    for h in tries:
        found = (f(x + h) - f(x - h)) / (2 * h)
        error = abs(found - right)
        if error < least:
            best, least = h, error
    return best


def _best_h_cases() -> Iterator[tuple[Any, ...]]:
    yield Formula("5.0"), 1.0, 0.0, [0.5]
    yield Formula("5.0"), 1.0, 0.0, [0.25, 0.5, 0.125]
    yield Formula("x * x"), 1.0, 2.0, [1.0, 0.5, 0.25]
    yield Formula("x**3"), 1.0, 3.0, [0.5, 0.25, 1.0]
    yield Formula("2 - x**3"), 1.0, -3.0, [0.25, 0.5]
    yield Formula("exp(x)"), 0.0, 1.0, [1e-2, 1e-5, 1e-14]
    yield Formula("exp(x)"), 1.0, math.e, [1e-1, 1e-3, 1e-5, 1e-8]
    yield Formula("sin(x)"), 1.0, math.cos(1.0), [1e-13, 1e-5, 1e-1]
    yield Formula("sin(x)"), 0.0, 1.0, [3.0, 2.0, 0.125]
    yield Formula("sin(x)"), 0.0, 1.0, [2.0, 0.5, 3.0]
    yield Formula("log(x)"), 2.0, 0.5, [1e-15, 1.0, 1e-5]


COMPLEX_STEP = Exercise(complex_step, _complex_functions)
BEST_H = Exercise(best_h, _best_h_cases)


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
