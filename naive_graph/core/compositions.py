"""Functions of numbers that are made of rules: activations and the like.

Each is a method of nodes and tensors too; of a tensor it is one node.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial, wraps
from typing import Any

from .catalogue import erf, expm1, greater, sigmoid, where
from .number import number
from .rules import Arithmetic, called

Value = Any

COMPOSITIONS: list[Callable[..., Value]] = []


def composed(function: Callable[..., Value]) -> Callable[..., Value]:
    """A function that is made of rules, checked before anything is built; a method of nodes and tensors too."""

    @wraps(function)
    def checked(*operands: Any, name: str | None = None, **named: Any) -> Value:
        for each in operands:
            if isinstance(each, Arithmetic) and hasattr(each, "compose"):  # a tensor makes one node of it
                return each.compose(function.__name__, *operands, name=name, **named)
        given = [x if isinstance(x, Arithmetic) else number(x, f"'{function.__name__}'") for x in operands]
        numbers = {key: number(x, f"'{function.__name__}', {key}") for key, x in named.items()}
        if name is not None:
            return called(partial(function, **numbers), given, name, function.__name__)
        return function(*given, **numbers)

    COMPOSITIONS.append(checked)
    setattr(Arithmetic, function.__name__, checked)
    return checked


@composed
def gelu(x: Value) -> Value:
    """x times the normal distribution function of x: x * (1 + erf(x / sqrt(2))) / 2."""
    return 0.5 * x * (1.0 + erf(math.sqrt(0.5) * x))


@composed
def silu(x: Value, alpha: float = 1.0) -> Value:
    """x * sigmoid(alpha * x), also called swish."""
    return x * sigmoid(x if alpha == 1.0 else alpha * x)


@composed
def leaky_relu(x: Value, alpha: float = 0.01) -> Value:
    """x where x > 0, else alpha * x."""
    return where(greater(x, 0.0), x, alpha * x)


@composed
def elu(x: Value, alpha: float = 1.0) -> Value:
    """x where x > 0, else alpha * (exp(x) - 1)."""
    below = expm1(x) if alpha == 1.0 else alpha * expm1(x)
    return where(greater(x, 0.0), x, below)


@composed
def selu(x: Value, alpha: float = 1.67326319217681884765625, gamma: float = 1.05070102214813232421875) -> Value:
    """gamma * elu(x, alpha), which keeps a layer's mean 0 and variance 1. Source: Klambauer et al., 2017."""
    return gamma * elu(x, alpha)
