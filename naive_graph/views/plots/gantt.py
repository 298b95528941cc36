"""gantt(run): a Gantt chart of tasks or pipeline firings over time, one row for each worker."""

from __future__ import annotations

# First: it says which extra to install.
from ...core.number import shortened
from .figure import WIDE, Save, draw_panel, fill_style, label_axes, write_on_fill

# isort: split
from typing import Any

from matplotlib.patches import Patch

from ...errors import DrawingError
from ...tensor.tasks.engine import DAGExecutionEngine, TaskRun
from ..theme import LIGHT

# By kind of task, and of firing: colour, hatching (so that colour is not the only sign), and text of the legend.
LOOKS = {
    "F": ("variable", "", "F, values"),
    "B": ("placeholder", "//", "B, contributions"),
    "G": ("scope", "..", "G, gradients"),
}
FIRINGS = {
    "copy": ("constant", "xx", "copy"), "FComp": ("variable", "", "forward"), "loss": ("scope", "..", "loss"),
    "BComp": ("placeholder", "//", "backward"),
}  # fmt: skip
HIGH = 0.7  # the height of a bar, in rows
NARROW = 0.004  # a bar that is narrower, in widths of the plot, is drawn as a line in its colour
MOST_LEVELS = 25  # levels whose beginnings are marked; more lines would hide the bars
LETTER = 0.014  # the width of a letter, in widths of the plot
UNITS = ((1.0, "seconds"), (1e-3, "milliseconds"), (1e-6, "microseconds"))


def gantt(
    run: Any, title: str = "", save: Save = None, *, ax: Any = None, figsize: tuple[float, float] | None = None
) -> Any:
    """The last run of an engine: a row for each worker, a bar for each task, in real time.

    run: also a timed run of a pipeline, or a list of its bars: then a bar for each firing.

    save: a path that ends in .png, .svg or .pdf. figsize: in inches. With ax, axes of
    yours, it is drawn into them, and they are returned. Raises DrawingError if
    nothing was run.

    >>> from naive_graph import LeafNode
    >>> from naive_graph.tensor import DAGExecutionEngine
    >>> w = LeafNode.parameter([3.0, 4.0], "w")
    >>> engine = DAGExecutionEngine(workers=2)
    >>> engine.backward((w * w).sum())
    >>> plot = gantt(engine)
    """
    bars, levels = run if isinstance(run, list) else getattr(run, "bars", None), []
    if bars and all(hasattr(bar, "operator") for bar in bars):
        styles, labels = FIRINGS, [str(bar.iteration) for bar in bars]
        kinds = [next((kind for kind in FIRINGS if bar.operator.startswith(kind)), "") for bar in bars]
    else:
        tasks = _find_task_run(run)
        bars, levels, styles = tasks.bars, tasks.graph.levels[1:], LOOKS
        labels = [tasks.graph.label(bar.task) for bar in bars]
        kinds = [tasks.graph.tasks[bar.task].key.kind for bar in bars]
    workers, seconds = 1 + max(bar.worker for bar in bars), max(bar.end for bar in bars)
    unit, unit_name = next(time_unit for time_unit in UNITS if seconds >= time_unit[0] or time_unit is UNITS[-1])

    def draw(panel: Any) -> list[Any]:
        for kind, (colour, hatch, _) in styles.items():
            for bar, label, own_kind in zip(bars, labels, kinds):
                if own_kind != kind:
                    continue
                width = (bar.end - bar.start) / seconds  # in widths of the plot
                style = fill_style(colour, hatch)
                if width < NARROW:
                    style = {"facecolor": LIGHT[colour], "edgecolor": LIGHT[colour]}
                panel.barh(bar.worker, (bar.end - bar.start) / unit, HIGH, bar.start / unit, linewidth=0.5, **style)
                if LETTER * (len(label) + 1) < width:
                    write_on_fill(panel, (bar.start + bar.end) / 2 / unit, bar.worker, label, colour, 0.15)
        for level in levels if len(levels) < MOST_LEVELS else ():  # it waits for the slowest task of the level before
            begin = min(bars[number].start for number in level)
            panel.axvline(begin / unit, color=LIGHT["soft"], linestyle=":", linewidth=1.0, zorder=0.5)
        panel.set(xlim=(0.0, 1.01 * seconds / unit), ylim=(workers - 0.5, -0.5))
        panel.set_yticks(range(workers), [f"worker {worker}" for worker in range(workers)])
        panel.grid(visible=False)
        label_axes(panel, f"{unit_name} since the run began", "")
        shown = [look for kind, look in styles.items() if kind in kinds]
        return [Patch(**fill_style(colour, hatch), label=label) for colour, hatch, label in shown]

    return draw_panel(draw, (1.4 * WIDE, 1.0 + 0.6 * workers), title, save, ax, figsize)


def _find_task_run(run: object) -> TaskRun:
    task_run = run.last_run if isinstance(run, DAGExecutionEngine) else run
    if task_run is None:
        raise DrawingError("This engine has run nothing yet. Call engine.backward(y) first.")
    if not isinstance(task_run, TaskRun):
        raise DrawingError(f"gantt draws the last run of a DAGExecutionEngine, not {shortened(task_run)}.")
    return task_run
