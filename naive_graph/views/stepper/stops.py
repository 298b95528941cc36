"""Where a walk stops: at a number that is not finite, at an operator, at chosen nodes. Searched in the packed log."""

from __future__ import annotations

from collections.abc import Collection
from itertools import accumulate

from ..steps.run import ENQUEUED, STARTED, Run
from ..steps.steps import StepLog


def next_stop(steps: StepLog, at: str, rows: Collection[int], start: int, direction: int) -> int | None:
    """The index of the first stop after `start`, or before it if direction is -1; None if there is none.

    at: "bad" for a number that is not finite, "operator:mul" for every step of
    a multiplication, "nodes" for every step in which one of the rows takes part.

    >>> from naive_graph import Variable, step
    >>> x = Variable(2.0, name="x")
    >>> steps = step((x * x).sin())
    >>> steps[next_stop(steps, "operator:sin", (), 0, 1)].arithmetic
    'sin(4.0) = -0.756802'
    """
    starts = accumulate(map(len, steps.runs), initial=0)
    for first, run in list(zip(starts, steps.runs))[::direction]:
        beyond = range(max(0, start + 1 - first), len(run)) if direction > 0 else range(min(len(run), start - first))
        for place in beyond[::direction]:
            if _stops(run, place, at, rows):
                return first + place
    return None


def _stops(run: Run, place: int, at: str, rows: Collection[int]) -> bool:
    log = run.log
    if at == "bad":
        return not log.finite(place)
    if at == "nodes":
        return log.rows[place] in rows or log.consumers[place] in rows
    if log.kinds[place] in (STARTED, ENQUEUED):
        return False
    rule = run.cast.rule(log.rows[place])
    return rule is not None and rule.name == at.removeprefix("operator:")
