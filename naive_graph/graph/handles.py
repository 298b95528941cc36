"""Where nodes come from: rows are appended to the current graph, and each has at most one handle.

This file knows the tables, not the classes of nodes; those enter themselves in
`KINDS`.
"""

from __future__ import annotations

import sys
import weakref
from collections.abc import Iterable
from threading import RLock
from typing import Any

from ..core.forks import TABLES, held_over_forks
from ..core.origin import is_ours, learners_frame
from ..core.rules import Rule
from ..core.tables import CONSTANT, MOST_MERGED, Mark, Tables
from ..errors import NodeError

_getframe, _new, _reference = sys._getframe, object.__new__, weakref.ref  # found quickly, for grow_short
OPERATOR = 0  # stands for every operator in KINDS
KINDS: dict[int, type] = {}  # a leaf kind, or OPERATOR -> its class


class Current:
    """Where new nodes go: the tables of the graph at hand."""

    __slots__ = ("lock", "scratch_thread", "tables")  # quicker to look up

    def __init__(self) -> None:
        self.tables = Tables()
        self.scratch_thread: int | None = None  # which thread is inside Graph.scratch()
        self.lock = RLock()  # held while the two change together


CURRENT = Current()
held_over_forks(TABLES, lambda: CURRENT.lock)
held_over_forks(TABLES, lambda: CURRENT.tables.lock)


def handle(home: Tables, row: int) -> Any:
    """The one Node of a row."""
    with home.lock:
        reference = home.handles.get(row)
        node = None if reference is None else reference()
        if node is None:
            node = object.__new__(KINDS[min(home.operators[row], OPERATOR)])
            bind(node, home, row)
        return node


def bind(node: Any, home: Tables, row: int) -> None:
    """Make `node` the handle of `row`. Dead references are swept out as the table doubles."""
    node._home, node._row = home, row
    home.handles[row] = _reference(node)
    if len(home.handles) >= home.most_handles:
        sweep_handles(home)


def sweep_handles(home: Tables) -> None:
    """Drop the references to nodes that nobody holds any more."""
    for row, reference in home.handles.copy().items():  # a signal handler or a finalizer may add to them meanwhile
        if reference() is None and home.handles.get(row) is reference:
            del home.handles[row]
    home.most_handles = 2 * len(home.handles) + 1000


def abandon(home: Tables, rows: int, reason: str) -> None:
    """Make every node from row `rows` on stale, before its row is used anew."""
    gone = Tables()
    gone.close(reason)
    for row in [row for row in home.handles if row >= rows]:
        node = home.handles[row]()
        if node is not None:
            node._home = gone
        del home.handles[row]


def register(node: Any, kind: int, value: float | None, name: str | None) -> None:
    """Append a row for a node that is being made by its class."""
    check_name(name)
    home = CURRENT.tables
    with home.lock:
        rows, edges = len(home.operators), len(home.sources)
        try:
            frame = _getframe(2)
            if is_ours.get(frame.f_code.co_filename, True):
                frame = learners_frame()
            row = home.add_row(kind, (), 0, frame.f_code, frame.f_lasti)
            if value is not None:
                home.write(row, value)
            if name is not None:
                home.names[row] = name
            bind(node, home, row)
        except BaseException:
            home.cut(Mark(rows, edges, len(home.scopes)))
            raise


def grow(home: Tables, rule: Rule, operands: Iterable[int | float], merge_from: int = 0) -> Any:
    """Append an operator over operands that were checked: rows (int) and numbers (float).

    Only rows from `merge_from` on may be absorbed.
    """
    with home.lock:
        rows, edges = len(home.operators), len(home.sources)
        try:
            frame = learners_frame()
            code, instruction = frame.f_code, frame.f_lasti
            sources = [
                operand if type(operand) is int else _constant(home, operand, code, instruction) for operand in operands
            ]
            count = len(sources)
            mergeable = rule.associative and count == 2 and home.operators[sources[0]] == rule.number
            if mergeable and sources[0] >= merge_from and _merges(home, *sources):
                count += home.in_degrees[sources[0]] - 1
                sources[0] = ~sources[0]
            node: Any = object.__new__(KINDS[OPERATOR])
            bind(node, home, home.add_row(rule.number, sources, count, code, instruction))
            return node
        except BaseException:
            home.cut(Mark(rows, edges, len(home.scopes)))
            raise


def grow_short(home: Tables, operator: int, associative: bool, left: int, right: int | float | None = None) -> Any:
    """Append an operator over a row, and another row or a number.

    This is `grow` for `x + y`, `x * 2` and `x.sin()`, the path that most nodes
    take, written out for speed. It is called by the overload that the learner calls.
    """
    with home.lock:
        rows, edges = len(home.operators), len(home.sources)
        try:
            row, count = rows, 1
            frame = _getframe(2)
            code = frame.f_code
            if code is not home.code_now:  # what it wrote before was the learner's
                if is_ours.get(code.co_filename, True):
                    frame = learners_frame()
                    code = frame.f_code
                if code is not home.code_now:
                    home.written_by(code)
            if right is not None:
                count = 2
                if isinstance(right, float):
                    right = _constant(home, right, code, frame.f_lasti)
                    row += 1
                if associative and home.operators[left] == operator and _merges(home, left, right):
                    count = home.in_degrees[left] + 1
                    left = ~left
                home.sources.append(left)
                home.sources.append(right)
                home.targets.append(row)
            else:
                home.sources.append(left)
            home.targets.append(row)
            home.in_degrees.append(count)
            home.instructions.append(frame.f_lasti)
            home.operators.append(operator)
            if home.cache:
                home.cache.clear()
            node: Any = _new(KINDS[OPERATOR])
            node._home = home
            node._row = row
            handles = home.handles
            handles[row] = _reference(node)
            if len(handles) >= home.most_handles:
                sweep_handles(home)
            return node
        except BaseException:
            home.cut(Mark(rows, edges, len(home.scopes)))
            raise


def _constant(home: Tables, value: float, code: Any, instruction: int) -> int:
    row = home.add_row(CONSTANT, (), 0, code, instruction)
    home.write(row, value)
    return row


def _merges(home: Tables, left: int, right: int) -> bool:
    """Whether (a + b) + c may become one sum of three. Only the left: a + (b + c) has other bits."""
    return left != right and 2 <= home.in_degrees[left] < MOST_MERGED


def check_name(name: object) -> None:
    if name is not None and (not isinstance(name, str) or not name):
        raise NodeError(f"A node's name is a text such as 'x', not {name!r}.")
