"""Layers and the order in them: which box stands behind which, and which beside which.

Each box stands one layer after the last of its sources, or just before the
first of its targets if it has more of those. In a layer boxes stand as they
were written, unless sorting them by the middle of their neighbours, there and
back, leaves far fewer arrows that cross. Source: K. Sugiyama et al., IEEE
Trans. SMC 11 (1981).
"""

from __future__ import annotations

from bisect import bisect, insort
from collections import defaultdict, deque
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise

from .look import GAP
from .scene import Scene

SWEEPS = 8
WORTH = 0.8  # another order is taken if it leaves at most this share of the crossings
MOST_COUNTED = 20_000  # pieces of arrows, beyond which crossings are not counted

Point = tuple[float, float]  # along the arrows, across them


def depths(scene: Scene) -> dict[str, int]:
    """The layer of each box: as the scene wants it, else by the arrows; a cycle is cut open at its first box."""
    if all(box.layer is not None for box in scene.boxes):
        return {box.id: box.layer or 0 for box in scene.boxes}
    scopes = {box.id: box.scope for box in scene.boxes}
    leaving: dict[str, list[tuple[str, int]]] = defaultdict(list)
    entering: dict[str, set[str]] = defaultdict(set)
    waiting = dict.fromkeys(scopes, 0)
    for arrow in scene.arrows:
        if arrow.source != arrow.target:
            waiting[arrow.target] += 1
            entering[arrow.target].add(arrow.source)
            leaving[arrow.source].append((arrow.target, _span(scopes[arrow.source], scopes[arrow.target])))
    heads = [name for name, count in waiting.items() if count == 0]
    depth = dict.fromkeys(waiting, 0)
    done: dict[str, None] = {}
    for first in [*heads, *waiting]:
        ready = deque([first] if first not in done else [])
        done[first] = None
        while ready:
            name = ready.popleft()
            for target, span in leaving[name]:
                waiting[target] -= 1
                if target not in done:
                    depth[target] = max(depth[target], depth[name] + span)
                    if waiting[target] == 0:
                        done[target] = None
                        ready.append(target)
    for name in sorted(done, key=depth.__getitem__, reverse=True):
        if len({target for target, _ in leaving[name]}) > len(entering[name]):
            latest = min(depth[target] - span for target, span in leaving[name])
            depth[name] = max(depth[name], latest)
    low = min(depth.values(), default=0)
    return {name: layer - low for name, layer in depth.items()}


def _span(source: Sequence[str], target: Sequence[str]) -> int:
    """How many layers an arrow reaches at least: from one scope into another, it leaves one to the other's leaves."""
    return 2 if source and target and source[0] != target[0] else 1


def written_order(names: Iterable[str], routes: Iterable[Sequence[str]]) -> dict[str, int]:
    """A place for each box and stopover, as a reader meets them: from each result back, operands in order."""
    sources: dict[str, list[str]] = defaultdict(list)
    fed = set[str]()
    for route in routes:
        fed.add(route[0])
        for source, target in pairwise(route):
            sources[target].append(source)
    order: dict[str, int] = {}
    names = list(names)
    for first in [*(name for name in names if name not in fed), *names]:
        waiting = [first]
        while waiting:
            name = waiting.pop()
            if name not in order:
                order[name] = len(order)
                waiting += reversed(sources[name])
    return order


def neighbours(routes: Iterable[Sequence[str]]) -> dict[str, list[str]]:
    near: dict[str, list[str]] = defaultdict(list)
    for route in routes:
        for one, other in pairwise(route):
            near[one].append(other)
            near[other].append(one)
    return near


def set_band(
    names: Sequence[str], depth: Mapping[str, int], near: Mapping[str, list[str]], sizes: Mapping[str, Point]
) -> dict[str, float]:
    """The centres across, from 0, of the boxes and stopovers of one scope."""
    layers: dict[int, list[str]] = defaultdict(list)
    for name in names:
        layers[depth[name]].append(name)
    layers = _untangled(layers, near, depth)
    centres = dict.fromkeys(names, 0.0)
    for layer in layers.values():
        _set(layer, dict.fromkeys(layer, 0.0), centres, sizes)
    for sweep in range(SWEEPS // 2):
        step = 1 if sweep % 2 else -1  # back from the results first, then forth from the leaves
        for index in sorted(layers, reverse=step < 0):
            wishes = {name: _middle(name, near, depth, index - step, centres) for name in layers[index]}
            _set(layers[index], wishes, centres, sizes)
    low = min((centres[name] - sizes[name][1] / 2 for name in names), default=0.0)
    return {name: centre - low for name, centre in centres.items()}


def _middle(
    name: str, near: Mapping[str, list[str]], depth: Mapping[str, int], layer: int, places: Mapping[str, float]
) -> float:
    """The mean of the neighbours in that layer; where the box is, if it has none there."""
    there = [places[each] for each in near[name] if each in places and depth[each] == layer]
    return sum(there) / len(there) if there else places[name]


def _untangled(
    layers: Mapping[int, list[str]], near: Mapping[str, list[str]], depth: Mapping[str, int]
) -> dict[int, list[str]]:
    """The layers in the order in which they came, or sorted if that is worth it."""
    places = {name: float(place) for layer in layers.values() for place, name in enumerate(layer)}
    pieces = sum(len(near[name]) for name in places)
    best = {index: layer[:] for index, layer in layers.items()}
    least = WORTH * _crossings(best, near, depth, places) if pieces < MOST_COUNTED else 0.0
    tried = {index: layer[:] for index, layer in layers.items()}
    for sweep in range(SWEEPS if least else 0):
        step = 1 if sweep % 2 else -1
        for index in sorted(tried, reverse=step < 0):
            wishes = {name: _middle(name, near, depth, index - step, places) for name in tried[index]}
            tried[index].sort(key=lambda name: (wishes[name], places[name]))
            places |= {name: float(place) for place, name in enumerate(tried[index])}
        found = _crossings(tried, near, depth, places)
        if found < least:
            best, least = {index: layer[:] for index, layer in tried.items()}, found
    return best


def _crossings(
    layers: Mapping[int, Sequence[str]], near: Mapping[str, list[str]], depth: Mapping[str, int],
    places: Mapping[str, float],
) -> int:  # fmt: skip
    """How many arrows cross between neighbouring layers: pairs that stand in other orders at their two ends."""
    found = 0
    for index, layer in layers.items():
        passed: list[float] = []
        for name in layer:
            ends = sorted(places[each] for each in near[name] if each in places and depth[each] == index + 1)
            found += sum(len(passed) - bisect(passed, end) for end in ends)
            for end in ends:
                insort(passed, end)
    return found


def _set(
    layer: Sequence[str], wishes: Mapping[str, float], centres: dict[str, float], sizes: Mapping[str, Point]
) -> None:
    """Set the boxes of a layer, in order and without touching, as near to their wishes as can be."""
    needs, reach = [], 0.0
    for name in layer:
        gap = GAP if sizes[name][0] else GAP / 2  # arrows that pass by need less
        reach += sizes[name][1] / 2 + gap / 2
        needs.append(reach)
        reach += sizes[name][1] / 2 + gap / 2
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
