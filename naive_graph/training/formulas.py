"""The update rules of the optimizers ("trainers"), as pure functions; and the cyclical learning rate.

A rule takes a weight w, its gradient g and its state, and returns the
new weight and the new state. It is plain arithmetic, so floats, NumPy arrays
and graph nodes all work. Nothing is changed in place.
"""

from __future__ import annotations

from typing import Any

from ..core.catalogue import maximum, sqrt
from ..core.rules import Arithmetic


def sgd(w: Any, g: Any, *, rate: Any = 0.1) -> tuple[Any]:
    """w <- w - rate * g. It has no state.

    >>> from naive_graph.training.formulas import sgd
    >>> sgd(1.0, 2.0)
    (0.8,)
    """
    return (w - rate * g,)


def momentum(w: Any, g: Any, v: Any, *, rate: Any = 0.01, mom: Any = 0.9) -> tuple[Any, Any]:
    """v <- mom * v - rate * g; w <- w + v: Polyak's heavy ball. v: velocity.

    >>> from naive_graph.training.formulas import momentum
    >>> momentum(1.0, 2.0, 0.0, rate=0.5)
    (0.0, -1.0)
    """
    v = mom * v - rate * g
    return w + v, v


def adagrad(w: Any, g: Any, s: Any, *, rate: Any = 0.1, eps: Any = 1e-20) -> tuple[Any, Any]:
    """w <- w - rate * g / sqrt(s + eps), where s sums every g**2 so far.

    w, g, s: floats, arrays of one shape, or nodes. Returns (w, s).
    Source: Duchi, Hazan & Singer, JMLR 12 (2011).

    >>> from naive_graph.training.formulas import adagrad
    >>> adagrad(1.0, 2.0, 0.0)
    (0.9, 4.0)
    """
    s = s + g * g
    return w - rate * g / sqrt_of_any(s + eps), s


def adadelta(w: Any, g: Any, s: Any, d: Any, *, eps: Any = 1e-6, rho: Any = 0.95) -> tuple[Any, Any, Any]:
    """w <- w - g * sqrt(d + eps) / sqrt(s + eps): the step takes its unit from earlier steps, so there is no rate.

    s: the moving average of g**2; d: that of the squared steps. Returns (w, s, d).
    Source: Zeiler, arXiv:1212.5701 (2012).
    """
    s = rho * s + (1 - rho) * (g * g)
    step = -(g * sqrt_of_any(d + eps)) / sqrt_of_any(s + eps)
    return w + step, s, rho * d + (1 - rho) * (step * step)


def rmsprop(w: Any, g: Any, s: Any, *, rate: Any = 0.1, eps: Any = 1e-20, rho: Any = 0.95) -> tuple[Any, Any]:
    """w <- w - rate * g / sqrt(s + eps), where s is the moving average of g**2. Returns (w, s).

    Source: Tieleman & Hinton, COURSERA lecture 6.5 (2012).
    """
    s = rho * s + (1 - rho) * (g * g)
    return w - rate * g / sqrt_of_any(s + eps), s


def adam(
    w: Any, g: Any, m: Any, v: Any, *, t: int, rate: Any = 0.001, beta1: Any = 0.9, beta2: Any = 0.999, eps: Any = 1e-8
) -> tuple[Any, Any, Any]:
    """w <- w - rate * sqrt(1 - beta2**t) / (1 - beta1**t) * m / (sqrt(v) + eps).

    m, v: moving averages of g and g**2; the factor corrects their bias towards
    0, where they begin. t: the number of this update, from 1. Returns (w, m, v).
    Source: Kingma & Ba, arXiv:1412.6980 (2014).
    """
    m = beta1 * m + (1 - beta1) * g
    v = beta2 * v + (1 - beta2) * (g * g)
    bias_correction = (1 - beta2**t) ** 0.5 / (1 - beta1**t)
    return w - rate * bias_correction * m / (sqrt_of_any(v) + eps), m, v


def cyclical_rate(it: Any, *, low: float = 0.01, high: float = 0.1, step_size: float = 2000, gamma: float = 1.0) -> Any:
    """A learning rate that rises from low to high in step_size updates, and falls again (triangular).

    it: the number of the update, from 0: `program.minimize(lambda w, g, *, t: w - cyclical_rate(t - 1) * g)`.

    Source: Smith, arXiv:1506.01186 (2015).

    >>> [round(cyclical_rate(it, step_size=2), 3) for it in range(3)]
    [0.01, 0.055, 0.1]
    """
    cycle = 1 + it // (2 * step_size)
    distance_from_peak = abs(it / step_size - 2 * cycle + 1)
    return low + (high - low) * maximum(0.0, 1 - distance_from_peak) * gamma**it


def sqrt_of_any(x: Any) -> Any:
    """The square root of a number, an array or a node."""
    if isinstance(x, float | int | Arithmetic):
        return sqrt(x)
    import numpy

    return numpy.sqrt(x)
