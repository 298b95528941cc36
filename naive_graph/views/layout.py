"""A layered layout of our own, for when graphviz is missing or would take too long.

Each box stands one layer after the last of its sources. A long arrow gets a
stopover in every layer that it crosses, so that it passes between the boxes.
Each scope has a band of its own across the layers, so that its frame holds its
boxes and no others. In its band, a layer is sorted by the middle of its
neighbours, there and back. Source: K. Sugiyama et al., IEEE Trans. SMC 11 (1981).

All is measured *along* the arrows and *across* them; `ink` turns the page.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from .folding import by_scope, shared
from .lettering import columns
from .scene import Arrow, Scene

LINE, LETTER = 15.0, 7.0
GAP, FRAME_PAD, FRAME_HEAD = 14.0, 12.0, 24.0
DETOUR = 40.0  # how far an arrow of a cycle goes round the boxes
MOST_STOPS = 20_000  # beyond which long arrows run straight
SWEEPS = 4

Point = tuple[float, float]  # along, across


@dataclass
class Layout:
    """Where everything is."""

    sizes: dict[str, Point] = field(default_factory=dict)  # of boxes: along, across
    spots: dict[str, Point] = field(default_factory=dict)  # centres of boxes and stopovers
    routes: dict[str, list[str]] = field(default_factory=dict)  # arrow -> source, stopovers, target
    frames: dict[str, tuple[Point, Point]] = field(default_factory=dict)  # of open scopes: two corners
    length: float = 0.0
    breadth: float = 0.0


def arrange(scene: Scene, down: bool) -> Layout:
    """Give every box, stopover and frame its place."""
    layout = Layout()
    for box in scene.boxes:
        wide, high = LETTER * columns(box.lines) + 22, LINE * len(box.lines) + 10
        layout.sizes[box.id] = (high, wide) if down else (wide, high)
    depth, scopes = _depths(scene), {box.id: box.scope for box in scene.boxes}
    for arrow in scene.arrows:
        layout.routes[arrow.id] = [arrow.source, arrow.target]
    if sum(max(0, depth[arrow.target] - depth[arrow.source] - 1) for arrow in scene.arrows) <= MOST_STOPS:
        _add_stops(scene.arrows, layout, depth, scopes)
    place = by_scope(scopes.values())
    bands: list[list[str]] = [[] for _ in place]
    for name, path in scopes.items():
        bands[place[path]].append(name)
    near = _neighbours(layout.routes.values())
    across = {path: _band(bands[band], depth, near, layout.sizes) for path, band in place.items()}
    along, layout.length = _layers(scene, depth, layout.sizes)
    _stack(scene, layout, across, down)
    _frame_ends(scene, layout, depth, along, down)
    layout.breadth += DETOUR if any(depth[arrow.source] >= depth[arrow.target] for arrow in scene.arrows) else 0.0
    for name, (_, centre) in layout.spots.items():
        start, size = along[depth[name]]
        layout.spots[name] = (start + size / 2, centre)
    return layout


def _depths(scene: Scene) -> dict[str, int]:
    """How many arrows lead to each box at most; a cycle is cut open at its first box."""
    waiting = {box.id: 0 for box in scene.boxes}
    targets: dict[str, list[str]] = defaultdict(list)
    for arrow in scene.arrows:
        if arrow.source != arrow.target:
            waiting[arrow.target] += 1
            targets[arrow.source].append(arrow.target)
    heads = [name for name, count in waiting.items() if count == 0]
    depth = dict.fromkeys(waiting, 0)
    done: set[str] = set()
    for first in [*heads, *waiting]:
        ready = deque([first] if first not in done else [])
        done.add(first)
        while ready:
            name = ready.popleft()
            for target in targets[name]:
                waiting[target] -= 1
                if target not in done:
                    depth[target] = max(depth[target], depth[name] + 1)
                    if waiting[target] == 0:
                        done.add(target)
                        ready.append(target)
    for name in heads:  # a leaf stands just before its first consumer
        if targets[name]:
            depth[name] = max(0, min(depth[target] for target in targets[name]) - 1)
    return depth


def _add_stops(
    arrows: Iterable[Arrow], layout: Layout, depth: dict[str, int], scopes: dict[str, tuple[str, ...]]
) -> None:
    """Let each long arrow stop over in every layer between, in the band of the scope that holds both its ends."""
    paths = set(scopes.values())
    for arrow in arrows:
        home = _shared_path(scopes[arrow.source], scopes[arrow.target], paths)
        stops = []
        for layer in range(depth[arrow.source] + 1, depth[arrow.target]):
            stop = f"{arrow.id}@{layer}"
            stops.append(stop)
            layout.sizes[stop], depth[stop], scopes[stop] = (0.0, 4.0), layer, home
        layout.routes[arrow.id][1:1] = stops


def _shared_path(a: tuple[str, ...], b: tuple[str, ...], paths: set[tuple[str, ...]]) -> tuple[str, ...]:
    """The innermost path around both that has a band, or the outermost."""
    return next((a[:size] for size in range(shared(a, b), 0, -1) if a[:size] in paths), ())


def _neighbours(routes: Iterable[Sequence[str]]) -> dict[str, list[str]]:
    near: dict[str, list[str]] = defaultdict(list)
    for route in routes:
        for one, other in pairwise(route):
            near[one].append(other)
            near[other].append(one)
    return near


def _band(
    names: Sequence[str], depth: Mapping[str, int], near: Mapping[str, list[str]], sizes: Mapping[str, Point]
) -> dict[str, float]:
    """The centres across, from 0, of the boxes and stopovers of one scope."""
    layers: dict[int, list[str]] = defaultdict(list)
    for name in names:
        layers[depth[name]].append(name)
    centres = dict.fromkeys(names, 0.0)
    for layer in layers.values():
        _set(layer, dict.fromkeys(layer, 0.0), centres, sizes)
    for sweep in range(SWEEPS):
        step = 1 if sweep % 2 else -1  # back from the results first, then forth from the leaves
        for index in sorted(layers, reverse=step < 0):
            wishes = {name: _middle(name, index - step, depth, near, centres) for name in layers[index]}
            if sweep < SWEEPS - 2:
                layers[index].sort(key=lambda name: (wishes[name], centres[name]))
            _set(layers[index], wishes, centres, sizes)
    low = min((centres[name] - sizes[name][1] / 2 for name in names), default=0.0)
    return {name: centre - low for name, centre in centres.items()}


def _middle(
    name: str, layer: int, depth: Mapping[str, int], near: Mapping[str, list[str]], centres: Mapping[str, float]
) -> float:
    """The mean of the neighbours in that layer; where the box is, if it has none there."""
    there = [centres[each] for each in near[name] if each in centres and depth[each] == layer]
    return sum(there) / len(there) if there else centres[name]


def _set(
    layer: Sequence[str], wishes: Mapping[str, float], centres: dict[str, float], sizes: Mapping[str, Point]
) -> None:
    """Set the boxes of a layer, in order and without touching, as near to their wishes as can be."""
    needs, reach = [], 0.0
    for name in layer:
        reach += sizes[name][1] / 2
        needs.append(reach)
        reach += sizes[name][1] / 2 + GAP
    for name, at, need in zip(layer, settled([wishes[name] - need for name, need in zip(layer, needs)]), needs):
        centres[name] = at + need


def settled(wishes: Sequence[float]) -> list[float]:
    """The non-decreasing numbers nearest to the wishes: those that collide share their mean.

    Source: Ayer et al., Annals of Mathematical Statistics 26 (1955).

    >>> settled([1.0, 5.0, 3.0])
    [1.0, 4.0, 4.0]
    """
    pools: list[tuple[float, int]] = []
    for wish in wishes:
        total, count = wish, 1
        while pools and pools[-1][0] / pools[-1][1] > total / count:
            total, count = total + pools[-1][0], count + pools[-1][1]
            pools.pop()
        pools.append((total, count))
    return [total / count for total, count in pools for _ in range(count)]


def _layers(
    scene: Scene, depth: Mapping[str, int], sizes: Mapping[str, Point]
) -> tuple[dict[int, tuple[float, float]], float]:
    """Where each layer starts, and its size along; and the length of all."""
    lengths: dict[int, float] = defaultdict(float)
    for box in scene.boxes:
        lengths[depth[box.id]] = max(lengths[depth[box.id]], sizes[box.id][0])
    nested = max((len(box.scope) for box in scene.boxes), default=0)
    gap = max([46.0, 2 * FRAME_HEAD * min(nested, 4), *(LETTER * len(arrow.label) + 40 for arrow in scene.arrows)])
    pad = FRAME_HEAD * nested + (DETOUR if any(depth[a.source] >= depth[a.target] for a in scene.arrows) else 0.0)
    starts, front = {}, pad
    for layer in sorted(lengths):
        starts[layer] = (front, lengths[layer])
        front += lengths[layer] + gap
    return starts, front - gap + pad if starts else 0.0


def _stack(
    scene: Scene,
    layout: Layout,
    across: Mapping[tuple[str, ...], Mapping[str, float]],
    down: bool,
) -> None:
    """Put the bands side by side, and open and close the frames of scopes between them."""
    at = 0.0
    open_now: tuple[str, ...] = ()
    starts: dict[str, float] = {}

    def close(size: int) -> None:
        nonlocal at
        for name in reversed(open_now[size:]):
            if down:  # the name stands across the frame
                at = max(at, starts[name] + LETTER * columns([scene.scope_names[name]]) + 16)
            at += FRAME_PAD
            layout.frames[name] = ((0.0, starts[name]), (0.0, at))

    for path, band in across.items():
        common = shared(open_now, path)
        close(common)
        at += GAP if at else 0.0
        for name in path[common:]:
            starts[name] = at
            at += FRAME_PAD if down else FRAME_HEAD
        open_now = path
        for name, centre in band.items():
            layout.spots[name] = (0.0, at + centre)
        at = max([at, *(layout.spots[name][1] + layout.sizes[name][1] / 2 for name in band)])
    close(0)
    layout.breadth = at


def _frame_ends(
    scene: Scene, layout: Layout, depth: Mapping[str, int], along: Mapping[int, tuple[float, float]], down: bool
) -> None:
    """Let each frame reach from the first layer of its boxes to the last."""
    reach: dict[str, tuple[float, float]] = {}
    inside: dict[str, int] = defaultdict(int)
    for box in scene.boxes:
        start, size = along[depth[box.id]]
        for level, name in enumerate(box.scope):
            low, high = reach.get(name, (start, start + size))
            reach[name] = (min(low, start), max(high, start + size))
            inside[name] = max(inside[name], len(box.scope) - level)
    for name, (low, high) in reach.items():
        head = (FRAME_HEAD if down else FRAME_PAD) * inside[name]
        high += FRAME_PAD * inside[name]
        if not down:
            high = max(high, low - head + LETTER * columns([scene.scope_names[name]]) + 20)
        (_, near), (_, far) = layout.frames[name]
        layout.frames[name] = ((low - head, near), (high, far))
        layout.length = max(layout.length, high)
