"""Examples that a row is checked with: shapes, and the numbers that fill them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np


class Example(NamedTuple):
    """Operands (shapes, or arrays where the numbers matter) and properties that a row is checked with."""

    operands: tuple[Any, ...]
    properties: Mapping[str, Any]


def example(*operands: Any, **properties: Any) -> Example:
    """An example of a row: a tuple is a shape, a list several operands, an array itself."""
    return Example(operands, properties)


def numbers(shape: Sequence[int], place: int, domain: tuple[float, float]) -> Any:
    """An operand for an example: entries all different, and not near those of other operands or whole numbers."""
    size = int(np.prod(shape, dtype=int))
    low, high = domain
    steps = np.random.default_rng(size + 31 * place).permutation(size)
    return (low + (high - low) * (steps + 0.3137 + 0.0913 * (place % 7)) / max(size, 1)).reshape(shape)
