"""Where numbers lie, so that a machine finds those together that it needs together."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

import numpy as np

from .flat import NONE, Array
from .tiles import Outer, Step

LINE = 64  # bytes of a line of the cache


def aligned(size: int, kind: str = "float64") -> Array:
    """So many zeros, that begin where a line of the cache does: a register then never lies across two of them."""
    many = size * np.dtype(kind).itemsize
    room = np.zeros(many + LINE, np.uint8)
    start = -room.ctypes.data % LINE
    return room[start : start + many].view(kind)


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


def with_room(rows: Sequence[int], results: Sequence[int]) -> tuple[list[int], int]:
    """The rows, with room for the other results around those that lie there in order; and where the results begin.

    There is room for one number more behind them. Without half of the results the rows stay as they are, with NONE.

    >>> with_room([7, 4, 5, 6, 8], results=[9, 4, 5, 6])
    ([7, -1, 4, 5, 6, -1, 8], 1)
    >>> with_room([7, 4, 5], results=[9, 8, 6, 4])
    ([7, 4, 5], -1)
    """
    place_of = {row: place for place, row in enumerate(results)}
    found = [(place_of[row] - at, at) for at, row in enumerate(rows) if row in place_of]
    ((ahead, count),) = Counter(ahead for ahead, _ in found).most_common(1) or [(0, 0)]
    ats = [at for each, at in found if each == ahead]
    if not ats or 2 * count < len(results) or ats[-1] - ats[0] + 1 != count:
        return list(rows), NONE
    first, last = ats[0], ats[-1] + 1
    before, behind = first + ahead, len(results) - last - ahead
    made = [*rows[:first], *[NONE] * before, *rows[first:last], *[NONE] * (behind + 1), *rows[last:]]
    return made, first
