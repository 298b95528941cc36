"""A section of scalars as instructions: one for each run of rows.

The rows of a run get places side by side, so results are stored in one sweep.
Where each finds its operands is written into one long index. Behind all scalars
stand -0.0, 1 and -1, with which sums and products are filled up to dots.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..llvm.machine import machine
from ..llvm.python import Bytes, Ints
from .flat import DOT, MUL, NEG, SUB, Array, Columns, Flat
from .kernels import FIRST_KERNEL, LONG_DOT
from .operators import Shape
from .runs import LONG, Runs

FEW = 4  # rows of a run that are quicker one by one


class Encoded(NamedTuple):
    """Instructions, five numbers each, and the index that they read."""

    code: Array
    index: Array


def encoded(flat: Flat, runs: Runs, slots: Array, base: int, kernel_of: dict[Shape, int], nothing: int) -> Encoded:
    """The runs as instructions.

    slots: where each row's value is. base: how long the index is already.
    nothing: where -0.0 is; 1 and -1 follow.
    """
    long = np.array([shape == LONG for shape in runs.shapes], np.uint8)
    bases = np.empty(len(runs.shapes) + 1, np.int32)
    rows_per_run = np.diff(runs.starts)
    terms = np.array([len(shape.terms) if shape.kind == DOT else 0 for shape in runs.shapes], np.int32)
    degrees = np.diff(flat.starts)[runs.order]
    index = np.empty(int(degrees.sum()) + len(degrees) + 2 * int((terms * rows_per_run).sum()), np.int32)
    each = Each(runs.starts, runs.order, long, terms, bases)
    used = write_index(len(runs.shapes), each, flat.columns, slots, nothing, index)
    what = [LONG_DOT if shape == LONG else FIRST_KERNEL + kernel_of[shape] for shape in runs.shapes]
    code = np.zeros((len(runs.shapes), 5), np.int32)
    if len(what):
        code[:, 0], code[:, 1] = what, slots[runs.order[runs.starts[:-1]]]
        code[:, 2], code[:, 3], code[:, 4] = rows_per_run, bases[:-1] + base, rows_per_run <= FEW
    return Encoded(code.reshape(-1), index[:used])


class Each(NamedTuple):
    """Runs: where each starts in the order, whether its dots are long, how many terms a dot has, where its index is."""

    starts: Ints
    order: Ints
    long: Bytes
    terms: Ints
    bases: Ints


@machine
def write_index(runs: int, each: Each, of: Columns, slots: Ints, nothing: int, index: Ints) -> int:
    """For each run the first operand of every row, then the second, and so on; of long dots, row by row."""
    used = 0
    for run in range(runs):
        each.bases[run] = used
        first, last = each.starts[run], each.starts[run + 1]
        if each.long[run]:
            for at in range(first, last):
                row = each.order[at]
                index[used] = (of.starts[row + 1] - of.starts[row]) // 2
                used += 1
                for edge in range(of.starts[row], of.starts[row + 1]):
                    index[used] = slots[of.operands[edge]] if of.operands[edge] >= 0 else -1
                    used += 1
        elif each.terms[run] > 0:
            for term in range(each.terms[run]):
                for at in range(first, last):
                    index[used] = left(each.order[at], term, of, slots, nothing)
                    used += 1
                for at in range(first, last):
                    index[used] = right(each.order[at], term, of, slots, nothing)
                    used += 1
        else:
            for place in range(of.starts[each.order[first] + 1] - of.starts[each.order[first]]):
                for at in range(first, last):
                    index[used] = slots[of.operands[of.starts[each.order[at]] + place]]
                    used += 1
    return used


def left(row: int, term: int, of: Columns, slots: Ints, nothing: int) -> int:
    """Where the first factor of a term is: of a dot's, a sum's, a product's; -0.0 beyond the last term."""
    size = of.starts[row + 1] - of.starts[row]
    if of.kinds[row] == DOT:
        return slots[of.operands[of.starts[row] + 2 * term]] if 2 * term < size else nothing
    if of.kinds[row] == MUL:
        return slots[of.operands[of.starts[row]]] if term == 0 else nothing
    return slots[of.operands[of.starts[row] + term]] if term < size else nothing


def right(row: int, term: int, of: Columns, slots: Ints, nothing: int) -> int:
    """Where the second factor of a term is: 1 where a term is alone, -1 where it is taken away."""
    size = of.starts[row + 1] - of.starts[row]
    if of.kinds[row] == DOT:
        if 2 * term < size and of.operands[of.starts[row] + 2 * term + 1] >= 0:
            return slots[of.operands[of.starts[row] + 2 * term + 1]]
    elif of.kinds[row] == MUL:
        if term == 0:
            return slots[of.operands[of.starts[row] + 1]]
    elif (of.kinds[row] == SUB and term == 1) or (of.kinds[row] == NEG and term == 0):
        return nothing + 2
    return nothing + 1
