"""A plan as straight-line machine code: every row once, in order, without a table to look anything up in.

It is what `tape.Tape` is, for plans that are small enough: `run` computes the
wanted rows, `repeat` goes on from where a run left. What has a value for every
sample is computed for eight samples at a time, in float32 for sixteen.

LLVM takes some 0.1 to 0.2 ms for a row, so a Program of more than FEW_ROWS
rows, or with lanes, starts on the tape, and moves here after PATIENCE blocks of
samples. By then the tape has run for 0.03 to 0.5 s; compiling takes 0.1 to
0.7 s, and in the next process, which finds the code on disk, 0.02 to 0.05 s. The
count depends on the plan alone, so two runs of one script move at the same
place. Values have the same bits before and after. So have gradients of a plan
without lanes; with lanes they are summed in another order, and may differ in
their last bits.

A thread could compile while the tape runs. It would have to begin at a tenth of
that count to hide most of the time, and hides little of a plan's with lanes. A
script that ends in between would wait for it: LLVM crashes in a process that
ends under it. So would a fork, whose child else waits for ever for LLVM's lock.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence

import numpy as np

from ..llvm.compile import compiled
from ..llvm.loops import WORDS
from ..llvm.precision import DOUBLE, Precision
from ..llvm.repeat import loop
from ..tape.face import Face
from ..tape.flat import DOT, NONE, Array, Flat
from ..tape.places import aligned
from ..tape.sections import lives_on
from .code import Written

WARM = 65_536  # bytes of columns that stay in the nearest caches
FEW_ROWS = 400  # LLVM takes some 0.1 s for as many
MOST_ROWS = 4_000  # some 0.5 s, and much more for twice as many
MOST_TERMS = 3_000  # of the dots of a plan with lanes
PATIENCE = 50_000  # blocks of samples, or runs without any, on the tape before compiling pays

# All arguments in one array: one is quicker to pass than many.
PACKED = """
define void @"run.packed"(ptr %packed) {
  %values = load ptr, ptr %packed
  %results.at = getelementptr ptr, ptr %packed, i64 1
  %results = load ptr, ptr %results.at
  %scratch.at = getelementptr ptr, ptr %packed, i64 2
  %scratch = load ptr, ptr %scratch.at
  call void @run(ptr %values, ptr %results, ptr %scratch)
  ret void
}
"""


class StraightLine(Face):
    """The wanted rows of a plan as one piece of code, with the memory that it works in. Has the face of a Tape.

    moves: (from, to), wanted scalars that a run hands to the next one, where
    they are leaves; then watched is the scalar whose history is kept. wide:
    whether functions of scalars are computed a register at once, with the
    tape's bits, else by the C library, with the reference engine's; by itself
    where the plan may come from the tape. precision: of all floats but those
    that leaves are loaded from. checks: whether the last of `out` tells too
    whether all wanted lanes are finite.
    """

    def __init__(
        self,
        flat: Flat,
        wanted: Sequence[int],
        moves: Sequence[tuple[int, int]] = (),
        watched: int = NONE,
        wide: bool | None = None,
        precision: Precision = DOUBLE,
        checks: bool = False,
    ) -> None:
        self.precision, self.checks = precision, checks
        wide = not fits(flat) if wide is None else wide
        code = Written(flat, wanted, wide, precision, checks)
        sheet = code.sheet
        self.flat, self.sections, self.fed, self.exported = flat, sheet.sections, sheet.fed, sheet.exported
        self.given, self.columns = sheet.given, sheet.columns
        self.instructions, self.summed = code.instructions, code.explain()
        scalars = [row for row in wanted if flat.groups[row] == 0]
        result_of = {row: place for place, row in enumerate(scalars)}
        self.out = np.zeros(len(scalars) + 1 + precision.lanes, precision.name)
        self.scalars = aligned(sheet.scratch.size + precision.lanes, precision.name)
        self.whole = lives_on(self.sections)
        texts = [str(code), PACKED]
        if moves:
            places = [(result_of[a], self.given[b]) for a, b in moves]
            texts.append(loop(places, result_of[watched], precision))
        self.library = compiled("\n".join(texts), optimised=len(flat) <= 100 and len(flat.samples) == 1)
        if moves:
            kinds = [*[ctypes.c_void_p] * 3, ctypes.c_int64, ctypes.c_void_p]
            self._again = self.library.function("again", None, kinds)
        self._run = self.library.function("run.packed", None, [ctypes.c_void_p])
        self._places = (self.out.ctypes.data, self.scalars.ctypes.data)
        self.arguments = np.array([0, *self._places], np.int64)
        self.packed = self.arguments.ctypes.data
        self.set_samples(flat.samples)

    # --- memory ---

    def set_samples(self, samples: Sequence[int]) -> None:
        """Make room for so many samples of each group; what was fed must be fed again."""
        self.samples = list(samples)
        self.feeds, self.lanes, self.outs = {}, {}, {}
        words, lanes, held = self.scalars.view(np.int64), self.precision.lanes, self.precision.name
        for group, count in enumerate(samples[1:], 1):
            room, columns = -(-count // lanes) * lanes, self.columns[group]
            most = room if group in self.whole else min(room, chunk(count, columns, self.precision))
            self.feeds[group] = aligned(len(self.fed[group]) * room, held).reshape(-1, room)
            self.outs[group] = aligned(len(self.exported[group]) * room, held).reshape(-1, room)
            self.lanes[group] = aligned(columns * most, held)
            arrays = self.feeds[group], self.lanes[group], self.outs[group]
            head = [count, room, most, *(each.ctypes.data for each in arrays)]
            words[WORDS * (group - 1) : WORDS * (group - 1) + len(head)] = head
        self.put_counts()

    def place(self, row: int) -> int:
        return self.given.get(row, NONE)

    def explain(self) -> list[str]:
        """What runs, in words."""
        many, at_a_time = self.instructions, {8: "eight", 16: "sixteen"}[self.precision.lanes]
        lines = [f"Straight-line code: {len(self.flat)} rows, one after the other, in {many} of LLVM's instructions."]
        for part in self.sections:
            if part.group:
                lines.append(
                    f"lanes: {self.samples[part.group]} samples, {at_a_time} at a time; {len(part.rows)} rows, "
                    f"{self.summed[part.stage, part.group]}"
                )
        return lines

    # --- running ---

    def repeat(self, source: int, history: Array) -> None:
        """Run as often as the history of the watched scalar has places, each run going on where the last one left."""
        self._again(source, *self._places, len(history), history.ctypes.data)


def chunk(count: int, columns: int, precision: Precision) -> int:
    """How many samples go through a section together: as many as stay warm, shared out evenly."""
    lanes, warm = precision.lanes, WARM // precision.bytes // max(columns, 1)
    most = max(lanes, warm // lanes * lanes)
    share = -(-count // -(-count // most))
    return -(-share // lanes) * lanes


def fits(flat: Flat) -> bool:
    """Whether straight-line code is worth it from the first run on: few rows, and no lanes."""
    return len(flat.samples) == 1 and _is_short(flat, FEW_ROWS)


def pays(flat: Flat) -> bool:
    """Whether straight-line code beats the tape once it is compiled: wide layers run in the tape's larger tiles."""
    dots = flat.kinds <= DOT
    terms = int((flat.starts[1:] - flat.starts[:-1])[dots].sum()) // 2
    return _is_short(flat, MOST_ROWS) and (len(flat.samples) == 1 or terms <= MOST_TERMS)


def blocks(samples: Sequence[int], precision: Precision = DOUBLE) -> int:
    """How many blocks of samples a run goes through, at least 1: what `PATIENCE` is counted in."""
    return max(1, -(-max(samples) // precision.lanes))


def _is_short(flat: Flat, most: int) -> bool:
    """Whether at most so many rows are computed, of some four operands each: a row's code is as long as it is wide."""
    return len(flat) - len(flat.leaves()) <= most and len(flat.operands) <= 4 * most
