"""The graph is two tables; a node is a row.

    nodes   row  kind   value   grad        edges   source  target
              0  6.0      6.0      .                     0       2
              1  7.0      7.0      .                     1       2
              2  sub     -1.0      .

A fact has one home: neighbours and degrees are questions asked of the edge
table. The columns are packed arrays, so a node costs some 60 bytes (storage.py). A sum
that took over another one, as `(a + b) + c` does, keeps one edge from ~row, which
stands for all operands of that row (waiting.py).
"""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections.abc import Callable, Iterable, Sequence
from itertools import accumulate, compress
from operator import itemgetter
from typing import Any

from .lock import GUARD, LOCK
from .origin import Origin
from .records import RowBlock as RowBlock
from .records import Scope as Scope
from .rules import BY_NUMBER
from .storage import NEVER as NEVER
from .storage import Storage
from .waiting import CONSTANT as CONSTANT
from .waiting import PLACEHOLDER as PLACEHOLDER
from .waiting import VARIABLE as VARIABLE

LEAF_KINDS = {CONSTANT: "Constant", VARIABLE: "Variable", PLACEHOLDER: "PlaceHolder"}
ZERO = array("d", [0.0])


class Tables(Storage):
    """One graph's nodes and edges."""

    # --- values and gradients ---

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
        code = self.codes[bisect_right(self._codes, row, key=itemgetter(0)) - 1][1]
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
        place = bisect_right(self.blocks, row, key=itemgetter(0)) - 1
        found = self.blocks[place] if place >= 0 else None
        return found if found is not None and row < found.first + found.size else None

    def scope(self, row: int) -> Scope | None:
        return self.scopes[bisect_right(self.scopes, row, key=itemgetter(0)) - 1][1]

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


def _numbered(keys: Sequence[int], size: int) -> tuple[array[int], array[int]]:
    return packed(keys, range(len(keys)), size)


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
