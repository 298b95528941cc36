"""Where nodes come from: rows are appended to the current graph, and each has at most one handle.

This file knows the tables, not the classes of nodes; those enter themselves in
`KINDS`.
"""

from __future__ import annotations

import sys
import weakref
from collections.abc import Sequence
from threading import RLock
from types import FrameType
from typing import Any

from ..core.fork_safety import TABLES, held_over_forks
from ..core.origin import is_ours, learners_frame
from ..core.rules import Rule
from ..core.tables import CONSTANT, FULL, MANY, MOST_MERGED, NEVER, ONE, WIDTH, Mark, Tables, row_of
from ..errors import NodeError, StaleNodeError

_getframe = sys._getframe
OPERATOR = 0  # stands for every operator in KINDS
KINDS: dict[int, type] = {}  # a leaf kind, or OPERATOR -> its class


class Current:
    """Holds the tables of the current graph, to which new nodes are appended."""

    __slots__ = ("lock", "scratch_thread", "tables")  # quicker to look up

    def __init__(self) -> None:
        self.tables = Tables()
        self.scratch_thread: int | None = None  # which thread is inside Graph.scratch()
        self.lock = RLock()  # held while the two change together


CURRENT = Current()
held_over_forks(TABLES, lambda: CURRENT.lock)
held_over_forks(TABLES, lambda: CURRENT.tables.lock)


def handle(home: Tables, row: int) -> Any:
    """The one Node of a row. Raises StaleNodeError if a handler took the row away meanwhile."""
    with home.lock:
        try:
            made: Any = object.__new__(KINDS[min(home.operators[row], OPERATOR)])
            made._home, made._row = home, row
            mine = weakref.ref(made)
            while True:
                fresh, reference = home.fresh, home.handles.get(row)
                found, place = reference and reference(), WIDTH * (row - fresh[0] + 1)
                # Nothing is called from here on: no handler made it, cut the graph back, or turned the page.
                now = home.handles[row] if row in home.handles else None  # noqa: SIM401 - get is called
                if home.fresh is fresh and now is reference:
                    if place > 0:
                        found = fresh[place]
                    if found is not None:
                        return found
                    if place > 0:
                        fresh[place] = made
                        return made
                    home.handles[row] = mine
                    break
        except IndexError:
            raise StaleNodeError(f"This node's graph {home.closed or 'was cleared'}. Build it again.") from None
        if len(home.handles) >= home.most_handles:
            home.sweep_handles()
        return made


def cut_back(home: Tables, mark: Mark, reason: str) -> None:
    """Forget what came after the mark; every node of it is stale before its row is used anew."""
    gone = Tables()
    gone.close(reason)
    with home.lock:
        home.turn()
        for row in [row for row in home.handles if row >= mark.rows]:
            node = home.handles[row]()
            if node is not None:
                node._home = gone
            del home.handles[row]
        for node in home.cut(mark):  # what a signal's handler has built meanwhile
            node._home = gone


def let_go(home: Tables, mark: Mark) -> None:
    """Forget what came after the mark if nobody holds a node of it: a thread or a handler may have built there, too."""
    with home.lock:
        home.turn()  # the fresh page holds its nodes
        page, handles = home.fresh, [home.handles.get(row) for row in range(mark.rows, len(home))]
        if handles and not any(handle is not None and handle() is not None for handle in handles):
            home.cut(mark, page)


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
    fresh, node._home = home.fresh, home  # before it is seen: who cuts it away marks it
    fresh += entry
    size = len(fresh)
    node._row = fresh[0] + size // WIDTH - 1
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
        home._stamps[node._row] = NEVER


def learner(home: Tables, frame: FrameType) -> FrameType:
    """The frame of the learner's who called us, from one that may be ours; its code is the last that was seen."""
    if is_ours.get(frame.f_code.co_filename, True):
        frame = learners_frame(2)
    home.code_now = frame.f_code
    return frame


def grow(home: Tables, rule: Rule, operands: Sequence[int | float], cuts: int) -> Any:
    """Append an operator over operands that were checked: rows (int) and numbers (float), each a Constant before it.

    cuts: how often the graph had been cut back before they were checked. Gives None if it was since.
    """
    frame = learners_frame()
    code, instruction = frame.f_code, frame.f_lasti
    numbers = [each for each in operands if type(each) is float]
    count, before = len(operands), iter(range(len(numbers), 0, -1))
    sources: list[int | float] = [float(next(before)) if type(each) is float else each for each in operands]
    if rule.associative and count == 2 and type(sources[0]) is int and home.operators[sources[0]] == rule.number:
        degree = home.in_degrees[sources[0]]
        if merges(degree, *sources):
            sources[0], count = ~sources[0], 1 + degree
    node: Any = object.__new__(KINDS[OPERATOR])
    entries: list[Any] = [entry for value in numbers for entry in (CONSTANT, value, ONE, 0, code, instruction, None)]
    entries += (rule.number, sources, MANY, count, code, instruction, node)
    node._home = home
    if home.cuts != cuts:
        return None
    fresh = home.fresh
    fresh += entries
    node._row = row_of(fresh, node)
    if len(fresh) > FULL:
        home.turn()
    return node


def merges(degree: int, left: Any, right: Any) -> bool:
    """Whether (a + b) + c may become one sum of three. Only the left: a + (b + c) has other bits. degree: its own."""
    return left != right and 2 <= degree < MOST_MERGED


def check_name(name: object) -> None:
    if name is not None and (not isinstance(name, str) or not name):
        raise NodeError(f"A node's name is a text such as 'x', not {name!r}.")
