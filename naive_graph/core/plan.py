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
from collections import defaultdict
from collections.abc import Container, Iterable, Sequence
from functools import cached_property
from itertools import accumulate
from typing import Any

from ..errors import ArityError, GraphCycleError, PlaceHolderError
from .progress import FEW, with_progress
from .rules import BY_NUMBER, Rule
from .tables import CONSTANT, PLACEHOLDER, Absorbed, Tables


class Plan:
    """Rows in topological order: every operand comes before its consumers.

    absorbed: absorptions by rows of the plan (see Absorbed), newest first. complete:
    whether every operator has its operands; some may wait for edges drawn by hand.
    """

    def __init__(self, tables: Tables, targets: Sequence[int] = ()) -> None:
        adjacency = tables.adjacency
        begins, flat = adjacency.begins, adjacency.flat
        rows = adjacency.ancestors(targets) if targets else adjacency.live_rows()
        degrees = {row: begins[row + 1] - begins[row] for row in rows}
        consumers = adjacency.consumers(rows)
        order = sort_topologically(rows, degrees, consumers)
        if len(order) < len(rows):
            raise GraphCycleError(_cycle_message(tables, sorted({*rows}.difference(order))))
        step_of = {row: step for step, row in enumerate(order)}
        operators, counts = tables.operators, [degrees[row] for row in order]
        self.rows, self.kinds = order, [operators[row] for row in order]
        self.rules = [BY_NUMBER[kind] if kind >= 0 else None for kind in self.kinds]
        self.starts = [0, *accumulate(counts)]
        self.operand_steps = [step_of[operand] for row in order for operand in flat[begins[row] : begins[row + 1]]]
        ends = [row for row in order if not consumers[row]]
        # Without targets, the results: operators that nothing uses.
        self.targets = [step_of[row] for row in targets or ends if targets or operators[row] >= 0]
        self.ends = len(ends)
        self.absorbed = adjacency.absorptions(order)
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


def sort_topologically(rows: Sequence[int], degrees: Any, consumers: Any) -> list[int]:
    """Topological sort, first in, first out: a row is ready once all its operands are done.

    degrees: how many operands each row has. Rows without operands
    start, in order; the others become ready in the order of `consumers`, which
    are among `rows`. Rows on a cycle, or behind one, never get ready and are missing in the result.

    >>> sort_topologically(range(4), [0, 0, 2, 2], [[2, 3], [2], [3], []])  # 2 needs 0 and 1, 3 needs 0 and 2
    [0, 1, 2, 3]
    """
    queue, waiting, size = [row for row in rows if degrees[row] == 0], {row: degrees[row] for row in rows}, len(rows)
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
