"""The choice of the backend that answers a query; and the backends for large plans, which run as they stand.

Most Programs gain from the passes: they find samples, layers and shared work. A
large graph that never does the same thing twice gains nothing, and a very large
one has not the time and the room for them, whatever it is. It goes in level
runs; or, where these cannot have it, right on the tables, by the direct engine.
"""

from __future__ import annotations

from contextlib import suppress
from functools import cached_property
from typing import Any

import numpy as np

from ..core.rules import BY_NUMBER
from ..core.tables import PLACEHOLDER
from ..engines.compiled.runs import DescendingRuns, descends
from ..engines.direct import engine as direct
from ..engines.llvm.compile import llvmlite
from ..engines.llvm.emit import Opaque
from ..engines.passes.build_ir import build_ir
from ..engines.passes.repeats import repeats
from ..engines.passes.strength_reduction import powers
from ..errors import EngineError
from .backends import Backend, CodeBackend, CompiledBackend, Found, Query, ReferenceBackend, backend_for
from .inputs import Inputs
from .results import ResultPick

LEAST_ROWS = 20_000  # of a plan that goes in level runs there and back
MOST_ROWS = 2_500_000  # of one that goes through the passes: some 1.2 us and 300 bytes for each
PER_SLOPE = 10  # rows that take as long there as one derivative that is handed out
WIDEST = 4096  # operands of a product or a logsumexp there: they are written out in Python


class RunsBackend(CodeBackend):
    """Answers for a large plan that never repeats itself, in level runs there and back."""

    def __init__(self, asked: Query, runs: DescendingRuns) -> None:
        super().__init__(asked)
        self.placeholders = runs.fed_rows
        self.picks = [ResultPick(0, slice(0, 1)), *([ResultPick(0, slice(1, 1 + len(asked.wrt)))] if asked.wrt else [])]
        self.tape = self.idle = runs

    @cached_property
    def machine(self) -> CompiledBackend | None:
        """The backend with all passes, to be looked at or for `minimize`; None if the plan is too large for them."""
        return CompiledBackend(self.question) if self.tape.rows <= MOST_ROWS else None

    def source(self, inputs: Inputs) -> Any:
        column = super().source(inputs)
        if len(inputs.numbers) > len(self.tape.fed_rows):  # Variables' too, on the way downhill
            column = column[:]
            for row, number in inputs.numbers.items():
                column[row] = number
        return column

    def explain(self, times: bool = True) -> str:
        why = (
            "No term of a sum comes again and again"
            if self.tape.rows <= MOST_ROWS
            else "It is too large for the passes"
        )
        return "\n".join([f"{why}, so the plan is run as it stands, there and back.", *self.tape.explain()])


class DirectBackend(ReferenceBackend):
    """Answers by the direct engine, which plans and compiles nothing. ran: the rows of the tables that it runs."""

    def __init__(self, asked: Query, ran: Any) -> None:
        super().__init__(asked)
        self.size = len(ran)
        self.placeholders = ran[np.array(asked.tables.operators)[ran] == PLACEHOLDER].tolist()

    def __call__(self, inputs: Inputs) -> Found:
        found = self.on_columns(inputs, lambda message: None)
        return super().__call__(inputs) if found is None else found

    def explain(self, times: bool = True) -> str:
        why = "" if self.question.engine == "direct" else ": too many for the passes, or too wide"
        return f"The direct engine runs {self.size} rows right on the tables{why}."


def is_borne(asked: Query, rows: int) -> bool:
    """Whether a plan of so many rows is small enough for the passes, in time and memory."""
    return rows + PER_SLOPE * len(asked.rows) * len(asked.wrt) <= MOST_ROWS


def by_runs(asked: Query) -> RunsBackend | None:
    """A backend that goes in level runs; None for a plan that is small, or repeats itself, or has several outputs."""
    tables, rows, wrt = asked.tables, asked.rows, asked.wrt
    if len(rows) != 1 or len(tables) < LEAST_ROWS:
        return None
    ir, chosen = build_ir(tables, [*rows, *wrt])
    if len(ir) < LEAST_ROWS:
        return None
    ir, _ = powers(ir, rows)
    if is_borne(asked, len(ir)) and repeats(ir):
        return None
    if (np.diff(chosen) < 0).any():  # an edge was drawn by hand, and the rows changed places
        return None
    place = np.searchsorted(chosen, [*rows, *wrt])
    del chosen  # 40 MB of ten million rows
    if not descends(ir):
        return None
    return RunsBackend(asked, DescendingRuns(ir, int(place[0]), place[1:].tolist()))


def by_direct(asked: Query) -> DirectBackend | None:
    """A backend that runs on the tables; None where the passes can be borne, unless it is asked for by name."""
    tables, named = asked.tables, asked.engine == "direct"
    if not named and is_borne(asked, len(tables)) and max(tables.in_degrees) <= WIDEST:
        return None
    order = direct.sorted_for(tables, list(dict.fromkeys(asked.rows)))
    if order is None:
        return None
    rows = np.array(order.rows)
    kinds, degrees = np.array(tables.operators)[rows], np.array(tables.in_degrees)[rows]
    wide = {BY_NUMBER[kind].name for kind in kinds[degrees > WIDEST]}
    too_small = is_borne(asked, len(rows)) and wide <= {"add"}
    return None if too_small and not named else DirectBackend(asked, rows)


def dispatch(asked: Query) -> Backend:
    """The backend for a query; large plans are looked at first."""
    if asked.engine in ("direct", "reference") and asked.batched:
        raise EngineError(f"The {asked.engine} engine takes one sample at a time. Leave the choice to the Program.")
    if not asked.batched and asked.engine in (None, "direct") and asked.weights is None:
        llvmlite()  # or say at once that it is missing
        for way in (by_runs, by_direct) if asked.engine is None else (by_direct,):
            with suppress(Opaque):  # the passes will meet it too, and say so
                found = way(asked)
                if found is not None:
                    return found
    return backend_for(asked)
