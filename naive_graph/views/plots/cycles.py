"""cycles: which operator of a pipeline works on which iteration in which cycle, and whose weights it reads."""

from __future__ import annotations

# First: it says which extra to install.
from .figure import Plot, Save, add_legend, dressed, finished, hatched, label_axes, our_style

# isort: split
from typing import Any

from matplotlib.lines import Line2D
from matplotlib.patches import Patch, Rectangle

from ...errors import DrawingError
from ..look import LIGHT

EVEN, ODD, MIXED, NONE = "variable", "placeholder", "wrong", "constant"  # which buffer is read: a colour of `look`
HATCHES = {EVEN: "", ODD: "//", MIXED: "xx", NONE: ""}  # colour is never the only sign
WIDEST = 60  # cycles that can be read
INCHES = 0.34  # of one cell


def cycles(
    schedule: Any, iterations: int = 10, group_size: int | None = None, title: str = "", save: Save = None
) -> Plot:
    """A pipeline's table: operators down, cycles across, the iteration in every cell.

    group_size: of the scheme with two buffers, whose groups alternate; without
    it the naive scheme, in which most reads mix two versions of the weights. A
    triangle marks a firing that writes weights; with groups the hatching is of
    the version that is read, U0 and so on.
    Clean iterations, which meet no conflict, have a bold frame. Raises
    DrawingError for a table too wide to be read.
    """
    if not hasattr(schedule, "grouped"):
        raise DrawingError(f"cycles draws what schedule(dataflow) gives, not {schedule!r:.60}.")
    count = schedule.cycles(iterations)
    if count > WIDEST:
        raise DrawingError(f"{count} cycles do not fit into a picture of up to {WIDEST}. Take fewer iterations.")
    conflicts = schedule.grouped(iterations, group_size) if group_size else schedule.naive(iterations)
    met = {conflict.reader for conflict in conflicts}
    dirty = {reader.partition("(")[2][:-1] for reader in met}
    names = list(schedule.stages)
    with our_style():
        figure = Plot(figsize=(1.6 + INCHES * count, 1.3 + INCHES * len(names)), layout="constrained")
        panel = figure.subplots()
        panel.set_xlim(0.5, count + 0.5)
        panel.set_ylim(len(names) - 0.5, -1.6)
        used: dict[str, None] = {}
        for row, name in enumerate(names):
            for cycle in range(1, count + 1):
                iteration = schedule.iteration(name, cycle, iterations)
                if iteration is not None:
                    colour = _colour(schedule, name, iteration, met, group_size)
                    used[colour] = None
                    hatch = _hatch(colour, iteration, group_size)
                    _draw_cell(panel, (cycle, row), iteration, colour, hatch, str(iteration) not in dirty)
                    if schedule.writes(name, iteration, iterations, group_size or 1):
                        panel.plot([cycle + 0.33], [row + 0.3], marker="v", markersize=4, color=LIGHT["ink"], zorder=5)
        for phase, span in schedule.phases(iterations).items():
            if span:
                panel.text((span[0] + span[-1]) / 2, -1.1, phase, ha="center", va="center", color=LIGHT["ink"])
                # Below the words: a phase may be narrower than its own.
                panel.vlines(span[-1] + 0.5, -0.7, len(names) - 0.5, LIGHT["soft"], linestyle=":", linewidth=1.0)
        panel.set_xticks(range(1, count + 1))
        panel.set_yticks(range(len(names)), names)
        panel.grid(visible=False)
        label_axes(panel, "cycle", "")
        _explain(figure, used, group_size)
        return finished(figure, title, save)


def _colour(schedule: Any, name: str, iteration: int, met: set[str], group_size: int | None) -> str:
    if name not in schedule.users:
        return NONE
    if f"{name}({iteration})" in met:
        return MIXED
    return ODD if group_size and (iteration - 1) // group_size % 2 else EVEN


def _hatch(colour: str, iteration: int, group_size: int | None) -> str:
    """By the version that is read: four textures, in turns."""
    if group_size and colour in (EVEN, ODD):
        return ("", "//", "..", "\\\\")[(iteration - 1) // group_size % 4]
    return HATCHES[colour]


def _draw_cell(panel: Any, at: tuple[int, int], iteration: int, colour: str, hatch: str, clean: bool) -> None:
    across, down = at
    place = (across - 0.46, down - 0.44), 0.92, 0.88
    panel.add_patch(Rectangle(*place, **dressed(colour, hatch), linewidth=0.5))
    if clean:
        panel.add_patch(Rectangle(*place, fill=False, edgecolor=LIGHT["ink"], linewidth=1.6, zorder=3))
    ground = {
        "boxstyle": "round,pad=0.1",
        "facecolor": LIGHT[f"{colour}-ground"],
        "edgecolor": "none",
    }  # no hatching behind digits
    panel.text(across, down, str(iteration), ha="center", va="center", color=LIGHT["ink"], bbox=ground, zorder=4)


def _explain(figure: Plot, used: Any, group_size: int | None) -> None:
    words = {
        EVEN: "reads buffer 0" if group_size else "reads one version",
        ODD: "reads buffer 1",
        MIXED: "reads what another changes",
        NONE: "no weights",
    }
    kinds = [each for each in words if each in used]
    handles = [
        *(hatched(each, HATCHES[each]) for each in kinds),
        Patch(fill=False, edgecolor=LIGHT["ink"], linewidth=1.6),
        Line2D([], [], marker="v", markersize=4, color=LIGHT["ink"], linestyle=""),
    ]
    add_legend(figure, handles, [*(words[each] for each in kinds), "clean iteration", "writes weights"])
