"""The graph is two tables; a node is a row.

    nodes   row  kind   value   grad        edges   source  target
              0  6.0      6.0      .                     0       2
              1  7.0      7.0      .                     1       2
              2  sub     -1.0      .

Neighbours are not stored with a node: they are derived from the edge table (Adjacency) and cached until
it changes. The columns are packed arrays (storage.py), some 60 bytes per node. Nested sums are
merged: `(a + b) + c` becomes one sum of three operands. The source of its first edge is ~row
(a negative number), which stands for all operands of `row`, the absorbed sum (waiting.py,
the file of nodes that were built and are not written into the columns yet).
"""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right, insort_left, insort_right
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from itertools import accumulate, compress
from operator import itemgetter
from typing import Any

from .lock import GUARD, LOCK
from .origin import Origin
from .records import NodeRange as NodeRange
from .records import Scope as Scope
from .rules import BY_NUMBER
from .storage import NEVER as NEVER
from .storage import Storage
from .waiting import CONSTANT as CONSTANT
from .waiting import PLACEHOLDER as PLACEHOLDER
from .waiting import VARIABLE as VARIABLE

# One absorption: (absorber, absorbed row, the absorber's operands, n); the first n operands are the absorbed row's.
Absorbed = tuple[int, int, Sequence[int], int]
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
        return name if block is None else block.owner.name_of(row - block.first)

    def block(self, row: int) -> NodeRange | None:
        """The NodeRange that the row belongs to, if any."""
        index = bisect_right(self.blocks, row, key=itemgetter(0)) - 1
        block = self.blocks[index] if index >= 0 else None
        return block if block is not None and row < block.first + block.size else None

    def scope(self, row: int) -> Scope | None:
        return self.scopes[bisect_right(self.scopes, row, key=itemgetter(0)) - 1][1]

    def operands(self, row: int) -> list[int]:
        """The rows that feed `row`, in order, one for each operand position."""
        return self.adjacency.operands(row)

    def consumers(self, row: int) -> list[int]:
        """The rows that `row` feeds, in the order the edges were drawn; absorbed rows do not count."""
        return list(self.adjacency.live_consumers.get(row, ()))

    def is_absorbed(self, row: int) -> bool:
        return not self.adjacency.live[row]

    @property
    def adjacency(self) -> Adjacency:
        """The operands of every row, as the tables are now."""
        with LOCK:
            cache = self.cache  # any change of the tables replaces it by an empty one
            if "adjacency" not in cache:
                cache["adjacency"] = Adjacency(self)
            adjacency: Adjacency = cache["adjacency"]
            return adjacency


class Adjacency:
    """The operands of every row in CSR form: those of `row` are flat[begins[row] : begins[row + 1]].

    An edge with the source ~row stands for all operands of the absorbed `row`; in `flat` these are written out.
    absorbers: rows that absorbed another, oldest first; absorbed: the row that each of them absorbed. live: 1 for each
    row, 0 for absorbed rows that feed no other row. drawn: the edges in the order in which they were drawn, if
    some were drawn by hand; None if this is the order of their targets.
    """

    def __init__(self, tables: Tables) -> None:
        degrees, sources, targets = (column.tolist() for column in tables.snapshot()[1][1:])
        self.begins = array("q", accumulate(degrees, initial=0))
        self.drawn = [*zip(sources, targets)] if tables.edge_edits else None
        if self.drawn is not None:
            in_row_order = sorted(self.drawn, key=itemgetter(1))
            sources, targets = [source for source, _ in in_row_order], [target for _, target in in_row_order]
        merging = [edge for edge, source in enumerate(sources) if source < 0]
        self.absorbers, self.absorbed = [targets[edge] for edge in merging], [~sources[edge] for edge in merging]
        self.live = bytearray(b"\1") * len(degrees)
        for row in set(self.absorbed).difference(sources):
            self.live[row] = 0
        self.flat = array("i")
        done = 0
        for edge, row in zip(merging, self.absorbed):
            self.flat.fromlist(sources[done:edge])
            self.flat.fromlist(self.operands(row))
            done = edge + 1
        self.flat.fromlist(sources[done:])

    def operands(self, row: int) -> list[int]:
        return self.flat[self.begins[row] : self.begins[row + 1]].tolist()

    def live_rows(self) -> list[int]:
        """All rows but the absorbed ones, whose operands a merged row took over and which feed no other row."""
        return list(compress(range(len(self.live)), self.live))

    def ancestors(self, targets: Sequence[int]) -> list[int]:
        """The targets and everything that they depend on, in row order."""
        begins, flat = self.begins, self.flat
        reached, waiting = set(targets), list(targets)
        while waiting:
            row = waiting.pop()
            for operand in flat[begins[row] : begins[row + 1]]:
                if operand not in reached:
                    reached.add(operand)
                    waiting.append(operand)
        return sorted(reached)

    def edges(self, rows: Sequence[int]) -> Iterator[tuple[int, int]]:
        """(source, target) of each edge into `rows` (in ascending order), in the order drawn; none is ~row."""
        begins, flat = self.begins, self.flat
        if self.drawn is None:
            return ((source, row) for row in rows for source in flat[begins[row] : begins[row + 1]])
        selected = set(rows)
        return (
            (operand, target)
            for source, target in self.drawn
            if target in selected
            for operand in ([source] if source >= 0 else self.operands(~source))
        )

    def consumers(self, rows: Sequence[int]) -> dict[int, list[int]]:
        """The consumers of each row among these (in ascending order), in the order in which the edges were drawn."""
        consumers: dict[int, list[int]] = {row: [] for row in rows}
        for source, target in self.edges(rows):
            consumers[source].append(target)
        return consumers

    @cached_property
    def live_consumers(self) -> dict[int, list[int]]:
        return self.consumers(self.live_rows())

    def absorptions(self, rows: Iterable[int]) -> list[Absorbed]:
        """Absorptions by `rows`, and by the rows that these absorbed in turn, newest first."""
        reached = set(rows)
        absorptions: list[Absorbed] = []
        for absorber, row in zip(reversed(self.absorbers), reversed(self.absorbed)):
            if absorber in reached:
                reached.add(row)
                absorptions.append((absorber, row, self.operands(absorber), len(self.operands(row))))
        return absorptions

    def absorbed_row(self, row: int) -> int | None:
        """The row that this one absorbed, whose operands are its first; None if it absorbed none."""
        index = bisect_left(self.absorbers, row)
        return self.absorbed[index] if row in self.absorbers[index : index + 1] else None
