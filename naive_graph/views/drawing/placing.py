"""Where each part stands across: near its neighbours, in its order, and touching nothing in any layer.

Each scope is placed by itself, the innermost first, and is one block to what is
around it; so is a straight way of an arrow. Sweeps back and forth move each
part to the middle of its neighbours, and all are moved as little as keeps them
apart.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence

from ..look import GAP
from .layers import Chain, Order, Point, stacked

SWEEPS = 6
FIXED = 1e4  # how much more a part weighs that has its place from another layer

Row = Mapping[str, float]  # the parts of one layer in their order, with half the room of each
Links = Mapping[str, Sequence[tuple[str, float, int]]]  # of a part: a neighbour, how far beside it, and on which side


def placed(order: Order, rooms: Mapping[str, tuple[float, float, float]]) -> tuple[dict[str, float], dict[str, Point]]:
    """The centres of boxes and stopovers, from 0, and from where to where each frame reaches.

    rooms: that each scope needs before what is in it and behind, and its least breadth.
    """
    leaves = {name: order.chains[name] for index in sorted(order.layers) for name in order.layers[index]}
    scopes = {scope: chain[: level + 1] for chain in leaves.values() for level, scope in enumerate(chain[:-1])}
    inside: dict[Chain, list[str]] = defaultdict(list, {(): []})
    for name, chain in [*leaves.items(), *scopes.items()]:
        for level in range(len(chain)):
            inside[chain[:level]].append(name)
    half = {name: across / 2 + (GAP / 2 if along else GAP / 4) for name, (along, across) in order.sizes.items()}
    spots = dict.fromkeys([*leaves, *scopes], 0.0)  # from the middle of the outermost block that is placed
    for path in sorted(inside, key=len, reverse=True):
        rows: dict[int, dict[str, float]] = defaultdict(dict)
        part = {name: (leaves.get(name) or scopes[name])[len(path)] for name in inside[path]}
        for name in inside[path]:
            if name in leaves:
                rows[order.depth[name]][part[name]] = half[part[name] if part[name] in scopes else name]
        at = settled(list(rows.values()), _links(part, order, spots), order.rank)
        ends = [at[each] + side * room for row in rows.values() for each, room in row.items() for side in (-1, 1)]
        before, behind, least = rooms[path[-1]] if path else (0.0, 0.0, 0.0)
        low = min(ends, default=0.0) - before + GAP / 2
        middle = max(low + max(ends) + behind - GAP / 2, 2 * low + least) / 2 if path else low
        for name in inside[path]:
            spots[name] += at[part[name]] - middle
        if path:
            half[path[-1]] = middle - low + GAP / 2
    return spots, {name: (spots[name] - half[name] + GAP / 2, spots[name] + half[name] - GAP / 2) for name in scopes}


def _links(part: Mapping[str, str], order: Order, spots: Mapping[str, float]) -> Links:
    """Where each part would be level with its neighbours."""
    links: dict[str, list[tuple[str, float, int]]] = defaultdict(list)
    for name, own in part.items():
        for each in order.near.get(name, ()):
            if part.get(each, own) != own:
                links[own].append((part[each], spots[each] - spots[name], order.depth[each] - order.depth[name]))
    return links


def settled(rows: Sequence[Row], links: Links, rank: Mapping[str, float]) -> dict[str, float]:
    """The centres of the parts of one scope."""
    at: dict[str, float] = {}
    for row in rows:
        at |= zip(row, stacked([2 * room - GAP for room in row.values()]))
    at = _apart(rows, at, rank)
    for sweep in range(SWEEPS):
        step, seen = 1 if sweep % 2 else -1, set[str]()  # back from the results first
        for row in rows[::step]:
            wishes, needs, reach = [], [], 0.0
            for part, room in row.items():
                there = [at[other] + beside for other, beside, side in links.get(part, ()) if side * step <= 0]
                reach += room
                wishes.append((sum(there) / len(there) if there and part not in seen else at[part]) - reach)
                needs.append(reach)
                reach += room
            weights = [FIXED if part in seen else 1.0 for part in row]
            at |= {part: place + need for part, place, need in zip(row, ascending(wishes, weights), needs)}
            seen |= row.keys()
        at = _apart(rows, at, rank)
    return at


def _apart(rows: Sequence[Row], wishes: Mapping[str, float], rank: Mapping[str, float]) -> dict[str, float]:
    """The places nearest to the wishes, more or less, where none touches another: the middle of two such."""
    where: dict[str, list[tuple[int, float]]] = defaultdict(list)
    for index, row in enumerate(rows):
        for part, room in row.items():
            where[part].append((index, room))
    both = []
    for side in (1, -1):
        edges: dict[int, float] = {}
        found = {}
        for part in sorted(where, key=rank.__getitem__, reverse=side < 0):
            at = max([side * wishes[part], *(edges[index] + room for index, room in where[part] if index in edges)])
            edges |= {index: at + room for index, room in where[part]}
            found[part] = side * at
        both.append(found)
    return {part: (both[0][part] + both[1][part]) / 2 for part in where}


def ascending(wishes: Sequence[float], weights: Sequence[float] | None = None) -> list[float]:
    """The non-decreasing numbers nearest to the wishes: those that collide share their mean.

    Source: Ayer et al., Annals of Mathematical Statistics 26 (1955).

    >>> ascending([1.0, 5.0, 3.0])
    [1.0, 4.0, 4.0]
    """
    pools: list[tuple[float, float, int]] = []
    for wish, weight in zip(wishes, weights or [1.0] * len(wishes)):
        total, count = wish * weight, 1
        while pools and pools[-1][0] / pools[-1][1] > total / weight:
            total, weight, count = total + pools[-1][0], weight + pools[-1][1], count + pools[-1][2]
            pools.pop()
        pools.append((total, weight, count))
    return [total / weight for total, weight, count in pools for _ in range(count)]
