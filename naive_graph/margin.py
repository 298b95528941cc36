"""Rows that compiled code has written and nobody has looked at yet.

Compiled code cannot append to Python's arrays, so it writes new rows into a
margin beside the tables. While it may, the tables are `Open`: whoever looks at
any of their columns, from whatever thread, first has the margin moved into
them, and closed until a node is next built in Python. So a fact has one home,
and nobody sees half of it.
"""

from __future__ import annotations

from array import array
from itertools import islice
from sys import getrefcount
from threading import get_ident
from typing import Any
from weakref import ref

from .engines.llvm.layout import (
    CAPACITY,
    DEGREE,
    EDGES,
    END,
    FIRST,
    FIRST_EDGE,
    INSTRUCTION,
    MOST_NODES,
    NODE_ROW,
    NODES,
    NUMBER_ROW,
    NUMBERS,
    OWNER,
    ROWS,
    SIZE,
    SOURCE,
    TARGET,
)
from .tables import Tables

SHORT = 8  # rows; a margin that was looked at earlier was not worth opening
LEAST_PATIENCE, MOST_PATIENCE = 32, 1024
_ALL, _COUNTS, _NODES = slice(0, END), slice(ROWS, NODES), slice(NODES, END)
_ZEROS = array("q", [0] * END)
_AS_IT_IS = {"lock", "closed", "margin", "close", "__class__", "__dict__"}  # may be looked at without moving anything


class Patience:
    """How many nodes are built in Python before a margin is opened again: ever more, if it never is worth it."""

    left, next = 0, LEAST_PATIENCE


def be_patient(more: bool) -> None:
    Patience.left = Patience.next if more else 0
    Patience.next = min(2 * Patience.next, MOST_PATIENCE) if more else LEAST_PATIENCE


class Margin:
    """The buffers that compiled code writes for one graph, and the words that say how far it has come."""

    def __init__(self, home: Tables) -> None:
        self.home = home  # held, for its address must not be used anew
        self.ints, self.values = array("i", bytes(4 * SIZE)), array("d", bytes(8 * CAPACITY))
        self.kinds = array("h", bytes(2 * CAPACITY))
        self.young: list[Any] = [None] * MOST_NODES  # the nodes that have no entry in home.handles yet
        buffers = [each.buffer_info()[0] for each in (self.ints, self.kinds, self.values)]
        self.words = array("q", [0] * END + buffers)
        self.turn = 0  # how often it was emptied

    @property
    def address(self) -> int:
        return self.words.buffer_info()[0]

    def start(self) -> None:
        """From now on this thread's compiled code may write, for the tables as they are now."""
        home = self.home
        words = array("q", [
            get_ident(), id(home), id(home.code_now), id(self.young), home.operators.buffer_info()[0],
            home.in_degrees.buffer_info()[0], id(home.operators), id(home.sources), len(home.operators),
            len(home.sources), 0, 0, 0, 0, 0,
        ])  # fmt: skip
        home.__class__ = Open
        self.words[_ALL] = words  # at once

    def move(self, fields: dict[str, Any]) -> list[Any]:
        """Move what was written to the ends of the columns. Returns nodes that may be let go once all is done.

        Interrupted, it can be done again. What interrupts it may build nodes (a
        finalizer, a signal handler): it then does all of this, and we go no further.
        """
        turn, words, ints = self.turn, self.words, self.ints
        words[OWNER] = 0
        rows, edges, first, first_edge = words[ROWS], words[EDGES], words[FIRST], words[FIRST_EDGE]
        if rows:
            if words[NUMBERS]:
                self._write_numbers(fields)
            for name, start, new in (
                ("sources", first_edge, ints[SOURCE : SOURCE + edges]),
                ("targets", first_edge, ints[TARGET : TARGET + edges]),
                ("in_degrees", first, ints[DEGREE : DEGREE + rows]),
                ("instructions", first, ints[INSTRUCTION : INSTRUCTION + rows]),
                ("operators", first, self.kinds[:rows]),
            ):
                column, end = fields[name], slice(start, None)
                if self.turn != turn:
                    return []
                column[end] = new
            fields["cache"].clear()
            zeros = _ZEROS[_COUNTS]
            if self.turn != turn:
                return []
            words[_COUNTS] = zeros
            self.turn += 1
        be_patient(rows < SHORT)
        return self.register(fields)

    def register(self, fields: dict[str, Any]) -> list[Any]:
        """Enter the nodes that somebody holds; most were let go as soon as the next was built. Returns all."""
        turn, count, handles = self.turn, self.words[NODES], fields["handles"]
        held = [place for place, use in enumerate(_uses(self.young, count)) if use != ALONE]
        rows, nodes = self.ints[NODE_ROW : NODE_ROW + count], self.young[:count]
        if self.turn != turn:
            return []
        for place in held:
            if nodes[place] is not None:
                handles[rows[place]] = ref(nodes[place])
        self._empty(turn, count, _NODES)
        return nodes  # when these die, anything may happen

    def forget(self) -> list[Any]:
        """Leave all that was written out of the tables, which are closed. Returns nodes as `move` does."""
        turn, words, rows = self.turn, self.words, self.words[ROWS]
        words[OWNER] = 0
        if rows >= SHORT or words[FIRST] + rows <= SHORT:  # opened late in a longer graph, it had no chance
            be_patient(rows < SHORT)
        nodes = self.young[: words[NODES]]
        self._empty(turn, len(nodes), _ALL)
        return nodes

    def _empty(self, turn: int, count: int, words: slice) -> None:
        """Let go of the nodes, which the caller holds, and blank these words, unless that was done meanwhile."""
        nodes, blank, zeros = slice(count), [None] * count, _ZEROS[words]
        if self.turn == turn:
            self.young[nodes] = blank
            self.words[words] = zeros
            self.turn += 1

    def serve(self, home: Tables) -> bool:
        """Write for this graph from now on, if the one before is closed and nothing is left of it."""
        before, words = self.home, self.words
        if not before.closed or not before.lock.acquire(blocking=False):
            return False
        try:
            free = not (words[OWNER] or words[ROWS] or words[NODES])
            if free:
                self.turn += 1
                words[_ALL] = _ZEROS  # before the address of the last graph may be used anew
                self.home = home
            return free
        finally:
            before.lock.release()

    def _write_numbers(self, fields: dict[str, Any]) -> None:
        """As `Tables.write` does it, row by row."""
        values, stamps, clock = fields["values"], fields["stamps"], fields["clock"]
        rows = self.ints[NUMBER_ROW : NUMBER_ROW + self.words[NUMBERS]]
        for column in (stamps, values):
            column.frombytes(bytes(8 * max(0, rows[-1] + 1 - len(column))))
        for row, value in zip(rows, self.values):
            values[row] = value
            stamps[row] = clock
        fields["written"] = clock


def _uses(things: list[Any], count: int) -> list[int]:
    """How often each of the first things is held, by that list and by whomever."""
    return list(map(getrefcount, islice(things, count)))


(ALONE,) = _uses([object()], 1)  # what a thing counts that nothing but one list holds


class Open(Tables):
    """Tables with a margin that compiled code may be writing. To look at them is to close them."""

    def __getattribute__(self, name: str) -> Any:
        if name not in _AS_IT_IS:
            settle(self)
        return object.__getattribute__(self, name)

    def __setattr__(self, name: str, value: Any) -> None:
        if name not in ("__class__", "__dict__"):
            settle(self)
        object.__setattr__(self, name, value)

    def close(self, reason: str) -> None:
        """As `Tables.close`, without moving in first what is to be forgotten."""
        margin = self.margin
        Tables.close(self, reason)
        if margin is not None:
            margin.forget()
        object.__setattr__(self, "__class__", Tables)


def settle(home: Tables) -> None:
    """Move the margin into the tables, which then are as if every node had been built in Python."""
    with home.lock:
        while type(home) is Open:
            margin = home.margin
            nodes = [] if margin is None else margin.move(home.__dict__)
            if margin is None or not margin.words[OWNER]:
                object.__setattr__(home, "__class__", Tables)
            del nodes  # as they die, others may be built, and the tables be open again
