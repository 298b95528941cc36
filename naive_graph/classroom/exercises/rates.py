"""Lesson 7: rates of their own for each number, and a limit on the length of a slope."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator
from typing import Any

from ..exercise import Exercise


def adagrad(
    w: Any, g: Any, s: Any, rate: Any, tiny: Any, *, no_root: str = "", no_memory: str = "", absolute: str = "",
    old_s: str = "", uphill: str = "", no_rate: str = "", outside: str = "", old_returned: str = "",
) -> Any:  # fmt: skip
    """One step of Adagrad: s' = s + g^2, w' = w - rate g / sqrt(s' + tiny), for each number.

    w, g, s: lists of floats. Return (new w, new s) as new lists.
    """
    new_w, new_s = [], []
    for w_i, g_i, s_i in zip(w, g, s):
        total = (s_i if not no_memory else 0.0) + (g_i * g_i if not absolute else abs(g_i))
        size = math.sqrt((total if not old_s else s_i) + tiny)
        if no_root or outside:
            size = total + tiny if no_root else math.sqrt(total) + tiny
        move = (rate if not no_rate else 1.0) * g_i / size
        new_w.append(w_i - move if not uphill else w_i + move)
        new_s.append(total if not old_returned else s_i)
    return new_w, new_s


def rmsprop(
    w: Any, g: Any, s: Any, rate: Any, keep: Any, tiny: Any, *, no_one_minus: str = "", turned: str = "",
    adds_up: str = "", no_root: str = "", old_s: str = "", uphill: str = "", no_square: str = "",
) -> Any:  # fmt: skip
    """One step of RMSProp: s' = keep s + (1 - keep) g^2, w' = w - rate g / sqrt(s' + tiny), for each number.

    w, g, s: lists of floats. Return (new w, new s) as new lists.
    """
    if turned:
        keep = 1 - keep
    new_w, new_s = [], []
    for w_i, g_i, s_i in zip(w, g, s):
        square = g_i * g_i if not no_square else abs(g_i)
        mean = keep * s_i + (1 - keep) * square
        if no_one_minus or adds_up:
            mean = (keep if no_one_minus else 1.0) * s_i + square
        size = (mean if not old_s else s_i) + tiny
        move = rate * g_i / (math.sqrt(size) if not no_root else size)
        new_w.append(w_i - move if not uphill else w_i + move)
        new_s.append(mean)
    return new_w, new_s


def _steps(settings: tuple[tuple[float, ...], ...]) -> Iterator[tuple[Any, ...]]:
    chance = random.Random(13)
    for size in (1, 1, 0, 2, 3, 5):
        for each in settings:
            w, g = ([round(chance.gauss(0, 2), 2) for _ in range(size)] for _ in range(2))
            yield w, g, [round(chance.random() * 4 + 0.1, 2) for _ in range(size)], *each


def clip(
    grads: Any, limit: Any, *, each_alone: str = "", by_largest: str = "", always: str = "", sum_of_sizes: str = "",
    no_root: str = "", to_zero: str = "",
) -> Any:  # fmt: skip
    """Return the list of slopes, shortened to the length limit if it is longer; its direction stays.

    The length is the square root of the sum of the squares.
    """
    if each_alone:
        return [min(limit, grad) if each_alone == "above" else max(-limit, min(limit, grad)) for grad in grads]
    length = math.sqrt(sum(grad * grad for grad in grads))
    if by_largest or sum_of_sizes or no_root:
        sizes = [abs(grad) for grad in grads] or [0.0]
        length = max(sizes) if by_largest else sum(sizes) if sum_of_sizes else length**2
    if length > limit or (always and length):
        return [grad * limit / length if not to_zero else 0.0 for grad in grads]
    return list(grads)


def _grads() -> Iterator[tuple[Any, ...]]:
    yield from (([], 5.0), ([3.0], 5.0), ([8.0], 5.0), ([-8.0], 5.0), ([0.0, 0.0], 5.0), ([3.0, 4.0], 5.0))
    yield from (([6.0, 8.0], 5.0), ([-6.0, 8.0], 2.0), ([0.3, 0.4], 1.0), ([1.0, 2.0, 2.0], 2.0), ([4.0, 4.0], 5.0))
    yield from (([0.6, -0.7, 0.2], 0.5), ([0.1, 10.0], 5.0), ([2.0, 1.0, -2.0, 4.0], 4.5))


ADAGRAD = Exercise(adagrad, lambda: _steps(((0.1, 1e-8), (0.5, 0.25), (1.0, 0.5))))
RMSPROP = Exercise(rmsprop, lambda: _steps(((0.1, 0.9, 1e-8), (0.5, 0.5, 0.25), (0.3, 0.75, 0.5))))
CLIP = Exercise(clip, _grads)
