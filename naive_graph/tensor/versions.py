"""Versions of leaves: what was computed from a leaf is stale once the leaf is written.

Every write gives a leaf a version, the next tick of one clock. An array that others
hold too, as a Model's or one that `leaf.value` handed out, may be written in place: it
is compared with what it held before whenever somebody asks for what depends on it.
"""

from __future__ import annotations

from itertools import count
from typing import Any

import numpy as np

ticks = count(1)


class Clock:
    """When a leaf was last set. What was computed later is fresh, if it depends on no watched array."""

    written = 0


def write_tick() -> int:
    """The version of a write that happens now."""
    Clock.written = tick = next(ticks)
    return tick


class Watch:
    """What an array that may be written in place held when it was last looked at, and the version of that."""

    __slots__ = ("seen", "version")

    def __init__(self, seen: Any = None, version: int = 0) -> None:
        self.seen = seen
        self.version = version

    def look(self, array: Any) -> int:
        """The version of the numbers that the array holds now."""
        if array is None or self.seen is None or not is_same(array, self.seen):
            self.seen, self.version = own_copy(array), next(ticks)
        return self.version


def is_same(array: Any, other: Any) -> bool:
    """Whether two arrays hold the same numbers: -0.0 is not 0.0, and NaN is itself."""
    if type(array) is np.ndarray:
        return bool(array.shape == other.shape and array.tobytes() == other.tobytes())
    return bool(array.shape == other.shape and (array == other).all())


def own_copy(array: Any) -> Any:
    """A copy that nobody else holds, its axes in the same order in memory; what nobody can write into is itself."""
    if isinstance(array, np.ndarray):
        return np.array(array)
    return array.detach().clone() if is_torch(array) else array


def is_torch(array: object) -> bool:
    """Whether it is an array of torch, which may be written in place; those of JAX and Dask may not."""
    return type(array).__module__.partition(".")[0] == "torch"
