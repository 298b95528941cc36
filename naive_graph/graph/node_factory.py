"""Append new nodes to the current graph's waiting list, and keep at most one Node object (handle) per row.

This file does not import the classes of nodes; they register themselves in
`KINDS`.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from types import FrameType
from typing import Any
from weakref import ref

from ..core.lock import GUARD, LOCK
from ..core.number import shortened
from ..core.origin import is_ours, user_frame_above
from ..core.records import Checkpoint
from ..core.tables import Tables
from ..core.waiting import FULL, NOTHING
from ..errors import NodeError, StaleNodeError

_getframe = sys._getframe
OPERATOR = 0  # key in KINDS for all operators
KINDS: dict[int, type] = {}  # leaf kind, or OPERATOR -> class of its nodes


class Current:
    """Holds the tables of the current graph, to which new nodes are appended."""

    __slots__ = ("scratch_thread", "tables")  # faster attribute access

    def __init__(self) -> None:
        self.tables = Tables()
        self.scratch_thread: int | None = None  # the thread that is inside Graph.scratch()


CURRENT = Current()


def handle(home: Tables, row: int) -> Any:
    """The one Node object of a row. Raises StaleNodeError if the row does not exist any more."""
    with LOCK, GUARD:
        if row >= len(home):
            raise StaleNodeError(f"This node's graph {home.closed or 'was cut back'}. Build it again.")
        home.keep_handles()
        reference = home.handles.get(row)
        node: Any = reference and reference()
        if node is None:
            node = object.__new__(KINDS[min(home.operators[row], OPERATOR)])
            node._home, node._row = home, row
            home.handles[row] = ref(node)
            home.keep_handles()
        return node


def truncate_if_unreferenced(home: Tables, mark: Checkpoint) -> None:
    """Truncate to the mark, unless a node behind it is referenced: another thread or a handler may have built it."""
    with LOCK, GUARD, home.numbering():  # what other threads build from here on waits, and is not cut off
        home.keep_handles()
        held = [home.handles[row] for row in home.handles if row >= mark.rows]
        if len(home) > mark.rows and not any(reference() is not None for reference in held):
            home.cut(mark, "was cut back")


def register(node: Any, kind: int, value: Any, name: str | None) -> None:
    """Append a node to the current graph, called by its constructor. value: of a leaf; () for an operator."""
    if name is not None:
        check_name(name)
    home = CURRENT.tables
    frame = _getframe(2)
    code = frame.f_code
    if code is not home.code_now:
        frame = user_frame(home, frame)
        code = frame.f_code
    node._home, node._row = home, None
    if name is not None:
        home.named.append((node, name))
    append(home, (kind, NOTHING, NOTHING, value, code, frame.f_lasti, node))


def user_frame(home: Tables, frame: FrameType) -> FrameType:
    """The learner's frame that called us, starting from one that may be ours; `code_now` is set to its code."""
    if is_ours.get(frame.f_code.co_filename, True):
        frame = user_frame_above(2)
    home.code_now = frame.f_code
    return frame


def append(home: Tables, entries: Sequence[Any]) -> None:
    """Append new nodes to the waiting list, and flush it when it is full."""
    waiting = home.waiting
    waiting += entries
    if len(waiting) >= FULL:
        home.flush_if_free()


def check_name(name: object) -> None:
    if name is not None and (not isinstance(name, str) or not name):
        raise NodeError(f"A node's name is a text such as 'x', not {shortened(name)}.")
