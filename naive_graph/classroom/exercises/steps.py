"""One step of two optimisers: momentum and Adam."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator, Sequence
from typing import Any

from ..cases import ExerciseCase, plain_case
from ..exercise import Exercise, instead


def momentum(
    w: Any, g: Any, v: Any, rate: Any, mu: Any, *, signs: str = "", memory: str = "", rates: str = "", uses: str = "",
    returns: str = "",
) -> Any:  # fmt: skip
    """One step of momentum: v' = mu v - rate g, w' = w + v'. Return (new w, new v), and leave the given lists alone."""
    if memory == "swapped":
        rate, mu = mu, rate
    new_w, new_v = [], []
    for w_i, g_i, v_i in zip(w, g, v):
        push = rate * g_i if not rates else instead(momentum, "rates", rates, rate=rate, g=g_i, mu=mu)
        kept = mu * v_i if not memory else instead(momentum, "memory", memory, mu=mu, v=v_i, w=w_i)
        speed = kept + push if signs in ("plus_gradient", "both") else kept - push
        move = (
            speed if not uses else _moved(uses, speed, v_i, *((mu, rate) if memory != "swapped" else (rate, mu)), g_i)
        )
        if rates in ("rate_at_the_end", "average_then_rate"):
            move = rate * move
        new_w.append(w_i - move if signs in ("minus_velocity", "both") else w_i + move)
        new_v.append(v_i if returns == "old_v" else speed)
    if returns == "old_w":
        return list(w), new_v
    return (new_w, [a - b for a, b in zip(new_w, w)]) if returns == "difference" else (new_w, new_v)


def _moved(uses: str, speed: float, v: float, mu: float, rate: float, g: float) -> Any:
    return instead(momentum, "uses", uses, speed=speed, v=v, mu=mu, rate=rate, g=g)


def _momentum_cases() -> Iterator[ExerciseCase | Sequence[Any]]:
    chance = random.Random(3)
    for size, rate, mu in [(1, 0.1, 0.9), (1, 0.5, 0.0), (1, 0.3, 1.0), (2, 0.1, 0.9), (0, 0.1, 0.9)] + [
        (size, rate, mu) for size in (1, 2, 3, 5) for rate in (0.01, 0.3, 1.0) for mu in (0.5, 0.9)
    ]:
        w, g, v = ([round(chance.gauss(0, 2), 2) for _ in range(size)] for _ in range(3))
        yield w, g, v, rate, mu
    yield plain_case("w = [1.0], g = [2.0], v = [0.0], rate = 0.1, mu = 0.9", [1.0], [2.0], [0.0], 0.1, 0.9)


MOMENTUM = Exercise(momentum, _momentum_cases)


def adam(
    w: Any, g: Any, m: Any, v: Any, t: Any, rate: float = 0.001, b1: float = 0.9, b2: float = 0.999, eps: float = 1e-8,
    *, correction: str = "", means: str = "", root: str = "", step: str = "", settings: str = "", returns: str = "",
) -> Any:  # fmt: skip
    """One step of Adam, number t (1 for the first), with bias correction. Return (new w, new m, new v) as new lists.

    m' = b1 m + (1 - b1) g, v' = b2 v + (1 - b2) g^2,
    w' = w - rate (m' / (1 - b1^t)) / (sqrt(v' / (1 - b2^t)) + eps)
    """
    if settings:
        rate, b1, b2, eps = instead(adam, "settings", settings, rate=rate, b1=b1, b2=b2, eps=eps)
    new_w, new_m, new_v = [], [], []
    for w_i, g_i, m_i, v_i in zip(w, g, m, v):
        m_next = b1 * m_i + (1 - b1) * g_i
        v_next = b2 * v_i + (1 - b2) * g_i * g_i
        if means:
            m_next, v_next = instead(
                adam, "means", means, m=m_i, v=v_i, g=g_i, b1=b1, b2=b2, m_next=m_next, v_next=v_next
            )
        m_hat, v_hat = m_next / (1 - b1**t), v_next / (1 - b2**t)
        if correction:
            for_m, for_v = instead(adam, "correction", correction, b1=b1, b2=b2, t=t)
            m_hat, v_hat = m_next / for_m, v_next / for_v
        if step in ("old_moments", "old_m", "gradient"):
            m_hat, v_hat = instead(adam, "step", step, m=m_i, v=v_i, g=g_i, b1=b1, b2=b2, t=t, v_hat=v_hat)
        move = rate * m_hat / (math.sqrt(v_hat) + eps) if not root else rate * m_hat / _root(root, v_hat, eps, b2, t)
        new_w.append(w_i + move if step == "uphill" else move if step == "move_only" else w_i - move)
        new_m.append(m_hat if returns in ("corrected", "corrected_m") else m_i if returns == "old_moments" else m_next)
        new_v.append(v_hat if returns in ("corrected", "corrected_v") else v_i if returns == "old_moments" else v_next)
    return (list(w), new_m, new_v) if returns == "old_w" else (new_w, new_m, new_v)


def _root(root: str, v_hat: float, eps: float, b2: float, t: float) -> Any:
    return instead(adam, "root", root, v_hat=v_hat, eps=eps, b2=b2, t=t)


def _adam_cases() -> Iterator[ExerciseCase]:
    chance = random.Random(5)
    for i in range(32):
        size, t = (1, 1, 2, 0, 3)[i % 5], (1, 1, 2, 3, 10)[i // 5 % 5]
        w, g, m = ([round(chance.gauss(0, 1), 2) for _ in range(size)] for _ in range(3))
        v = [round(chance.random() + 0.2, 2) for _ in range(size)]
        if t == 1:
            m, v = [0.0] * size, [0.0] * size
        more = ((0.1, 0.9, 0.99, 0.01), (0.2, 0.6, 0.8, 0.1), ())[i % 3]
        g = [1e-8 * each for each in g] if i % 9 == 8 else g
        told = [
            "there is more than one number" * (size > 1),
            "the lists are empty" * (not size),
            "t is above 1" * (t > 1),
        ]
        told += ["there is a number" * (size > 0), "rate, b1, b2, eps are given" * bool(more)]
        text = f"w = {w}, g = {g}, m = {m}, v = {v}, t = {t}" + (
            ", rate, b1, b2, eps = {}, {}, {}, {}".format(*more) if more else ""
        )
        yield plain_case(text, w, g, m, v, t, *more, features=";".join(told))


ADAM = Exercise(adam, _adam_cases)
