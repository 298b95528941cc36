"""Rows that have one value become instructions, for `scalars` to go along.

Dots go side by side, one in each lane of a register, where they have as many terms: what
the units of a layer need of one state, say, and what its weights' derivatives add up over
the steps. A run's rows are sorted by what they take, so that it lies side by side (`beside`).
"""

from __future__ import annotations

import numpy as np

from ..llvm.machine import machine
from ..llvm.typed import LANES, Ints
from .beside import ABSENT, FEWEST, Writing, compared, factor, goes_with, instruct, lay_abreast, next_slots
from .flat import ADD, DOT, MUL, NONE, SUB, Array, Flat, PlanColumns
from .runs import Runs, arity_of
from .scalars import ALONE, ANY_NUMBER, DOTS, FEW, HOWS, MANY, MINUS, PLUS, SUM, TIMES

MOST_MOVES = 16  # of a row that finds its place in a run


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
def write(runs: int, run_starts: Ints, shapes: Ints, of: PlanColumns, on: Writing) -> None:
    """An instruction for each run, or for each of a few rows, and where their operands are. shapes: of each of them."""
    for run in range(runs):
        first, last = run_starts[run], run_starts[run + 1]
        arity = arity_of(on.order[first], of)
        if on.one and (arity != ANY_NUMBER or of.kinds[on.order[first]] == DOT):
            arrange(first, last, of, on)
        if of.kinds[on.order[first]] == DOT:
            write_dots(first, last, HOWS * shapes[first], of, on)
        else:
            next_slots(first, last, on.order, on.slots, on.end)
            length = 1 if arity != ANY_NUMBER and last - first <= FEW else last - first
            for at in range(first, last, length):
                before = on.end[0]
                if arity == ANY_NUMBER:
                    row_by_row(at, at + length, of, on)
                else:
                    place_by_place(arity, at, at + length, on.one, of, on)
                what = how(of.kinds[on.order[at]], arity, length)
                instruct(HOWS * shapes[first] + what, length, before, on.code, on.end)


def arrange(first: int, last: int, of: PlanColumns, on: Writing) -> None:
    """The rows of a run in the order of what they take, so that it lies side by side. A long one may stay as it is."""
    left = MOST_MOVES * (last - first)
    for at in range(first, last):
        on.runs[on.order[at]] = on.end[2]
    for at in range(first + 1, last):
        row, to = on.order[at], at
        while to > first and left > 0 and is_behind(on.order[to - 1], row, of, on):
            on.order[to] = on.order[to - 1]
            to -= 1
            left -= 1
        on.order[to] = row


def is_behind(row: int, other: int, of: PlanColumns, on: Writing) -> int:
    """Whether a row goes behind another one: by the runs that its operands come from, then by their slots."""
    if goes_with(row, other, of, on) == 0:
        return 0
    order = compared(row, other, on.runs, of)
    return 1 if order > 0 or (order == 0 and compared(row, other, on.slots, of) > 0) else 0


def place_by_place(arity: int, first: int, last: int, beside: int, of: PlanColumns, on: Writing) -> None:
    """The first operand of every row, then the second, and so on. beside: whether those side by side are marked."""
    for place in range(arity):
        for at in range(first, last):
            on.index[on.end[0]] = on.slots[of.operands[of.starts[on.order[at]] + place]]
            on.end[0] += 1
    if beside and last - first > 1:
        mark_beside(arity, last - first, on.end[0] - arity * (last - first), on.index)


def mark_beside(arity: int, length: int, base: int, index: Ints) -> None:
    """Of each register of operands that lie side by side the first entry becomes -1 - slot: they are read at once.

    Of less than a register all operands must lie so, or they are read one by one.
    """
    for at in range(0, length, LANES):
        size = LANES if length - at > LANES else length - at
        found = 0
        for place in range(arity):
            found += lies_beside(base + place * length + at, size, index)
        for place in range(arity):
            first = base + place * length + at
            if (size == LANES or found == arity) and lies_beside(first, size, index):
                index[first] = -1 - index[first]


def lies_beside(first: int, size: int, index: Ints) -> int:
    """Whether so many entries are slots side by side."""
    for each in range(size):
        if index[first + each] != index[first] + each:
            return 0
    return 1


def row_by_row(first: int, last: int, of: PlanColumns, on: Writing) -> None:
    """A row that takes any number of operands has them together, behind their number; -1 where there is none."""
    for at in range(first, last):
        on.index[on.end[0]] = of.starts[on.order[at] + 1] - of.starts[on.order[at]]
        on.end[0] += 1
        for edge in range(of.starts[on.order[at]], of.starts[on.order[at] + 1]):
            on.index[on.end[0]] = on.slots[of.operands[edge]] if of.operands[edge] >= 0 else -1
            on.end[0] += 1


def how(kind: int, arity: int, length: int) -> int:
    """How an instruction of so many rows goes."""
    if arity == ANY_NUMBER:
        return DOTS if kind == DOT else SUM
    if length == 1 and arity == 2 and (kind == ADD or kind == SUB or kind == MUL):  # noqa: SIM109
        return PLUS if kind == ADD else MINUS if kind == SUB else TIMES
    return ALONE if length == 1 else MANY


# --- dots side by side ---


def write_dots(first: int, last: int, what: int, of: PlanColumns, on: Writing) -> None:
    """Those that share a side go side by side; where too much would be copied for it, one after the other."""
    at, fewer = first, 0  # fewer: how many came before that go one after the other
    while at < last:
        end, row = at + 1, on.order[at]
        while end < last and end < at + LANES and goes_with(row, on.order[end], of, on):
            if compared(row, on.order[end], on.runs, of) != 0:
                break
            end += 1
        terms = (of.starts[row + 1] - of.starts[row]) // 2
        missing = ABSENT if end - at < FEWEST else 0
        for place in range(2 * terms):
            if missing <= terms and factor(place, at, end - at, 0, of, on) == ABSENT:
                missing += 1
        before = on.end[0]
        if missing <= terms:
            lay_abreast(at, end, terms, what, of, on)
            fewer = 0
        else:
            next_slots(at, end, on.order, on.slots, on.end)
            row_by_row(at, end, of, on)
            if fewer > 0:  # one instruction more would take longer than a row
                on.code[on.end[1] - 2] += end - at
                on.code[on.end[1] - 1] += on.end[0] - before
            else:
                instruct(what + DOTS, end - at, before, on.code, on.end)
            fewer += end - at
        at = end
