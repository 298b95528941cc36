"""Lesson 6: what a neuron passes back, and a loss that leaves alone what is right by far."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator
from typing import Any

from ..exercise import Exercise, instead


def neuron_slopes(
    weights: Any, inputs: Any, incoming: Any, *, no_bend: str = "", no_square: str = "", exchanged: str = "",
    bias: str = "", no_incoming: str = "", no_bias_inside: str = "", bend_of_total: str = "",
) -> Any:  # fmt: skip
    """What a neuron passes back: return (slopes of the weights, slopes of the inputs).

    The neuron is y = tanh(w[0] * x[0] + w[1] * x[1] + ... + bias). weights: one
    for each input, and the bias behind them. incoming: the slope of the loss
    with respect to y.
    """
    *factors, last = weights
    total = last if not no_bias_inside else 0.0
    for factor, value in zip(factors, inputs):
        total += factor * value
    y = math.tanh(total)
    if bend_of_total:
        y = total
    push = incoming * (1 - y * y) if not (no_bend or no_square) else incoming * (1 - y if no_square else 1)
    if no_incoming:
        push = push / incoming
    of_weights = [push * value for value in (inputs if not exchanged else factors)]
    of_inputs = [push * factor for factor in (factors if not exchanged else inputs)]
    if bias:
        return [*of_weights, *instead(neuron_slopes, "bias", bias, push=push, last=last)], of_inputs
    return [*of_weights, push], of_inputs


def _neurons() -> Iterator[tuple[Any, ...]]:
    yield from (([0.0], [], 1.0), ([0.5], [], 2.0), ([1.0, 0.0], [0.5], 1.0), ([0.5, 0.25], [2.0], -1.0))
    yield from (([1.0, -2.0, 0.5], [3.0, 2.0], 1.0), ([1.0, 1.0, 0.0], [0.5, -0.5], 3.0), ([-0.5, -0.3], [1.5], 0.5))
    chance = random.Random(13)
    for size in (1, 2, 3, 4):
        draws = [round(chance.gauss(0, 0.7), 2) for _ in range(2 * size + 2)]
        yield draws[: size + 1], draws[size + 1 : -1], draws[-1]


def hinge(
    scores: Any, labels: Any, *, sums: str = "", only_loss: str = "", no_label: str = "", sign: str = "",
    no_margin: str = "", no_limit: str = "", squared: str = "",
) -> Any:  # fmt: skip
    """Return (loss, slopes): the mean of max(0, 1 - label * score), and its slopes.

    labels: 1 or -1 for each score. slopes: one for each score. Where
    1 - label * score is exactly 0, the slope is 0.
    """
    margin = 1.0 if not no_margin else 0.0
    loss, slopes = 0.0, []
    for score, label in zip(scores, labels):
        short = margin - label * score
        counts = short > 0 or no_limit
        push = -label if not (no_label or sign) else -1 if no_label else label
        if squared or no_limit == "slope_everywhere":
            push = 2 * short * push if squared else push
            short = short * short if squared else max(0, short)
        loss += short if counts else 0.0
        slopes.append(push if counts else 0.0)
    count = len(scores) if not sums else 1
    return loss / count, [slope / (count if not only_loss else 1) for slope in slopes]


def _scores() -> Iterator[tuple[Any, ...]]:
    yield from (([0.0], [1]), ([2.0], [1]), ([2.0], [-1]), ([1.0], [1]), ([-1.0], [-1]), ([0.5], [1]), ([0.5], [-1]))
    yield from (([0.0, 0.0], [1, -1]), ([3.0, -3.0], [1, -1]), ([0.5, -2.0], [1, 1]), ([-0.25, 0.25], [-1, 1]))
    chance = random.Random(31)
    for size in (2, 3, 4, 6):
        yield [round(chance.gauss(0, 1.5), 2) for _ in range(size)], [chance.choice([1, -1]) for _ in range(size)]


NEURON_SLOPES = Exercise(neuron_slopes, _neurons)
HINGE = Exercise(hinge, _scores)
