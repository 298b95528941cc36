"""A plan, made ready to run: memory, instructions, and one call that does it all."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..llvm.machine import library_of
from ..llvm.python import LANES
from . import kernels
from .adjoint import Count
from .blocks import Slot, block
from .flat import NONE, Array, Flat
from .kernels import BEGIN, COPY, GROUP, LOAD, PACK, PART, SAMPLES, STORE, TO
from .operators import Shape
from .operators import kernels as kernels_of
from .runs import LONG, Runs, runs
from .scalars import encoded
from .sections import Section, lives_on, sections
from .sums import NOTHING_YET
from .tiles import Outer, tiles

WARM = 32_768  # floats of lanes that stay in the cache: 256 KB
WIDEST = 128  # samples in a block


class Tape:
    """Rows of a flat plan as instructions over arrays. It must not run in two threads at once.

    wanted: rows to hand out: `out[k]` is the k-th of those that are scalars,
    and `lanes_of(row)` one that has a value for every sample. moves: (from, to),
    scalars that a run hands to the next one; then watched is the scalar whose
    history is kept.
    """

    def __init__(
        self, flat: Flat, wanted: Sequence[int], moves: Sequence[tuple[int, int]] = (), watched: int = NONE
    ) -> None:
        self.flat, self.sections = flat, sections(flat)
        self.kernels: list[Shape] = []
        self._code: list[Array] = []
        self._index: list[Array] = []
        self._parts: list[list[int]] = []
        self._sizes = {"code": 0, "index": 0, "weights": 0}
        self._place(wanted)
        self._write([row for row in wanted if flat.groups[row] == 0])
        self.code, self.index = np.concatenate(self._code), np.concatenate(self._index)
        self.table = self._addresses()
        self.weights = np.empty(self._sizes["weights"] + len(moves) + 1)
        self.out = np.zeros(len(wanted) + 1)
        self.moves = np.array([[self.slots[a], self.slots[b]] for a, b in moves] or [[0, 0]], np.int32)
        self.move_count, self.watched = len(moves), int(self.slots[watched])
        self.library = library_of(kernels.__name__)
        self._run = self.library.function("run.packed", None, [ctypes.c_void_p])
        self.set_samples(flat.samples)

    # --- where things are ---

    def _place(self, wanted: Sequence[int]) -> None:
        """Scalars: what is loaded, other leaves, then results in the order in which they run."""
        flat = self.flat
        leaves = flat.leaves()
        alone = [row for row in leaves.tolist() if flat.groups[row] == 0]
        self.loads = sorted(
            (row for row in alone if isinstance(flat.sources.get(row), int)), key=lambda row: flat.sources[row]
        )
        others = [row for row in alone if not isinstance(flat.sources.get(row), int)]
        self.fed = {g: leaves[flat.groups[leaves] == g].tolist() for g in range(1, len(flat.samples))}
        self.exported = {g: list(dict.fromkeys(r for r in wanted if flat.groups[r] == g)) for g in self.fed}
        self.runs: dict[int, Runs] = {}
        self.steps = {(part.stage, part.group): tiles(flat, part) for part in self.sections if part.group}
        order: list[Any] = [self.loads, others]
        for part in self.sections:
            rows = part.rows[flat.groups[part.rows] == 0]
            if part.group == 0:
                self.runs[part.stage] = runs(flat, rows)
                rows = self.runs[part.stage].order
            else:
                grids = [step.placed() for step in self.steps[part.stage, part.group] if isinstance(step, Outer)]
                rows = list(dict.fromkeys([*(row for grid in grids for row in grid), *rows.tolist()]))
            order.append(rows)
        placed = np.concatenate([np.asarray(rows, np.int32) for rows in order])
        self.slots = np.full(len(flat) + 1, NONE, np.int32)
        self.slots[placed] = np.arange(len(placed))
        self.nothing = len(placed)
        self.scalars = np.zeros(len(placed) + 3)
        self.scalars[self.nothing :] = NOTHING_YET, 1.0, -1.0
        for row in others:
            self.scalars[self.slots[row]] = flat.constants.get(row, 0.0)

    # --- instructions ---

    def _write(self, wanted: list[int]) -> None:
        """All parts: the loads, the sections, and what is handed out."""
        flat, kept = self.flat, lives_on(self.sections)
        self.kept = kept
        self.lane_slots: dict[int, dict[Slot, int]] = {group: {} for group in self.fed}
        self.most_slots: dict[int, int] = dict.fromkeys(self.fed, 0)
        self._load(np.array([flat.sources[row] for row in self.loads], np.int32))
        begun: set[int] = set()
        last = {part.group: part.stage for part in self.sections}
        for part in self.sections:
            if part.group == 0:
                self._runs(self.runs[part.stage])
            else:
                feeds = [] if part.group in begun else self.fed[part.group]
                exports = self.exported[part.group] if last[part.group] == part.stage else []
                self._lanes(part, feeds, exports, part.group in kept)
                begun.add(part.group)
        self._scalar(STORE, 0, self.slots[wanted])

    def _load(self, sources: Array) -> None:
        """Leaves whose sources are neighbours are copied together."""
        breaks = np.flatnonzero(np.diff(sources) != 1) + 1
        if len(breaks) > len(sources) // 8:
            return self._scalar(LOAD, 0, sources)
        for first, last in zip([0, *breaks], [*breaks, len(sources)], strict=True):
            if last > first:
                self._part(0, [COPY, int(first), int(last - first), int(sources[first]), 0])
        return None

    def _runs(self, found: Runs) -> None:
        number = {shape: self._kernel(shape) for shape in dict.fromkeys(found.shapes) if shape != LONG}
        made = encoded(self.flat, found, self.slots, self._sizes["index"], number, self.nothing)
        self._indexed(made.index)
        self._part(0, made.code)

    def _lanes(self, part: Section, feeds: list[int], exports: list[int], keep: bool) -> None:
        group = part.group
        made = block(
            self.flat, self.steps[part.stage, group], feeds, exports, self._sizes["weights"], self._kernel, self.slots,
            self.nothing, self.lane_slots[group], keep,
        )  # fmt: skip
        collected = part.rows[self.flat.groups[part.rows] == 0]
        self._scalar(BEGIN, 0, self.slots[collected])
        self._scalar(PACK, self._sizes["weights"], made.weights)
        self._sizes["weights"] += len(made.weights)
        self._part(group, made.code)
        self.most_slots[group] = max(self.most_slots[group], made.slots)

    def _kernel(self, shape: Shape) -> int:
        if shape not in self.kernels:
            self.kernels.append(shape)
        return self.kernels.index(shape)

    def _scalar(self, what: int, to: int, entries: Any) -> None:
        """An instruction over some entries of the index."""
        base = self._sizes["index"]
        self._indexed(np.asarray(entries, np.int32))
        self._part(0, [what, to, self._sizes["index"] - base, base, 0])

    def _indexed(self, entries: Array) -> None:
        self._index.append(entries)
        self._sizes["index"] += len(entries)

    def _part(self, group: int, code: Any) -> None:
        """One more part; scalars that follow scalars are one."""
        begin, end = self._sizes["code"], self._sizes["code"] + len(code)
        self._code.append(np.asarray(code, np.int32))
        self._sizes["code"] = end
        if group == 0 and self._parts and self._parts[-1][GROUP] == 0:
            self._parts[-1][TO] = end
        else:
            self._parts.append([group, begin, end] + [0] * (PART - SAMPLES))

    def _addresses(self) -> Array:
        found = [kernels_of(shape) for shape in self.kernels]
        return np.array([address for each in found for address in (each.run, each.few, each.lanes)] or [0], np.int64)

    # --- memory ---

    def set_samples(self, samples: Sequence[int]) -> None:
        """Make room for so many samples of each group; what was fed must be fed again."""
        self.samples = list(samples)
        self.places: dict[int, list[int]] = {}
        sizes = [0, 0, 0]  # of lanes, feeds and exports
        for group, count in enumerate(samples[1:], 1):
            width = _width(count, self.most_slots[group], group in self.kept)
            stride = -(-count // width) * width
            self.places[group] = [count, width, stride, *sizes]
            for each, more in enumerate(
                (self.most_slots[group] * width, len(self.fed[group]) * stride, len(self.exported[group]) * stride)
            ):
                sizes[each] += more
        for part in self._parts:
            if part[GROUP]:
                part[SAMPLES:] = self.places[part[GROUP]]
        self.parts = np.array(self._parts, np.int32).reshape(-1)
        self.lanes, self.feeds, self.out_lanes = (np.zeros(size + LANES) for size in sizes)
        for row, source in self.flat.sources.items():
            if isinstance(source, Count) and self.slots[row] >= 0:
                self.scalars[self.slots[row]] = float(samples[source.group])
        self._pack()

    def place_of(self, row: int) -> int:
        """The address of a scalar."""
        address: int = self.scalars.ctypes.data + self.scalars.itemsize * int(self.slots[row])
        return address

    def feed(self, row: int) -> Array:
        """Where a leaf's lanes are: a view, one float for each sample, and room up to the stride."""
        group = int(self.flat.groups[row])
        _, _, stride, _, start, _ = self.places[group]
        start += self.fed[group].index(row) * stride
        return self.feeds[start : start + stride]

    def feed_lines(self, group: int) -> Array:
        """All leaves' lanes of a group: a view with a line for each of `fed[group]`."""
        _, _, stride, _, start, _ = self.places[group]
        count = len(self.fed[group])
        return self.feeds[start : start + count * stride].reshape(count, stride)

    def out_lines(self, group: int) -> Array:
        """The values of a group's wanted rows: a view with a line for each of `exported[group]`."""
        count, _, stride, _, _, start = self.places[group]
        lines = len(self.exported[group])
        return self.out_lanes[start : start + lines * stride].reshape(lines, stride)[:, :count]

    def lanes_of(self, row: int) -> Array:
        """The values of a wanted row that has one for each sample: a view, good until the next run."""
        group = int(self.flat.groups[row])
        count, _, stride, _, _, start = self.places[group]
        if self.flat.starts[row] == self.flat.starts[row + 1]:  # a leaf: what was fed
            return self.feed(row)[:count]
        start += self.exported[group].index(row) * stride
        return self.out_lanes[start : start + count]

    def _pack(self) -> None:
        """Write all arguments of the kernel into one array."""
        self.history = np.zeros(1)
        arrays = (
            self.parts, len(self._parts), self.code, self.index, self.table, self.scalars, self.lanes, self.feeds,
            self.weights, 0, self.out, self.out_lanes, self.moves, self.move_count, 1, self.watched, self.history,
        )  # fmt: skip
        entries = [each if isinstance(each, int) else each.ctypes.data for each in arrays]
        self.arguments = np.array(entries, np.int64)
        self.packed = self.arguments.ctypes.data

    # --- running ---

    def set_source(self, source: int) -> None:
        """Where the floats are that leaves are loaded from."""
        self.arguments[SOURCE] = source

    def run(self, source: int) -> None:
        """Run once. source: the address of the floats that leaves are loaded from."""
        self.set_source(source)
        self._run(self.packed)

    def repeat(self, source: int, steps: int) -> Array:
        """Run so many times, each going on where the last one left; the history of the watched scalar."""
        self.history = np.zeros(max(steps, 1))
        self.arguments[SOURCE], self.arguments[STEPS] = source, steps
        self.arguments[HISTORY] = self.history.ctypes.data
        self._run(self.packed)
        self.arguments[STEPS] = 1
        return self.history[:steps]


SOURCE, STEPS, HISTORY = 9, 14, 16  # places among the kernel's arguments


def _width(count: int, slots: int, whole: bool) -> int:
    """How many samples go through the tape together: as many as stay warm, shared out evenly."""
    most = count if whole else min(WIDEST, max(LANES, WARM // max(slots, 1) // LANES * LANES))
    blocks = max(1, -(-count // most))
    share = -(-count // blocks)
    return -(-share // LANES) * LANES
