"""A section of scalars as instructions: one for each run of rows.

The rows of a run get places side by side, so results are stored in one sweep.
Where each finds its operands is written into one long index.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..llvm.machine import machine
from ..llvm.python import Bytes, Ints
from .flat import Array, Flat
from .kernels import FIRST_KERNEL, LONG_DOT
from .operators import Shape
from .runs import LONG, Runs


class Encoded(NamedTuple):
    """Instructions, five numbers each, and the index that they read."""

    code: Array
    index: Array


def encoded(flat: Flat, runs: Runs, slots: Array, base: int, kernel_of: dict[Shape, int]) -> Encoded:
    """The runs as instructions. slots: where each row's value is. base: how long the index is already."""
    long = np.array([shape == LONG for shape in runs.shapes], np.uint8)
    bases = np.empty(len(runs.shapes) + 1, np.int32)
    rows_per_run = np.diff(runs.starts)
    index = np.empty(int(np.diff(flat.starts)[runs.order].sum()) + int(rows_per_run[long == 1].sum()), np.int32)
    used = write_index(len(runs.shapes), runs.starts, runs.order, long, flat.starts, flat.operands, slots, bases, index)
    what = [LONG_DOT if shape == LONG else FIRST_KERNEL + kernel_of[shape] for shape in runs.shapes]
    code = np.zeros((len(runs.shapes), 5), np.int32)
    if len(what):
        code[:, 0], code[:, 1] = what, slots[runs.order[runs.starts[:-1]]]
        code[:, 2], code[:, 3] = rows_per_run, bases[:-1] + base
    return Encoded(code.reshape(-1), index[:used])


@machine
def write_index(
    runs: int, run_starts: Ints, order: Ints, long: Bytes, starts: Ints, operands: Ints, slots: Ints, bases: Ints,
    index: Ints,
) -> int:  # fmt: skip
    """For each run the first operand of every row, then the second, and so on; of long dots, row by row."""
    used = 0
    for run in range(runs):
        bases[run] = used
        first, last = run_starts[run], run_starts[run + 1]
        if long[run]:
            for at in range(first, last):
                row = order[at]
                index[used] = (starts[row + 1] - starts[row]) // 2
                used += 1
                for edge in range(starts[row], starts[row + 1]):
                    index[used] = slots[operands[edge]] if operands[edge] >= 0 else -1
                    used += 1
        else:
            for place in range(starts[order[first] + 1] - starts[order[first]]):
                if operands[starts[order[first]] + place] >= 0:
                    for at in range(first, last):
                        index[used] = slots[operands[starts[order[at]] + place]]
                        used += 1
    return used
