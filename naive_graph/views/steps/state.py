"""What is known after a step of a walk."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from .run import BACKWARD, CONTRIBUTED, ENQUEUED, EVALUATED, FINISHED, MOVED, READ, UPDATE, Entry, Run


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
