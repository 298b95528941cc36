"""A large plan without structure, answered window by window; and the choice of who answers a question.

Most Programs gain from the passes of a tape: they find samples, layers and
shared work. A large graph that never does the same thing twice gains nothing,
and the passes would take longer, and more memory, than it has.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np

from ..core.tables import Tables
from ..engines.llvm.compile import llvmlite
from ..engines.llvm.emit import Opaque
from ..engines.llvm.precision import DOUBLE, Precision
from ..engines.tape.powers import powers
from ..engines.tape.repeats import repeats
from ..engines.tape.rows import flat_of_tables
from ..engines.tape.sweeps import WindowTape
from ..engines.tape.windows import WINDOW, windows
from . import questions
from .given import Inputs, Weights
from .questions import Answers, ByMachine, ByReference, Found

LEAST_ROWS = 4096  # of a plan that goes by windows


class ByWindows(ByReference):
    """Compiled answers for a plan that is large, and has no structure to find."""

    def __init__(self, tables: Tables, rows: Sequence[int], wrt: Sequence[int], tape: WindowTape) -> None:
        super().__init__(tables, rows, wrt)
        self.tape = tape

    @cached_property
    def placeholders(self) -> list[int]:
        return [row for row, _ in self.tape.fed]

    @cached_property
    def machine(self) -> ByMachine:
        """The same with all passes, for who wants to look at them, or goes on from there."""
        return ByMachine(self.tables, self.rows, self.wrt, frozenset(), "tape")

    def __call__(self, inputs: Inputs) -> Found:
        tape = self.tape
        with self.tables.lock:  # machine code reads the column while other threads may run: it must not move
            if len(self.tables.values) < len(self.tables.operators):
                self.tables.grow_values()
            for row, place in tape.fed:
                tape.scalars[place] = inputs.numbers[row]
            tape.run(self.tables.values.buffer_info()[0])
        if tape.out[-1] != 0.0:
            return super().__call__(inputs)
        return [float(tape.out[0])], [tape.out[1:-1].copy()] if self.wrt else [], True

    def explain(self, times: bool = True) -> str:
        tape = self.tape
        size = sum(each.nbytes for each in (tape.code, tape.index, tape.scalars, tape.adjoints))
        return (
            f"No term of a sum comes again and again, so the plan is run as it stands.\n"
            f"scalars: {tape.rows} rows in {len(tape.code) // 3} instructions, in windows of {WINDOW} rows; "
            f"then the same backwards, {size / 1024:.0f} KB in all"
        )


def by_windows(tables: Tables, rows: Sequence[int], wrt: Sequence[int]) -> ByWindows | None:
    """Answers by windows; None where that does not suit the plan: it is small, or repeats itself, or asks for more."""
    if len(rows) != 1 or len(tables) < LEAST_ROWS:
        return None
    flat, chosen = flat_of_tables(tables, [*rows, *wrt])
    if len(flat) < LEAST_ROWS:
        return None
    flat, _ = powers(flat, rows)
    if repeats(flat):
        return None
    if (np.diff(chosen) < 0).any():  # an edge was drawn by hand, and the rows changed places
        return None
    place = np.searchsorted(chosen, [*rows, *wrt])
    del chosen  # 40 MB of ten million rows
    made = windows(flat)
    if made is None:
        return None
    return ByWindows(tables, rows, wrt, WindowTape(flat, made, int(place[0]), place[1:].tolist()))


def question(
    tables: Tables, rows: Sequence[int], wrt: Sequence[int], batched: frozenset[int], engine: str | None,
    precision: Precision = DOUBLE, weights: Weights | None = None, fused: bool = False,
) -> Answers:  # fmt: skip
    """The answers to a question, by the engine that is asked for, or the one that suits it."""
    if engine in (None, "tape") and not batched and precision is DOUBLE and weights is None:
        llvmlite()  # or say at once that it is missing
        try:
            found = by_windows(tables, rows, wrt)
        except Opaque:  # the passes will meet it too, and say so
            found = None
        if found is not None:
            return found
    return questions.question(tables, rows, wrt, batched, engine, precision, weights, fused)
