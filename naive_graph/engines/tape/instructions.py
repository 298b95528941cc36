"""Rows that have one value become instructions, for `scalars` to go along.

Dots go side by side, one in each lane of a register, where they have as many terms: what
the units of a layer need of one state, say, and what its weights' derivatives add up over
the steps. A factor that all of them share is spread over the lanes; the others must lie
side by side. They do where another instruction left them so, else they are copied,
once: a matrix that each step is multiplied by is copied before the first one.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..llvm.machine import machine
from ..llvm.typed import LANES, Ints, Longs
from .flat import ADD, DOT, MUL, NONE, SUB, Array, Flat, PlanColumns
from .runs import Runs, arity_of
from .scalars import ABREAST, ALONE, ANY_NUMBER, COPIES, DOTS, FEW, HOWS, MANY, MINUS, PLUS, SUM, TIMES

FEWEST = 3  # dots that go side by side
ABSENT = 1 << 30  # no place: numbers that do not lie side by side yet
MASK = (1 << 48) - 1
MOST_MOVES, MOST_COMPARED = 16, 4  # of a row that finds its place in a run, and of its operands


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


def sharing(flat: Flat, found: Runs, marks: Array) -> Runs:
    """The same runs, in each of them dots of one length together, and of these those that share one of their sides.

    marks: of all rows of the plan; filled in with the number of those that a dot goes with.
    """
    rows = found.order
    places = np.flatnonzero(flat.kinds[rows] == DOT)
    if len(places) < FEWEST:
        return found
    run = np.repeat(np.arange(len(found.starts) - 1), np.diff(found.starts))
    dots, degrees = rows[places], np.diff(flat.starts)[rows]
    at = np.arange(degrees[places].sum()) - np.repeat(np.cumsum(degrees[places]) - degrees[places], degrees[places])
    operands = flat.operands[np.repeat(flat.starts[dots], degrees[places]) + at].astype(np.uint64) + np.uint64(2)
    mixed = (operands * np.uint64(0x9E3779B97F4A7C15)) ^ (operands << np.uint64(29))
    mixed *= (2 * (at // 2) + 1).astype(np.uint64) * np.uint64(0xC2B2AE3D27D4EB4F)
    begins = np.cumsum(degrees[places]) - degrees[places]
    like = (run[places] * (1 << 20) + degrees[places]).astype(np.uint64) * np.uint64(0xD6E8FEB86659FD93)
    most = np.where(degrees[places] < 2 * FEWEST, LANES, FEWEST - 1)  # of few terms it saves little
    mark = np.full(len(places), NONE)
    for side in (0, 1):
        seen = np.add.reduceat(np.where(at % 2 == side, mixed, np.uint64(0)), begins) + like
        _, first, group, count = np.unique(seen, return_index=True, return_inverse=True, return_counts=True)
        more = count[group] > most
        most, mark = np.where(more, count[group], most), np.where(more, first[group], mark)
    key, length = np.full(len(rows), NONE), np.zeros(len(rows), np.int64)
    key[places], length[places] = mark, degrees[places]
    marks[rows] = key
    return found._replace(order=rows[np.lexsort([key, length, run])])


@machine
def write(
    runs: int, run_starts: Ints, order: Ints, shapes: Ints, of: PlanColumns, made: InstructionTables, on: DotColumns
) -> None:
    """An instruction for each run, or for each of a few rows, and where their operands are. shapes: of each of them."""
    for run in range(runs):
        first, last = run_starts[run], run_starts[run + 1]
        arity = arity_of(order[first], of)
        if on.one and (arity != ANY_NUMBER or of.kinds[order[first]] == DOT):
            arrange(first, last, order, of, made, on)
        if of.kinds[order[first]] == DOT:
            write_dots(first, last, HOWS * shapes[first], order, of, made, on)
        else:
            for at in range(first, last):
                made.slots[order[at]] = made.end[2]
                made.end[2] += 1
            length = 1 if arity != ANY_NUMBER and last - first <= FEW else last - first
            for at in range(first, last, length):
                before = made.end[0]
                if arity == ANY_NUMBER:
                    row_by_row(at, at + length, order, of, made)
                else:
                    place_by_place(arity, at, at + length, on.one, order, of, made)
                what = how(of.kinds[order[at]], arity, length)
                instruct(HOWS * shapes[first] + what, length, before, made)


def arrange(first: int, last: int, order: Ints, of: PlanColumns, made: InstructionTables, on: DotColumns) -> None:
    """The rows of a run in the order of what they take, so that it lies side by side. A long one may stay as it is."""
    left = MOST_MOVES * (last - first)
    for at in range(first, last):
        on.runs[order[at]] = made.end[2]
    for at in range(first + 1, last):
        row, to = order[at], at
        while to > first and left > 0 and is_behind(order[to - 1], row, of, made, on):
            order[to] = order[to - 1]
            to -= 1
            left -= 1
        order[to] = row


def is_behind(row: int, other: int, of: PlanColumns, made: InstructionTables, on: DotColumns) -> int:
    """Whether a row goes behind another one: by the runs that its operands come from, then by their slots."""
    if goes_with(row, other, of, on) == 0:
        return 0
    order = compared(row, other, on.runs, of)
    return 1 if order > 0 or (order == 0 and compared(row, other, made.slots, of) > 0) else 0


def compared(row: int, other: int, by: Ints, of: PlanColumns) -> int:
    """The difference of two rows of one length: that of the first operands which differ in it, of a few."""
    begin, beside = of.starts[row], of.starts[other]
    many = of.starts[row + 1] - begin
    for place in range(many if many < MOST_COMPARED else MOST_COMPARED):
        x, y = of.operands[begin + place], of.operands[beside + place]
        if x >= 0 and y >= 0 and by[x] != by[y]:
            return by[x] - by[y]
    return 0


def instruct(what: int, length: int, before: int, made: InstructionTables) -> None:
    """Write an instruction down, whose entries begin at `before`."""
    made.code[made.end[1]] = what
    made.code[made.end[1] + 1] = length
    made.code[made.end[1] + 2] = made.end[0] - before
    made.end[1] += 3


def place_by_place(
    arity: int, first: int, last: int, beside: int, order: Ints, of: PlanColumns, made: InstructionTables
) -> None:
    """The first operand of every row, then the second, and so on. beside: whether those side by side are marked."""
    for place in range(arity):
        for at in range(first, last):
            made.index[made.end[0]] = made.slots[of.operands[of.starts[order[at]] + place]]
            made.end[0] += 1
    if beside and last - first > 1:
        mark_beside(arity, last - first, made.end[0] - arity * (last - first), made)


def mark_beside(arity: int, length: int, base: int, made: InstructionTables) -> None:
    """Of each register of operands that lie side by side the first entry becomes -1 - slot: they are read at once.

    Of less than a register all operands must lie so, or they are read one by one.
    """
    for at in range(0, length, LANES):
        size = LANES if length - at > LANES else length - at
        found = 0
        for place in range(arity):
            found += lies_beside(base + place * length + at, size, made)
        for place in range(arity):
            first = base + place * length + at
            if (size == LANES or found == arity) and lies_beside(first, size, made):
                made.index[first] = -1 - made.index[first]


def lies_beside(first: int, size: int, made: InstructionTables) -> int:
    """Whether so many entries are slots side by side."""
    for each in range(size):
        if made.index[first + each] != made.index[first] + each:
            return 0
    return 1


def row_by_row(first: int, last: int, order: Ints, of: PlanColumns, made: InstructionTables) -> None:
    """A row that takes any number of operands has them together, behind their number; -1 where there is none."""
    for at in range(first, last):
        made.index[made.end[0]] = of.starts[order[at] + 1] - of.starts[order[at]]
        made.end[0] += 1
        for edge in range(of.starts[order[at]], of.starts[order[at] + 1]):
            made.index[made.end[0]] = made.slots[of.operands[edge]] if of.operands[edge] >= 0 else -1
            made.end[0] += 1


def how(kind: int, arity: int, length: int) -> int:
    """How an instruction of so many rows goes."""
    if arity == ANY_NUMBER:
        return DOTS if kind == DOT else SUM
    if length == 1 and arity == 2 and (kind == ADD or kind == SUB or kind == MUL):  # noqa: SIM109
        return PLUS if kind == ADD else MINUS if kind == SUB else TIMES
    return ALONE if length == 1 else MANY


# --- dots side by side ---


def write_dots(
    first: int, last: int, what: int, order: Ints, of: PlanColumns, made: InstructionTables, on: DotColumns
) -> None:
    """Those that share a side go side by side; where too much would be copied for it, one after the other."""
    at, fewer = first, 0  # fewer: how many came before that go one after the other
    while at < last:
        end, row = at + 1, order[at]
        while end < last and end < at + LANES and goes_with(row, order[end], of, on):
            if compared(row, order[end], on.runs, of) != 0:
                break
            end += 1
        terms = (of.starts[row + 1] - of.starts[row]) // 2
        missing = ABSENT if end - at < FEWEST else 0
        for place in range(2 * terms):
            if missing <= terms and factor(place, at, end - at, 0, order, of, made, on) == ABSENT:
                missing += 1
        before = made.end[0]
        if missing <= terms:
            lay_abreast(at, end, terms, what, order, of, made, on)
            fewer = 0
        else:
            for each in range(at, end):
                made.slots[order[each]] = made.end[2]
                made.end[2] += 1
            row_by_row(at, end, order, of, made)
            if fewer > 0:  # one instruction more would take longer than a row
                made.code[made.end[1] - 2] += end - at
                made.code[made.end[1] - 1] += made.end[0] - before
            else:
                instruct(what + DOTS, end - at, before, made)
            fewer += end - at
        at = end


def goes_with(row: int, other: int, of: PlanColumns, on: DotColumns) -> int:
    """Whether two dots may go side by side."""
    if of.starts[row + 1] - of.starts[row] != of.starts[other + 1] - of.starts[other]:
        return 0
    return 1 if on.marks[row] == on.marks[other] else 0


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
