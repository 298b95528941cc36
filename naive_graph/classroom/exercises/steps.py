"""Exercises of lesson 7: one step of momentum, Adam, Adagrad and RMSProp, and gradient clipping.

A solution's docstring is the statement that learners read; a generator yields the test cases, or their arguments.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

from ..cases import ExerciseCase, make_random, plain_case
from ..exercise import Exercise


def momentum(w, g, v, rate, mu):
    """One step of momentum: v' = mu v - rate g, w' = w + v'. Return (new w, new v), and leave the given lists alone."""
    new_w, new_v = [], []
    for w_i, g_i, v_i in zip(w, g, v):
        push = rate * g_i
        kept = mu * v_i
        speed = kept - push
        move = speed
        new_w.append(w_i + move)
        new_v.append(speed)
    return new_w, new_v


def _momentum_cases() -> Iterator[ExerciseCase | Sequence[Any]]:
    chance = make_random(3)
    for size, rate, mu in [(1, 0.1, 0.9), (1, 0.5, 0.0), (1, 0.3, 1.0), (2, 0.1, 0.9), (0, 0.1, 0.9)] + [
        (size, rate, mu) for size in (1, 2, 3, 5) for rate in (0.01, 0.3, 1.0) for mu in (0.5, 0.9)
    ]:
        w, g, v = ([round(chance.gauss(0, 2), 2) for _ in range(size)] for _ in range(3))
        yield w, g, v, rate, mu
    yield plain_case("w = [1.0], g = [2.0], v = [0.0], rate = 0.1, mu = 0.9", [1.0], [2.0], [0.0], 0.1, 0.9)


MOMENTUM = Exercise(momentum, _momentum_cases)


def adam(w, g, m, v, t, rate=0.001, b1=0.9, b2=0.999, eps=1e-08):
    """One step of Adam, number t (1 for the first), with bias correction. Return (new w, new m, new v) as new lists.

    m' = b1 m + (1 - b1) g, v' = b2 v + (1 - b2) g^2,
    w' = w - rate (m' / (1 - b1^t)) / (sqrt(v' / (1 - b2^t)) + eps)
    """
    new_w, new_m, new_v = [], [], []
    for w_i, g_i, m_i, v_i in zip(w, g, m, v):
        m_next = b1 * m_i + (1 - b1) * g_i
        v_next = b2 * v_i + (1 - b2) * g_i * g_i
        m_hat, v_hat = m_next / (1 - b1**t), v_next / (1 - b2**t)
        move = rate * m_hat / (math.sqrt(v_hat) + eps)
        new_w.append(w_i - move)
        new_m.append(m_next)
        new_v.append(v_next)
    return new_w, new_m, new_v


def _adam_cases() -> Iterator[ExerciseCase]:
    chance = make_random(5)
    for i in range(32):
        size, t = (1, 1, 2, 0, 3)[i % 5], (1, 1, 2, 3, 10)[i // 5 % 5]
        w, g, m = ([round(chance.gauss(0, 1), 2) for _ in range(size)] for _ in range(3))
        v = [round(chance.random() + 0.2, 2) for _ in range(size)]
        if t == 1:
            m, v = [0.0] * size, [0.0] * size
        more = ((0.1, 0.9, 0.99, 0.01), (0.2, 0.6, 0.8, 0.1), ())[i % 3]
        g = [1e-8 * each for each in g] if i % 9 == 8 else g
        features = ["there is more than one number" * (size > 1), "the lists are empty" * (not size)]
        features += ["t is above 1" * (t > 1), "there is a number" * (size > 0)]
        features += ["rate, b1, b2, eps are given" * bool(more)]
        text = f"w = {w}, g = {g}, m = {m}, v = {v}, t = {t}"
        text += ", rate, b1, b2, eps = {}, {}, {}, {}".format(*more) if more else ""
        yield plain_case(text, w, g, m, v, t, *more, features=";".join(features))


ADAM = Exercise(adam, _adam_cases)


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
