"""plot_walk, behind `History.plot_path`: an optimizer's path on the curve of f(x) or on contours of f(x, y)."""

from __future__ import annotations

# First: it says which extra to install.
from .figure import (
    WIDE,
    Save,
    add_legend,
    finish_axes,
    finish_figure,
    fit_text,
    label_axes,
    new_plot,
    our_style,
)

# isort: split
import math
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from matplotlib.patches import Patch
from matplotlib.ticker import FuncFormatter

from ...errors import HistoryError
from ...graph.nodes import Node
from ..theme import LIGHT, SERIES, format_number, surface_color
from .interactive_path import make_interactive_path
from .surface import LARGEST, Surface, contour_levels, plain_range, spread, window

CURVE_POINTS, GRID_POINTS = 400, 70
SIZE = WIDE, 3.4  # inches
DOTS = 80  # markers on a path: more of them would overlap
WALK, GOAL = SERIES[1][0], LIGHT["placeholder"]


@dataclass
class Walk:
    """The points of a walk that can be drawn, with the step of each."""

    names: list[str]
    steps: list[int]
    points: list[tuple[float, ...]]
    left_out: int  # how many recorded points cannot be drawn

    def thin_out(self, most: int) -> Walk:
        """A walk with about `most` points. The stride is odd, so that a zigzag stays a zigzag."""
        stride = -(-len(self.points) // most) | 1
        return Walk(self.names, self.steps[::stride], self.points[::stride], self.left_out)


@dataclass
class Stage:
    """A figure with the curve or contours of f, the walk in plot coordinates, and the legend entries so far."""

    figure: Any
    panel: Any
    surface: Surface
    walk: Walk
    spots: list[tuple[float, float]]
    handles: list[Any] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)

    def explain(self, handle: Any, text: str) -> None:
        """Add a legend entry."""
        self.handles.append(handle)
        self.texts.append(text)

    def mark(
        self, spots: Sequence[tuple[float, float]], text: str, shape: str, colour: str, size: int,
        panels: Sequence[Any] = (),
    ) -> None:  # fmt: skip
        """Draw markers above all paths, in each panel, with one legend entry."""
        style = {"color": colour, "markeredgecolor": LIGHT["ink"], "markersize": size, "linestyle": "none"}
        for panel in panels or [self.panel]:
            (marks,) = panel.plot(*zip(*spots), shape, **style, zorder=5 + len(self.handles))
        self.explain(marks, text)


def plot_walk(
    history: Any, f: Node, x: Node, y: Node | None, title: str, save: Save, ax: Any = None,
    figsize: tuple[float, float] | None = None,
) -> Any:  # fmt: skip
    """The figure that `History.plot_path` returns, or the axes that it was given."""
    stage = make_stage(history, f, x, y, figsize, ax)
    if ax is not None:
        _draw_walk(stage)
        return finish_axes(ax, (stage.handles, stage.texts), title)
    with our_style():
        _draw_walk(stage)
        add_legend(stage.figure, stage.handles, stage.texts)
        leaves = [x] if y is None else [x, y]
        stage.figure.interactive = make_interactive_path(stage.panel, f, leaves, stage.walk.points)
        return finish_figure(stage.figure, title, save)


def make_stage(
    history: Any, f: Node, x: Node, y: Node | None, figsize: tuple[float, float] | None = None, ax: Any = None
) -> Stage:
    """Draw the curve or the contours of f around the walk, but not yet the walk. ax: the user's axes to draw into."""
    surface = Surface(f, [x] if y is None else [x, y])
    walk = read_walk(history, x, y)
    if y is None:
        walk = walk.thin_out(surface.affordable_count(len(walk.points), 200))
    spots = [(point[0], surface.at(*point) if y is None else point[1]) for point in walk.points]
    with nullcontext() if ax is not None else our_style():
        figure: Any = new_plot(SIZE, figsize) if ax is None else ax.figure
        stage = Stage(figure, ax if ax is not None else figure.subplots(), surface, walk, spots)
        if y is None:
            _draw_curve(stage, f.name or "f")
        else:
            draw_contours(stage, f.name or "f", [] if ax is None else [ax])
    return stage


def read_walk(history: Any, x: Node, y: Node | None) -> Walk:
    """The walk of x, or of x and y, as it was recorded."""
    walks = [history.series_of_node(x, "x")] + ([] if y is None else [history.series_of_node(y, "y")])
    rows = list(enumerate(zip(*(series for _, series in walks))))
    recorded = [(step, point) for step, point in rows if None not in point]
    finite_points = [(step, point) for step, point in recorded if all(abs(value) < LARGEST for value in point)]
    if not finite_points:
        raise HistoryError(f"This walk has no point that can be plotted: none is finite and below {LARGEST:g}.")
    names = [name for name, _ in walks]
    steps, points = [step for step, _ in finite_points], [point for _, point in finite_points]
    return Walk(names, steps, points, len(recorded) - len(points))


# --- the ground ---------------------------------------------------------------


def _draw_curve(stage: Stage, name: str) -> None:
    grid = spread(*window([point[0] for point in stage.walk.points]), stage.surface.affordable_count(CURVE_POINTS, 60))
    heights = stage.surface.over([(x,) for x in grid])
    low, high = plain_range(heights)
    numbers = [height for height in heights if not math.isnan(height)]
    if low > min(numbers) or high < max(numbers):  # a pole: show what is near the walk
        walked = [height for _, height in stage.spots if not math.isnan(height)]
        low, high = min([low, *walked]), max([high, *walked])
        margin = 0.05 * (high - low)
        stage.panel.set_ylim(low - margin, high + margin)
        heights = [height if 2 * low - high < height < 2 * high - low else math.nan for height in heights]
    (curve,) = stage.panel.plot(grid, heights, color=LIGHT["soft"], gid="curve")
    label_axes(stage.panel, stage.walk.names[0], name)
    stage.explain(curve, name)


def draw_contours(stage: Stage, name: str, panels: Sequence[Any] = ()) -> None:
    """Draw the contours of f as background of a 2-D path, in each panel."""
    walk = stage.walk
    across, up = [point[0] for point in walk.points], [point[1] for point in walk.points]
    count = stage.surface.affordable_count(GRID_POINTS**2 // (2 if panels else 1), 15**2)
    side = math.isqrt(count)
    xs, ys = spread(*window(across, up), side), spread(*window(up, across), side)
    heights = stage.surface.over([(x, y) for y in ys for x in xs])
    aspect, levels = (ys[-1] - ys[0]) / (xs[-1] - xs[0]), contour_levels(heights)
    no_value_style: Any = {"facecolor": LIGHT["panel"], "edgecolor": LIGHT["line"], "hatch": "///"}
    for panel in panels or [stage.panel]:
        panel.set(xlim=(xs[0], xs[-1]), ylim=(ys[0], ys[-1]))
        panel.grid(visible=False)
        label_axes(panel, *walk.names)
        if 1 / 3 < aspect < 3:
            panel.set_aspect("equal")  # only then does the steepest way cross the lines at right angles
        if any(map(math.isnan, heights)):
            panel.patch.set(**no_value_style)
        shades = _fill_contours(panel, xs, ys, heights, levels) if len(levels) > 1 else None
    if not panels:
        stage.figure.set_figheight(min(4.6, max(2.6, 0.6 + 3.6 * aspect)))
        _add_colorbar(stage, shades, levels, name)
    if any(map(math.isnan, heights)):
        stage.explain(Patch(**no_value_style), f"{name} has no value")


def _fill_contours(
    panel: Any, xs: Sequence[float], ys: Sequence[float], heights: Sequence[float], levels: list[float]
) -> Any:  # fmt: skip
    rows = np.ma.masked_invalid(np.reshape(heights, (len(ys), len(xs))))
    # The lowest shade is the lightest: there walks end.
    tones = [surface_color(index / len(levels))[0] for index in range(len(levels) + 1)]
    shades = panel.contourf(xs, ys, rows, levels=levels, colors=tones, extend="both", antialiased=True)
    shades.set(edgecolor=LIGHT["soft"], linewidth=0.4)
    return shades


def _add_colorbar(stage: Stage, shades: Any, levels: list[float], name: str) -> None:
    if shades is None:
        stage.explain(Patch(facecolor=LIGHT["ground"], edgecolor=LIGHT["line"]), f"{name} is level here")
        return
    bar = stage.figure.colorbar(
        shades, ax=stage.panel, ticks=levels, spacing="uniform", extendrect=True, extendfrac="auto",
        format=FuncFormatter(lambda level, _: format_number(level, 6)), shrink=0.9,
    )  # fmt: skip
    bar.ax.tick_params(length=0)
    bar.ax.set_title(fit_text(name, 90), loc="right").set_parse_math(False)


# --- the walk -----------------------------------------------------------------


def _draw_walk(stage: Stage) -> None:
    """Draw the path as a line with a dot every few steps, and marks at its start and end."""
    xs, ys = zip(*stage.spots)
    mark_interval = _round_up_125(-(-len(xs) // DOTS))
    style: Any = {"color": WALK, "linewidth": 1.3, "marker": "o", "markersize": 4, "zorder": 4, "gid": "walk"}
    (line,) = stage.panel.plot(xs, ys, markevery=mark_interval, **style)
    dot_spacing = mark_interval * (stage.walk.steps[1] - stage.walk.steps[0]) if len(xs) > 1 else 1
    stage.explain(line, "walk" if dot_spacing == 1 else f"walk, a dot every {dot_spacing:,} steps")
    stage.mark(stage.spots[:1], "start", "o", LIGHT["ground"], 8)
    stage.mark(stage.spots[-1:], "end", "s", WALK, 8)  # a star is a minimum: see compare
    if stage.walk.left_out:
        nothing = Patch(facecolor="none", edgecolor="none")
        stage.explain(nothing, f"{stage.walk.left_out:,} steps left out, not finite")


def _round_up_125(count: int) -> int:
    """Round up to the next of 1, 2, 5, 10, 20, 50, ..."""
    rounds = (int(digit * 10**zeros) for zeros in range(count) for digit in (1, 2, 5))
    return next(candidate for candidate in rounds if candidate >= count)
