"""Exercises of lessons 11 and 13: a contraction of two matrices, and the cross-entropy of a softmax.

A solution's docstring is the statement that learners read; a generator yields the test cases, or their arguments.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from ..cases import make_random
from ..exercise import Exercise


def contract(W, x):
    """Return y as a list of lists, where y[i][k] = sum over a of W[a][i] * x[a][k].

    W, x: lists of rows. Note the order of W's indices.
    """
    y = []
    for i in range(len(W[0])):
        row = []
        for k in range(len(x[0])):
            products = [W[a][i] * x[a][k] for a in range(len(W))]
            row.append(sum(products))
        y.append(row)
    return y


def _contract_cases() -> Iterator[tuple[Any, ...]]:
    chance = make_random(9)
    sizes = [
        (1, 1, 1), (2, 1, 1), (1, 2, 1), (1, 1, 2), (2, 2, 1), (2, 1, 2), (1, 2, 2), (2, 2, 2), (3, 2, 2), (2, 3, 4),
        (2, 2, 2), (3, 3, 3), (3, 3, 1), (3, 3, 2), (4, 2, 3), (3, 4, 2), (2, 4, 4), (3, 3, 3),
    ]  # fmt: skip
    for a, i, k in sizes:
        for signs in (1, -1):
            W = [[float(1 + int(chance.random() * 9)) for _ in range(i)] for _ in range(a)]
            x = []
            for _ in range(a):
                x.append([signs ** int(chance.random() * 2) * float(1 + int(chance.random() * 9)) for _ in range(k)])
            yield W, x


CONTRACT = Exercise(contract, _contract_cases)


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


SOFTMAX = Exercise(softmax_cross_entropy, _softmax_cases)
