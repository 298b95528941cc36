"""Small record types of the graph's tables: checkpoints, ranges of rows appended together, scopes and unique names."""

from __future__ import annotations

from typing import Any, NamedTuple, NoReturn

from ..errors import StaleNodeError


class Checkpoint(NamedTuple):
    """A state of the tables to truncate back to: how many rows, edges and scopes there were."""

    rows: int
    edges: int
    scopes: int


class NodeRange(NamedTuple):
    """Consecutive rows that were appended together, such as the elements of one tensor."""

    first: int
    size: int
    owner: Any  # what appended them; `owner.name_of(offset)` names the row at that offset from `first`


class Scope:
    """A named group of the nodes made inside it; scopes nest."""

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


def unique_name(used: dict[str, int], name: str) -> str:
    """Reserve and return the name; if it is in use, with a number appended that makes it new: `y`, `y_1`, `y_2`."""
    while count := used.get(name, 0):
        used[name] = count + 1
        name = f"{name}_{count}"
    used[name] = 1
    return name


class ClearedColumn:
    """Stands in for a column of a cleared graph: any access raises StaleNodeError with the reason."""

    def __init__(self, reason: str) -> None:
        self.reason = reason

    def _refuse(self, *_: object) -> NoReturn:
        raise StaleNodeError(f"The graph {self.reason} while it was worked on. Build it again.")

    __len__ = __iter__ = __getitem__ = __setitem__ = __delitem__ = _refuse
