"""A large plan without structure, answered window by window; and the choice of who answers a question.

Most Programs gain from the passes of a tape: they find samples, layers and
shared work. A large graph that never does the same thing twice gains nothing,
and the passes would take longer, and more memory, than it has.
"""

from __future__ import annotations

from contextlib import suppress
from functools import cached_property

import numpy as np

from ..engines.llvm.compile import llvmlite
from ..engines.llvm.emit import Opaque
from ..engines.llvm.precision import DOUBLE
from ..engines.tape.powers import powers
from ..engines.tape.repeats import repeats
from ..engines.tape.rows import flat_of_tables
from ..engines.tape.sweeps import WindowTape
from ..engines.tape.windows import WINDOW, windows
from .given import Inputs
from .questions import Answers, ByMachine, ByReference, Found, Question, answers

LEAST_ROWS = 4096  # of a plan that goes by windows


class ByWindows(ByReference):
    """Compiled answers for a plan that is large, and has no structure to find."""

    def __init__(self, asked: Question, tape: WindowTape) -> None:
        super().__init__(asked)
        self.tape = tape

    @cached_property
    def placeholders(self) -> list[int]:
        return [row for row, _ in self.tape.fed]

    @cached_property
    def machine(self) -> ByMachine:
        """The same with all passes, for who wants to look at them, or goes on from there."""
        return ByMachine(self.question._replace(engine="tape"))

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


def by_windows(asked: Question) -> ByWindows | None:
    """Answers by windows; None where that does not suit the plan: it is small, or repeats itself, or asks for more."""
    tables, rows, wrt = asked.tables, asked.rows, asked.wrt
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
    return ByWindows(asked, WindowTape(flat, made, int(place[0]), place[1:].tolist()))


def question(asked: Question) -> Answers:
    """The answers to a question, by the engine that is asked for, or the one that suits it."""
    plain = not asked.batched and asked.precision is DOUBLE and asked.weights is None
    if plain and asked.engine in (None, "tape"):
        llvmlite()  # or say at once that it is missing
        with suppress(Opaque):  # the passes will meet it too, and say so
            found = by_windows(asked)
            if found is not None:
                return found
    return answers(asked)
