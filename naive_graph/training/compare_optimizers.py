"""Compare optimizers: run several trainers on one 2-D test surface from one starting point; record their paths.

`compare(...)` draws the paths (views/plots/compare.py). This file only runs the trainers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from ..core.number import shortened
from ..errors import DivergedError, TrainingError
from ..graph.graph import Graph
from ..graph.nodes import Node, Variable
from . import optimizers
from .surfaces import SURFACES, DescentSurface
from .trainer import Trainer

MakeTrainer = Callable[[list[Variable]], Trainer]
MAX_COORDINATE = 1e6  # a run is stopped once a coordinate's magnitude exceeds this


def default_trainers(rate: float = 0.01) -> dict[str, MakeTrainer]:
    """All trainers, each with the settings that `optimizers.TRAINERS` derives from `rate`."""
    return {label: partial(entry.trainer, **entry.settings(rate)) for label, entry in optimizers.TRAINERS.items()}


@dataclass
class Path:
    """The trajectory of one trainer: points and function values, the start first."""

    name: str
    points: list[tuple[float, float]]
    heights: list[float]
    rates: tuple[float, float] | None = None  # the lowest and the highest learning rate; None without any
    left: bool = False  # whether it diverged: it went beyond MAX_COORDINATE, or an update was not finite

    def distance(self, surface: DescentSurface) -> float | None:
        """The distance from the last point to the nearest minimum; None if the surface has none."""
        x, y = self.points[-1]
        return min((((x - a) ** 2 + (y - b) ** 2) ** 0.5 for a, b in surface.lowest), default=None)


def run_trainers(
    makers: Mapping[str, MakeTrainer], surface: DescentSurface, start: Sequence[float], steps: int
) -> list[Path]:
    """Run each trainer in its own graph, and record the start and the point after each of `steps` updates.

    One more update follows, whose point is not recorded: if it diverges, the path is marked `left`.
    """
    return [_walk_surface(name, make, surface, start, steps) for name, make in makers.items()]


def _walk_surface(name: str, make: MakeTrainer, surface: DescentSurface, start: Sequence[float], steps: int) -> Path:
    with Graph.scratch():
        x, y = Variable(start[0], name="x"), Variable(start[1], name="y")
        f = surface.height(x, y)
        if not isinstance(f, Node):
            raise TrainingError(
                "compare needs a function that is made of its two arguments, such as lambda x, y: x*x + y*y."
            )
        trainer, path = make([x, y]), Path(name, [], [])
        for _ in range(steps + 1):
            Graph.forward(f)
            path.points.append((x.value, y.value))
            path.heights.append(f.value)
            if max(abs(x.value), abs(y.value)) > MAX_COORDINATE:
                path.left = True
                break
            Graph.backward(f)
            path.rates = _rate_range(trainer, path.rates)
            try:
                trainer.update()
            except DivergedError:
                path.left = True
                break
        return path


def _rate_range(trainer: Trainer, before: tuple[float, float] | None) -> tuple[float, float] | None:
    """The lowest and the highest learning rate of a trainer so far; None if its formula has none.

    before: the range up to the last update; None at first.
    """
    signature = getattr(trainer, "settings_signature", None)  # a user-defined trainer may be any object with update()
    rate = getattr(trainer, "learning_rate", None)
    if not isinstance(rate, float) or (signature is not None and "learning_rate" not in signature.parameters):
        return None
    lowest, highest = before or (rate, rate)
    return min(rate, lowest), max(rate, highest)


def resolve_surface(
    f: str | Callable[[Any, Any], Any], start: Sequence[float] | None
) -> tuple[str, DescentSurface, Sequence[float]]:
    """Resolve a surface's name or a function: returns (name, surface, starting point)."""
    if isinstance(f, str):
        if f not in SURFACES:
            raise TrainingError(f"There is no surface {f!r}. There are: {', '.join(SURFACES)}; or give a function.")
        return f, SURFACES[f], SURFACES[f].start if start is None else start
    if not callable(f):
        raise TrainingError(
            f"compare walks on a function of x and y, or on one of {', '.join(SURFACES)}; not on {shortened(f)}."
        )
    if start is None:
        raise TrainingError("Where shall the walks start? compare(trainers, f, start=(1.0, 2.0)).")
    return getattr(f, "__name__", "f"), DescentSurface(f, (0.0, 0.0), ()), start
