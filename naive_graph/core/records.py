"""Small things that the tables speak of: places to cut back to, rows that came together, named boxes."""

from __future__ import annotations

from typing import Any, NamedTuple, NoReturn

from ..errors import StaleNodeError


class Checkpoint(NamedTuple):
    """A place to cut back to: how many rows, edges and scopes there were."""

    rows: int
    edges: int
    scopes: int


class NodeRange(NamedTuple):
    """Rows that were appended together, as the elements of one tensor were."""

    first: int
    size: int
    owner: Any  # who made them; `owner.name_of(place)` says what each is called

    def name(self, row: int) -> str | None:
        name: str | None = self.owner.name_of(row - self.first)
        return name


class Scope:
    """A named box around the nodes made inside it; boxes nest."""

    __slots__ = ("name", "parent")

    def __init__(self, name: str, parent: Scope | None = None) -> None:
        self.name = name
        self.parent = parent

    @property
    def path(self) -> str:
        return "/".join(scope.name for scope in around(self))

    def __repr__(self) -> str:
        return f"<scope {self.path}>"


def around(scope: Scope | None) -> list[Scope]:
    """This scope and those around it, outermost first."""
    chain = []
    while scope is not None:
        chain.append(scope)
        scope = scope.parent
    return chain[::-1]


class ClearedColumn:
    """A column of a graph that is no more: whoever looks at it hears why."""

    def __init__(self, reason: str) -> None:
        self.reason = reason

    def _refuse(self, *_: object) -> NoReturn:
        raise StaleNodeError(f"The graph {self.reason} while it was worked on. Build it again.")

    __len__ = __iter__ = __getitem__ = __setitem__ = __delitem__ = _refuse
