"""Surface: evaluate a graph node f over a grid of one or two of its leaves; plot ranges and contour levels."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise

from ...core.plan import plan_for
from ...core.progress import progress
from ...core.sweep import evaluate
from ...errors import HistoryError, NodeError
from ...graph.node_factory import CURRENT
from ...graph.nodes import Node, rows_of
from ...graph.run_checks import initial_values

AFFORDABLE = 300_000  # operators computed for one picture, about 2 s
LARGEST = 1e240  # matplotlib's contours end at 1e250
SMALLEST = 1e-100  # heights that differ by less are level
LEVELS = 12


class Surface:
    """f as a function of chosen leaves, evaluated without changing the graph."""

    def __init__(self, f: Node, leaves: Sequence[Node]) -> None:
        rows_of([f, *leaves], "plot_path")
        tables = CURRENT.tables
        self.plan = plan_for(tables, [f.row])
        self.values = initial_values(tables, self.plan)
        steps = {row: step for step, row in enumerate(self.plan.rows)}
        for leaf in leaves:
            if leaf.row not in steps or self.plan.rule(steps[leaf.row]) is not None:
                raise NodeError(f"plot_path moves leaves that f depends on; {tables.label(leaf.row)} is none.")
        self.steps = [steps[leaf.row] for leaf in leaves]
        if len(set(self.steps)) < len(self.steps):
            raise NodeError("plot_path takes two different leaves: plot_path(f, x, y).")

    def at(self, *point: float) -> float:
        """f at this point; NaN where it is not finite, or too large to be drawn."""
        values = self.values[:]
        for step, value in zip(self.steps, point):
            values[step] = value
        evaluate(self.plan, values)
        height: float = values[self.plan.targets[0]]
        return height if abs(height) < LARGEST else math.nan

    def over(self, points: Sequence[Sequence[float]]) -> list[float]:
        """f at each point, with a progress bar if that takes a while."""
        return [self.at(*point) for point in progress(points, label="heights of f")]

    def affordable_count(self, most: int, least: int) -> int:
        """The number of points to evaluate: `most`, or fewer (at least `least`) for a large graph."""
        return max(least, min(most, AFFORDABLE // len(self.plan)))


def window(walk: Sequence[float], other: Sequence[float] = ()) -> tuple[float, float]:
    """The plot range for one coordinate: that of the path plus a margin; a constant one gets the width of `other`.

    >>> window([0.0, 10.0])
    (-3.5, 13.5)
    >>> window([2.0, 2.0])
    (1.0, 3.0)
    """
    low, high = min(walk), max(walk)
    margin = 0.35 * (high - low)
    if not _is_moving(walk):
        margin = 0.85 * (max(other) - min(other)) if other and _is_moving(other) else max(1.0, 0.5 * abs(low))
    return low - margin, high + margin


def _is_moving(walk: Sequence[float]) -> bool:
    return max(walk) - min(walk) > 1e-9 * max(map(abs, walk))


def spread(low: float, high: float, count: int) -> list[float]:
    """Evenly spaced numbers, both ends included.

    >>> spread(0.0, 1.0, 5)
    [0.0, 0.25, 0.5, 0.75, 1.0]
    """
    return [low + (high - low) * index / (count - 1) for index in range(count)]


def plain_range(heights: Sequence[float]) -> tuple[float, float]:
    """The range of values to show: all of them, or the middle 96 % if a pole makes a few far larger.

    >>> plain_range([*range(100), 1e9])
    (2, 98)
    """
    ordered = sorted(height for height in heights if not math.isnan(height))
    if not ordered:
        raise HistoryError("f has no finite number anywhere around this walk, so there is nothing to draw.")
    low, high = ordered[len(ordered) // 50], ordered[-1 - len(ordered) // 50]
    return (low, high) if ordered[-1] - ordered[0] > 5 * (high - low) > 0 else (ordered[0], ordered[-1])


def contour_levels(heights: Sequence[float]) -> list[float]:
    """Round heights for contour lines, with as much of the surface between any two. Empty if f is level.

    For a plane they are evenly spaced; in a narrow valley they crowd at its floor, where the walk is.

    >>> contour_levels([float(x) for x in range(121)])
    [10.0, 20.0, 30.0, 40.0, 50.0, 60.0, 70.0, 80.0, 90.0, 100.0, 110.0]
    """
    low, high = plain_range(heights)
    if high - low <= max(1e-9 * max(abs(low), abs(high)), SMALLEST):
        return []
    ordered = sorted(height for height in heights if low <= height <= high)
    parts = [ordered[len(ordered) * part // LEVELS] for part in range(1, LEVELS)]
    rounded = [_round(level, after - level) for level, after in pairwise([*parts, high])]
    floor = ordered[len(ordered) // 30]  # a line around less than that would be ragged
    return sorted({level for level in rounded if floor < level < high})


def _round(level: float, gap: float) -> float:
    """Round a level to as many digits as distinguish it from the next."""
    if gap <= 0:
        return level
    tens = math.floor(math.log10(gap))
    return round(level, 1 - tens if gap < 3 * 10.0**tens else -tens)
