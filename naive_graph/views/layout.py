"""A layered layout of our own, for when graphviz is missing or would take too long.

A long arrow gets a stopover in every layer that it crosses, so that it passes
between the boxes. Each scope has a band of its own across the layers, so that
its frame holds its boxes and no others. All is measured *along* the arrows and
*across* them; `ink` turns the page.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from .folding import by_scope, shared
from .layers import GAP, Point, depths, neighbours, set_band
from .lettering import columns
from .look import LETTER, LINE
from .scene import Arrow, Box, Scene

FRAME_PAD, FRAME_HEAD = 12.0, 24.0
DETOUR = 40.0  # how far an arrow of a cycle goes round the boxes
MOST_STOPS = 20_000  # beyond which long arrows run straight


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
    for box in scene.boxes:
        wide, high = box_size(box)
        layout.sizes[box.id] = (high, wide) if down else (wide, high)
    depth, scopes = depths(scene), {box.id: box.scope for box in scene.boxes}
    _add_routes(scene.arrows, layout, depth, scopes)
    _stack(scene, layout, _bands(layout, depth, scopes), down)
    along = _layers(scene, layout, depth)
    _frame_ends(scene, layout, depth, along, direction)
    for name, (_, centre) in layout.spots.items():
        start, size = along[depth[name]]
        layout.spots[name] = (start + size / 2, centre)
    return layout


def box_size(box: Box) -> Point:
    """How wide and how high a box is."""
    return LETTER * columns(box.lines) + 22, LINE * len(box.lines) + 10


def _bands(
    layout: Layout, depth: Mapping[str, int], scopes: Mapping[str, tuple[str, ...]]
) -> dict[tuple[str, ...], dict[str, float]]:
    """For each scope the places across, from 0, of what is directly in it."""
    members: dict[tuple[str, ...], list[str]] = {path: [] for path in by_scope(scopes.values())}
    for name, path in scopes.items():
        members[path].append(name)
    near = neighbours(layout.routes.values())
    return {path: set_band(names, depth, near, layout.sizes) for path, names in members.items()}


def _add_routes(
    arrows: Sequence[Arrow], layout: Layout, depth: dict[str, int], scopes: dict[str, tuple[str, ...]]
) -> None:
    """Let each long arrow stop over in every layer between, in the band of the scope that holds both its ends."""
    paths = set(scopes.values())
    between = sum(max(0, depth[arrow.target] - depth[arrow.source] - 1) for arrow in arrows)
    for arrow in arrows:
        layout.routes[arrow.id] = [arrow.source, arrow.target]
        if between > MOST_STOPS:
            continue
        path = scopes[arrow.source]
        around = (path[:size] for size in range(shared(path, scopes[arrow.target]), 0, -1))
        home = next((each for each in around if each in paths), ())  # the innermost around both that has a band
        for layer in range(depth[arrow.source] + 1, depth[arrow.target]):
            stop = f"{arrow.id}@{layer}"
            layout.sizes[stop], depth[stop], scopes[stop] = (0.0, 4.0), layer, home
            layout.routes[arrow.id].insert(-1, stop)


def _layers(scene: Scene, layout: Layout, depth: Mapping[str, int]) -> dict[int, Point]:
    """Where each layer starts along the arrows, and how long it is."""
    lengths: dict[int, float] = defaultdict(float)
    for box in scene.boxes:
        lengths[depth[box.id]] = max(lengths[depth[box.id]], layout.sizes[box.id][0])
    nested = max((len(box.scope) for box in scene.boxes), default=0)
    gap = max([46.0, 2 * FRAME_HEAD * min(nested, 4), *(LETTER * len(arrow.label) + 40 for arrow in scene.arrows)])
    detour = DETOUR if any(depth[arrow.source] >= depth[arrow.target] for arrow in scene.arrows) else 0.0
    starts, front = {}, FRAME_HEAD * nested + detour
    for layer in sorted(lengths):
        starts[layer] = (front, lengths[layer])
        front += lengths[layer] + gap
    layout.length = max(0.0, front - gap + FRAME_HEAD * nested + detour)
    layout.breadth += detour
    return starts


def _stack(scene: Scene, layout: Layout, across: Mapping[tuple[str, ...], Mapping[str, float]], down: bool) -> None:
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
    scene: Scene, layout: Layout, depth: Mapping[str, int], along: Mapping[int, tuple[float, float]], direction: str
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
        low -= (FRAME_HEAD if direction == "TB" else FRAME_PAD) * inside[name]
        high += (FRAME_HEAD if direction == "BT" else FRAME_PAD) * inside[name]
        if direction in ("LR", "RL"):  # the name stands along the frame
            high = max(high, low + LETTER * columns([scene.scope_names[name]]) + 20)
        (_, near), (_, far) = layout.frames[name]
        layout.frames[name] = ((low, near), (high, far))
        layout.length = max(layout.length, high)
