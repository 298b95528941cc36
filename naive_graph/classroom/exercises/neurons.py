"""Exercises of lessons 6 and 8: the gradients of a neuron, the hinge loss, a deep chain's slopes, and normalisation.

A solution's docstring is the statement that learners read; a generator yields the test cases, or their arguments.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from ..cases import make_random
from ..exercise import Exercise


def neuron_slopes(weights, inputs, incoming):
    """What a neuron passes back: return (slopes of the weights, slopes of the inputs).

    The neuron is y = tanh(w[0] * x[0] + w[1] * x[1] + ... + bias). weights: one
    for each input, and the bias behind them. incoming: the slope of the loss
    with respect to y.
    """
    *factors, last = weights
    total = last
    for factor, value in zip(factors, inputs):
        total += factor * value
    y = math.tanh(total)
    push = incoming * (1 - y * y)
    of_weights = [push * value for value in inputs]
    of_inputs = [push * factor for factor in factors]
    return [*of_weights, push], of_inputs


def _neurons() -> Iterator[tuple[Any, ...]]:
    yield from (([1.0, 0.0], [0.5], 1.0), ([0.5, 0.25], [2.0], -1.0), ([0.0], [], 1.0), ([0.5], [], 2.0))
    yield from (([1.0, -2.0, 0.5], [3.0, 2.0], 1.0), ([1.0, 1.0, 0.0], [0.5, -0.5], 3.0), ([-0.5, -0.3], [1.5], 0.5))
    chance = make_random(13)
    for size in (1, 2, 3, 4):
        draws = [round(chance.gauss(0, 0.7), 2) for _ in range(2 * size + 2)]
        yield draws[: size + 1], draws[size + 1 : -1], draws[-1]


def hinge(scores, labels):
    """Return (loss, slopes): the mean of max(0, 1 - label * score), and its slopes.

    labels: 1 or -1 for each score. slopes: one for each score. Where
    1 - label * score is exactly 0, the slope is 0.
    """
    margin = 1.0
    loss, slopes = 0.0, []
    for score, label in zip(scores, labels):
        short = margin - label * score
        counts = short > 0
        push = -label
        loss += short if counts else 0.0
        slopes.append(push if counts else 0.0)
    count = len(scores)
    return loss / count, [slope / count for slope in slopes]


def _scores() -> Iterator[tuple[Any, ...]]:
    yield from (([0.0], [1]), ([2.0], [1]), ([2.0], [-1]), ([1.0], [1]), ([-1.0], [-1]), ([0.5], [1]), ([0.5], [-1]))
    yield from (([0.0, 0.0], [1, -1]), ([3.0, -3.0], [1, -1]), ([0.5, -2.0], [1, 1]), ([-0.25, 0.25], [-1, 1]))
    chance = make_random(31)
    for size in (2, 3, 4, 6):
        yield [round(chance.gauss(0, 1.5), 2) for _ in range(size)], [chance.choice([1, -1]) for _ in range(size)]


NEURON_SLOPES = Exercise(neuron_slopes, _neurons)
HINGE = Exercise(hinge, _scores)


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
