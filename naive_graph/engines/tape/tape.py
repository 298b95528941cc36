"""A plan, made ready to run: memory, instructions, and one call that does it all."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from ...core.progress import progress
from ..llvm.machine import library_of, packed
from ..llvm.typed import LANES
from . import kernels
from .beside import Writing, nothing_written
from .blocks import SectionWriter, Slot, block
from .flat import NONE, Array, Flat
from .halves import PlannedPart, laid_out
from .helper import Turns
from .instructions import sharing, write
from .kernels import BEGIN, CHECK, COPY, LOAD, MOVE, PACK, SECTION, Numbers, TapeTables
from .loops import Bodies, along
from .memory import LeafPlaces, Memory, runs_of, side_by_side
from .operators import LoneKernel, Shape
from .runs import Runs, Shapes
from .scalars import HOWS, MANY
from .sections import Section, lives_on, sections
from .sums import NOTHING_YET
from .tiles import tiles, work

Kernel = Shape | LoneKernel


class Tape(Memory):
    """Rows of a flat plan as instructions over arrays. It must not run in two threads at once.

    wanted: rows to hand out: `out[k]` is the k-th of those that are scalars, a line of `out_lines`
    one that has a value for every sample, behind those; `out[-1]` is 0.0 if all are finite.
    carried: leaves that hold the wanted rows behind the first once it has run.
    """

    def __init__(self, flat: Flat, wanted: Sequence[int], carried: Sequence[int] = ()) -> None:
        self.flat, self.sections = flat, sections(flat, wanted)
        self._code: list[Array] = []
        self._index: list[Array] = [np.zeros(0, np.int32)]
        self.planned: list[PlannedPart] = []
        self._sizes = {"code": 0, "index": 0, "packed": 0}
        self._place(wanted)
        self._write([row for row in wanted if flat.groups[row] == 0])
        for first, last in runs_of(places := self.slots[list(carried)]):
            self._part(0, [MOVE, int(places[first]), last - first, self.results.start + 1 + first, 0])
        self.code, self.index = np.concatenate(self._code), np.concatenate(self._index)
        self.table = self._addresses()
        self.library = library_of(kernels.__name__, packed=True)
        self.machine_code = self.library.function("run.packed", None, [ctypes.c_void_p])
        self.begin()

    def begin(self) -> None:
        """Take memory of its own, in which nothing was computed yet."""
        self.scalars = self._scalars()
        self.set_samples(self.flat.samples)

    # --- where things are ---

    def _place(self, wanted: Sequence[int]) -> None:
        """Scalars: what leaves hold, then rows in the order in which they run; and room for the results."""
        flat, self.leaves = self.flat, LeafPlaces(self.flat)
        self.fed_rows, self.fed_at, self.reach = self.leaves.fed, self.leaves.fed_at, self.leaves.reach
        found = {row: self.leaves.place(source) for row, source in self.leaves.alone.items()}
        others = [row for row, place in found.items() if place == NONE]
        lanes = [row for row in flat.leaves().tolist() if flat.groups[row] and row not in self.leaves.lines]
        self.fed = {group: [row for row in lanes if flat.groups[row] == group] for group in range(1, len(flat.samples))}
        self.exported = {group: {} for group in self.fed}
        for row in wanted:
            if flat.groups[row]:
                lines = self.exported[flat.groups[row]]
                lines.setdefault(row, len(lines))
        shapes, alone = Shapes(), [part for part in self.sections if part.group == 0]
        self.runs = {part.stage: along(flat, part.rows, shapes, wanted) for part in alone}
        self.kernels: list[Kernel] = [*shapes.since()]
        self.steps = {(part.stage, part.group): tiles(flat, part) for part in self.sections if part.group}
        self.work = {group: [work(flat, self.steps[at]) for at in self.steps if at[1] == group] for group in self.fed}
        self.slots = np.full(len(flat) + 1, NONE, np.int32)
        self.slots[[*found]] = [*found.values()]
        self.behind = self.leaves.count
        self._placed(others)
        self.nothing, self.slots[NONE] = self.behind, self.behind + 1  # a factor that is missing is 1
        self.behind += 2
        self.written: dict[int, list[tuple[int, Array, Array]]] = {}
        begun = nothing_written(self.slots, 0, len(flat), len(flat.operands), self.nothing + 1)
        for part in self.sections:
            if part.group == 0:
                self.written[part.stage] = [self._instructed(each, begun) for each in self.runs[part.stage]]
            else:
                rows = part.rows[flat.groups[part.rows] == 0]
                self._placed(side_by_side(rows.tolist(), self.steps[part.stage, part.group], wanted))
        self.behind += LANES  # a register may be stored where less is wanted

    def _scalars(self) -> Array:
        """Room for all scalars: rows, the beginning of a sum, 1, those that are packed for a layer, and results."""
        scalars = np.zeros(self.results.stop)
        scalars[self.nothing : self.nothing + 2] = NOTHING_YET, 1.0
        scalars[self.leaves.held_at] = self.leaves.held
        for row, number in self.flat.constants.items():
            if self.flat.groups[row] == 0 and self.slots[row] >= 0:
                scalars[self.slots[row]] = number
        return scalars

    # --- instructions ---

    def _write(self, wanted: list[int]) -> None:
        """All parts: the loads, the sections, and what is handed out."""
        self.kept = lives_on(self.sections)
        self.lane_slots: dict[int, dict[Slot, int]] = {group: {} for group in self.fed}
        self.most_slots = {group: len(rows) for group, rows in self.fed.items()}  # fed even where nothing is computed
        self.gathered = self._gathered()
        self._copied(COPY, LOAD, 0, np.array(self.leaves.loads, np.int32))
        begun: set[int] = set()
        last = {part.group: part.stage for part in self.sections}
        for part in self.sections:
            if part.group == 0:
                for first, code, entries in self.written[part.stage]:
                    base = self._sizes["index"]
                    self._indexed(code)
                    self._indexed(entries)
                    self._part(0, [SECTION, first, len(code), base, base + len(code)])
            else:
                exports = [*self.exported[part.group]] if last[part.group] == part.stage else []
                self._lanes(part, exports, part.group in begun)
                begun.add(part.group)
        first = self.behind + self._sizes["packed"]
        self.results = slice(first, first + len(wanted))
        self._copied(MOVE, PACK, first, self.slots[wanted])
        self._part(0, [CHECK, first, 0, 0, 0])

    def _copied(self, near: int, far: int, to: int, places: Array) -> None:
        """Numbers are copied to where they are needed. near: the instruction for neighbours, far: for any places."""
        runs = runs_of(places)
        if len(runs) > 1 + len(places) // 8:
            return self._scalar(far, to, places)
        for first, last in runs:
            self._part(0, [near, to + first, last - first, int(places[first]), 0])
        return None

    def _instructed(self, found: Runs | Bodies, begun: Writing) -> tuple[int, Array, Array]:
        """Instructions for some scalars, with the first one's slot and what they look up; now their slots are known."""
        first = self.behind
        if isinstance(found, Bodies):
            self._placed(found.order)
            entries = self.slots[found.taken].ravel()
            return first, np.array([HOWS * self._kernel(found.kernel) + MANY, len(found.order), len(entries)]), entries
        found = sharing(self.flat, found, begun.marks)
        rows, most = found.order, len(self.flat.operands)
        index, code = np.empty(3 * (most + len(rows)), np.int32), np.empty(3 * len(rows), np.int32)
        begun.end[:3] = 0, 0, first
        made = begun._replace(order=rows, index=index, code=code)
        write(len(found.starts) - 1, found.starts, found.shapes, self.flat.columns, made)
        entries, size, self.behind, _ = made.end.tolist()
        return first, code[:size], index[:entries]

    def _placed(self, rows: Sequence[int] | Array) -> None:
        """Give some rows the next slots."""
        self.slots[rows] = self.behind + np.arange(len(rows))
        self.behind += len(rows)

    def _gathered(self) -> dict[int, int]:
        """The leaves whose lanes are scalars, and from where on the index says which; lanes behind repeat the last."""
        found = {}
        for row, line in self.leaves.lines.items():
            found[row] = self._sizes["index"]
            places = [*map(self.leaves.place, line.sources, line.numbers)]
            self._indexed([*places, *places[-1:] * (-len(places) % LANES)])
        return found

    def _lanes(self, part: Section, exports: list[int], begun: bool) -> None:
        group, pack_at = part.group, self.behind + self._sizes["packed"]
        writer = SectionWriter(self.flat, self._kernel, self.slots, self.nothing, pack_at, len(self.exported[group]))
        feeds = [] if begun else self.fed[group]
        gathered = {row: at for row, at in self.gathered.items() if self.flat.groups[row] == group and not begun}
        steps, slots = self.steps[part.stage, group], self.lane_slots[group]
        code, most = block(writer, steps, feeds, gathered, exports, slots, group in self.kept)
        if begins := writer.begun:  # sums lie together, and those that are no sums' beginnings are written in any case
            self._part(0, [BEGIN, min(begins), max(begins) - min(begins) + 1, 0, 0])
        self._scalar(PACK, pack_at, writer.packed)
        self._sizes["packed"] += len(writer.packed)
        sums = self.slots[part.rows[self.flat.groups[part.rows] == 0]]
        self._part(group, code, int(sums.min(initial=self.behind)), len(sums), tuple(writer.ordered))
        self.most_slots[group] = max(self.most_slots[group], most)

    def _kernel(self, kernel: Kernel) -> int:
        if kernel not in self.kernels:
            self.kernels.append(kernel)
        return self.kernels.index(kernel)

    def _scalar(self, what: int, to: int, entries: Any) -> None:
        """An instruction over some entries of the index."""
        base = self._sizes["index"]
        self._indexed(entries)
        self._part(0, [what, to, self._sizes["index"] - base, base, 0])

    def _indexed(self, entries: Any) -> None:
        self._index.append(np.asarray(entries, np.int32))
        self._sizes["index"] += len(entries)

    def _part(self, group: int, code: Any, *sums: Any) -> None:
        """One more part; scalars that follow scalars are one."""
        begin, end = self._sizes["code"], self._sizes["code"] + len(code)
        self._code.append(np.asarray(code, np.int32))
        self._sizes["code"] = end
        if group == 0 and self.planned and self.planned[-1].group == 0:
            begin = self.planned.pop().begin
        self.planned.append(PlannedPart(group, begin, end, *sums))

    def _addresses(self) -> Array:
        found = [each for kernel in progress(self.kernels, label="kernels") for each in kernel.addresses()]
        return np.array(found or [0], np.int64)

    # --- running ---

    def set_samples(self, samples: Sequence[int]) -> None:
        """Make room for so many samples of each group; what was fed must be fed again."""
        super().set_samples(samples)
        self._pack()

    def _pack(self) -> None:
        """Write all arguments of the kernel into one array; where there are halves, for each call into its own."""
        parts, code, cuts = laid_out(self.planned, self.code, self.places)
        self.history = np.zeros(1)
        handed_out = self.results.start, len(self.out) - 1
        todo = TapeTables(np.array(parts, np.int32), 0, code, self.index, self.table, *handed_out)
        numbers = Numbers(self.scalars, self.lanes, self.feed_room)
        self.calls = [
            packed(0, 1, self.history, todo._replace(parts=todo.parts[first:], part_count=last - first), numbers)
            for first, last in pairwise([0, *cuts, len(parts)])
        ]
        self.arguments, self.memory = self.calls[0], (self.history, todo, numbers, self.calls)
        self.packed, *others = (each.ctypes.data for each in self.calls)
        self.call = Turns(self.machine_code, others, self.memory) if cuts else self.machine_code

    def repeat(self, source: Any, history: Array) -> None:
        """Run as often as the history of the first result has places, each run going on where the last one left."""
        self.set_source(source)
        many = len(history) if len(self.calls) == 1 else 1
        for step in range(0, len(history), many):
            self.calls[-1][1:3] = many, history[step:].ctypes.data
            self.call(self.packed)
        self.calls[-1][1:3] = 1, self.history.ctypes.data
