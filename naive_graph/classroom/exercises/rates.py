"""Exercises of lesson 7: one step of Adagrad and of RMSProp, and gradient clipping.

A solution's docstring is the statement that learners read; a generator yields the test cases, or their arguments.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from ..cases import make_random
from ..exercise import Exercise


def adagrad(w, g, s, rate, tiny):
    """One step of Adagrad: s' = s + g^2, w' = w - rate g / sqrt(s' + tiny), for each number.

    w, g, s: lists of floats. Return (new w, new s) as new lists.
    """
    new_w, new_s = [], []
    for w_i, g_i, s_i in zip(w, g, s):
        total = s_i + g_i * g_i
        size = math.sqrt(total + tiny)
        move = rate * g_i / size
        new_w.append(w_i - move)
        new_s.append(total)
    return new_w, new_s


def rmsprop(w, g, s, rate, keep, tiny):
    """One step of RMSProp: s' = keep s + (1 - keep) g^2, w' = w - rate g / sqrt(s' + tiny), for each number.

    w, g, s: lists of floats. Return (new w, new s) as new lists.
    """
    new_w, new_s = [], []
    for w_i, g_i, s_i in zip(w, g, s):
        square = g_i * g_i
        mean = keep * s_i + (1 - keep) * square
        size = mean + tiny
        move = rate * g_i / math.sqrt(size)
        new_w.append(w_i - move)
        new_s.append(mean)
    return new_w, new_s


def _steps(settings: tuple[tuple[float, ...], ...]) -> Iterator[tuple[Any, ...]]:
    chance = make_random(13)
    for size in (1, 1, 0, 2, 3, 5):
        for each in settings:
            w, g = ([round(chance.gauss(0, 2), 2) for _ in range(size)] for _ in range(2))
            yield w, g, [round(chance.random() * 4 + 0.1, 2) for _ in range(size)], *each


def clip(grads, limit):
    """Return the list of slopes, shortened to the length limit if it is longer; its direction stays.

    The length is the square root of the sum of the squares.
    """
    length = math.sqrt(sum(grad * grad for grad in grads))
    if length > limit:
        return [grad * limit / length for grad in grads]
    return list(grads)


def _grads() -> Iterator[tuple[Any, ...]]:
    yield from (([], 5.0), ([3.0], 5.0), ([8.0], 5.0), ([-8.0], 5.0), ([0.0, 0.0], 5.0), ([3.0, 4.0], 5.0))
    yield from (([6.0, 8.0], 5.0), ([-6.0, 8.0], 2.0), ([0.3, 0.4], 1.0), ([1.0, 2.0, 2.0], 2.0), ([4.0, 4.0], 5.0))
    yield from (([0.6, -0.7, 0.2], 0.5), ([0.1, 10.0], 5.0), ([2.0, 1.0, -2.0, 4.0], 4.5))


ADAGRAD = Exercise(adagrad, lambda: _steps(((0.1, 1e-8), (0.5, 0.25), (1.0, 0.5))))
RMSPROP = Exercise(rmsprop, lambda: _steps(((0.1, 0.9, 1e-8), (0.5, 0.5, 0.25), (0.3, 0.75, 0.5))))
CLIP = Exercise(clip, _grads)
