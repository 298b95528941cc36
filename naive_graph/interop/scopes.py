"""Scopes from names: `encoder/dense/MatMul` and `encoder.dense.weight` belong to the scope `encoder/dense`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

from ..core.records import Scope
from ..graph.node_factory import CURRENT

LONGEST, DEEPEST = 1000, 50  # a path of scopes


def path_of(name: str) -> list[str]:
    """The scope path of a name: a, b for "a/b/c" and "a.b.c"; a numeric part stays with the part before it.

    >>> path_of("/encoder/dense/MatMul"), path_of("encoder.layers.0.weight"), path_of("input.3")
    (['encoder', 'dense'], ['encoder', 'layers.0'], [])
    """
    parts = name.removeprefix("/").split("/") if "/" in name else re.split(r"\.(?!\d)", name)
    return parts[:-1] if len(name) <= LONGEST and len(parts) <= DEEPEST else []


class NamedScopes:
    """The scopes of one network, reused each time that it is built."""

    def __init__(self) -> None:
        self.known: dict[tuple[Scope | None, str], Scope] = {}
        self.outer: Scope | None = None

    @contextmanager
    def building(self) -> Iterator[None]:
        """Nested in the current scope, which is restored on exit."""
        self.outer = CURRENT.tables.scope_now
        try:
            yield
        finally:
            CURRENT.tables.enter(self.outer)

    def enter(self, name: str) -> None:
        """Enter the scopes of a name; nodes made from now on belong to them."""
        scope = self.outer
        for part in path_of(name):
            scope = self.known.setdefault((scope, part), Scope(part or "/", scope))
        if CURRENT.tables.scope_now is not scope:
            CURRENT.tables.enter(scope)
