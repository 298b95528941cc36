"""Layers and the order in them: which box stands behind which, and which beside which.

Each box stands one layer after the last of its sources, or just before the
first of its targets if it has more of those. What feeds a scope stands
before it. In a layer boxes stand as they were written, unless sorting them by
the middle of their neighbours, there and back, and then changing single pairs,
leaves far fewer arrows that cross. Source: K. Sugiyama et al., IEEE
Trans. SMC 11 (1981).
"""

from __future__ import annotations

from bisect import bisect, bisect_left, insort
from collections import defaultdict, deque
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from statistics import fmean

from ..look import GAP
from .folding import shared
from .scene import Scene

SWEEPS, SWAPS = 8, 3
WORTH = 0.8  # another order is taken if it leaves at most this share of the crossings
MOST_COUNTED, MOST_SWAPPED = 20_000, 300  # pieces of arrows, beyond which crossings are not counted, or not often

Point = tuple[float, float]  # along the arrows, across them
Chain = tuple[str, ...]  # a part, after the scopes around it


def depths(scene: Scene) -> dict[str, int]:
    """The layer of each box: as the scene wants it, else by the arrows. None is empty.

    Before each layer that an arrow with a label reaches, one is left for labels.
    """
    wanted = all(box.layer is not None for box in scene.boxes)
    depth = {box.id: box.layer or 0 for box in scene.boxes} if wanted else _deepest(scene)
    labelled = {
        depth[arrow.target] for arrow in scene.arrows if arrow.label and depth[arrow.source] < depth[arrow.target]
    }
    used = sorted([*{*depth.values()}, *(layer - 0.5 for layer in labelled)])
    return {name: bisect_left(used, layer) for name, layer in depth.items()}


def _deepest(scene: Scene) -> dict[str, int]:
    """The layer of each box by the arrows that reach it; a cycle is cut open at its first box."""
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
    for start in [*heads, *waiting]:
        ready = deque([start] if start not in done else [])
        done[start] = None
        while ready:
            name = ready.popleft()
            for target, span in leaving[name]:
                waiting[target] -= 1
                if target not in done:
                    depth[target] = max(depth[target], depth[name] + span)
                    if waiting[target] == 0:
                        done[target] = None
                        ready.append(target)
    first: dict[str, int] = {}  # of each outermost scope, once what is in it has its layer
    for name in sorted(done, key=lambda name: (not scopes[name], -depth[name])):
        own = scopes[name][:1]
        if not own and not first:
            for each, path in scopes.items():
                if path:
                    first[path[0]] = min(depth[each], first.get(path[0], depth[each]))
        if len({target for target, _ in leaving[name]}) > sum(scopes[each][:1] == own for each in entering[name]):
            ends = (
                depth[target] - span if own or not scopes[target] else first[scopes[target][0]] - 1
                for target, span in leaving[name]
            )
            depth[name] = max(depth[name], min(ends))
    return depth


def _span(source: Sequence[str], target: Sequence[str]) -> int:
    """How many layers an arrow reaches at least: into a scope, it leaves one to the scope's own leaves."""
    return 2 if target and source[:1] != target[:1] else 1


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


class Order:
    """A rank for each part: in every layer parts stand by their ranks, and those of one scope stand together.

    names: boxes and stopovers as they were written. chains: for each the scopes
    around it and its own part; the stopovers of a straight way are one part.
    """

    def __init__(
        self, names: Sequence[str], chains: Mapping[str, Chain], near: Mapping[str, list[str]],
        depth: Mapping[str, int], sizes: Mapping[str, Point],
    ) -> None:  # fmt: skip
        self.chains, self.near, self.depth, self.sizes = chains, near, depth, sizes
        self.layers: dict[int, list[str]] = defaultdict(list)
        self.rank: dict[str, float] = {}
        for place, name in enumerate(names):
            self.layers[depth[name]].append(name)
            for part in chains[name]:
                self.rank.setdefault(part, place)
        self.written, self.places = dict(self.rank), dict[str, float]()
        pieces = sum(map(len, near.values()))
        for turns, most, sort in ((SWEEPS, MOST_COUNTED, self._sweep), (SWAPS, MOST_SWAPPED, self._swap)):
            least, best = WORTH * self._crossings() if pieces < most else 0.0, dict(self.rank)
            for turn in range(turns if least else 0):
                sort(1 if turn % 2 else -1)
                if (found := self._crossings()) < least:
                    least, best = found, dict(self.rank)
            order = sorted(best, key=lambda part: (best[part], self.written[part]))
            self.rank = {part: place for place, part in enumerate(order)}

    def _sort(self, index: int) -> None:
        layer = self.layers[index]
        layer.sort(key=lambda name: [(self.rank[part], self.written[part]) for part in self.chains[name]])
        self.places |= zip(layer, stacked([self.sizes[name][1] for name in layer]))

    def _sweep(self, step: int) -> None:
        """Set each part to the middle of its neighbours in the layers before, as the sweep goes."""
        fed: dict[str, list[str]] = defaultdict(list)
        for name, chain in self.chains.items():
            for each in self.near.get(name, ()):
                if (self.depth[name] - self.depth[each]) * step > 0:
                    for part in chain[shared(chain, self.chains[each]) :]:
                        fed[part].append(each)
        met: set[str] = set()
        for index in sorted(self.layers, reverse=step < 0):
            fresh = {part: name for name in self.layers[index] for part in self.chains[name] if part not in met}
            for part, name in fresh.items():
                self.rank[part] = fmean([self.places[each] for each in fed[part] or [name]])
            met |= fresh.keys()
            self._sort(index)

    def _swap(self, step: int) -> None:
        """Let neighbours change places, one pair after the other, where that leaves fewer arrows that cross."""
        least, rank = self._crossings(), self.rank
        for layer in self.layers.values():
            for one, other in [*pairwise(layer)]:
                level = shared(self.chains[one], self.chains[other])
                a, b = self.chains[one][level], self.chains[other][level]
                rank[a], rank[b] = rank[b], rank[a]
                found = self._crossings()
                if found >= least:
                    rank[a], rank[b] = rank[b], rank[a]
                least = min(found, least)

    def _crossings(self) -> int:
        """How many arrows cross between neighbouring layers: pairs that stand in other orders at their two ends."""
        for index in self.layers:
            self._sort(index)
        found = 0
        for index, layer in self.layers.items():
            passed: list[float] = []
            for name in layer:
                ends = sorted(self.places[each] for each in self.near.get(name, ()) if self.depth[each] == index + 1)
                found += sum(len(passed) - bisect(passed, end) for end in ends)
                for end in ends:
                    insort(passed, end)
        return found


def stacked(sizes: Iterable[float]) -> list[float]:
    """The middles of things side by side, around 0.

    >>> stacked([10.0, 20.0])
    [-17.0, 12.0]
    """
    middles, reach = [], 0.0
    for size in sizes:
        middles.append(reach + size / 2)
        reach += size + GAP
    return [middle - (reach - GAP) / 2 for middle in middles]
