"""Lessons 3 and 4: local slopes, paths, a rate that is found, and a line through points."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator
from typing import Any

from ..cases import ExerciseCase, Formula, plain_case
from ..exercise import Exercise, instead


def local_slopes(
    operator: Any, values: Any, *, sub_adds: str = "", own_factor: str = "", no_minus: str = "", no_square: str = "",
    one_sided: str = "", sin_minus: str = "", exp_as_power: str = "", log_itself: str = "",
) -> Any:  # fmt: skip
    """Return the list of local partials of an operator: one for each of its operands.

    operator: "add", "sub", "mul", "div" (of two values), "sin", "exp" or "log"
    (of one). values: the list of its operands' values.
    """
    a, b = values[0], values[-1]
    if log_itself == "gives_value":
        return [_value(operator, a, b)]
    if operator == "add" or (operator == "sub" and sub_adds):
        return [1.0, 1.0]
    if operator == "sub":
        return [1.0, -1.0]
    if operator == "mul":
        return [b, a] if not own_factor else [a, b]
    if operator == "div":
        below = b * b if no_square != "no_square" else b
        above = 0.0 if one_sided else a if no_minus else -1.0 if no_square == "no_numerator" else -a
        return [1 / b, above / below]
    if operator == "sin":
        return [math.cos(a) if not sin_minus else -math.cos(a)]
    if operator == "exp":
        return [math.exp(a) if not exp_as_power else a * math.exp(a - 1)]
    return [1 / a if not log_itself else math.log(a)]


def _value(operator: str, a: float, b: float) -> float:
    computed = {"add": a + b, "sub": a - b, "mul": a * b, "div": a / b, "sin": math.sin(a), "exp": math.exp(a)}
    return computed[operator] if operator in computed else math.log(a)


def _operators() -> Iterator[ExerciseCase]:
    for a, b in ((3.0, 2.0), (-1.5, 4.0), (2.0, -0.5), (0.25, 3.0)):
        for operator in ("add", "sub", "mul", "div", "sin", "exp", "log"):
            values = [a, b] if operator in ("add", "sub", "mul", "div") else [abs(a) if operator == "log" else a]
            text, told = f"operator = {operator!r}, values = {values}", f"the operator is {operator}"
            yield plain_case(text, operator, values, features=told)


def along_paths(
    paths: Any, *, adds_along: str = "", multiplies: str = "", first_path: str = "", largest: str = "", mean: str = "",
    first_edge: str = "", distinct: str = "",
) -> Any:  # fmt: skip
    """Return the slope: along each path the local partials are multiplied, and the paths are added.

    paths: a list of paths, each a list of the local partials on its edges. A
    path without edges leads from the result to itself: its slope is 1.
    """
    products: list[float] = []
    for path in paths if not distinct else {tuple(path): path for path in paths}.values():
        product = 1.0 if adds_along != "keeps_product" or not products else products[-1]
        for partial in path if not first_edge else path[:1]:
            product = product * partial
        products.append(product if adds_along != "adds_along" else sum(path))
    if multiplies or first_path or largest or mean:
        return instead(along_paths, "products", multiplies or first_path or largest or mean, products=products)
    return sum(products)


def _paths() -> Iterator[tuple[Any, ...]]:
    yield from (([],), ([[]],), ([[3.0]],), ([[3.0, 2.0]],), ([[2.0], [5.0]],), ([[3.0], [3.0]],))
    yield from (([[6.0], [6.0], [3.0]],), ([[1.0, -2.0], [4.0, 0.5, 3.0]],), ([[], [0.5]],), ([[-2.0], [-3.0]],))
    chance = random.Random(8)
    for count in (2, 3, 4, 5):
        yield ([[round(chance.gauss(0, 2), 2) for _ in range(1 + int(chance.random() * 4))] for _ in range(count)],)


def halving(
    f: Any, df: Any, x: Any, rate: Any, *, once: str = "", no_search: str = "", uphill: str = "", stays_moved: str = "",
    not_lower: str = "", doubles: str = "", gives_rate: str = "",
) -> Any:  # fmt: skip
    """One step downhill, with a rate that is short enough: return x - rate * df(x).

    The rate is halved as long as f at the new place is not lower than f(x).
    Where the slope is 0, return x.
    """
    slope = df(x)
    if slope == 0:
        return x
    if no_search or stays_moved or once:
        return _without_search(f, df, x, rate, no_search or stays_moved or once)
    step = rate * slope if not uphill else -rate * slope
    while f(x - step) >= f(x) if not (not_lower or uphill) else f(x - step) > f(x) and not uphill:
        step = step / 2 if not doubles else step / 4
    return x - step if not gives_rate else step / slope


def _without_search(f: Any, df: Any, x: float, rate: float, how: str) -> Any:
    move = rate * df(x)
    if how == "once" and f(x - move) >= f(x):
        return x - move / 2
    start = f(x)
    while how == "stays_moved" and f(x - rate * df(x)) >= start and rate > 1e-9:
        x, rate = x - rate * df(x), rate / 2
    return x - (rate * df(x) if how == "stays_moved" else move)


def _hills() -> Iterator[tuple[Any, ...]]:
    hills = [("x * x", "2 * x"), ("(x - 3) ** 2 / 4", "(x - 3) / 2"), ("cos(x)", "-sin(x)"), ("x ** 4", "4 * x ** 3")]
    for rate in (0.1, 1.0, 3.0, 40.0):
        for f, df in hills:
            yield from ((Formula(f), Formula(df), x, rate) for x in (1.0, -2.0, 0.0, 0.5))
    yield Formula("(x - 3) ** 2 / 4"), Formula("(x - 3) / 2"), 3.0, 1.0  # flat, and not at 0


def line_loss(
    rest: Any, stretch: Any, loads: Any, lengths: Any, *, no_two: str = "", sums: str = "", reversed: str = "",
    no_load: str = "", only_loss: str = "", absolute: str = "", of_the_mean: str = "",
) -> Any:  # fmt: skip
    """Return (loss, slope for rest, slope for stretch) of the line length = rest + stretch * load.

    loads, lengths: the measurements, two lists. loss: the mean of the squared
    errors (rest + stretch * load - length) ** 2.
    """
    errors = [rest + stretch * load - length for load, length in zip(loads, lengths)]
    count = len(errors) if not sums else 1
    loss = sum(error**2 for error in errors) / count
    if absolute:
        loss = sum(map(abs, errors)) / count
    if of_the_mean:
        loss = (sum(errors) / count) ** 2
    factor = 2 / count if not (no_two or only_loss) else 1 / count if not only_loss else 2
    for_rest = factor * sum(errors)
    for_stretch = factor * sum(
        error * load for error, load in zip(errors, loads if not no_load else [1.0] * len(loads))
    )
    return (loss, -for_rest, -for_stretch) if reversed else (loss, for_rest, for_stretch)


def _measured() -> Iterator[tuple[Any, ...]]:
    yield from ((1.0, 2.0, [3.0], [5.0]), (0.0, 0.0, [1.0, 2.0], [3.0, 5.0]), (12.0, 2.0, [0.0, 1.0], [12.0, 14.0]))
    chance = random.Random(2)
    for count in (2, 3, 4, 6):
        loads = [float(place) for place in range(count)]
        yield 10.0, 1.5, loads, [round(12 + 2 * load + chance.gauss(0, 1), 1) for load in loads]


LOCAL_SLOPES = Exercise(local_slopes, _operators)
ALONG_PATHS = Exercise(along_paths, _paths)
HALVING = Exercise(halving, _hills)
LINE_LOSS = Exercise(line_loss, _measured)
