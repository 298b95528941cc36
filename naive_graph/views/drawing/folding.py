"""Decide which scopes are folded, and map each row to the id of the box that shows it."""

from __future__ import annotations

import re
from collections.abc import Iterable
from math import inf
from typing import Any, Protocol

from ...core.number import shortened
from ...core.records import Scope, around
from ...errors import DrawingError
from .text_metrics import visible


class Scoped(Protocol):
    """What a Folder reads: the scope of each row. Implemented by the tables of scalars and by numbered tensors."""

    scopes: list[tuple[int, Scope | None]]

    def scope(self, row: int) -> Scope | None: ...


class Folder:
    """Which box a row belongs to: its own, or that of a scope folded around it.

    fold: True folds every scope, a number those inside so many others, a path
    (or several) the scopes of that path; False and None fold none.
    """

    def __init__(self, tables: Scoped, fold: object = None, prefix: str = "row") -> None:
        self.tables, self.prefix = tables, prefix
        self.depth, self.paths = _parse_fold(fold)  # of the scopes that fold: how many are around them; their paths
        scopes = [outer for _, scope in tables.scopes for outer in around(scope)] if self.paths else []
        existing = dict.fromkeys(outer.path for outer in scopes)
        for wanted in self.paths:
            if wanted not in existing:
                paths = ", ".join(repr(path) for path in list(existing)[:5]) or "none: make one with scope(...)"
                raise DrawingError(f"fold={wanted!r}: there is no such scope. There are: {paths}.")
        self.is_folding = bool(self.paths) or (self.depth < inf and any(scope for _, scope in tables.scopes))
        self.hidden: set[int] = set()  # rows that are not drawn; set and read by scene.py
        self.bundles: dict[int, str] = {}  # leaves that share a box, and its id
        self._ids: dict[Scope, str] = {}
        self._closed: dict[Scope | None, Scope | None] = {}

    def grouped(self, rows: Iterable[int]) -> dict[str, list[int]]:
        """The rows of each box, boxes in the order of their first row."""
        boxes: dict[str, list[int]] = {}
        for row in rows:
            boxes.setdefault(self.box(row), []).append(row)
        return boxes

    def box(self, row: int) -> str:
        """The id of the box that shows this row."""
        if row in self.bundles:
            return self.bundles[row]
        closed = self.closed(self.tables.scope(row)) if self.is_folding else None
        return f"{self.prefix}-{row}" if closed is None else self.id(closed)

    def closed(self, scope: Scope | None) -> Scope | None:
        """The outermost folded scope around; None if all are open."""
        if scope not in self._closed:
            outer = enumerate(around(scope))
            folded = (each for depth, each in outer if depth >= self.depth or (self.paths and each.path in self.paths))
            self._closed[scope] = next(folded, None)
        return self._closed[scope]

    def id(self, scope: Scope) -> str:
        return self._ids.setdefault(scope, f"scope-{len(self._ids)}")

    def open_path(self, scope: Scope | None) -> tuple[str, ...]:
        """The ids of this open scope and of those around it, outermost first."""
        return tuple(map(self.id, around(scope)))

    def scopes(self) -> dict[str, Scope]:
        """Every scope that was given an id."""
        return {name: scope for scope, name in self._ids.items()}

    def names(self) -> dict[str, str]:
        """The displayed title of each scope, by its id."""
        return {name: visible(short(scope.name, scope.parent)) for scope, name in self._ids.items()}


def short(name: str, scope: Scope | None) -> str:
    """Remove the path of the enclosing scopes from a name: names in imported networks begin with it.

    >>> short("/encoder/layer/MatMul", Scope("layer", Scope("encoder"))), short("b", Scope("a"))
    ('MatMul', 'b')
    """
    plain = name.removeprefix("/")
    paths = [f"{enclosing.path}/" for enclosing in around(scope)] if re.search("[./]", plain) else []
    prefix_lengths = [len(each) for each in paths if plain.startswith((each, each.replace("/", ".")))]
    return plain[max(prefix_lengths, default=0) :] or name


def _parse_fold(fold: object) -> tuple[float, tuple[str, ...]]:
    """From which depth on scopes fold (infinity if none does by its depth), and the paths of others that fold."""
    if fold is None or isinstance(fold, bool):
        return (0 if fold else inf), ()
    if isinstance(fold, int) and fold >= 0:
        return fold, ()
    paths: tuple[Any, ...] = ()
    if isinstance(fold, (str, Iterable)):
        paths = (fold,) if isinstance(fold, str) else tuple(fold)
    if not paths or not all(isinstance(path, str) for path in paths):
        how = "True, False, a depth of at least 0 (that of the outermost scopes), or paths such as 'layer/inner'"
        raise DrawingError(f"fold takes {how}, not {shortened(fold)}.")
    return inf, tuple(sorted(paths))
