"""A large plan, made ready to run: forwards over its windows, and back over the same.

`WindowTape` is what `Tape` is for plans that went through the passes. Forwards
every run writes its values; backwards every run takes its adjoints, and adds
them, times a partial, to its operands'. In a chain every run is one row long, and
what surrounds a row takes longer than its work. So a row alone has no loop around
it, and where it is a sum, a product or a difference of two, no kernel is called.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import Any

import numpy as np

from ...core.tables import PLACEHOLDER, VARIABLE
from ..llvm.machine import library_of, machine
from ..llvm.python import Floats, Ints, Longs
from .backward import backward
from .flat import Array, Flat
from .kernels import amiss, call_run
from .operators import kernels as kernels_of
from .sums import NOTHING_YET
from .windows import (
    ADD_LAST,
    ADD_TWO,
    ALONE_LAST,
    HOWS,
    LAST_ADD,
    LAST_MUL,
    LAST_SUB,
    LOOPED,
    MANY,
    MUL_LAST,
    MUL_TWO,
    PRODUCT,
    SUB_LAST,
    SUB_TWO,
    SUM,
    Windows,
)  # fmt: skip

SOURCE = 6  # its place among the arguments
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
        loaded = made.leaves[flat.kinds[made.leaves] == VARIABLE].tolist()
        self.loads = np.array([flat.sources[row] for row in loaded] or [0], np.int32)
        self.load_count, self.leaf_count = len(loaded), len(made.leaves)
        fed = [(row, leaf) for leaf, row in flat.sources.items() if flat.kinds[leaf] == PLACEHOLDER]
        self.fed = [(row, int(made.slots[leaf])) for row, leaf in fed]
        self.shapes = made.shapes
        self.wanted = np.array([made.slots[output], *made.slots[list(wrt)]], np.int32)
        self.table = np.array([address for shape in made.shapes for address in _addresses(shape)] or [0], np.int64)
        self.scalars, self.adjoints = np.zeros(len(flat) + 1), np.zeros(len(flat) + 1)
        for row, value in flat.constants.items():
            self.scalars[made.slots[row]] = value
        self.out = np.zeros(len(self.wanted) + 1)
        self.arguments = self._packed()
        self._arguments_at = self.arguments.ctypes.data
        self._run = library_of(__name__).function("there_and_back.packed", None, [ctypes.c_void_p])

    def _packed(self) -> Array:
        """All arguments of the sweeps, in one array."""
        entries = (
            self.code, len(self.code), self.index, self.table, self.scalars, self.adjoints, 0, self.loads,
            self.load_count, self.leaf_count, self.wanted, len(self.wanted), self.out,
        )  # fmt: skip
        return np.array([each if isinstance(each, int) else each.ctypes.data for each in entries], np.int64)

    def run(self, source: int) -> None:
        """Run once. source: the address of the floats that leaves are loaded from."""
        self.arguments[SOURCE] = source
        self._run(self._arguments_at)


def _addresses(shape: Any) -> tuple[int, ...]:
    if shape in LOOPED:
        return (0, 0, 0, 0, 0)
    there, back = kernels_of(shape), backward(shape)
    return there.run, there.one, there.of_one, back.back, back.one


@machine
def there_and_back(
    code: Ints, size: int, index: Ints, table: Longs, scalars: Floats, adjoints: Floats, source: Floats, loads: Ints,
    load_count: int, leaf_count: int, wanted: Ints, wanted_count: int, out: Floats,
) -> None:  # fmt: skip
    """Every value; then, from the output back, every adjoint."""
    for at in range(load_count):
        scalars[at] = source[loads[at]]
    to = leaf_count
    base = 0
    last = scalars[leaf_count - 1] if leaf_count > 0 else 0.0  # the first row may take the last leaf
    for at in range(0, size, 3):
        what, length = code[at], code[at + 1]
        last = there(what // HOWS, to, length, base, what % HOWS, last, index, table, scalars)
        to += length
        base += code[at + 2]
    out[0] = scalars[wanted[0]]
    if wanted_count > 1:
        for at in range(leaf_count):
            adjoints[at] = 0.0
        adjoints[wanted[0]] = 1.0
        for at in range(size - 3, -3, -3):
            what, length = code[at], code[at + 1]
            to -= length
            base -= code[at + 2]
            back(what // HOWS, to, length, base, what % HOWS, index, table, scalars, adjoints)
        for at in range(1, wanted_count):
            out[at] = adjoints[wanted[at]]
    out[wanted_count] = amiss(out, 0, wanted_count)


def there(
    shape: int, to: int, length: int, base: int, how: int, last: float, index: Ints, table: Longs, scalars: Floats
) -> float:
    """One instruction forwards. Gives and takes the last result: what waits for it need not wait for memory."""
    if how == ADD_TWO:
        last = scalars[index[base]] + scalars[index[base + 1]]
    elif how == ADD_LAST:
        last = scalars[index[base]] + last
    elif how == LAST_ADD:
        last = last + scalars[index[base + 1]]
    elif how == SUB_TWO:
        last = scalars[index[base]] - scalars[index[base + 1]]
    elif how == SUB_LAST:
        last = scalars[index[base]] - last
    elif how == LAST_SUB:
        last = last - scalars[index[base + 1]]
    elif how == MUL_TWO:
        last = scalars[index[base]] * scalars[index[base + 1]]
    elif how == MUL_LAST:
        last = scalars[index[base]] * last
    elif how == LAST_MUL:
        last = last * scalars[index[base + 1]]
    elif how == ALONE_LAST:
        last = call_value(table, ENTRIES * shape + OF_ONE, last)
    else:
        return run(shape, to, length, base, how, index, table, scalars)
    scalars[to] = last
    return last


def run(shape: int, to: int, length: int, base: int, how: int, index: Ints, table: Longs, scalars: Floats) -> float:
    """The same for those that leave their results in memory."""
    if how == SUM:
        add_up(to, length, base, index, scalars)
    elif how == PRODUCT:
        multiply(to, length, base, index, scalars)
    else:
        call_run(table, ENTRIES * shape + (RUN if how == MANY else ONE), scalars, index, base, to, length)
    return scalars[to + length - 1]


def back(
    shape: int, first: int, length: int, base: int, how: int, index: Ints, table: Longs, scalars: Floats,
    adjoints: Floats,
) -> None:  # fmt: skip
    """One run backwards: each row hands its adjoint on, and leaves 0 for the next time."""
    if how == ADD_TWO or how == ADD_LAST or how == LAST_ADD:  # noqa: SIM109
        incoming = adjoints[first]
        adjoints[first] = 0.0
        adjoints[index[base]] += incoming
        adjoints[index[base + 1]] += incoming
    elif how == SUB_TWO or how == SUB_LAST or how == LAST_SUB:  # noqa: SIM109
        incoming = adjoints[first]
        adjoints[first] = 0.0
        adjoints[index[base]] += incoming
        adjoints[index[base + 1]] -= incoming
    elif how == MUL_TWO or how == MUL_LAST or how == LAST_MUL:  # noqa: SIM109
        incoming = adjoints[first]
        adjoints[first] = 0.0
        adjoints[index[base]] += incoming * scalars[index[base + 1]]
        adjoints[index[base + 1]] += incoming * scalars[index[base]]
    elif how == SUM:
        spread(first, length, base, index, adjoints)
    elif how == PRODUCT:
        share_out(first, length, base, index, scalars, adjoints)
    else:
        way = BACK if how == MANY else BACK_ONE
        call_back(table, ENTRIES * shape + way, scalars, adjoints, index, base, first, length)


def add_up(to: int, length: int, base: int, index: Ints, scalars: Floats) -> None:
    """Sums of any number of terms, from the left."""
    at = base
    for i in range(length):
        end = at + 1 + index[at]
        sum = NOTHING_YET
        for term in range(at + 1, end):
            sum += scalars[index[term]]
        scalars[to + i] = sum
        at = end


def spread(first: int, length: int, base: int, index: Ints, adjoints: Floats) -> None:
    """Each term of a sum gets the sum's adjoint."""
    at = base
    for i in range(length):
        end = at + 1 + index[at]
        incoming = adjoints[first + i]
        adjoints[first + i] = 0.0
        for term in range(at + 1, end):
            adjoints[index[term]] += incoming
        at = end


def multiply(to: int, length: int, base: int, index: Ints, scalars: Floats) -> None:
    """Products of any number of factors, from the left."""
    at = base
    for i in range(length):
        end = at + 1 + index[at]
        product = scalars[index[at + 1]]
        for factor in range(at + 2, end):
            product *= scalars[index[factor]]
        scalars[to + i] = product
        at = end


def share_out(first: int, length: int, base: int, index: Ints, scalars: Floats, adjoints: Floats) -> None:
    """Each factor gets the product's adjoint times all the others; a factor of 0 is harmless."""
    at = base
    for i in range(length):
        end = at + 1 + index[at]
        incoming = adjoints[first + i]
        adjoints[first + i] = 0.0
        for mine in range(at + 1, end):
            others = 1.0
            for factor in range(at + 1, end):
                if factor != mine:
                    others *= scalars[index[factor]]
            adjoints[index[mine]] += incoming * others
        at = end
