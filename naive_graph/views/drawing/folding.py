"""Decide which scopes are folded, and map each row to the id of the box that shows it."""

from __future__ import annotations

import re
from collections.abc import Iterable
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
        self.tables = tables
        self.prefix = prefix
        self.fold = fold if fold is None or isinstance(fold, (bool, int)) else _parse_paths(fold)
        if not isinstance(fold, bool) and isinstance(fold, int) and fold < 0:
            raise DrawingError(f"fold={fold}: a depth is at least 0, that of the outermost scopes.")
        self.is_folding = fold is not None and fold is not False and any(scope for _, scope in tables.scopes)
        self.hidden: set[int] = set()  # rows that are not drawn; set and read by scene.py
        self.bundles: dict[int, str] = {}  # leaves that share a box, and its id
        self._ids: dict[Scope, str] = {}
        self._closed: dict[Scope | None, Scope | None] = {}

    def grouped(self, rows: Iterable[int]) -> dict[str, list[int]]:
        """The rows of each box, boxes in the order of their first row."""
        boxes: dict[str, list[int]] = {}
        for row in rows:
            boxes.setdefault(self.box(row), []).append(row)
        self._check_paths()
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
            folded = (enclosing for depth, enclosing in enumerate(around(scope)) if self._is_folded(enclosing, depth))
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

    def _is_folded(self, scope: Scope, depth: int) -> bool:
        if self.fold is None or isinstance(self.fold, bool):
            return bool(self.fold)
        if isinstance(self.fold, int):
            return depth >= self.fold
        return scope.path in self.fold

    def _check_paths(self) -> None:
        """Raise DrawingError for a path that no scope has; the message lists existing ones."""
        if not isinstance(self.fold, tuple):
            return
        paths = dict.fromkeys(enclosing.path for _, scope in self.tables.scopes for enclosing in around(scope))
        for wanted in self.fold:
            if wanted not in paths:
                existing = ", ".join(repr(path) for path in list(paths)[:5]) or "none: make one with scope(...)"
                raise DrawingError(f"fold={wanted!r}: there is no such scope. There are: {existing}.")


def short(name: str, scope: Scope | None) -> str:
    """Remove the path of the enclosing scopes from a name: names in imported networks begin with it.

    >>> short("/encoder/layer/MatMul", Scope("layer", Scope("encoder"))), short("b", Scope("a"))
    ('MatMul', 'b')
    """
    plain = name.removeprefix("/")
    paths = [f"{enclosing.path}/" for enclosing in around(scope)] if re.search("[./]", plain) else []
    prefix_lengths = [len(each) for each in paths if plain.startswith((each, each.replace("/", ".")))]
    return plain[max(prefix_lengths, default=0) :] or name


def _parse_paths(fold: object) -> tuple[str, ...]:
    paths: tuple[Any, ...] = ()
    if isinstance(fold, str):
        paths = (fold,)
    elif isinstance(fold, Iterable):
        paths = tuple(fold)
    if not paths or not all(isinstance(path, str) for path in paths):
        raise DrawingError(f"fold takes True, False, a depth, or paths such as 'layer/inner', not {shortened(fold)}.")
    return tuple(sorted(paths))
