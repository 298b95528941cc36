"""A forward or a backward run of the direct engine: from the tables to the kernel, and back on success.

Each function says whether it ran. If not, the tables are as they were, and the
reference engine has to see to it: something is missing, stale, in a circle, not
finite, or a rule that cannot be compiled. The caller holds the tables' lock.
"""

from __future__ import annotations

import ctypes
import warnings
from array import array
from collections.abc import Callable, Mapping, Sequence
from functools import cache as once
from typing import Any

from ...core.origin import learners_level
from ...core.tables import Tables, Unpacked, unpacked
from ...errors import EngineWarning
from ..choice import OPAQUE
from ..llvm.compile import place
from ..llvm.emit import Opaque
from ..llvm.machine import library_of
from . import kernel
from .table import Table

KEY = "direct"
NOWHERE = array("d")


class Kernel:
    """The compiled functions and the table of rules, once for the process."""

    def __init__(self) -> None:
        library = self.library = library_of(kernel.__name__)
        self.table = Table()
        # The interpreter's lock is kept: so nobody resizes a column meanwhile, and the scratch below is one run's.
        seven, eight = (ctypes.PYFUNCTYPE(ctypes.c_int64, *[ctypes.c_void_p] * count) for count in (7, 8))
        self.sort, self.evaluate = seven(library.address("sort")), seven(library.address("evaluate"))
        self.differentiate = eight(library.address("differentiate"))
        self.unpack = eight(library.address("unpack"))
        self.scratch = array("d")

    def room(self, widest: int) -> array[float]:
        """Where the operands of one row lie, and behind them its partials."""
        if len(self.scratch) < 2 * widest:
            self.scratch = array("d", bytes(16 * widest))
        return self.scratch

    def unpacked(self, new: list[list[Any]], base: int, now: int) -> Unpacked:
        """As `tables.unpacked`."""
        operators, size = array("h", new[0]), len(new[0])
        try:
            lefts, rights = array("d", new[1]), array("i", new[2])
        except TypeError:  # a list of sources
            return unpacked(new, base, now)
        sources, targets = array("i", bytes(8 * size)), array("i", bytes(8 * size))
        values, stamps = array("d", bytes(8 * size)), array("q", bytes(8 * size))
        sizes = array("q", [size, base, *[0] * 6, now])
        edges = self.unpack(*map(place, (operators, lefts, rights, sizes, sources, targets, values, stamps)))
        return Unpacked(operators, array("i", new[3]), sources[:edges], targets[:edges], values, stamps)

    def run(self, call: Callable[[], int]) -> int:
        """What the kernel says once all rules that it meets are compiled. Raises Opaque if one cannot be."""
        said = call()
        while said > 0:
            self.table.learn(said - 1)
            said = call()
        return said


class Order:
    """What the sort found: see kernel.py."""

    __slots__ = ("sizes", "work")

    def __init__(self, work: array[int], sizes: array[int]) -> None:
        self.work, self.sizes = work, sizes

    def results(self) -> list[int]:
        """The rows that were asked for, or all sinks."""
        rows, room = self.sizes[kernel.ROWS], self.sizes[kernel.ROOM]
        first = 2 * rows + 1 + room
        return self.work[first : first + self.sizes[kernel.RESULTS]].tolist()


@once
def the_kernel() -> Kernel:
    return Kernel()


def settle(tables: Tables) -> None:
    """Move new rows into the columns, by machine code."""
    tables.settle(the_kernel().unpacked)


def forward(tables: Tables, targets: Sequence[int], fed: Mapping[int, float], warn: bool) -> bool:
    """Evaluate the targets, or the whole graph."""
    machine = the_kernel()
    order = sorted_for(tables, targets)
    if order is None:
        return False
    rows, now = order.sizes[kernel.ROWS], tables.clock
    values, stamps = grown(tables.values, rows), grown(tables.stamps, rows)
    for row, value in fed.items():
        values[row], stamps[row] = value, now
    order.sizes[kernel.NOW] = now
    scratch = machine.room(order.sizes[kernel.WIDEST])
    columns = (tables.operators, order.work, order.sizes, machine.table.addresses, values, stamps, scratch)
    if ran(tables, lambda: machine.evaluate(*map(place, columns)), warn) != 0:
        return False
    if fed:
        tables.written = now
    tables.clock = now + 1  # before the results: see running.commit_values
    tables.values[:rows], tables.stamps[:rows] = values, stamps  # what a handler built meanwhile stays
    return True


def backward(tables: Tables, targets: Sequence[int], warn: bool) -> array[float] | None:
    """The gradients of the sum of the targets, of all rows; None where it did not run."""
    whole = tables.cache.get((KEY,))  # what forward sorted serves, unless a target was absorbed
    said, grads = (kernel.UNSORTED, NOWHERE) if whole is None else swept(tables, whole, targets, warn)
    if said == kernel.UNSORTED:
        order = sorted_for(tables, targets)
        said, grads = (kernel.ELSEWHERE, NOWHERE) if order is None else swept(tables, order, targets, warn)
    return grads if said == 0 else None


def results(tables: Tables) -> list[int] | None:
    """The operators that feed nobody, in Kahn's order; None where the graph cannot be sorted."""
    order = sorted_for(tables, ())
    return None if order is None else order.results()


def sorted_for(tables: Tables, targets: Sequence[int]) -> Order | None:
    """The order for these targets (the whole graph if there are none), kept until the tables change."""
    key = (KEY, *targets)
    cache = tables.cache
    if key not in cache:
        cache[key] = _sorted(tables, targets)
    order: Order | None = cache[key]
    return order


def _sorted(tables: Tables, targets: Sequence[int]) -> Order | None:
    machine, rows, edges = the_kernel(), len(tables), len(tables.sources)
    machine.table.grow()
    said = room = edges + 1
    while said > 0:  # an operand that many absorbers took over may need more room
        room = said
        sizes = array("q", [rows, edges, room, len(targets), *[0] * 6, *targets])
        work = array("i", [0]) * (7 * rows + edges + 2 * room + 4)
        columns = (tables.operators, tables.in_degrees, tables.sources, tables.targets, machine.table.arities)
        said = machine.sort(*map(place, (*columns, work, sizes)))
    return Order(work, sizes) if said == 0 else None


def swept(tables: Tables, order: Order, targets: Sequence[int], warn: bool) -> tuple[int, array[float]]:
    """What the kernel says of the sweep backwards, and the gradients."""
    machine, rows = the_kernel(), len(tables)
    sizes = order.sizes[: kernel.FIRST_ASKED] + array("q", targets)
    sizes[kernel.ASKED], sizes[kernel.REDRAWN] = len(targets), tables.redrawn
    values, stamps = (grown(column, rows) for column in (tables.values, tables.stamps))
    scratch = machine.room(sizes[kernel.WIDEST])
    grads = NOWHERE

    def call() -> int:
        nonlocal grads
        grads = array("d", bytes(8 * rows))
        columns = (tables.operators, order.work, sizes, machine.table.addresses, values, stamps, grads, scratch)
        said: int = machine.differentiate(*map(place, columns))
        return said

    return ran(tables, call, warn), grads


def ran(tables: Tables, call: Callable[[], int], warn: bool) -> int:
    """What the kernel says; a rule that cannot be compiled sends the run elsewhere, with a warning if that is asked."""
    try:
        return the_kernel().run(call)
    except Opaque as error:
        tables.cache[OPAQUE] = True
        if warn:
            message = f"{error} The reference engine runs this graph."
            warnings.warn(EngineWarning(message), stacklevel=learners_level())
        return kernel.ELSEWHERE


def grown(column: array[Any], rows: int) -> array[Any]:
    """A copy of the column with an entry for every row."""
    return column[:rows] + array(column.typecode, bytes(8 * max(0, rows - len(column))))
