"""Step: one event of a walk as the learner reads it, with numbers, texts and the state after it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ...core.origin import Origin
from ...graph.node_factory import CURRENT, handle
from ...graph.nodes import Node
from . import describe
from .recording import Entry, Run
from .state import State

SHARED = ("consumer", "position", "partial", "incoming", "contribution")  # what a contribution has, and nothing else


@dataclass(frozen=True)
class Step:
    """One event of a walk, with what was known after it."""

    index: int
    iteration: int
    phase: str  # forward, backward, tangent or update
    kind: str  # started, enqueued, read, evaluated, contributed, finished or moved
    row: int
    operands: tuple[float, ...]  # of an evaluated step
    value: float | None  # computed, read, moved to; of a finished step the gradient
    consumer: int | None
    position: int | None
    edge: str | None  # the id of the lit edge in the drawing
    partial: float | None
    incoming: float | None
    contribution: float | None
    total: float | None  # the running sum after a contribution
    arithmetic: str
    running: str
    sentence: str
    queue: tuple[int, ...]  # its head is the node that acts, or acts next
    degrees: dict[int, int]  # rows whose count of what they wait for changed, and what it is now
    label: str
    origin: Origin | None
    taken: bool  # False for a contribution to a branch that `where` did not take
    finite: bool  # whether every number of the step is

    @property
    def node(self) -> Node:
        """The node of the step; it must still be there."""
        node: Node = handle(CURRENT.tables, self.row)
        return node

    def __str__(self) -> str:
        return self.sentence


def make_step(index: int, run: Run, entry: Entry, state: State, changed: Sequence[int]) -> Step:
    """Make the Step of an event; `state` is the state after it."""
    cast, contributed = run.cast, entry.kind == "contributed"
    terms = state.terms[entry.row] if contributed else []
    return Step(
        index=index,
        iteration=run.iteration,
        phase=run.phase,
        kind=entry.kind,
        row=entry.row,
        operands=tuple(run.operands_values(entry.row, state.values)) if entry.kind == "evaluated" else (),
        value=entry.value if entry.kind in ("read", "evaluated", "finished", "moved") else None,
        edge=f"edge-{entry.row}-{entry.consumer}-{entry.position}" if contributed else None,
        **{name: getattr(entry, name) if contributed else None for name in SHARED},
        total=entry.value if contributed else None,
        arithmetic=describe.arithmetic(run, entry, state.values),
        running=describe.format_running_sum(run, entry.row, terms, entry.value) if contributed else "",
        sentence=describe.sentence(run, entry, state.values),
        queue=tuple(state.ready),
        degrees={row: state.waiting[row] for row in changed},
        label=cast.called(entry.row),
        origin=cast.origin(entry.row),
        taken=entry.taken,
        finite=entry.is_finite(),
    )
