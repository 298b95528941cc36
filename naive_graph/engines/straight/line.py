"""A plan as straight-line machine code: every row once, in order, without a table to look anything up in.

It is what `tape.Tape` is, for plans that are small enough, and have no lanes:
`run` computes the wanted rows.

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
from ..llvm.machine import entry
from ..llvm.python import TranslatedModule
from ..llvm.typed import LANES, Callee
from ..tape.flat import NONE, Flat
from ..tape.memory import Face, address, aligned
from .code import StraightCode

FEW_ROWS = 400  # LLVM takes some 0.1 s for as many
MOST_ROWS = 4_000  # some 0.5 s, and much more for twice as many
PATIENCE = 20_000  # runs on the tape before compiling pays
SOON = 1_000  # runs after which a Program looks again whether its code is there: that takes as long as some 20


class StraightLine(Face):
    """The wanted rows of a plan as one piece of code, with the memory that it works in. Has the face of a Tape.

    carried: leaves that hold the wanted rows behind the first once it has run.
    wide: whether functions of scalars are computed a register at once, with the
    tape's bits, else by the C library, with the reference engine's; by itself
    where the plan may come from the tape.
    """

    def __init__(
        self, flat: Flat, wanted: Sequence[int], carried: Sequence[int] = (), wide: bool | None = None
    ) -> None:
        self.flat = flat
        code = StraightCode(flat, wanted, not fits(flat) if wide is None else wide, carried)
        self.given, self.instructions = code.given, code.instructions
        self.fed_rows, self.fed_at = [*code.fed], slice(0, len(code.fed))
        self.reach = 1 + max((each for each in flat.sources.values() if isinstance(each, int)), default=-1)
        self._sizes = len(wanted) + 1 + LANES, code.code.taken + LANES
        text = f"{code}\n{entry('run', ['ptr'] * 3)}"
        self.library = compiled(text + _again() if carried else text, optimised=len(flat) <= 100)
        self.call = self.library.function("run.packed", None, [ctypes.c_void_p])
        if carried:
            kinds = [*[ctypes.c_void_p] * 3, ctypes.c_int64, ctypes.c_void_p]
            self._again = self.library.function("again", None, kinds)
        self.begin()

    def begin(self) -> None:
        """Take memory of its own, in which nothing was computed yet."""
        results, scalars = self._sizes
        self.out, self.scalars = np.zeros(results)[:-LANES], aligned(scalars)
        self.arguments = np.array([0, self.out.ctypes.data, self.scalars.ctypes.data], np.int64)
        self.packed = self.arguments.ctypes.data

    def repeat(self, source: Any, history: Any) -> None:
        self._again(address(source, self.reach), *self.arguments[1:].tolist(), len(history), history.ctypes.data)

    def place(self, row: int) -> int:
        return self.given.get(row, NONE)

    def explain(self) -> list[str]:
        """What runs, in words."""
        many = self.instructions
        return [f"Straight-line code: {len(self.flat)} rows, one after the other, in {many} of LLVM's instructions."]


AGAIN = """
def again(values: Floats, results: Floats, scalars: Floats, steps: int, history: Floats) -> None:
    for step in range(steps):
        run(values, results, scalars)
        history[step] = results[0]
"""


def _again() -> str:
    """The loop around the code in one text with it, so that what a step hands to the next may stay in a register."""
    program = TranslatedModule({"run": Callee("run", ["ptr"] * 3, "void")})
    program.add_source(AGAIN)
    return str(program)


def fits(flat: Flat, most: int = FEW_ROWS) -> bool:
    """Whether straight-line code is worth it from the first run on: no lanes, and few rows of some four operands.

    A row's code is as long as it is wide. most: how many rows there may be.
    """
    return len(flat.samples) == 1 and len(flat.computed()) <= most and len(flat.operands) <= 4 * most


def pays(flat: Flat) -> bool:
    """Whether straight-line code beats the tape once it is compiled."""
    return fits(flat, MOST_ROWS)
