"""The columns of a graph: packed arrays that are appended to, and truncated, at their end.

A new node waits in the list `waiting` (waiting.py) until somebody reads a column; `flush` then writes all
waiting nodes behind the last row. Appending to seven columns is made atomic by `size`, which is set last:
only so many rows count, and what a Ctrl-C leaves half written behind them (`torn`) is cut off by the next flush.

Python cannot resize an array with an exported buffer (a `memoryview`, an array of `np.frombuffer`), so a
longer copy replaces such a column, and the view keeps the old one. Everything but building requires `lock`;
see core/lock.py.
"""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from sys import getrefcount
from types import CodeType
from typing import Any, ClassVar
from weakref import ref

from .lock import GUARD, LOCK
from .origin import Origin
from .records import Checkpoint, ClearedColumn, NodeRange, Scope
from .waiting import CUT, NOTHING, WIDTH, NewRows, WaitingNodes, array_of, codes_of, columns_of

NEVER = 0  # stamp of a value that was not computed
NODE_COLUMNS = ("_operators", "_in_degrees", "_values", "_stamps", "_instructions")
EDGE_COLUMNS = ("_sources", "_targets")


def flushed_column(name: str) -> Any:
    """Property for a column under its public name: before it is returned, waiting nodes are written into it."""

    def column(tables: Storage) -> Any:
        if tables.waiting or tables.torn:
            tables.flush()
        return getattr(tables, name)

    def replace(tables: Storage, column: Any) -> None:
        setattr(tables, name, column)

    return property(column, replace)


class Storage:
    """The columns of one graph: appending, reading and truncating."""

    operators: array[int] = flushed_column("_operators")
    in_degrees: array[int] = flushed_column("_in_degrees")
    sources: array[int] = flushed_column("_sources")
    targets: array[int] = flushed_column("_targets")
    values: array[float] = flushed_column("_values")
    stamps: array[int] = flushed_column("_stamps")
    cache: dict[Any, Any] = flushed_column("_cache")
    codes: list[tuple[int, CodeType | None]] = flushed_column("_codes")
    instructions: array[int] = flushed_column("_instructions")

    # Compiled version of `write_rows` (waiting.py), for rows of at most two operands; None until it is compiled.
    write_quickly: ClassVar[Callable[..., NewRows | None] | None] = None

    def __init__(self) -> None:
        self.lock = LOCK
        self.waiting: list[Any] = []  # new nodes, WIDTH items each: the fields of `WaitingNodes`
        self.named: list[tuple[Any, str]] = []  # waiting nodes that have a name, and the name
        self.size = 0, 0  # numbers of rows and edges that count
        self.torn = False  # whether a column may be longer than `size` says: an append was interrupted
        self.is_numbering = False  # inside `numbering`: whether the numbers of the next rows are taken already
        self.unnoted: tuple[int, Sequence[Any]] = 0, ()  # first row and nodes of the last append, still without handles
        self._operators = array("h")  # a rule's number, or a leaf kind
        self._in_degrees = array("i")
        self._sources = array("i")
        self._targets = array("i")
        self._values = array("d")
        self._stamps = array("q")  # when the value was written or computed; NEVER if it was not
        self._codes: list[tuple[int, CodeType | None]] = [(0, None)]  # (first row, code that made it and the next)
        self._instructions = array("i")
        self._cache: dict[Any, Any] = {}  # values derived from the tables as they are now
        self.code_now: CodeType | None = None  # the code that made the last node
        self.grads = array("d")
        self.unset: set[int] = set()  # Variables that were made without a value and have none yet
        self.counters: dict[tuple[str, int], int] = {}  # a learner's counts: (degree, row) -> count
        self.names: dict[int, str] = {}  # rows that were named one by one; a NodeRange names its own rows
        self.blocks: list[NodeRange] = []  # in row order
        self.unfolded: dict[Any, Any] = {}  # tensor -> the rows of its elements; each knows its `end`
        self.scopes: list[tuple[int, Scope | None]] = [(0, None)]  # (first row, scope of it and those after it)
        self.scope_now: Scope | None = None
        self.clock = 1  # the number of the next forward run
        self.written = NEVER  # when a leaf was last written, by the clock
        self.edges_edited_at = NEVER  # when an edge was last drawn by hand, by the clock
        self.edge_edits = 0  # how often edges drawn by hand were added or cut; the clock may not tick in between
        self.grads_are_zero = True  # no backward run since the last kill_grad
        self.computes_at_once = self.checks_validity = False  # nodes compute eagerly; require finite
        self.closed: str | None = None  # why the graph is gone (as "was cleared"), None while it is not
        self.handles: dict[int, Any] = {}  # row -> weak reference to its Node
        self.most_handles = 1000  # at so many handles the dead ones are removed
        self.checkpoints: list[Checkpoint] = []

    def __len__(self) -> int:
        if self.waiting or self.torn:
            self.flush()
        return self.size[0]

    def tick(self) -> int:
        """The number of the run that begins; later writes get a higher one."""
        self.clock += 1
        return self.clock - 1

    # --- growing ---

    def flush_if_free(self) -> None:
        """Write the waiting nodes, unless the graph is in use: building never waits for the lock."""
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
            if acquired or LOCK._is_owned():  # type: ignore[attr-defined]  # a Ctrl-C may come before `acquired` is set
                LOCK.release()

    def flush(self) -> None:
        """Give the waiting nodes rows, and write them into the columns."""
        with LOCK, GUARD:
            self._trim()
            while self.waiting and not self.closed and not self.is_numbering:
                new = self.waiting[:]  # a copy: other threads may append meanwhile
                if self._write(new, len(new)):
                    break
                self._drop_truncated(new)

    def write_nodes(self, entries: Sequence[Any]) -> None:
        """Write new nodes straight into the columns, behind those that wait already. entries: WIDTH items each."""
        with LOCK, GUARD:
            self.flush()
            if entries:
                self._write(entries, 0)

    def _write(self, entries: Sequence[Any], waited: int) -> bool:
        """Write new nodes into the columns; False if an operand was truncated meanwhile.

        entries: WIDTH items each. waited: how many items to remove from the start of `waiting`, which are these
        entries; 0 for entries that did not wait, whose nodes get no handles.
        """
        new = WaitingNodes(*[entries[item::WIDTH] for item in range(WIDTH)])
        columns = columns_of(self, new)
        if columns is None:
            return False
        self.names.update([(node._row, name) for node, name in self.named if node._row is not None])
        if any(columns.stamps):
            self.written = self.clock
        first, nodes = self.size[0], new.nodes if waited else ()
        codes = codes_of(new.codes, self._codes[-1][1], first)
        self._append(columns, array_of("i", new.instructions), codes, (first, nodes), waited)
        return True

    def _drop_truncated(self, new: list[Any]) -> None:
        """Remove waiting nodes whose operands were truncated: they become truncated nodes, too."""
        remaining: list[Any] = []
        for start in range(0, len(new), WIDTH):
            entry = new[start : start + WIDTH]
            _, left, right, value, _, _, node = entry
            operands = [x for x in value if type(x) not in (int, float)] if type(value) is tuple else []
            closed_homes = [operand._home for operand in (left, right, *operands) if operand._row == CUT]
            if closed_homes:
                node._home, node._row = closed_homes[0], CUT
            else:
                remaining += entry
        self.waiting[: len(new)] = remaining

    def add_row(self, operator: int, sources: Iterable[int], code: CodeType, instruction: int) -> int:
        """Append one row without a node, and without a value."""
        value = tuple(sources) if operator >= 0 else None
        self.waiting += (operator, NOTHING, NOTHING, value, code, instruction, None)
        return len(self) - 1

    @contextmanager
    def numbering(self) -> Iterator[int]:
        """Yield the row from which `add_rows` will append; nodes that are built inside the block wait until it ends.

        So the holder of the lock knows the numbers of many new rows, and can use them as operands, before it appends.
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
        """Write rows behind the last one, then set `size`. nodes: (first row, Node objects). waited: as in `_write`."""
        self.keep_handles()  # of the append before this one
        size = self.size[0] + len(new.operators), self.size[1] + len(new.sources)
        blank = bytes(0 if new.values else 8 * len(new.operators))
        before, self._cache = self._cache, {}  # the old cache may hold views of columns; it is freed below
        self.torn = True
        self._extend("_operators", new.operators)
        self._extend("_in_degrees", new.in_degrees)
        self._extend("_sources", new.sources)
        self._extend("_targets", new.targets)
        self._extend("_values", new.values or array("d", blank))
        self._extend("_stamps", new.stamps or array("q", blank))
        self._extend("_instructions", instructions)
        self._codes += codes
        written, named = slice(waited), self.named
        all_named = slice(len(named))
        still_waiting = [entry for entry in named[all_named] if entry[0]._row is None]
        # No function is called from here on, so Python handles no signal: all of it happens, or nothing.
        self.size, self.torn, self.unnoted = size, False, nodes
        del self.waiting[written]
        named[all_named] = still_waiting
        del before  # not earlier: what is in it may have finalizers

    def _extend(self, name: str, new: array[Any]) -> None:
        column = getattr(self, name)
        try:
            column.extend(new)
        except BufferError:  # a view of it exists: it keeps the old column
            column = column[:]
            column.extend(new)
            setattr(self, name, column)

    def _trim(self) -> None:
        """Truncate the columns to `size`, as a Ctrl-C may have left rows half written."""
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

    def keep_handles(self) -> None:
        """Keep a weak reference to each newly written node that is referenced elsewhere."""
        first, nodes = self.unnoted
        if nodes:
            for index in [index for index, count in enumerate(count_references(nodes)) if count > OURS_ALONE]:
                if nodes[index] is not None:
                    self.handles[first + index] = ref(nodes[index])
            self.unnoted = 0, ()
        if len(self.handles) >= self.most_handles:
            self.handles = {row: reference for row, reference in self.handles.items() if reference() is not None}
            self.most_handles = 2 * len(self.handles) + 1000

    def enter(self, scope: Scope | None) -> None:
        """From the next row on, nodes belong to this scope; None for no scope."""
        self.scope_now, rows = scope, len(self)
        # Replace a scope without rows: tensors open one each, and these would pile up.
        self.scopes[-1 if self.scopes[-1][0] == rows else len(self.scopes) :] = [(rows, scope)]

    # --- reading ---

    def snapshot(self) -> tuple[tuple[array[int], ...], tuple[Any, ...]]:
        """Operators, in-degrees, sources and targets, and a view of each, which keeps it from being resized."""
        with LOCK:
            columns = self.operators, self._in_degrees, self._sources, self._targets
            len(self._operators)  # raises StaleNodeError if the graph was cleared
            return columns, tuple([memoryview(column) for column in columns])

    def cached(self, key: Any) -> Any:
        """The cached value under this key; None if there is none, or nodes wait."""
        return None if self.waiting or self.torn else self._cache.get(key)

    # --- shrinking ---

    def mark(self) -> Checkpoint:
        """The present state, for `cut`."""
        return Checkpoint(len(self), self.size[1], len(self.scopes))

    def cut(self, mark: Checkpoint, reason: str) -> None:
        """Truncate rows, edges and scopes to the mark. On a Ctrl-C half-way, finish first and raise then."""
        with LOCK, GUARD:
            self.flush()
            lost = Counter([target for target in self._targets[mark.edges :] if target < mark.rows])
            degrees = {target: self._in_degrees[target] - count for target, count in lost.items()}
            gone = type(self)()
            gone.closed = reason
            try:
                self._cut(mark, degrees, gone)
            except BaseException:
                self._cut(mark, degrees, gone)  # idempotent
                raise

    def _cut(self, mark: Checkpoint, degrees: dict[int, int], gone: Storage) -> None:
        """Truncate to the mark.

        degrees: row -> its in-degree afterwards, for rows that lose edges drawn by hand. gone: a closed Storage, which
        becomes the home of the nodes that are cut off, so that they raise StaleNodeError.
        """
        rows = mark.rows
        self.keep_handles()
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
        for key in [key for key, block in self.unfolded.items() if block.end > rows]:
            del self.unfolded[key]
        self.unset.difference_update([row for row in self.unset if row >= rows])
        del self.scopes[mark.scopes :]
        while self.blocks and self.blocks[-1].first + self.blocks[-1].size > rows:
            self.blocks.pop()
        for row, degree in degrees.items():
            self._in_degrees[row] = degree
        if degrees:
            self.edges_edited_at = self.clock
            self.edge_edits += 1
        if self.scopes[-1][1] is not self.scope_now:
            self.enter(self.scope_now)
        self._cache = {}

    def close(self, reason: str) -> dict[str, Any]:
        """Release the columns; nodes that still point here raise StaleNodeError with the reason.

        Returns the old attributes, to be freed outside the lock: finalizers among them may use the graph.
        """
        blank = type(self)()
        blank.closed = reason
        blank.__dict__.update(dict.fromkeys((*NODE_COLUMNS, *EDGE_COLUMNS, "grads"), ClearedColumn(reason)))
        before, self.__dict__ = self.__dict__, blank.__dict__  # one step: a Ctrl-C comes before it or after it
        return before


def count_references(nodes: Sequence[Any]) -> list[int]:
    """How many references there are to each node, those of this call included."""
    return list(map(getrefcount, nodes))


OURS_ALONE = count_references([object()])[0]  # the count for an object that nothing else references
