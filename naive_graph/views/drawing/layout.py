"""Lay out a scene with Graphviz: the position of each box, arrow, label and frame, in pixels from the top left."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import hypot
from typing import Any

from ...errors import DrawingError
from ..theme import LINE, MARGIN, READ, SMALL, TEXT, TITLE, WAYS
from .dot import MANY, ON, dot_text, heading
from .engine import LESS, run_graphviz
from .scene import Scene
from .shapes import Point
from .text_metrics import text_width

Frame = tuple[float, float, float, float]  # left, top, width, height
WINDOW = 1280.0, 720.0  # pixels of the screen for which a picture is laid out
MOST = 1_500  # boxes that dot lays out in some seconds; of arrows three times as many


@dataclass
class SceneLayout:
    """A scene with the coordinates of everything in it."""

    scene: Scene
    direction: str
    flat: bool  # whether each box has its texts in one line
    wide: float
    high: float
    boxes: dict[str, Point] = field(default_factory=dict)  # the middle of each
    curves: dict[str, str] = field(default_factory=dict)  # of arrows, as SVG paths
    heads: dict[str, list[Point]] = field(default_factory=dict)  # of arrows: three corners
    labels: dict[str, Point] = field(default_factory=dict)  # the middle of each
    frames: dict[str, Frame] = field(default_factory=dict)

    def seen(self, window: Point = WINDOW) -> float:
        """About which share of it fits into a window at a readable size, from 0 to 1."""
        scale = READ / (SMALL if any(box.grid for box in self.scene.boxes) else TEXT)
        return min(1.0, window[0] / scale / self.wide) * min(1.0, window[1] / scale / self.high)


def lay_out(scene: Scene, direction: str | None = None) -> SceneLayout:
    """Lay out a scene in the given direction, or in the ones of theme.WAYS, with usual or with flat boxes.

    The first layout that fits into a window is taken, or if none does, the one that shows most (a later one must show
    1 % more). Of a scene of more than MANY boxes half of the layouts are tried.

    Raises DrawingError if dot would take too long.
    """
    if len(scene.boxes) > MOST or len(scene.arrows) > 3 * MOST:
        size = f"{len(scene.boxes):,} boxes and {len(scene.arrows):,} arrows"
        raise DrawingError(f"dot would take too long for {size}. {LESS}")
    candidates = [(direction, flat) for flat in (False, True)] if direction else [*WAYS]
    best: SceneLayout | None = None
    for candidate in candidates[::2] if len(scene.boxes) > MANY else candidates:
        page = lay_out_in_direction(scene, *candidate)
        if best is None or page.seen() > best.seen() + 0.01:
            best = page
        if best.seen() == 1.0:
            break
    assert best is not None
    return best


def lay_out_in_direction(scene: Scene, direction: str, flat: bool = False) -> SceneLayout:
    """Lay a scene out in one direction. flat: each box has its texts in one line.

    dot's y runs upwards, ours downwards; and the page has margins, and room for title and caption.
    """
    dot_output = run_graphviz(dot_text(scene, direction, flat))
    _, _, across, down = map(float, dot_output["bb"].split(","))
    above = MARGIN + 1.6 * LINE * bool(scene.title)
    title, lines = bool(scene.title), heading(scene)
    widths = [text_width(line, SMALL if index or not title else TITLE) for index, line in enumerate(lines)]
    below = LINE * (len(lines) - title) + MARGIN
    page = SceneLayout(scene, direction, flat, max([across, *widths]) + 2 * MARGIN, above + down + below)

    def at(text: str) -> Point:
        x, y = text.split(",")
        return MARGIN + float(x), above + down - float(y)

    for entry in dot_output.get("objects", ()):
        name = entry["name"]
        if name.startswith("cluster_"):
            left, low, right, high = map(float, entry["bb"].split(","))
            page.frames[name[8:]] = MARGIN + left, above + down - high, right - left, high - low
        elif name.startswith(ON):
            page.labels[name[len(ON) :]] = at(entry["pos"])
        elif "pos" in entry:
            page.boxes[name] = at(entry["pos"])
    for edge in dot_output.get("edges", ()):
        if "id" in edge:
            _add_arrow(page, edge, at)
    return page


def _add_arrow(page: SceneLayout, edge: dict[str, Any], to_point: Any) -> None:
    """Add an edge's curve, or its half before or after the label node, and its arrowhead."""
    name, points = edge["id"], edge["pos"].split()
    tip = to_point(points.pop(0)[2:]) if points[0].startswith("e,") else None  # the half before a label has none
    (x, y), *control_points = map(to_point, points)
    path_data = f"M{x:.1f},{y:.1f} C" + " ".join(f"{a:.1f},{b:.1f}" for a, b in control_points)
    page.curves[name] = " ".join(filter(None, [page.curves.get(name, ""), path_data]))
    if tip is not None:
        page.heads[name] = _arrowhead(control_points[-1], tip)


def _arrowhead(base: Point, tip: Point) -> list[Point]:
    """The three corners of an arrowhead."""
    (x, y), (a, b) = base, tip
    long = hypot(a - x, b - y) or 1.0
    across, down = (b - y) / long * 2.5, (a - x) / long * 2.5
    return [tip, (x + across, y - down), (x - across, y + down)]
