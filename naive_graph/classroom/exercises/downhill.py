"""Walking downhill: the slope of a function, and gradient descent."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

from ..cases import ExerciseCase, plain_case
from ..exercise import Exercise


def slope(
    f: Any, x: Any, h: float = 1e-5, *, sides: str = "", step: str = "", divisor: str = "", sign: str = "",
) -> Any:  # fmt: skip
    """Return the central difference of f at x: how much f rises from x - h to x + h, for each unit of x."""
    if step:
        h = WIDTHS[step](h, x)
    after, before = f(x + h), f(x - h)
    if sides:
        after, before = SIDES[sides](f, x, h)
        if divisor and sides.endswith(("_difference", "_forward")):  # made for 2 h, by which nobody divides here
            after, before = after / 2, before / 2
    if divisor:
        return DIVISORS[divisor](after, before, h)
    if sign == "curvature":
        return (after - 2 * f(x) + before) / (h * h)
    rise = _turned(sign, after, before) if sign else after - before
    return rise / (2 * h)


WIDTHS: dict[str, Callable[[float, float], float]] = {
    "half_step": lambda h, x: h / 2,
    "double_step": lambda h, x: 2 * h,
    "ignores_h": lambda h, x: 1e-5,
    "ignores_h:4": lambda h, x: 1e-4,
    "ignores_h:6": lambda h, x: 1e-6,
    "ignores_h:3": lambda h, x: 1e-3,
    "square_step": lambda h, x: h * h,
    "scaled_step": lambda h, x: h * abs(x),
}
SIDES: dict[str, Callable[[Any, float, float], tuple[float, float]]] = {
    "forward_difference": lambda f, x, h: (2 * f(x + h), 2 * f(x)),
    "backward_difference": lambda f, x, h: (2 * f(x), 2 * f(x - h)),
    "half_forward": lambda f, x, h: (f(x + h), f(x)),
    "around_zero": lambda f, x, h: (f(h), f(-h)),
    "after_twice": lambda f, x, h: (f(x + 2 * h), f(x)),
}
DIVISORS: dict[str, Callable[..., float]] = {
    "no_two": lambda after, before, h: (after - before) / h,
    "four": lambda after, before, h: (after - before) / (4 * h),
    "square": lambda after, before, h: (after - before) / (h * h),
    "no_division": lambda after, before, h: after - before,
    "only_two": lambda after, before, h: (after - before) / 2,
    "times_h": lambda after, before, h: (after - before) / 2 * h,
    "times_all": lambda after, before, h: (after - before) * 2 * h,
    "no_brackets": lambda after, before, h: after - before / (2 * h),
    "floor": lambda after, before, h: (after - before) // (2 * h),
    **{
        f"rounded:{digits}": lambda after, before, h, digits=digits: round((after - before) / (2 * h), digits)
        for digits in range(1, 9)
    },
}


def _turned(sign: str, after: float, before: float) -> float:
    return {"reversed": before - after, "absolute": abs(after - before), "sum": after + before}[sign]


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
    for number in range(steps) if not ends else _numbers(ends, steps):
        if (result == "stops_when_flat" and df(x) == 0) or (result == "stops_uphill" and f(x - rate * df(x)) > f(x)):
            break
        values.append(f(x) if not collects else _collected(collects, f, df, x))
        if result == "returns_in_loop" or (result == "returns_in_loop:step" and number):
            return values
        move = rate * df(x) if not step else _move(step, f(x), df(x), rate, first, number)
        x = (start if place == "from_start" else x) - move if place != "stays" else x
    values.append(f(x) if not collects else _collected(collects, f, df, x))
    if ends == "no_last":
        del values[-1]
    if ends == "no_first":
        del values[0]
    return _shortened(result, values) if result else values


def _numbers(ends: str, steps: int) -> range:
    return range(steps + (ends == "one_more"))


def _collected(collects: str, f: Any, df: Any, x: float) -> Any:
    return x if collects == "positions" else df(x) if collects == "slopes" else [x, f(x)]


def _move(step: str, value: float, grad: float, rate: float, first: float, number: int) -> float:
    told = {
        "uphill": -rate * grad,
        "no_rate": grad,
        "only_rate": rate,
        "by_value": rate * value,
        "stale_slope": rate * first,
    }
    told |= {
        "divides": grad / rate,
        "sign_only": rate * math.copysign(1.0, grad) * (grad != 0),
        "minus_rate": grad - rate,
    }
    told |= {
        "half": rate * grad / 2,
        "twice": 2 * rate * grad,
        "square": rate * rate * grad,
        "by_absolute": rate * abs(grad),
    }
    return told[step] if step in told else rate * grad / (number + 1)


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
