"""cycles(schedule): a pipeline schedule as a table of operators by cycles, with the weight version each one reads."""

from __future__ import annotations

# First: it says which extra to install.
from ...core.number import shortened
from .figure import Legend, Plot, Save, draw_panel, fill_style, label_axes

# isort: split
from itertools import product
from typing import Any

from matplotlib.lines import Line2D
from matplotlib.patches import Patch, Rectangle

from ...errors import DrawingError
from ..theme import LIGHT

EVEN, ODD, MIXED, NONE = "variable", "placeholder", "wrong", "constant"  # which buffer is read: a colour of `look`
TEXTURES = ("", "//", "..", "\\\\")  # of versions, in turns: colour is never the only sign
LETTERS = "vU"  # of a version: naive, and of groups
WIDEST = 60  # cycles that can be read
MOST_TOLD = 8  # writes, and conflicts, for those who do not see the picture
INCHES = 0.5, 0.42  # of one cell; of groups, whose versions have fewer letters, and which take more cycles


def cycles(
    schedule: Any, iterations: int = 10, group_size: int | None = None, title: str = "", save: Save = None,
    *, ax: Any = None, figsize: tuple[float, float] | None = None,
) -> Any:  # fmt: skip
    """A pipeline's table: operators down, cycles across, the iteration in every cell.

    group_size: of the scheme with two buffers, whose groups alternate; without
    it the naive scheme, in which most reads mix two versions of the weights.
    Below the iteration stands the version that is read, v0 and so on, or U0 and
    so on with groups, which also is the hatching: v2/3 where two are mixed, and
    after a triangle the version that the firing writes.
    Clean iterations, which meet no conflict, have a bold frame. figsize: in inches.
    With ax, axes of yours, the table is drawn into them, and they are returned.
    Raises DrawingError for a table too wide to be read.

    >>> from naive_graph.sequential import Dense, Sequential, expand, schedule
    >>> stages = schedule(expand(Sequential([Dense(1)], 2)))
    >>> plot = cycles(stages, iterations=5)
    >>> type(plot).__name__, stages.cycles(5)
    ('Plot', 8)
    """
    if not hasattr(schedule, "grouped"):
        raise DrawingError(f"cycles draws what schedule(dataflow) gives, not {shortened(schedule)}.")
    count = schedule.cycles(iterations)
    if count > WIDEST:
        raise DrawingError(f"{count} cycles do not fit into a picture of up to {WIDEST}. Take fewer iterations.")
    conflicts = schedule.grouped(iterations, group_size) if group_size is not None else schedule.naive(iterations)
    conflict_of = {conflict.reader: conflict for conflict in conflicts}
    dirty_iterations = {reader.partition("(")[2][:-1] for reader in conflict_of}
    version_lag = {reader.name: distance for reader, _, distance in schedule.reader_writer_pairs()}
    names, writes = list(schedule.stages), []

    def draw(panel: Any) -> Legend:
        panel.set_xlim(0.5, count + 0.5)
        panel.set_ylim(len(names) - 0.5, -1.6)
        used: dict[str, None] = {}
        for cycle, (row, name) in product(range(1, count + 1), enumerate(names)):
            if (iteration := schedule.iteration(name, cycle, iterations)) is None:
                continue
            conflict, version, version_text, colour, hatch = conflict_of.get(f"{name}({iteration})"), 0, "", NONE, ""
            if name in schedule.users:
                own = max(0, iteration - version_lag.get(name, 0) - 1)
                version = (iteration - 1) // group_size if group_size else own
                version_text, colour, hatch = _describe_read(version, conflict, group_size)
            if schedule.writes(name, iteration, iterations, group_size or 1):
                version_text = f"▼{LETTERS[bool(group_size)]}{version + (2 if group_size else 1)}"
                writes.append(f"{version_text[1:]} by {name} in cycle {cycle}")
            used[colour] = None
            is_clean = str(iteration) not in dirty_iterations
            _draw_cell(panel, (cycle, row), iteration, version_text, colour, hatch, is_clean)
        for phase, span in schedule.phases(iterations).items():
            if span:
                panel.text((span[0] + span[-1]) / 2, -1.1, phase, ha="center", va="center", color=LIGHT["ink"])
                # Below the words: a phase may be narrower than its own.
                panel.vlines(span[-1] + 0.5, -0.7, len(names) - 0.5, LIGHT["soft"], linestyle=":", linewidth=1.0)
        panel.set_xticks(range(1, count + 1))
        panel.set_yticks(range(len(names)), names)
        panel.grid(visible=False)
        label_axes(panel, "cycle", "")
        if isinstance(panel.figure, Plot):
            summary = f"Writes: {_join_shortened(writes)}. Conflicts: {_join_shortened(list(map(str, conflicts)))}."
            panel.figure.told = f"The cycles of a pipeline: {count} of {', '.join(names)}. {summary}"
        return _make_legend(used, group_size)

    size = 1.3 + INCHES[group_size is not None] * count, 1.3 + INCHES[0] * len(names)
    return draw_panel(draw, size, title, save, ax, figsize)


def _join_shortened(texts: list[str]) -> str:
    more = [f"and {len(texts) - MOST_TOLD} more"] * (len(texts) > MOST_TOLD)
    return "; ".join([*texts[:MOST_TOLD], *more]) or "none"


def _describe_read(version: int, conflict: Any, group_size: int | None) -> tuple[str, str, str]:
    """For the version that a firing reads: its short text, its buffer's colour, and its hatching."""
    letter = LETTERS[bool(group_size)]
    if conflict is None:
        buffer = ODD if group_size and version % 2 else EVEN
        return f"{letter}{version}", buffer, TEXTURES[version % len(TEXTURES)]
    text = f"{letter}{conflict.found}"
    if conflict.at_once:
        wrote = int(conflict.writer.partition("(")[2][:-1])
        text += f"/{(wrote - 1) // group_size + 2 if group_size else wrote}"
    return text, MIXED, "xx"


def _draw_cell(panel: Any, cell: Any, iteration: int, version_text: str, colour: str, hatch: str, clean: bool) -> None:
    across, down = cell
    rectangle = (across - 0.46, down - 0.44), 0.92, 0.88
    panel.add_patch(Rectangle(*rectangle, **fill_style(colour, hatch), linewidth=0.5))
    if clean:
        panel.add_patch(Rectangle(*rectangle, fill=False, edgecolor=LIGHT["ink"], linewidth=1.6, zorder=3))
    # No hatching behind digits.
    ground = {"boxstyle": "round,pad=0.1", "facecolor": LIGHT[f"{colour}-ground"], "edgecolor": "none"}
    text_style = {"ha": "center", "va": "center", "color": LIGHT["ink"], "bbox": ground, "zorder": 4}
    panel.text(across, down - (0.2 if version_text else 0.0), str(iteration), **text_style)
    if version_text:
        panel.text(across, down + 0.23, version_text, **text_style)


def _make_legend(used: Any, group_size: int | None) -> Legend:
    """The legend of colours, frame and triangle."""
    words = {
        EVEN: ("", "reads buffer 0: U0, U2, …" if group_size else "reads one version: v0, v1, …"),
        ODD: ("//", "reads buffer 1: U1, U3, …"),
        MIXED: ("xx", "reads two versions" + ", or another group's" * bool(group_size)),
        NONE: ("", "no weights"),
    }
    kinds = {colour: look for colour, look in words.items() if colour in used}
    frame = Patch(fill=False, edgecolor=LIGHT["ink"], linewidth=1.6)
    triangle = Line2D([], [], marker="v", markersize=4, color=LIGHT["ink"], linestyle="")
    handles = [*(Patch(**fill_style(colour, hatch)) for colour, (hatch, _) in kinds.items()), frame, triangle]
    return handles, [*(word for _, word in kinds.values()), "clean iteration", "writes that version"]
