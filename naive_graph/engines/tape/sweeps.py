"""A large plan, made ready to run: forwards over its windows, and back over the same (why: see `backward`).

`WindowTape` is what `Tape` is for plans that went through the passes. Forwards
every run writes its values; backwards every run takes its adjoints, and adds
them, times a partial, to its operands'. In a chain every run is one row long, and
what surrounds a row takes longer than its work. So a row alone has no loop around
it, and where it is a sum, a product or a difference of two, no kernel is called.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ...core.tables import VARIABLE
from ..llvm.machine import library_of, machine, packed
from ..llvm.python import Floats, Ints, Longs
from .backward import backward
from .flat import Flat, arrays
from .kernels import amiss, call_run
from .operators import kernels as kernels_of
from .sums import NOTHING_YET
from .windows import ALONE_LAST, FIRST, HOWS, LOOPED, MANY, PRODUCT, SECOND, SUM, TWO_FROM, Windows

RUN, ONE, OF_ONE, BACK, BACK_ONE = 0, 1, 2, 3, 4  # the places of a shape's addresses: of many rows, of one...
ENTRIES = 5


def call_back(
    table: Longs, kernel: int, scalars: Floats, adjoints: Floats, index: Ints, base: int, at: int, length: int
) -> None:
    raise NotImplementedError("Only machine code can call a kernel by its address.")


def call_value(table: Longs, kernel: int, x: float) -> float:
    raise NotImplementedError("Only machine code can call a kernel by its address.")


class WindowTape:
    """A plan's windows over arrays. It must not run in two threads at once.

    output: the row whose value is wanted, and whose derivatives with respect to
    the leaves `wrt`. `out` holds the value, then the derivatives, then 0.0 if
    all of them are finite. fed: PlaceHolders' rows of the tables, and where
    their numbers go among the scalars.
    """

    def __init__(self, flat: Flat, made: Windows, output: int, wrt: Sequence[int]) -> None:
        self.rows, self.code, self.index = len(flat), made.code, made.index
        leaves, sources = arrays(flat.sources, np.int32)
        variable = flat.kinds[leaves] == VARIABLE
        loaded = int(variable.sum())
        self.loads = np.zeros(loaded + 1, np.int32)
        self.loads[made.slots[leaves[variable]]] = sources[variable]
        self.fed = list(zip(sources[~variable].tolist(), made.slots[leaves[~variable]].tolist(), strict=True))
        self.shapes = made.shapes
        self.wanted = np.array([made.slots[output], *made.slots[list(wrt)]], np.int32)
        self.table = np.array([address for shape in made.shapes for address in _addresses(shape)] or [0], np.int64)
        self.scalars, self.adjoints = np.zeros(len(flat) + 1), np.zeros(len(flat) + 1)
        constants, values = arrays(flat.constants, np.float64)
        self.scalars[made.slots[constants]] = values
        self.out = np.zeros(len(self.wanted) + 1)
        self.leaf_count = len(made.leaves)
        first = Leaves(0, self.loads, loaded, self.leaf_count)
        line = Line(self.code, len(self.code), self.index, self.table, self.scalars, self.adjoints)
        self.arguments = packed(first, line, self.wanted, len(self.wanted), self.out)
        self._arguments_at = self.arguments.ctypes.data
        self._run = library_of(__name__).function("there_and_back.packed", None, [ctypes.c_void_p])

    def run(self, source: int) -> None:
        """Run once. source: the address of the floats that leaves are loaded from."""
        self.arguments[0] = source
        self._run(self._arguments_at)


def _addresses(shape: Any) -> tuple[int, ...]:
    if shape in LOOPED:
        return (0, 0, 0, 0, 0)
    there, back = kernels_of(shape), backward(shape)
    return there.run, there.one, there.of_one, back.back, back.one


class Leaves(NamedTuple):
    """Where leaves' values come from: source[loads[k]] is the k-th one's; those behind are there already."""

    source: Floats
    loads: Ints
    load_count: int
    many: int


class Line(NamedTuple):
    """Instructions, one after the other, and the columns that they go along."""

    code: Ints
    size: int
    index: Ints
    table: Longs
    scalars: Floats
    adjoints: Floats


@machine
def there_and_back(leaves: Leaves, line: Line, wanted: Ints, wanted_count: int, out: Floats) -> None:
    """Every value; then, from the output back, every adjoint."""
    for at in range(leaves.load_count):
        line.scalars[at] = leaves.source[leaves.loads[at]]
    to = leaves.many
    base = 0
    last = line.scalars[leaves.many - 1] if leaves.many > 0 else 0.0  # the first row may take the last leaf
    for at in range(0, line.size, 3):
        what, length = line.code[at], line.code[at + 1]
        last = there(what // HOWS, to, length, base, what % HOWS, last, line)
        to += length
        base += line.code[at + 2]
    out[0] = line.scalars[wanted[0]]
    if wanted_count > 1:
        for at in range(leaves.many):
            line.adjoints[at] = 0.0
        line.adjoints[wanted[0]] = 1.0
        for at in range(line.size - 3, -3, -3):
            what, length = line.code[at], line.code[at + 1]
            to -= length
            base -= line.code[at + 2]
            back(what // HOWS, to, length, base, what % HOWS, line)
        for at in range(1, wanted_count):
            out[at] = line.adjoints[wanted[at]]
    out[wanted_count] = amiss(out, 0, wanted_count)


def there(shape: int, to: int, length: int, base: int, how: int, last: float, line: Line) -> float:
    """One instruction forwards. Gives and takes the last result: what waits for it need not wait for memory."""
    if how == TWO_FROM:
        last = line.scalars[line.index[base]] + line.scalars[line.index[base + 1]]
    elif how == TWO_FROM + FIRST:
        last = last + line.scalars[line.index[base + 1]]
    elif how == TWO_FROM + SECOND:
        last = line.scalars[line.index[base]] + last
    elif how == TWO_FROM + 4:
        last = line.scalars[line.index[base]] - line.scalars[line.index[base + 1]]
    elif how == TWO_FROM + 4 + FIRST:
        last = last - line.scalars[line.index[base + 1]]
    elif how == TWO_FROM + 4 + SECOND:
        last = line.scalars[line.index[base]] - last
    elif how == TWO_FROM + 8:
        last = line.scalars[line.index[base]] * line.scalars[line.index[base + 1]]
    elif how == TWO_FROM + 8 + FIRST:
        last = last * line.scalars[line.index[base + 1]]
    elif how == TWO_FROM + 8 + SECOND:
        last = line.scalars[line.index[base]] * last
    elif how == ALONE_LAST:
        last = call_value(line.table, ENTRIES * shape + OF_ONE, last)
    else:
        return run(shape, to, length, base, how, line)
    line.scalars[to] = last
    return last


def run(shape: int, to: int, length: int, base: int, how: int, line: Line) -> float:
    """The same for those that leave their results in memory."""
    if how == SUM:
        add_up(to, length, base, line)
    elif how == PRODUCT:
        multiply(to, length, base, line)
    else:
        way = RUN if how == MANY else ONE
        call_run(line.table, ENTRIES * shape + way, line.scalars, line.index, base, to, length)
    return line.scalars[to + length - 1]


def back(shape: int, first: int, length: int, base: int, how: int, line: Line) -> None:
    """One run backwards: each row hands its adjoint on, and leaves 0 for the next time."""
    if how >= TWO_FROM:
        x, y, incoming = line.index[base], line.index[base + 1], line.adjoints[first]
        line.adjoints[first] = 0.0
        if how < TWO_FROM + 4:
            line.adjoints[x] += incoming
            line.adjoints[y] += incoming
        elif how < TWO_FROM + 8:
            line.adjoints[x] += incoming
            line.adjoints[y] -= incoming
        else:
            line.adjoints[x] += incoming * line.scalars[y]
            line.adjoints[y] += incoming * line.scalars[x]
    elif how == SUM:
        spread(first, length, base, line)
    elif how == PRODUCT:
        share_out(first, length, base, line)
    else:
        way = BACK if how == MANY else BACK_ONE
        call_back(line.table, ENTRIES * shape + way, line.scalars, line.adjoints, line.index, base, first, length)


def add_up(to: int, length: int, base: int, line: Line) -> None:
    """Sums of any number of terms, from the left."""
    at = base
    for i in range(length):
        end = at + 1 + line.index[at]
        sum = NOTHING_YET
        for term in range(at + 1, end):
            sum += line.scalars[line.index[term]]
        line.scalars[to + i] = sum
        at = end


def spread(first: int, length: int, base: int, line: Line) -> None:
    """Each term of a sum gets the sum's adjoint."""
    at = base
    for i in range(length):
        end = at + 1 + line.index[at]
        incoming = line.adjoints[first + i]
        line.adjoints[first + i] = 0.0
        for term in range(at + 1, end):
            line.adjoints[line.index[term]] += incoming
        at = end


def multiply(to: int, length: int, base: int, line: Line) -> None:
    """Products of any number of factors, from the left."""
    at = base
    for i in range(length):
        end = at + 1 + line.index[at]
        product = line.scalars[line.index[at + 1]]
        for factor in range(at + 2, end):
            product *= line.scalars[line.index[factor]]
        line.scalars[to + i] = product
        at = end


def share_out(first: int, length: int, base: int, line: Line) -> None:
    """Each factor gets the product's adjoint times all the others; a factor of 0 is harmless."""
    at = base
    for i in range(length):
        end = at + 1 + line.index[at]
        incoming = line.adjoints[first + i]
        line.adjoints[first + i] = 0.0
        for mine in range(at + 1, end):
            others = 1.0
            for factor in range(at + 1, end):
                if factor != mine:
                    others *= line.scalars[line.index[factor]]
            line.adjoints[line.index[mine]] += incoming * others
        at = end
