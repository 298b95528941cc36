"""The loss surface for the stepper: the result over the plane of two weights, if a training loop moved exactly two."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from typing import Any

from ...errors import NaiveGraphError
from ...graph.node_factory import handle
from ..plots.surface import Surface, contour_levels, spread, window
from .recording import BACKWARD, EVALUATED, MOVED, READ, UPDATE, Run
from .steps import StepLog

GRID = 40  # points along each side
VALUED = frozenset((READ, EVALUATED, MOVED))  # the kinds of events that have a node's value


def compute_surface(log: StepLog) -> dict[str, Any] | None:
    """Heights of the result on a grid of the two weights that a loop moved, and contour levels; None if not two."""
    moved = {*chain.from_iterable(run.before for run in log.runs if run.phase == UPDATE)}
    runs = [run for run in log.runs if run.phase not in (UPDATE, BACKWARD)]
    cast = runs[0].cast if runs else None
    if len(moved) != 2 or cast is None or len(cast.targets) != 1 or not cast.is_there():
        return None
    rows = sorted(moved)
    paths = [[value for run in runs for value in _values_in_run(run, row)] for row in rows]
    try:
        surface = Surface(handle(cast.tables, cast.targets[0]), [handle(cast.tables, row) for row in rows])
        size = int(surface.affordable_count(GRID * GRID, 100) ** 0.5)
        ends = window(paths[0], paths[1]), window(paths[1], paths[0])
        axes = [spread(low, high, size) for low, high in ends]
        heights = surface.over([(x, y) for y in axes[1] for x in axes[0]])
        levels = contour_levels(heights)
    except (NaiveGraphError, ValueError, OverflowError, IndexError):
        return None  # the graph needs to be fed, or the walk left the finite numbers
    shown = [None if height != height else float(f"{height:.6g}") for height in heights]
    names = [cast.called(row) for row in rows]
    return {"rows": rows, "names": names, "ends": ends, "size": size, "heights": shown, "levels": levels}


def _values_in_run(run: Run, row: int) -> Iterator[float]:
    """The values that a row had in a run."""
    log = run.log
    events = zip(log.rows, log.kinds, log.numbers[3])
    return (value for where, kind, value in events if where == row and kind in VALUED)
