"""The graph is two tables; a node is a row.

    nodes   row  kind   value   grad        edges   source  target
              0  6.0      6.0      .                     0       2
              1  7.0      7.0      .                     1       2
              2  sub     -1.0      .

A fact has one home: neighbours and degrees are questions asked of the edge
table. The columns are packed arrays, so a node costs some 60 bytes.

To build is one step: a new node joins the list of those that wait, with its operands.
So it needs no lock, may be done anywhere at any time, and a Ctrl-C comes before that step
or after it. Whoever looks at a column first writes those that wait behind the last row.
The new rows count once `size` says so: what a Ctrl-C leaves behind it is not there. The
list keeps new nodes alive until they have rows, and from there on whoever holds them.

Merging `(a + b) + c` into one sum of three makes a new row that *absorbs* the
row of `a + b`: its first edge comes from ~row, which stands for "every operand
of that row", so that no edge is stored twice and the absorbed row stays as it
was.

A column of which somebody has a view (a `memoryview`, an array of `np.frombuffer`)
stays where it is and as long as it is: a longer copy takes its place. All but building
requires `lock`; see core/lock.py.
"""

from __future__ import annotations

from array import array
from bisect import bisect_right, insort_left, insort_right
from collections.abc import Callable, Iterable, Sequence
from itertools import accumulate, compress, count
from operator import attrgetter
from sys import getrefcount
from types import CodeType
from typing import Any, ClassVar, NamedTuple, NoReturn
from weakref import ref

from ..errors import StaleNodeError
from .lock import GUARD, LOCK
from .origin import Origin
from .records import Mark as Mark
from .records import RowBlock as RowBlock
from .records import Scope as Scope
from .rules import BY_NUMBER

# Leaf kinds stand in the column of operators, below the numbers of the rules.
CONSTANT, VARIABLE, PLACEHOLDER = -1, -2, -3
LEAF_KINDS = {CONSTANT: "Constant", VARIABLE: "Variable", PLACEHOLDER: "PlaceHolder"}
MOST_MERGED = 32  # operands that (a + b) + c and the like may gather in one node
NEVER = 0  # the stamp of a value that was not computed
WIDTH = 7  # items of a node that waits
FULL = 1000 * WIDTH  # items that may wait for their rows
# In place of an operand's row: there is none; the row before this one; it was cut away.
NO_ROW, ROW_BEFORE, CUT = -1, -2, -3
ROW = attrgetter("_row")
NODE_COLUMNS = ("_operators", "_in_degrees", "_values", "_stamps", "_instructions")
EDGE_COLUMNS = ("_sources", "_targets")


def flushed_column(name: str) -> Any:
    """A column under its public name: before it is handed out, the nodes that wait are written into it."""

    def column(tables: Tables) -> Any:
        if tables.waiting or tables.torn:
            tables.flush()
        return getattr(tables, name)

    def replace(tables: Tables, column: Any) -> None:
        setattr(tables, name, column)

    return property(column, replace)


class Tables:
    """One graph's nodes and edges."""

    operators: array[int] = flushed_column("_operators")
    in_degrees: array[int] = flushed_column("_in_degrees")
    sources: array[int] = flushed_column("_sources")
    targets: array[int] = flushed_column("_targets")
    values: array[float] = flushed_column("_values")
    stamps: array[int] = flushed_column("_stamps")
    cache: dict[Any, Any] = flushed_column("_cache")
    codes: list[tuple[int, CodeType | None]] = flushed_column("_codes")
    instructions: array[int] = flushed_column("_instructions")

    # As `written_rows`, for rows of two operands at most: machine code, once that is there.
    write_quickly: ClassVar[Callable[..., NewRows | None] | None] = None

    def __init__(self) -> None:
        self.lock = LOCK
        self.waiting: list[Any] = []  # new nodes, WIDTH items each, as `WaitingNodes` has them
        self.named: list[tuple[Any, str]] = []  # nodes that wait, and their names
        self.size = 0, 0  # rows and edges
        self.torn = False  # whether a column may be longer than that
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
            while self.waiting and not self.closed:
                new = self.waiting[:]  # a copy: somebody may append meanwhile
                if self._write_waiting(WaitingNodes(*[new[place::WIDTH] for place in range(WIDTH)])):
                    break
                self._drop_what_was_cut(new)
            new = []  # who is held now is held by others
            self.note_handles()

    def _write_waiting(self, new: WaitingNodes) -> bool:
        """Write new nodes into the columns; False if an operand was cut away meanwhile."""
        columns = self._rows_of(new)
        if columns is None:
            return False
        self.names.update([(node._row, name) for node, name in self.named if node._row is not None])
        if any(columns.stamps):
            self.written = self.clock
        nodes, waited = (self.size[0], new.nodes), WIDTH * len(new.nodes)
        self._append(columns, array("i", new.instructions), self._codes_of(new.codes), nodes, waited)
        return True

    def _rows_of(self, new: WaitingNodes) -> NewRows | None:
        """New nodes as columns; None if an operand was cut away meanwhile. Each gets its row."""
        first = self.size[0]
        for row, node in enumerate(new.nodes, first):
            if node is not None:
                node._row = row
        many: dict[int, Sequence[Any]] = {}
        unset: set[int] = set()
        try:
            values = array("d", new.values)
        except TypeError:
            values = array("d", bytes(8 * len(new.values)))
            for row, value in enumerate(new.values, first):
                if type(value) is float:
                    values[row - first] = value
                elif value is None:
                    unset.add(row)
                else:
                    many[row] = [each if type(each) in (int, float) else each._row for each in value]
        self.unset.update([row for row in unset if new.operators[row - first] == VARIABLE])
        lefts, rights = array("i", map(ROW, new.lefts)), array("i", map(ROW, new.rights))
        operators = array("h", new.operators)
        columns = None
        if Tables.write_quickly is not None and not many and not unset:
            columns = Tables.write_quickly(self, operators, lefts, rights, values)
        return columns or self.written_rows(operators, lefts, rights, values, many, unset)

    def written_rows(
        self, operators: array[int], lefts: array[int], rights: array[int], values: array[float],
        many: dict[int, Sequence[Any]], unset: set[int],
    ) -> NewRows | None:  # fmt: skip
        """The columns of new rows. many: operands of some; a float says how many rows before the row one is."""
        first, now, known, degrees = self.size[0], self.clock, self._operators, self._in_degrees
        counts: list[int] = []
        sources: list[int] = []
        targets: list[int] = []
        stamps = array("q", bytes(8 * len(operators)))
        for row, operator, left, right in zip(count(first), operators, lefts, rights):
            degree = 0
            if operator < 0:
                if operator != PLACEHOLDER and row not in unset:
                    stamps[row - first] = now
            elif row in many:
                own = [row - int(each) if type(each) is float else each for each in many[row]]
                if CUT in own:
                    return None
                degree = len(own)
                sources += own
                targets += [row] * degree
            else:
                if left == CUT or right == CUT:
                    return None
                degree = 1
                if right != NO_ROW:
                    degree = 2
                    if right == ROW_BEFORE:
                        right = row - 1
                    if BY_NUMBER[operator].associative and left != right:  # only the left: a + (b + c) has other bits
                        if left < first:
                            kind, below = known[left], degrees[left]
                        else:
                            kind, below = operators[left - first], counts[left - first]
                        if kind == operator and 2 <= below < MOST_MERGED:
                            left, degree = ~left, below + 1
                sources.append(left)
                targets.append(row)
                if right != NO_ROW:
                    sources.append(right)
                    targets.append(row)
            counts.append(degree)
        return NewRows(operators, array("i", counts), array("i", sources), array("i", targets), values, stamps)

    def _codes_of(self, codes: Sequence[CodeType]) -> list[tuple[int, CodeType]]:
        """From which row on each code made the new ones."""
        last, found = self._codes[-1][1], []
        for row, code in enumerate(codes, self.size[0]):
            if code is not last:
                found.append((row, code))
                last = code
        return found

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

    def add_rows(self, new: Bulk, check: Callable[[], Any] = list) -> int:
        """Append many rows with their edges at once; returns the first row.

        They are numbered anew if somebody else has built meanwhile. check: raises if the rows that they begin from
        are no longer there.
        """
        with LOCK, GUARD:
            self.flush()
            check()
            first = len(self._operators)
            codes, instructions = new.written(first)
            if new.columns.values:
                self.written = self.clock
            self._append(new.columns.moved(new.base, first), instructions, codes, (0, ()), 0)
            return first

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

    def write(self, row: int, value: float) -> None:
        """Set a leaf's value. What was computed from the old one is stale until the next forward."""
        self.written = clock = self.clock
        self._values[row], self._stamps[row] = value, clock
        if self.unset:
            self.unset.discard(row)

    def keep_computed(self, row: int, value: float) -> None:
        """Set an operator's value, which was computed at once: what is written from now on is later."""
        now, self.clock = self.clock, self.clock + 1
        self._values[row], self._stamps[row] = value, now

    def leave_unset(self, row: int) -> None:
        """Take a Variable's value away."""
        self.written = self.clock
        self._stamps[row] = NEVER
        self.unset.add(row)

    def write_at(self, rows: Sequence[int], values: Any) -> None:
        """Set the values of many leaves from an array of NumPy's."""
        import numpy as np

        with LOCK, GUARD:
            self.flush()
            stamps, column = np.frombuffer(self._stamps, np.int64), np.frombuffer(self._values)
            stamps[rows] = self.clock  # before the values: a new value must never pass for the old
            self.written = self.clock
            column[rows] = values
            if self.unset:
                self.unset.difference_update(np.arange(len(self))[rows].tolist())

    def clear_grads(self) -> None:
        """Give every row a gradient of 0.0."""
        self.grads, self.grads_are_blank = ZERO * len(self), True

    def grow_grads(self) -> None:
        """Give every row a gradient, 0.0 where there was none."""
        self._extend("grads", array("d", bytes(8 * (len(self) - len(self.grads)))))

    def enter(self, scope: Scope | None) -> None:
        """From the next row on, nodes are made in this scope."""
        self.scope_now, rows = scope, len(self)
        # In place of a scope in which nothing was made: those of tensors alone would pile up.
        self.scopes[-1 if self.scopes[-1][0] == rows else len(self.scopes) :] = [(rows, scope)]

    def mark_scopes(self, scopes: Iterable[tuple[int, Scope | None]], end: int) -> None:
        """Rows that were appended up to `end` are in these scopes, each from some row on."""
        for each in scopes:
            insort_right(self.scopes, each, key=_first)
        insort_left(self.scopes, (end, self.scope_now), key=_first)

    # --- shrinking ---

    def mark(self) -> Mark:
        return Mark(len(self), self.size[1], len(self.scopes))

    def cut(self, mark: Mark, reason: str) -> None:
        """Forget every row, edge and scope that came after the mark. A Ctrl-C half-way waits until it is done."""
        with LOCK, GUARD:
            self.flush()
            redrawn = {target for target in self._targets[mark.edges :] if target < mark.rows}
            gone = Tables()
            gone.closed = reason
            try:
                self._cut(mark, redrawn, gone)
            except BaseException:
                self._cut(mark, redrawn, gone)  # twice is once
                raise

    def _cut(self, mark: Mark, redrawn: set[int], gone: Tables) -> None:
        """redrawn: rows that lose edges drawn by hand. gone: what the nodes that are cut away belong to from now on."""
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
        for row in redrawn:
            self._in_degrees[row] = len(self.operands(row))
        if redrawn:
            self.redrawn = self.clock
            self.drawings += 1
        if self.scopes[-1][1] is not self.scope_now:
            self.enter(self.scope_now)
        self._cache = {}

    def close(self, reason: str) -> dict[str, Any]:
        """Let the columns go; nodes that still point here say why they cannot be used.

        Returns what is to be freed, outside the lock, as finalizers among it may ask.
        """
        blank = Tables()
        blank.closed = reason
        blank.__dict__.update(dict.fromkeys((*NODE_COLUMNS, *EDGE_COLUMNS, "grads"), ClearedColumn(reason)))
        before, self.__dict__ = self.__dict__, blank.__dict__  # at once: a Ctrl-C comes before it or after it
        return before

    # --- asking ---

    def held(self) -> tuple[tuple[array[int], ...], tuple[Any, ...]]:
        """Operators, in-degrees, sources and targets, and a view of each, which holds it where it is."""
        columns = self.operators, self._in_degrees, self._sources, self._targets
        return columns, tuple([memoryview(each) for each in columns])

    def value(self, row: int) -> float | None:
        return self.values[row] if self.stamps[row] != NEVER else None

    def stamp(self, row: int) -> int:
        return self.stamps[row]

    def grad(self, row: int) -> float | None:
        known = row < len(self.grads) and self.operators[row] != CONSTANT
        return self.grads[row] if known else None

    def origin(self, row: int) -> Origin:
        code = self.codes[bisect_right(self._codes, row, key=_first) - 1][1]
        assert code is not None  # every row was made by somebody
        return Origin(code, self._instructions[row])

    def kind(self, row: int) -> str:
        """What a node is called: the kind of a leaf, the name of an operator."""
        operator = self.operators[row]
        return BY_NUMBER[operator].name if operator >= 0 else LEAF_KINDS[operator]

    def label(self, row: int) -> str:
        """How messages speak of a node: its kind, and its name or row."""
        kind = self.kind(row) if self.operators[row] < 0 else f"'{self.kind(row)}'"
        name = self.name(row)
        return f"{kind} (row {row})" if name is None else f"{kind} {name!r}"

    def name(self, row: int) -> str | None:
        """What the node is called, by the learner or by the block that it was appended with."""
        name = self.names.get(row)
        block = self.block(row) if name is None and self.blocks else None
        return name if block is None else block.name(row)

    def block(self, row: int) -> RowBlock | None:
        """The block that the row was appended with, if it was."""
        place = bisect_right(self.blocks, row, key=_first) - 1
        found = self.blocks[place] if place >= 0 else None
        return found if found is not None and row < found.first + found.size else None

    def scope(self, row: int) -> Scope | None:
        return self.scopes[bisect_right(self.scopes, row, key=_first) - 1][1]

    def operands(self, row: int) -> list[int]:
        """The rows that feed `row`, in order, one for each operand position."""
        tails: list[list[int]] = []
        own = self.own_sources(row)
        while own and own[0] < 0:  # ~absorbed: that row's operands come first
            tails.append(own[1:])
            own = self.own_sources(~own[0])
        for tail in reversed(tails):
            own.extend(tail)
        return own

    def consumers(self, row: int) -> list[int]:
        """The rows that `row` feeds, in the order the edges were drawn; absorbed rows do not count."""
        starts, targets = self._derived("consumers", self._consumers)
        return list(targets[starts[row] : starts[row + 1]])

    def columns(self) -> tuple[list[int], ...]:
        """Operators, in-degrees, sources and targets."""
        return tuple([view.tolist() for view in self.held()[1]])

    def edges(self, rows: Iterable[int]) -> tuple[list[int], list[int]]:
        """Sources and targets of the edges into `rows`, as drawn; an absorber's include those it took over."""
        starts, edges = self.edges_into()
        sources: list[int] = []
        targets: list[int] = []
        for edge in sorted(edge for row in rows for edge in edges[starts[row] : starts[row + 1]]):
            source, target = self._sources[edge], self._targets[edge]
            operands = [source] if source >= 0 else self.operands(~source)
            sources += operands
            targets += [target] * len(operands)
        return sources, targets

    def live_rows(self) -> list[int]:
        """All rows but the absorbed: those whose operands a merged row took, and that nobody else uses."""
        live = self._derived("live", self._live)
        return list(compress(range(len(live)), live))

    def is_absorbed(self, row: int) -> bool:
        return not self._derived("live", self._live)[row]

    def own_sources(self, row: int) -> list[int]:
        """The sources of the edges drawn into this very row; ~absorbed first if it took over another's."""
        starts, edges = self.edges_into()
        return [self._sources[edge] for edge in edges[starts[row] : starts[row + 1]]]

    def _live(self) -> bytearray:
        operators, _, sources, _ = self.columns()
        return live(len(operators), [~source for source in sources if source < 0], sources)

    def _consumers(self) -> tuple[array[int], array[int]]:
        return packed(*self.edges(self.live_rows()), len(self))

    def edges_into(self) -> tuple[array[int], array[int]]:
        """Which edges were drawn into each row, packed by row."""
        edges: tuple[array[int], array[int]] = self._derived(
            "edges into", lambda: _numbered(self._targets[:], len(self))
        )
        return edges

    def kept(self, key: Any) -> Any:
        """What was derived, if the tables are as they were; None if not."""
        return None if self.waiting or self.torn else self._cache.get(key)

    def _derived(self, name: str, make: Callable[[], Any]) -> Any:
        """What `make` works out from the tables, kept until they change."""
        with LOCK:
            cache = self.cache  # what changes the tables begins another
            if name not in cache:
                cache[name] = make()
            return cache[name]


def live(size: int, absorbed: Iterable[int], sources: Iterable[int]) -> bytearray:
    """1 for each row but those that were absorbed and feed nobody else."""
    found = bytearray(b"\1") * size
    for row in set(absorbed).difference(sources):
        found[row] = 0
    return found


class ClearedColumn:
    """A column of a graph that is no more: whoever looks at it hears why."""

    def __init__(self, reason: str) -> None:
        self.reason = reason

    def _refuse(self, *_: object) -> NoReturn:
        raise StaleNodeError(f"The graph {self.reason} while it was worked on. Build it again.")

    __len__ = __iter__ = __getitem__ = __setitem__ = __delitem__ = _refuse


class WaitingNodes(NamedTuple):
    """Nodes that wait for their rows: a sequence for each of these.

    lefts, rights: operands, or NOTHING, or BEFORE for the entry before, a number. values: of leaves; None of a
    Variable without one; 0.0 of operators, or a tuple of many operands (nodes, rows, or how many rows before, a float).
    nodes: None for a number.
    """

    operators: Sequence[int]
    lefts: Sequence[Any]
    rights: Sequence[Any]
    values: Sequence[Any]
    codes: Sequence[CodeType]
    instructions: Sequence[int]
    nodes: Sequence[Any]


class NoOperand:
    """Stands where a waiting node has no operand, or one that is no node."""

    def __init__(self, row: int) -> None:
        self._row = row


NOTHING, BEFORE = NoOperand(NO_ROW), NoOperand(ROW_BEFORE)


class NewRows(NamedTuple):
    """New rows as columns; values and stamps are empty where none is a leaf with a value."""

    operators: array[int]
    in_degrees: array[int]
    sources: array[int]
    targets: array[int]
    values: array[float]
    stamps: array[int]

    def moved(self, base: int, to: int) -> NewRows:
        """The same with the rows that were numbered from `base` on numbered from `to` on."""
        by, last = to - base, ~base
        if not by:
            return self
        sources = [each + by if each >= base else each - by if each <= last else each for each in self.sources]
        return self._replace(sources=array("i", sources), targets=array("i", [each + by for each in self.targets]))


class Bulk(NamedTuple):
    """Many rows that are appended at once.

    base: the first one's row, as the columns have it. origins: from which row on each line of Python made them.
    """

    columns: NewRows
    base: int
    origins: Sequence[tuple[int, Origin]]

    def written(self, first: int) -> tuple[list[tuple[int, CodeType | None]], array[int]]:
        """Where the rows were written, the first of them being this."""
        codes: list[tuple[int, CodeType | None]] = []
        instructions, by, end = array("i"), first - self.base, self.base + len(self.columns.operators)
        for (row, origin), stop in zip(self.origins, [*(row for row, _ in self.origins[1:]), end]):
            codes.append((row + by, origin.code))
            instructions.extend(array("i", [origin.instruction]) * (stop - row))
        return codes, instructions


def _numbered(keys: Sequence[int], size: int) -> tuple[array[int], array[int]]:
    return packed(keys, range(len(keys)), size)


def count_references(nodes: Sequence[Any]) -> list[int]:
    """How many references there are to each, those of this very look among them."""
    return [getrefcount(node) for node in nodes]


OURS_ALONE = count_references([object()])[0]  # where nobody else has one
ZERO = array("d", [0.0])


def _first(entry: Sequence[Any]) -> int:
    return int(entry[0])


def packed(keys: Sequence[int], items: Sequence[int], size: int) -> tuple[array[int], array[int]]:
    """Items grouped by key, in order: those of key k are items[starts[k]:starts[k+1]].

    >>> packed([1, 0, 1], [7, 8, 9], 2)
    (array('i', [0, 1, 3]), array('i', [8, 7, 9]))
    """
    counts = [0] * (size + 1)
    for key in keys:
        counts[key + 1] += 1
    places = sorted(range(len(keys)), key=keys.__getitem__)  # stable, and quick on what is sorted already
    return array("i", accumulate(counts)), array("i", map(items.__getitem__, places))
