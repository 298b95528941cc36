"""Lesson 8: slopes along a deep chain, and numbers that are brought back to one size."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator
from typing import Any

from ..exercise import Exercise


def depth_slopes(
    partials: Any, *, from_input: str = "", no_last: str = "", no_first: str = "", adds: str = "", all_alike: str = "",
    local: str = "", shortcut: str = "", reversed: str = "",
) -> Any:  # fmt: skip
    """Return the slopes of a chain's result for each of its values, the input first.

    partials: the local slope of each operator, the one at the input first. With
    n operators there are n + 1 values; the last of them is the result itself.
    """
    slopes = [1.0 if not adds else 0.0]
    for partial in partials[::-1] if not from_input else partials:
        if adds or local:
            slopes.append(partial + (slopes[-1] if adds else 0.0))
        else:
            slopes.append((partial if not shortcut else 1 + partial) * slopes[-1])
    if all_alike:
        slopes = [slopes[-1]] * len(slopes)
    if no_last or no_first:
        slopes = slopes[1:] if no_last else slopes[:-1]
    return slopes[::-1] if not reversed else slopes


def _chains() -> Iterator[tuple[Any, ...]]:
    yield from (([],), ([2.0],), ([2.0, 3.0],), ([3.0, 0.5],), ([-1.0, 4.0],), ([2.0, 0.0, 5.0],), ([2.0, 2.0, 2.0],))
    yield from (([0.25] * 5,), ([1.5, -0.5, 0.25, 3.0],))
    chance = random.Random(14)
    for size in (3, 4, 6):
        yield ([round(chance.gauss(0, 1.5), 2) for _ in range(size)],)


def normalise(
    xs: Any, tiny: Any, *, no_mean: str = "", no_root: str = "", one_less: str = "", absolute: str = "",
    around_zero: str = "", outside: str = "", of_squares: str = "", only_mean: str = "",
) -> Any:  # fmt: skip
    """Return the list (x - mean) / sqrt(variance + tiny) for each x of xs.

    The variance is the mean of the squares of x - mean. tiny keeps the root
    above 0 where all are equal.
    """
    count = len(xs)
    mean = sum(xs) / count
    far = [x - (mean if not around_zero else 0.0) for x in xs]
    variance = sum(each * each for each in far) / (count if not one_less else max(1, count - 1))
    if absolute or of_squares:
        variance = sum(map(abs, far)) / count if absolute else sum(each * each for each in far)
    size = math.sqrt(variance + tiny) if not (no_root or absolute) else variance + tiny
    if outside or only_mean:
        size = math.sqrt(variance) + tiny if outside else 1.0
    return [(x - (mean if not no_mean else 0.0)) / size for x in xs]


def _layers() -> Iterator[tuple[Any, ...]]:
    yield from (([3.0], 0.25), ([1.0, 3.0], 0.01), ([5.0, 5.0], 0.25), ([0.0, 4.0, 8.0], 1e-5), ([-2.0, 2.0], 0.5))
    yield from (([1.0, 3.0], 1.0), ([0.5, 0.25, -0.125, 1.0], 0.0625), ([100.0, 102.0, 104.0], 1e-5))
    chance = random.Random(41)
    for size in (3, 4, 5):
        yield [round(chance.gauss(1, 2), 2) for _ in range(size)], 0.125


DEPTH_SLOPES = Exercise(depth_slopes, _chains)
NORMALISE = Exercise(normalise, _layers)
