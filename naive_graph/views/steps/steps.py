"""Steps: all steps of the recorded runs, as a sequence with search; each Step is built on demand from its event."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate

from ...core.origin import Origin
from ...errors import NodeError
from ...graph.node_factory import CURRENT, handle
from ...graph.nodes import Node, rows_of
from ..stepper.widget import RecordedWalk
from . import describe
from .columns import PayloadBuilder
from .packing import StepperPayload
from .recording import KINDS, UPDATE, Entry, Run, State

SHARED = ("consumer", "position", "partial", "incoming", "contribution")  # what a contribution has, and nothing else


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
    queue: tuple[int, ...]  # its head is the node that acts, or acts next
    degrees: dict[int, int]  # rows whose count of what they wait for changed, and what it is now
    label: str
    origin: Origin | None
    taken: bool  # False for a contribution to a branch that `where` did not take
    finite: bool  # whether every number of the step is

    @property
    def node(self) -> Node:
        """The node of the step; it must still be there."""
        node: Node = handle(CURRENT.tables, self.row)
        return node

    def __str__(self) -> str:
        return self.sentence


def make_step(index: int, run: Run, entry: Entry, state: State, changed: Sequence[int]) -> Step:
    """Make the Step of an event; `state` is the state after it."""
    cast, contributed = run.cast, entry.kind == "contributed"
    arithmetic = describe.arithmetic(run, entry, state.values)
    terms = state.terms[entry.row] if contributed else []
    return Step(
        index=index,
        iteration=run.iteration,
        phase=run.phase,
        kind=entry.kind,
        row=entry.row,
        operands=tuple(run.operands_values(entry.row, state.values)) if entry.kind == "evaluated" else (),
        value=entry.value if entry.kind in ("read", "evaluated", "finished", "moved") else None,
        edge=f"edge-{entry.row}-{entry.consumer}-{entry.position}" if contributed else None,
        **{name: getattr(entry, name) if contributed else None for name in SHARED},
        total=entry.value if contributed else None,
        arithmetic=arithmetic,
        running=describe.format_running_sum(run, entry.row, terms, entry.value) if contributed else "",
        sentence=describe.sentence(run, entry, arithmetic),
        queue=tuple(state.ready),
        degrees={row: state.waiting[row] for row in changed},
        label=cast.called(entry.row),
        origin=cast.then.origin(entry.row) if entry.row >= 0 else None,
        taken=entry.taken,
        finite=entry.is_finite(),
    )


class Steps(RecordedWalk):
    """All steps of a walk. `steps[12]`, `steps.find(...)`, `steps.save("walk.html")`; in a notebook it shows itself."""

    def __init__(self, runs: list[Run], title: str = "") -> None:
        self.runs = runs
        self.title = title

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
        return zip(self.runs, accumulate(map(len, self.runs), initial=0))

    def __iter__(self) -> Iterator[Step]:
        return self.at(range(len(self)))

    def at(self, step_indices: Sequence[int]) -> Iterator[Step]:
        """The steps with these indices, which must ascend."""
        return (step for step, _ in self.states(step_indices))

    def states(self, step_indices: Sequence[int]) -> Iterator[tuple[Step, State]]:
        """The steps with these ascending indices, each with the state after it: one object, updated in place.

        Earlier runs are skipped, back to the last one that resets the state: an update continues from it.
        """
        remaining = iter(step_indices)
        target_index = next(remaining, None)
        state, skipped = State(), list[Run]()
        for run, start in self._starts():
            if run.phase != UPDATE:
                skipped = []
            if target_index is None or target_index >= start + len(run):
                skipped.append(run)
                continue
            for earlier in skipped:
                deque(state.replay(earlier), maxlen=0)
            skipped = []
            for index, (entry, changed) in enumerate(state.replay(run), start):
                if index == target_index:
                    yield make_step(index, run, entry, state, changed), state
                    target_index = next(remaining, None)
                    if target_index is None:
                        return

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
        row = None if node is None else rows_of([node], "find")[0]
        matching = []
        for run, start in self._starts():
            cast = run.cast
            if phase not in (None, run.phase) or iteration not in (None, run.iteration):
                continue
            if node is not None and cast.tables is not node.tables:
                continue
            for index, entry in enumerate(run, start):
                if kind not in (None, entry.kind) or row not in (None, entry.row):
                    continue
                if operator is not None and (entry.row < 0 or cast.then.kind(entry.row) != operator):
                    continue
                if finite is None or entry.is_finite() == finite:
                    matching.append(index)
        return list(self.at(matching))

    def walk(self, title: str = "") -> StepperPayload:
        return PayloadBuilder(self.runs, title or self.title).walk()

    def __repr__(self) -> str:
        sizes = ", ".join(f"{len(run)} {run.phase}" for run in self.runs[:4])
        more = ", ..." if len(self.runs) > 4 else ""
        return f"<{len(self):,} steps: {sizes}{more}. Show them in a notebook, or save them: steps.save('walk.html')>"
