"""A plan as straight-line machine code: every row once, in order, without a table to look anything up in.

It is what `tape.Tape` is, for plans that are small enough, and have no lanes:
`run` computes the wanted rows, `repeat` goes on from where a run left.

LLVM takes some 0.1 to 0.2 ms for a row, so a Program of more than FEW_ROWS
rows starts on the tape. After PATIENCE runs, when the tape has run for as long as that
will take, a thread makes this code while the tape goes on (`core/beside.py`), and a later run
moves here. Values and gradients have the same bits before and after.

Lanes had straight-line code too, for a register of samples at a time. It took
0.67 of the tape's time for a small network, and 0.4 for a batch of a random
graph, so the pause in which it was compiled was made good after 10,000 to
100,000 calls (tests/benchmarks/README.md); 580 lines were too many for that.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..llvm.compile import compiled
from ..llvm.typed import LANES
from ..tape.flat import NONE, Array, Flat
from ..tape.memory import Face, address, aligned
from .code import StraightCode

FEW_ROWS = 400  # LLVM takes some 0.1 s for as many
MOST_ROWS = 4_000  # some 0.5 s, and much more for twice as many
PATIENCE = 20_000  # runs on the tape before compiling pays
SOON = 1_000  # runs after which a Program looks again whether its code is there: that takes as long as some 20

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
    where the plan may come from the tape.
    """

    def __init__(
        self,
        flat: Flat,
        wanted: Sequence[int],
        moves: Sequence[tuple[int, int]] = (),
        watched: int = NONE,
        wide: bool | None = None,
    ) -> None:
        self.flat = flat
        code = StraightCode(flat, wanted, not fits(flat) if wide is None else wide)
        self.given, self.instructions = code.given, code.instructions
        result_of = {row: place for place, row in enumerate(wanted)}
        self.fed_rows, self.fed_at = [*code.fed], slice(0, len(code.fed))
        self.reach = 1 + max((each for each in flat.sources.values() if isinstance(each, int)), default=-1)
        self._sizes = len(wanted) + 1 + LANES, code.code.spilled + LANES
        texts = [str(code), PACKED]
        if moves:
            places = [(result_of[a], self.given[b]) for a, b in moves]
            texts.append(loop(places, result_of[watched]))
        self.library = compiled("\n".join(texts), optimised=len(flat) <= 100)
        if moves:
            kinds = [*[ctypes.c_void_p] * 3, ctypes.c_int64, ctypes.c_void_p]
            self._again = self.library.function("again", None, kinds)
        self.call = self.library.function("run.packed", None, [ctypes.c_void_p])
        self.begin()

    def begin(self) -> None:
        """Take memory of its own, in which nothing was computed yet."""
        results, scalars = self._sizes
        self.out, self.scalars = np.zeros(results)[:-LANES], aligned(scalars)
        self._places = (self.out.ctypes.data, self.scalars.ctypes.data)
        self.arguments = np.array([0, *self._places], np.int64)
        self.packed = self.arguments.ctypes.data

    def place(self, row: int) -> int:
        return self.given.get(row, NONE)

    def explain(self) -> list[str]:
        """What runs, in words."""
        many = self.instructions
        return [f"Straight-line code: {len(self.flat)} rows, one after the other, in {many} of LLVM's instructions."]

    def repeat(self, source: Any, history: Array) -> None:
        """Run as often as the history of the watched scalar has places, each run going on where the last one left."""
        self._again(address(source, self.reach), *self._places, len(history), history.ctypes.data)


def fits(flat: Flat, most: int = FEW_ROWS) -> bool:
    """Whether straight-line code is worth it from the first run on: no lanes, and few rows of some four operands.

    A row's code is as long as it is wide. most: how many rows there may be.
    """
    return len(flat.samples) == 1 and len(flat.computed()) <= most and len(flat.operands) <= 4 * most


def pays(flat: Flat) -> bool:
    """Whether straight-line code beats the tape once it is compiled."""
    return fits(flat, MOST_ROWS)


# Where all that a run reads and writes is small, LLVM could keep it in registers from one run to the next; of a loop of
# 100,000 steps that saved 1.5 %.
LOOP = """
@moves = private constant [{count} x [2 x i64]] [{moves}]
define void @again(ptr %values, ptr %results, ptr %memory, i64 %steps, ptr noalias %history) {{
  br label %step
step:
  %done = phi i64 [ 0, %0 ], [ %next, %end ]
  call void @run(ptr %values, ptr %results, ptr %memory)
  %watched.at = getelementptr double, ptr %results, i64 {watched}
  %watched = load double, ptr %watched.at
  %place = getelementptr double, ptr %history, i64 %done
  store double %watched, ptr %place
  br label %move
move:
  %k = phi i64 [ 0, %step ], [ %k1, %move ]
  %pair = getelementptr [2 x i64], ptr @moves, i64 %k
  %from.at = load i64, ptr %pair
  %to.where = getelementptr i64, ptr %pair, i64 1
  %to.at = load i64, ptr %to.where
  %from = getelementptr double, ptr %results, i64 %from.at
  %moved = load double, ptr %from
  %to = getelementptr double, ptr %memory, i64 %to.at
  store double %moved, ptr %to
  %k1 = add i64 %k, 1
  %more = icmp slt i64 %k1, {count}
  br i1 %more, label %move, label %end
end:
  %next = add i64 %done, 1
  %going = icmp slt i64 %next, %steps
  br i1 %going, label %step, label %out
out:
  ret void
}}
"""


def loop(moves: Sequence[tuple[int, int]], watched: int) -> str:
    """The function @again, which calls @run for so many steps.

    moves: after a run, the result at the first place becomes what the memory
    holds at the second one. watched: the result whose history is kept.
    """
    table = ", ".join(f"[2 x i64] [i64 {source}, i64 {target}]" for source, target in moves)
    return LOOP.format(count=len(moves), moves=table, watched=watched)
