"""The loops that run a tape.

A tape is a list of parts. A part of scalars is a list of instructions of five
numbers, of which one runs a whole section (`scalars`); a part of lanes is a list of instructions of
any length, gone through once for each block of samples, while the block's
values are warm in the cache. Everything here is plain Python over arrays, and
compiles from its own source; `many` and slices of LANES floats stand for
registers.
"""

from __future__ import annotations

from typing import NamedTuple

from ..llvm.machine import machine
from ..llvm.typed import LANES, Floats, Ints, Longs, call_lanes
from .scalars import ENTRIES, InstructionLine, along
from .sums import NOTHING_YET, Samples, many, sum_lanes

# Instructions of scalars: (what, to, how many, from where in `index`, and the same for what a section looks up).
LOAD, COPY, PACK, MOVE, CHECK, BEGIN, SECTION, JOIN, ADD_UP, FIRST_KERNEL = 0, 1, 2, 3, 4, 5, 6, 7, 8, 16
# Instructions of lanes; all from FIRST_KERNEL on are calls of a kernel.
SPREAD, FEED, EXPORT, GATHER = 0, 1, 2, 3
# What describes a part: its group, first and last instruction; then first and last sample, the width of a block, the
# stride of feeds and exports, where its lanes, feeds and exports start, and how far behind their scalars sums are.
PART, GROUP, FROM, TO, FIRST, LAST, WIDTH, STRIDE, LANES_AT, FEEDS_AT, OUT_AT, BEHIND = 11, *range(11)


class TapeTables(NamedTuple):
    """What is to be done: parts, instructions, what they look up, and the addresses of kernels.

    out_at, out_size: where numbers are handed out, among the scalars; behind them stands whether all are finite.
    """

    parts: Ints
    part_count: int
    code: Ints
    index: Ints
    table: Longs
    out_at: int
    out_size: int


class Numbers(NamedTuple):
    """What it is done to."""

    scalars: Floats
    lanes: Floats
    feeds: Floats


@machine
def run(source: Floats, times: int, history: Floats, todo: TapeTables, at: Numbers) -> None:
    """Run the tape again and again, and keep what it hands out first."""
    for step in range(times):
        for part in range(0, todo.part_count * PART, PART):
            if todo.parts[part + GROUP] == 0:
                run_scalars(todo.parts[part + FROM], todo.parts[part + TO], todo, at, source)
            else:
                run_lanes(part, todo, at)
        history[step] = at.scalars[todo.out_at]


def run_scalars(begin: int, end: int, todo: TapeTables, on: Numbers, source: Floats) -> None:
    """Run the instructions from `begin` to `end`."""
    for at in range(begin, end, 5):
        what, to, length, base = todo.code[at], todo.code[at + 1], todo.code[at + 2], todo.code[at + 3]
        if what == SECTION:
            along(
                length, to, InstructionLine(todo.index[base:], todo.index[todo.code[at + 4] :], todo.table, on.scalars)
            )
        elif what == LOAD:
            for i in range(length):
                on.scalars[to + i] = source[todo.index[base + i]]
        elif what == PACK:
            for i in range(length):
                on.scalars[to + i] = on.scalars[todo.index[base + i]]
        elif what == COPY:
            for i in range(length):
                on.scalars[to + i] = source[base + i]
        elif what == MOVE:
            for i in range(length):
                on.scalars[to + i] = on.scalars[base + i]
        elif what == CHECK:
            on.scalars[to + todo.out_size] = amiss(on.scalars, to, todo.out_size)
        elif what == BEGIN:
            begin_sums(on.scalars, to, length)
        elif what >= JOIN:  # one branch for both: with two, LLVM wrote a loop over sections that took 1.15 of the time
            join(what, to, length, base, on.scalars)


def join(what: int, to: int, length: int, base: int, scalars: Floats) -> None:
    """Add the second half's sums to the first half's; or add up terms that lanes handed out, one after the other."""
    if what == JOIN:
        for i in range(length):
            scalars[to + i] += scalars[base + i]
    else:
        sum = NOTHING_YET
        for i in range(length):
            sum += scalars[base + i]
        scalars[to] = sum


def begin_sums(scalars: Floats, first: int, length: int) -> None:
    """Sums that begin: adding -0.0 to any number, even to -0.0, leaves that number."""
    whole = length // LANES * LANES
    for i in range(first, first + whole, LANES):
        scalars[i : i + LANES] = many(NOTHING_YET)
    for i in range(first + whole, first + length):
        scalars[i] = NOTHING_YET


def amiss(xs: Floats, first: int, length: int) -> float:
    """0.0 if all of the numbers are finite, else NaN: x - x is 0 unless x is infinite or NaN."""
    whole = length // (4 * LANES) * (4 * LANES)
    a, b, c, d = many(0.0), many(0.0), many(0.0), many(0.0)  # four sums, none of which waits for another
    for i in range(first, first + whole, 4 * LANES):
        j, k, m = i + LANES, i + 2 * LANES, i + 3 * LANES
        a += xs[i : i + LANES] - xs[i : i + LANES]
        b += xs[j : j + LANES] - xs[j : j + LANES]
        c += xs[k : k + LANES] - xs[k : k + LANES]
        d += xs[m : m + LANES] - xs[m : m + LANES]
    rest = sum_lanes(a + b + c + d)
    for i in range(first + whole, first + length):
        rest += xs[i] - xs[i]
    return rest


def run_lanes(part: int, todo: TapeTables, at: Numbers) -> None:
    """Run a part's instructions for one block of samples after the other; lanes beyond the last fill a register."""
    first, last, width = todo.parts[part + FIRST], todo.parts[part + LAST], todo.parts[part + WIDTH]
    stride, behind = todo.parts[part + STRIDE], todo.parts[part + BEHIND]
    for block in range(first, last, width):
        real = last - block if last - block < width else width
        lanes_at, whole = todo.parts[part + LANES_AT], (real + LANES - 1) // LANES * LANES
        feeds_at, out_at = todo.parts[part + FEEDS_AT] + block, todo.parts[part + OUT_AT] + block
        run_block(
            todo.parts[part + FROM], todo.parts[part + TO], stride, block, todo,
            Samples(at.scalars, at.scalars[behind:], at.lanes[lanes_at:], width, real, whole, block == first),
            at.feeds[feeds_at:], at.scalars[out_at:],
        )  # fmt: skip


def run_block(
    begin: int, end: int, stride: int, block: int, todo: TapeTables, on: Samples, feeds: Floats, out_lanes: Floats
) -> None:
    """Run the instructions for one block. block: its first sample."""
    at = begin
    while at < end:
        what, size = todo.code[at], todo.code[at + 1]
        if what >= FIRST_KERNEL:
            call_lanes(todo.table, ENTRIES * (what - FIRST_KERNEL), todo.code, at + 2, on)
        elif what == SPREAD:
            to, value = todo.code[at + 2] * on.width, on.scalars[todo.code[at + 3]]
            for i in range(0, on.whole, LANES):
                on.lanes[to + i : to + i + LANES] = many(value)
        elif what == FEED:
            for line in range(size - 2):
                to, start = todo.code[at + 2 + line] * on.width, line * stride
                for i in range(0, on.whole, LANES):
                    on.lanes[to + i : to + i + LANES] = feeds[start + i : start + i + LANES]
                for i in range(on.real, on.whole):  # these repeat the last sample: no number is out of the ordinary
                    on.lanes[to + i] = on.lanes[to + on.real - 1]
        elif what == GATHER:
            to, base = todo.code[at + 2] * on.width, todo.code[at + 3]
            for i in range(on.whole):
                on.lanes[to + i] = on.scalars[todo.index[base + block + i]]
        elif what == EXPORT:
            to, start = todo.code[at + 3] * stride, todo.code[at + 2] * on.width
            for i in range(on.real):
                out_lanes[to + i] = on.lanes[start + i]
        at += size
