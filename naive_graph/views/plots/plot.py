"""plot_histories, behind `History.plot`: a panel for each series, a line in it for each history."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from ...core.number import shortened
from ...errors import HistoryError
from .figure import (
    WIDE,
    Plot,
    Save,
    add_legend,
    finish_axes,
    finish_figure,
    fit_text,
    label_axes,
    line_style,
    new_plot,
    our_style,
)

LARGEST = 1e300  # beyond it matplotlib's own arithmetic overflows
PANEL = 215  # pixels that each further column of panels adds to the width
FEW = 30  # numbers of a line that all get a marker; half as many if there are several lines


def plot_histories(
    histories: Sequence[Any], series: str | Sequence[str] | None, labels: Sequence[str] | None, log: bool,
    title: str, save: Save, ax: Any = None, figsize: tuple[float, float] | None = None,
) -> Any:  # fmt: skip
    """The figure that `History.plot` returns, or the axes that it was given."""
    names = _choose_series(histories, series)
    titles = _history_labels(histories, labels)
    if ax is not None:
        if len(names) != 1:
            raise HistoryError(f"ax= takes one series, and there are {len(names)}. Say which: series={names[0]!r}.")
        lines, _ = _draw_series(ax, histories, names[0], titles, log)
        ax.set_xlabel("step")
        ax.set_ylabel(names[0], parse_math=False)
        return finish_axes(ax, [*lines.values()] if len(titles) > 1 else [], title)
    with our_style():
        figure, panels, columns = _make_panels(names, figsize)
        line_of_history: dict[int, Any] = {}
        crosses: list[Any] = []
        for panel, name in zip(panels, names):
            lines, marks = _draw_series(panel, histories, name, titles, log)
            line_of_history |= lines
            crosses += marks
            label_axes(panel, "step" if panel in panels[-columns:] else "", "")
            panel.set_title(fit_text(name, 100 * figure.get_figwidth() / columns - 60), parse_math=False)
        panels[-1].xaxis.get_major_locator().set_params(integer=True, min_n_ticks=1)
        if crosses:
            count = sum(len(marks.get_xdata()) for marks in crosses)
            crosses[0].set_label(f"{count:,} not finite or {'not above 0' if log else 'beyond 1e300'}")
        shown = sorted(line_of_history) if len(titles) > 1 else []
        add_legend(figure, [*(line_of_history[index] for index in shown), *crosses[:1]])
        return finish_figure(figure, title, save)


def _draw_series(
    panel: Any, histories: Sequence[Any], name: str, titles: Sequence[str], log: bool
) -> tuple[dict[int, Any], list[Any]]:
    """Draw one series of each history; return its line by the history's number, and the crosses below.

    A line has a gap, and below it a cross, where a recorded number cannot be shown.
    """
    recorded = {number: history[name] for number, history in enumerate(histories) if name in history.names}
    if log and not any(_is_plottable(value, log) for values in recorded.values() for value in values):
        raise HistoryError(
            f"Series {name!r} has no number above 0 that can be drawn, so it has no place on a logarithmic axis. "
            f"Leave log out, or choose other series: history.plot(series='f', log=True)."
        )
    lines: dict[int, Any] = {}
    crosses = []
    for number, values in recorded.items():
        steps = [step for step, value in enumerate(values) if value is not None]
        heights = [value if _is_plottable(value, log) else math.nan for value in values if value is not None]
        style = {**line_style(number), "markersize": 4.5, "markevery": _choose_marks(heights, number, len(titles))}
        (lines[number],) = panel.plot(steps, heights, label=titles[number], **style)
        missing = [step for step, height in zip(steps, heights) if math.isnan(height)]
        if missing:  # crosses at the foot of the panel
            foot = {"transform": panel.get_xaxis_transform(), "color": style["color"]}
            crosses += panel.plot(missing, [0.03] * len(missing), "x", **foot)
    panel.set_yscale("log" if log else "linear")
    return lines, crosses


def _make_panels(names: Sequence[str], figsize: tuple[float, float] | None) -> tuple[Plot, list[Any], int]:
    """A panel for each series, in one column for each four of them, up to four: sixteen fit into a screen."""
    columns = min(4, -(-len(names) // 4))
    rows = -(-len(names) // columns)
    size = WIDE + PANEL / 100 * (columns - 1), 0.5 + rows * min(2.4, max(1.4, 5.6 / rows))
    figure = new_plot(size, figsize)
    panels = figure.subplots(rows, columns, sharex=True, squeeze=False).flatten().tolist()
    for empty in panels[len(names) :]:
        empty.remove()
    for panel in panels[: len(names)][-columns:]:  # the lowest of each column
        panel.xaxis.set_tick_params(labelbottom=True)
    return figure, panels[: len(names)], columns


# --- what is asked for --------------------------------------------------------


def _choose_series(histories: Sequence[Any], series: str | Sequence[str] | None) -> list[str]:
    recorded = list(dict.fromkeys(name for history in histories for name in history.names))
    if not recorded:
        raise HistoryError("There is nothing to plot: no step was recorded.")
    names = recorded
    if series is not None:
        names = [series] if isinstance(series, str) else list(series)
    for name in names:
        if name not in recorded:
            raise HistoryError(f"There is no series {name!r} in this history. Recorded: {', '.join(recorded)}.")
    if not names:
        raise HistoryError(f"There is nothing to plot: `series` is empty. Recorded: {', '.join(recorded)}.")
    return names


def _history_labels(histories: Sequence[Any], labels: Sequence[str] | None) -> list[str]:
    if labels is None:
        return [f"history {index + 1}" for index in range(len(histories))]
    if isinstance(labels, str) or len(labels) != len(histories):
        count = f"{len(histories)} histories need {len(histories)} labels"
        raise HistoryError(f"{count}, not {shortened(labels)}. Write a list: labels=['slow', 'fast'].")
    return [str(label) for label in labels]


# --- what is drawn ------------------------------------------------------------


def _is_plottable(value: float | None, log: bool) -> bool:
    return value is not None and abs(value) < LARGEST and (not log or value > 1 / LARGEST)


def _choose_marks(heights: Sequence[float], index: int, line_count: int) -> list[int]:
    """The indices that get a marker: all if few; else points isolated by gaps, and some to distinguish lines."""
    size = len(heights)
    if size <= (FEW if line_count == 1 else FEW // 2):
        return list(range(size))
    gaps = [True, *map(math.isnan, heights), True]
    marked = {position for position in range(size) if gaps[position] and gaps[position + 2]}
    if line_count > 1:
        marked |= {*range(size * (index + 1) // (8 * (line_count + 1)), size, max(1, size // 8))}
    return sorted(marked)
