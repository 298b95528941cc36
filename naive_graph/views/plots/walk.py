"""plot_walk, behind `History.plot_path`: an optimizer's path on the curve of f(x) or on contours of f(x, y)."""

from __future__ import annotations

# First: it says which extra to install.
from .figure import WIDE, Save, draw_panel, fit_text, label_axes

# isort: split
import math
from collections.abc import Sequence
from dataclasses import dataclass
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
    """The points of a walk on f that can be drawn."""

    name: str  # of f
    surface: Surface
    names: list[str]  # of the leaves
    steps: Sequence[int]  # the step of each point
    points: Sequence[tuple[float, ...]]
    spots: Sequence[tuple[float, float]]  # the points in plot coordinates
    left_out: int  # how many recorded points cannot be drawn


def plot_walk(
    history: Any, f: Node, x: Node, y: Node | None, title: str, save: Save, ax: Any = None,
    figsize: tuple[float, float] | None = None,
) -> Any:  # fmt: skip
    """The figure that `History.plot_path` returns, or the axes that it was given."""
    walk = read_walk(history, f, x, y)

    def draw(panel: Any) -> list[Any]:
        if ax is None:
            leaves = [x] if y is None else [x, y]
            panel.figure.interactive = make_interactive_path(panel, f, leaves, walk.points)
        return draw_background(panel, walk, has_colorbar=ax is None) + _draw_walk(panel, walk)

    return draw_panel(draw, SIZE, title, save, ax, figsize)


def read_walk(history: Any, f: Node, x: Node, y: Node | None) -> Walk:
    """The walk of x, or of x and y, as it was recorded; of a long one on the curve of a large f every third step, say.

    The stride is odd, so that a zigzag stays a zigzag.
    """
    surface = Surface(f, [x] if y is None else [x, y])
    walks = [history.series_of_node(x, "x")] + ([] if y is None else [history.series_of_node(y, "y")])
    rows = list(enumerate(zip(*(series for _, series in walks))))
    recorded = [(step, point) for step, point in rows if None not in point]
    finite = [(step, point) for step, point in recorded if all(abs(value) < LARGEST for value in point)]
    if not finite:
        raise HistoryError(f"This walk has no point that can be plotted: none is finite and below {LARGEST:g}.")
    most = surface.affordable_count(len(finite), 200) if y is None else len(finite)
    steps, points = zip(*finite[:: -(-len(finite) // most) | 1])
    spots = [(point[0], surface.at(*point) if y is None else point[1]) for point in points]
    names = [name for name, _ in walks]
    return Walk(f.name or "f", surface, names, steps, points, spots, len(recorded) - len(finite))


# --- the background: each function returns its artists of the legend -----------


def draw_background(panel: Any, walk: Walk, has_colorbar: bool) -> list[Any]:
    """Draw the curve or the contours of f around the walk."""
    if len(walk.names) > 1:
        return draw_contours([panel], walk.surface, walk.names, walk.points, walk.name, has_colorbar)
    grid = spread(*window([point[0] for point in walk.points]), walk.surface.affordable_count(CURVE_POINTS, 60))
    heights = walk.surface.over([(x,) for x in grid])
    low, high = plain_range(heights)
    numbers = [height for height in heights if not math.isnan(height)]
    if low > min(numbers) or high < max(numbers):  # a pole: show what is near the walk
        walked = [height for _, height in walk.spots if not math.isnan(height)]
        low, high = min([low, *walked]), max([high, *walked])
        margin = 0.05 * (high - low)
        panel.set_ylim(low - margin, high + margin)
        heights = [height if 2 * low - high < height < 2 * high - low else math.nan for height in heights]
    label_axes(panel, walk.names[0], walk.name)
    return [*panel.plot(grid, heights, color=LIGHT["soft"], gid="curve", label=walk.name)]


def draw_contours(
    panels: Sequence[Any], surface: Surface, names: Sequence[str], points: Sequence[Sequence[float]], name: str,
    has_colorbar: bool = False,
) -> list[Any]:  # fmt: skip
    """Draw the contours of f around these points, in each panel; or in a figure's only one, with a colorbar."""
    across, up = [point[0] for point in points], [point[1] for point in points]
    side = math.isqrt(surface.affordable_count(GRID_POINTS**2 // (1 if has_colorbar else 2), 15**2))
    xs, ys = spread(*window(across, up), side), spread(*window(up, across), side)
    heights = surface.over([(x, y) for y in ys for x in xs])
    aspect, levels = (ys[-1] - ys[0]) / (xs[-1] - xs[0]), contour_levels(heights)
    has_gaps = any(map(math.isnan, heights))
    no_value_style: Any = {"facecolor": LIGHT["panel"], "edgecolor": LIGHT["line"], "hatch": "///"}
    for panel in panels:
        panel.set(xlim=(xs[0], xs[-1]), ylim=(ys[0], ys[-1]))
        panel.grid(visible=False)
        label_axes(panel, *names)
        if 1 / 3 < aspect < 3:
            panel.set_aspect("equal")  # only then does the steepest way cross the lines at right angles
        if has_gaps:
            panel.patch.set(**no_value_style)
        if len(levels) > 1:
            shades = _fill_contours(panel, xs, ys, heights, levels)
    handles = []
    if has_colorbar:
        panel.figure.set_figheight(min(4.6, max(2.6, 0.6 + 3.6 * aspect)))
        if len(levels) > 1:
            _add_colorbar(panel, shades, levels, name)
        else:
            level_style: Any = {"facecolor": LIGHT["ground"], "edgecolor": LIGHT["line"]}
            handles.append(Patch(**level_style, label=f"{name} is level here"))
    if has_gaps:
        handles.append(Patch(**no_value_style, label=f"{name} has no value"))
    return handles


def _fill_contours(
    panel: Any, xs: Sequence[float], ys: Sequence[float], heights: Sequence[float], levels: list[float]
) -> Any:  # fmt: skip
    rows = np.ma.masked_invalid(np.reshape(heights, (len(ys), len(xs))))
    # The lowest shade is the lightest: there walks end.
    tones = [surface_color(index / len(levels))[0] for index in range(len(levels) + 1)]
    shades = panel.contourf(xs, ys, rows, levels=levels, colors=tones, extend="both", antialiased=True)
    shades.set(edgecolor=LIGHT["soft"], linewidth=0.4)
    return shades


def _add_colorbar(panel: Any, shades: Any, levels: list[float], name: str) -> None:
    bar = panel.figure.colorbar(
        shades, ax=panel, ticks=levels, spacing="uniform", extendrect=True, extendfrac="auto",
        format=FuncFormatter(lambda level, _: format_number(level, 6)), shrink=0.9,
    )  # fmt: skip
    bar.ax.tick_params(length=0)
    bar.ax.set_title(fit_text(name, 90), loc="right", parse_math=False)


# --- the walk -----------------------------------------------------------------


def _draw_walk(panel: Any, walk: Walk) -> list[Any]:
    """Draw the path as a line with a dot every few steps, and marks at its start and end."""
    mark_interval = _round_up_125(-(-len(walk.spots) // DOTS))
    dot_spacing = mark_interval * (walk.steps[1] - walk.steps[0]) if len(walk.steps) > 1 else 1
    label = "walk" if dot_spacing == 1 else f"walk, a dot every {dot_spacing:,} steps"
    style: Any = {"color": WALK, "linewidth": 1.3, "marker": "o", "markersize": 4, "zorder": 4, "gid": "walk"}
    handles = panel.plot(*zip(*walk.spots), markevery=mark_interval, **style, label=label)
    handles.append(draw_marks([panel], walk.spots[:1], "start", "o", LIGHT["ground"], 8))
    handles.append(draw_marks([panel], walk.spots[-1:], "end", "s", WALK, 8))  # a star is a minimum: see compare
    if walk.left_out:
        label = f"{walk.left_out:,} steps left out, not finite"
        handles.append(Patch(facecolor="none", edgecolor="none", label=label))
    return [*handles]


def draw_marks(
    panels: Sequence[Any], spots: Sequence[tuple[float, float]], label: str, shape: str, colour: str, size: int
) -> Any:
    """Draw markers above all paths, in each panel; return those of one for the legend."""
    style = {"color": colour, "markeredgecolor": LIGHT["ink"], "markersize": size, "linestyle": "none"}
    for panel in panels:
        (marks,) = panel.plot(*zip(*spots), shape, **style, label=label, zorder=6)
    return marks


def _round_up_125(count: int) -> int:
    """Round up to the next of 1, 2, 5, 10, 20, 50, ..."""
    rounds = (int(digit * 10**zeros) for zeros in range(count) for digit in (1, 2, 5))
    return next(candidate for candidate in rounds if candidate >= count)
