"""A large plan, cut into windows: runs of one operator inside each, and no column that nobody needs.

    rows        0 ... 16383     16384 ... 32767     ...
    window 0    add add add add | mul mul mul | sin sin
    window 1                    add add | mul mul ...

>>> from naive_graph import Graph
>>> from naive_graph.engines.tape.rows import flat_of_tables
>>> x, y = Graph.Variable(2.0), Graph.Variable(3.0)
>>> z = x.sin().exp() / y.sin().exp()
>>> flat, _ = flat_of_tables(z.tables, [z.row])
>>> print(flat)
   0 leaf
   1 leaf
   2 sin 0
   3 exp 2
   4 sin 1
   5 exp 4
   6 div 3 5
>>> made = windows(flat, window=5)  # rows 0 to 4, then 5 and 6
>>> for what, rows, entries in made.code.reshape(-1, 3).tolist():
...     print(made.shapes[what // HOWS].name, "x", rows)
sin1 x 1
sin1 x 1
exp1 x 1
exp1 x 1
div2 x 1
>>> made.slots.tolist()  # where each row's value went: both sines lie side by side
[0, 1, 2, 4, 3, 5, 6]

The passes of a tape rearrange the whole plan, and write its derivatives down as
rows: that takes 200 bytes a row while it lasts. Here only the rows of one
window change places, and the reverse sweep goes back over the same runs
(`backward`). What stays of a row is its value, its adjoint, and four bytes for
each operand; and a window's values stay warm in the cache.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ...core.progress import progress
from ...core.rules import BY_NUMBER
from ...core.tables import VARIABLE
from ..llvm.machine import machine
from ..llvm.python import Ints, Longs
from .backward import suits
from .flat import ADD, MUL, NONE, SUB, Array, Columns, Flat
from .operators import Shape
from .runs import in_runs

WINDOW = 16_384  # rows: their values and adjoints stay in the cache
FEW = 4  # rows of a run that are quicker one by one: each is an instruction of its own
ANY_NUMBER = 0  # the arity that stands for those of sums and products that have no kernel
LOOPED = (Shape(ADD, ()), Shape(MUL, ()))  # their shapes
MOST_OPERANDS, MOST_FACTORS = 4, 64  # of an operator with a kernel, and of a product
MOST_SHAPES = 1000
# How it goes: by the shape's kernel, many rows at once or one alone (whose operand may be the last result, which is
# still in a register); or in the loop over the instructions itself.
MANY, ALONE, ALONE_LAST, SUM, PRODUCT = 0, 1, 2, 3, 4
# From TWO_FROM on: one row, 4 times 0 for a sum, 1 for a difference, 2 for a product; and which operand is that result.
TWO_FROM, NEITHER, FIRST, SECOND = 8, 0, 1, 2
HOWS = 32  # an instruction begins with its shape's number times HOWS, and how it goes


class Windows(NamedTuple):
    """Instructions of three numbers each: (shape and how, how many rows, how many entries of `index`).

    Each is a run, or one row of a run of a few. Results and entries lie in the
    order of the instructions, so where one's begin is known from those before it.

    slots: where each row's value is: first the leaves, then the windows. shapes:
    what the first number stands for.
    """

    leaves: Array
    code: Array
    index: Array
    slots: Array
    shapes: list[Shape]


class Written(NamedTuple):
    """What is written so far. end: how much there is of the index, of the code, and of the slots."""

    slots: Ints
    index: Ints
    code: Ints
    end: Longs


def windows(flat: Flat, window: int = WINDOW) -> Windows | None:
    """The plan in runs, window by window; None if it has a rule whose derivatives need more than that."""
    size, leaves = len(flat), flat.leaves()
    leaves = leaves[np.argsort(flat.kinds[leaves] != VARIABLE, kind="stable")]  # Variables go first: they are loaded
    slots, position = np.full(size, NONE, np.int32), np.full(size, NONE, np.int32)
    slots[leaves] = np.arange(len(leaves), dtype=np.int32)
    known, found = np.zeros(2 * MOST_SHAPES, np.int32), 0
    inner = size - len(leaves)
    # Room that nothing is written into takes no memory.
    index, code = np.empty(len(flat.operands) + inner, np.int32), np.empty(3 * inner, np.int32)
    made = Written(slots, index, code, np.array([0, 0, len(leaves)], np.int64))
    for begin in progress(range(0, size, window), label="windows"):
        rows = begin + np.flatnonzero(flat.kinds[begin : begin + window] >= 0).astype(np.int32)
        of_row = np.empty(len(rows), np.int32)
        before, found = found, classes(len(rows), rows, flat.columns, known, found, of_row)
        if found > MOST_SHAPES or not all(map(_suits, known[2 * before : 2 * found].reshape(-1, 2).tolist())):
            return None
        order, starts = in_runs(flat, rows, of_row, found, position)
        write(len(starts) - 1, starts, order, of_row[position[order]], known, flat.columns, made)
        position[rows] = NONE
    pairs = known[: 2 * found].reshape(-1, 2).tolist()
    shapes = [Shape(kind, (0,) * arity) for kind, arity in pairs]
    return Windows(leaves, code[: made.end[1]], index[: made.end[0]], slots, shapes)


def _suits(shape: Sequence[int]) -> bool:
    kind, arity = shape
    return arity <= MOST_OPERANDS and suits(BY_NUMBER[kind], arity)


@machine
def classes(size: int, rows: Ints, of: Columns, known: Ints, count: int, of_row: Ints) -> int:
    """The place of each row's shape among the known ones, pairs of a kind and an arity; how many there are now."""
    for at in range(size):
        kind = of.kinds[rows[at]]
        arity = of.starts[rows[at] + 1] - of.starts[rows[at]]
        if kind == MUL and arity > MOST_FACTORS:
            return MOST_SHAPES + 1
        if (kind == ADD and arity != 2) or (kind == MUL and (arity < 2 or arity > MOST_OPERANDS)):
            arity = ANY_NUMBER
        place = 0
        while place < count and (known[2 * place] != kind or known[2 * place + 1] != arity):
            place += 1
        if place == count and count < MOST_SHAPES:
            known[2 * count] = kind
            known[2 * count + 1] = arity
        if place == count:
            count += 1
        if count > MOST_SHAPES:
            return count
        of_row[at] = place
    return count


@machine
def write(runs: int, run_starts: Ints, order: Ints, shapes: Ints, known: Ints, of: Columns, made: Written) -> None:
    """An instruction for each run, or for each of a few rows, and where their operands are. shapes: of each of them."""
    for run in range(runs):
        first, last = run_starts[run], run_starts[run + 1]
        shape = shapes[first]
        arity = known[2 * shape + 1]
        for at in range(first, last):
            made.slots[order[at]] = made.end[2]
            made.end[2] += 1
        length = 1 if arity != ANY_NUMBER and last - first <= FEW else last - first
        for at in range(first, last, length):
            before = made.end[0]
            if arity == ANY_NUMBER:
                row_by_row(at, at + length, order, of, made)
            else:
                place_by_place(arity, at, at + length, order, of, made)
            what = how(known[2 * shape], arity, length, made.slots[order[at]] - 1, made.index, before)
            made.code[made.end[1]] = HOWS * shape + what
            made.code[made.end[1] + 1] = length
            made.code[made.end[1] + 2] = made.end[0] - before
            made.end[1] += 3


def place_by_place(arity: int, first: int, last: int, order: Ints, of: Columns, made: Written) -> None:
    """The first operand of every row, then the second, and so on."""
    for place in range(arity):
        for at in range(first, last):
            made.index[made.end[0]] = made.slots[of.operands[of.starts[order[at]] + place]]
            made.end[0] += 1


def row_by_row(first: int, last: int, order: Ints, of: Columns, made: Written) -> None:
    """A row that takes any number of operands has them together, behind their number."""
    for at in range(first, last):
        made.index[made.end[0]] = of.starts[order[at] + 1] - of.starts[order[at]]
        made.end[0] += 1
        for edge in range(of.starts[order[at]], of.starts[order[at] + 1]):
            made.index[made.end[0]] = made.slots[of.operands[edge]]
            made.end[0] += 1


def how(kind: int, arity: int, length: int, last: int, index: Ints, at: int) -> int:
    """How an instruction of so many rows goes. last: the slot of the result right before."""
    if arity == ANY_NUMBER:
        return SUM if kind == ADD else PRODUCT
    if length > 1:
        return MANY
    if arity == 2 and (kind == ADD or kind == SUB or kind == MUL):  # noqa: SIM109
        which = 0 if kind == ADD else 1 if kind == SUB else 2
        return TWO_FROM + 4 * which + (SECOND if index[at + 1] == last else FIRST if index[at] == last else NEITHER)
    return ALONE_LAST if arity == 1 and index[at] == last else ALONE
