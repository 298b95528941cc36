"""Items by key, in two columns: which edges lead into each row, and the like."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from itertools import accumulate


def packed(keys: Sequence[int], items: Sequence[int], size: int) -> tuple[array[int], array[int]]:
    """Items grouped by key, in order: those of key k are items[starts[k]:starts[k+1]].

    >>> packed([1, 0, 1], [7, 8, 9], 2)
    (array('i', [0, 1, 3]), array('i', [8, 7, 9]))
    """
    counts = [0] * (size + 1)
    for key in keys:
        counts[key + 1] += 1
    places = sorted(range(len(keys)), key=keys.__getitem__)  # stable, and quick on what is sorted already
    return array("i", accumulate(counts)), array("i", map(items.__getitem__, places))
