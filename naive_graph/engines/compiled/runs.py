"""Execute a plan in level runs, without compiling it: sort its rows by level and rule, and call one kernel per run.

    level 1   sin sin sin | exp exp        rows of one level do not depend on each other,
    level 2   mul mul mul mul | add        so they run in any order

The kernels of a rule are compiled when a plan first uses it (and cached on disk), and serve all plans. So no plan, of
whatever size, waits for code of its own. The results have the same bits as those of the plan's compiled code.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence

import numpy as np

from ...core.progress import progress
from ..llvm.functions import LANES
from ..llvm.machine import addresses, library_of, machine
from ..llvm.values import Floats, Ints, Longs, call_run
from ..passes.ir import DOT, IR, NONE, Array, FedInput
from . import kernels, operators
from .plan import Runnable


class LevelRuns(Runnable):
    """A plan without samples, executed in level runs. Parameters and results are those of `CompiledPlan`.

    places: the index of each row's value in `scalars`. Leaves come first, and behind them a 1, for a missing factor.
    runs: four numbers for each run: the number of its shape, the place of its first row, its number of rows, and where
    their operands begin in `index`. shapes: (kind, number of operands).
    """

    def __init__(self, ir: IR, wanted: Sequence[int], carried: Sequence[int] = ()) -> None:
        self.ir = ir
        leaves, one = ir.leaves(), len(ir)
        loaded = [row for row in leaves.tolist() if isinstance(ir.sources.get(row), int)]
        fed = [row for row in leaves.tolist() if isinstance(ir.sources.get(row), FedInput)]
        fed.sort(key=lambda row: ir.sources[row].row)
        others = np.setdiff1d(leaves, [*loaded, *fed])
        self._sort(np.array([*loaded, *fed, *others.tolist(), one], np.int32))
        self.fed_rows, self.fed_at = [ir.sources[row].row for row in fed], slice(len(loaded), len(loaded) + len(fed))
        self.loads = np.array([*(ir.sources[row] for row in loaded), 0], np.int32)
        self.reach = int(self.loads[: len(loaded)].max(initial=-1)) + 1
        initial = {**ir.constants, one: 1.0}
        self.wanted, self.moved = (self.places[np.array([*rows, one])] for rows in (wanted, carried))
        entries = [address for shape in progress(self.shapes, label="kernels") for address in _addresses(*shape)]
        self.table = np.array(entries or [0], np.int64)
        self.library = library_of(__name__, packed=True)
        self.call = self.library.function("run.packed", None, [ctypes.c_void_p])
        self.scalars = np.zeros(len(self.places) + LANES)
        self.scalars[self.places[[*initial]]] = [*initial.values()]
        self.out = np.zeros(len(self.wanted))
        table = (self.loads, len(self.loads) - 1, self.runs, self.runs.size, self.table, self.index, self.scalars)
        handed = (self.wanted, len(self.wanted) - 1, self.out, self.moved, len(self.moved) - 1)
        self.arguments = np.array(addresses([0, *table, *handed]), np.int64)
        self.packed = self.arguments.ctypes.data

    def _sort(self, leaves: Array) -> None:
        """Sort the rows by level, then shape; set `places`, `runs` and `index`. leaves: in memory order."""
        ir, first, inner = self.ir, len(leaves), self.ir.computed().astype(np.int32)
        operands = np.where(ir.operands == NONE, len(ir), ir.operands).astype(np.int32)
        shape, self.shapes = _shapes(ir, inner)
        levels = np.zeros(first + len(inner), np.int32)
        find_levels(len(ir), ir.starts, operands, levels)
        by_shape, order = np.empty(len(inner), np.int32), np.empty(len(inner), np.int32)
        sort_by(len(inner), shape, len(self.shapes), np.zeros(len(self.shapes) + 1, np.int32), inner, by_shape)
        most = int(levels.max(initial=0)) + 1
        sort_by(len(inner), levels, most, np.zeros(most + 1, np.int32), by_shape, order)
        self.places = np.empty(len(levels), np.int32)
        self.places[leaves] = np.arange(first, dtype=np.int32)
        self.places[order] = first + np.arange(len(inner), dtype=np.int32)
        new = np.ones(len(inner), bool)
        new[1:] = (np.diff(levels[order]) != 0) | (np.diff(shape[order]) != 0)
        begins = np.flatnonzero(new)
        of_run, lengths = shape[order[begins]], np.diff([*begins.tolist(), len(inner)])
        arities = np.array([arity for _, arity in self.shapes] or [0])
        dots = np.array([kind == DOT for kind, _ in self.shapes] or [False])
        bases = np.concatenate([[0], np.cumsum(lengths * arities[of_run] + dots[of_run])])
        self.runs = np.stack([of_run, first + begins, lengths, bases[:-1]], 1).astype(np.int32).ravel()
        self.index = np.zeros(int(bases[-1]) + LANES, np.int32)
        write_index(
            len(begins), first, self.runs, dots.astype(np.int32), order, ir.starts, operands, self.places, self.index
        )

    def place(self, row: int) -> int:
        return int(self.places[row])

    def explain(self) -> list[str]:
        runs = self.runs.reshape(-1, 4)
        return [f"scalars: {runs[:, 2].sum()} rows in {len(runs)} level runs; no code is made for them"]


def _shapes(ir: IR, inner: Array) -> tuple[Array, list[tuple[int, int]]]:
    """For each computed row the number of its shape, and the list of shapes: (kind, number of operands)."""
    names = (ir.kinds[inner].astype(np.int64) << 32) + np.diff(ir.starts)[inner]
    codes = np.unique(names)
    numbers = np.zeros(len(ir), np.int32)
    numbers[inner] = np.searchsorted(codes, names)
    return numbers, [(code >> 32, code & ((1 << 32) - 1)) for code in codes.tolist()]


def _addresses(kind: int, arity: int) -> tuple[int, int]:
    """The addresses of a shape's kernels: the one for many rows, and the one for a single row."""
    if kind == DOT:
        return (int(kernels.addresses()[kernels.PLACE["dots"]]),) * 2
    library = operators.kernels(kind, arity)
    return library.address("run"), library.address("one")


@machine
def find_levels(rows: int, starts: Ints, operands: Ints, levels: Ints) -> None:
    """Set the level of each row: the length of the longest path from a leaf to it (0 for a leaf)."""
    for row in range(rows):
        level = 0
        for index in range(starts[row], starts[row + 1]):
            if levels[operands[index]] >= level:
                level = levels[operands[index]] + 1
        levels[row] = level


@machine
def sort_by(many: int, key: Ints, size: int, counts: Ints, before: Ints, order: Ints) -> None:
    """Stable counting sort of the rows `before` by key[row] < size, into `order`. counts: size + 1 zeros."""
    for index in range(many):
        counts[key[before[index]] + 1] += 1
    for bucket in range(size):
        counts[bucket + 1] += counts[bucket]
    for index in range(many):
        row = before[index]
        order[counts[key[row]]] = row
        counts[key[row]] += 1


@machine
def write_index(
    count: int, first: int, runs: Ints, dots: Ints, rows: Ints, starts: Ints, operands: Ints, places: Ints, index: Ints
) -> None:
    """Write the index, run by run: for each operand position the places of that operand for all rows of the run.

    Before those of dots stands the number of operands.
    """
    for run in range(count):
        begin, many = runs[4 * run + 1] - first, runs[4 * run + 2]
        arity = starts[rows[begin] + 1] - starts[rows[begin]]
        at = runs[4 * run + 3]
        if dots[runs[4 * run]] == 1:
            index[at] = arity
            at += 1
        for k in range(arity):
            for i in range(many):
                index[at + k * many + i] = places[operands[starts[rows[begin + i]] + k]]


@machine
def run(
    source: Floats, loads: Ints, loaded: int, runs: Ints, size: int, table: Longs, index: Ints, values: Floats,
    wanted: Ints, many: int, out: Floats, moved: Ints, moves: int,
) -> None:  # fmt: skip
    """Compute all values, and copy the wanted ones to `out`; out[many] becomes 0.0 if all of them are finite, else NaN.

    loads: indices into `source` of the leaves' values. moved: places that are set to the wanted values but the first.
    """
    for at in range(loaded):
        values[at] = source[loads[at]]
    for at in range(0, size, 4):
        kernel = 2 * runs[at] + (1 if runs[at + 2] == 1 else 0)
        call_run(table, kernel, values, index, runs[at + 3], runs[at + 1], runs[at + 2])
    nonfinite = 0.0
    for at in range(many):
        out[at] = values[wanted[at]]
        nonfinite += out[at] - out[at]
    for position in range(moves):
        values[moved[position]] = out[position + 1]
    out[many] = nonfinite
