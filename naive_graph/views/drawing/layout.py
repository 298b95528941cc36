"""The laid-out page: where each box, arrow, label and frame is, in pixels from the upper left corner, as dot says."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import hypot
from typing import Any

from ..theme import HEAD, LINE, MARGIN, PAD, READ, SMALL, TEXT, TITLE, WAYS
from .dot import MANY, ON, dot_text, heading, without_frames
from .engine import TooMuch, places
from .scene import Scene
from .shapes import Point, box_size
from .text_metrics import text_width

Frame = tuple[float, float, float, float]  # left, top, width, height
WINDOW = 1280.0, 720.0  # pixels, of a screen that a picture without a page is made for
MOST = 1_500  # boxes that dot lays out in some seconds; arrows are counted as well


@dataclass
class Page:
    """A scene with its places."""

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
        """About how much of it a window shows at a size at which it can be read."""
        scale = READ / (SMALL if any(box.grid for box in self.scene.boxes) else TEXT)
        return min(1.0, window[0] / scale / self.wide) * min(1.0, window[1] / scale / self.high)


def lay_out(scene: Scene, direction: str | None = None) -> Page:
    """Lay a scene out: in the direction that is asked for, or else in the one that shows most of it.

    Raises TooMuch if dot would take too long.
    """
    if len(scene.boxes) > MOST or len(scene.arrows) > 3 * MOST:
        raise TooMuch(f"dot would take too long for {len(scene.boxes):,} boxes and {len(scene.arrows):,} arrows.")
    ways = [(direction, flat) for flat in (False, True)] if direction else [*WAYS]
    best: Page | None = None
    for way in ways[::2] if len(scene.boxes) > MANY else ways:
        page = lay_out_one_way(scene, *way)
        if best is None or page.seen() > best.seen() + 0.01:
            best = page
        if best.seen() == 1.0:
            break
    assert best is not None
    return best


def lay_out_one_way(scene: Scene, direction: str, flat: bool = False) -> Page:
    """Lay a scene out in one way: with frames drawn around what dot put together, or else kept together by dot."""
    text = dot_text(scene, direction, flat)
    if scene.scope_names:
        page = _page(scene, direction, flat, places(without_frames(text)))
        if _draw_frames(page):
            return page
    return _page(scene, direction, flat, places(text))


def _draw_frames(page: Page) -> bool:
    """Draw the frames around their boxes; False if one would touch what is not in it."""
    inside: dict[str, list[Frame]] = {}
    boxes = [(box.scope, _frame_around(page.boxes[box.id], box_size(box, page.flat))) for box in page.scene.boxes]
    scopes = {name: box.scope[:depth] for box in page.scene.boxes for depth, name in enumerate(box.scope)}
    for path, (left, top, wide, high) in boxes:
        for name in path:
            inside.setdefault(name, []).append((left, top, wide, high))
    for name in sorted(scopes, key=lambda scope_name: len(scopes[scope_name]), reverse=True):
        left, top = (min(inner[side] for inner in inside[name]) for side in (0, 1))
        right, end = (max(inner[side] + inner[side + 2] for inner in inside[name]) for side in (0, 1))
        title = text_width(page.scene.scope_names[name], SMALL) + 16
        frame = left - PAD, top - HEAD, max(right - left + 2 * PAD, title), end - top + HEAD + PAD
        page.frames[name], page.wide = frame, max(page.wide, left - PAD + frame[2] + MARGIN)
        for outer in scopes[name]:
            inside[outer].append(frame)
    labels = [_frame_around(middle, (30.0, LINE)) for middle in page.labels.values()]
    for name, frame in page.frames.items():
        apart = [other_frame for other, other_frame in page.frames.items() if name not in (*scopes[other], other)]
        apart = [other_frame for other_frame in apart if not _holds(other_frame, frame)] + [
            box for path, box in boxes if name not in path
        ]
        if any(
            _touch(frame, other_frame)
            for other_frame in apart + [label for label in labels if not _holds(frame, label)]
        ):
            return False
    return True


def _frame_around(middle: Point, size: Point) -> Frame:
    return middle[0] - size[0] / 2, middle[1] - size[1] / 2, size[0], size[1]


def _touch(one: Frame, other: Frame) -> bool:
    return all(one[side] < other[side] + other[side + 2] and other[side] < one[side] + one[side + 2] for side in (0, 1))


def _holds(one: Frame, other: Frame) -> bool:
    return all(
        one[side] <= other[side] and other[side] + other[side + 2] <= one[side] + one[side + 2] for side in (0, 1)
    )


def _page(scene: Scene, direction: str, flat: bool, dot_output: dict[str, Any]) -> Page:
    """The places that dot told."""
    _, _, across, down = map(float, dot_output["bb"].split(","))
    depth = max((len(box.scope) for box in scene.boxes), default=0)
    beside, above = MARGIN + PAD * depth, MARGIN + HEAD * depth + 1.6 * LINE * bool(scene.title)
    title, lines = bool(scene.title), heading(scene)
    widths = [text_width(line, SMALL if index or not title else TITLE) for index, line in enumerate(lines)]
    below = LINE * (len(lines) - title) + beside
    page = Page(scene, direction, flat, max([across, *widths]) + 2 * beside, above + down + below)

    def at(text: str) -> Point:
        x, y = text.split(",")
        return beside + float(x), above + down - float(y)

    for entry in dot_output.get("objects", ()):
        name = entry["name"]
        if name.startswith("cluster_"):
            left, low, right, high = map(float, entry["bb"].split(","))
            page.frames[name[8:]] = beside + left, above + down - high, right - left, high - low
        elif name.startswith(ON):
            page.labels[name[len(ON) :]] = at(entry["pos"])
        elif "pos" in entry:
            page.boxes[name] = at(entry["pos"])
    for edge in dot_output.get("edges", ()):
        if "id" in edge:
            _add_arrow(page, edge, at)
    return page


def _add_arrow(page: Page, edge: dict[str, Any], to_point: Any) -> None:
    """Its curve, or the half of it before or behind its label."""
    name = edge["id"]
    for spline in edge["pos"].split(";"):
        tip, points = None, spline.split()
        while points[0][:2] in ("e,", "s,"):
            mark = points.pop(0)
            tip = to_point(mark[2:]) if mark[0] == "e" else tip
        spots = [to_point(point) for point in points]
        (x, y), *rest = spots
        drawn = f"M{x:.1f},{y:.1f} C" + " ".join(f"{a:.1f},{b:.1f}" for a, b in rest)
        page.curves[name] = " ".join(filter(None, [page.curves.get(name, ""), drawn]))
        if tip is not None:
            page.heads[name] = _head(spots[-1], tip)


def _head(base: Point, tip: Point) -> list[Point]:
    """The three corners of an arrowhead."""
    (x, y), (a, b) = base, tip
    long = hypot(a - x, b - y) or 1.0
    across, down = (b - y) / long * 2.5, (a - x) / long * 2.5
    return [tip, (x + across, y - down), (x - across, y + down)]
