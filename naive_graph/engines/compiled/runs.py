"""Execute a plan in level runs, without compiling it: sort its rows by level and rule, and call one kernel per run.

    level 1   sin sin sin | exp exp        rows of one level do not depend on each other,
    level 2   mul mul mul mul | add        so they run in any order

The kernels of a rule are compiled once and serve all plans. So a plan of any size runs immediately, and gives the same
bits as its compiled code.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence

import numpy as np

from ...core.progress import progress
from ..llvm.machine import library_of, machine, packed
from ..llvm.typed import Floats, Ints, Longs, call_run
from ..passes.ir import DOT, IR, NONE, Array, FedInput
from . import kernels
from .generator import WIDE
from .operators import Shape
from .plan import Runnable
from .writer import LANES


class LevelRuns(Runnable):
    """A plan without samples, executed in level runs. Parameters and results are those of `CompiledPlan`.

    places: the index of each row's value in `scalars`. Leaves come first, with two constants behind them: 1, for a
    missing factor, and 0, for the padding of a sum. runs: four numbers for each run: its shape, the place of its first
    row, its number of rows, and where their operands begin in `index`. shapes: (kind, number of operands, loose).
    """

    def __init__(self, ir: IR, wanted: Sequence[int], carried: Sequence[int] = ()) -> None:
        self.ir = ir
        leaves, (one, zero) = ir.leaves(), range(len(ir), len(ir) + 2)
        loaded = [row for row in leaves.tolist() if isinstance(ir.sources.get(row), int)]
        fed = [row for row in leaves.tolist() if isinstance(ir.sources.get(row), FedInput)]
        fed.sort(key=lambda row: ir.sources[row].row)
        others = np.setdiff1d(leaves, [*loaded, *fed])
        self._sort(np.array([*loaded, *fed, *others.tolist(), one, zero], np.int32), one, zero)
        self.fed_rows, self.fed_at = [ir.sources[row].row for row in fed], slice(len(loaded), len(loaded) + len(fed))
        self.loads = np.array([*(ir.sources[row] for row in loaded), 0], np.int32)
        self.reach = int(self.loads[: len(loaded)].max(initial=-1)) + 1
        self.initial = {**ir.constants, one: 1.0}
        self.wanted, self.moved = (self.places[np.array([*rows, one])] for rows in (wanted, carried))
        addresses = [address for shape in progress(self.shapes, label="kernels") for address in _addresses(*shape)]
        self.table = np.array(addresses or [0], np.int64)
        self.library = library_of(__name__, packed=True)
        self.call = self.library.function("run.packed", None, [ctypes.c_void_p])
        self.begin()

    def _sort(self, leaves: Array, one: int, zero: int) -> None:
        """Sort the rows by level, then shape; set `places`, `runs` and `index`. leaves: in memory order."""
        ir, first = self.ir, len(leaves)
        starts, operands, loose = _pad_operands(ir, one, zero)
        inner = ir.computed().astype(np.int32)
        shape, self.shapes = _shapes(ir.kinds, np.diff(starts), loose, inner)
        levels = np.zeros(first + len(inner), np.int32)
        find_levels(len(ir), starts, operands, levels)
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
        arities = np.array([arity for _, arity, _ in self.shapes] or [0])
        dots = np.array([kind == DOT for kind, _, _ in self.shapes] or [False])
        bases = np.concatenate([[0], np.cumsum(lengths * arities[of_run] + dots[of_run])])
        self.runs = np.stack([of_run, first + begins, lengths, bases[:-1]], 1).astype(np.int32).ravel()
        self.index = np.zeros(int(bases[-1]) + LANES, np.int32)
        write_index(
            len(begins), first, self.runs, dots.astype(np.int32), order, starts, operands, self.places, self.index
        )

    def begin(self) -> None:
        self.scalars = np.zeros(len(self.places) + LANES)
        self.scalars[self.places[[*self.initial]]] = [*self.initial.values()]
        self.out = np.zeros(len(self.wanted))
        table = (self.loads, len(self.loads) - 1, self.runs, self.runs.size, self.table, self.index, self.scalars)
        handed = (self.wanted, len(self.wanted) - 1, self.out, self.moved, len(self.moved) - 1)
        self.arguments = packed(0, *table, *handed)
        self.packed = self.arguments.ctypes.data

    def place(self, row: int) -> int:
        return int(self.places[row])

    def explain(self) -> list[str]:
        runs = self.runs.reshape(-1, 4)
        return [f"scalars: {runs[:, 2].sum()} rows in {len(runs)} level runs; no code is made for them"]


def _shapes(kinds: Array, degrees: Array, loose: Array, inner: Array) -> tuple[Array, list[tuple[int, int, bool]]]:
    """For each computed row the number of its shape, and the list of shapes: (kind, number of operands, loose)."""
    names = ((kinds[inner].astype(np.int64) * 2 + loose[inner]) << 24) + degrees[inner]
    codes = np.unique(names)
    numbers = np.zeros(len(kinds), np.int32)
    numbers[inner] = np.searchsorted(codes, names)
    return numbers, [(int(code >> 25), int(code & ((1 << 24) - 1)), bool(code >> 24 & 1)) for code in codes]


def _pad_operands(ir: IR, one: int, zero: int) -> tuple[Array, Array, Array]:
    """Pad operands: NONE becomes the row `one`, and long loose dots are filled with `zero` to multiples of 8 terms.

    Returns the new starts and operands, and a mask of these long loose dots.
    """
    wide = (ir.kinds == DOT) & (np.diff(ir.starts) > 2 * WIDE)
    loose = (wide & (ir.loose > 0)).astype(np.uint8)
    operands = np.where(ir.operands == NONE, one, ir.operands).astype(np.int32)
    fill = np.where(loose > 0, -np.diff(ir.starts) % (2 * LANES), 0)
    starts = ir.starts + np.concatenate([[0], np.cumsum(fill)]).astype(np.int32)
    if fill.any():
        widened = np.full(int(starts[-1]), zero, np.int32)
        shift = np.repeat(starts[:-1] - ir.starts[:-1], np.diff(ir.starts))
        widened[np.arange(len(operands)) + shift] = operands
        operands = widened
    return starts.astype(np.int32), operands, loose


def _addresses(kind: int, arity: int, loose: bool) -> tuple[int, int]:
    """The addresses of a shape's kernels: the one for many rows, and the one for a single row."""
    if kind != DOT:
        return Shape(kind, arity).addresses()
    dots = int(kernels.addresses()[kernels.PLACE[f"dots{int(loose)}"]])
    return dots, dots


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
