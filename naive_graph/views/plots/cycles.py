"""cycles(schedule): draw a pipeline schedule as a table, and which version of the weights each firing reads.

It has a row for each operator and a column for each cycle; a cell has the iteration that the operator works on. A
pipeline updates weights while other iterations are on their way, so a read may mix two versions, or meet a wrong one:
a conflict.
"""

from __future__ import annotations

# First: it says which extra to install.
from ...core.number import shortened
from .figure import Plot, Save, draw_panel, fill_style, label_axes, write_on_fill

# isort: split
from itertools import product
from typing import Any

from matplotlib.lines import Line2D
from matplotlib.patches import Patch, Rectangle

from ...errors import DrawingError
from ..theme import LIGHT

# The colour, by its name in the theme, of a cell that reads buffer 0 (or one version), buffer 1, two versions, none.
EVEN, ODD, MIXED, NO_WEIGHTS = "variable", "placeholder", "wrong", "constant"
HATCHES = ("", "//", "..", "\\\\")  # of versions in turn: colour is never the only sign
VERSION_LETTERS = "vU"  # v0, v1, ... of the naive scheme; U0, U1, ... of groups
MOST_CYCLES = 60  # that can be read in one picture
MOST_TOLD = 8  # writes, and conflicts, that the description for screen readers lists
CELL_SIZE, GROUPED_CELL_WIDTH = 0.5, 0.42  # inches: groups have more cycles, and shorter texts in them


def cycles(
    schedule: Any, iterations: int = 10, group_size: int | None = None, title: str = "", save: Save = None,
    *, ax: Any = None, figsize: tuple[float, float] | None = None,
) -> Any:  # fmt: skip
    """A pipeline's table: operators down, cycles across, the iteration in every cell.

    group_size: draw the scheme in which groups of so many iterations take turns with
    two buffers of weights; without it the naive scheme, in which most reads mix two
    versions of the weights. Below the iteration stands the version that is read, v0
    and so on, or U0 and so on with groups; the hatching says the same. v2/3: two
    versions are mixed. A triangle comes before the version that the firing writes.
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
    if count > MOST_CYCLES:
        raise DrawingError(f"{count} cycles do not fit into a picture of up to {MOST_CYCLES}. Take fewer iterations.")
    conflicts = schedule.grouped(iterations, group_size) if group_size is not None else schedule.naive(iterations)
    conflict_of = {conflict.reader: conflict for conflict in conflicts}
    dirty_iterations = {reader.partition("(")[2][:-1] for reader in conflict_of}
    version_lag = {reader.name: distance for reader, _, distance in schedule.reader_writer_pairs()}
    names, writes = list(schedule.stages), []

    def draw(panel: Any) -> list[Any]:
        panel.set_xlim(0.5, count + 0.5)
        panel.set_ylim(len(names) - 0.5, -1.6)
        used: dict[str, None] = {}
        for cycle, (row, name) in product(range(1, count + 1), enumerate(names)):
            if (iteration := schedule.iteration(name, cycle, iterations)) is None:
                continue
            conflict = conflict_of.get(f"{name}({iteration})")
            version, version_text, colour, hatch = 0, "", NO_WEIGHTS, ""
            if name in schedule.users:
                naive_version = max(0, iteration - version_lag.get(name, 0) - 1)
                version = (iteration - 1) // group_size if group_size else naive_version
                version_text, colour, hatch = _describe_read(version, conflict, group_size)
            if schedule.writes(name, iteration, iterations, group_size or 1):
                version_text = f"▼{VERSION_LETTERS[bool(group_size)]}{version + (2 if group_size else 1)}"
                writes.append(f"{version_text[1:]} by {name} in cycle {cycle}")
            used[colour] = None
            is_clean = str(iteration) not in dirty_iterations
            _draw_cell(panel, (cycle, row), iteration, version_text, colour, hatch, is_clean)
        for phase, span in schedule.phases(iterations).items():
            if span:
                panel.text((span[0] + span[-1]) / 2, -1.1, phase, ha="center", va="center", color=LIGHT["ink"])
                # The line ends below the phases' names: a name may be wider than its phase.
                panel.vlines(span[-1] + 0.5, -0.7, len(names) - 0.5, LIGHT["soft"], linestyle=":", linewidth=1.0)
        panel.set_xticks(range(1, count + 1))
        panel.set_yticks(range(len(names)), names)
        panel.grid(visible=False)
        label_axes(panel, "cycle", "")
        if isinstance(panel.figure, Plot):
            summary = f"Writes: {_join_shortened(writes)}. Conflicts: {_join_shortened(list(map(str, conflicts)))}."
            panel.figure.told = f"The cycles of a pipeline: {count} of {', '.join(names)}. {summary}"
        return _make_legend(used, group_size)

    cell_width = CELL_SIZE if group_size is None else GROUPED_CELL_WIDTH
    size = 1.3 + cell_width * count, 1.3 + CELL_SIZE * len(names)
    return draw_panel(draw, size, title, save, ax, figsize)


def _join_shortened(texts: list[str]) -> str:
    more = [f"and {len(texts) - MOST_TOLD} more"] * (len(texts) > MOST_TOLD)
    return "; ".join([*texts[:MOST_TOLD], *more]) or "none"


def _describe_read(version: int, conflict: Any, group_size: int | None) -> tuple[str, str, str]:
    """Of the version that a firing reads: its short text, such as "v2" or "v2/3", its colour, and its hatching."""
    letter = VERSION_LETTERS[bool(group_size)]
    if conflict is None:
        buffer = ODD if group_size and version % 2 else EVEN
        return f"{letter}{version}", buffer, HATCHES[version % len(HATCHES)]
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
    write_on_fill(panel, across, down - (0.2 if version_text else 0.0), str(iteration), colour, 0.1)
    if version_text:
        write_on_fill(panel, across, down + 0.23, version_text, colour, 0.1)


def _make_legend(used: Any, group_size: int | None) -> list[Any]:
    """The legend of colours, frame and triangle."""
    words = {
        EVEN: ("", "reads buffer 0: U0, U2, …" if group_size else "reads one version: v0, v1, …"),
        ODD: ("//", "reads buffer 1: U1, U3, …"),
        MIXED: ("xx", "reads two versions" + ", or another group's" * bool(group_size)),
        NO_WEIGHTS: ("", "no weights"),
    }
    kinds = {colour: look for colour, look in words.items() if colour in used}
    frame = Patch(fill=False, edgecolor=LIGHT["ink"], linewidth=1.6, label="clean iteration")
    style: Any = {"marker": "v", "markersize": 4, "color": LIGHT["ink"], "linestyle": ""}
    triangle = Line2D([], [], **style, label="writes that version")
    fills = [Patch(**fill_style(colour, hatch), label=label) for colour, (hatch, label) in kinds.items()]
    return [*fills, frame, triangle]
