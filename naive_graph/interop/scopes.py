"""Scopes by names: what is called `encoder/dense/MatMul`, or `encoder.dense.weight`, stands in `encoder/dense`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

from ..core.records import Scope
from ..graph.registry import CURRENT

LONGEST, DEEPEST = 1000, 50  # a path of scopes


def path_of(name: str) -> list[str]:
    """What stands before the last slash; in a name without one, before the last dot: a number belongs to its list.

    >>> path_of("/encoder/dense/MatMul"), path_of("encoder.layers.0.weight"), path_of("input.3")
    (['encoder', 'dense'], ['encoder', 'layers.0'], [])
    """
    parts = name.removeprefix("/").split("/") if "/" in name else re.split(r"\.(?!\d)", name)
    return parts[:-1] if len(name) <= LONGEST and len(parts) <= DEEPEST else []


class NamedScopes:
    """The scopes of one network, the same however often it is built."""

    def __init__(self) -> None:
        self.known: dict[tuple[Scope | None, str], Scope] = {}
        self.outer: Scope | None = None

    @contextmanager
    def building(self) -> Iterator[None]:
        """Scopes stand in the one that is open now, which is so again afterwards."""
        self.outer = CURRENT.tables.scope_now
        try:
            yield
        finally:
            CURRENT.tables.enter(self.outer)

    def enter(self, name: str) -> None:
        """What is made next stands in the scopes that a name says."""
        at = self.outer
        for part in path_of(name):
            at = self.known.setdefault((at, part), Scope(part or "/", at))
        if CURRENT.tables.scope_now is not at:
            CURRENT.tables.enter(at)
