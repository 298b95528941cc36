"""Layers and the order in them: which box stands behind which, and which beside which.

Each box stands one layer after the last of its sources. A layer is sorted by
the middle of its neighbours, there and back. Source: K. Sugiyama et al., IEEE
Trans. SMC 11 (1981).
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise

from .scene import Scene

GAP = 14.0
SWEEPS = 4

Point = tuple[float, float]  # along the arrows, across them


def depths(scene: Scene) -> dict[str, int]:
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
    centres = dict.fromkeys(names, 0.0)
    for layer in layers.values():
        _set(layer, dict.fromkeys(layer, 0.0), centres, sizes)

    def middle(name: str, layer: int) -> float:
        """The mean of the neighbours in that layer; where the box is, if it has none there."""
        there = [centres[each] for each in near[name] if each in centres and depth[each] == layer]
        return sum(there) / len(there) if there else centres[name]

    for sweep in range(SWEEPS):
        step = 1 if sweep % 2 else -1  # back from the results first, then forth from the leaves
        for index in sorted(layers, reverse=step < 0):
            wishes = {name: middle(name, index - step) for name in layers[index]}
            if sweep < SWEEPS - 2:
                layers[index].sort(key=lambda name: (wishes[name], centres[name]))
            _set(layers[index], wishes, centres, sizes)
    low = min((centres[name] - sizes[name][1] / 2 for name in names), default=0.0)
    return {name: centre - low for name, centre in centres.items()}


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
