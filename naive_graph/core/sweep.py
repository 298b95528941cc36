"""The forward and the reverse sweep over a plan, told as events.

There is one sweep of each kind, for every purpose and in every arithmetic. Fed
with floats it computes numbers; with dual numbers, directional derivatives;
with drafts of nodes, derivatives as graphs. Graph.forward() drains the events,
the stepper shows them, a test reads them: watching is running.
"""

from __future__ import annotations

from collections.abc import Iterator, MutableSequence, Sequence
from typing import Any, NamedTuple

from .catalogue import where
from .plan import Plan
from .rules import Rule

Value = Any


class Enqueued(NamedTuple):
    """The row is ready: everything that it waited for is done."""

    row: int


class Evaluated(NamedTuple):
    """The row's rule was applied to its operands."""

    row: int
    rule: Rule
    operands: tuple[Value, ...]
    value: Value


class Contributed(NamedTuple):
    """An operand received `incoming * partial` from one of its consumers; `total` is its sum so far."""

    row: int
    consumer: int
    position: int
    partial: Value
    incoming: Value
    contribution: Value
    total: Value


class Finished(NamedTuple):
    """Every consumer of the row has contributed: the adjoint is its whole gradient."""

    row: int
    adjoint: Value


Event = Enqueued | Evaluated | Contributed | Finished


def forward(plan: Plan, values: MutableSequence[Value]) -> Iterator[Event]:
    """Evaluate every step in Kahn's order.

    values: one for each step, the leaves' set; the operators' are filled in.
    """
    rows = plan.rows
    for step in plan.sources():
        yield Enqueued(rows[step])
    for step in range(len(plan)):
        rule = plan.rule(step)
        if rule is not None:
            operands = tuple([values[operand] for operand in plan.operands(step)])
            values[step] = rule(*operands)
            yield Evaluated(rows[step], rule, operands, values[step])
        for ready in plan.released(step):
            yield Enqueued(rows[ready])


class Adjoint:
    """What a step's consumers have contributed so far.

    `taken` says whether a branch that some `where` took leads here: None for
    "certainly", else a condition in the arithmetic at hand. A step that was not
    taken passes nothing on, not even 0 times an infinite slope. As long as every
    contribution stands under one condition it is stated once, at the end.
    """

    __slots__ = ("sum", "taken")

    def __init__(self, contribution: Value, taken: Value = None) -> None:
        self.sum = contribution
        self.taken = taken

    def receive(self, contribution: Value, taken: Value) -> None:
        if taken is self.taken:
            self.sum = self.sum + contribution
            return
        self.sum = self.total + guarded(contribution, taken)
        either = taken is None or self.taken is None
        self.taken = None if either else where(self.taken, 1.0, taken)

    @property
    def total(self) -> Value:
        return self.sum if self.taken is None else guarded(self.sum, self.taken)


def guarded(value: Value, taken: Value) -> Value:
    """The value where the branch was taken, else a plain 0."""
    return value if taken is None else where(taken, value, 0.0)


def reverse(plan: Plan, values: Sequence[Value], seeds: dict[int, Value], wanted: Sequence[bool]) -> Iterator[Event]:
    """Differentiate: walk the plan backwards and hand each operand its share.

    values: one for each step, all computed. seeds: the adjoints of the results,
    by step. wanted: the steps whose adjoints are asked for. Contributions add
    up in the reverse of Kahn's order, then by operand position.
    """
    rows, pending = plan.rows, _uses(plan)
    adjoints = {step: Adjoint(seed) for step, seed in seeds.items()}
    for step in reversed(range(len(plan))):
        if pending[step] == 0 and step in seeds:
            yield Enqueued(rows[step])
    for step in reversed(range(len(plan))):
        adjoint = adjoints.pop(step, None)
        if adjoint is not None and wanted[step]:
            yield from _contributions(plan, step, values, adjoint, adjoints, wanted)
        yield Finished(rows[step], 0.0 if adjoint is None else adjoint.total)
        for operand in plan.operands(step):
            pending[operand] -= 1
            if pending[operand] == 0:
                yield Enqueued(rows[operand])


def _uses(plan: Plan) -> list[int]:
    """How many operand positions each step fills: the counters of the reverse sort."""
    uses = [0] * len(plan)
    for operand in plan.operand_steps:
        uses[operand] += 1
    return uses


def _contributions(
    plan: Plan,
    step: int,
    values: Sequence[Value],
    adjoint: Adjoint,
    adjoints: dict[int, Adjoint],
    wanted: Sequence[bool],
) -> Iterator[Contributed]:
    """Hand `incoming * partial` to each operand of one step, by position."""
    rows, rule, operands = plan.rows, plan.rule(step), plan.operands(step)
    if rule is None:
        return
    incoming = adjoint.total
    xs = tuple([values[operand] for operand in operands])
    partials = rule.partials_at(xs, values[step], [wanted[operand] for operand in operands])
    for position, (operand, partial) in enumerate(zip(operands, partials, strict=True)):
        if partial is None:
            continue
        share, taken = adjoint.sum * partial, adjoint.taken
        if rule.selects:  # the partial, 1 or 0, says which branch was taken
            share, taken = adjoint.sum, partial if taken is None else where(partial, taken, 0.0)
        receiver = adjoints.get(operand)
        if receiver is None:
            receiver = adjoints[operand] = Adjoint(share, taken)
        else:
            receiver.receive(share, taken)
        shown = share if taken is None else guarded(share, taken)
        yield Contributed(rows[operand], rows[step], position, partial, incoming, shown, receiver.total)
