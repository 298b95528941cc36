"""Steps: all steps of the recorded runs, as a sequence with search; steps are built on demand from the events."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from typing import Any

from ...core.number import whole
from ...errors import NodeError
from ...graph.nodes import Node, rows_of
from ..stepper.widget import RecordedWalk
from .columns import PayloadBuilder
from .packing import StepperPayload
from .recording import KINDS, UPDATE, Run
from .state import State
from .step import Step, make_step


def _last_full_run(starts: Sequence[tuple[Run, int]], index: int) -> int:
    """The last run at `index` or before that resets the state: an update continues from the state before it."""
    while index > 0 and starts[index][0].phase == UPDATE:
        index -= 1
    return max(0, index)


class Steps(RecordedWalk, Sequence[Step]):
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

    def __getitem__(self, place: Any) -> Any:
        """A step by its number; a slice as a list of steps."""
        if isinstance(place, slice):
            places = range(*place.indices(len(self)))
            steps_by_index = {step.index: step for step in self.at(sorted(places))}
            return [steps_by_index[index] for index in places]
        return next(self.at([range(len(self))[place]]))

    def __iter__(self) -> Iterator[Step]:
        return self.at(range(len(self)))

    def at(self, step_indices: Sequence[int]) -> Iterator[Step]:
        """The steps with these indices, which must ascend."""
        return (step for step, _ in self.states(step_indices))

    def states(self, step_indices: Sequence[int]) -> Iterator[tuple[Step, State]]:
        """The steps with these ascending indices, each with the state after it: one object, updated in place.

        Earlier runs are skipped, back to the last one that resets the state.
        """
        starts, state = list(self._starts()), State()
        needed = set[int]()
        for run_index, (run, start) in enumerate(starts):
            if bisect_left(step_indices, start) < bisect_left(step_indices, start + len(run)):
                needed.update(range(_last_full_run(starts, run_index), run_index + 1))
        remaining = iter(step_indices)
        target_index = next(remaining, None)
        for run, start in (starts[needed_run] for needed_run in sorted(needed)):
            state.begin(run)
            for index in range(start, start + len(run)):
                if target_index is None:
                    return
                entry = run.entry(index - start)
                changed = state.take(run, index - start, entry)
                if index == target_index:
                    yield make_step(index, run, entry, state, changed), state
                    target_index = next(remaining, None)

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

    def table(self, first: int = 0, count: int = 60) -> str:
        """The steps as lines of text."""
        first, count = whole(first, "The first step"), whole(count, "The number of steps")
        steps = self.at(range(len(self))[first : first + count])
        return "\n".join(f"{step.index:5}  {step.sentence}" for step in steps)

    def walk(self, title: str = "") -> StepperPayload:
        return PayloadBuilder(self.runs, title or self.title).walk()

    def __repr__(self) -> str:
        sizes = ", ".join(f"{len(run)} {run.phase}" for run in self.runs[:4])
        more = ", ..." if len(self.runs) > 4 else ""
        return f"<{len(self):,} steps: {sizes}{more}. Show them in a notebook, or save them: steps.save('walk.html')>"
