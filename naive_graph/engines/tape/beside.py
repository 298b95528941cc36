"""What dots that go side by side take: columns of as many numbers as a register has lanes.

A factor that all of them share is spread over the lanes; the others must lie side by side.
They do where another instruction left them so, else they are copied, once: a matrix that
each step is multiplied by is copied before the first one.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..llvm.typed import LANES, Ints, Longs
from .flat import NONE, PlanColumns
from .scalars import ABREAST, COPIES

FEWEST = 3  # dots that go side by side
ABSENT = 1 << 30  # no place: numbers that do not lie side by side yet
MASK = (1 << 48) - 1
MOST_COMPARED = 4  # operands of a row


class InstructionTables(NamedTuple):
    """What is written so far. end: how much there is of the index, of the code, of the slots, and of columns."""

    slots: Ints
    index: Ints
    code: Ints
    end: Longs


class DotColumns(NamedTuple):
    """What lies side by side for dots.

    marks: of each row, which dots it goes with; runs: in which run it is, by its first slot. keys: of each column
    LANES slots that it was copied from, NONE behind the last; places: where it lies; table: the columns by a hash of
    their keys, `size` places, NONE where there is none. one: the slot of 1.
    """

    marks: Ints
    runs: Ints
    keys: Ints
    places: Ints
    table: Ints
    size: int
    one: int


def columns_for(rows: int, operands: int, one: int) -> DotColumns:
    """Room for the columns of so many rows and operands."""
    most = operands // FEWEST + 1
    of_rows, of_columns = (np.zeros(many, np.int32) for many in (rows, most))
    keys, table = np.empty(LANES * (most + 1), np.int32), np.full(2 * most, NONE, np.int32)
    return DotColumns(of_rows, of_rows.copy(), keys, of_columns, table, 2 * most, one)


def instruct(what: int, length: int, before: int, made: InstructionTables) -> None:
    """Write an instruction down, whose entries begin at `before`."""
    made.code[made.end[1]] = what
    made.code[made.end[1] + 1] = length
    made.code[made.end[1] + 2] = made.end[0] - before
    made.end[1] += 3


def goes_with(row: int, other: int, of: PlanColumns, on: DotColumns) -> int:
    """Whether two dots may go side by side."""
    if of.starts[row + 1] - of.starts[row] != of.starts[other + 1] - of.starts[other]:
        return 0
    return 1 if on.marks[row] == on.marks[other] else 0


def compared(row: int, other: int, by: Ints, of: PlanColumns) -> int:
    """The difference of two rows of one length: that of the first operands which differ in it, of a few."""
    begin, beside = of.starts[row], of.starts[other]
    many = of.starts[row + 1] - begin
    for place in range(many if many < MOST_COMPARED else MOST_COMPARED):
        x, y = of.operands[begin + place], of.operands[beside + place]
        if x >= 0 and y >= 0 and by[x] != by[y]:
            return by[x] - by[y]
    return 0


def lay_abreast(
    first: int,
    last: int,
    terms: int,
    what: int,
    order: Ints,
    of: PlanColumns,
    made: InstructionTables,
    on: DotColumns,
) -> None:
    """Copy what does not lie side by side yet, and write down the dots."""
    before, slots, size = made.end[0], made.end[2], last - first
    far = before + 2 * terms * size + 1  # behind all copies
    for term in range(terms):
        y = factor(2 * term + 1, first, size, 1, order, of, made, on)
        x = factor(2 * term, first, size, 1, order, of, made, on)
        if x < 0 and y < 0:
            x = column(size, 1, made, on)
        elif x < 0:
            x, y = y, x
        made.index[far + term] = x
        made.index[far + terms + term] = y
    if made.end[2] > slots:
        instruct(what + COPIES, made.end[2] - slots, before, made)
    before = made.end[0]
    made.index[before] = terms
    for each in range(2 * terms):
        made.index[before + 1 + each] = made.index[far + each]
    made.end[0] += 1 + 2 * terms
    for at in range(first, last):
        made.slots[order[at]] = made.end[2]
        made.end[2] += 1
    instruct(what + ABREAST, size, before, made)


def factor(
    place: int,
    first: int,
    size: int,
    copy: int,
    order: Ints,
    of: PlanColumns,
    made: InstructionTables,
    on: DotColumns,
) -> int:
    """Where one operand of some dots is: -1 - slot if they share it, else from which slot on they lie side by side.

    ABSENT if they do not; copy: whether they are copied then. What they are stands behind the last key.
    """
    slot = slot_of(order[first], place, of, made, on)
    same, beside, key = 1, 1, LANES * made.end[3]
    for lane in range(LANES):
        on.keys[key + lane] = NONE
        if lane < size:
            each = slot_of(order[first + lane], place, of, made, on)
            on.keys[key + lane] = each
            if each != slot:
                same = 0
            if each != slot + lane:
                beside = 0
    if same:
        return -1 - slot
    return slot if beside else column(size, copy, made, on)


def slot_of(row: int, place: int, of: PlanColumns, made: InstructionTables, on: DotColumns) -> int:
    """Where an operand of a dot is; a factor that is missing is 1."""
    operand = of.operands[of.starts[row] + place]
    return made.slots[operand] if operand >= 0 else on.one


def column(size: int, copy: int, made: InstructionTables, on: DotColumns) -> int:
    """Where the slots behind the last key lie side by side. copy: whether they are copied if they do not."""
    key, mixed = LANES * made.end[3], 0
    for lane in range(size):
        mixed = (mixed * 8191 + on.keys[key + lane]) & MASK
    at = (mixed ^ (mixed >> 15)) % on.size
    while on.table[at] >= 0:
        other, alike = LANES * on.table[at], 1
        for lane in range(LANES):
            if on.keys[other + lane] != on.keys[key + lane]:
                alike = 0
        if alike:
            return on.places[on.table[at]]
        at = at + 1 if at + 1 < on.size else 0
    if copy == 0:
        return ABSENT
    for lane in range(size):
        made.index[made.end[0] + lane] = on.keys[key + lane]
    on.table[at] = made.end[3]
    on.places[made.end[3]] = made.end[2]
    made.end[0] += size
    made.end[2] += size
    made.end[3] += 1
    return on.places[made.end[3] - 1]
