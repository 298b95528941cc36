"""Who goes first: Kahn's topological sort turns the tables into a plan.

A plan lists steps. Step i evaluates row `rows[i]`, and its operands are earlier
steps. A plan covers the whole graph, or some targets and all that they depend
on. Source: A. B. Kahn, "Topological sorting of large networks", CACM 5 (1962).
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Sequence
from itertools import compress

from ..errors import ArityError, GraphCycleError, PlaceHolderError
from .progress import FEW, many
from .rules import BY_NUMBER, Rule
from .tables import CONSTANT, PLACEHOLDER, Tables, packed


class Plan:
    """Rows in an order in which every operand comes before its consumers."""

    def __init__(self, tables: Tables, targets: Sequence[int] = ()) -> None:
        rows = ancestors(tables, targets) if targets else tables.live_rows()
        place = {row: index for index, row in enumerate(rows)}
        sources, consumers = (list(map(place.__getitem__, column)) for column in tables.edges(rows))
        order, self.heads = kahn(sources, consumers, len(rows))
        if len(order) < len(rows):
            raise GraphCycleError(_cycle_message(tables, [rows[index] for index in set(range(len(rows))) - set(order)]))
        step_of = [0] * len(order)
        for step, index in enumerate(order):
            step_of[index] = step
        self.rows = array("i", map(rows.__getitem__, order))
        self.kinds = array("h", map(tables.operators.__getitem__, self.rows))
        self.starts, self.operand_steps = packed(
            [step_of[index] for index in consumers], [step_of[index] for index in sources], len(order)
        )
        self.targets = [step_of[place[row]] for row in targets] or self.sinks()

    def __len__(self) -> int:
        return len(self.rows)

    def operands(self, step: int) -> Sequence[int]:
        """The steps that feed this one, one for each operand position."""
        return self.operand_steps[self.starts[step] : self.starts[step + 1]]

    def rule(self, step: int) -> Rule | None:
        """What the step computes; None for a leaf."""
        kind = self.kinds[step]
        return BY_NUMBER[kind] if kind >= 0 else None

    def sources(self) -> range:
        """The steps that are ready at the start: they have no operands."""
        return range(self.heads[0])

    def released(self, step: int) -> range:
        """The steps that become ready when this one is done, and join the end of the queue."""
        return range(self.heads[step], self.heads[step + 1])

    def sinks(self) -> list[int]:
        """The operators that feed nobody: the results of a whole graph."""
        used = set(self.operand_steps)
        return [step for step, kind in enumerate(self.kinds) if kind >= 0 and step not in used]

    def serves(self, targets: Sequence[int]) -> bool:
        """Whether the plan for these rows would be this one: they are all that feeds nobody."""
        used = set(self.operand_steps)
        return [self.rows[step] for step in self.targets] == list(targets) and len(used) + len(targets) == len(self)

    def leaves(self) -> list[int]:
        return [step for step, kind in enumerate(self.kinds) if kind < 0]

    def placeholders(self) -> list[int]:
        return [step for step, kind in enumerate(self.kinds) if kind == PLACEHOLDER]

    def varies(self) -> list[bool]:
        """Which steps a derivative can flow to: all but Constants."""
        return [kind != CONSTANT for kind in self.kinds]

    def leads_from(self, steps: Iterable[int]) -> list[bool]:
        """Which steps depend on one of `steps`, through operands that they respond to."""
        found = [False] * len(self)
        for step in steps:
            found[step] = True
        for step in range(len(self)):
            rule = self.rule(step)
            if rule is not None and not found[step]:
                found[step] = any(
                    found[operand] and rule.responds_to(position)
                    for position, operand in enumerate(self.operands(step))
                )
        return found


def plan_for(tables: Tables, targets: Sequence[int] = ()) -> Plan:
    """The plan for these targets (the whole graph if there are none), kept until the tables change."""
    key = ("plan", *targets)
    with tables.lock:
        cache = tables.cache
        if key not in cache:
            whole = cache.get(("plan",))
            cache[key] = whole if whole is not None and whole.serves(targets) else Plan(tables, targets)
        plan: Plan = cache[key]
        return plan


def check_set(tables: Tables, rows: Iterable[int]) -> None:
    """Every needed Variable has a number: one that was made without may never have been set."""
    for row in tables.unset.intersection(rows) if tables.unset else ():
        called = tables.name(row) or "x"
        raise PlaceHolderError(
            f"{tables.label(row)} has no value. Set it: {called}.value = 1.0. It was made on {tables.origin(row)}."
        )


def check_complete(tables: Tables, rows: Iterable[int]) -> None:
    """Every operator among the rows has its operands: some may wait for edges drawn by hand."""
    operators, in_degrees = tables.operators, tables.in_degrees
    for row in rows:
        kind, count = operators[row], in_degrees[row]
        if kind >= 0 and count != BY_NUMBER[kind].arity and not (BY_NUMBER[kind].arity is None and count > 0):
            raise ArityError(
                f"{tables.label(row)} has {count} operands and needs {BY_NUMBER[kind].arity or 'at least 1'}. "
                "Draw the missing edges: operand.build_edge(operator)."
            )


def ancestors(tables: Tables, targets: Sequence[int]) -> list[int]:
    """The targets and everything that they depend on, by row."""
    starts, edges = tables.edges_into()
    sources, found, waiting = tables.sources, bytearray(len(tables)), list(targets)
    for row in waiting:
        found[row] = 1
    while waiting:
        row = waiting.pop()
        for edge in edges[starts[row] : starts[row + 1]]:
            source = sources[edge]
            for operand in (source,) if source >= 0 else tables.operands(~source):
                if not found[operand]:
                    found[operand] = 1
                    waiting.append(operand)
    return list(compress(range(len(found)), found))


def kahn(sources: Sequence[int], consumers: Sequence[int], size: int) -> tuple[array[int], array[int]]:
    """Sort 0..size-1, first in, first out: each is ready once all its operands are done.

    Edge i leads from sources[i] to consumers[i]. Those without operands start,
    in order; the others become ready in the order of the edges that they waited
    for. Returns the order, and the length of the queue before the first step
    and after each. What lies on a cycle never gets ready, and is missing.

    >>> kahn([0, 1, 0, 2], [2, 2, 3, 3], 4)  # 2 needs 0 and 1, 3 needs 0 and 2
    (array('i', [0, 1, 2, 3]), array('i', [2, 2, 3, 4, 4]))
    """
    waiting = [0] * size
    for consumer in consumers:
        waiting[consumer] += 1
    starts, followers = packed(sources, consumers, size)
    queue = [index for index in range(size) if waiting[index] == 0]
    heads = [len(queue)]
    for index in queue if size < FEW else many(queue, "order", size):  # grows as we walk along it
        for follower in followers[starts[index] : starts[index + 1]]:
            waiting[follower] -= 1
            if waiting[follower] == 0:
                queue.append(follower)
        heads.append(len(queue))
    return array("i", queue), array("i", heads)


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
