"""The direct engine: forward and backward runs of any graph by compiled kernels on its tables.

Each function returns False or None if it could not run. Then the tables are unchanged,
and the reference engine must run (and report the error): something is missing, stale,
cyclic or not finite, or a rule cannot be compiled. The caller holds the tables' lock.

For a large graph, the first value that is not finite is found here: the reference engine
would need 6 us and 500 bytes for each row. tell: called with a function that gives the message.
"""

from __future__ import annotations

import ctypes
import warnings
from array import array
from collections.abc import Callable, Mapping, Sequence
from functools import cache as once
from math import isfinite
from typing import Any, NamedTuple

from ...core.nan_trace import explain_call, explain_leaf, explain_share
from ...core.optional_deps import defer_sigint
from ...core.origin import user_stacklevel
from ...core.rules import BY_NUMBER
from ...core.sweep import REFERENCE_ONLY, Contributed
from ...core.tables import PLACEHOLDER, VARIABLE, Tables
from ...core.waiting import NewRows
from ...errors import EngineWarning
from ..llvm.compile import LOCK
from ..llvm.emit import NotCompilable
from ..llvm.machine import library_of
from . import kernel
from .table import Table

KEY = "direct"
LEAVES = VARIABLE, PLACEHOLDER
MOST_REPLAYED = 100_000  # rows that the reference engine runs again, to name what is not finite: half a second
Tell = Callable[[Callable[[], str]], None]
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
        if len(room[0]) < 2 * widest + 5:
            room = self.scratch = array("d", bytes(16 * widest + 40)), array("i", bytes(8 * widest))
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

    @property
    def large(self) -> bool:
        """Whether the reference engine would take too long to find what is not finite."""
        return self.sizes[kernel.SORTED] > MOST_REPLAYED

    def describe_first_nonfinite(self, tables: Tables, values: array[float]) -> str:
        """The message for the first value that is not finite: a leaf if there is one, else an operator."""
        import numpy as np

        operators, rows = self.drawn[0], np.frombuffer(self.rows, np.int32)
        wild = rows[~np.isfinite(np.frombuffer(values)[rows])].tolist()
        row = next((row for row in wild if operators[row] < 0), wild[0])
        if operators[row] < 0:
            return explain_leaf(tables, row, values[row])
        operands = [values[operand] for operand in self.operands(row)]
        return explain_call(tables, row, BY_NUMBER[operators[row]], operands, values[row])

    def operands(self, row: int) -> list[int]:
        """As `tables.operands`, which asks for all edges first."""
        _, _, sources, begins, _, _ = self.drawn
        operand_rows: list[int] = []
        while row >= 0:
            mine = sources[begins[row] : begins[row + 1]].tolist()
            row = ~mine.pop(0) if mine and mine[0] < 0 else -1
            operand_rows[:0] = mine
        return operand_rows


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


def forward(tables: Tables, targets: Sequence[int], fed: Mapping[int, float], warn: bool, tell: Tell) -> bool:
    """Evaluate the targets, or the whole graph."""
    order, now = sort_for(tables, targets), tables.tick()
    evaluation = None if order is None else run_evaluation(tables, order, fed, now, warn, tell)
    if evaluation is None:
        return False
    if fed:
        tables.written = now
    values, stamps = evaluation
    rows = slice(0, len(values))
    tables._values[rows], tables._stamps[rows] = values, stamps  # and nothing is called: both, or neither
    return True


def backward(tables: Tables, targets: Sequence[int], warn: bool, tell: Tell) -> array[float] | None:
    """The gradients of the sum of the targets, of all rows; None where it did not run."""
    cached_order = tables.cache.get((KEY,))  # what forward sorted serves, unless a target was absorbed
    status, grads = (
        (kernel.UNSORTED, NOWHERE)
        if cached_order is None
        else run_reverse_sweep(tables, cached_order, targets, None, warn, tell)
    )
    if status == kernel.UNSORTED:
        order = sort_for(tables, targets)
        status, grads = (
            (kernel.ELSEWHERE, NOWHERE)
            if order is None
            else run_reverse_sweep(tables, order, targets, None, warn, tell)
        )
    return grads if status == 0 else None


def evaluate_and_differentiate(
    tables: Tables, targets: Sequence[int], fed: Mapping[int, float], wrt: Sequence[int], tell: Tell
) -> tuple[list[float], list[list[float]]] | None:
    """The targets' values, and of each its derivatives with respect to some leaves; None where it did not run.

    Nothing is written. fed: leaves' numbers that hold in place of the tables'.
    """
    order = sort_for(tables, targets)
    evaluation = None if order is None else run_evaluation(tables, order, fed, tables.clock, True, tell)
    if order is None or evaluation is None:
        return None
    slopes = []
    for target in targets if wrt else ():
        status, grads = run_reverse_sweep(tables, order, [target], evaluation, True, tell)
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
    tables: Tables, order: SortedGraph, fed: Mapping[int, float], now: int, warn: bool, tell: Tell
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

    status = run_kernel(tables, call, warn)
    if status == kernel.WILD and order.large:
        tell(lambda: order.describe_first_nonfinite(tables, values))
        status = 0
    return (values, stamps) if status == 0 else None


def run_reverse_sweep(
    tables: Tables,
    order: SortedGraph,
    targets: Sequence[int],
    known: tuple[array[float], array[int]] | None,
    warn: bool,
    tell: Tell,
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
    if status == kernel.WILD and order.large:
        sizes[kernel.LOOKING] = 1
        status = run_kernel(tables, call, warn)
        operators = order.drawn[0]
        if status == 0 and any(not isfinite(grads[row]) and operators[row] in LEAVES for row in order.rows):
            offset, values = 2 * sizes[kernel.WIDEST], tables.values if known is None else known[0]
            tell(lambda: _first_nonfinite_contribution(tables, order, room[0][offset : offset + 5], values))
    return status, grads


def _first_nonfinite_contribution(
    tables: Tables, order: SortedGraph, wild: Sequence[float], values: Sequence[float]
) -> str:
    """Which contribution was the first that made a gradient infinite or NaN. wild: what the kernel wrote down."""
    consumer, position, (partial, incoming, total) = int(wild[0]), int(wild[1]), wild[2:]
    operands = order.operands(consumer)
    event = Contributed(operands[position], consumer, position, partial, incoming, incoming * partial, total)
    return explain_share(tables, event, BY_NUMBER[order.drawn[0][consumer]], [values[operand] for operand in operands])


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
