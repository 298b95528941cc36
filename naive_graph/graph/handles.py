"""Where nodes come from: rows are appended to the current graph, and each has at most one handle.

This file knows the tables, not the classes of nodes; those enter themselves in
`KINDS`.
"""

from __future__ import annotations

import sys
import weakref
from collections.abc import Iterable
from threading import RLock
from types import CodeType, FrameType
from typing import Any

from ..core.forks import TABLES, held_over_forks
from ..core.origin import is_ours, learners_frame
from ..core.rules import Rule
from ..core.tables import CONSTANT, FULL, MANY, MOST_MERGED, NEVER, ONE, WIDTH, Tables, row_of
from ..errors import NodeError

_getframe = sys._getframe
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
        kind, fresh = home.operators[row], home.fresh
        place = WIDTH * (row - fresh[0] + 1)
        reference = home.handles.get(row)
        node = fresh[place] if place > 0 else reference and reference()
        if node is None:
            node = object.__new__(KINDS[min(kind, OPERATOR)])
            if place > 0:
                fresh[place] = node
            else:
                home.handles[row] = weakref.ref(node)
                if len(home.handles) >= home.most_handles:
                    home.sweep_handles()
        node._home, node._row = home, row
        return node


def abandon(home: Tables, rows: int, reason: str) -> None:
    """Make every node from row `rows` on stale, before its row is used anew."""
    home.turn()
    gone = Tables()
    gone.close(reason)
    for row in [row for row in home.handles if row >= rows]:
        node = home.handles[row]()
        if node is not None:
            node._home = gone
        del home.handles[row]


def register(node: Any, kind: int, value: float, name: str | None) -> None:
    """Append a row for a node that is being made by its class."""
    if name is not None:
        check_name(name)
    home = CURRENT.tables
    frame = _getframe(2)
    code = frame.f_code
    if code is not home.code_now:
        frame = learner(home, frame)
        code = frame.f_code
    if kind < 0:
        entry: Any = (kind, value, ONE, 0, code, frame.f_lasti, node)
    else:  # it waits for edges drawn by hand
        entry = (kind, [], MANY, 0, code, frame.f_lasti, node)
    fresh = home.fresh
    fresh += entry
    size = len(fresh)
    node._home, node._row = home, fresh[0] + size // WIDTH - 1
    if fresh[-1] is not node:
        node._row = row_of(fresh, node)
    if name is not None:
        home.names[node._row] = name
    if size > FULL:
        home.turn()


def leave_unset(node: Any) -> None:
    """The node, which was made just now, has no value until it is set."""
    home = node._home
    with home.lock:
        home.unset.add(node._row)
        home.grow_values()
        home.stamps[node._row] = NEVER


def learner(home: Tables, frame: FrameType) -> FrameType:
    """The frame of the learner's who called us, from one that may be ours; its code is the last that was seen."""
    if is_ours.get(frame.f_code.co_filename, True):
        frame = learners_frame(2)
    home.code_now = frame.f_code
    return frame


def grow(home: Tables, rule: Rule, operands: Iterable[int | float]) -> Any:
    """Append an operator over operands that were checked: rows (int) and numbers (float)."""
    with home.lock:
        mark = home.mark()
        try:
            frame = learners_frame()
            code, instruction = frame.f_code, frame.f_lasti
            sources = [
                operand if type(operand) is int else _constant(home, operand, code, instruction) for operand in operands
            ]
            count = len(sources)
            mergeable = rule.associative and count == 2 and home.operators[sources[0]] == rule.number
            if mergeable and merges(home.in_degrees[sources[0]], *sources):
                count += home.in_degrees[sources[0]] - 1
                sources[0] = ~sources[0]
            return handle(home, home.add_row(rule.number, sources, count, code, instruction))
        except BaseException:
            home.cut(mark)
            raise


def _constant(home: Tables, value: float, code: CodeType, instruction: int) -> int:
    row = home.add_row(CONSTANT, (), 0, code, instruction)
    home.write(row, value)
    return row


def merges(degree: int, left: int, right: int) -> bool:
    """Whether (a + b) + c may become one sum of three. Only the left: a + (b + c) has other bits. degree: its own."""
    return left != right and 2 <= degree < MOST_MERGED


def check_name(name: object) -> None:
    if name is not None and (not isinstance(name, str) or not name):
        raise NodeError(f"A node's name is a text such as 'x', not {name!r}.")
