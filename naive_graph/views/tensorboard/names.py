"""Unique slash-separated names: TensorBoard's Graphs tab groups nodes into boxes by them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from ...core.records import Scope, around
from ..drawing.folding import short


class GraphItem(NamedTuple):
    """A node of any kind: unique key, name, operator, scope, keys of its sources, shape, attributes."""

    key: Any
    name: str
    op: str
    scope: Scope | None
    sources: Sequence[Any]
    shape: Sequence[int] = ()
    notes: Mapping[str, Any] = {}


def item_paths(items: Sequence[GraphItem]) -> dict[Any, str]:
    """A path for each node. Two of one name, and two scopes of one name, get numbers."""
    counts: dict[str, int] = {}
    paths: dict[Scope | None, str] = {None: ""}
    names = {}
    for item in items:
        for scope in around(item.scope):
            if scope not in paths:
                paths[scope] = _unique(_path(paths[scope.parent], scope.name, scope.parent), counts)
        names[item.key] = _unique(_path(paths[item.scope], item.name, item.scope), counts)
    return names


def _path(outer: str, name: str, scope: Scope | None) -> str:
    """A name behind the path of its scope, in letters that TensorBoard reads."""
    clean = re.sub(r"[^A-Za-z0-9_.\-/]", "_", short(name, scope)).strip("/_") or "node"
    return f"{outer}/{clean}" if outer else clean


def _unique(name: str, counts: dict[str, int]) -> str:
    """Make a name unique by appending a number. counts: how often each name was used so far."""
    free = name
    while free in counts:
        counts[name] += 1
        free = f"{name}_{counts[name]}"
    counts[free] = 0
    return free
