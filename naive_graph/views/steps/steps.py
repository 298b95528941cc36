"""Steps: all steps of the recorded runs, as a sequence with search; steps are built on demand from the events."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence

from ...errors import NodeError
from ...graph.nodes import Node, rows_of
from ..stepper.widget import RecordedWalk
from .columns import PayloadBuilder
from .packing import StepperPayload
from .recording import KINDS, UPDATE, Run
from .state import State
from .step import Step, make_step


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
        start = 0
        for run in self.runs:
            yield run, start
            start += len(run)

    def __iter__(self) -> Iterator[Step]:
        return self.at(range(len(self)))

    def at(self, step_indices: Sequence[int]) -> Iterator[Step]:
        """The steps with these indices, which must ascend."""
        return (step for step, _ in self.states(step_indices))

    def states(self, step_indices: Sequence[int]) -> Iterator[tuple[Step, State]]:
        """The steps with these ascending indices, each with the state after it, which is updated in place.

        Earlier runs are skipped, back to the last one that resets the state: an update continues from it.
        """
        remaining = iter(step_indices)
        target_index = next(remaining, None)
        since_reset: list[Run] = []
        for run, start in self._starts():
            if run.phase != UPDATE:
                since_reset = []
            if target_index is not None and target_index < start + len(run):
                state = State()
                for earlier in since_reset:
                    deque(state.replay(earlier), maxlen=0)
                for index, (entry, changed) in enumerate(state.replay(run), start):
                    if index == target_index:
                        yield make_step(index, run, entry, state, changed), state
                        target_index = next(remaining, None)
                        if target_index is None:
                            return
            since_reset.append(run)

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
