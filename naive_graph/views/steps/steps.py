"""The walk: every step of every run, as a sequence that a test or an exercise can read."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import overload

from ...errors import NodeError
from ...nodes import Node
from .run import KINDS, Run
from .state import State
from .step import Step, make_step


class StepLog(Sequence[Step]):
    """All steps of a walk, as a sequence."""

    def __init__(self, runs: list[Run]) -> None:
        self.runs = runs

    def __len__(self) -> int:
        return sum(map(len, self.runs))

    @property
    def iterations(self) -> list[int]:
        """The index of the first step of each iteration of a training loop."""
        first: dict[int, int] = {}
        for run, start in self._starts():
            first.setdefault(run.iteration, start)
        return [first[iteration] for iteration in sorted(first)]

    def _starts(self) -> Iterator[tuple[Run, int]]:
        start = 0
        for run in self.runs:
            yield run, start
            start += len(run)

    @overload
    def __getitem__(self, place: int) -> Step: ...
    @overload
    def __getitem__(self, place: slice) -> list[Step]: ...
    def __getitem__(self, place: int | slice) -> Step | list[Step]:
        if isinstance(place, slice):
            places = range(*place.indices(len(self)))
            found = {step.index: step for step in self.walk(min(places), max(places) + 1)} if places else {}
            return [found[each] for each in places]
        index = range(len(self))[place]
        return next(self.walk(index, index + 1))

    def __iter__(self) -> Iterator[Step]:
        return self.walk(0, len(self))

    def walk(self, first: int, end: int) -> Iterator[Step]:
        """The steps from `first` up to `end`, one after the other."""
        for step, _ in self.states(first, end):
            yield step

    def states(self, first: int, end: int) -> Iterator[tuple[Step, State]]:
        """Steps with the state after each. The state is one object that moves on."""
        state = State()
        starts = list(self._starts())
        at = bisect_right([start for _, start in starts], first) - 1
        for run, start in starts[max(0, at) :]:
            if start >= end:
                return
            state.begin(run)
            for place, entry in enumerate(islice(run.entries(), end - start)):
                changed = state.apply(run, entry, place)
                if start + place >= first:
                    yield make_step(start + place, run, entry, state, changed), state

    def find(
        self,
        *,
        node: Node | None = None,
        kind: str | None = None,
        operator: str | None = None,
        phase: str | None = None,
        iteration: int | None = None,
        finite: bool | None = None,
    ) -> list[Step]:
        """The steps of a node, a kind, an operator, a phase or an iteration; finite=False: where a number went wrong.

        >>> from naive_graph import Variable
        >>> from naive_graph.views.steps.record import step
        >>> x = Variable(2.0, name="x")
        >>> [each.total for each in step(x * x).find(node=x, kind="contributed")]
        [2.0, 4.0]
        """
        if kind is not None and kind not in KINDS:
            raise NodeError(f"There is no kind of step {kind!r}. The kinds are: {', '.join(KINDS)}.")
        row = None if node is None else node.row
        wanted = None if kind is None else KINDS.index(kind)
        places = [
            start + place
            for run, start in self._starts()
            if (phase is None or run.phase == phase) and (iteration is None or run.iteration == iteration)
            for place, entry in enumerate(run.entries())
            if (wanted is None or entry.kind == wanted)
            and (row is None or entry.row == row)
            and (operator is None or (entry.row >= 0 and run.cast.then.kind(entry.row) == operator))
            and (finite is None or all(map(math.isfinite, entry[4:])) == finite)
        ]
        return self._at(places)

    def _at(self, places: Sequence[int]) -> list[Step]:
        if not places:
            return []
        wanted = set(places)
        return [step for step in self.walk(places[0], places[-1] + 1) if step.index in wanted]

    def table(self, first: int = 0, count: int = 60) -> str:
        """The steps as lines of text."""
        return "\n".join(f"{step.index:5}  {step.sentence}" for step in self.walk(first, min(len(self), first + count)))

    def __repr__(self) -> str:
        sizes = ", ".join(f"{len(run)} {run.phase}" for run in self.runs[:4])
        more = ", ..." if len(self.runs) > 4 else ""
        return f"<{len(self):,} steps: {sizes}{more}. Show them in a notebook, or save them: steps.save('walk.html')>"
