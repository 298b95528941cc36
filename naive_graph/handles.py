"""Where nodes come from: rows are appended to the current graph, and each has at most one handle.

This file knows the tables, not the classes of nodes; those enter themselves in
`KINDS`.
"""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from typing import Any

from .errors import NodeError
from .origin import learners_frame
from .rules import Rule
from .tables import CONSTANT, Tables

MOST_MERGED = 32  # operands that (a + b) + c and the like may gather in one node
OPERATOR = 0  # stands for every operator in KINDS
KINDS: dict[int, type] = {}  # a leaf kind, or OPERATOR -> its class


class Current:
    """Where new nodes go: the tables of the graph at hand."""

    def __init__(self) -> None:
        self.tables = Tables()
        self.scratch_thread: int | None = None  # which thread is inside Graph.scratch()


CURRENT = Current()


def handle(home: Tables, row: int) -> Any:
    """The one Node of a row."""
    reference = home.handles.get(row)
    node = None if reference is None else reference()
    if node is None:
        node = object.__new__(KINDS[min(home.operators[row], OPERATOR)])
        bind(node, home, row)
    return node


def bind(node: Any, home: Tables, row: int) -> None:
    """Make `node` the handle of `row`. References that died are swept out as the table doubles."""
    node._home, node._row = home, row
    handles = home.handles
    handles[row] = weakref.ref(node)
    if len(handles) >= home.most_handles:
        home.handles = {row: reference for row, reference in handles.items() if reference() is not None}
        home.most_handles = 2 * len(home.handles) + 1000


def abandon(home: Tables, rows: int, reason: str) -> None:
    """Make every node from row `rows` on stale, before its row is used anew."""
    gone = Tables()
    gone.close(reason)
    for row in [row for row in home.handles if row >= rows]:
        node = home.handles.pop(row)()
        if node is not None:
            node._home = gone


def register(node: Any, kind: int, value: float | None, name: str | None) -> None:
    """Append a row for a node that is being made by its class."""
    check_name(name)
    home = CURRENT.tables
    with home.lock:
        mark = home.mark()
        try:
            frame = learners_frame()
            row = home.add_row(kind, (), 0, frame.f_code, frame.f_lasti)
            if value is not None:
                home.write(row, value)
            if name is not None:
                home.names[row] = name
            bind(node, home, row)
        except BaseException:
            home.cut(mark)
            raise


def grow(home: Tables, rule: Rule, operands: Sequence[int | float], merge_from: int = 0) -> Any:
    """Append an operator over operands that were checked: rows (int) and numbers (float).

    Only rows from `merge_from` on may be absorbed.
    """
    with home.lock:
        mark = home.mark()
        try:
            frame = learners_frame()
            code, instruction = frame.f_code, frame.f_lasti
            sources: list[int] = [
                _constant(home, operand, code, instruction) if isinstance(operand, float) else operand
                for operand in operands
            ]
            count = len(sources)
            if rule.associative and count == 2 and sources[0] >= merge_from and _merges(home, rule, *sources):
                count += home.in_degrees[sources[0]] - 1
                sources[0] = ~sources[0]
            row = home.add_row(rule.number, sources, count, code, instruction)
            node: Any = object.__new__(KINDS[OPERATOR])
            bind(node, home, row)
            return node
        except BaseException:
            home.cut(mark)
            raise


def _constant(home: Tables, value: float, code: Any, instruction: int) -> int:
    row = home.add_row(CONSTANT, (), 0, code, instruction)
    home.write(row, value)
    return row


def _merges(home: Tables, rule: Rule, left: int, right: int) -> bool:
    """Whether (a + b) + c may become one sum of three. Only the left: a + (b + c) has other bits."""
    return home.operators[left] == rule.number and left != right and 2 <= home.in_degrees[left] < MOST_MERGED


def check_name(name: object) -> None:
    if name is not None and (not isinstance(name, str) or not name):
        raise NodeError(f"A node's name is a text such as 'x', not {name!r}.")
