"""Our own layout as SVG text: boxes, curves, frames, and the title and caption."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable
from itertools import pairwise
from xml.sax.saxutils import escape, quoteattr

from .dot import heading
from .layers import Point
from .layout import DETOUR, Layout, arrange, box_size
from .lettering import columns
from .look import FONT, LETTER, LIGHT, LINE, LOOKS, SMALL, TEXT, TITLE, Look
from .scene import Arrow, Box, Scene

MARGIN = 16.0
HALO = 'paint-order="stroke" stroke="#ffffff" stroke-width="3"'  # a label stays legible on a line

Turn = Callable[[Point], Point]


def layered_svg(scene: Scene, direction: str) -> str:
    """The scene as SVG text; `direction` "LR" runs from left to right, "TB" from top to bottom."""
    down = direction in ("TB", "BT")
    layout = arrange(scene, direction)
    title, caption = heading(scene)[: bool(scene.title)], heading(scene)[bool(scene.title) :]
    top = MARGIN + 1.6 * LINE * len(title)
    turn = _turn(layout, direction, top)
    body = [_frame(name, corners, scene, turn) for name, corners in layout.frames.items()]
    body += _arrows(scene, layout, turn)
    body += [_box(box, *turn(layout.spots[box.id])) for box in scene.boxes]
    wide, high = (layout.breadth, layout.length) if down else (layout.length, layout.breadth)
    wide = max(wide, LETTER * columns([*title, *title, *caption]) * 1.1)
    body += [_text(MARGIN, MARGIN + LINE, line, f'font-size="{TITLE}"') for line in title]
    body += [_text(MARGIN, top + high + LINE * (1.4 + place), line) for place, line in enumerate(caption)]
    return _document(wide + 2 * MARGIN, top + high + LINE * (len(caption) + 0.4 * bool(caption)) + MARGIN, body)


def _turn(layout: Layout, direction: str, top: float) -> Turn:
    """From (along, across) to (x, y) on the page."""

    def turn(point: Point) -> Point:
        along, across = point
        along = layout.length - along if direction in ("RL", "BT") else along
        x, y = (across, along) if direction in ("TB", "BT") else (along, across)
        return x + MARGIN, y + top

    return turn


def _arrows(scene: Scene, layout: Layout, turn: Turn) -> list[str]:
    """All arrows, those of a cycle that was drawn by hand going back round the boxes."""
    leave, arrive = _ports(layout, 0, 1), _ports(layout, -1, -2)
    twins = Counter((arrow.source, arrow.target) for arrow in scene.arrows)
    turns: Counter[tuple[str, str]] = Counter()
    drawn = []
    for arrow in scene.arrows:
        start, end = layout.spots[arrow.source], layout.spots[arrow.target]
        half = layout.sizes[arrow.source][0] / 2
        tip = (end[0] - layout.sizes[arrow.target][0] / 2, end[1] + arrive[arrow.id])
        pair = (arrow.source, arrow.target)
        turns[pair] += 1
        if start[0] >= end[0]:
            low = max(start[1], end[1]) + DETOUR + layout.sizes[arrow.source][1] / 2
            curve = [start, (start[0] + half + DETOUR, low), (tip[0] - DETOUR, low), tip]
        else:
            tail = (start[0] + half, start[1] + leave[arrow.id])
            curve = _smooth([tail, *(layout.spots[name] for name in layout.routes[arrow.id][1:-1]), tip])
            curve[0] = (tail[0] - min(half, 14.0), tail[1])  # hidden under the box, whose side may be round
            curve.insert(1, tail)
        drawn.append(_arrow(arrow, curve, turns[pair] / (twins[pair] + 1), turn))
    return drawn


def _ports(layout: Layout, end: int, next_to_end: int) -> dict[str, float]:
    """How far from the middle of its box each arrow begins or ends, in the order in which they come."""
    meeting: dict[str, list[str]] = defaultdict(list)
    for name, route in layout.routes.items():
        meeting[route[end]].append(name)
    ports = {}
    for box, names in meeting.items():
        names.sort(key=lambda name: layout.spots[layout.routes[name][next_to_end]][1])
        room = 0.7 * layout.sizes[box][1]
        for place, name in enumerate(names):
            ports[name] = room * ((place + 1) / (len(names) + 1) - 0.5) if len(names) > 1 else 0.0
    return ports


def _smooth(points: list[Point]) -> list[Point]:
    """The first point, then two controls and an end for each stretch of the curve."""
    curve = [points[0]]
    for (a0, c0), (a1, c1) in pairwise(points):
        middle = (a0 + a1) / 2
        curve += [(middle, c0), (middle, c1), (a1, c1)]
    return curve


def _arrow(arrow: Arrow, curve: list[Point], share: float, turn: Turn) -> str:
    """An arrow along the curve, with its label at that share of the last stretch."""
    points = [f"{x:.1f},{y:.1f}" for x, y in map(turn, curve)]
    first = len(points) % 3  # 2 if a straight line leads to the start of the curve
    path = " L".join(points[:first]) + "".join(
        f" C{' '.join(points[at : at + 3])}" for at in range(first, len(points), 3)
    )
    drawn = f'<path d="M{path}" fill="none" stroke="{LIGHT["soft"]}" marker-end="url(#tip)"/>'
    tip = curve[-1]
    if arrow.place:
        drawn += _ordinal(arrow.place, turn(tip), turn((tip[0] - 9, tip[1])))
    if arrow.label:
        style = f'font-size="{SMALL}" fill="{LIGHT["gradient"]}" {HALO}'
        drawn += _text(*turn(_bezier(curve[-4:], share)), arrow.label, style, "middle")
    return f"<g id={quoteattr(arrow.id)} class='edge'>{drawn}</g>"


def _bezier(points: list[Point], at: float) -> Point:
    """The point of a cubic curve at a share of its way, by halving again and again. Source: P. de Casteljau, 1959."""
    while len(points) > 1:
        points = [(a + at * (c - a), b + at * (d - b)) for (a, b), (c, d) in pairwise(points)]
    return points[0]


def _ordinal(text: str, tip: Point, before: Point) -> str:
    """Beside the tip of an arrow, on the side from which it comes."""
    style = f'font-size="{SMALL}" fill="{LIGHT["soft"]}" {HALO}'
    (x, y), (dx, dy) = before, (before[0] - tip[0], before[1] - tip[1])
    if abs(dx) > abs(dy):
        return _text(x, y - 5, text, style, "end" if dx < 0 else "start")
    return _text(x + 5, y + 3, text, style)


def _box(box: Box, x: float, y: float) -> str:
    wide, high = box_size(box)
    look = LOOKS[box.kind]
    top = y - LINE * (len(box.lines) - 1) / 2 + 4
    lines = "".join(
        _text(x, top + LINE * place, text, f'fill="{LIGHT[look.ink]}"', "middle")
        for place, text in enumerate(box.lines)
    )
    return f"<g id={quoteattr(box.id)} class='node'>{_shape(look, x, y, wide, high)}{lines}</g>"


def _shape(look: Look, x: float, y: float, wide: float, high: float) -> str:
    dashes = {"dashed": ' stroke-dasharray="4 3"', "dotted": ' stroke-dasharray="1 3"'}.get(look.outline, "")
    ink = f'fill="{look.fill}" stroke="{look.line}" stroke-width="{look.thickness}"{dashes}'
    left, top, right, bottom = x - wide / 2, y - high / 2, x + wide / 2, y + high / 2
    if look.shape == "hexagon":
        corners = [(left, y), (left + 9, top), (right - 9, top), (right, y), (right - 9, bottom), (left + 9, bottom)]
        return f'<polygon points="{" ".join(f"{a:.1f},{b:.1f}" for a, b in corners)}" {ink}/>'
    corner = {"ellipse": high / 2, "rounded": 6.0}.get(look.shape, 0.0)
    behind = _rectangle(left + 4, top - 4, wide, high, corner, ink) if look.shape == "box3d" else ""
    return behind + _rectangle(left, top, wide, high, corner, ink)


def _rectangle(left: float, top: float, wide: float, high: float, corner: float, ink: str) -> str:
    return f'<rect x="{left:.1f}" y="{top:.1f}" width="{wide:.1f}" height="{high:.1f}" rx="{corner:.1f}" {ink}/>'


def _frame(name: str, corners: tuple[Point, Point], scene: Scene, turn: Turn) -> str:
    (x0, y0), (x1, y1) = map(turn, corners)
    left, top = min(x0, x1), min(y0, y1)
    shape = _rectangle(left, top, abs(x1 - x0), abs(y1 - y0), 8.0, f'fill="none" stroke="{LIGHT["scope"]}"')
    label = _text(left + 8, top + 15, scene.scope_names[name], f'font-size="{SMALL}"')
    return f"<g id={quoteattr(name)} class='cluster'>{shape}{label}</g>"


def _text(x: float, y: float, text: str, style: str = "", anchor: str = "start") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" {style}>{escape(text)}</text>'


def _document(width: float, height: float, body: list[str]) -> str:
    tip = (
        '<defs><marker id="tip" markerWidth="8" markerHeight="8" refX="7" refY="4" orient="auto">'
        f'<path d="M0,0 L8,4 L0,8 z" fill="{LIGHT["soft"]}"/></marker></defs>'
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height:.0f}" '
        f'viewBox="0 0 {width:.0f} {height:.0f}" font-family={quoteattr(FONT)} font-size="{TEXT}">'
        f'{tip}<rect width="100%" height="100%" fill="{LIGHT["ground"]}"/>\n' + "\n".join(body) + "</svg>\n"
    )
