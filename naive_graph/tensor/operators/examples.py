"""Examples for checks of operators: operand shapes (or arrays) and properties; and arrays to fill the shapes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np


class Example(NamedTuple):
    """Operands (shapes, or arrays if the numbers matter) and properties of one example call."""

    operands: tuple[Any, ...]
    properties: Mapping[str, Any]


def example(*operands: Any, **properties: Any) -> Example:
    """An example call of an operator: a tuple is a shape, a list of tuples a list operand, an array is used as it is.

    >>> example((2, 3), [1.0, 2.0], axis=1)
    Example(operands=((2, 3), [1.0, 2.0]), properties={'axis': 1})
    """
    return Example(operands, properties)


def example_array(shape: Sequence[int], place: int, domain: tuple[float, float]) -> Any:
    """Fill a shape for an example: distinct entries, away from integers and from other operands' entries."""
    size = int(np.prod(shape, dtype=int))
    low, high = domain
    steps = np.random.default_rng(size + 31 * place).permutation(size)
    return (low + (high - low) * (steps + 0.3137 + 0.0913 * (place % 7)) / max(size, 1)).reshape(shape)
