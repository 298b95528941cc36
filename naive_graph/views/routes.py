"""The laid-out page: where each box, arrow, label and frame is, in pixels from the upper left corner."""

from __future__ import annotations

import textwrap
from collections import Counter, defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise

from .layers import Point
from .layout import DETOUR, Layout, arrange
from .lettering import text_width
from .look import COLOURS, LINE, SMALL, TITLE, heat
from .scene import Arrow, Box, Cell, Scene

MARGIN = 16.0
TIP = 7.0  # the length of an arrowhead
FAN = 0.25  # of a gap: how far from its middle the outermost arrows of a fan turn

Turn = Callable[[Point], Point]


@dataclass
class Page:
    """A scene with its places. Curves are a point, then two controls and a point for each stretch."""

    scene: Scene
    wide: float
    high: float
    title: list[str]
    caption: list[str]
    boxes: dict[str, tuple[float, float, float, float]] = field(default_factory=dict)  # centre, width, height
    curves: dict[str, list[Point]] = field(default_factory=dict)
    labels: dict[str, Point] = field(default_factory=dict)  # the middle of each
    places: dict[str, Point] = field(default_factory=dict)  # the middle of each ordinal, inside its box
    frames: dict[str, tuple[float, float, float, float]] = field(default_factory=dict)  # left, top, right, bottom

    @cached_property
    def shapes(self) -> dict[str, str]:
        """The shape of each box."""
        return {box.id: box.look.shape for box in self.scene.boxes}

    def cells(self, box: Box) -> list[tuple[str, Cell, float, float, float, float]]:
        """Each cell of the box's matrix: its id, what it is, and its left, top, width and height."""
        if not box.grid:
            return []
        x, y, _, high = self.boxes[box.id]
        across, tall = box.grid.size
        left, top = x - across * box.grid.columns / 2, y + high / 2 - 8 - tall * box.grid.rows
        return [
            (f"{box.id}-cell-{place}", cell, left + cell.column * across, top + cell.row * tall, across, tall)
            for place, cell in enumerate(box.grid.cells)
        ]


def paged(scene: Scene, direction: str) -> Page:
    """Lay a scene out; `direction` "LR" runs from left to right, "TB" from top to bottom."""
    layout, down = arrange(scene, direction), direction in ("TB", "BT")
    title, caption = ([scene.title] if scene.title else []), textwrap.wrap(scene.caption, 90)
    top = MARGIN + 1.6 * LINE * len(title)
    turn = _turn(layout, direction, top)
    wide, high = (layout.breadth, layout.length) if down else (layout.length, layout.breadth)
    texts = [*(text_width(line, TITLE) for line in title), *(text_width(line, SMALL) for line in caption)]
    wide, high = max([wide, *texts]), top + high + LINE * (len(caption) + 0.4 * bool(caption))
    page = Page(scene, wide + 2 * MARGIN, high + MARGIN, title, caption)
    for box in scene.boxes:
        length, breadth = layout.sizes[box.id]
        page.boxes[box.id] = (*turn(layout.spots[box.id]), *((breadth, length) if down else (length, breadth)))
    for name, (low, far) in layout.frames.items():
        (x0, y0), (x1, y1) = turn(low), turn(far)
        page.frames[name] = (min(x0, x1), min(y0, y1), max(x0, x1), max(y0, y1))
    _add_arrows(page, layout, turn, down)
    return page


def ground(cell: Cell) -> tuple[str, str]:
    """The colour of a cell, light and dark."""
    if cell.share is None:
        return COLOURS["wrong-ground" if cell.known else "ground"]
    return heat(cell.share)


def _turn(layout: Layout, direction: str, top: float) -> Turn:
    """From (along, across) to (x, y) on the page."""

    def turn(point: Point) -> Point:
        along, across = point
        along = layout.length - along if direction in ("RL", "BT") else along
        x, y = (across, along) if direction in ("TB", "BT") else (along, across)
        return x + MARGIN, y + top

    return turn


def _add_arrows(page: Page, layout: Layout, turn: Turn, down: bool) -> None:
    """All arrows, those of a cycle that was drawn by hand going back round the boxes."""
    (leave, spread), (arrive, gathered) = _ports(layout, 0, 1), _ports(layout, -1, -2)
    twins = Counter((arrow.source, arrow.target) for arrow in page.scene.arrows)
    turns: Counter[tuple[str, str]] = Counter()
    for arrow in page.scene.arrows:
        start, end = layout.spots[arrow.source], layout.spots[arrow.target]
        tail = _at_outline(page, layout, arrow, leave[arrow.id], 1, down)
        tip = _at_outline(page, layout, arrow, arrive[arrow.id], -1, down)
        turns[arrow.source, arrow.target] += 1
        if start[0] >= end[0]:
            low = max(start[1], end[1]) + DETOUR + layout.sizes[arrow.source][1] / 2
            curve = [tail, (tail[0] + DETOUR, low), (tip[0] - DETOUR, low), tip]
        else:
            stops = [end for name in layout.routes[arrow.id][1:-1] for end in _ends(layout, name)]
            curve = _smooth([tail, *stops, tip], FAN * spread[arrow.id], FAN * gathered[arrow.id])
        page.curves[arrow.id] = list(map(turn, curve))
        if arrow.label:
            share = turns[arrow.source, arrow.target] / (twins[arrow.source, arrow.target] + 1)
            page.labels[arrow.id] = turn(_bezier(curve[-4:], share))
        if arrow.place:
            inside = (tip[0] + (SMALL - 2 if down else 14.0), end[1] + arrive[arrow.id])
            page.places[arrow.id] = turn(inside)


def _at_outline(page: Page, layout: Layout, arrow: Arrow, port: float, side: int, down: bool) -> Point:
    """Where an arrow touches its box, a port's distance from the middle of the side; an ellipse is round there."""
    name = arrow.source if side > 0 else arrow.target
    (along, across), (length, breadth) = layout.spots[name], layout.sizes[name]
    half = length / 2
    if page.shapes[name] == "ellipse" and breadth:
        half *= (1 - (2 * port / breadth) ** 2) ** 0.5
    return along + side * half, across + port


def _ports(layout: Layout, end: int, next_to_end: int) -> tuple[dict[str, float], dict[str, float]]:
    """For each arrow how far from the middle of its box it begins or ends, in the order in which they come.

    Then how far out it is among the others there, from 0 in the middle to 1.
    """
    meeting: dict[str, list[str]] = defaultdict(list)
    for name, route in layout.routes.items():
        meeting[route[end]].append(name)
    ports, outward = {}, {}
    for box, names in meeting.items():
        names.sort(key=lambda name: layout.spots[layout.routes[name][next_to_end]][1])
        room = 0.8 * layout.sizes[box][1]
        for place, name in enumerate(names):
            share = (place + 0.5) / len(names) - 0.5
            ports[name], outward[name] = room * share, 2 * abs(share)
    return ports, outward


def _ends(layout: Layout, stop: str) -> list[Point]:
    """Where an arrow enters a layer between, and where it leaves it."""
    (along, across), half = layout.spots[stop], layout.sizes[stop][0] / 2
    return [(along - half, across), (along + half, across)]


def _smooth(points: list[Point], early: float, late: float) -> list[Point]:
    """The first point, then two controls and an end for each stretch of the curve.

    It turns in the middle of each stretch; in the first so much earlier, in the
    last so much later, that those of a fan neither cross nor run into each other.
    """
    curve = [points[0]]
    for place, ((a0, c0), (a1, c1)) in enumerate(pairwise(points)):
        share = 0.5 - early * (place == 0) + late * (place == len(points) - 2)
        middle = a0 + share * (a1 - a0)
        curve += [(middle, c0), (middle, c1), (a1, c1)]
    return curve


def _bezier(points: list[Point], at: float) -> Point:
    """The point of a cubic curve at a share of its way, by halving again and again. Source: P. de Casteljau, 1959."""
    while len(points) > 1:
        points = [(a + at * (c - a), b + at * (d - b)) for (a, b), (c, d) in pairwise(points)]
    return points[0]
