"""Exercises of lesson 6: the gradients of a neuron, and the hinge loss.

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
