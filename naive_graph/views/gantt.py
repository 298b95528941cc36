"""gantt: when each task of a run began and ended, and on which worker."""

from __future__ import annotations

# First: it says which extra to install.
from .figure import Plot, add_legend, finished, label_axes, our_style

# isort: split
import os
from typing import TYPE_CHECKING, Any

from matplotlib.patches import Patch

from ..errors import DrawingError
from ..tensor.tasks.engine import DAGExecutionEngine
from ..tensor.tasks.scheduling import Bar, TaskRun

if TYPE_CHECKING:
    from collections.abc import Sequence

# Colour, hatching and what it is; hatching, so that colour is not the only sign.
LOOKS = {
    "F": ("#56b4e9", "", "F, values"),
    "B": ("#e69f00", "//", "B, contributions"),
    "G": ("#009e73", "..", "G, gradients"),
}
FIRINGS = {
    "copy": ("#cc79a7", "xx", "copy"), "FComp": ("#56b4e9", "", "forward"), "loss": ("#009e73", "..", "loss"),
    "BComp": ("#e69f00", "//", "backward"),
}  # fmt: skip
HIGH = 0.7  # of a bar, in rows
NARROW = 0.004  # a bar of less, in widths of the plot, is drawn as a line in its colour
MOST_LEVELS = 25  # whose beginnings are marked; more would hide the bars
LETTER = 0.011  # the width of a letter, in widths of the plot
UNITS = ((1.0, "seconds"), (1e-3, "milliseconds"), (1e-6, "microseconds"))


def gantt(run: Any, title: str = "", save: str | os.PathLike[str] | None = None) -> Plot:
    """The last run of an engine: a row for each worker, a bar for each task, in real time.

    Of a pipeline's run that was timed, a bar for each firing.

    save: a path that ends in .png, .svg or .pdf. Raises DrawingError if nothing
    was run.

    >>> from naive_graph import DAGExecutionEngine, LeafNode
    >>> w = LeafNode.parameter([3.0, 4.0], "w")
    >>> engine = DAGExecutionEngine(workers=2)
    >>> engine.backward((w * w).sum())
    >>> plot = gantt(engine)
    """
    if getattr(run, "bars", None) and hasattr(run.bars[0], "operator"):
        return _firings(run.bars, title, save)
    chosen = _checked(run)
    workers = 1 + max(bar.worker for bar in chosen.bars)
    unit, named = next(each for each in UNITS if chosen.seconds >= each[0] or each is UNITS[-1])
    with our_style([title, *chosen.graph.names.values()]):
        figure = Plot(figsize=(8.0, 1.4 + 0.6 * workers), layout="constrained")
        panel = figure.subplots()
        panel.set_xlim(0.0, 1.01 * chosen.seconds / unit)
        for bar in chosen.bars:
            _draw_bar(panel, chosen, bar, unit)
        _mark_levels(panel, chosen, unit)
        panel.set_yticks(range(workers), [f"worker {worker}" for worker in range(workers)])
        panel.set_ylim(workers - 0.5, -0.5)
        panel.grid(visible=False)
        label_axes(panel, f"{named} since the run began", "")
        kinds = [kind for kind in LOOKS if any(task.key.kind == kind for task in chosen.graph.tasks)]
        add_legend(figure, [_patch(kind) for kind in kinds], [LOOKS[kind][2] for kind in kinds])
        return finished(figure, title, save)


def _firings(bars: Sequence[Any], title: str, save: str | os.PathLike[str] | None) -> Plot:
    """What each worker of a pipeline did when: narrow bars in the colour of their kind."""
    seconds = max(bar.end for bar in bars)
    workers = 1 + max(bar.worker for bar in bars)
    unit, named = next(each for each in UNITS if seconds >= each[0] or each is UNITS[-1])
    with our_style([title]):
        figure = Plot(figsize=(8.0, 1.4 + 0.6 * workers), layout="constrained")
        panel = figure.subplots()
        found = []
        for kind, (fill, hatch, word) in FIRINGS.items():
            mine = [bar for bar in bars if bar.operator.startswith(kind)]
            if mine:
                found.append((Patch(facecolor=fill, hatch=hatch, edgecolor="white"), word))
            for worker in range(workers):
                spans = [(bar.start / unit, (bar.end - bar.start) / unit) for bar in mine if bar.worker == worker]
                panel.broken_barh(spans, (worker - HIGH / 2, HIGH), facecolor=fill, edgecolor=fill, linewidth=0.3)
        panel.set_xlim(0.0, 1.01 * seconds / unit)
        panel.set_yticks(range(workers), [f"worker {worker}" for worker in range(workers)])
        panel.set_ylim(workers - 0.5, -0.5)
        panel.grid(visible=False)
        label_axes(panel, f"{named} since the run began", "")
        add_legend(figure, [handle for handle, _ in found], [word for _, word in found])
        return finished(figure, title, save)


def _checked(run: object) -> TaskRun:
    found = run.last_run if isinstance(run, DAGExecutionEngine) else run
    if found is None:
        raise DrawingError("This engine has run nothing yet. Call engine.backward(y) first.")
    if not isinstance(found, TaskRun):
        raise DrawingError(f"gantt draws the last run of a DAGExecutionEngine, not {found!r}.")
    return found


def _draw_bar(panel: Any, run: TaskRun, bar: Bar, unit: float) -> None:
    fill, hatch, _ = LOOKS[run.graph.tasks[bar.task].key.kind]
    start, wide = bar.start / unit, (bar.end - bar.start) / unit
    if bar.end - bar.start < NARROW * run.seconds:
        panel.barh(bar.worker, wide, HIGH, start, color=fill, edgecolor=fill, linewidth=1.0)
        return
    panel.barh(bar.worker, wide, HIGH, start, color=fill, hatch=hatch, edgecolor="white", linewidth=0.5)
    label = run.graph.label(bar.task)
    if LETTER * (len(label) + 1) < (bar.end - bar.start) / run.seconds:
        ground = {"boxstyle": "round,pad=0.15", "facecolor": fill, "edgecolor": "none"}  # no hatching behind letters
        text = panel.text(start + wide / 2, bar.worker, label, ha="center", va="center", fontsize=9, bbox=ground)
        text.set_parse_math(False)


def _mark_levels(panel: Any, run: TaskRun, unit: float) -> None:
    """A dotted line where each level begins: it waits for the slowest task of the one before."""
    if len(run.graph.levels) <= MOST_LEVELS:
        for level in run.graph.levels[1:]:
            begin = min(run.bars[number].start for number in level)
            panel.axvline(begin / unit, color="#666666", linestyle=":", linewidth=1.0, zorder=0.5)


def _patch(kind: str) -> Patch:
    fill, hatch, _ = LOOKS[kind]
    return Patch(facecolor=fill, hatch=hatch, edgecolor="white")
