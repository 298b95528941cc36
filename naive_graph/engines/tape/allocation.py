"""Where numbers lie, so that a machine finds those together that it needs together."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from .flat import Array
from .tiles import Outer, Step

LINE = 64  # bytes of a line of the cache


def aligned(size: int) -> Array:
    """So many zeros, that begin where a line of the cache does: a register then never lies across two of them."""
    room = np.zeros(8 * size + LINE, np.uint8)
    start = -room.ctypes.data % LINE
    return room[start : start + 8 * size].view(np.float64)


def runs_of(places: Array) -> list[tuple[int, int]]:
    """Where runs of neighbours begin and end.

    >>> runs_of(np.array([5, 6, 7, 2, 3]))
    [(0, 3), (3, 5)]
    """
    breaks = (np.flatnonzero(np.diff(places) != 1) + 1).tolist()
    return [(first, last) for first, last in zip([0, *breaks], [*breaks, len(places)], strict=True) if last > first]


def side_by_side(rows: Iterable[int], steps: Iterable[Step], wanted: Sequence[int]) -> list[int]:
    """Sums over the samples in the order in which they are handed out; a line of an outer product stays whole.

    >>> side_by_side([5, 6, 7, 8], [Outer([1], [2, 3], [[8, 6]])], wanted=[7, 6, 5, 8])
    [7, 5, 8, 6]
    """
    order = {row: place for place, row in reversed(list(enumerate(wanted)))}
    lines = [line for step in steps if isinstance(step, Outer) for line in step.results]
    lines += [[row] for row in set(rows).difference(*lines)]
    lines.sort(key=lambda line: (order.get(line[0], len(order)), line[0]))
    return [row for line in lines for row in line]
