"""A recorded sweep: its events (Run), its nodes (Participants), and what is known after an event (State)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from math import isfinite
from struct import Struct
from typing import Any, Literal, NamedTuple, get_args

from ...core.plan import Plan
from ...core.rules import Rule
from ...core.sweep import Contributed, Enqueued, Event, Finished
from ...core.tables import Tables
from ...graph.node_factory import CURRENT
from ..drawing.draw import readable_scene
from ..drawing.names import Alike, group_by_line, name_by_line, names_of
from ..drawing.scene import READABLE, DrawOptions, Scene, scene, with_placeholders

FORWARD, BACKWARD, TANGENT, UPDATE = "forward", "backward", "tangent", "update"
Kind = Literal["started", "enqueued", "read", "evaluated", "contributed", "finished", "moved"]
KINDS: tuple[Kind, ...] = get_args(Kind)
PACKED_ENTRY = Struct("=B3i4d?")  # 46 bytes: a walk of a million events is no million objects


class Participants:
    """The nodes of a plan with their names when it ran; readable after the graph was cleared."""

    def __init__(self, tables: Tables, plan: Plan) -> None:
        self.tables = tables
        self.then = snapshot_tables(tables)  # names and origins as they were then
        self.plan = plan
        self.rows = plan.rows
        self.names = names_of(tables, plan.rows) if len(plan) <= READABLE else {}  # a larger drawing shows none
        self.step_of = {row: step for step, row in enumerate(plan.rows)}
        self.targets = [plan.rows[step] for step in plan.targets]

    def rule(self, row: int) -> Rule | None:
        return self.plan.rule(self.step_of[row])

    def operands(self, row: int) -> list[int]:
        """The rows that feed this one, one for each operand position."""
        return [self.rows[step] for step in self.plan.operands(self.step_of[row])]

    def called(self, row: int) -> str:
        """The node's name as in drawings; "" for -1, which stands for no node."""
        if row < 0:
            return ""
        return self.names.get(row) or self.then.name(row) or name_by_line(self.then, row, self.alike)

    @cached_property
    def alike(self) -> Alike:
        """The nameless rows, by kind of node and line of the program."""
        return group_by_line(self.then, self.rows)

    @cached_property
    def constants(self) -> set[int]:
        """The rows that no derivative flows to."""
        return {row for row, varies in zip(self.rows, self.plan.varies()) if not varies}

    @cached_property
    def consumers(self) -> dict[int, list[int]]:
        """The rows that each row feeds, one for each operand position."""
        consumers: dict[int, list[int]] = {row: [] for row in self.rows}
        for row in self.rows:
            for operand in self.operands(row):
                consumers[operand].append(row)
        return consumers

    def scene(self) -> Scene:
        """The scene of all nodes, with placeholders instead of values."""
        wishes = DrawOptions(values=False, grads=False, fold=False, most=len(self.rows))
        return with_placeholders(
            scene(self.tables, self.tables.adjacency.ancestors(self.targets), self.targets, wishes)
        )

    def still(self) -> Scene:
        """The scene without numbers, reduced to a screenful."""
        rows = self.tables.adjacency.ancestors(self.targets)
        return readable_scene(rows, self.targets, DrawOptions(values=False, grads=False, bundle=True))

    def is_there(self) -> bool:
        """Whether the rows can still be drawn: their graph is the current one, and was not cleared or truncated."""
        last = max(self.rows, default=-1)
        return CURRENT.tables is self.tables and not self.tables.closed and last < len(self.tables)


def snapshot_tables(tables: Tables) -> Tables:
    """A copy of the tables with operators, names, scopes and origins only: some bytes per row, and no node objects."""
    then = Tables()
    then.size = len(tables), tables.size[1]
    then.operators, then.instructions = tables.operators[:], tables.instructions[:]
    then.codes, then.scopes = list(tables.codes), list(tables.scopes)
    then.names, then.blocks = dict(tables.names), list(tables.blocks)
    return then


class Entry(NamedTuple):
    """One event of a run."""

    kind: Kind
    row: int
    consumer: int = -1
    position: int = -1
    partial: float = 0.0
    incoming: float = 0.0
    contribution: float = 0.0
    value: float = 0.0  # the total so far of a contribution
    taken: bool = True  # False for a contribution to a branch that was not taken

    def is_finite(self) -> bool:
        """Whether every number of the event is finite."""
        return all(map(isfinite, self[4:8]))


def primal_value(value: Any) -> float:
    """The value of a float or a dual number."""
    return float(getattr(value, "value", value))


class Run:
    """The events of one sweep, or of one update between sweeps."""

    def __init__(self, phase: str, participants: Participants, iteration: int) -> None:
        self.phase = phase
        self.cast = participants
        self.iteration = iteration
        self.entries = bytearray()
        self.values: dict[int, float] = {}  # of a reverse sweep: the values that it uses, by row
        self.slopes: dict[int, float | None] = {}  # of a forward sweep over dual numbers: the tangents, by row
        self.before: dict[int, float] = {}  # of an update: the old values, by row
        self.add(Entry("started", participants.targets[0] if participants.targets else -1))

    def add(self, entry: Entry) -> None:
        self.entries += PACKED_ENTRY.pack(KINDS.index(entry.kind), *entry[1:])

    def add_event(self, event: Event) -> None:
        """A sweep's own event."""
        if isinstance(event, Enqueued):
            self.add(Entry("enqueued", event.row))
        elif isinstance(event, Contributed):
            self.add(Entry("contributed", *event))
        elif isinstance(event, Finished):
            self.add(Entry("finished", event.row, value=event.adjoint))
        else:
            self.add(Entry("evaluated", event.row, value=primal_value(event.value)))

    def __len__(self) -> int:
        return len(self.entries) // PACKED_ENTRY.size

    def __iter__(self) -> Iterator[Entry]:
        for kind, *details in PACKED_ENTRY.iter_unpack(bytes(self.entries)):
            yield Entry(KINDS[kind], *details)

    def entry(self, index: int) -> Entry:
        kind, *details = PACKED_ENTRY.unpack_from(self.entries, index * PACKED_ENTRY.size)
        return Entry(KINDS[kind], *details)

    def operands_values(self, row: int, known_values: dict[int, float]) -> Sequence[float]:
        """The values of a row's operands at this point of the run."""
        return [known_values[operand] for operand in self.cast.operands(row)]


@dataclass
class State:
    """Values, gradients and queue after a step; rows that were not reached are absent."""

    values: dict[int, float] = field(default_factory=dict)
    grads: dict[int, float] = field(default_factory=dict)  # gradients so far; of a tangent run the tangents
    queue: dict[int, None] = field(default_factory=dict)  # ready rows, as they were enqueued
    waiting: dict[int, int] = field(default_factory=dict)  # operands (forward) or uses (backward) still to come
    terms: dict[int, list[int]] = field(default_factory=dict)  # by row: the indices of its contributions in the run
    served: set[int] = field(default_factory=set)  # operand positions that the acting row of a reverse sweep served
    back: Participants | None = None  # the nodes of the current reverse sweep; None in another run

    @property
    def ready(self) -> list[int]:
        """The queue, in the order in which its rows act: in a reverse sweep the forward order, reversed."""
        if self.back is None:
            return list(self.queue)
        return sorted(self.queue, key=self.back.step_of.__getitem__, reverse=True)

    def begin(self, run: Run) -> None:
        """Reset for a new run: clear what it will compute."""
        cast = run.cast
        self.queue, self.served, self.back = {}, set(), cast if run.phase == BACKWARD else None
        if run.phase == UPDATE:
            return
        self.values, self.grads, self.terms = dict(run.values), {}, {}
        dependencies = cast.consumers.__getitem__ if self.back else cast.operands
        self.waiting = {row: len(dependencies(row)) for row in cast.rows if not (self.back and row in cast.constants)}

    def replay(self, run: Run) -> Iterator[tuple[Entry, list[int]]]:
        """Go through a run: yields each event, once it is applied, and what `take` returns."""
        self.begin(run)
        for index, entry in enumerate(run):
            yield entry, self.take(run, index, entry)

    def take(self, run: Run, index: int, entry: Entry) -> list[int]:
        """Apply one event; returns the rows whose count of missing inputs went down by one."""
        kind, row, value = entry.kind, entry.row, entry.value
        if kind == "enqueued":
            self.queue[row] = None
        elif kind in ("read", "evaluated"):
            self.values[row] = value
            if (slope := run.slopes.get(row)) is not None:
                self.grads[row] = slope
            return self._done(row, run.cast.consumers[row])
        elif kind == "contributed":
            self.grads[row] = value
            self.terms.setdefault(row, []).append(index)
            self.served.add(entry.position)
            return self._notify_waiting([row])
        elif kind == "finished":
            self.grads[row] = value
            operands = run.cast.operands(row)
            others = [operand for position, operand in enumerate(operands) if position not in self.served]
            self.served.clear()
            return self._done(row, others)
        elif kind == "moved":
            self.values[row] = value
        return []

    def _done(self, row: int, waiting: list[int]) -> list[int]:
        self.queue.pop(row, None)  # a leaf without consumers was never in it
        return self._notify_waiting(waiting)

    def _notify_waiting(self, waiting: list[int]) -> list[int]:
        notified = [candidate for candidate in waiting if candidate in self.waiting]
        for row in notified:
            self.waiting[row] -= 1
        return notified
