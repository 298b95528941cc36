"""The direct engine: forward and backward runs of any graph by compiled kernels on its tables.

Each public run (`forward`, `backward`, `evaluate_and_differentiate`, `results`) returns False or
None if it could not run: a value is missing, stale or not finite, the graph has a cycle, or a rule
cannot be compiled. Then the tables' values are unchanged, and the reference engine must run (and
report the error). The caller holds the tables' lock.
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

KEY = "direct"  # begins the keys of sorted graphs in the tables' cache
EMPTY: array[Any] = array("d")


class Kernel:
    """The compiled functions and the table of rules, once for the process."""

    def __init__(self) -> None:
        library = self.library = library_of(kernel.__name__)
        self.table = Table()

        def function(name: str, arrays: int) -> Callable[..., int]:
            # PYFUNCTYPE keeps Python's global lock, so no thread resizes a column or uses `scratch` meanwhile.
            return ctypes.PYFUNCTYPE(ctypes.c_int64, *[ctypes.c_void_p] * arrays)(library.address(name))

        self.write, self.sort = function("write", 11), function("sort", 11)
        self.evaluate, self.differentiate = function("evaluate", 13), function("differentiate", 13)
        self.scratch = array("d"), array("i")

    def scratch_for(self, widest: int) -> tuple[array[float], array[int]]:
        """Scratch arrays for a row of so many operands: see `kernel.OperandRoom`. They grow, and are reused."""
        scratch = self.scratch
        if len(scratch[0]) < 2 * widest:
            scratch = self.scratch = array("d", bytes(16 * widest)), array("i", bytes(8 * widest))
        return scratch

    def write_rows(
        self, tables: Tables, operators: array[int], lefts: array[int], rights: array[int], values: array[float]
    ) -> NewRows | None:
        """As `waiting.write_rows`, for rows of at most two operands."""
        self.table.grow()
        size = len(operators)
        counts, stamps = zeros(size), array("q", bytes(8 * size))
        sources, targets = zeros(2 * size), zeros(2 * size)
        sizes = array("q", [size, tables.size[0], *[0] * 6, tables.clock])
        table_columns = tables._operators, tables._in_degrees, self.table.merging
        columns = (operators, lefts, rights, *table_columns, counts, sources, targets, stamps, sizes)
        edges = self.write(*addresses(columns))
        return None if edges < 0 else NewRows(operators, counts, sources[:edges], targets[:edges], values, stamps)


class SortedGraph(NamedTuple):
    """The result of a sort. columns: operators, degrees, own, begins, order and marks, as kernel.py explains them."""

    sizes: array[int]
    columns: tuple[array[int], ...]
    results: array[int]  # the requested rows, or all sinks
    views: Sequence[Any]  # of the tables' columns, which cannot be resized while these are kept
    addresses: list[int]  # of `columns`

    @property
    def rows(self) -> array[int]:
        """The rows that run, in Kahn's order."""
        return self.columns[4][: self.sizes[kernel.SORTED]]


@once
def shared_kernel() -> Kernel:
    """The compiled functions, made once for all threads of the process."""
    with defer_sigint(), LOCK:
        return _first_kernel()


@once
def _first_kernel() -> Kernel:
    kernels = Kernel()
    Tables.write_quickly = kernels.write_rows
    return kernels


def forward(tables: Tables, targets: Sequence[int], fed: Mapping[int, float], warn: bool) -> bool:
    """Evaluate the targets, or the whole graph."""
    order, clock = sort_for(tables, targets), tables.tick()
    evaluation = None if order is None else run_evaluation(tables, order, fed, clock, warn)
    if evaluation is None:
        return False
    if fed:
        tables.written = clock
    values, stamps = evaluation
    rows = slice(0, len(values))
    tables._values[rows], tables._stamps[rows] = values, stamps  # no Ctrl-C comes between the two: nothing is called
    return True


def backward(tables: Tables, targets: Sequence[int], warn: bool) -> array[float] | None:
    """The gradient of the sum of the targets with respect to each row; None if it did not run."""
    # The order of the last forward run of the whole graph will do, unless it lacks a target, which was absorbed.
    status, grads = run_reverse_sweep(tables, tables.cache.get((KEY,)), targets, None, warn)
    if status == kernel.UNSORTED:
        status, grads = run_reverse_sweep(tables, sort_for(tables, targets), targets, None, warn)
    return grads if status == 0 else None


def evaluate_and_differentiate(
    tables: Tables, targets: Sequence[int], fed: Mapping[int, float], wrt: Sequence[int]
) -> tuple[list[float], list[list[float]]] | None:
    """The targets' values, and the derivatives of each with respect to some leaves; None if it did not run.

    The tables are not changed. fed: values of leaves that replace the tables'.
    """
    order = sort_for(tables, targets)
    evaluation = None if order is None else run_evaluation(tables, order, fed, tables.clock, True)
    if order is None or evaluation is None:
        return None
    derivatives = []
    for target in targets if wrt else ():
        status, grads = run_reverse_sweep(tables, order, [target], evaluation, True)
        if status != 0:
            return None
        derivatives.append([grads[row] for row in wrt])
    return [evaluation[0][row] for row in targets], derivatives


def results(tables: Tables) -> list[int] | None:
    """The operators without consumers, in Kahn's order; None if the graph cannot be sorted."""
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
    kernels, (table_columns, views) = shared_kernel(), tables.snapshot()
    operators, degrees, sources, consumers = table_columns
    kernels.table.grow()  # after the snapshot: so it has an entry for each rule among the operators
    rows, edges = len(views[0]), len(views[2])
    status = max(1, edges)  # the sort runs at least once
    sizes = array("q", [rows, edges, edges, len(targets), *[0] * (kernel.FIRST_REQUEST - 4), *targets])
    begins, order, marks, grouped_sources = zeros(rows + 1), zeros(rows), array("b", bytes(rows)), sources
    while status > 0 or status == kernel.UNGROUPED:
        if status == kernel.UNGROUPED:  # edges were drawn by hand
            grouped_sources, sizes[kernel.GROUPED] = by_consumer(sources, consumers), 1
        else:  # many rows absorbed others: they have more operands than there are edges
            sizes[kernel.FANOUT_ROOM], fanout = status, EMPTY  # free the old one first
        fanout = zeros(2 * rows + 1 + sizes[kernel.FANOUT_ROOM])
        columns = (operators, degrees, grouped_sources, begins, order, marks)
        column_addresses = addresses(columns)
        status = kernels.sort(*column_addresses, *addresses((sources, consumers, kernels.table.arities, fanout, sizes)))
    results = fanout[: sizes[kernel.RESULTS]]
    return SortedGraph(sizes, columns, results, views, column_addresses) if status == 0 else None


def by_consumer(sources: array[int], consumers: array[int]) -> array[int]:
    """The edges' sources, grouped by consumer; those of one consumer stay in the order in which they were drawn."""
    import numpy as np

    order = np.argsort(np.frombuffer(consumers, np.int32), kind="stable")
    return array("i", np.frombuffer(sources, np.int32)[order].tobytes())


def run_evaluation(
    tables: Tables, order: SortedGraph, fed: Mapping[int, float], clock: int, warn: bool
) -> tuple[array[float], array[int]] | None:
    """The values and stamps of all rows; None if it did not run. clock: the stamp of values that this run computes."""
    kernels, sizes = shared_kernel(), order.sizes[:]
    rows = sizes[kernel.ROWS]
    values, stamps = tables.values[:rows], tables.stamps[:rows]
    for row, value in fed.items():
        values[row], stamps[row] = value, clock
    sizes[kernel.NOW] = clock
    room = kernels.scratch_for(sizes[kernel.WIDEST])

    def call() -> int:
        columns = (order.results, sizes, kernels.table.addresses, values, stamps, *room)
        return kernels.evaluate(*order.addresses, *addresses(columns))

    return (values, stamps) if run_kernel(tables, call, warn) == 0 else None


def run_reverse_sweep(
    tables: Tables,
    order: SortedGraph | None,
    targets: Sequence[int],
    evaluation: tuple[array[float], array[int]] | None,
    warn: bool,
) -> tuple[int, array[float]]:
    """Run the reverse sweep; returns the kernel's status, and the gradients of all rows.

    evaluation: values and stamps of all rows; if None, the tables' own.
    """
    if order is None:
        return kernel.UNSORTED, EMPTY
    kernels = shared_kernel()
    sizes = order.sizes[: kernel.FIRST_REQUEST] + array("q", targets)
    rows, room, grads = sizes[kernel.ROWS], kernels.scratch_for(sizes[kernel.WIDEST]), EMPTY
    sizes[kernel.REQUEST_COUNT] = len(targets)

    def call() -> int:
        nonlocal grads
        values, stamps = (tables._values, tables._stamps) if evaluation is None else evaluation
        if max(targets) >= rows:  # built after the sort
            return kernel.BAIL_OUT
        sizes[kernel.EDITED_AT], grads = tables.edges_edited_at, array("d", [0.0]) * rows
        columns = (sizes, kernels.table.addresses, values, stamps, grads, *room)
        return kernels.differentiate(*order.addresses, *addresses(columns))

    status = run_kernel(tables, call, warn)
    return status, grads


def run_kernel(tables: Tables, call: Callable[[], int], warn: bool) -> int:
    """Call a kernel until it needs no further rule compiled; returns its last status.

    BAIL_OUT if a rule cannot be compiled (with a warning if `warn`).
    """
    try:
        while (status := call()) > 0:
            shared_kernel().table.learn(status - 1)
        return status
    except NotCompilable as error:
        tables.cache[REFERENCE_ONLY] = True
        if warn:
            message = f"{error} The reference engine runs this graph."
            warnings.warn(EngineWarning(message), stacklevel=user_stacklevel())
        return kernel.BAIL_OUT


def addresses(columns: Sequence[Any]) -> list[int]:
    """The address of each array's first item."""
    return [column.buffer_info()[0] for column in columns]


def zeros(size: int) -> array[int]:
    return array("i", [0]) * size
