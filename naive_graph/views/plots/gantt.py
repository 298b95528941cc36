"""gantt: when each task of a run began and ended, and on which worker."""

from __future__ import annotations

# First: it says which extra to install.
from ...core.number import shortened
from .figure import WIDE, Legend, Save, draw_panel, fill_style, label_axes, legend_patch

# isort: split
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from ...errors import DrawingError
from ...tensor.tasks.engine import DAGExecutionEngine, TaskBar, TaskRun
from ..theme import LIGHT

# Colour, hatching and what it is; hatching, so that colour is not the only sign.
LOOKS = {
    "F": ("variable", "", "F, values"),
    "B": ("placeholder", "//", "B, contributions"),
    "G": ("scope", "..", "G, gradients"),
}
FIRINGS = {
    "copy": ("constant", "xx", "copy"), "FComp": ("variable", "", "forward"), "loss": ("scope", "..", "loss"),
    "BComp": ("placeholder", "//", "backward"),
}  # fmt: skip
HIGH = 0.7  # of a bar, in rows
NARROW = 0.004  # a bar of less, in widths of the plot, is drawn as a line in its colour
MOST_LEVELS = 25  # whose beginnings are marked; more would hide the bars
LETTER = 0.014  # the width of a letter, in widths of the plot
UNITS = ((1.0, "seconds"), (1e-3, "milliseconds"), (1e-6, "microseconds"))


def gantt(
    run: Any, title: str = "", save: Save = None, *, ax: Any = None, figsize: tuple[float, float] | None = None
) -> Any:
    """The last run of an engine: a row for each worker, a bar for each task, in real time.

    Of a pipeline's run that was timed, or a list of its bars, a bar for each firing.

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
    bars = run if isinstance(run, list) else getattr(run, "bars", None)
    if bars and all(hasattr(bar, "operator") for bar in bars):
        draw = partial(_draw_rows, bars, partial(_draw_firings, bars))
    else:
        chosen = _checked(run)
        bars = chosen.bars
        draw = partial(_draw_rows, bars, partial(_draw_tasks, chosen))
    workers = 1 + max(bar.worker for bar in bars)
    return draw_panel(draw, (1.4 * WIDE, 1.0 + 0.6 * workers), title, save, ax, figsize)


def _draw_rows(bars: Sequence[Any], draw: Callable[[Any, float], list[Any]], panel: Any) -> Legend:
    """A row for each worker. draw: puts the bars into a panel, in a unit of time, and gives the looks of them."""
    seconds, workers = max(bar.end for bar in bars), 1 + max(bar.worker for bar in bars)
    unit, named = next(each for each in UNITS if seconds >= each[0] or each is UNITS[-1])
    looks = draw(panel, unit)
    panel.set(xlim=(0.0, 1.01 * seconds / unit), ylim=(workers - 0.5, -0.5))
    panel.set_yticks(range(workers), [f"worker {worker}" for worker in range(workers)])
    panel.grid(visible=False)
    label_axes(panel, f"{named} since the run began", "")
    return [legend_patch(colour, hatch) for colour, hatch, _ in looks], [word for _, _, word in looks]


def _draw_firings(bars: Sequence[Any], panel: Any, unit: float) -> list[Any]:
    """What each worker of a pipeline did when, in the colour of its kind; where there is room, for which sample."""
    found, seconds = [], max(bar.end for bar in bars)
    for kind, look in FIRINGS.items():
        mine, (colour, hatch, _) = [bar for bar in bars if bar.operator.startswith(kind)], look
        found += [look] * bool(mine)
        for wide in (True, False):
            dress = fill_style(colour, hatch) if wide else {"color": LIGHT[colour]}
            for worker in {bar.worker for bar in mine}:
                those = [bar for bar in mine if bar.worker == worker and _is_wide(bar, seconds) is wide]
                spans = [(bar.start / unit, (bar.end - bar.start) / unit) for bar in those]
                panel.broken_barh(spans, (worker - HIGH / 2, HIGH), linewidth=0.5, **dress)
        for bar in mine:
            _write_into(panel, bar, str(bar.iteration), unit, seconds, colour)
    return found


def _is_wide(bar: Any, seconds: float) -> bool:
    return bool(bar.end - bar.start >= NARROW * seconds)


def _write_into(panel: Any, bar: Any, label: str, unit: float, seconds: float, colour: str) -> None:
    """A label in the middle of a bar, if it has room for it."""
    if LETTER * (len(label) + 1) < (bar.end - bar.start) / seconds:
        ground = {"boxstyle": "round,pad=0.15", "edgecolor": "none"}  # no hatching behind letters
        ground["facecolor"] = LIGHT[f"{colour}-ground"]
        middle = (bar.start + bar.end) / 2 / unit
        text = panel.text(middle, bar.worker, label, ha="center", va="center", color=LIGHT["ink"], bbox=ground)
        text.set_parse_math(False)


def _draw_tasks(run: TaskRun, panel: Any, unit: float) -> list[Any]:
    """The tasks of a run, and a dotted line where each level begins: it waits for the slowest of the one before."""
    for bar in run.bars:
        _draw_bar(panel, run, bar, unit)
    for level in run.graph.levels[1:] if len(run.graph.levels) <= MOST_LEVELS else ():
        begin = min(run.bars[number].start for number in level)
        panel.axvline(begin / unit, color=LIGHT["soft"], linestyle=":", linewidth=1.0, zorder=0.5)
    kinds = {task.key.kind for task in run.graph.tasks}
    return [look for kind, look in LOOKS.items() if kind in kinds]


def _checked(run: object) -> TaskRun:
    found = run.last_run if isinstance(run, DAGExecutionEngine) else run
    if found is None:
        raise DrawingError("This engine has run nothing yet. Call engine.backward(y) first.")
    if not isinstance(found, TaskRun):
        raise DrawingError(f"gantt draws the last run of a DAGExecutionEngine, not {shortened(found)}.")
    return found


def _draw_bar(panel: Any, run: TaskRun, bar: TaskBar, unit: float) -> None:
    colour, hatch, _ = LOOKS[run.graph.tasks[bar.task].key.kind]
    start, wide = bar.start / unit, (bar.end - bar.start) / unit
    if not _is_wide(bar, run.seconds):
        panel.barh(bar.worker, wide, HIGH, start, color=LIGHT[colour], linewidth=1.0)
        return
    panel.barh(bar.worker, wide, HIGH, start, **fill_style(colour, hatch), linewidth=0.5)
    _write_into(panel, bar, run.graph.label(bar.task), unit, run.seconds, colour)
