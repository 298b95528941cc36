"""Whether a plan repeats itself, so that looking for samples and layers may pay.

    loss = 0
    for x in data:
        loss = loss + (w * x).sin()     the same term again and again: it does
        y = (y + a) * sin(y * b)        a chain: it does not

A hash of what stands below each row, whatever its leaves are, marks the terms
of all sums. Where one mark comes so often that its terms make up a good part of
the plan, the passes are worth their time and room. A plan whose sums all have
terms of their own is run as it stands (`windows`).
"""

from __future__ import annotations

import numpy as np

from ..llvm.machine import machine
from ..llvm.typed import Ints, Longs
from .flat import ADD, Flat, PlanColumns
from .isomorphism import MASK

PART = 16  # a part of the plan, one in so many rows, that is worth looking at
SLOTS = 1 << 18  # marks that are counted at once; a rare one makes way for others
MOST = 1 << 20  # rows below a term that are counted


def repeats(flat: Flat) -> bool:
    """Whether terms that look alike make up a good part of the plan's rows."""
    rows = len(flat)
    hashes, sizes = np.empty(rows, np.int64), np.empty(rows, np.int32)
    marks, counts = np.zeros(SLOTS, np.int64), np.zeros(SLOTS, np.int64)
    return bool(alike_terms(rows, flat.columns, hashes, sizes, marks, counts))


@machine
def alike_terms(rows: int, of: PlanColumns, hashes: Longs, sizes: Ints, marks: Longs, counts: Longs) -> int:
    """1 as soon as the terms of one mark are many enough. marks, counts: room for SLOTS of each, all 0.

    A leaf alone is no term, and a row counts once, however many sums it is in:
    then its size is negative. A mark that finds its slot taken wears the
    other's count down, and takes the slot when nothing is left of it.
    """
    for row in range(rows):
        mixed = of.kinds[row] + 1013
        size = 1
        for at in range(of.starts[row], of.starts[row + 1]):
            below = of.operands[at]
            mixed = ((mixed * 1000003) ^ hashes[below]) & MASK  # no bit is lost: a long chain never comes round
            mixed = mixed ^ (mixed >> 21)
            size += sizes[below] if sizes[below] > 0 else -sizes[below]
        hashes[row] = mixed
        sizes[row] = size if size < MOST else MOST
        if of.kinds[row] == ADD:
            for at in range(of.starts[row], of.starts[row + 1]):
                mark = hashes[of.operands[at]]
                weight = sizes[of.operands[at]]
                if weight > 1:
                    sizes[of.operands[at]] = -weight
                    slot = (mark ^ (mark >> 23)) % SLOTS
                    if marks[slot] == mark:
                        counts[slot] += 1
                        if counts[slot] > 3 and counts[slot] * weight * PART >= rows:
                            return 1
                    elif counts[slot] > 0:
                        counts[slot] -= 1
                    else:
                        marks[slot] = mark
                        counts[slot] = 1
    return 0
