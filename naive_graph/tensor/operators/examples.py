"""Example calls of operators, on which check.py checks them: operand shapes (or arrays) and properties.

example((2, 3), axis=1)        a call with an operand of shape (2, 3), filled by `example_array`, and axis=1
"""

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


def example_array(shape: Sequence[int], position: int, domain: tuple[float, float]) -> Any:
    """An array of this shape for an example: its entries lie in `domain`, evenly spaced, in a random order.

    position: the operand's position. Each operand has an offset and an order of its own, so that entries are equal
    neither to one another nor to those of other operands: a derivative is not tested where two entries tie.
    """
    size = int(np.prod(shape, dtype=int))
    low, high = domain
    steps = np.random.default_rng(size + 31 * position).permutation(size)
    offset = 0.3137 + 0.0913 * (position % 7)  # between 0 and 1; no round numbers, so that few entries are whole
    return (low + (high - low) * (steps + offset) / max(size, 1)).reshape(shape)
