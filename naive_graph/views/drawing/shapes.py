"""How large a box is, where its texts stand, and its outline; viewport.js does the same by the letters' true width."""

from __future__ import annotations

from typing import NamedTuple

from ..theme import APART, BASE, BEHIND, LINE, RADIUS, ROOMS, ROUND, THIN, USUAL_ROOM
from .scene import Box
from .text_metrics import text_width

Point = tuple[float, float]


class PlacedLine(NamedTuple):
    """A line of a box, with the middle of its base as seen from the middle of the box, and its colour."""

    text: str
    x: float
    y: float
    ink: str


def box_size(box: Box, flat: bool = False) -> Point:
    """How wide and how high a box is: as small as its text. flat: all of it in one line."""
    widths = [text_width(line) for line in box.lines]
    beside, above = ROOMS.get(box.look.shape, USUAL_ROOM)
    if flat and not box.grid:
        return sum(widths) + APART * (len(widths) - 1) + beside, THIN
    wide, high = max(widths, default=0.0), float(LINE * len(widths))
    if box.grid:
        across, tall = box.grid.size
        wide, high = max(wide, across * box.grid.columns), high + tall * box.grid.rows + 4
    return wide + beside, high + above


def placed(box: Box, flat: bool = False) -> list[PlacedLine]:
    """Its lines, each where it stands. Gradients have a colour of their own."""
    inks = ["gradient" if line.startswith("grad ") and at else box.look.ink for at, line in enumerate(box.lines)]
    if flat and not box.grid:
        widths = [text_width(line) for line in box.lines]
        end = -(sum(widths) + APART * (len(widths) - 1)) / 2
        found = []
        for line, wide, ink in zip(box.lines, widths, inks):
            found.append(PlacedLine(line, end + wide / 2, BASE, ink))
            end += wide + APART
        return found
    _, high = box_size(box)
    first = 3 + LINE / 2 - high / 2 if box.grid else LINE * (1 - len(inks)) / 2
    return [PlacedLine(line, 0.0, first + LINE * at + BASE, ink) for at, (line, ink) in enumerate(zip(box.lines, inks))]


def outline(shape: str, wide: float, high: float) -> str:
    """The outline of a box around (0, 0), as SVG without its colours."""
    x, y = wide / 2, high / 2
    if shape == "plaintext":
        return ""
    if shape == "hexagon":
        corners = [(-x, 0), (8 - x, -y), (x - 8, -y), (x, 0), (x - 8, y), (8 - x, y)]
        return f'<polygon points="{" ".join(f"{a:.1f},{b:.1f}" for a, b in corners)}"/>'
    if shape == "sheets":
        wide, high = wide - BEHIND, high - BEHIND
        return _rectangle(BEHIND - x, -y, wide, high, 0.0) + _rectangle(-x, BEHIND - y, wide, high, 0.0)
    corner = {"pill": min(ROUND, y), "rounded": RADIUS}.get(shape, 0.0)
    return _rectangle(-x, -y, wide, high, corner)


def _rectangle(left: float, top: float, wide: float, high: float, corner: float) -> str:
    return f'<rect x="{left:.1f}" y="{top:.1f}" width="{wide:.1f}" height="{high:.1f}" rx="{corner:.1f}"/>'
