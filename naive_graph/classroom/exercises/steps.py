"""One step of two optimisers: momentum and Adam."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator, Sequence
from typing import Any

from ..cases import ExerciseCase, plain_case
from ..exercise import Exercise


def momentum(
    w: Any, g: Any, v: Any, rate: Any, mu: Any, *, signs: str = "", memory: str = "", rates: str = "", uses: str = "",
    returns: str = "",
) -> Any:  # fmt: skip
    """One step of momentum: v' = mu v - rate g, w' = w + v'. Return (new w, new v), and leave the given lists alone."""
    if memory == "swapped":
        rate, mu = mu, rate
    new_w, new_v = [], []
    for w_i, g_i, v_i in zip(w, g, v):
        push = rate * g_i if not rates else _push(rates, rate, g_i, mu)
        kept = mu * v_i if not memory else _kept(memory, mu, v_i, w_i)
        speed = kept + push if signs in ("plus_gradient", "both") else kept - push
        move = speed if not uses else _move(uses, speed, v_i, *((mu, rate) if memory != "swapped" else (rate, mu)), g_i)
        if rates in ("rate_at_the_end", "average_then_rate"):
            move = rate * move
        new_w.append(w_i - move if signs in ("minus_velocity", "both") else w_i + move)
        new_v.append(v_i if returns == "old_v" else speed)
    if returns == "old_w":
        return list(w), new_v
    return (new_w, [a - b for a, b in zip(new_w, w)]) if returns == "difference" else (new_w, new_v)


def _push(rates: str, rate: float, g: float, mu: float) -> float:
    told = {"no_rate": g, "rate_at_the_end": g, "averages": (1 - mu) * rate * g, "averages_plain": (1 - mu) * g}
    told["average_then_rate"] = (1 - mu) * g
    return told[rates] if rates in told else mu * rate * g if rates == "mu_on_both" else g / rate


def _kept(memory: str, mu: float, v: float, w: float) -> float:
    return {"no_mu": v, "no_memory": 0.0, "one_minus": (1 - mu) * v, "of_w": mu * w, "swapped": mu * v}[memory]


def _move(uses: str, speed: float, v: float, mu: float, rate: float, g: float) -> float:
    told = {"old_velocity": v, "nesterov": mu * speed - rate * g, "gradient": -rate * g, "mu_again": mu * speed}
    return told[uses] if uses in told else speed - rate * g


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
        rate, b1, b2, eps = _set(settings, rate, b1, b2, eps)
    new_w, new_m, new_v = [], [], []
    for w_i, g_i, m_i, v_i in zip(w, g, m, v):
        m_next = b1 * m_i + (1 - b1) * g_i
        v_next = b2 * v_i + (1 - b2) * g_i * g_i
        if means:
            m_next, v_next = _averaged(means, m_i, v_i, g_i, b1, b2, m_next, v_next)
        m_hat, v_hat = m_next / (1 - b1**t), v_next / (1 - b2**t)
        if correction:
            m_hat, v_hat = _corrected(correction, m_next, v_next, b1, b2, t)
        if step in ("old_moments", "old_m", "gradient"):
            m_hat, v_hat = _stale(step, m_i, v_i, g_i, b1, b2, t, v_hat)
        move = rate * m_hat / (math.sqrt(v_hat) + eps) if not root else rate * m_hat / _root(root, v_hat, eps, b2, t)
        new_w.append(w_i + move if step == "uphill" else move if step == "move_only" else w_i - move)
        new_m.append(m_hat if returns in ("corrected", "corrected_m") else m_i if returns == "old_moments" else m_next)
        new_v.append(v_hat if returns in ("corrected", "corrected_v") else v_i if returns == "old_moments" else v_next)
    return (list(w), new_m, new_v) if returns == "old_w" else (new_w, new_m, new_v)


def _set(settings: str, rate: float, b1: float, b2: float, eps: float) -> tuple[float, float, float, float]:
    if settings == "swapped":
        return rate, b2, b1, eps
    fixed = {
        "fixed_rate": (0.001, b1, b2, eps),
        "fixed_betas": (rate, 0.9, 0.999, eps),
        "fixed_eps": (rate, b1, b2, 1e-8),
    }
    fixed |= {"no_rate": (1.0, b1, b2, eps), "one_beta": (rate, b1, b1, eps), "all_fixed": (0.001, 0.9, 0.999, 1e-8)}
    return fixed[settings]


def _averaged(
    means: str, m: float, v: float, g: float, b1: float, b2: float, m_next: float, v_next: float
) -> tuple[float, float]:
    """The new means of somebody who feeds or weighs them wrongly."""
    told = {"no_square": (m_next, b2 * v + (1 - b2) * g), "absolute": (m_next, b2 * v + (1 - b2) * abs(g))}
    told |= {"no_one_minus": (b1 * m + g, b2 * v + g * g), "m_squared": (m_next, b2 * v + (1 - b2) * m_next * m_next)}
    told |= {
        "turned": ((1 - b1) * m + b1 * g, (1 - b2) * v + b2 * g * g),
        "no_memory": ((1 - b1) * g, (1 - b2) * g * g),
    }
    told |= {"square_all": (m_next, b2 * v + ((1 - b2) * g) ** 2), "m_minus": (b1 * m - (1 - b1) * g, v_next)}
    told |= {"m_no_one_minus": (b1 * m + g, v_next), "v_no_one_minus": (m_next, b2 * v + g * g)}
    told |= {"adds_squares": (m_next, v + g * g)}
    return told[means] if means in told else ((m_next, b2 * v * v + (1 - b2) * g * g))


def _corrected(correction: str, m: float, v: float, b1: float, b2: float, t: float) -> tuple[float, float]:
    told = {
        "no_correction": (1.0, 1.0),
        "m_only": (1 - b1**t, 1.0),
        "v_only": (1.0, 1 - b2**t),
        "once": (1 - b1, 1 - b2),
    }
    told |= {
        "times_t": (1 - b1 * t or 1e-300, 1 - b2 * t or 1e-300),
        "from_zero": (1 - b1 ** (t + 1), 1 - b2 ** (t + 1)),
    }
    told |= {"same_beta": (1 - b1**t, 1 - b1**t), "no_one": (b1**t, b2**t), "plus": (1 + b1**t, 1 + b2**t)}
    told |= {"multiplies": (1 / (1 - b1**t), 1 / (1 - b2**t)), "exchanged": (1 - b2**t, 1 - b1**t)}
    told |= {"one_less": (1 - b1 ** (t - 1) or 0.0, 1 - b2 ** (t - 1) or 0.0)}
    for_m, for_v = told[correction]
    return m / for_m, v / for_v


def _root(root: str, v_hat: float, eps: float, b2: float, t: float) -> float:
    told = {"no_root": v_hat + eps, "inside": math.sqrt(v_hat + eps), "no_eps": math.sqrt(v_hat)}
    told |= {"minus_eps": math.sqrt(v_hat) - eps, "square_inside": math.sqrt(v_hat + eps * eps)}
    return told[root] if root in told else math.sqrt(v_hat) + eps / math.sqrt(1 - b2**t)


def _stale(
    step: str, m: float, v: float, g: float, b1: float, b2: float, t: float, v_hat: float
) -> tuple[float, float]:
    if step == "gradient":
        return g, v_hat
    return m / (1 - b1**t), v / (1 - b2**t) if step == "old_moments" else v_hat


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
