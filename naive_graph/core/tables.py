"""The graph is two tables; a node is a row.

    nodes   row  kind   value   grad        edges   source  target
              0  6.0      6.0      .                     0       2
              1  7.0      7.0      .                     1       2
              2  sub     -1.0      .

A fact has one home: neighbours and degrees are questions asked of the edge
table. The columns are packed arrays, so a node costs about 50 bytes. Values,
stamps and gradients are grown when somebody writes them.

Merging `(a + b) + c` into one sum of three makes a new row that *absorbs* the
row of `a + b`: its first edge comes from ~row, which stands for "every operand
of that row", so that no edge is stored twice and the absorbed row stays as it
was.

A new row is one append to a list, the fresh page: nothing that a signal handler,
a finalizer or another thread does can come in the middle of it. Its entries move
into the columns when somebody looks. A full page is turned: then where its rows
were written is packed too, and its nodes are held weakly from there on.

What is promised to whoever works on the columns, in machine code or by NumPy: a
column of which he has a view (a `memoryview`, an array of `np.frombuffer`) stays
where it is and as long as it is, whatever is built meanwhile. Rows are appended in
place as long as there is no view; where there is one, a longer copy takes the
column's place. So take the view first, then the address and the sizes from it, and
keep it as long as they are used. What is written through a view counts only if the
column still is the tables' own. `held` gives views of one moment. Whoever works for
long takes `lock`: other threads that want the columns to change wait, a signal's
handler and a finalizer do not.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right, insort_left, insort_right
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from itertools import accumulate, compress, count
from threading import RLock
from types import CodeType
from typing import Any, NamedTuple, NoReturn
from weakref import ref

from ..errors import NaiveGraphError, StaleNodeError
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
# An entry of the fresh page: operator, two sources (or a leaf's value and ONE, or a list and MANY), degree, code,
# instruction, node. Before the first entry stands its row.
WIDTH = 7
FULL = 1000 * WIDTH
# As a second source: there is none; the row before this one; the first is a list, in which 2.0 is the second before.
ONE, BEFORE, MANY = -1, -2, -3
COLUMNS = ("_operators", "_in_degrees", "_sources", "_targets", "_values", "_stamps", "_instructions", "grads")
WHOLE = slice(None)


def looked_at(name: str, settled: str = "_operators") -> Any:
    """A column under its public name: before it is handed out, the rows that it lacks move into it."""

    def column(tables: Tables) -> Any:
        if len(getattr(tables, settled)) < len(tables):
            (tables.settle if settled == "_operators" else tables.turn)()
        return getattr(tables, name)

    def replace(tables: Tables, column: Any) -> None:
        setattr(tables, name, column)

    return property(column, replace)


class Tables:
    """One graph's nodes and edges."""

    operators: array[int] = looked_at("_operators")
    in_degrees: array[int] = looked_at("_in_degrees")
    sources: array[int] = looked_at("_sources")
    targets: array[int] = looked_at("_targets")
    values: array[float] = looked_at("_values")
    stamps: array[int] = looked_at("_stamps")
    cache: dict[Any, Any] = looked_at("_cache")
    codes: list[tuple[int, CodeType | None]] = looked_at("_codes", "_instructions")
    instructions: array[int] = looked_at("_instructions", "_instructions")

    def __init__(self) -> None:
        self.fresh: list[Any] = [0]
        self.bulk: Bulk | None = None  # many rows, numbered before those of the fresh page, that no column has yet
        self.settlings = 0  # how often rows were moved into the columns
        self.cuts = 0  # how often rows were taken away
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
        self.lock = RLock()

    def __len__(self) -> int:
        fresh = self.fresh
        return int(fresh[0]) + len(fresh) // WIDTH

    # --- growing ---

    def add_row(self, operator: int, sources: Iterable[int], in_degree: int, code: CodeType, instruction: int) -> int:
        """Append one node with its edges."""
        own = list(sources)
        entry = (operator, own, MANY, in_degree, code, instruction, None)
        fresh = self.fresh
        fresh += entry
        if len(fresh) > FULL:
            self.turn()
        return row_of(fresh, own)

    def add_rows(self, new: Bulk, check: Callable[[], Any] = list) -> int:
        """Append many nodes with their edges at once; returns the first row.

        They are numbered anew if somebody else has built meanwhile. check: raises if the rows that they begin from
        are no longer there.
        """
        with self.lock:
            while True:
                cuts = self.cuts
                check()
                self.turn()
                fresh, first = self.fresh, len(self._operators)
                empty, page = [first], [first + len(new.columns.operators)]
                # Nothing is called and nothing made, as in `_extend`.
                if self.fresh is fresh and fresh == empty and self.cuts == cuts:
                    self.bulk, self.fresh = new, page
                    break
            self.settle()
            return first

    def settle(self, unpack: Callable[[list[list[Any]], int, int], Unpacked] | None = None) -> None:
        """Move what was appended since into the columns. unpack: what does it quicker than `unpacked`."""
        with self.lock:
            while True:  # until no signal's handler has come in between and done the same
                fresh, settlings, bulk = self.fresh, self.settlings, self.bulk
                base, end = len(self._operators), len(fresh)
                first = 1 + WIDTH * (base - fresh[0])
                if bulk is None and first == end and self.fresh is fresh:
                    return
                if settlings == self.settlings and self.fresh is fresh:
                    if bulk is not None:
                        columns = bulk.columns.moved(bulk.base, base)
                    else:
                        new = [fresh[first + place : end : WIDTH] for place in range(4)]
                        columns = (unpack or unpacked)(new, base, self.clock)
                    self._extend(base, settlings, fresh, columns)

    def _extend(self, base: int, settlings: int, fresh: list[Any], new: Unpacked) -> None:
        """Write the columns, unless they were written since."""
        self._cache = {}  # and with it the views that were kept there
        if new.values:
            self._fill(base)
        edges, bulk = len(self._targets), self.bulk
        # Edges that one that was interrupted left. A handler may cut them away meanwhile: then nothing is written.
        while (last := self._targets[edges - 1 : edges]) and last[0] >= base:
            edges -= 1
        if bulk is not None:
            codes, instructions = bulk.written(base)
            made = slice(self._codes_before(base), None)
        rows, drawn, before = slice(base, None), slice(edges, None), self._cache
        cache: dict[Any, Any] = {}
        try:
            # From here on nothing is called and nothing made: Python looks for no signal and collects no garbage.
            if settlings == self.settlings and self.fresh is fresh and self.bulk is bulk:
                self.settlings += 1
                if new.values:
                    self.written = self.clock
                    self._values[rows], self._stamps[rows] = new.values, new.stamps
                self._sources[drawn], self._targets[drawn] = new.sources, new.targets
                self._in_degrees[rows] = new.in_degrees
                if bulk is not None:
                    self._codes[made], self._instructions[rows] = codes, instructions
                self._operators[rows], self.bulk, self._cache = new.operators, None, cache
        except BufferError:
            self._move()
        del before  # not earlier: what is in it may have finalizers

    def _move(self) -> None:
        """Put copies in the place of the columns: somebody has a view of one, and keeps what he sees."""
        own = self.__dict__
        for name in COLUMNS:
            cache: dict[Any, Any] = {}
            copy = own[name][:]
            copy[WHOLE] = own[name]  # what was written meanwhile, too; from here on nothing is called
            own[name], own["_cache"] = copy, cache

    def turn(self) -> None:
        """Begin a fresh page; who made the rows of the old one, and which nodes they have, is packed."""
        with self.lock:
            self.settle()
            fresh, first, rows = self.fresh, self.fresh[0], len(self._operators)
            end = 1 + WIDTH * (rows - first)
            before = self._codes_before(first)
            codes, last = [], next((code for _, code in self._codes[before - 1 : before]), None)
            for row, code in enumerate(fresh[5:end:WIDTH], first):
                if code is not last:
                    codes.append((row, code))
                    last = code
            if len(self.handles) >= self.most_handles:
                self.sweep_handles()
            for row, node in enumerate(fresh[7:end:WIDTH], first):
                if node is not None:
                    self.handles[row] = ref(node)
            instructions, page = array("i", fresh[6:end:WIDTH]), [rows]
            made, packed, turned = slice(before, None), slice(first, None), slice(1, end + 1)
            # From here on nothing is called and nothing made, as above.
            if self.fresh is fresh:  # else a signal's handler has turned it meanwhile
                self._codes[made], self._instructions[packed] = codes, instructions
                page += fresh  # with what was appended meanwhile
                del page[turned]
                self.fresh = page

    def _codes_before(self, row: int) -> int:
        """How many entries say who made the rows before this one."""
        while True:
            with suppress(IndexError):  # a handler has cut the graph back while these were looked through
                return bisect_left(self._codes, row, 1, key=_first)

    def sweep_handles(self) -> None:
        """Drop the references to nodes that nobody holds any more."""
        for row, reference in self.handles.copy().items():  # a signal's handler or a finalizer may add meanwhile
            found = self.handles.pop(row, None) if reference() is None else None
            if found is not None and found is not reference:  # made anew
                self.handles[row] = found
        self.most_handles = 2 * len(self.handles) + 1000

    def add_edge(self, source: int, target: int) -> None:
        """Draw one more edge by hand."""
        with self.lock:
            while True:
                self.settle()
                cache: dict[Any, Any] = {}
                settlings = self.settlings
                one, other = array("i", [source]), array("i", [target])
                drawn, degree = slice(len(self._sources), None), self._in_degrees[target] + 1
                self._cache = {}
                try:  # nothing is called and nothing made, as above
                    if settlings == self.settlings:
                        self.settlings += 1
                        self.redrawn, self.drawings, self._cache = self.clock, self.drawings + 1, cache
                        self._sources[drawn], self._targets[drawn], self._in_degrees[target] = one, other, degree
                        return
                except BufferError:
                    self._move()

    def write(self, row: int, value: float) -> None:
        """Set a leaf's value. What was computed from the old one is stale until the next forward."""
        rows = len(self)
        if len(self._operators) < rows or len(self._values) < rows or len(self._stamps) < rows:
            self.grow_values()
        clock, stamps = self.clock, self._stamps
        if stamps[row] != NEVER:
            stamps[row] = clock  # before the value too: a new value must never pass for the old
        self.written = clock
        self._values[row] = value
        stamps[row] = clock
        if self.unset:
            self.unset.discard(row)

    def keep_computed(self, row: int, value: float) -> None:
        """Set an operator's value, which was computed at once: what is written from now on is later."""
        with self.lock:
            self.grow_values()
            now, self.clock = self.clock, self.clock + 1
            self._values[row], self._stamps[row] = value, now

    def write_at(self, rows: Sequence[int], values: Any) -> None:
        """Set the values of many leaves from an array of NumPy's."""
        import numpy as np

        with self.lock:
            self.grow_values()
            self._put("_stamps", rows, self.clock, np.int64)  # before the values too, as in `write`
            self.written = self.clock
            self._put("_values", rows, values, np.float64)
            self._put("_stamps", rows, self.clock, np.int64)
            if self.unset:
                self.unset.difference_update(np.arange(len(self))[rows].tolist())

    def _put(self, name: str, rows: Sequence[int], values: Any, kind: Any) -> None:
        import numpy as np

        column = None
        while column is not getattr(self, name):  # until no handler's rows have moved it meanwhile
            column = getattr(self, name)
            np.frombuffer(column, kind)[rows] = values

    def grow_values(self) -> None:
        """Give every row a value and a stamp; a new row's stamp says that its value was never computed."""
        self.settle()
        self._fill(len(self._operators))

    def _fill(self, rows: int) -> None:
        for name in ("_stamps", "_values"):  # each by its own length, should an interrupt part them
            self._lengthen(name, rows)

    def _lengthen(self, name: str, rows: int) -> None:
        while (missing := rows - len(getattr(self, name))) > 0:
            try:
                getattr(self, name).frombytes(bytes(8 * missing))
            except BufferError:
                self._move()

    def clear_grads(self) -> None:
        """Give every row a gradient of 0.0."""
        self.grads, self.grads_are_blank = ZERO * len(self), True

    def grow_grads(self) -> None:
        """Give every row a gradient, 0.0 where there was none."""
        self._lengthen("grads", len(self))

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
        while True:
            cache = self.cache
            found = Mark(len(self._operators), len(self._sources), len(self.scopes))
            if self._cache is cache:
                return found

    def cut(self, mark: Mark, page: list[Any] | None = None) -> list[Any]:
        """Forget every row, edge and scope that came after the mark. A Ctrl-C half-way waits until it is done.

        page: the fresh page; if it is not empty, nothing is cut. Gives the nodes that stood on the fresh page.
        """
        with self.lock:
            self.settle()
            cuts = self.cuts
            redrawn = {target for target in self._targets[mark.edges :] if target < mark.rows}
            before = self.fresh
            try:
                self._cut(mark, redrawn, page)
            except BaseException:
                if self.cuts != cuts:
                    self._cut(mark, redrawn)
                raise
            gone = before[1 + WIDTH * max(0, mark.rows - before[0]) :]  # only now: others built until it was cut
            return [node for node in gone[WIDTH - 1 :: WIDTH] if node is not None]

    def _shorten(self, mark: Mark, only: list[Any] | None = None) -> bool:
        """Cut the columns and the fresh page; whether they were. only: as `cut` has it. Twice is once."""
        cache: dict[Any, Any] = {}
        rows, drawn, before = slice(mark.rows, None), slice(mark.edges, None), self._cache
        fresh = self.fresh
        page = fresh[: 1 + WIDTH * (mark.rows - fresh[0])] if mark.rows >= fresh[0] else [mark.rows]
        empty = [len(self._operators)]
        try:  # nothing is called and nothing made, as above
            if only is not None and not (self.fresh is only and only == empty):
                return False
            self.cuts += 1
            self.settlings += 1
            self.fresh, self.bulk, self._cache = page, None, cache
            del self._sources[drawn], self._targets[drawn], self._operators[rows], self._in_degrees[rows]
            del self._instructions[rows], self._values[rows], self._stamps[rows], self.grads[rows]
        except BufferError:
            self._move()
            return self._shorten(mark)
        del before
        return True

    def _cut(self, mark: Mark, redrawn: set[int], only: list[Any] | None = None) -> None:
        """`redrawn`: rows that lose edges drawn by hand."""
        rows = mark.rows
        keys: list[tuple[dict[Any, Any], Any]] = [
            *((self.names, row) for row in list(self.names) if row >= rows),
            *((self.handles, row) for row in list(self.handles) if row >= rows),
            *((self.counters, key) for key in list(self.counters) if key[1] >= rows),
            *((self.unfolded, key) for key, found in self.unfolded.copy().items() if found.end > rows),
        ]  # a copy is made in one step; a list of items is not, for each item may wake the collector
        gone = [(known, key, known.get(key)) for known, key in keys]
        self.unset.difference_update([row for row in list(self.unset) if row >= rows])
        self._cache = {}
        if not self._shorten(mark, only):
            return
        for known, key, value in gone:
            if known.get(key) is value:  # else it is a new row's, which a handler has made meanwhile
                known.pop(key, None)
        del self.scopes[mark.scopes :]
        while self.blocks and self.blocks[-1].first + self.blocks[-1].size > rows:
            self.blocks.pop()
        while self._codes[-1][0] >= rows and len(self._codes) > 1:
            self._codes.pop()
        for row in redrawn:
            self._in_degrees[row] = len(self.operands(row))
            self.redrawn = self.clock
            self.drawings += 1
        if self.scopes[-1][1] is not self.scope_now:
            self.enter(self.scope_now)
        self._cache = {}

    def close(self, reason: str) -> None:
        """Free the columns; nodes that still point here say why they cannot be used."""
        blank = Tables()
        blank.closed, blank.lock = reason, self.lock
        blank.__dict__.update(dict.fromkeys(COLUMNS, Gone(reason)))
        self.__dict__ = blank.__dict__  # at once: a Ctrl-C comes before it or after it, whatever the size

    def explain(self, error: Exception, cuts: int) -> None:
        """Raise StaleNodeError if an error may come of that the graph was cleared, or cut back since so many cuts."""
        if not isinstance(error, NaiveGraphError):
            len(self._operators)  # those of a graph that was cleared say so
            if self.cuts != cuts:
                raise StaleNodeError("The graph was cut back while it was worked on. Build anew what was cut.")

    # --- asking ---

    def held(self) -> tuple[tuple[array[int], ...], tuple[Any, ...]]:
        """Operators, in-degrees, sources and targets of one moment, and a view of each, which holds it."""
        while True:
            cache = self.cache
            columns = self._operators, self._in_degrees, self._sources, self._targets
            views = tuple([memoryview(each) for each in columns])
            if self._cache is cache:
                return columns, views

    def value(self, row: int) -> float | None:
        known = row < len(self.stamps) and self.stamps[row] != NEVER
        return self.values[row] if known else None

    def stamp(self, row: int) -> int:
        return self.stamps[row] if row < len(self.stamps) else NEVER

    def grad(self, row: int) -> float | None:
        known = row < len(self.grads) and self.operators[row] != CONSTANT
        return self.grads[row] if known else None

    def origin(self, row: int) -> Origin:
        fresh, place = self.fresh, WIDTH * (row - self.fresh[0])
        if place >= 0:
            return Origin(fresh[place + 5], fresh[place + 6])
        code = self._codes[bisect_right(self._codes, row, key=_first) - 1][1]
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
        try:
            found = self.blocks[place] if place >= 0 else None
        except IndexError:  # a handler has cleared the graph since the line above
            return None
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
        """Operators, in-degrees, sources and targets of one moment, whatever a signal's handler builds meanwhile."""
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
        return self._cache.get(key) if len(self._operators) == len(self) else None

    def _derived(self, name: str, make: Callable[[], Any]) -> Any:
        """What `make` works out from the tables, kept until they change."""
        with self.lock:
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


class Gone:
    """A column of a graph that is no more: whoever was at work on it, and looks at it, hears why."""

    def __init__(self, reason: str) -> None:
        self.reason = reason

    def _refuse(self, *_: object) -> NoReturn:
        raise StaleNodeError(f"The graph {self.reason} while it was worked on. Build it again.")

    __len__ = __iter__ = __getitem__ = __setitem__ = __delitem__ = _refuse


class Unpacked(NamedTuple):
    """New rows as columns; values and stamps are empty where none is a leaf with a value."""

    operators: array[int]
    in_degrees: array[int]
    sources: array[int]
    targets: array[int]
    values: array[float]
    stamps: array[int]

    def moved(self, base: int, to: int) -> Unpacked:
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

    columns: Unpacked
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


def unpacked(new: list[list[Any]], base: int, now: int) -> Unpacked:
    """Entries of the fresh page as columns. new: the first four of each. base: the first one's row."""
    operators, size = array("h", new[0]), len(new[0])
    sources: list[int] = []
    targets: list[int] = []
    values, stamps = array("d"), array("q")
    for row, operator, left, right in zip(count(base), *new[:3]):
        if right >= 0:
            sources.append(left)  # one by one: quicker than a pair at once
            sources.append(right)
            targets.append(row)
            targets.append(row)
        elif right == ONE:
            if operator >= 0:
                sources.append(left)
                targets.append(row)
            elif operator != PLACEHOLDER:
                if not values:
                    values, stamps = array("d", bytes(8 * size)), array("q", bytes(8 * size))
                values[row - base], stamps[row - base] = left, now
        elif right == BEFORE:
            sources += (left, row - 1)
            targets += (row, row)
        else:
            sources += [row - int(each) if type(each) is float else each for each in left]  # 1.0: the row before
            targets += [row] * len(left)
    return Unpacked(operators, array("i", new[3]), array("i", sources), array("i", targets), values, stamps)


def _numbered(keys: Sequence[int], size: int) -> tuple[array[int], array[int]]:
    return packed(keys, range(len(keys)), size)


def row_of(fresh: list[Any], token: Any) -> int:
    """The row whose entry has this very node, or this list of sources: nearly always the last one."""
    place = next(place for place in range(len(fresh) - 1, 0, -1) if fresh[place] is token)
    return int(fresh[0]) + (place - 1) // WIDTH


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


class Lasting:
    """What goes wrong inside because somebody cleared the graph meanwhile, or cut it back, says so in our own words."""

    __slots__ = ("cuts", "tables")

    def __init__(self, tables: Tables) -> None:
        self.tables, self.cuts = tables, tables.cuts

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, Exception):
            self.tables.explain(error, self.cuts)
