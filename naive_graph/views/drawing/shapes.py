"""The size of a box, the positions of its lines, and its outline as SVG; viewport.js does the same in a page."""

from __future__ import annotations

from ..theme import APART, BASE, BEHIND, LINE, RADIUS, ROOMS, ROUND, THIN, USUAL_ROOM
from .scene import Box
from .text_metrics import text_width

Point = tuple[float, float]


def box_size(box: Box, flat: bool = False) -> Point:
    """Width and height of a box, fitted to its text. flat: all of it in one line."""
    widths = [text_width(line) for line in box.lines]
    beside, above = ROOMS.get(box.look.shape, USUAL_ROOM)
    if flat and not box.grid:
        return sum(widths) + APART * (len(widths) - 1) + beside, THIN
    wide, high = max(widths, default=0.0), float(LINE * len(widths))
    if box.grid:
        across, tall = box.grid.size
        wide, high = max(wide, across * box.grid.columns), high + tall * box.grid.rows + 4
    return wide + beside, high + above


def place_lines(box: Box, flat: bool = False) -> list[tuple[float, float, str, str]]:
    """Each line of a box: the middle of its base as seen from the middle of the box, its text and its colour."""
    in_one_line, widths = flat and not box.grid, [text_width(line) for line in box.lines]
    end = -(sum(widths) + APART * (len(widths) - 1)) / 2
    base = 3 + (LINE - box_size(box)[1]) / 2 if box.grid else LINE * (1 - len(box.lines)) / 2
    lines = []
    for index, (line, wide) in enumerate(zip(box.lines, widths)):
        ink = "gradient" if line.startswith("grad ") and index else box.look.ink
        lines.append((end + wide / 2, BASE, line, ink) if in_one_line else (0.0, base + BASE, line, ink))
        end, base = end + wide + APART, base + LINE
    return lines


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
