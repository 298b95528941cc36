"""What dots that go side by side take: columns of as many numbers as a register has lanes.

A factor that all of them share is spread over the lanes; the others must lie side by side.
They do where another instruction left them so, else they are copied, once: a matrix that
each step is multiplied by is copied before the first one.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..llvm.typed import LANES, Ints, Longs
from .flat import NONE, Array, PlanColumns
from .scalars import ABREAST, COPIES

FEWEST = 3  # dots that go side by side
ABSENT = 1 << 30  # no place: numbers that do not lie side by side yet
MASK = (1 << 48) - 1
MOST_COMPARED = 4  # operands of a row


class Writing(NamedTuple):
    """What is written so far, and what lies side by side for dots.

    order: the rows, run after run. end: how much there is of the index, of the code, of the slots, and of columns.
    marks: of each row, which dots it goes with; runs: in which run it is, by its first slot. keys: of each column
    LANES slots that it was copied from, NONE behind the last; places: where it lies; table: the columns by a hash of
    their keys, `size` places, NONE where there is none. one: the slot of 1.
    """

    order: Ints
    slots: Ints
    index: Ints
    code: Ints
    end: Longs
    marks: Ints
    runs: Ints
    keys: Ints
    places: Ints
    table: Ints
    size: int
    one: int


def nothing_written(slots: Array, first: int = 0, rows: int = 0, operands: int = 0, one: int = 0) -> Writing:
    """The beginning, with room for the columns of so many rows and operands. first: the slot of the first result."""
    most, end = operands // FEWEST + 1, np.array([0, 0, first, 0], np.int64)
    nothing, marks, runs, places = (np.zeros(many, np.int32) for many in (0, rows, rows, most))
    keys, table = np.empty(LANES * (most + 1), np.int32), np.full(2 * most, NONE, np.int32)
    return Writing(nothing, slots, nothing, nothing, end, marks, runs, keys, places, table, 2 * most, one)


def instruct(what: int, length: int, before: int, code: Ints, end: Longs) -> None:
    """Write an instruction down, whose entries begin at `before`."""
    code[end[1]] = what
    code[end[1] + 1] = length
    code[end[1] + 2] = end[0] - before
    end[1] += 3


def next_slots(first: int, last: int, order: Ints, slots: Ints, end: Longs) -> None:
    """Some rows get the next slots."""
    for at in range(first, last):
        slots[order[at]] = end[2]
        end[2] += 1


def goes_with(row: int, other: int, of: PlanColumns, on: Writing) -> int:
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


def lay_abreast(first: int, last: int, terms: int, what: int, of: PlanColumns, on: Writing) -> None:
    """Copy what does not lie side by side yet, and write down the dots."""
    before, slots, size = on.end[0], on.end[2], last - first
    far = before + 2 * terms * size + 1  # behind all copies
    for term in range(terms):
        y = factor(2 * term + 1, first, size, 1, of, on)
        x = factor(2 * term, first, size, 1, of, on)
        if x < 0 and y < 0:
            x = column(size, 1, on)
        elif x < 0:
            x, y = y, x
        on.index[far + term] = x
        on.index[far + terms + term] = y
    if on.end[2] > slots:
        instruct(what + COPIES, on.end[2] - slots, before, on.code, on.end)
    before = on.end[0]
    on.index[before] = terms
    for each in range(2 * terms):
        on.index[before + 1 + each] = on.index[far + each]
    on.end[0] += 1 + 2 * terms
    next_slots(first, last, on.order, on.slots, on.end)
    instruct(what + ABREAST, size, before, on.code, on.end)


def factor(place: int, first: int, size: int, copy: int, of: PlanColumns, on: Writing) -> int:
    """Where one operand of some dots is: -1 - slot if they share it, else from which slot on they lie side by side.

    ABSENT if they do not; copy: whether they are copied then. What they are stands behind the last key.
    """
    slot = slot_of(on.order[first], place, of, on)
    same, beside, key = 1, 1, LANES * on.end[3]
    for lane in range(LANES):
        on.keys[key + lane] = NONE
        if lane < size:
            each = slot_of(on.order[first + lane], place, of, on)
            on.keys[key + lane] = each
            if each != slot:
                same = 0
            if each != slot + lane:
                beside = 0
    if same:
        return -1 - slot
    return slot if beside else column(size, copy, on)


def slot_of(row: int, place: int, of: PlanColumns, on: Writing) -> int:
    """Where an operand of a dot is; a factor that is missing is 1."""
    operand = of.operands[of.starts[row] + place]
    return on.slots[operand] if operand >= 0 else on.one


def column(size: int, copy: int, on: Writing) -> int:
    """Where the slots behind the last key lie side by side. copy: whether they are copied if they do not."""
    key, mixed = LANES * on.end[3], 0
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
        on.index[on.end[0] + lane] = on.keys[key + lane]
    on.table[at] = on.end[3]
    on.places[on.end[3]] = on.end[2]
    on.end[0] += size
    on.end[2] += size
    on.end[3] += 1
    return on.places[on.end[3] - 1]
