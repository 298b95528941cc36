"""The direct engine: forward and backward runs of any graph by compiled kernels on its tables.

Each function returns False or None if it could not run. Then the tables are unchanged,
and the reference engine must run (and report the error): something is missing, stale,
cyclic or not finite, or a rule cannot be compiled. The caller holds the tables' lock.
"""

from __future__ import annotations

import ctypes
import warnings
from array import array
from collections.abc import Callable, Mapping, Sequence
from functools import cache as once
from typing import Any, NamedTuple

from ...core.optional_deps import defer_sigint
from ...core.origin import user_stacklevel
from ...core.sweep import REFERENCE_ONLY
from ...core.tables import Tables
from ...core.waiting import NewRows
from ...errors import EngineWarning
from ..llvm.compile import LOCK
from ..llvm.emit import NotCompilable
from ..llvm.machine import library_of
from . import kernel
from .table import Table

KEY = "direct"
NOWHERE: array[Any] = array("d")


class Kernel:
    """The compiled functions and the table of rules, once for the process."""

    def __init__(self) -> None:
        library = self.library = library_of(kernel.__name__)
        self.table = Table()

        def function(name: str, arrays: int) -> Callable[..., int]:
            # The interpreter's lock is kept: so nobody resizes a column meanwhile, and the scratch below is one run's.
            return ctypes.PYFUNCTYPE(ctypes.c_int64, *[ctypes.c_void_p] * arrays)(library.address(name))

        self.write, self.sort = function("write", 11), function("sort", 11)
        self.evaluate, self.differentiate = function("evaluate", 13), function("differentiate", 13)
        self.scratch = array("d"), array("i")

    def room(self, widest: int) -> tuple[array[float], array[int]]:
        """Where the operands of one row lie, and behind them its partials; where they are, and which are wanted."""
        room = self.scratch
        if len(room[0]) < 2 * widest:
            room = self.scratch = array("d", bytes(16 * widest)), array("i", bytes(8 * widest))
        return room

    def written_rows(
        self, tables: Tables, operators: array[int], lefts: array[int], rights: array[int], values: array[float]
    ) -> NewRows | None:
        """As `waiting.write_rows`, for rows of two operands at most."""
        self.table.grow()
        size = len(operators)
        counts, stamps = zeros(size), array("q", bytes(8 * size))
        sources, targets = zeros(2 * size), zeros(2 * size)
        sizes = array("q", [size, tables.size[0], *[0] * 6, tables.clock])
        table_columns = tables._operators, tables._in_degrees, self.table.merging
        columns = (operators, lefts, rights, *table_columns, counts, sources, targets, stamps, sizes)
        edges = self.write(*addresses(columns))
        return None if edges < 0 else NewRows(operators, counts, sources[:edges], targets[:edges], values, stamps)

    def run(self, call: Callable[[], int]) -> int:
        """Run the kernel, compiling rules as it meets them; its last answer. Raises NotCompilable if one cannot be."""
        status = call()
        while status > 0:
            self.table.learn(status - 1)
            status = call()
        return status


class SortedGraph(NamedTuple):
    """The result of the sort: see kernel.py. drawn: operators, degrees, own, begins, order and marks."""

    sizes: array[int]
    drawn: tuple[array[int], ...]
    results: array[int]  # the requested rows, or all sinks
    held: Sequence[Any]  # keeps the tables' columns in place
    at: list[int]  # the addresses of all columns in `drawn`

    @property
    def rows(self) -> array[int]:
        """The rows that run, in Kahn's order."""
        return self.drawn[4][: self.sizes[kernel.SORTED]]


@once
def shared_kernel() -> Kernel:
    """The kernel of the process, shared by all threads; the lock prevents a second one."""
    with defer_sigint(), LOCK:
        return _first_kernel()


@once
def _first_kernel() -> Kernel:
    kernel = Kernel()
    Tables.write_quickly = kernel.written_rows
    return kernel


def forward(tables: Tables, targets: Sequence[int], fed: Mapping[int, float], warn: bool) -> bool:
    """Evaluate the targets, or the whole graph."""
    order, now = sort_for(tables, targets), tables.tick()
    evaluation = None if order is None else run_evaluation(tables, order, fed, now, warn)
    if evaluation is None:
        return False
    if fed:
        tables.written = now
    values, stamps = evaluation
    rows = slice(0, len(values))
    tables._values[rows], tables._stamps[rows] = values, stamps  # and nothing is called: both, or neither
    return True


def backward(tables: Tables, targets: Sequence[int], warn: bool) -> array[float] | None:
    """The gradients of the sum of the targets, of all rows; None where it did not run."""
    cached_order = tables.cache.get((KEY,))  # what forward sorted serves, unless a target was absorbed
    status, grads = kernel.UNSORTED, NOWHERE
    if cached_order is not None:
        status, grads = run_reverse_sweep(tables, cached_order, targets, None, warn)
    if status == kernel.UNSORTED:
        order = sort_for(tables, targets)
        if order is None:
            return None
        status, grads = run_reverse_sweep(tables, order, targets, None, warn)
    return grads if status == 0 else None


def evaluate_and_differentiate(
    tables: Tables, targets: Sequence[int], fed: Mapping[int, float], wrt: Sequence[int]
) -> tuple[list[float], list[list[float]]] | None:
    """The targets' values, and of each its derivatives with respect to some leaves; None where it did not run.

    Nothing is written. fed: leaves' numbers that hold in place of the tables'.
    """
    order = sort_for(tables, targets)
    evaluation = None if order is None else run_evaluation(tables, order, fed, tables.clock, True)
    if order is None or evaluation is None:
        return None
    slopes = []
    for target in targets if wrt else ():
        status, grads = run_reverse_sweep(tables, order, [target], evaluation, True)
        if status != 0:
            return None
        slopes.append([grads[row] for row in wrt])
    return [evaluation[0][row] for row in targets], slopes


def results(tables: Tables) -> list[int] | None:
    """The operators that feed nobody, in Kahn's order; None where the graph cannot be sorted."""
    order = sort_for(tables, ())
    return None if order is None else order.results.tolist()


def sort_for(tables: Tables, targets: Sequence[int]) -> SortedGraph | None:
    """The order for these targets (the whole graph if there are none), kept until the tables change."""
    key = (KEY, *targets)
    cache = tables.cache
    if key not in cache:
        cache[key] = _sort_graph(tables, targets)
    order: SortedGraph | None = cache[key]
    return order


def _sort_graph(tables: Tables, targets: Sequence[int]) -> SortedGraph | None:
    machine, (columns, held) = shared_kernel(), tables.snapshot()
    operators, degrees, sources, consumers = columns
    machine.table.grow()  # after: it has every rule that is among the operators
    rows, edges = len(held[0]), len(held[2])
    status = max(1, edges)  # the sort runs at least once
    sizes = array("q", [rows, edges, edges, len(targets), *[0] * (kernel.FIRST_ASKED - 4), *targets])
    begins, order, marks, grouped_sources = zeros(rows + 1), zeros(rows), array("b", bytes(rows)), sources
    while status > 0 or status == kernel.MIXED:
        if status == kernel.MIXED:  # by edges drawn by hand
            grouped_sources, sizes[kernel.GROUPED] = by_consumer(sources, consumers), 1
        else:  # operands that many absorbers took over need more room than edges
            sizes[kernel.ROOM], follow = status, NOWHERE  # the old room goes first
        follow = zeros(2 * rows + 1 + sizes[kernel.ROOM])
        drawn = (operators, degrees, grouped_sources, begins, order, marks)
        column_addresses = addresses(drawn)
        status = machine.sort(*column_addresses, *addresses((sources, consumers, machine.table.arities, follow, sizes)))
    results = follow[: sizes[kernel.RESULTS]]
    return SortedGraph(sizes, drawn, results, held, column_addresses) if status == 0 else None


def by_consumer(sources: array[int], consumers: array[int]) -> array[int]:
    """The edges' sources by the row that they lead to, in the order of drawing."""
    import numpy as np

    order = np.argsort(np.frombuffer(consumers, np.int32), kind="stable")
    return array("i", np.frombuffer(sources, np.int32)[order].tobytes())


def run_evaluation(
    tables: Tables, order: SortedGraph, fed: Mapping[int, float], now: int, warn: bool
) -> tuple[array[float], array[int]] | None:
    """All values, and when each was written or computed; None where it did not run. now: the number of this run."""
    machine, sizes = shared_kernel(), order.sizes[:]
    rows = sizes[kernel.ROWS]
    values, stamps = tables.values[:rows], tables.stamps[:rows]
    for row, value in fed.items():
        values[row], stamps[row] = value, now
    sizes[kernel.NOW] = now
    room = machine.room(sizes[kernel.WIDEST])

    def call() -> int:
        columns = (order.results, sizes, machine.table.addresses, values, stamps, *room)
        return machine.evaluate(*order.at, *addresses(columns))

    return (values, stamps) if run_kernel(tables, call, warn) == 0 else None


def run_reverse_sweep(
    tables: Tables,
    order: SortedGraph,
    targets: Sequence[int],
    known: tuple[array[float], array[int]] | None,
    warn: bool,
) -> tuple[int, array[float]]:
    """Run the reverse sweep; returns the kernel's status and gradients. known: values, stamps; None: the tables'."""
    machine = shared_kernel()
    sizes = order.sizes[: kernel.FIRST_ASKED] + array("q", targets)
    rows, room, grads = sizes[kernel.ROWS], machine.room(sizes[kernel.WIDEST]), NOWHERE
    sizes[kernel.ASKED] = len(targets)

    def call() -> int:
        nonlocal grads
        values, stamps = (tables._values, tables._stamps) if known is None else known
        if max(targets) >= rows:  # they were built since
            return kernel.ELSEWHERE
        sizes[kernel.REDRAWN], grads = tables.edges_edited_at, array("d", [0.0]) * rows
        columns = (sizes, machine.table.addresses, values, stamps, grads, *room)
        return machine.differentiate(*order.at, *addresses(columns))

    status = run_kernel(tables, call, warn)
    return status, grads


def run_kernel(tables: Tables, call: Callable[[], int], warn: bool) -> int:
    """Run the kernel; returns its status, or ELSEWHERE if a rule cannot be compiled (with a warning if `warn`)."""
    try:
        return shared_kernel().run(call)
    except NotCompilable as error:
        tables.cache[REFERENCE_ONLY] = True
        if warn:
            message = f"{error} The reference engine runs this graph."
            warnings.warn(EngineWarning(message), stacklevel=user_stacklevel())
        return kernel.ELSEWHERE


def addresses(columns: Sequence[Any]) -> list[int]:
    """The addresses of some arrays."""
    return [column.buffer_info()[0] for column in columns]


def zeros(size: int) -> array[int]:
    return array("i", [0]) * size
