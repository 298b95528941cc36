"""Version counters of leaves: a cached value is stale once a leaf that it depends on was written.

Every write sets the leaf's version to the next tick of one global counter. An array with other
holders (a Model's weights, or one that `leaf.value` returned) can be written in place without notice:
a `Watch` compares it with a copy whenever a value that depends on it is requested.
"""

from __future__ import annotations

from itertools import count
from typing import Any

import numpy as np

from .evaluation.arrays import library_of

ticks = count(1)


class Clock:
    """The tick of the last write to any leaf. A value computed later is fresh if it depends on no watched array."""

    written = 0


def write_tick() -> int:
    """Record a write that happens now; returns its tick, the leaf's new version."""
    Clock.written = tick = next(ticks)
    return tick


class Watch:
    """Detects in-place writes to an array: a copy of its contents when last checked, and their version."""

    __slots__ = ("seen", "version")

    def __init__(self, seen: Any = None, version: int = 0) -> None:
        self.seen = seen
        self.version = version

    def look(self, array: Any) -> int:
        """The version of the array's current contents: a new tick if they differ from the copy."""
        if array is None or self.seen is None or not is_same(array, self.seen):
            self.seen, self.version = own_copy(array), next(ticks)
        return self.version


def is_same(array: Any, other: Any) -> bool:
    """Whether two arrays are equal; NumPy's bit by bit, so -0.0 differs from 0.0 and NaN equals itself."""
    if type(array) is np.ndarray:
        return bool(array.shape == other.shape and array.tobytes() == other.tobytes())
    return bool(array.shape == other.shape and (array == other).all())


def own_copy(array: Any) -> Any:
    """A private copy with the same memory layout; immutable arrays (JAX, Dask) are returned as they are."""
    if isinstance(array, np.ndarray):
        return np.array(array)
    return array.detach().clone() if library_of(array) == "torch" else array
