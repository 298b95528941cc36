"""compare: several trainers on one surface, in one picture, one film and one table."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path as FilePath
from typing import Any

from ..core.number import listed
from ..errors import HistoryError, TrainingError
from ..graph.graph import Graph
from ..graph.nodes import Variable
from ..graph.printed import aligned
from ..training.race import Make, Path, ground_of, race, seven
from ..training.surfaces import Ground
from .animate import chosen, film
from .figure import Plot, Save, add_legend, finished, look_of, our_style
from .picture import file_of, write_whole
from .surface import Surface
from .walk import Stage, Walk, draw_contours


def compare(
    trainers: Mapping[str, Make] | Sequence[Make] | None = None,
    f: str | Callable[[Any, Any], Any] = "rosenbrock",
    start: Sequence[float] | None = None,
    steps: int = 200,
) -> Comparison:
    """Let several trainers walk down one surface from one start.

    trainers: {label: function of [x, y] that makes a trainer}, or trainer
    classes; the seven without it. f: a function of x and y, or "rosenbrock",
    "beale", "himmelblau", "saddle" or "ravine". In a notebook the result shows
    its picture.

    >>> from naive_graph.training.trainers import AdamTrainer, SimpleSGDTrainer
    >>> both = compare([SimpleSGDTrainer, AdamTrainer], lambda x, y: x * x + y * y, (1.0, 2.0), steps=20)
    >>> [path.name for path in both.paths]
    ['SimpleSGD', 'Adam']
    """
    if not isinstance(steps, int) or isinstance(steps, bool) or steps < 1:
        raise TrainingError(f"compare walks at least 1 step, not {steps!r}.")
    name, ground, begin = ground_of(f, start)
    begin = listed(begin, "compare", "a start of two numbers")
    if len(begin) != 2:
        raise TrainingError(f"A start is two numbers, not {begin!r}.")
    return Comparison(name, ground, race(_makers(trainers), ground, begin, steps))


def _makers(trainers: Mapping[str, Make] | Sequence[Make] | None) -> Mapping[str, Make]:
    if trainers is None:
        return seven()
    makers = trainers.values() if isinstance(trainers, Mapping) else trainers
    makers = listed(makers, "compare", "trainer classes")
    if not makers or not all(map(callable, makers)):
        raise TrainingError("compare takes trainer classes, or {label: function of [x, y] that makes a trainer}.")
    if isinstance(trainers, Mapping):
        return trainers
    return {getattr(each, "__name__", f"trainer {at}").removesuffix("Trainer"): each for at, each in enumerate(makers)}


@dataclass
class Comparison:
    """What `compare` returns: the paths, and how to look at them."""

    name: str
    ground: Ground
    paths: list[Path]

    def table(self) -> str:
        """Where each walk ended, lowest first."""
        head = ["trainer", "steps", "x", "y", self.name, "to the minimum"]
        return "\n".join(aligned([head, *(self._line(path) for path in sorted(self.paths, key=_end))]))

    def _line(self, path: Path) -> list[str]:
        (x, y), distance = path.points[-1], path.distance(self.ground)
        far = "ran away" if path.left else "-" if distance is None else f"{distance:.4g}"
        return [path.name, str(len(path.points) - 1), f"{x:.5g}", f"{y:.5g}", f"{path.heights[-1]:.5g}", far]

    def plot(self, title: str = "", save: Save = None) -> Plot:
        """All walks on the contours of the surface."""
        stage = self._stage()
        with our_style():
            self._lines(stage)
            _mark_ends(stage, self)
            add_legend(stage.figure, stage.handles, stage.texts)
            return finished(stage.figure, title, save)

    def animate(self, path: str | os.PathLike[str], frames: int = 40) -> FilePath:
        """The walks as a film, a .gif."""
        target = file_of(path, "This film", [".gif"], HistoryError)
        stage = self._stage()
        longest = max(len(each.points) for each in self.paths)
        with our_style():
            lines = self._lines(stage)
            add_legend(stage.figure, stage.handles, stage.texts)
            title = stage.panel.set_title("step 0", loc="right", fontsize=10)

            def show(moment: int) -> None:
                for line, each in zip(lines, self.paths):
                    line.set_data(*zip(*each.points[: moment + 1]))
                title.set_text(f"step {moment}")

            write_whole(target, film(stage, [*lines, title], chosen(longest, frames), show))
        return target

    def _lines(self, stage: Stage) -> list[Any]:
        """Every walk in the picture, explained."""
        for place, each in enumerate(self.paths):
            (line,) = stage.panel.plot(
                *zip(*each.points), **look_of(place), linewidth=1.6, markersize=5,
                markevery=max(1, len(each.points) // 12), zorder=4,
            )  # fmt: skip
            stage.explain(line, each.name)
        return stage.handles[-len(self.paths) :]

    def _stage(self) -> Stage:
        """The contours around all walks. A walk that ran away is cut where the others' picture ends."""
        points = [point for path in self.paths for point in _near(path, self.paths)]
        with Graph.scratch():
            x, y = Variable(points[0][0], name="x"), Variable(points[0][1], name="y")
            f = self.ground.height(x, y)
            way: list[tuple[float, ...]] = [*points]
            walk = Walk(["x", "y"], list(range(len(points))), way, 0)
            figure = Plot(figsize=(6.4, 5.6), layout="constrained")
            with our_style():
                stage = Stage(figure, figure.subplots(), Surface(f, [x, y]), walk, points)
                draw_contours(stage, self.name)
        return stage

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> Any:
        return self.plot()._repr_mimebundle_(include, exclude)

    def __str__(self) -> str:
        return self.table()


def _end(path: Path) -> float:
    height = path.heights[-1]
    return float("inf") if path.left or height != height else height


def _near(path: Path, paths: list[Path]) -> list[tuple[float, float]]:
    """The points of a path, without its last ones if it ran away."""
    start = paths[0].points[0]
    reach = max(
        [10.0, *(3 * abs(value - begin) for each in paths if not each.left for point in each.points
                 for value, begin in zip(point, start))]
    )  # fmt: skip
    return [point for point in path.points if all(abs(value - begin) <= reach for value, begin in zip(point, start))]


def _mark_ends(stage: Stage, comparison: Comparison) -> None:
    stage.mark(comparison.paths[0].points[:1], "start", "o", "white", 9)
    low, high = stage.panel.get_xlim(), stage.panel.get_ylim()
    inside = [spot for spot in comparison.ground.lowest if low[0] < spot[0] < low[1] and high[0] < spot[1] < high[1]]
    if inside:
        stage.mark(inside, "minimum", "*", "#f0e442", 15)
