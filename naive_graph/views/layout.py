"""A layered layout: graphviz draws what is placed here, and where it is missing `ink` does.

A long arrow gets a stopover in every layer that it crosses, so that it passes
between the boxes. Each scope has a band of its own across the layers, so that
its frame holds its boxes and no others. All is measured *along* the arrows and
*across* them; `routes` turns the page.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from .folding import by_scope, shared
from .layers import Point, depths, neighbours, set_band, written_order
from .lettering import text_width
from .look import GAP, LINE, SMALL
from .scene import Arrow, Box, Scene

FRAME_PAD, FRAME_HEAD = 12.0, 24.0
THIN, APART = 4.0, 7.0  # a stopover's breadth; between arrows that arrive at one box
WIDEST = 110.0  # a gap in which a fan of arrows turns
DETOUR = 40.0  # how far an arrow of a cycle goes round the boxes
MOST_STOPS = 20_000  # beyond which long arrows run straight

Path = tuple[str, ...]  # of scopes, outermost first


@dataclass
class Layout:
    """Where everything is."""

    sizes: dict[str, Point] = field(default_factory=dict)  # of boxes: along, across
    spots: dict[str, Point] = field(default_factory=dict)  # centres of boxes and stopovers
    routes: dict[str, list[str]] = field(default_factory=dict)  # arrow -> source, stopovers, target
    frames: dict[str, tuple[Point, Point]] = field(default_factory=dict)  # of open scopes: two corners
    length: float = 0.0
    breadth: float = 0.0


def arrange(scene: Scene, direction: str) -> Layout:
    """Give every box, stopover and frame its place."""
    layout, down = Layout(), direction in ("TB", "BT")
    ports = Counter(arrow.target for arrow in scene.arrows if arrow.place)
    into, out = (Counter(arrow.target for arrow in scene.arrows), Counter(arrow.source for arrow in scene.arrows))
    boxes = {box.id: box for box in scene.boxes}
    for name, box in boxes.items():
        wide, high = box_size(box, ports[name], down)
        room = APART * max(into[name], out[name])  # arrows side by side
        layout.sizes[name] = (high, max(wide, room)) if down else (wide, max(high, room))
    depth, scopes = depths(scene), {box.id: box.scope for box in scene.boxes}
    _add_routes(scene.arrows, layout, depth, scopes)
    bands = _bands(layout, depth, scopes)
    along = _layers(scene, layout, depth, down)
    ends = _frame_ends(scene, layout, depth, along, direction)
    _stack(scene, layout, bands, ends, along, depth, down)
    for name, (_, centre) in layout.spots.items():
        start, size = along[depth[name]]
        layout.spots[name] = (start + size / 2, centre)
        if name not in boxes:  # a stopover: straight through its layer, between the boxes there
            layout.sizes[name] = (size, THIN)
    return layout


def box_size(box: Box, ports: int = 0, down: bool = False) -> Point:
    """How wide and how high a box is; ports: operands that are numbered inside it, where their arrows arrive."""
    wide, high = max(map(text_width, box.lines), default=0.0) + 16, LINE * len(box.lines) + 8.0
    shape = box.look.shape
    if box.grid:
        across, tall = box.grid.size
        wide, high = max(wide, across * box.grid.columns + 20), high + tall * box.grid.rows + 8
    if shape == "ellipse":
        wide, high = 1.2 * wide, 1.25 * high
    elif shape in ("hexagon", "box3d"):
        wide += 18
    if ports and down:
        return max(wide, 28.0 * ports), high + 2 * SMALL
    return (wide + 48, max(high, (SMALL + 3.0) * ports)) if ports else (wide, high)


def _bands(layout: Layout, depth: Mapping[str, int], scopes: Mapping[str, Path]) -> dict[Path, dict[str, float]]:
    """For each scope the places across, from 0, of what is directly in it."""
    members: dict[Path, list[str]] = {path: [] for path in by_scope(scopes.values())}
    for name in sorted(scopes, key=written_order(scopes, layout.routes.values()).__getitem__):
        members[scopes[name]].append(name)
    near = neighbours(layout.routes.values())
    return {path: set_band(names, depth, near, layout.sizes) for path, names in members.items()}


def _add_routes(arrows: Sequence[Arrow], layout: Layout, depth: dict[str, int], scopes: dict[str, Path]) -> None:
    """Let each long arrow stop over in every layer between: in its target's scope or its source's, or around both."""
    reach: dict[Path, Point] = {}  # the first and the last layer of each scope
    for name, path in scopes.items():
        for size in range(1, len(path) + 1):
            low, high = reach.get(path[:size], (depth[name], depth[name]))
            reach[path[:size]] = (min(low, depth[name]), max(high, depth[name]))
    between = sum(max(0, depth[arrow.target] - depth[arrow.source] - 1) for arrow in arrows)
    for arrow in arrows:
        layout.routes[arrow.id] = [arrow.source, arrow.target]
        if between > MOST_STOPS:
            continue
        ends = scopes[arrow.target], scopes[arrow.source]
        common = shared(*ends)
        homes = [path[: common + 1] for path in ends if len(path) > common]
        for layer in range(depth[arrow.source] + 1, depth[arrow.target]):
            stop = f"{arrow.id}@{layer}"
            inside = (home for home in homes if reach[home][0] <= layer <= reach[home][1])
            layout.sizes[stop], depth[stop] = (0.0, THIN), layer
            scopes[stop] = next(inside, ends[0][:common])
            layout.routes[arrow.id].insert(-1, stop)


def _layers(scene: Scene, layout: Layout, depth: Mapping[str, int], down: bool) -> dict[int, Point]:
    """Where each layer starts along the arrows, and how long it is."""
    lengths: dict[int, float] = defaultdict(float)
    for name, layer in depth.items():
        lengths[layer] = max(lengths[layer], layout.sizes[name][0])
    nested = max((len(box.scope) for box in scene.boxes), default=0)
    gaps: dict[int, float] = defaultdict(lambda: max(40.0, 2 * FRAME_HEAD * min(nested, 4)))
    for arrow in scene.arrows:
        label = 0.0 if down or not arrow.label else text_width(arrow.label, SMALL) + 40
        gaps[depth[arrow.target]] = max(gaps[depth[arrow.target]], label)
    fans = Counter(name for arrow in scene.arrows for name in {arrow.target, f"from {arrow.source}"})
    for arrow in scene.arrows:
        for layer, fan in ((depth[arrow.target], arrow.target), (depth[arrow.source] + 1, f"from {arrow.source}")):
            gaps[layer] = max(gaps[layer], min(WIDEST, 40.0 + 3 * fans[fan]))
    detour = DETOUR if any(depth[arrow.source] >= depth[arrow.target] for arrow in scene.arrows) else 0.0
    starts: dict[int, Point] = {}
    front = FRAME_HEAD * nested + detour
    for layer in sorted(lengths):
        front += gaps[layer] if starts else 0.0
        starts[layer] = (front, lengths[layer])
        front += lengths[layer]
    layout.length = max(0.0, front + FRAME_HEAD * nested + detour)
    layout.breadth = detour
    return starts


def _stack(
    scene: Scene, layout: Layout, bands: Mapping[Path, Mapping[str, float]], ends: Mapping[str, Point],
    along: Mapping[int, Point], depth: Mapping[str, int], down: bool,
) -> None:  # fmt: skip
    """Put each outermost scope where there is room for it, below what is in no scope; then set all to one middle."""
    blocks: dict[str, dict[Path, Mapping[str, float]]] = defaultdict(dict)
    for path, band in bands.items():
        if path:
            blocks[path[0]][path] = band
    stretches: list[tuple[set[str], float]] = []  # what stands there, and how far across it reaches
    for layers, inside in _stretches(blocks, ends, along):
        before = {*layout.spots, *layout.frames}
        free = {name: centre for name, centre in bands.get((), {}).items() if depth[name] in layers}
        top = min((centre - layout.sizes[name][1] / 2 for name, centre in free.items()), default=0.0)
        taken: list[tuple[float, float, float]] = []  # from where to where along, and how far across
        for name, centre in free.items():
            layout.spots[name] = (0.0, centre - top)
            start, size = along[depth[name]]
            taken.append((start - GAP, start + size + GAP, centre - top + layout.sizes[name][1] / 2))
        for name in inside:
            low, high = ends[name]
            at = max((far + GAP for near, end, far in taken if near < high and low < end), default=0.0)
            taken.append((low, high, _stack_block(scene, layout, blocks[name], at, ends, down)))
        stretches.append(({*layout.spots, *layout.frames} - before, max((far for _, _, far in taken), default=0.0)))
    _centre(layout, stretches)


def _stretches(
    blocks: Iterable[str], ends: Mapping[str, Point], along: Mapping[int, Point]
) -> list[tuple[set[int], list[str]]]:
    """The layers cut where no outermost frame is cut: each stretch with the scopes that stand in it."""
    merged: list[tuple[list[str], float, float]] = []
    for name in sorted(blocks, key=ends.__getitem__):
        low, high = ends[name]
        if merged and low < merged[-1][2]:
            names, start, end = merged.pop()
            merged.append(([*names, name], start, max(end, high)))
        else:
            merged.append(([name], low, high))
    found: list[tuple[set[int], list[str]]] = []
    for layer, (start, size) in sorted(along.items()):
        here = next((names for names, low, high in merged if low <= start + size and start <= high), [])
        if found and found[-1][1] == here:
            found[-1][0].add(layer)
        else:
            found.append(({layer}, here))
    return found


def _centre(layout: Layout, stretches: Sequence[tuple[set[str], float]]) -> None:
    """Move each stretch to the middle of the page."""
    breadth = max((high for _, high in stretches), default=0.0)
    layout.breadth += breadth
    for names, high in stretches:
        shift = (breadth - high) / 2
        for name in names:
            if name in layout.frames:
                (low, near), (end, far) = layout.frames[name]
                layout.frames[name] = ((low, near + shift), (end, far + shift))
            else:
                layout.spots[name] = (0.0, layout.spots[name][1] + shift)


def _stack_block(
    scene: Scene, layout: Layout, bands: Mapping[Path, Mapping[str, float]], at: float,
    ends: Mapping[str, Point], down: bool,
) -> float:  # fmt: skip
    """Put bands side by side, and open and close the frames of scopes between them; how far across that reaches."""
    open_now: Path = ()
    starts: dict[str, float] = {}

    def close(size: int) -> None:
        nonlocal at
        for name in reversed(open_now[size:]):
            if down:  # the name stands across the frame
                at = max(at, starts[name] + text_width(scene.scope_names[name], SMALL) + 16)
            at += FRAME_PAD
            layout.frames[name] = ((ends[name][0], starts[name]), (ends[name][1], at))

    for path, band in bands.items():
        common = shared(open_now, path)
        close(common)
        at += GAP if starts else 0.0
        for name in path[common:]:
            starts[name] = at
            at += FRAME_PAD if down else FRAME_HEAD
        open_now = path
        for name, centre in band.items():
            layout.spots[name] = (0.0, at + centre)
        at = max([at, *(layout.spots[name][1] + layout.sizes[name][1] / 2 for name in band)])
    close(0)
    return at


def _frame_ends(
    scene: Scene, layout: Layout, depth: Mapping[str, int], along: Mapping[int, Point], direction: str
) -> dict[str, Point]:
    """From where to where each frame reaches: from the first layer of its boxes to the last."""
    reach: dict[str, Point] = {}
    inside: dict[str, int] = defaultdict(int)
    for box in scene.boxes:
        start, size = along[depth[box.id]]
        for level, name in enumerate(box.scope):
            low, high = reach.get(name, (start, start + size))
            reach[name] = (min(low, start), max(high, start + size))
            inside[name] = max(inside[name], len(box.scope) - level)
    for name, (low, high) in reach.items():
        low -= (FRAME_HEAD if direction == "TB" else FRAME_PAD) * inside[name]
        high += (FRAME_HEAD if direction == "BT" else FRAME_PAD) * inside[name]
        if direction in ("LR", "RL"):  # the name stands along the frame
            high = max(high, low + text_width(scene.scope_names[name], SMALL) + 20)
        reach[name] = (low, high)
        layout.length = max(layout.length, high)
    return reach
