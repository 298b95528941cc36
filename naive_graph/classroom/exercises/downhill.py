"""Walking downhill: the slope of a function, and gradient descent."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

from ..cases import ExerciseCase, plain_case
from ..exercise import Exercise, instead


def slope(
    f: Any, x: Any, h: float = 1e-5, *, sides: str = "", step: str = "", divisor: str = "", sign: str = "",
) -> Any:  # fmt: skip
    """Return the central difference of f at x: how much f rises from x - h to x + h, for each unit of x."""
    if step:
        h = instead(slope, "step", step, h=h, x=x)
    after, before = f(x + h), f(x - h)
    if sides:
        after, before = instead(slope, "sides", sides, f=f, x=x, h=h)
        if divisor and sides.endswith(("_difference", "_forward")):  # made for 2 h, by which nobody divides here
            after, before = after / 2, before / 2
    if divisor:
        return instead(slope, "divisor", divisor, after=after, before=before, h=h)
    if sign == "curvature":
        return (after - 2 * f(x) + before) / (h * h)
    rise = instead(slope, "sign", sign, after=after, before=before) if sign else after - before
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


def descend(
    f: Any, df: Any, x: Any, rate: Any, steps: Any, *, step: str = "", place: str = "", ends: str = "",
    collects: str = "", result: str = "",
) -> Any:  # fmt: skip
    """Gradient descent. Return the list of the values f(x) before each step and after the last one (steps + 1)."""
    start, first, values = x, df(x), []
    for number in range(steps) if not ends else range(steps + (ends == "one_more")):
        if (result == "stops_when_flat" and df(x) == 0) or (result == "stops_uphill" and f(x - rate * df(x)) > f(x)):
            break
        values.append(f(x) if not collects else _collected(collects, f, df, x))
        if result == "returns_in_loop" or (result == "returns_in_loop:step" and number):
            return values
        move = (
            rate * df(x)
            if not step
            else instead(descend, "step", step, value=f(x), grad=df(x), rate=rate, first=first, number=number)
        )
        x = (start if place == "from_start" else x) - move if place != "stays" else x
    values.append(f(x) if not collects else _collected(collects, f, df, x))
    if ends == "no_last":
        del values[-1]
    if ends == "no_first":
        del values[0]
    return _shortened(result, values) if result else values


def _collected(collects: str, f: Any, df: Any, x: float) -> Any:
    return x if collects == "positions" else df(x) if collects == "slopes" else [x, f(x)]


def _shortened(result: str, values: list[Any]) -> Any:
    if result == "last_only":
        return values[-1]
    if result == "backwards":
        return values[::-1]
    if result == "ends_only":
        return [values[0], values[-1]]
    return min(values) if result == "best_only" else sorted(values, reverse=True) if result == "sorted" else values


def _descend_cases() -> Iterator[ExerciseCase]:
    functions: list[tuple[str, Callable[[float], float], Callable[[float], float]]] = [
        ("x * x", lambda x: x * x, lambda x: 2 * x),
        ("(x - 3) ** 2 + 1", lambda x: (x - 3) ** 2 + 1, lambda x: 2 * (x - 3)),
        ("cos(x)", math.cos, lambda x: -math.sin(x)),
    ]
    for steps in (0, 1, 2, 3, 7):
        for text, f, df in functions:
            for x, rate in ((1.0, 0.1), (-2.0, 0.7), (0.0, 0.3), (1.5, 1.2)):
                told = [
                    f"steps is {steps}" if steps < 2 else "there are several steps",
                    "there is a step" * (steps > 0),
                ]
                told.append("the slope is 0 at the start" * (df(x) == 0))
                case = f"f = {text}, x = {x}, rate = {rate}, steps = {steps}"
                yield plain_case(case, f, df, x, rate, steps, features=";".join(told))


DESCEND = Exercise(descend, _descend_cases)
