"""Plans in level runs: rows sorted by level and rule, and each run one call of a vector kernel.

    level 1   sin sin sin | exp exp        no row of a level needs another of it,
    level 2   mul mul mul mul | add        so they run in any order

No code is made for a plan: the kernels of each rule are compiled once for every plan. So it runs at once, however
large it is. `LevelRuns` runs a plan as it stands, its derivatives' rows included, with the bits of its compiled code.
`DescendingRuns` runs a plan without them and goes back over the same runs, adjoints in place (`reverse_inplace`):
for plans that are too large to have their derivatives written down as rows.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ...core.progress import progress
from ...core.rules import BY_NUMBER
from ...core.tables import VARIABLE
from ..llvm.machine import library_of, machine, packed
from ..llvm.typed import Floats, Ints, Longs, call_back, call_run
from ..passes.ir import ADD, DOT, IR, MUL, NONE, Array, FedInput, arrays
from ..passes.operators import Shape
from ..passes.reverse_inplace import backward, suits
from . import kernels
from .generator import WIDE
from .plan import Runnable
from .writer import LANES

WAYS = 4  # addresses of a shape: values of many rows and of one, adjoints of many rows and of one
MOST_ARITY = 16  # of a sum or a product that has a kernel of its own


class Levels(NamedTuple):
    """A plan's rows in runs.

    place: where each row went; leaves come first. runs: of each run its shape, first row, how many, and where its
    operands begin in the index. shapes: (kind, operands, loose).
    """

    place: Array
    runs: Array
    index: Array
    shapes: list[tuple[int, int, bool]]


def levels_of(ir: IR, leaves: Array, one: int = NONE, zero: int = NONE) -> Levels:
    """The plan in runs. leaves: in the order in which they go first. one, zero: leaves that stand for a missing factor,
    and for terms that are missing to eight.
    """
    rows, first = len(ir), len(leaves)
    starts, operands, loose = _widened(ir, one, zero)
    inner = np.flatnonzero((ir.kinds >= 0) | (ir.kinds <= DOT)).astype(np.int32)
    shape, shapes = _shapes(ir.kinds, np.diff(starts), loose, inner)
    levels = np.zeros(rows, np.int32)
    find_levels(rows, starts, operands, levels)
    by_shape, order = np.empty(len(inner), np.int32), np.empty(len(inner), np.int32)
    sort_by(len(inner), shape, len(shapes), np.zeros(len(shapes) + 1, np.int32), inner, by_shape)
    most = int(levels.max(initial=0)) + 1
    sort_by(len(inner), levels, most, np.zeros(most + 1, np.int32), by_shape, order)
    del by_shape
    place = np.empty(rows, np.int32)
    place[leaves] = np.arange(first, dtype=np.int32)
    place[order] = first + np.arange(len(inner), dtype=np.int32)
    new = np.ones(len(inner), bool)
    new[1:] = (np.diff(levels[order]) != 0) | (np.diff(shape[order]) != 0)
    begins = np.flatnonzero(new)
    of_run = shape[order[begins]]
    headed = np.array([_is_headed(kind, arity) for kind, arity, _ in shapes] or [False])
    arities = np.array([arity for _, arity, _ in shapes] or [0])
    lengths = np.diff([*begins.tolist(), len(inner)])
    bases = np.concatenate([[0], np.cumsum(lengths * arities[of_run] + headed[of_run])])
    runs = np.stack([of_run, first + begins, lengths, bases[:-1]], 1).astype(np.int32).ravel()
    index = np.zeros(int(bases[-1]) + LANES, np.int32)
    lay(len(begins), first, runs, headed.astype(np.int32), order, OperandColumns(starts, operands), place, index)
    return Levels(place, runs, index, shapes)


AT_ONCE = 1 << 20  # rows whose shapes are found together, so that little room is taken


def _shapes(kinds: Array, degrees: Array, loose: Array, inner: Array) -> tuple[Array, list[tuple[int, int, bool]]]:
    """Of each computed row the number of its shape; and what the shapes are."""

    def names(part: Array) -> Array:
        return ((kinds[part].astype(np.int64) * 2 + loose[part]) << 24) + degrees[part]

    parts = [inner[at : at + AT_ONCE] for at in range(0, len(inner), AT_ONCE)]
    known = np.unique(np.concatenate([np.zeros(0, np.int64), *(np.unique(names(part)) for part in parts)]))
    found = np.zeros(len(kinds), np.int32)
    for part in parts:
        found[part] = np.searchsorted(known, names(part))
    return found, [(int(each >> 25), int(each & ((1 << 24) - 1)), bool(each >> 24 & 1)) for each in known]


def _is_headed(kind: int, arity: int) -> bool:
    """Whether the index says first how many operands there are: the kernel serves any number."""
    return kind == DOT or (kind in (ADD, MUL) and arity > MOST_ARITY)


def _widened(ir: IR, one: int, zero: int) -> tuple[Array, Array, Array]:
    """Starts and operands in which no factor is missing, and long loose dots have full eights; and which these are."""
    loose = np.zeros(len(ir), np.uint8)
    if one == NONE:
        return ir.starts, ir.operands, loose
    wide = (ir.kinds == DOT) & (np.diff(ir.starts) > 2 * WIDE)
    loose[wide & (ir.loose > 0)] = 1
    operands = np.where(ir.operands == NONE, one, ir.operands).astype(np.int32)
    fill = np.where(loose > 0, -np.diff(ir.starts) % (2 * LANES), 0)
    starts = ir.starts + np.concatenate([[0], np.cumsum(fill)]).astype(np.int32)
    if fill.any():
        widened = np.full(int(starts[-1]), zero, np.int32)
        shift = np.repeat(starts[:-1] - ir.starts[:-1], np.diff(ir.starts))
        widened[np.arange(len(operands)) + shift] = operands
        operands = widened
    return starts.astype(np.int32), operands, loose


@machine
def find_levels(rows: int, starts: Ints, operands: Ints, levels: Ints) -> None:
    """How many rows, at most, stand between each row and a leaf."""
    for row in range(rows):
        level = 0
        for at in range(starts[row], starts[row + 1]):
            if levels[operands[at]] >= level:
                level = levels[operands[at]] + 1
        levels[row] = level


@machine
def sort_by(many: int, key: Ints, size: int, counts: Ints, before: Ints, order: Ints) -> None:
    """Rows by a key that is below the size, else in the order that they have (a counting sort). counts: zeros."""
    for at in range(many):
        counts[key[before[at]] + 1] += 1
    for at in range(size):
        counts[at + 1] += counts[at]
    for at in range(many):
        row = before[at]
        order[counts[key[row]]] = row
        counts[key[row]] += 1


class OperandColumns(NamedTuple):
    """Row i's operands are operands[starts[i]:starts[i + 1]]."""

    starts: Ints
    operands: Ints


@machine
def lay(
    count: int, first: int, runs: Ints, headed: Ints, rows: Ints, of: OperandColumns, place: Ints, index: Ints
) -> None:
    """Write the index: of each run's operands in turn, where those of all its rows went."""
    for run in range(count):
        begin, many = runs[4 * run + 1] - first, runs[4 * run + 2]
        arity = of.starts[rows[begin] + 1] - of.starts[rows[begin]]
        at = runs[4 * run + 3]
        if headed[runs[4 * run]] == 1:
            index[at] = arity
            at += 1
        for k in range(arity):
            for i in range(many):
                index[at + k * many + i] = place[of.operands[of.starts[rows[begin + i]] + k]]


@machine
def add_up(values: Floats, index: Ints, base: int, to: int, many: int) -> None:
    """Long sums, each from the left."""
    for i in range(many):
        total = values[index[base + 1 + i]]
        for k in range(1, index[base]):
            total += values[index[base + 1 + k * many + i]]
        values[to + i] = total


@machine
def multiply_up(values: Floats, index: Ints, base: int, to: int, many: int) -> None:
    """Long products, each from the left."""
    for i in range(many):
        product = values[index[base + 1 + i]]
        for k in range(1, index[base]):
            product *= values[index[base + 1 + k * many + i]]
        values[to + i] = product


@machine
def hand_down(values: Floats, adjoints: Floats, index: Ints, base: int, to: int, many: int) -> None:
    """Each term of a long sum gets the sum's adjoint."""
    for i in range(many):
        incoming = adjoints[to + i]
        adjoints[to + i] = 0.0
        for k in range(index[base]):
            adjoints[index[base + 1 + k * many + i]] += incoming


class RunTable(NamedTuple):
    """Where leaves' values come from, and how many; the runs, and how many numbers they are; what they work on."""

    loads: Ints
    loaded: int
    runs: Ints
    size: int
    table: Longs
    index: Ints
    values: Floats


class HandedOut(NamedTuple):
    """Which rows are wanted, how many, and where their numbers go; behind them whether all are finite."""

    wanted: Ints
    many: int
    out: Floats


def along(source: Floats, of: RunTable) -> None:
    """All values."""
    for at in range(of.loaded):
        of.values[at] = source[of.loads[at]]
    for at in range(0, of.size, 4):
        way = WAYS * of.runs[at] + (1 if of.runs[at + 2] == 1 else 0)
        call_run(of.table, way, of.values, of.index, of.runs[at + 3], of.runs[at + 1], of.runs[at + 2])


@machine
def run(source: Floats, of: RunTable, handed: HandedOut, moved: Ints, moves: int) -> None:
    """Run, and hand out. moved: where wanted rows behind the first go then."""
    along(source, of)
    amiss = 0.0
    for at in range(handed.many):
        handed.out[at] = of.values[handed.wanted[at]]
        amiss += handed.out[at] - handed.out[at]
    for at in range(moves):
        of.values[moved[at]] = handed.out[at + 1]
    handed.out[handed.many] = amiss


@machine
def there_and_back(source: Floats, of: RunTable, handed: HandedOut, adjoints: Floats, leaves: int) -> None:
    """All values; then, from the first wanted row back, all adjoints, of which those of the others are handed out."""
    along(source, of)
    handed.out[0] = of.values[handed.wanted[0]]
    amiss = handed.out[0] - handed.out[0]
    if handed.many > 1:
        for at in range(leaves):
            adjoints[at] = 0.0
        adjoints[handed.wanted[0]] = 1.0
        for at in range(of.size - 4, -4, -4):
            way = WAYS * of.runs[at] + (3 if of.runs[at + 2] == 1 else 2)
            call_back(of.table, way, of.values, adjoints, of.index, of.runs[at + 3], of.runs[at + 1], of.runs[at + 2])
        for at in range(1, handed.many):
            handed.out[at] = adjoints[handed.wanted[at]]
            amiss += handed.out[at] - handed.out[at]
    handed.out[handed.many] = amiss


def _addresses(shape: tuple[int, int, bool], back: bool) -> tuple[int, ...]:
    kind, arity, loose = shape
    if kind == DOT:
        dots = int(kernels.addresses()[kernels.PLACE[f"dots{int(loose)}"]])
        return dots, dots, 0, 0
    if _is_headed(kind, arity):
        library = library_of(__name__)
        up, down = library.address("add_up" if kind == ADD else "multiply_up"), library.address("hand_down")
        return up, up, down, down
    made = Shape(kind, arity)
    found = made.addresses()[:2]
    return (*found, backward(made).address("back"), backward(made).address("back_one")) if back else (*found, 0, 0)


class LevelRuns(Runnable):
    """Rows of a plan without samples, in level runs. See `CompiledPlan` for its parameters, and what it hands out."""

    back = False

    def __init__(self, ir: IR, wanted: Sequence[int], carried: Sequence[int] = ()) -> None:
        self.ir = ir
        one, zero = len(ir), len(ir) + 1
        leaves = ir.leaves()
        loaded = [row for row in leaves.tolist() if isinstance(ir.sources.get(row), int)]
        fed = [row for row in leaves.tolist() if isinstance(ir.sources.get(row), FedInput)]
        fed.sort(key=lambda row: ir.sources[row].row)
        others = np.setdiff1d(leaves, [*loaded, *fed])
        made = levels_of(
            _with_two_more(ir), np.array([*loaded, *fed, *others.tolist(), one, zero], np.int32), one, zero
        )
        self.fed_rows, self.fed_at = [ir.sources[row].row for row in fed], slice(len(loaded), len(loaded) + len(fed))
        self.loads = np.array([*(ir.sources[row] for row in loaded), 0], np.int32)
        self.begun = {**dict(ir.constants.items()), one: 1.0}
        self._lay(made, [*wanted], len(loaded))
        self.moved = np.array([*made.place[list(carried)], 0], np.int32)
        self.moves = len(carried)
        self.begin()

    def _lay(self, made: Levels, wanted: Sequence[int], loaded: int) -> None:
        self.made, self.loaded = made, loaded
        self.wanted = made.place[np.array([*wanted, 0], np.int64)]
        self.many = len(wanted)
        self.reach = int(self.loads[: self.loaded].max(initial=-1)) + 1
        found = [
            address for shape in progress(made.shapes, label="kernels") for address in _addresses(shape, self.back)
        ]
        self.table = np.array(found or [0], np.int64)
        self.library = library_of(__name__, packed=True)
        name = "there_and_back" if self.back else "run"
        self.call = self.library.function(f"{name}.packed", None, [ctypes.c_void_p])

    def begin(self) -> None:
        self.scalars = np.zeros(len(self.made.place) + LANES)
        rows, numbers = np.array([*self.begun], np.int64), np.array([*self.begun.values()])
        self.scalars[self.made.place[rows]] = numbers
        self.out = np.zeros(self.many + 1)
        runs = self.made.runs
        of = RunTable(self.loads, self.loaded, runs, runs.size, self.table, self.made.index, self.scalars)
        self.arguments = packed(0, of, HandedOut(self.wanted, self.many, self.out), *self._more())
        self.packed = self.arguments.ctypes.data

    def _more(self) -> tuple[Any, ...]:
        return self.moved, self.moves

    def place(self, row: int) -> int:
        return int(self.made.place[row])

    def explain(self) -> list[str]:
        runs = self.made.runs.reshape(-1, 4)
        return [f"scalars: {runs[:, 2].sum()} rows in {len(runs)} level runs; no code is made for them"]


def _with_two_more(ir: IR) -> IR:
    """The plan with two more leaves at its end."""
    kinds = np.concatenate([ir.kinds, np.array([NONE, NONE], np.int32)])
    starts = np.concatenate([ir.starts, ir.starts[-1:], ir.starts[-1:]])
    groups = np.concatenate([ir.groups, np.zeros(2, np.int32)])
    return IR(kinds, starts, ir.operands, groups, loose=np.concatenate([ir.loose, np.zeros(2, np.uint8)]))


class DescendingRuns(LevelRuns):
    """A plan as it stands in the tables: the value of a row, and its derivatives with respect to some leaves."""

    back = True

    def __init__(self, ir: IR, output: int, wrt: Sequence[int]) -> None:
        self.ir, self.rows = ir, len(ir)
        leaves, sources = arrays(ir.sources, np.int32)
        variable = ir.kinds[leaves] == VARIABLE
        constants, values = arrays(ir.constants, np.float64)
        loaded = int(variable.sum())
        order = np.concatenate([leaves[variable], leaves[~variable], constants]).astype(np.int32)
        self.loads = np.concatenate([sources[variable], [0]]).astype(np.int32)
        self.fed_rows = sources[~variable].tolist()
        self.fed_at = slice(loaded, loaded + len(self.fed_rows))
        self.leaf_count, self.constants = len(order), (constants, values)
        self._lay(levels_of(ir, order), [output, *wrt], loaded)
        self.begun = {}
        self.begin()

    def begin(self) -> None:
        self.adjoints = np.zeros(len(self.made.place) + LANES)
        super().begin()
        rows, values = self.constants
        self.scalars[self.made.place[rows]] = values

    def _more(self) -> tuple[Any, ...]:
        return self.adjoints, self.leaf_count


def descends(ir: IR) -> bool:
    """Whether every rule of the plan can hand its adjoint on in place."""
    inner = np.flatnonzero(ir.kinds >= 0)
    pairs = np.unique(ir.kinds[inner].astype(np.int64) << 32 | np.diff(ir.starts)[inner])
    shapes = [(pair >> 32, pair & 0xFFFFFFFF) for pair in pairs.tolist()]
    return all(kind == ADD or suits(BY_NUMBER[kind], arity) for kind, arity in shapes)
