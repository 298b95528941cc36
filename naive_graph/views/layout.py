"""A layered layout of our own, for when graphviz is missing or would take too long.

Each box stands one layer after the last of its sources; within a layer, boxes
move towards the middle of their neighbours, twice there and back. Source: K.
Sugiyama et al., IEEE Trans. SMC 11 (1981).
"""

from __future__ import annotations

import unicodedata
from collections import defaultdict, deque
from xml.sax.saxutils import escape, quoteattr

from .scene import Arrow, Box, Scene

LINE, LETTER, GAP, LAYER = 15.0, 7.0, 14.0, 70.0
FILLS = {
    "constant": ("#f2f2f2", "#808080"), "variable": ("#d6ebf7", "#0072b2"), "placeholder": ("#fdf3d0", "#b37400"),
    "operator": ("#ffffff", "#333333"), "scope": ("#e5f3ee", "#009e73"), "rest": ("none", "none"),
}  # fmt: skip


def layered_svg(scene: Scene, direction: str) -> str:
    """The scene as SVG text; `direction` "LR" runs from left to right, "TB" from top to bottom."""
    layers = arrange(scene)
    down = direction in ("TB", "BT")
    spots = _spots(layers, down)
    if direction in ("RL", "BT"):
        spots = _mirrored(spots, down)
    boxes = {box.id: box for box in scene.boxes}
    width = max((x + _width(boxes[name]) / 2 for name, (x, _) in spots.items()), default=0.0) + 20
    height = max((y + _height(boxes[name]) / 2 for name, (_, y) in spots.items()), default=0.0) + 20
    heading = [line for line in (scene.title, scene.caption) if line]
    body = [_arrow_svg(arrow, spots, boxes, turn) for arrow, turn in _turns(scene.arrows)]
    body += [_box_svg(box, *spots[box.id]) for box in scene.boxes]
    for place, line in enumerate(heading):
        body.append(_text(10.0, height + LINE * (place + 1), line, "start"))
    width = max([width, *(LETTER * len(line) + 20 for line in heading)])
    height += LINE * (len(heading) + 1)
    return _document(width, height, body)


def arrange(scene: Scene) -> list[list[Box]]:
    """The boxes by layer, each layer in drawing order."""
    boxes = {box.id: box for box in scene.boxes}
    depth = _depths(scene)
    layers: list[list[Box]] = [[] for _ in range(max(depth.values(), default=-1) + 1)]
    for name, layer in depth.items():
        layers[layer].append(boxes[name])
    neighbours: dict[str, list[str]] = defaultdict(list)
    for arrow in scene.arrows:
        neighbours[arrow.source].append(arrow.target)
        neighbours[arrow.target].append(arrow.source)
    for _ in range(2):
        for order in (range(len(layers)), reversed(range(len(layers)))):
            for layer_index in order:
                _sort_layer(layers, layer_index, neighbours)
    return layers


def _depths(scene: Scene) -> dict[str, int]:
    """How many arrows lead to each box at most. Boxes on a cycle of folded scopes get what they have."""
    waiting = {box.id: 0 for box in scene.boxes}
    targets: dict[str, list[str]] = defaultdict(list)
    for arrow in scene.arrows:
        if arrow.source != arrow.target:
            waiting[arrow.target] += 1
            targets[arrow.source].append(arrow.target)
    depth = dict.fromkeys(waiting, 0)
    ready = deque(name for name, count in waiting.items() if count == 0)
    while ready:
        name = ready.popleft()
        for target in targets[name]:
            depth[target] = max(depth[target], depth[name] + 1)
            waiting[target] -= 1
            if waiting[target] == 0:
                ready.append(target)
    fed = {arrow.target for arrow in scene.arrows}
    for name in depth:  # a leaf stands just before its first consumer
        if name not in fed and targets[name]:
            depth[name] = min(depth[target] for target in targets[name]) - 1
    return depth


def _sort_layer(layers: list[list[Box]], index: int, neighbours: dict[str, list[str]]) -> None:
    place = {
        box.id: at / max(1, len(layer))
        for layer in layers[max(0, index - 1) : index + 2]
        for at, box in enumerate(layer)
    }
    own = {box.id for box in layers[index]}

    def middle(box: Box) -> float:
        near = [place[name] for name in neighbours[box.id] if name in place and name not in own]
        return sum(near) / len(near) if near else place[box.id]

    layers[index].sort(key=middle)


def _spots(layers: list[list[Box]], down: bool) -> dict[str, tuple[float, float]]:
    """The centre of each box."""
    spots: dict[str, tuple[float, float]] = {}
    across = _width if down else _height
    along = _height if down else _width
    lengths = [sum(across(box) + GAP for box in layer) for layer in layers]
    front = 20.0
    for layer, length in zip(layers, lengths):
        deep = max(along(box) for box in layer)
        at = 20.0 + (max(lengths) - length) / 2
        for box in layer:
            centre = (at + across(box) / 2, front + deep / 2)
            spots[box.id] = centre if down else (centre[1], centre[0])
            at += across(box) + GAP
        front += deep + LAYER
    return spots


def _mirrored(spots: dict[str, tuple[float, float]], down: bool) -> dict[str, tuple[float, float]]:
    far = max(spot[1 if down else 0] for spot in spots.values()) + 20.0
    return {name: (x, far - y) if down else (far - x, y) for name, (x, y) in spots.items()}


def _width(box: Box) -> float:
    letters = max(sum(2 if unicodedata.east_asian_width(each) in "WF" else 1 for each in line) for line in box.lines)
    return LETTER * letters + 18


def _height(box: Box) -> float:
    return LINE * len(box.lines) + 10


def _turns(arrows: list[Arrow]) -> list[tuple[Arrow, int]]:
    """Each arrow with its number among those between the same two boxes, so that they are drawn apart."""
    seen: dict[tuple[str, str], int] = defaultdict(int)
    result = []
    for arrow in arrows:
        result.append((arrow, seen[arrow.source, arrow.target]))
        seen[arrow.source, arrow.target] += 1
    return result


def _arrow_svg(arrow: Arrow, spots: dict[str, tuple[float, float]], boxes: dict[str, Box], turn: int) -> str:
    (x0, y0), (x1, y1) = spots[arrow.source], spots[arrow.target]
    x1, y1 = _border(x1, y1, x0, y0, boxes[arrow.target])
    x0, y0 = _border(x0, y0, x1, y1, boxes[arrow.source])
    bend = 16.0 * turn
    middle = ((x0 + x1) / 2, (y0 + y1) / 2 + bend)
    path = f"M{x0:.1f},{y0:.1f} Q{middle[0]:.1f},{middle[1] + bend:.1f} {x1:.1f},{y1:.1f}"
    label = _text(middle[0], middle[1] - 4, arrow.label, "middle") if arrow.label else ""
    line = f'<path d="{path}" fill="none" stroke="#555555" marker-end="url(#tip)"/>'
    return f"<g id={quoteattr(arrow.id)} class='edge'>{line}{label}</g>"


def _border(x: float, y: float, toward_x: float, toward_y: float, box: Box) -> tuple[float, float]:
    """Where the line from the centre towards a point leaves the box."""
    dx, dy = toward_x - x, toward_y - y
    reach = max(abs(dx) / (_width(box) / 2), abs(dy) / (_height(box) / 2))
    return (x + dx / reach, y + dy / reach) if reach > 1 else (x, y)


def _box_svg(box: Box, x: float, y: float) -> str:
    width, height = _width(box), _height(box)
    fill, line = FILLS[box.kind]
    corner = {"variable": height / 2, "operator": 6.0}.get(box.kind, 0.0)
    dashes = ' stroke-dasharray="4 3"' if box.kind == "constant" else ""
    shape = (
        f'<rect x="{x - width / 2:.1f}" y="{y - height / 2:.1f}" width="{width:.1f}" height="{height:.1f}" '
        f'rx="{corner:.1f}" fill="{fill}" stroke="{line}"{dashes}/>'
    )
    top = y - LINE * (len(box.lines) - 1) / 2 + 4
    lines = "".join(_text(x, top + LINE * place, text, "middle") for place, text in enumerate(box.lines))
    return f"<g id={quoteattr(box.id)} class='node'>{shape}{lines}</g>"


def _text(x: float, y: float, text: str, anchor: str) -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(text)}</text>'


def _document(width: float, height: float, body: list[str]) -> str:
    tip = (
        '<defs><marker id="tip" markerWidth="8" markerHeight="8" refX="7" refY="4" orient="auto">'
        '<path d="M0,0 L8,4 L0,8 z" fill="#555555"/></marker></defs>'
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height:.0f}" '
        f'viewBox="0 0 {width:.0f} {height:.0f}" font-family="Helvetica,Arial,sans-serif" font-size="12">'
        f'{tip}<rect width="100%" height="100%" fill="white"/>' + "\n".join(body) + "</svg>\n"
    )
