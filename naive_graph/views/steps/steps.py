"""The walk: every step of every run, as a sequence that a test or an exercise can read."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import overload

from ...errors import NodeError
from ...handles import CURRENT, handle
from ...nodes import Node
from ...origin import Origin
from . import describe
from .run import BACKWARD, CONTRIBUTED, ENQUEUED, EVALUATED, FINISHED, KINDS, MOVED, READ, UPDATE, Entry, Run


@dataclass
class State:
    """What is known after a step: nothing that was not reached."""

    values: dict[int, float] = field(default_factory=dict)
    grads: dict[int, float] = field(default_factory=dict)
    queue: list[int] = field(default_factory=list)
    waiting: dict[int, int] = field(default_factory=dict)  # operands (forward) or uses (backward) still to come
    terms: dict[int, list[int]] = field(default_factory=dict)  # where in the run each row's contributions stand

    def begin(self, run: Run) -> None:
        """A new run: what it will compute is blank again."""
        cast = run.cast
        self.queue = []
        if run.phase == UPDATE:
            return
        self.grads, self.terms = {}, {}
        if run.phase == BACKWARD:
            self.values = dict(run.values)
            self.waiting = {row: len(cast.consumers(row)) for row in cast.rows}
        else:
            self.values = {}
            self.waiting = {row: len(cast.operands(row)) for row in cast.rows}

    def apply(self, run: Run, entry: Entry, place: int) -> list[int]:
        """Take one step; returns the rows that now wait for one thing less."""
        if entry.kind == ENQUEUED:
            self.queue.append(entry.row)
        elif entry.kind in (READ, EVALUATED):
            self.values[entry.row] = entry.value
            return self._done(entry.row, run.cast.consumers(entry.row))
        elif entry.kind == CONTRIBUTED:
            self.grads[entry.row] = entry.value
            self.terms.setdefault(entry.row, []).append(place)
        elif entry.kind == FINISHED:
            self.grads[entry.row] = entry.value
            return self._done(entry.row, run.cast.operands(entry.row))
        elif entry.kind == MOVED:
            self.values[entry.row] = entry.value
        return []

    def _done(self, row: int, waiting: Iterable[int]) -> list[int]:
        if row in self.queue:
            self.queue.remove(row)
        changed = list(waiting)
        for each in changed:
            self.waiting[each] -= 1
        return changed


@dataclass(frozen=True)
class Step:
    """One event of a walk, with what was known after it."""

    index: int
    iteration: int
    phase: str  # forward, backward, tangent or update
    kind: str  # started, enqueued, read, evaluated, contributed, finished or moved
    row: int
    operands: tuple[float, ...]  # of an evaluated step
    value: float | None  # computed, read, moved to; of a finished step the gradient
    consumer: int | None
    position: int | None
    edge: str | None  # the id of the lit edge in the drawing
    partial: float | None
    incoming: float | None
    contribution: float | None
    total: float | None  # the running sum after a contribution
    arithmetic: str
    running: str
    sentence: str
    queue: tuple[int, ...]
    degrees: dict[int, int]  # rows whose count of what they wait for changed, and what it is now
    label: str
    origin: Origin | None

    @property
    def node(self) -> Node:
        """The node of the step; it must still be there."""
        node: Node = handle(CURRENT.tables, self.row)
        return node

    @property
    def finite(self) -> bool:
        """Whether every number of the step is finite."""
        numbers = (self.value, self.partial, self.incoming, self.contribution, self.total)
        return all(number is None or math.isfinite(number) for number in numbers)

    def __str__(self) -> str:
        return self.sentence


def make_step(index: int, run: Run, entry: Entry, state: State, changed: Sequence[int]) -> Step:
    """The step after which `state` holds."""
    cast, contributed = run.cast, entry.kind == CONTRIBUTED
    evaluated = entry.kind == EVALUATED
    terms = state.terms[entry.row] if contributed else []
    return Step(
        index=index,
        iteration=run.iteration,
        phase=run.phase,
        kind=KINDS[entry.kind],
        row=entry.row,
        operands=tuple(run.operands_values(entry.row, state.values)) if evaluated else (),
        value=entry.value if entry.kind in (READ, EVALUATED, FINISHED, MOVED) else None,
        consumer=entry.consumer if contributed else None,
        position=entry.position if contributed else None,
        edge=f"edge-{entry.row}-{entry.consumer}-{entry.position}" if contributed else None,
        partial=entry.partial if contributed else None,
        incoming=entry.incoming if contributed else None,
        contribution=entry.contribution if contributed else None,
        total=entry.value if contributed else None,
        arithmetic=describe.arithmetic(run, entry, state.values),
        running=describe.running(run, entry.row, terms, entry.value) if contributed else "",
        sentence=describe.sentence(run, entry, state.values),
        queue=tuple(state.queue),
        degrees={row: state.waiting[row] for row in changed},
        label=cast.labels.get(entry.row, ""),
        origin=cast.origins.get(entry.row),
    )


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
            and (operator is None or run.cast.kinds.get(entry.row) == operator)
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
