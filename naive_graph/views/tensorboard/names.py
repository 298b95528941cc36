"""Names that say in which boxes of the Graphs tab a node stands."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from ...core.records import Scope


class Item(NamedTuple):
    """A node of any kind: what it is known by, its name, what it applies, its scope, and what it reads."""

    key: Any
    name: str
    op: str
    scope: Scope | None
    sources: Sequence[Any]
    shape: Sequence[int] = ()
    notes: Mapping[str, Any] = {}


def names_of(items: Sequence[Item]) -> dict[Any, str]:
    """A path for each node. Two of one name, and two scopes of one name, get numbers."""
    counts: dict[str, int] = {}
    paths: dict[Scope | None, str] = {None: ""}
    found = {}
    for item in items:
        around, scope = list[Scope](), item.scope
        while scope is not None and scope not in paths:
            around.append(scope)
            scope = scope.parent
        for each in reversed(around):
            paths[each] = _unique(_joined(paths[each.parent], each.name), counts)
        found[item.key] = _unique(_joined(paths[item.scope], item.name), counts)
    return found


def _joined(path: str, name: str) -> str:
    """The name in the box of a path; a name that begins with it, as imported ones do, is whole."""
    clean = re.sub(r"[^A-Za-z0-9_.\-/]", "_", name).strip("/_") or "node"
    return clean if not path or clean.startswith(f"{path}/") else f"{path}/{clean}"


def _unique(name: str, counts: dict[str, int]) -> str:
    """The name, or the name with a number; counts: how often each was asked for."""
    free = name
    while free in counts:
        counts[name] += 1
        free = f"{name}_{counts[name]}"
    counts[free] = 0
    return free
