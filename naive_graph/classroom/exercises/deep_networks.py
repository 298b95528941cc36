"""Exercises of lesson 8: the slopes along a deep chain, and normalisation of a list of numbers.

A solution's docstring is the statement that learners read; a generator yields the test cases, or their arguments.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from ..cases import make_random
from ..exercise import Exercise


def depth_slopes(partials):
    """Return the slopes of a chain's result for each of its values, the input first.

    partials: the local slope of each operator, the one at the input first. With
    n operators there are n + 1 values; the last of them is the result itself.
    """
    slopes = [1.0]
    for partial in partials[::-1]:
        slopes.append(partial * slopes[-1])
    return slopes[::-1]


def _chains() -> Iterator[tuple[Any, ...]]:
    yield from (([],), ([2.0],), ([2.0, 3.0],), ([3.0, 0.5],), ([-1.0, 4.0],), ([2.0, 0.0, 5.0],), ([2.0, 2.0, 2.0],))
    yield from (([0.25] * 5,), ([1.5, -0.5, 0.25, 3.0],))
    chance = make_random(14)
    for size in (3, 4, 6):
        yield ([round(chance.gauss(0, 1.5), 2) for _ in range(size)],)


def normalise(xs, tiny):
    """Return the list (x - mean) / sqrt(variance + tiny) for each x of xs.

    The variance is the mean of the squares of x - mean. tiny keeps the root
    above 0 where all are equal.
    """
    count = len(xs)
    mean = sum(xs) / count
    far = [x - mean for x in xs]
    variance = sum(each * each for each in far) / count
    size = math.sqrt(variance + tiny)
    return [(x - mean) / size for x in xs]


def _layers() -> Iterator[tuple[Any, ...]]:
    yield from (([3.0], 0.25), ([1.0, 3.0], 0.01), ([5.0, 5.0], 0.25), ([0.0, 4.0, 8.0], 1e-5), ([-2.0, 2.0], 0.5))
    yield from (([1.0, 3.0], 1.0), ([0.5, 0.25, -0.125, 1.0], 0.0625), ([100.0, 102.0, 104.0], 1e-5))
    chance = make_random(41)
    for size in (3, 4, 5):
        yield [round(chance.gauss(1, 2), 2) for _ in range(size)], 0.125


DEPTH_SLOPES = Exercise(depth_slopes, _chains)
NORMALISE = Exercise(normalise, _layers)
