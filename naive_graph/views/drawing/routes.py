"""The laid-out page: where each box, arrow, label and frame is, in pixels from the upper left corner."""

from __future__ import annotations

import textwrap
from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from ..look import COLOURS, LINE, SMALL, TITLE, heat
from .layers import Point
from .layout import Layout, arrange
from .lettering import text_width
from .scene import Arrow, Box, Cell, Scene

MARGIN = 16.0
TIP = 7.0  # the length of an arrowhead
ROUND = 1.2  # of a gap: where the controls are of an arrow that turns round in it
TURNING = 0.7  # of a gap: where arrows turn, one after the other

Turn = Callable[[Point], Point]
Bend = list[Any]  # from which box or stopover to which, from which height to which, and where in the gap


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
    """All arrows. They turn between the layers alone, so that they pass nothing that stands in one."""
    leave, arrive = _ports(layout, 0, 1), _ports(layout, -1, -2)
    tails = {each.id: _at_outline(page, layout, each, leave[each.id], 1, down) for each in page.scene.arrows}
    tips = {each.id: _at_outline(page, layout, each, arrive[each.id], -1, down) for each in page.scene.arrows}
    turns = _turns(layout, tails, tips)
    for arrow in page.scene.arrows:
        name, tail, tip = arrow.id, tails[arrow.id], tips[arrow.id]
        curve = [tail]
        for one, other, at, to, share in turns[name]:
            if at == to and (one in layout.back) == (other in layout.back):
                continue  # straight on
            start, *bend = _bend(layout, one, other, at, to, share)
            curve += [*_straight(curve[-1], start), *bend]
        curve += _straight(curve[-1], tip)
        page.curves[name] = list(map(turn, curve))
        if arrow.label:
            middle = (tail[0] + tip[0]) / 2, (tail[1] + tip[1]) / 2  # where arrows run straight
            page.labels[name] = turn(layout.spots[layout.labels[name]] if name in layout.labels else middle)
        if arrow.place:
            page.places[name] = turn((tip[0] + (SMALL - 2 if down else 14.0), tip[1]))


def _turns(layout: Layout, tails: Mapping[str, Point], tips: Mapping[str, Point]) -> dict[str, list[Bend]]:
    """Each way of an arrow from layer to layer, and where in the gap it turns.

    Of those that go one way the foremost turns first, so that none crosses another or runs into it.
    """
    found, turning = defaultdict[str, list[Bend]](list), defaultdict[tuple[int, bool], list[Bend]](list)
    known = dict[tuple[Any, ...], Bend]()
    for name, route in layout.routes.items():
        heights = [tails[name][1], *(layout.spots[stop][1] for stop in route[1:-1]), tips[name][1]]
        for one, other, at, to in zip(route, route[1:], heights, heights[1:]):
            shared = (one, other, at, to) in known
            bend = known.setdefault((one, other, at, to), [one, other, at, to, 0.5])
            found[name].append(bend)
            if abs(to - at) > 1 and not shared:
                turning[max(layout.depth[one], layout.depth[other]), to > at].append(bend)
    for (_, down), bends in turning.items():
        for abreast in _abreast(bends):
            for place, bend in enumerate(sorted(abreast, key=lambda bend: bend[2:4], reverse=down)):
                bend[4] = 0.5 + TURNING * ((place + 0.5) / len(abreast) - 0.5)
    return found


def _abreast(bends: list[Bend]) -> list[list[Bend]]:
    """Those that reach the same heights together."""
    groups, reach = list[list[Bend]](), float("-inf")
    for bend in sorted(bends, key=lambda bend: min(bend[2:4])):
        if min(bend[2:4]) > reach:
            groups.append([])
        groups[-1].append(bend)
        reach = max(reach, *bend[2:4])
    return groups


def _bend(layout: Layout, one: str, other: str, at: float, to: float, share: float) -> list[Point]:
    """From one layer to the next, or round to go back: a point, then two controls and an end."""
    before, behind = one in layout.back, other in layout.back
    (start, end), (_, far) = layout.turns[layout.depth[one] + (not before)], layout.turns[layout.depth[other] + behind]
    if before != behind:  # round, on the side that is away from the layer
        near, out = (start, start + ROUND * (end - start)) if behind else (end, end - ROUND * (end - start))
        return [(near, at), (out, at), (out, to), (near, to)]
    start, far = (end, start) if before else (start, far)
    middle = start + share * (far - start)
    return [(start, at), (middle, at), (middle, to), (far, to)]


def _straight(one: Point, other: Point) -> list[Point]:
    """A straight stretch: two controls and an end; nothing if it has no length."""
    (a, at), (b, to) = one, other
    return [((2 * a + b) / 3, at), ((a + 2 * b) / 3, to), other] if abs(b - a) > 0.1 else []


def _at_outline(page: Page, layout: Layout, arrow: Arrow, port: float, side: int, down: bool) -> Point:
    """Where an arrow touches its box, a port's distance from the middle of the side; some are round there."""
    name = arrow.source if side > 0 else arrow.target
    (along, across), (length, breadth) = layout.spots[name], layout.sizes[name]
    half = length / 2
    if page.shapes[name] == "ellipse" and breadth:
        half *= (1 - (2 * port / breadth) ** 2) ** 0.5
    elif page.shapes[name] == "hexagon":
        half *= min(1.0, 2 - 4 * abs(port) / breadth) if down else 1 - abs(port) / breadth
    return along + side * half, across + port


def _ports(layout: Layout, end: int, next_to_end: int) -> dict[str, float]:
    """For each arrow how far from the middle of its box it begins or ends, in the order in which they come."""
    meeting: dict[str, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    for name, route in layout.routes.items():
        leaves = end == 0 and len(route) > 2  # perhaps by a way that it shares
        meeting[route[end]][route[1] if leaves else name].append(name)
    ports: dict[str, float] = {}
    for box, groups in meeting.items():
        ways = sorted(groups.values(), key=lambda names: layout.spots[layout.routes[names[0]][next_to_end]][1])
        for place, names in enumerate(ways):
            ports |= dict.fromkeys(names, 0.8 * layout.sizes[box][1] * ((place + 0.5) / len(ways) - 0.5))
    return ports
