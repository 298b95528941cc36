"""The graph is two tables; a node is a row.

    nodes   row  kind   value   grad        edges   source  target
              0  6.0      6.0      .                     0       2
              1  7.0      7.0      .                     1       2
              2  sub     -1.0      .

Neighbours are not stored with a node: they are derived from the edge table and cached until
it changes. The columns are packed arrays (storage.py), some 60 bytes per node. Nested sums are
merged: `(a + b) + c` becomes one sum of three operands. The source of its first edge is ~row
(a negative number), which stands for all operands of `row`, the absorbed sum (waiting.py,
the file of nodes that were built and are not written into the columns yet).
"""

from __future__ import annotations

from array import array
from bisect import bisect_right, insort_left, insort_right
from collections.abc import Callable, Iterable, Sequence
from itertools import accumulate, compress
from operator import itemgetter
from typing import Any

from .lock import GUARD, LOCK
from .origin import Origin
from .records import NodeRange as NodeRange
from .records import Scope as Scope
from .rules import BY_NUMBER
from .storage import NEVER as NEVER
from .storage import Storage, live
from .waiting import CONSTANT as CONSTANT
from .waiting import PLACEHOLDER as PLACEHOLDER
from .waiting import VARIABLE as VARIABLE

LEAF_KINDS = {CONSTANT: "Constant", VARIABLE: "Variable", PLACEHOLDER: "PlaceHolder"}
ZERO = array("d", [0.0])


class Tables(Storage):
    """One graph's nodes and edges."""

    # --- values and gradients ---

    def set_leaf_value(self, row: int, value: float) -> None:
        """Set a leaf's value. Values computed from the old one are stale until the next forward run."""
        self.written = clock = self.clock
        self._values[row], self._stamps[row] = value, clock
        if self.unset:
            self.unset.discard(row)

    def set_computed_value(self, row: int, value: float) -> None:
        """Set the value of an operator that was computed eagerly."""
        self._values[row], self._stamps[row] = value, self.tick()

    def mark_unset(self, row: int) -> None:
        """Mark a Variable as having no value."""
        self.written = self.clock
        self._stamps[row] = NEVER
        self.unset.add(row)

    def set_leaf_values(self, rows: Sequence[int], values: Any) -> None:
        """Set the values of many leaves from a NumPy array."""
        import numpy as np

        with LOCK, GUARD:
            self.flush()
            stamps, column = np.frombuffer(self._stamps, np.int64), np.frombuffer(self._values)
            stamps[rows] = self.clock  # before the values, so that a new value never has an old stamp
            self.written = self.clock
            column[rows] = values
            if self.unset:
                self.unset.difference_update(np.arange(len(self))[rows].tolist())

    def clear_grads(self) -> None:
        """Give every row a gradient of 0.0."""
        self.grads, self.grads_are_zero = ZERO * len(self), True

    def grow_grads(self) -> None:
        """Give every row a gradient, 0.0 where there was none."""
        self._extend("grads", array("d", bytes(8 * (len(self) - len(self.grads)))))

    def add_edge(self, source: int, target: int) -> None:
        """Append one edge that the learner draws by hand."""
        self.flush()
        degree, size = self._in_degrees[target] + 1, (self.size[0], self.size[1] + 1)
        before, self._cache = self._cache, {}
        self.torn = True
        self._extend("_sources", array("i", [source]))
        self._extend("_targets", array("i", [target]))
        # No function is called from here on, so no Ctrl-C can interrupt: all of it happens, or nothing.
        self.size, self.torn, self._in_degrees[target] = size, False, degree
        self.edges_edited_at, self.edge_edits = self.clock, self.edge_edits + 1
        del before  # not earlier: what is in it may have finalizers

    def mark_scopes(self, scopes: Iterable[tuple[int, Scope | None]], end: int) -> None:
        """Note the scopes of rows appended before `end`, as (first row, scope); from `end` on, `scope_now` holds."""
        for entry in scopes:
            insort_right(self.scopes, entry, key=itemgetter(0))
        insort_left(self.scopes, (end, self.scope_now), key=itemgetter(0))

    # --- queries ---

    def value(self, row: int) -> float | None:
        return self.values[row] if self.stamps[row] != NEVER else None

    def stamp(self, row: int) -> int:
        return self.stamps[row]

    def grad(self, row: int) -> float | None:
        has_gradient = row < len(self.grads) and self.operators[row] != CONSTANT
        return self.grads[row] if has_gradient else None

    def origin(self, row: int) -> Origin:
        code = self.codes[bisect_right(self._codes, row, key=itemgetter(0)) - 1][1]
        assert code is not None  # every row was made by some code
        return Origin(code, self._instructions[row])

    def kind(self, row: int) -> str:
        """What a node is called: the kind of a leaf, the name of an operator."""
        operator = self.operators[row]
        return BY_NUMBER[operator].name if operator >= 0 else LEAF_KINDS[operator]

    def label(self, row: int) -> str:
        """How messages call a node: its kind, and its name or row."""
        kind = self.kind(row) if self.operators[row] < 0 else f"'{self.kind(row)}'"
        name = self.name(row)
        return f"{kind} (row {row})" if name is None else f"{kind} {name!r}"

    def name(self, row: int) -> str | None:
        """The node's name, given by the learner or by the NodeRange that it belongs to; None if it has none."""
        name = self.names.get(row)
        block = self.block(row) if name is None and self.blocks else None
        return name if block is None else block.name(row)

    def block(self, row: int) -> NodeRange | None:
        """The NodeRange that the row belongs to, if any."""
        index = bisect_right(self.blocks, row, key=itemgetter(0)) - 1
        block = self.blocks[index] if index >= 0 else None
        return block if block is not None and row < block.first + block.size else None

    def scope(self, row: int) -> Scope | None:
        return self.scopes[bisect_right(self.scopes, row, key=itemgetter(0)) - 1][1]

    def operands(self, row: int) -> list[int]:
        """The rows that feed `row`, in order, one for each operand position."""
        tails: list[list[int]] = []
        sources = self.own_sources(row)
        while sources and sources[0] < 0:  # ~absorbed: that row's operands come first
            tails.append(sources[1:])
            sources = self.own_sources(~sources[0])
        for tail in reversed(tails):
            sources.extend(tail)
        return sources

    def consumers(self, row: int) -> list[int]:
        """The rows that `row` feeds, in the order the edges were drawn; absorbed rows do not count."""
        starts, targets = self._derive_cached(
            "consumers", lambda: group_by_key(*self.edges(self.live_rows()), len(self))
        )
        return list(targets[starts[row] : starts[row + 1]])

    def edges(self, rows: Iterable[int]) -> tuple[list[int], list[int]]:
        """Sources and targets of the edges into `rows`, in the order drawn; ~row is expanded to that row's operands."""
        starts, edges = self.edges_by_target()
        sources: list[int] = []
        targets: list[int] = []
        for edge in sorted(edge for row in rows for edge in edges[starts[row] : starts[row + 1]]):
            source, target = self._sources[edge], self._targets[edge]
            operands = [source] if source >= 0 else self.operands(~source)
            sources += operands
            targets += [target] * len(operands)
        return sources, targets

    def live_rows(self) -> list[int]:
        """All rows but the absorbed ones, whose operands a merged row took over and which feed no other row."""
        live = self._derive_cached("live", self._live)
        return list(compress(range(len(live)), live))

    def is_absorbed(self, row: int) -> bool:
        return not self._derive_cached("live", self._live)[row]

    def own_sources(self, row: int) -> list[int]:
        """The sources of this row's own edges, not expanded; ~absorbed comes first if it absorbed a row."""
        starts, edges = self.edges_by_target()
        return [self._sources[edge] for edge in edges[starts[row] : starts[row + 1]]]

    def _live(self) -> bytearray:
        operators, _, sources, _ = self.columns()
        return live(len(operators), [~source for source in sources if source < 0], sources)

    def edges_by_target(self) -> tuple[array[int], array[int]]:
        """Edge numbers grouped by target (CSR): those into `row` are edges[starts[row] : starts[row + 1]]."""
        edges: tuple[array[int], array[int]] = self._derive_cached(
            "edges into", lambda: group_by_key(self._targets[:], range(len(self._targets)), len(self))
        )
        return edges

    def _derive_cached(self, name: str, make: Callable[[], Any]) -> Any:
        """The result of `make`, cached under `name` until the tables change."""
        with LOCK:
            cache = self.cache  # any change of the tables replaces it by an empty one
            if name not in cache:
                cache[name] = make()
            return cache[name]


def group_by_key(keys: Sequence[int], items: Sequence[int], size: int) -> tuple[array[int], array[int]]:
    """Group items by key (CSR layout), in order: those of key k are items[starts[k]:starts[k+1]].

    >>> group_by_key([1, 0, 1], [7, 8, 9], 2)
    (array('i', [0, 1, 3]), array('i', [8, 7, 9]))
    """
    counts = [0] * (size + 1)
    for key in keys:
        counts[key + 1] += 1
    order = sorted(range(len(keys)), key=keys.__getitem__)  # stable, and fast on keys that are already sorted
    return array("i", accumulate(counts)), array("i", map(items.__getitem__, order))
