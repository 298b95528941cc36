"""A layered layout: graphviz draws what is placed here, and where it is missing `ink` does.

A long arrow gets a stopover in every layer that it crosses, and each label one
of its own, so that arrows pass between boxes and labels; where that would be too
many, the arrows of one box share their stopovers, as trains a rail. A scope is one block
to what is around it, so that its frame holds its boxes and no others. All is
measured *along* the arrows and *across* them; `routes` turns the page.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import pairwise

from ..look import LINE, SMALL, TEXT
from .folding import shared
from .layers import Order, Point, depths, neighbours, written_order
from .lettering import text_width
from .placing import placed
from .scene import Arrow, Box, Scene

FRAME_PAD, FRAME_HEAD = 12.0, 24.0
THIN, APART = 4.0, 7.0  # a stopover's breadth; between arrows that arrive at one box
SHORT, TURN, WIDEST = 20.0, 36.0, 110.0  # where arrows turn: beside labels, between layers, many of them
BESIDE = 3.0  # between arrows that turn one after the other
STEEP = 0.2  # of the way across that an arrow takes at least along
DETOUR = 40.0  # how far an arrow of a cycle goes round the boxes
MOST_STOPS = 20_000  # beyond which arrows from one box share theirs, and are straight if that is too many still

Path = tuple[str, ...]  # of scopes, outermost first
Reach = dict[Path, tuple[int, int]]  # the first and the last layer of each scope


@dataclass
class Layout:
    """Where everything is."""

    depth: dict[str, int]  # the layers of boxes and stopovers
    sizes: dict[str, Point] = field(default_factory=dict)  # of both: along, across
    spots: dict[str, Point] = field(default_factory=dict)  # centres of boxes and stopovers
    routes: dict[str, list[str]] = field(default_factory=dict)  # arrow -> source, stopovers, target
    frames: dict[str, tuple[Point, Point]] = field(default_factory=dict)  # of open scopes: two corners
    back: set[str] = field(default_factory=set)  # stopovers of arrows against the flow
    labels: dict[str, str] = field(default_factory=dict)  # arrow -> the stopover where its label stands
    along: dict[int, Point] = field(default_factory=dict)  # where each layer starts, and how long it is
    turns: dict[int, Point] = field(default_factory=dict)  # from where to where arrows turn before it
    length: float = 0.0
    breadth: float = 0.0


def arrange(scene: Scene, direction: str) -> Layout:
    """Give every box, stopover and frame its place."""
    down, depth = direction in ("TB", "BT"), depths(scene)
    layout, scopes = Layout(depth), {box.id: box.scope for box in scene.boxes}
    ports = Counter(arrow.target for arrow in scene.arrows if arrow.place)
    reach = _reach(scene, depth)
    ways = _add_routes(scene, layout, scopes, reach, down)
    starts = {(route[0], route[1] if len(route) > 2 else name) for name, route in layout.routes.items()}
    into, out = Counter(arrow.target for arrow in scene.arrows), Counter(source for source, _ in starts)
    for box in scene.boxes:
        wide, high = box_size(box, ports[box.id], down)
        room = APART * max(into[box.id], out[box.id])  # arrows side by side
        layout.sizes[box.id] = (high, max(wide, room)) if down else (wide, max(high, room))
    near = neighbours(layout.routes.values())
    chains = {name: (*scopes[name], ways.get(name, name)) for name in written_order(scopes, layout.routes.values())}
    order = Order([*chains], chains, near, depth, layout.sizes)
    rooms = {
        name: (FRAME_PAD if down else FRAME_HEAD, FRAME_PAD, text_width(said, SMALL) + 28 if down else 0.0)
        for name, said in scene.scope_names.items()
    }
    across, frames = placed(order, rooms)
    ends = _layers(scene, layout, reach, across, direction)
    for name in chains:
        start, size = layout.along[depth[name]]
        layout.spots[name] = (start + size / 2, across[name])
    for name, (low, high) in frames.items():
        layout.frames[name] = (ends[name][0], low), (ends[name][1], high)
    edges = (across[name] + layout.sizes[name][1] / 2 for name in chains)
    layout.breadth = max([0.0, *edges, *(high for _, high in frames.values())])
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
    elif shape == "hexagon":
        wide += 18 * len(box.lines)  # the higher it is, the more its slopes take
    elif shape == "box3d":
        wide, high = wide + 18, high + 8
    if ports and down:
        return max(wide, 28.0 * ports), high + 2 * SMALL
    return (wide + 48, max(high, (SMALL + 3.0) * ports)) if ports else (wide, high)


def _add_routes(scene: Scene, layout: Layout, scopes: dict[str, Path], reach: Reach, down: bool) -> dict[str, str]:
    """Let each arrow stop over in every layer between, in its target's scope or its source's, or around both.

    Against the flow it goes back beside the scopes of both. Returns for each
    stopover the first of those that are on one straight way.
    """
    depth, ways = layout.depth, dict[str, str]()
    far, furthest = 0, dict[str, int]()
    for arrow in scene.arrows:
        span = abs(depth[arrow.target] - depth[arrow.source])
        far, furthest[arrow.source] = far + span, max(furthest.get(arrow.source, 0), span)
    shares, straight = far > MOST_STOPS, sum(furthest.values()) > MOST_STOPS or far > 10 * MOST_STOPS
    for arrow in scene.arrows:
        route = layout.routes[arrow.id] = [arrow.source]
        stops = [] if straight else [*_stops(arrow, depth, scopes, reach)]
        for place, (layer, path, back) in enumerate(stops, 1):
            own = not shares or back or (arrow.label and place == len(stops))
            stop = f"{arrow.id if own else (arrow.source, *path)}{'<' if back else '@'}{layer}"
            last = ways.get(route[-1], arrow.source)
            on = scopes[last] == path and (last in layout.back) == back and last != arrow.source
            depth[stop], scopes[stop], layout.sizes[stop] = layer, path, (0.0, THIN)
            ways.setdefault(stop, last if on else stop)
            if back:
                layout.back.add(stop)
            route.append(stop)
        if arrow.label and len(route) > 1:
            stop = next((each for each in route[:0:-1] if each in layout.back), route[-1])
            layout.labels[arrow.id] = stop
            wide = text_width(arrow.label, TEXT) + 8
            layout.sizes[stop] = (LINE, wide) if down else (wide, LINE)
        route.append(arrow.target)
    there = {(path[:size], depth[name]) for name, path in scopes.items() for size in range(1, len(path) + 1)}
    for path, (low, high) in reach.items():
        for layer in range(low, high + 1):
            if (path, layer) not in there:  # nothing else keeps the frame's place
                stop = f"{path[-1]}@{layer}"
                depth[stop], scopes[stop], layout.sizes[stop] = layer, path, (0.0, 0.0)
    return ways


def _reach(scene: Scene, depth: Mapping[str, int]) -> Reach:
    """The first and the last layer of each scope."""
    reach: Reach = {}
    for box in scene.boxes:
        layer = depth[box.id]
        for size in range(1, len(box.scope) + 1):
            low, high = reach.get(box.scope[:size], (layer, layer))
            reach[box.scope[:size]] = (min(low, layer), max(high, layer))
    return reach


def _stops(
    arrow: Arrow, depth: Mapping[str, int], scopes: Mapping[str, Path], reach: Reach
) -> Iterator[tuple[int, Path, bool]]:
    """The layers that an arrow passes, each with the scope to stop in, and whether it goes back there."""
    start, end, source, target = depth[arrow.source], depth[arrow.target], scopes[arrow.source], scopes[arrow.target]
    common = shared(source, target)

    def home(path: Path, layer: int) -> Path:
        """The innermost of these scopes that reaches so far."""
        inner = (path[:size] for size in range(len(path), common, -1))
        return next((each for each in inner if reach[each][0] <= layer <= reach[each][1]), path[:common])

    if start < end:
        for layer in range(start + 1, end):
            path = home(target, layer)
            yield layer, path if len(path) > common else home(source, layer), False
        return
    last = reach[source[: common + 1]][1] if len(source) > common else start
    first = reach[target[: common + 1]][0] if len(target) > common else end
    yield from ((layer, home(source, layer), False) for layer in range(start + 1, last + 1))
    yield from ((layer, source[:common], True) for layer in range(last, first - 1, -1))
    yield from ((layer, home(target, layer), False) for layer in range(first, end))


def _layers(
    scene: Scene, layout: Layout, reach: Reach, across: Mapping[str, float], direction: str
) -> dict[str, Point]:
    """Set where each layer is along the arrows and where arrows turn before it; where each frame begins and ends."""
    lengths, gaps, inside = defaultdict[int, float](float), _gaps(layout, across), dict[str, int]()
    for name, layer in layout.depth.items():
        lengths[layer] = max(lengths[layer], layout.sizes[name][0])
    for box in scene.boxes:
        for level, name in enumerate(box.scope):
            inside[name] = max(inside.get(name, 0), len(box.scope) - level)
    head, foot = {"TB": (FRAME_HEAD, FRAME_PAD), "BT": (FRAME_PAD, FRAME_HEAD)}.get(direction, (FRAME_PAD, FRAME_PAD))
    ends, spans = dict[str, Point](), {path[-1]: layers for path, layers in reach.items()}
    detour = DETOUR if layout.back else 0.0
    end = 0.0
    for layer in sorted(lengths):
        turned = end + (gaps[layer] if layout.along else detour)
        layout.turns[layer] = end, turned
        opening = [name for name, (first, _) in spans.items() if first == layer]
        start = turned + head * max((inside[name] for name in opening), default=0)
        ends |= {name: (start - head * inside[name], 0.0) for name in opening}
        layout.along[layer] = start, lengths[layer]
        end = start + lengths[layer]
        for name in [name for name, (_, last) in spans.items() if last == layer]:
            low, far = ends[name][0], start + lengths[layer] + foot * inside[name]
            if direction in ("LR", "RL"):  # the name stands along the frame
                far = max(far, low + text_width(scene.scope_names[name], SMALL) + 20)
            ends[name], end = (low, far), max(end, far)
    layout.length = end + detour
    layout.turns[len(lengths)] = end, layout.length
    return ends


def _gaps(layout: Layout, across: Mapping[str, float]) -> dict[int, float]:
    """How much room arrows need to turn before each layer: the more of them go one way, and the further, the more."""
    gaps, turning, depth = defaultdict[int, float](float), Counter[tuple[int, bool]](), layout.depth
    for one, other in (pair for route in layout.routes.values() for pair in pairwise(route)):
        gap, far = max(depth[one], depth[other]), across[other] - across[one]
        gaps[gap] = max(gaps[gap], STEEP * abs(far))
        turning[gap, far > 0] += abs(far) > 1
    labelled = {depth[stop] for stop in layout.labels.values()}
    for layer in range(max(depth.values(), default=0) + 1):
        least = SHORT if layer in labelled or layer - 1 in labelled else TURN  # a label parts it in two
        room = least + BESIDE * max(turning[layer, False], turning[layer, True])
        gaps[layer] = min(WIDEST, max(gaps[layer], room))
    return gaps
