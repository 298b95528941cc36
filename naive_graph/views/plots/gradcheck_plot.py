"""The worst entries of a gradient check, as bars on a logarithmic axis."""

from __future__ import annotations

from typing import Any

from ...errors import DrawingError
from ...graph.report import Report
from ..theme import LIGHT, SERIES, format_number
from .figure import draw_panel, fit_text, label_axes

LOG_FLOOR = 1e-17  # an error of 0 cannot be drawn on a logarithmic axis


def plot_gradcheck(
    report: Report, title: str = "", ax: Any = None, figsize: tuple[float, float] | None = None
) -> Any:  # fmt: skip
    """The relative error between each derivative and its finite difference; a dashed line marks the tolerance."""
    entries = report.entries
    if not entries:
        raise DrawingError("This gradient check compared nothing: there is nothing to draw.")
    failed = set(report.failures)
    labels = [
        f"{fit_text(entry.leaf, 120)}, {entry.mode}: {format_number(entry.derivative)}, "
        f"{'not' if entry in failed else 'equal to'} {format_number(entry.difference)}"
        for entry in entries
    ]

    def draw(panel: Any) -> list[Any]:
        lengths = [max(entry.relative_error, LOG_FLOOR) for entry in entries]
        colours = [LIGHT["wrong"] if entry in failed else SERIES[0][0] for entry in entries]
        hatches = ["///" if entry in failed else "" for entry in entries]
        style = {"color": colours, "hatch": hatches, "edgecolor": LIGHT["ground"], "left": LOG_FLOOR}
        panel.barh(range(len(entries)), lengths, **style)
        panel.axvline(report.tolerance, color=LIGHT["ink"], linestyle="--", linewidth=1.2)
        panel.set_xscale("log")
        panel.set_yticks(range(len(entries)), labels, parse_math=False)
        panel.invert_yaxis()
        label_axes(panel, "relative error (dashed: the tolerance)", "")
        return []  # no legend

    summary = f"{report.failed} of {report.count} derivatives fail" if report.failed else "All derivatives are equal"
    return draw_panel(draw, (7.6, 1.2 + 0.27 * len(entries)), title or summary, None, ax, figsize)
