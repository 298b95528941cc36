"""What is known after a step of a walk."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, field

from .run import BACKWARD, CONTRIBUTED, ENQUEUED, EVALUATED, FINISHED, MOVED, READ, UPDATE, Run

COMPUTED = (READ, EVALUATED)


@dataclass
class State:
    """What is known after a step: nothing that was not reached."""

    values: dict[int, float] = field(default_factory=dict)
    grads: dict[int, float] = field(default_factory=dict)  # of a tangent run, the slopes
    queue: OrderedDict[int, None] = field(default_factory=OrderedDict)  # of ready rows; both ends are near
    waiting: dict[int, int] = field(default_factory=dict)  # operands (forward) or uses (backward) still to come
    terms: dict[int, list[int]] = field(default_factory=dict)  # where in the run each row's contributions stand

    def begin(self, run: Run) -> None:
        """A new run: what it will compute is blank again."""
        cast = run.cast
        self.queue = OrderedDict()
        if run.phase == UPDATE:
            return
        self.values, self.grads, self.terms = dict(run.values), {}, {}
        before = cast.consumers if run.phase == BACKWARD else cast.operands
        self.waiting = {row: len(before(row)) for row in cast.rows}

    def take(self, run: Run, place: int) -> list[int]:
        """Take one step; returns the rows that now wait for one thing less."""
        log = run.log
        kind, row, value = log.kinds[place], log.rows[place], log.numbers[3][place]
        if kind == ENQUEUED:
            self.queue[row] = None
        elif kind in COMPUTED:
            self.values[row] = value
            if (slope := run.slopes.get(row)) is not None:
                self.grads[row] = slope
            return self._done(row, run.cast.consumers(row))
        elif kind == CONTRIBUTED:
            self.grads[row] = value
            self.terms.setdefault(row, []).append(place)
        elif kind == FINISHED:
            self.grads[row] = value
            return self._done(row, run.cast.operands(row))
        elif kind == MOVED:
            self.values[row] = value
        return []

    def _done(self, row: int, waiting: list[int]) -> list[int]:
        self.queue.pop(row, None)  # a leaf that nobody uses was never in it
        for each in waiting:
            self.waiting[each] -= 1
        return waiting
