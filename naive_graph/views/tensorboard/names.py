"""Names that say in which boxes of the Graphs tab a node stands."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from ...core.records import Scope, around


class Item(NamedTuple):
    """A node of any kind: what it is known by, its name, what it applies, its scope, and what it reads."""

    key: Any
    name: str
    op: str
    scope: Scope | None
    sources: Sequence[Any]
    shape: Sequence[int] = ()
    notes: Mapping[str, Any] = {}


class Place(NamedTuple):
    """A scope: its path in the Graphs tab, where two of one name differ, and the path that was written."""

    path: str = ""
    written: str = ""


def names_of(items: Sequence[Item]) -> dict[Any, str]:
    """A path for each node. Two of one name, and two scopes of one name, get numbers."""
    counts: dict[str, int] = {}
    places: dict[Scope | None, Place] = {None: Place()}
    paths = {}
    for item in items:
        for scope in around(item.scope):
            if scope in places:
                continue
            outer = places[scope.parent]
            name_within = _within(outer, scope.name)
            written = f"{outer.written}/{name_within}" if outer.written else name_within
            places[scope] = Place(_unique(f"{outer.path}/{name_within}".lstrip("/"), counts), written)
        outer = places[item.scope]
        paths[item.key] = _unique(f"{outer.path}/{_within(outer, item.name)}".lstrip("/"), counts)
    return paths


def _within(outer: Place, name: str) -> str:
    """A name in the box of a scope: without the scope's path, with which imported names begin."""
    clean = re.sub(r"[^A-Za-z0-9_.\-/]", "_", name).strip("/_") or "node"
    if clean == outer.written:
        return clean.rpartition("/")[2]
    return clean.removeprefix(f"{outer.written}/") if outer.written else clean


def _unique(name: str, counts: dict[str, int]) -> str:
    """The name, or the name with a number; counts: how often each was asked for."""
    free = name
    while free in counts:
        counts[name] += 1
        free = f"{name}_{counts[name]}"
    counts[free] = 0
    return free
