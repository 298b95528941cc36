"""The columns of a graph: packed arrays that grow at their end and are cut back there.

New rows count once `size` says so: what a Ctrl-C leaves behind it is not there.

A column of which somebody has a view (a `memoryview`, an array of `np.frombuffer`)
stays where it is and as long as it is: a longer copy takes its place. All but building
requires `lock`; see core/lock.py.
"""

from __future__ import annotations

from array import array
from bisect import insort_left, insort_right
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from operator import itemgetter
from sys import getrefcount
from types import CodeType
from typing import Any, ClassVar, NoReturn
from weakref import ref

from ..errors import StaleNodeError
from .lock import GUARD, LOCK
from .origin import Origin
from .records import Mark, RowBlock, Scope
from .waiting import CUT, NOTHING, WIDTH, NewRows, WaitingNodes, codes_of, columns_of

NEVER = 0  # the stamp of a value that was not computed
NODE_COLUMNS = ("_operators", "_in_degrees", "_values", "_stamps", "_instructions")
EDGE_COLUMNS = ("_sources", "_targets")


def flushed_column(name: str) -> Any:
    """A column under its public name: before it is handed out, the nodes that wait are written into it."""

    def column(tables: Storage) -> Any:
        if tables.waiting or tables.torn:
            tables.flush()
        return getattr(tables, name)

    def replace(tables: Storage, column: Any) -> None:
        setattr(tables, name, column)

    return property(column, replace)


class Storage:
    """The columns of one graph, how they grow and how they are cut back."""

    operators: array[int] = flushed_column("_operators")
    in_degrees: array[int] = flushed_column("_in_degrees")
    sources: array[int] = flushed_column("_sources")
    targets: array[int] = flushed_column("_targets")
    values: array[float] = flushed_column("_values")
    stamps: array[int] = flushed_column("_stamps")
    cache: dict[Any, Any] = flushed_column("_cache")
    codes: list[tuple[int, CodeType | None]] = flushed_column("_codes")
    instructions: array[int] = flushed_column("_instructions")

    # As `write_rows` of waiting.py, for rows of two operands at most: machine code, once that is there.
    write_quickly: ClassVar[Callable[..., NewRows | None] | None] = None

    def __init__(self) -> None:
        self.lock = LOCK
        self.waiting: list[Any] = []  # new nodes, WIDTH items each, as `WaitingNodes` has them
        self.named: list[tuple[Any, str]] = []  # nodes that wait, and their names
        self.size = 0, 0  # rows and edges
        self.torn = False  # whether a column may be longer than that
        self.is_numbering = False  # whether rows are being numbered that are not written yet
        self.unnoted: tuple[int, Sequence[Any]] = 0, ()  # the first of the rows that were just given, and their nodes
        self._operators = array("h")  # a rule's number, or a leaf kind
        self._in_degrees = array("i")
        self._sources = array("i")
        self._targets = array("i")
        self._values = array("d")
        self._stamps = array("q")  # when the value was written or computed; NEVER if it was not
        self._codes: list[tuple[int, CodeType | None]] = [(0, None)]  # from which row on each code object made them
        self._instructions = array("i")
        self._cache: dict[Any, Any] = {}  # what was derived from the tables as they are now
        self.code_now: CodeType | None = None  # the code that made the last node
        self.grads = array("d")
        self.unset: set[int] = set()  # Variables that were made without a value and have none yet
        self.counters: dict[tuple[str, int], int] = {}  # a learner's own, of a sort
        self.names: dict[int, str] = {}  # given one by one; a block names its rows itself
        self.blocks: list[RowBlock] = []  # by row
        self.unfolded: dict[Any, Any] = {}  # tensor -> the rows of its elements; each knows its `end`
        self.scopes: list[tuple[int, Scope | None]] = [(0, None)]  # from which row on each holds
        self.scope_now: Scope | None = None
        self.clock = 1  # the number of the next forward run
        self.written = NEVER  # when a leaf was last written
        self.redrawn = NEVER  # when an edge was last drawn by hand
        self.drawings = 0  # how often edges were drawn by hand, or cut that were: the clock may stand still in between
        self.grads_are_blank = True  # nothing since the last kill_grad
        self.computes_at_once = self.checks_validity = False  # tensors, while they are written
        self.closed: str | None = None  # why the graph is gone, if it is
        self.handles: dict[int, Any] = {}  # row -> weak reference to its Node
        self.most_handles = 1000  # at which the dead ones are swept out
        self.checkpoints: list[Mark] = []

    def __len__(self) -> int:
        if self.waiting or self.torn:
            self.flush()
        return self.size[0]

    # --- growing ---

    def flush_if_free(self) -> None:
        """Write those that wait, unless the graph is in use: whoever builds never waits for it."""
        if LOCK._is_owned():  # type: ignore[attr-defined]
            if GUARD.holder is None:
                self.flush()
            return
        acquired = False
        try:
            acquired = LOCK.acquire(blocking=False)
            if acquired:
                self.flush()
        finally:
            if acquired or LOCK._is_owned():  # type: ignore[attr-defined]  # a Ctrl-C may come before it is noted
                LOCK.release()

    def flush(self) -> None:
        """Give the nodes that wait their rows, and write them into the columns."""
        with LOCK, GUARD:
            self._trim()
            while self.waiting and not self.closed and not self.is_numbering:
                new = self.waiting[:]  # a copy: somebody may append meanwhile
                if self._write_waiting(WaitingNodes(*[new[place::WIDTH] for place in range(WIDTH)])):
                    break
                self._drop_what_was_cut(new)
            new = []  # who is held now is held by others
            self.note_handles()

    def _write_waiting(self, new: WaitingNodes) -> bool:
        """Write new nodes into the columns; False if an operand was cut away meanwhile."""
        columns = columns_of(self, new)
        if columns is None:
            return False
        self.names.update([(node._row, name) for node, name in self.named if node._row is not None])
        if any(columns.stamps):
            self.written = self.clock
        nodes, waited = (self.size[0], new.nodes), WIDTH * len(new.nodes)
        self._append(
            columns, array("i", new.instructions), codes_of(new.codes, self._codes[-1][1], self.size[0]), nodes, waited
        )
        return True

    def _drop_what_was_cut(self, new: list[Any]) -> None:
        """Nodes over rows that were cut away while they waited are cut away too."""
        kept: list[Any] = []
        for place in range(0, len(new), WIDTH):
            entry = new[place : place + WIDTH]
            _, left, right, value, _, _, node = entry
            operands = [each for each in value if type(each) not in (int, float)] if type(value) is tuple else []
            gone = [each._home for each in (left, right, *operands) if each._row == CUT]
            if gone:
                node._home, node._row = gone[0], CUT
            else:
                kept += entry
        self.waiting[: len(new)] = kept

    def add_row(self, operator: int, sources: Iterable[int], code: CodeType, instruction: int) -> int:
        """Append one row without a node, and without a value."""
        value = tuple(sources) if operator >= 0 else None
        self.waiting += (operator, NOTHING, NOTHING, value, code, instruction, None)
        return len(self) - 1

    @contextmanager
    def numbering(self) -> Iterator[int]:
        """The row from which `add_rows` goes on. What others build inside the block waits for its rows until the end.

        Whoever holds the lock may number many rows so, while they are made.
        """
        self.flush()
        self.is_numbering = True
        try:
            yield self.size[0]
        finally:
            self.is_numbering = False

    def add_rows(self, new: NewRows, origins: Sequence[tuple[int, Origin]]) -> None:
        """Append many rows with their edges at once. origins: from which row on each line of Python made them."""
        with LOCK, GUARD:
            self._trim()
            ends = [row for row, _ in origins[1:]] + [self.size[0] + len(new.operators)]
            instructions = array("i")
            for (row, origin), end in zip(origins, ends):
                instructions.extend(array("i", [origin.instruction]) * (end - row))
            if new.values:
                self.written = self.clock
            self._append(new, instructions, [(row, origin.code) for row, origin in origins], (0, ()), 0)

    def _append(
        self, new: NewRows, instructions: array[int], codes: list[Any], nodes: tuple[int, Sequence[Any]], waited: int
    ) -> None:
        """Write rows behind the last one; then let them count. waited: how many items of `waiting` they were."""
        size = self.size[0] + len(new.operators), self.size[1] + len(new.sources)
        blank = bytes(0 if new.values else 8 * len(new.operators))
        before, self._cache = self._cache, {}  # and with it views that were kept there
        self.torn = True
        self._extend("_operators", new.operators)
        self._extend("_in_degrees", new.in_degrees)
        self._extend("_sources", new.sources)
        self._extend("_targets", new.targets)
        self._extend("_values", new.values or array("d", blank))
        self._extend("_stamps", new.stamps or array("q", blank))
        self._extend("_instructions", instructions)
        self._codes += codes
        done, named = slice(waited), self.named
        those = slice(len(named))
        still = [each for each in named[those] if each[0]._row is None]
        # Nothing is called from here on, so Python looks for no signal: all of it happens, or nothing.
        self.size, self.torn, self.unnoted = size, False, nodes
        del self.waiting[done]
        named[those] = still
        del before  # not earlier: what is in it may have finalizers

    def _extend(self, name: str, new: array[Any]) -> None:
        column = getattr(self, name)
        try:
            column.extend(new)
        except BufferError:  # somebody has a view of it, and keeps what he sees
            column = column[:]
            column.extend(new)
            setattr(self, name, column)

    def _trim(self) -> None:
        """Cut off what does not count: a Ctrl-C left it half written."""
        rows, edges = self.size
        while self._codes[-1][0] >= rows and len(self._codes) > 1:
            self._codes.pop()
        if self.torn:
            self._cache = {}
            for names, count in ((NODE_COLUMNS, rows), (EDGE_COLUMNS, edges), (("grads",), rows)):
                for name in names:
                    try:
                        del getattr(self, name)[count:]
                    except BufferError:
                        setattr(self, name, getattr(self, name)[:count])
            self.torn = False
        self.note_handles()

    def note_handles(self) -> None:
        """Keep a weak reference to each new node that somebody holds."""
        first, nodes = self.unnoted
        if nodes:
            for row, references in enumerate(count_references(nodes), first):
                if references > OURS_ALONE and nodes[row - first] is not None:
                    self.handles[row] = ref(nodes[row - first])
            self.unnoted = 0, ()
        if len(self.handles) >= self.most_handles:
            self.handles = {row: reference for row, reference in self.handles.items() if reference() is not None}
            self.most_handles = 2 * len(self.handles) + 1000

    def add_edge(self, source: int, target: int) -> None:
        """Draw one more edge by hand."""
        self.flush()
        ends = array("i", [source]), array("i", [target])
        degree, size = self._in_degrees[target] + 1, (self.size[0], self.size[1] + 1)
        before, self._cache = self._cache, {}
        self.torn = True
        self._extend("_sources", ends[0])
        self._extend("_targets", ends[1])
        # Nothing is called from here on, as above.
        self.size, self.torn, self._in_degrees[target] = size, False, degree
        self.redrawn, self.drawings = self.clock, self.drawings + 1
        del before

    def enter(self, scope: Scope | None) -> None:
        """From the next row on, nodes are made in this scope."""
        self.scope_now, rows = scope, len(self)
        # In place of a scope in which nothing was made: those of tensors alone would pile up.
        self.scopes[-1 if self.scopes[-1][0] == rows else len(self.scopes) :] = [(rows, scope)]

    def mark_scopes(self, scopes: Iterable[tuple[int, Scope | None]], end: int) -> None:
        """Rows that were appended up to `end` are in these scopes, each from some row on."""
        for each in scopes:
            insort_right(self.scopes, each, key=itemgetter(0))
        insort_left(self.scopes, (end, self.scope_now), key=itemgetter(0))

    # --- shrinking ---

    def mark(self) -> Mark:
        return Mark(len(self), self.size[1], len(self.scopes))

    def cut(self, mark: Mark, reason: str) -> None:
        """Forget every row, edge and scope that came after the mark. A Ctrl-C half-way waits until it is done."""
        with LOCK, GUARD:
            self.flush()
            redrawn = Counter([target for target in self._targets[mark.edges :] if target < mark.rows])
            degrees = {target: self._in_degrees[target] - count for target, count in redrawn.items()}
            gone = type(self)()
            gone.closed = reason
            try:
                self._cut(mark, degrees, gone)
            except BaseException:
                self._cut(mark, degrees, gone)  # twice is once
                raise

    def _cut(self, mark: Mark, degrees: dict[int, int], gone: Storage) -> None:
        """degrees: of rows that lose edges drawn by hand. gone: what nodes that are cut away belong to from now on."""
        rows = mark.rows
        for row in [row for row in self.handles if row >= rows]:
            node = self.handles[row]()
            if node is not None:
                node._home, node._row = gone, CUT
            del self.handles[row]
        self.torn, self.size = True, (rows, mark.edges)
        self._trim()
        for row in [row for row in self.names if row >= rows]:
            del self.names[row]
        for key in [key for key in self.counters if key[1] >= rows]:
            del self.counters[key]
        for key in [key for key, found in self.unfolded.items() if found.end > rows]:
            del self.unfolded[key]
        self.unset.difference_update([row for row in self.unset if row >= rows])
        del self.scopes[mark.scopes :]
        while self.blocks and self.blocks[-1].first + self.blocks[-1].size > rows:
            self.blocks.pop()
        for row, degree in degrees.items():
            self._in_degrees[row] = degree
        if degrees:
            self.redrawn = self.clock
            self.drawings += 1
        if self.scopes[-1][1] is not self.scope_now:
            self.enter(self.scope_now)
        self._cache = {}

    def close(self, reason: str) -> dict[str, Any]:
        """Let the columns go; nodes that still point here say why they cannot be used.

        Returns what is to be freed, outside the lock, as finalizers among it may ask.
        """
        blank = type(self)()
        blank.closed = reason
        blank.__dict__.update(dict.fromkeys((*NODE_COLUMNS, *EDGE_COLUMNS, "grads"), ClearedColumn(reason)))
        before, self.__dict__ = self.__dict__, blank.__dict__  # at once: a Ctrl-C comes before it or after it
        return before


class ClearedColumn:
    """A column of a graph that is no more: whoever looks at it hears why."""

    def __init__(self, reason: str) -> None:
        self.reason = reason

    def _refuse(self, *_: object) -> NoReturn:
        raise StaleNodeError(f"The graph {self.reason} while it was worked on. Build it again.")

    __len__ = __iter__ = __getitem__ = __setitem__ = __delitem__ = _refuse


def count_references(nodes: Sequence[Any]) -> list[int]:
    """How many references there are to each, those of this very look among them."""
    return [getrefcount(node) for node in nodes]


OURS_ALONE = count_references([object()])[0]  # where nobody else has one
