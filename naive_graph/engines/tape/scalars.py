"""Rows that have one value: instructions for runs of them, and the loop that goes along these.

An instruction is three numbers: (shape and how, how many rows, how many entries
of `index`). It stands for a run, or for one row of a run of a few: what surrounds
a row alone takes longer than its work, so a row alone has no loop around it, and
where it is a sum, a product or a difference of two, no kernel is called. Results
and entries lie in the order of the instructions, so where one's begin is known
from those before it. Both a `Tape` and a `WindowTape` run them.
"""

from __future__ import annotations

from typing import NamedTuple

from ..llvm.machine import machine
from ..llvm.typed import Floats, Ints, Longs
from .flat import ADD, DOT, MUL, SUB, PlanColumns
from .sums import NOTHING_YET

FEW = 4  # rows of a run that are quicker one by one: each is an instruction of its own
ANY_NUMBER = 0  # the arity that stands for those of sums and dots that have no kernel
# How it goes: by the shape's kernel, many rows at once or one alone; in a loop over any number of operands; or as one
# sum, difference or product of two.
MANY, ALONE, SUM, DOTS, PLUS, MINUS, TIMES = 0, 1, 2, 3, 4, 5, 6
HOWS = 8  # an instruction begins with its shape's number times HOWS, and how it goes
# The places of a shape's addresses in a table: of many rows, of one, of samples, and of two ways back.
RUN, ONE, SAMPLED, BACK, BACK_ONE, ENTRIES = 0, 1, 2, 3, 4, 5


class InstructionTables(NamedTuple):
    """What is written so far. end: how much there is of the index, of the code, and of the slots."""

    slots: Ints
    index: Ints
    code: Ints
    end: Longs


def arity_of(row: int, of: PlanColumns) -> int:
    """How many operands a row's shape has: ANY_NUMBER where a loop takes as many as there are."""
    kind, arity = of.kinds[row], of.starts[row + 1] - of.starts[row]
    return ANY_NUMBER if kind == DOT or (kind == ADD and arity != 2) else arity


@machine
def write(runs: int, run_starts: Ints, order: Ints, shapes: Ints, of: PlanColumns, made: InstructionTables) -> None:
    """An instruction for each run, or for each of a few rows, and where their operands are. shapes: of each of them."""
    for run in range(runs):
        first, last = run_starts[run], run_starts[run + 1]
        arity = arity_of(order[first], of)
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
            what = how(of.kinds[order[at]], arity, length)
            made.code[made.end[1]] = HOWS * shapes[first] + what
            made.code[made.end[1] + 1] = length
            made.code[made.end[1] + 2] = made.end[0] - before
            made.end[1] += 3


def place_by_place(arity: int, first: int, last: int, order: Ints, of: PlanColumns, made: InstructionTables) -> None:
    """The first operand of every row, then the second, and so on."""
    for place in range(arity):
        for at in range(first, last):
            made.index[made.end[0]] = made.slots[of.operands[of.starts[order[at]] + place]]
            made.end[0] += 1


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


# --- running ---


def call_run(table: Longs, kernel: int, scalars: Floats, index: Ints, base: int, to: int, length: int) -> None:
    raise NotImplementedError("Only machine code can call a kernel by its address.")


class InstructionLine(NamedTuple):
    """Instructions, one after the other, what they look up, and the column that they go along."""

    code: Ints
    index: Ints
    table: Longs
    scalars: Floats


def along(size: int, to: int, line: InstructionLine) -> None:
    """Run all instructions, which are so many numbers. to: the slot of the first result."""
    base = 0
    for at in range(0, size, 3):
        what, length = line.code[at], line.code[at + 1]
        there(what // HOWS, to, length, base, what % HOWS, line)
        to += length
        base += line.code[at + 2]


def there(shape: int, to: int, length: int, base: int, how: int, line: InstructionLine) -> None:
    """One instruction."""
    if how == PLUS:
        line.scalars[to] = line.scalars[line.index[base]] + line.scalars[line.index[base + 1]]
    elif how == MINUS:
        line.scalars[to] = line.scalars[line.index[base]] - line.scalars[line.index[base + 1]]
    elif how == TIMES:
        line.scalars[to] = line.scalars[line.index[base]] * line.scalars[line.index[base + 1]]
    elif how == SUM:
        add_up(to, length, base, line)
    elif how == DOTS:
        multiply_and_add(to, length, base, line)
    else:
        way = RUN if how == MANY else ONE
        call_run(line.table, ENTRIES * shape + way, line.scalars, line.index, base, to, length)


def add_up(to: int, length: int, base: int, line: InstructionLine) -> None:
    """Sums of any number of terms, from the left."""
    at = base
    for i in range(length):
        end = at + 1 + line.index[at]
        sum = NOTHING_YET
        for term in range(at + 1, end):
            sum += line.scalars[line.index[term]]
        line.scalars[to + i] = sum
        at = end


def multiply_and_add(to: int, length: int, base: int, line: InstructionLine) -> None:
    """Dots: sums of products, from the left; where there is no second factor a term is the first."""
    at = base
    for i in range(length):
        end = at + 1 + line.index[at]
        sum = NOTHING_YET
        for term in range(at + 1, end, 2):
            x, y = line.index[term], line.index[term + 1]
            if y >= 0:
                sum += line.scalars[x] * line.scalars[y]
            else:
                sum += line.scalars[x]
        line.scalars[to + i] = sum
        at = end
