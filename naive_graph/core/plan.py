"""Topological order (Kahn's algorithm): turns the tables into a Plan, a list of steps to evaluate in order.

Step i evaluates row `rows[i]`, and its operands are earlier steps. A plan covers the
whole graph, or some targets and everything that they depend on.
Source: A. B. Kahn, "Topological sorting of large networks", CACM 5 (1962).

Nested sums and products are merged: for `(a + b) + c` the new row of `a + b + c` absorbs that of
`a + b`. An absorbed row that nothing else uses is no step of a plan, unless it is a target. The list
of absorptions says which values and gradients such rows get afterwards.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Container, Iterable, Sequence
from functools import cached_property
from itertools import accumulate, chain, compress
from typing import Any

from ..errors import ArityError, GraphCycleError, PlaceHolderError
from .progress import FEW, with_progress
from .rules import BY_NUMBER, Rule
from .storage import live
from .tables import CONSTANT, PLACEHOLDER, Tables

# One absorption: (absorber, absorbed row, the absorber's operands, n); the first n operands are the absorbed row's.
Absorbed = tuple[int, int, Sequence[int], int]
LARGE = 2_000  # rows; in a larger graph, a query about few rows visits only their ancestors
FRACTION = 16  # the ancestors must be at most 1/16 of the graph; else all of it is read


class Plan:
    """Rows in topological order: every operand comes before its consumers.

    absorbed: absorptions by rows of the plan (see Absorbed), newest first. complete:
    whether every operator has its operands; some may wait for edges drawn by hand.
    """

    def __init__(self, tables: Tables, targets: Sequence[int] = ()) -> None:
        edges = Edges(tables, targets)
        targets = edges.to_local(targets)
        selected = edges.needed(targets) if targets else edges.live()
        consumers = edges.consumers(selected)
        begins, flat, operators, degrees = edges.begins, edges.flat, edges.operators, edges.degrees
        rows = marked_rows(selected)
        order = sort_topologically(rows, degrees, consumers)
        if len(order) < len(rows):
            raise GraphCycleError(_cycle_message(tables, edges.to_rows(sorted({*rows}.difference(order)))))
        step_of = [0] * len(selected)
        for step, row in enumerate(order):
            step_of[row] = step
        counts = [degrees[row] for row in order]
        self.rows, self.kinds = edges.to_rows(order), [operators[row] for row in order]
        self.rules = [BY_NUMBER[kind] if kind >= 0 else None for kind in self.kinds]
        self.starts = [0, *accumulate(counts)]
        operands = chain.from_iterable(flat[begins[row] : begins[row + 1]] for row in order if degrees[row])
        self.operand_steps = [step_of[operand] for operand in operands]
        ends = [row for row in order if not consumers[row]]
        # Without targets, the results: operators that nothing uses.
        self.targets = [step_of[row] for row in targets or ends if targets or operators[row] >= 0]
        self.ends = len(ends)
        self.absorbed = edges.absorbed_by(selected)
        # Only an operator built without operands can lack some; until an edge is drawn by hand, it has none at all.
        self.complete = self.rules.count(None) == counts.count(0) and (
            not tables.edge_edits
            or all(kind < 0 or BY_NUMBER[kind].accepts_arity(n) for kind, n in {*zip(self.kinds, counts)})
        )

    def __len__(self) -> int:
        return len(self.rows)

    def check_complete(self, tables: Tables) -> None:
        """Raise ArityError if an operator still lacks operands: edges that are to be drawn by hand."""
        if not self.complete:
            check_complete(tables, self.rows)

    def operands(self, step: int) -> Sequence[int]:
        """The steps that feed this one, one for each operand position."""
        return self.operand_steps[self.starts[step] : self.starts[step + 1]]

    def rule(self, step: int) -> Rule | None:
        """What the step computes; None for a leaf."""
        return self.rules[step]

    @cached_property
    def heads(self) -> array[int]:
        """How many steps have joined the queue, first and after each step; one joins after its last operand."""
        joined = [0] * (len(self) + 1)
        for step in range(len(self)):
            joined[max(self.operands(step), default=-1) + 1] += 1
        return array("i", accumulate(joined))

    def sources(self) -> range:
        """The steps that are ready at the start: they have no operands."""
        return range(self.heads[0])

    def ready_after(self, step: int) -> range:
        """The steps that become ready when this one is done, and join the end of the queue."""
        return range(self.heads[step], self.heads[step + 1])

    def is_for(self, targets: Sequence[int]) -> bool:
        """Whether the plan for these targets would be this one: they are exactly the rows without consumers."""
        return [self.rows[step] for step in self.targets] == list(targets) and len(targets) == self.ends

    def leaves(self) -> list[int]:
        return [step for step, kind in enumerate(self.kinds) if kind < 0]

    def placeholders(self) -> list[int]:
        return [step for step, kind in enumerate(self.kinds) if kind == PLACEHOLDER]

    def varies(self) -> list[bool]:
        """Which steps a derivative can flow to: all but Constants."""
        return [kind != CONSTANT for kind in self.kinds]

    def depends_on(self, steps: Iterable[int]) -> list[bool]:
        """Mark the steps that depend on one of `steps`, through operands that have a partial derivative."""
        depends = [False] * len(self)
        for step in steps:
            depends[step] = True
        for step in range(len(self)):
            rule = self.rule(step)
            if rule is not None and not depends[step]:
                depends[step] = any(
                    depends[operand] and rule.responds_to(position)
                    for position, operand in enumerate(self.operands(step))
                )
        return depends


def plan_for(tables: Tables, targets: Sequence[int] = ()) -> Plan:
    """The plan for these targets (the whole graph if there are none), cached until the tables change."""
    key = ("plan", *targets)
    with tables.lock:
        cache = tables.cache
        if key not in cache:
            full_plan = cache.get(("plan",))
            cache[key] = full_plan if full_plan is not None and full_plan.is_for(targets) else Plan(tables, targets)
        plan: Plan = cache[key]
        return plan


def check_set(tables: Tables, rows: Iterable[int]) -> None:
    """Raise PlaceHolderError unless every Variable among the rows has a value."""
    for row in tables.unset.intersection(rows) if tables.unset else ():
        called = tables.name(row) or "x"
        raise PlaceHolderError(
            f"{tables.label(row)} has no value. Set it: {called}.value = 1.0. It was made on {tables.origin(row)}."
        )


def check_complete(tables: Tables, rows: Iterable[int]) -> None:
    """Raise ArityError unless every operator among the rows has its operands: edges drawn by hand may be missing."""
    operators, in_degrees = tables.operators, tables.in_degrees
    for row in rows:
        kind, count = operators[row], in_degrees[row]
        if kind >= 0 and not BY_NUMBER[kind].accepts_arity(count):
            raise ArityError(
                f"{tables.label(row)} has {count} operands and needs {BY_NUMBER[kind].arity or 'at least 1'}. "
                "Draw the missing edges: operand.build_edge(operator)."
            )


def ancestors(tables: Tables, targets: Sequence[int]) -> list[int]:
    """The targets and everything that they depend on, in row order."""
    edges = Edges(tables, targets)
    return edges.to_rows(marked_rows(edges.needed(edges.to_local(targets))))


def absorbed_by(tables: Tables, rows: Iterable[int]) -> list[Absorbed]:
    """Absorptions by `rows`, and by the rows that these absorbed in turn, newest first."""
    edges = Edges(tables)
    selected = bytearray(len(edges.operators))  # sized by this snapshot: the graph may have grown since
    for row in rows:
        selected[row] = 1
    return edges.absorbed_by(selected)


def absorptions_between(absorbed: Iterable[Absorbed], drawn: Container[int]) -> list[tuple[int, int, int]]:
    """Absorptions between drawn rows: (absorber, absorbed row, number of its operands), newest first.

    An absorber that is not drawn is replaced by those that absorbed it in turn:
    their operands begin with its own, as its own begin with the row's.
    """
    absorptions, into = [], defaultdict[int, list[int]](list)
    for absorber, row, _, count in absorbed:
        ends = [absorber] if absorber in drawn else into[absorber]
        if row in drawn:
            absorptions += [(end, row, count) for end in ends]
        else:
            into[row] += ends
    return absorptions


def marked_rows(marks: bytearray) -> list[int]:
    """The rows whose mark is set."""
    return list(compress(range(len(marks)), marks))


class Edges:
    """A snapshot of the edges in CSR form: the operands of a row are flat[begins[row] : begins[row + 1]].

    An edge with the source ~row stands for all operands of the absorbed `row`; in `flat` these are written out.
    absorbers: rows that absorbed another, oldest first; absorbed: the row that each of them absorbed. If only a part
    of a large graph was read, rows are renumbered: `to_local` and `to_rows` convert.
    """

    def __init__(self, tables: Tables, roots: Sequence[int] = ()) -> None:
        # For a query about a small part of a large graph, only that part is read and its rows are renumbered.
        subgraph = subgraph_edges(tables, roots) if roots and len(tables) > LARGE else None
        self.rows = subgraph[0] if subgraph else None
        self.operators, self.degrees, self.sources, self.targets = subgraph[1:] if subgraph else tables.columns()
        self.begins = [0, *accumulate(self.degrees)]
        sources, targets = self.sources, self.targets
        if tables.edge_edits:  # edges drawn by hand need not be in row order
            in_row_order = sorted(range(len(targets)), key=targets.__getitem__)
            sources, targets = [sources[edge] for edge in in_row_order], [targets[edge] for edge in in_row_order]
        merging = [edge for edge, source in enumerate(sources) if source < 0]
        self.absorbers, self.absorbed = [targets[edge] for edge in merging], [~sources[edge] for edge in merging]
        flat, begins, done = [], self.begins, 0
        for edge, row in zip(merging, self.absorbed):
            flat += sources[done:edge]
            flat += flat[begins[row] : begins[row + 1]]
            done = edge + 1
        self.flat = flat + sources[done:]

    def to_local(self, rows: Sequence[int]) -> Sequence[int]:
        """Convert rows of the tables to this snapshot's numbers."""
        return rows if self.rows is None else [bisect_left(self.rows, row) for row in rows]

    def to_rows(self, rows: list[int]) -> list[int]:
        """Convert this snapshot's numbers back to rows of the tables."""
        return rows if self.rows is None else [self.rows[row] for row in rows]

    def operands(self, row: int) -> list[int]:
        return self.flat[self.begins[row] : self.begins[row + 1]]

    def live(self) -> bytearray:
        """1 for each row, 0 for absorbed rows that feed no other row."""
        return live(len(self.operators), self.absorbed, self.sources)

    def needed(self, targets: Sequence[int]) -> bytearray:
        """1 for each target and each row that a target depends on."""
        reached, waiting = bytearray(len(self.operators)), list(targets)
        for row in waiting:
            reached[row] = 1
        while waiting:
            for operand in self.operands(waiting.pop()):
                if not reached[operand]:
                    reached[operand] = 1
                    waiting.append(operand)
        return reached

    def consumers(self, selected: Sequence[int]) -> list[Any]:
        """The consumers of each row, both marked in `selected`, in the order in which the edges were drawn."""
        feeds: list[Any] = [[] if flag else () for flag in selected]
        for source, consumer in zip(self.sources, self.targets):
            if selected[consumer]:
                if source >= 0:
                    feeds[source].append(consumer)
                else:
                    for operand in self.operands(~source):
                        feeds[operand].append(consumer)
        return feeds

    def absorbed_by(self, selected: Sequence[int]) -> list[Absorbed]:
        """Absorptions by the marked rows, and by the rows that these absorbed in turn, newest first."""
        reached, flat, begins, degrees = bytearray(selected), self.flat, self.begins, self.degrees
        absorptions: list[tuple[int, int, list[int], int]] = []
        for absorber, row in zip(reversed(self.absorbers), reversed(self.absorbed)):
            if reached[absorber]:
                reached[row] = 1
                absorptions.append((absorber, row, flat[begins[absorber] : begins[absorber + 1]], degrees[row]))
        names = self.rows
        if names is None:
            return [*absorptions]
        return [
            (names[absorber], names[row], self.to_rows(operands), count)
            for absorber, row, operands, count in absorptions
        ]


def subgraph_edges(tables: Tables, roots: Sequence[int]) -> tuple[list[int], ...] | None:
    """The roots and their ancestors, absorbed rows too; None if they are many.

    Returns their rows, then their columns (operators, degrees, sources, targets) with the rows renumbered from 0.
    """
    (operators, degrees, sources, targets), _held = tables.snapshot()  # a consistent snapshot while the views are held
    (starts, edges), edge_count = tables.edges_by_target(), len(sources)
    subgraph: list[int] = []  # numbers of its edges
    reached, waiting = set(roots), list(roots)
    while waiting:
        row = waiting.pop()
        inward = [edge for edge in edges[starts[row] : starts[row + 1]] if edge < edge_count]  # none drawn meanwhile
        subgraph += inward
        for source in [sources[edge] for edge in inward]:
            source = source if source >= 0 else ~source
            if source not in reached:
                reached.add(source)
                waiting.append(source)
        if len(reached) * FRACTION > len(operators):
            return None
    rows, subgraph = sorted(reached), sorted(subgraph)
    renumbered = {row: number for number, row in enumerate(rows)}
    old_sources = [sources[edge] for edge in subgraph]
    return (
        rows,
        [operators[row] for row in rows],
        [degrees[row] for row in rows],
        [renumbered[row] if row >= 0 else ~renumbered[~row] for row in old_sources],
        [renumbered[targets[edge]] for edge in subgraph],
    )


def sort_topologically(rows: Sequence[int], degrees: Sequence[int], consumers: Sequence[Sequence[int]]) -> list[int]:
    """Topological sort, first in, first out: a row is ready once all its operands are done.

    degrees: how many operands each row of the graph has. Rows without operands
    start, in order; the others become ready in the order of `consumers`, which
    are among `rows`. Rows on a cycle, or behind one, never get ready and are missing in the result.

    >>> sort_topologically(range(4), [0, 0, 2, 2], [[2, 3], [2], [3], []])  # 2 needs 0 and 1, 3 needs 0 and 2
    [0, 1, 2, 3]
    """
    queue, waiting, size = [row for row in rows if degrees[row] == 0], [*degrees], len(rows)
    for row in queue if size < FEW else with_progress(queue, "order", size):  # grows as we walk along it
        for consumer in consumers[row]:
            waiting[consumer] = left = waiting[consumer] - 1
            if not left:
                queue.append(consumer)
    return queue


def _cycle_message(tables: Tables, stuck: Sequence[int]) -> str:
    """Name the nodes of one cycle: walk back from any stuck row until one is met again."""
    among, path = set(stuck), [stuck[0]]
    while path.count(path[-1]) == 1:
        path.append(next(row for row in tables.operands(path[-1]) if row in among))
    cycle = path[path.index(path[-1]) :][::-1]
    names = " -> ".join(tables.label(row) for row in cycle)
    return (
        f"The edges drawn by hand form a cycle: {names}. No node of it can go first. "
        "Cut the graph back with Graph.revert() or start again with Graph.clear()."
    )
