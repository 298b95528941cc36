"""State: values, gradients and the ready queue after each step, rebuilt by replaying the events."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from .recording import BACKWARD, UPDATE, Entry, Participants, Run


@dataclass
class State:
    """Values, gradients and queue after a step; rows that were not reached are absent."""

    values: dict[int, float] = field(default_factory=dict)
    grads: dict[int, float] = field(default_factory=dict)  # gradients so far; of a tangent run the tangents
    queue: dict[int, None] = field(default_factory=dict)  # ready rows, as they were enqueued
    waiting: dict[int, int] = field(default_factory=dict)  # operands (forward) or uses (backward) still to come
    terms: dict[int, list[int]] = field(default_factory=dict)  # by row: the indices of its contributions in the run
    served: set[int] = field(default_factory=set)  # operand positions that the acting row of a reverse sweep served
    back: Participants | None = None  # the nodes of the current reverse sweep; None in another run

    @property
    def ready(self) -> list[int]:
        """The queue, in the order in which its rows act: in a reverse sweep the forward order, reversed."""
        if self.back is None:
            return list(self.queue)
        return sorted(self.queue, key=self.back.step_of.__getitem__, reverse=True)

    def begin(self, run: Run) -> None:
        """Reset for a new run: clear what it will compute."""
        cast = run.cast
        self.queue, self.served, self.back = {}, set(), cast if run.phase == BACKWARD else None
        if run.phase == UPDATE:
            return
        self.values, self.grads, self.terms = dict(run.values), {}, {}
        dependencies = cast.consumers.__getitem__ if self.back else cast.operands
        self.waiting = {row: len(dependencies(row)) for row in cast.rows if not (self.back and row in cast.constants)}

    def replay(self, run: Run) -> Iterator[tuple[Entry, list[int]]]:
        """Go through a run: yields each event, once it is applied, and what `take` returns."""
        self.begin(run)
        for index, entry in enumerate(run):
            yield entry, self.take(run, index, entry)

    def take(self, run: Run, index: int, entry: Entry) -> list[int]:
        """Apply one event; returns the rows whose count of missing inputs went down by one."""
        kind, row, value = entry.kind, entry.row, entry.value
        if kind == "enqueued":
            self.queue[row] = None
        elif kind in ("read", "evaluated"):
            self.values[row] = value
            if (slope := run.slopes.get(row)) is not None:
                self.grads[row] = slope
            return self._done(row, run.cast.consumers[row])
        elif kind == "contributed":
            self.grads[row] = value
            self.terms.setdefault(row, []).append(index)
            self.served.add(entry.position)
            return self._notify_waiting([row])
        elif kind == "finished":
            self.grads[row] = value
            operands = run.cast.operands(row)
            others = [operand for position, operand in enumerate(operands) if position not in self.served]
            self.served.clear()
            return self._done(row, others)
        elif kind == "moved":
            self.values[row] = value
        return []

    def _done(self, row: int, waiting: list[int]) -> list[int]:
        self.queue.pop(row, None)  # a leaf without consumers was never in it
        return self._notify_waiting(waiting)

    def _notify_waiting(self, waiting: list[int]) -> list[int]:
        notified = [candidate for candidate in waiting if candidate in self.waiting]
        for row in notified:
            self.waiting[row] -= 1
        return notified
