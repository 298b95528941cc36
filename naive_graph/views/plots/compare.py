"""compare(): run several optimizers on one 2-D test function; show their paths as plot, GIF and table."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from math import dist
from pathlib import Path as FilePath
from typing import Any, cast

from ...core.number import as_list, shortened
from ...errors import HistoryError, TrainingError
from ...graph.formatting import align_columns
from ...graph.graph import Graph
from ...graph.nodes import Variable
from ...training.compare_optimizers import MakeTrainer, Path, default_trainers, resolve_surface, run_trainers
from ...training.surfaces import DescentSurface
from ..drawing.picture import checked_path
from ..theme import LIGHT, SERIES, format_number
from .animate import choose_frames, write_film
from .figure import (
    STYLES,
    WIDE,
    Plot,
    Save,
    add_legend,
    add_legend_to_panel,
    finish_axes,
    finish_figure,
    fit_text,
    label_axes,
    line_style,
    new_plot,
    our_style,
)
from .surface import LARGEST, Surface
from .walk import GOAL, draw_contours, draw_marks

ACROSS, LOSS = 2.1, 1.9  # inches: the width of a path's panel; the height of the panel of losses


def compare(
    trainers: Mapping[str, MakeTrainer] | Sequence[MakeTrainer] | None = None,
    f: str | Callable[[Any, Any], Any] = "rosenbrock",
    start: Sequence[float] | None = None,
    steps: int = 200,
) -> Comparison:
    """Let several trainers walk down one surface from one start.

    trainers: {label: function of [x, y] that makes a trainer}, or trainer
    classes; the seven without it. f: a function of x and y, or "rosenbrock",
    "beale", "himmelblau", "saddle" or "ravine". In a notebook the result shows
    its picture.

    >>> from naive_graph.training.optimizers import AdamTrainer, SimpleSGDTrainer
    >>> both = compare([SimpleSGDTrainer, AdamTrainer], lambda x, y: x * x + y * y, (1.0, 2.0), steps=20)
    >>> [path.name for path in both.paths]
    ['SimpleSGD', 'Adam']
    """
    if not isinstance(steps, int) or isinstance(steps, bool) or steps < 1:
        raise TrainingError(f"compare walks at least 1 step, not {shortened(steps)}.")
    name, ground, begin = resolve_surface(f, start)
    begin = as_list(begin, "compare", "a start of two numbers")
    if len(begin) != 2:
        raise TrainingError(f"A start is two numbers, not {shortened(begin)}.")
    return Comparison(name, ground, run_trainers(_trainer_factories(trainers), ground, begin, steps))


def _trainer_factories(trainers: Mapping[str, MakeTrainer] | Sequence[MakeTrainer] | None) -> Mapping[str, MakeTrainer]:
    if trainers is None:
        return default_trainers()
    makers = trainers.values() if isinstance(trainers, Mapping) else trainers
    makers = as_list(makers, "compare", "trainer classes")
    if not makers or not all(map(callable, makers)):
        raise TrainingError("compare takes trainer classes, or {label: function of [x, y] that makes a trainer}.")
    if isinstance(trainers, Mapping):
        return trainers
    names = (getattr(maker, "__name__", f"trainer {index}") for index, maker in enumerate(makers))
    return {name.removesuffix("Trainer"): maker for name, maker in zip(names, makers)}


@dataclass
class Comparison:
    """What `compare` returns: the paths, and how to look at them."""

    name: str
    ground: DescentSurface
    paths: list[Path]

    def __repr__(self) -> str:
        longest = max(len(path.points) for path in self.paths) - 1
        return f"<Comparison of {', '.join(path.name for path in self.paths)} on {self.name}, {longest} steps>"

    def table(self) -> str:
        """A text table of the trainers' final points and losses, lowest loss first."""
        head = ["trainer", "rate", "steps", "x", "y", self.name, "to minimum"]
        return "\n".join(align_columns([head, *(self._line(path) for path in sorted(self.paths, key=_final_loss))]))

    def _line(self, path: Path) -> list[str]:
        distance, ends = path.distance(self.ground), [*path.points[-1], path.heights[-1]]
        distance_text = "-" if distance is None else f"{distance:.4g}"
        numbers = [f"{end:.5g}" for end in ends]
        steps = str(len(path.points) - 1)
        return [path.name, _format_rate(path), steps, *numbers, "ran away" if path.left else distance_text]

    def plot(
        self, title: str = "", save: Save = None, *, ax: Any = None, figsize: tuple[float, float] | None = None
    ) -> Any:
        """Each walk on contours of its own, so that none hides another, and the height of all at each step.

        figsize: in inches. With ax, axes of yours, all walks are drawn into them, on
        the same contours, and they are returned.
        """
        if ax is None:
            with our_style():
                return finish_figure(self._draw_panels(figsize)[0], title, save)
        grounds = self._draw_contours([ax])
        paths = [self._draw_path(ax, index) for index in range(len(self.paths))]
        return finish_axes(ax, [*grounds, *paths, *self._mark_start_and_minima([ax])], title)

    @property
    def figure(self) -> Plot:
        """The picture that a notebook shows."""
        return cast(Plot, self.plot())

    def animate(self, save: Any, frames: int = 40) -> FilePath:
        """The walks as a film: `save` a .gif."""
        target = checked_path(save, "This film", [".gif"], HistoryError)
        longest = max(len(walked_path.points) for walked_path in self.paths)
        with our_style():
            figure, walks, heights = self._draw_panels()
            title = heights[0].axes._left_title

            def show(moment: int) -> None:
                for walk, height, path in zip(walks, heights, self.paths):
                    walk.set_data(*zip(*path.points[: moment + 1]))
                    height.set_data(*zip(*enumerate(path.heights[: moment + 1])))
                title.set_text(f"step {moment}")

            write_film(target, figure, [*walks, *heights, title], choose_frames(longest, frames), show)
        return target

    def _draw_panels(self, figsize: tuple[float, float] | None = None) -> tuple[Plot, list[Any], list[Any]]:
        """Draw a contour panel for each path, and the losses below; returns the figure, path lines and loss lines."""
        columns = len(self.paths) if len(self.paths) < 4 else min(4, -(-len(self.paths) // 2))
        rows = -(-len(self.paths) // columns)
        figure = new_plot((max(WIDE, ACROSS * columns), 1.0), figsize)
        grid = figure.add_gridspec(rows + 1, columns)
        panels = [figure.add_subplot(grid[divmod(number, columns)]) for number in range(len(self.paths))]
        handles, walks = self._draw_contours(panels), []
        for index, panel in enumerate(panels):
            walks.append(self._draw_path(panel, index))
            if index % columns:
                panel.set_ylabel("")
                panel.yaxis.set_tick_params(labelleft=False)
            if index < columns * (rows - 1):
                panel.set_xlabel("")
                panel.xaxis.set_tick_params(labelbottom=False)
        (left, right), (low, high) = panels[0].get_xlim(), panels[0].get_ylim()
        slant = (high - low) / (right - left)
        column = figure.get_figwidth() / columns
        high = min(3.6 / rows, max(1.2, (column - 0.4) * slant))
        for panel, path in zip(panels, self.paths):  # a panel stands in the middle of its column, its name at its left
            _set_panel_title(panel, path, 100 * (column + min(column - 0.4, high / slant)) / 2 - 20)
        row_height = 0.5 + high
        grid.set_height_ratios([row_height] * rows + [LOSS])
        figure.set_figheight(rows * row_height + LOSS + 0.4)
        handles += self._mark_start_and_minima(panels)
        heights = self._draw_losses(figure.add_subplot(grid[rows, :]))
        add_legend(figure, handles)
        return figure, walks, heights

    def _draw_path(self, panel: Any, index: int) -> Any:
        path = self.paths[index]
        (line,) = panel.plot(*zip(*path.points), **_path_style(index, path), zorder=4, label=path.name)
        return line

    def _mark_start_and_minima(self, panels: Sequence[Any]) -> list[Any]:
        """Draw the marks; return those of one panel for the legend."""
        marks = [draw_marks(panels, self.paths[0].points[:1], "start", "o", LIGHT["ground"], 8)]
        low, high = panels[0].get_xlim(), panels[0].get_ylim()
        inside = [spot for spot in self.ground.lowest if low[0] < spot[0] < low[1] and high[0] < spot[1] < high[1]]
        return [*marks, draw_marks(panels, inside, "minimum", "*", GOAL, 12)] if inside else marks

    def _draw_losses(self, panel: Any) -> list[Any]:
        """Plot the loss at each step, on a log axis if it spans more than two decades; cut where the paths are cut."""
        near = [height for path in self.paths for _, height in _points_in_disc(path, self.paths)]
        every = [height for height in near if abs(height) < LARGEST]
        lines = []
        for index, path in enumerate(self.paths):
            style = _path_style(index, path)
            _, spacing = style["markevery"]
            # No two lines' markers meet; lines are solid while colours last.
            style["markevery"] = spacing * (2 * index + 1) // (2 * len(self.paths)), spacing
            style |= {"linestyle": STYLES[index // len(SERIES) % len(STYLES)], "linewidth": 1.2}
            lines += panel.plot(path.heights, **style, label=path.name)
        low, high = min(every, default=0.0), max(every, default=0.0)
        ran_away = any(path.left for path in self.paths)
        if 0 <= low < high / 100:
            panel.set_yscale("log")
            panel.set_ylim(bottom=max(1e-9 * high, min(height for height in every if height > 0)))
            if ran_away:
                panel.set_ylim(top=2 * high)
        elif ran_away and low < high:
            panel.set_ylim(low - (high - low) / 20, high + (high - low) / 20)
        label_axes(panel, "step", "")
        panel.set_title(fit_text(f"{self.name} at each step", 90 * WIDE), parse_math=False)
        if len(lines) > 1:
            add_legend_to_panel(panel, lines)
        return lines

    def _draw_contours(self, panels: Sequence[Any]) -> list[Any]:
        """Draw the contours of f around all paths. A diverged path counts only as far as it is near the others."""
        points = [point for path in self.paths for point, _ in _points_in_disc(path, self.paths)]
        with Graph.scratch():
            x, y = Variable(points[0][0], name="x"), Variable(points[0][1], name="y")
            return draw_contours(panels, Surface(self.ground.height(x, y), [x, y]), "xy", points, self.name)

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> Any:
        return self.figure._repr_mimebundle_(include, exclude)

    def __str__(self) -> str:
        return self.table()


def _final_loss(path: Path) -> float:
    height = path.heights[-1]
    return float("inf") if path.left or height != height else height


def _format_rate(path: Path) -> str:
    """The learning rate as text, "low to high" if it varies."""
    return "-" if path.rates is None else " to ".join(dict.fromkeys(format_number(rate) for rate in path.rates))


def _set_panel_title(panel: Any, path: Path, wide: float) -> None:
    """Set a panel's title: the trainer, and below it its rate, unless the name contains it."""
    rate = f"rate {_format_rate(path)}" if path.rates else "without a rate"
    lines = [path.name] if path.rates and _format_rate(path) in path.name else [path.name, rate]
    panel.set_title("\n".join(fit_text(line, wide) for line in lines), parse_math=False)


def _points_in_disc(path: Path, paths: list[Path]) -> list[tuple[tuple[float, float], float]]:
    """The (point, loss) pairs of a path in a disc around the start, wide enough for paths that did not diverge."""
    start = paths[0].points[0]
    walked = chain.from_iterable(other.points for other in paths if not other.left)
    radius = max(10.0, 3 * max((dist(point, start) for point in walked), default=0.0))
    return [(point, height) for point, height in zip(path.points, path.heights) if dist(point, start) <= radius]


def _path_style(index: int, path: Path) -> dict[str, Any]:
    """The style of a path's line, with about 8 markers."""
    every = max(1, len(path.points) // 8)
    return {**line_style(index), "linewidth": 1.6, "markersize": 5, "markevery": (every // 2, every)}
