"""Initialisers: functions that make initial weights. Source of glorot: Glorot & Bengio, AISTATS 2010."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..errors import TrainingError

Initialiser = Callable[[Any, Sequence[int]], Any]  # (random generator, shape) -> array


def normal(mean: float = 0.0, variance: float = 1.0) -> Initialiser:
    """Normally distributed numbers; note: the second argument is the variance, not the standard deviation."""
    return lambda random, shape: random.normal(mean, variance**0.5, size=shape)


def uniform(low: float = -1.0, high: float = 1.0) -> Initialiser:
    """Uniformly distributed numbers between two bounds."""
    return lambda random, shape: random.uniform(low, high, size=shape)


def const(value: float = 0.0) -> Initialiser:
    """One number everywhere. Random numbers are drawn all the same: so later weights do not depend on it."""
    return lambda random, shape: random.uniform(size=shape) * 0.0 + value


def identity() -> Initialiser:
    """Ones on the diagonal of a square matrix, zeros elsewhere."""

    def make(random: Any, shape: Sequence[int]) -> Any:
        import numpy as np

        if len(shape) != 2 or shape[0] != shape[1]:
            raise TrainingError(f"identity() fills a square matrix, not shape {tuple(shape)}.")
        return np.eye(shape[0])

    return make


def glorot(gain: float = 1.0) -> Initialiser:
    """Uniform numbers in [-b, b], with b such that a layer about preserves the variance of activations and gradients.

    b = gain * sqrt(3 * rank) / sqrt(sum of the extents); for a convolution's
    weights (height, width, in, out), gain * sqrt(6) / sqrt(height * width * (in + out)).
    """

    def make(random: Any, shape: Sequence[int]) -> Any:
        bound = gain * glorot_bound(shape)
        return random.uniform(-bound, bound, size=shape)

    return make


def glorot_bound(shape: Sequence[int]) -> float:
    """The bound b of `glorot` for gain 1.

    >>> round(glorot_bound((3, 3)), 12), round(glorot_bound((3, 3, 1, 1)), 12)
    (1.0, 0.57735026919)
    """
    if len(shape) == 4:
        return float((6.0 / (shape[0] * shape[1] * (shape[2] + shape[3]))) ** 0.5)
    return float((3.0 * len(shape) / sum(shape)) ** 0.5)
