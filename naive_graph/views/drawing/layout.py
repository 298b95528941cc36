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
        if _framed(page):
            return page
    return _page(scene, direction, flat, places(text))


def _framed(page: Page) -> bool:
    """Draw the frames around their boxes; False if one would touch what is not in it."""
    inside: dict[str, list[Frame]] = {}
    boxes = [(box.scope, _around(page.boxes[box.id], box_size(box, page.flat))) for box in page.scene.boxes]
    scopes = {name: box.scope[:at] for box in page.scene.boxes for at, name in enumerate(box.scope)}
    for path, (left, top, wide, high) in boxes:
        for name in path:
            inside.setdefault(name, []).append((left, top, wide, high))
    for name in sorted(scopes, key=lambda each: len(scopes[each]), reverse=True):
        left, top = (min(each[side] for each in inside[name]) for side in (0, 1))
        right, end = (max(each[side] + each[side + 2] for each in inside[name]) for side in (0, 1))
        title = text_width(page.scene.scope_names[name], SMALL) + 16
        frame = left - PAD, top - HEAD, max(right - left + 2 * PAD, title), end - top + HEAD + PAD
        page.frames[name], page.wide = frame, max(page.wide, left - PAD + frame[2] + MARGIN)
        for outer in scopes[name]:
            inside[outer].append(frame)
    labels = [_around(at, (30.0, LINE)) for at in page.labels.values()]
    for name, frame in page.frames.items():
        apart = [each for other, each in page.frames.items() if name not in (*scopes[other], other)]
        apart = [each for each in apart if not _holds(each, frame)] + [box for path, box in boxes if name not in path]
        if any(_touch(frame, each) for each in apart + [label for label in labels if not _holds(frame, label)]):
            return False
    return True


def _around(at: Point, size: Point) -> Frame:
    return at[0] - size[0] / 2, at[1] - size[1] / 2, size[0], size[1]


def _touch(one: Frame, other: Frame) -> bool:
    return all(one[at] < other[at] + other[at + 2] and other[at] < one[at] + one[at + 2] for at in (0, 1))


def _holds(one: Frame, other: Frame) -> bool:
    return all(one[at] <= other[at] and other[at] + other[at + 2] <= one[at] + one[at + 2] for at in (0, 1))


def _page(scene: Scene, direction: str, flat: bool, told: dict[str, Any]) -> Page:
    """The places that dot told."""
    _, _, across, down = map(float, told["bb"].split(","))
    depth = max((len(box.scope) for box in scene.boxes), default=0)
    beside, above = MARGIN + PAD * depth, MARGIN + HEAD * depth + 1.6 * LINE * bool(scene.title)
    title, lines = bool(scene.title), heading(scene)
    widths = [text_width(line, SMALL if at or not title else TITLE) for at, line in enumerate(lines)]
    below = LINE * (len(lines) - title) + beside
    page = Page(scene, direction, flat, max([across, *widths]) + 2 * beside, above + down + below)

    def at(text: str) -> Point:
        x, y = text.split(",")
        return beside + float(x), above + down - float(y)

    for each in told.get("objects", ()):
        name = each["name"]
        if name.startswith("cluster_"):
            left, low, right, high = map(float, each["bb"].split(","))
            page.frames[name[8:]] = beside + left, above + down - high, right - left, high - low
        elif name.startswith(ON):
            page.labels[name[len(ON) :]] = at(each["pos"])
        elif "pos" in each:
            page.boxes[name] = at(each["pos"])
    for each in told.get("edges", ()):
        if "id" in each:
            _add_arrow(page, each, at)
    return page


def _add_arrow(page: Page, each: dict[str, Any], at: Any) -> None:
    """Its curve, or the half of it before or behind its label."""
    name = each["id"]
    for spline in each["pos"].split(";"):
        tip, points = None, spline.split()
        while points[0][:2] in ("e,", "s,"):
            mark = points.pop(0)
            tip = at(mark[2:]) if mark[0] == "e" else tip
        spots = [at(point) for point in points]
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
