"""The loss surface for the stepper: the result over the plane of two weights, if a training loop moved exactly two."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from typing import Any

from ...errors import NaiveGraphError
from ...graph.node_factory import handle
from ..plots.surface import Surface, contour_levels, spread, window
from .recording import BACKWARD, UPDATE, Run

GRID = 40  # points along each side


def compute_surface(runs: Sequence[Run]) -> dict[str, Any] | None:
    """Heights of the result on a grid of the two weights that a loop moved, and contour levels; None if not two."""
    moved = {*chain.from_iterable(run.before for run in runs if run.phase == UPDATE)}
    there = [run for run in runs if run.phase not in (UPDATE, BACKWARD)]
    cast = there[0].cast if there else None
    if len(moved) != 2 or cast is None or len(cast.targets) != 1 or not cast.is_there():
        return None
    rows = sorted(moved)
    reads = [entry for run in there for entry in run if entry.kind == "read"]
    paths = [[entry.value for entry in reads if entry.row == row] for row in rows]
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
