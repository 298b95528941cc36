"""The loop that goes along instructions for rows that have one value.

`instructions` writes them. An instruction is three numbers: (shape and how, how many rows, how many entries
of `index`). It stands for a run, or for one row of a run of a few: what surrounds
a row alone takes longer than its work, so a row alone has no loop around it, and
where it is a sum, a product or a difference of two, no kernel is called. Results
and entries lie in the order of the instructions, so where one's begin is known
from those before it. Both a `Tape` and a `WindowTape` run them.
"""

from __future__ import annotations

from typing import NamedTuple

from ..llvm.typed import Floats, Ints, Longs, call_run
from .sums import NOTHING_YET

FEW = 3  # rows of a run that are quicker one by one: each is an instruction of its own
ANY_NUMBER = 0  # the arity that stands for those of sums and dots that have no kernel
# How it goes: by the shape's kernel, many rows at once or one alone; in a loop over any number of operands; as one
# sum, difference or product of two; dots side by side (`operators.abreast`); or copied.
MANY, ALONE, SUM, DOTS, PLUS, MINUS, TIMES, ABREAST, COPIES = 0, 1, 2, 3, 4, 5, 6, 7, 8
HOWS = 16  # an instruction begins with its shape's number times HOWS, and how it goes
# The places of a shape's addresses in a table: of many rows, of one, and of two ways back. In a line that is no
# shape's, what is called is at the first place.
RUN, ONE, BACK, BACK_ONE, ENTRIES = 0, 1, 2, 3, 4


def one_address(address: int) -> tuple[int, ...]:
    """A line of a table with nothing but this."""
    return (address, *(0,) * (ENTRIES - 1))


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
    elif how == COPIES:
        for i in range(length):
            line.scalars[to + i] = line.scalars[line.index[base + i]]
    else:
        way = ONE if how == ALONE else RUN
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
