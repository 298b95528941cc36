"""Exercises of lessons 12 and 13: the weights of attention, gradients of a softmax and its loss, and the causal mask.

A solution's docstring is the statement that learners read; a generator yields the test cases, or their arguments.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from ..cases import make_random
from ..exercise import Exercise


def attend(query, keys):
    """Return the weights with which a query attends to each of the keys.

    The score of a key is the sum of the products of its entries with those of
    the query, divided by the root of how many entries the query has. The
    weights are the softmax of the scores. It must work for scores of 1000.
    """
    root = math.sqrt(len(query))
    scores = []
    for key in keys:
        products = [a * b for a, b in zip(query, key)]
        scores.append(sum(products) / root)
    largest = max(scores)
    powers = [math.exp(score - largest) for score in scores]
    total = sum(powers)
    return [power / total for power in powers]


def _softmax(scores: list[float]) -> list[float]:
    powers = [math.exp(score - max(scores)) for score in scores]
    return [power / sum(powers) for power in powers]


def _queries() -> Iterator[tuple[Any, ...]]:
    yield from (([1.0], [[2.0]]), ([1.0], [[0.0], [1.0]]), ([2.0], [[1.0], [-1.0]]))
    yield [0.0, 0.0], [[1.0, 2.0], [3.0, 4.0]]
    yield from (([1.0, 1.0], [[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]), ([2.0, 0.0], [[2.0, 0.0], [0.0, 2.0], [1.0, 1.0]]))
    chance = make_random(12)
    for size, count in ((2, 3), (3, 2), (4, 3), (3, 4), (4, 2)):
        draws = [[round(chance.gauss(0, 1), 2) for _ in range(size)] for _ in range(count + 1)]
        yield draws[0], draws[1:]
    yield from (([1000.0], [[1.0], [0.0]]), ([100.0, 100.0], [[10.0, 10.0], [10.0, 9.0]]), ([-50.0], [[30.0], [30.0]]))


def softmax_pullback(weights, incoming):
    """Return what goes back from the weights of a softmax to its scores.

    weights: what the softmax gave. incoming: the slope of the loss with respect
    to each weight. The slope of weight i with respect to score j is
    weights[i] * (1 - weights[j]) where i is j, and -weights[i] * weights[j]
    elsewhere.
    """
    middle = sum(w * g for w, g in zip(weights, incoming))
    return [w * (g - middle) for w, g in zip(weights, incoming)]


def _pullbacks() -> Iterator[tuple[Any, ...]]:
    yield from (([1.0], [3.0]), ([0.5, 0.5], [1.0, 0.0]), ([0.5, 0.5], [1.0, 3.0]), ([0.25, 0.75], [2.0, 2.0]))
    yield from (([1.0, 0.0], [5.0, -3.0]), ([0.2, 0.3, 0.5], [1.0, 0.0, 0.0]), ([0.2, 0.3, 0.5], [1.0, -2.0, 4.0]))
    chance = make_random(21)
    for size in (2, 3, 4, 5):
        weights = _softmax([chance.gauss(0, 1) for _ in range(size)])
        yield weights, [round(chance.gauss(0, 2), 2) for _ in range(size)]


def causal(scores):
    """Return the scores with minus infinity wherever a word would see a later one.

    scores: a list of rows. Row i holds the scores of word i with each of the
    words. A word sees itself and those before it. Leave scores as it is.
    """
    masked = []
    for i in range(len(scores)):
        row = list(scores[i])
        for j in range(len(row)):
            if j > i:
                row[j] = -math.inf
        masked.append(row)
    return masked


def _scores() -> Iterator[tuple[Any, ...]]:
    yield from (([[2.0]],), ([[1.0, 2.0], [3.0, 4.0]],), ([[0.0, 0.0], [0.0, 0.0]],))
    yield from (
        ([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0], [7.0, 8.0, 9.0]],),
        ([[-1.0, 0.5, 2.0], [0.0, 3.0, -2.0], [1.5, 1.0, 0.25]],),
    )
    chance = make_random(7)
    for size in (2, 4, 5):
        yield ([[round(chance.gauss(0, 2), 2) for _ in range(size)] for _ in range(size)],)


def softmax_cross_entropy(scores, label):
    """Return (loss, gradient): loss = log(sum_j exp(s_j)) - s_label, and the list of dloss/ds_j. Leave scores alone.

    scores: a list of floats. label: the index of the right class. It must work
    for scores of 1000 and -1000.
    """
    largest = max(scores)
    powers = [math.exp(score - largest) for score in scores]
    total = sum(powers)
    told = largest + math.log(total) - scores[label]
    shares = [power / total for power in powers]
    grads = list(shares)
    grads[label] -= 1.0
    return told, grads


def _softmax_cases() -> Iterator[tuple[Any, ...]]:
    chance = make_random(4)
    small: list[list[float]] = [[2.0], [0.0, 0.0], [1.0, 3.0], [-0.5, 0.25], [1.0, 2.0, 4.0], [0.3, -1.2, 0.8]]
    small += [[round(chance.gauss(0, 2), 2) for _ in range(size)] for size in (2, 3, 3, 4, 5, 6)]
    large = [[1000.0, 0.0], [1000.0, 999.0], [-1000.0, -1001.0], [1000.0, -1000.0, 3.0], [-1000.0], [0.0, -1000.0]]
    large += [[1000.0, 1000.0], [0.0, 1000.0], [-1000.0, 1000.0, 5.0], [5.0, -1000.0, 1000.0], [-1000.0, 5.0]]
    yield from ((scores, label) for scores in small + large for label in range(len(scores)))


ATTEND = Exercise(attend, _queries)
SOFTMAX_PULLBACK = Exercise(softmax_pullback, _pullbacks)
CAUSAL = Exercise(causal, _scores)
SOFTMAX = Exercise(softmax_cross_entropy, _softmax_cases)
