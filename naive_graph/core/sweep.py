"""The forward and the reverse sweep over a plan, told as events.

There is one sweep of each kind, for every purpose and in every arithmetic. Fed
with floats it computes numbers; with dual numbers, directional derivatives;
with drafts of nodes, derivatives as graphs. Graph.forward() drains the events,
the stepper shows them, a test reads them: watching is running. Where nobody
listens (`told` False) the same lines compute, and no event is made.
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


def forward(plan: Plan, values: MutableSequence[Value], told: bool = True) -> Iterator[Event]:
    """Evaluate every step in Kahn's order.

    values: one for each step, the leaves' set; the operators' are filled in.
    told: whether to tell what happens.
    """
    rows, starts, operand_steps = plan.rows, plan.starts, plan.operand_steps
    floats = plan.complete and set(map(type, values)) == {float}  # they stay floats: no rule needs to look at each
    for step in plan.sources() if told else ():
        yield Enqueued(rows[step])
    for step, rule in enumerate(plan.rules):
        if rule is not None:
            xs = [values[operand] for operand in operand_steps[starts[step] : starts[step + 1]]]
            values[step] = rule.value(*xs) if floats else rule(*xs)
            if told:
                yield Evaluated(rows[step], rule, tuple(xs), values[step])
        if told:
            for ready in plan.released(step):
                yield Enqueued(rows[ready])


def reverse(
    plan: Plan,
    values: Sequence[Value],
    seeds: dict[int, Value],
    wanted: Sequence[bool],
    adjoints: list[Value] | None = None,
    told: bool = True,
) -> Iterator[Event]:
    """Differentiate: walk the plan backwards and hand each operand its share.

    values: one for each step, all computed. seeds: the adjoints of the results,
    by step. wanted: the steps whose adjoints are asked for. adjoints: an empty
    list, which is filled with one for each step. told: whether to tell what
    happens. Contributions add up in the reverse of Kahn's order, then by
    operand position.

    What a step received counts for certain, or only where the branch was taken
    that some `where` chose: then `taken` has the condition, in the arithmetic
    at hand. A step that was not taken passes nothing on, not even 0 times an
    infinite slope. As long as every contribution stands under one condition it
    is stated once, at the end.
    """
    rows, rules, starts, operand_steps = plan.rows, plan.rules, plan.starts, plan.operand_steps
    sums: list[Value] = [] if adjoints is None else adjoints
    sums += [None] * len(plan)
    for step, seed in seeds.items():
        sums[step] = seed
    taken: dict[int, Value] = {}
    pending = _uses(plan) if told else []
    for step in reversed(range(len(plan))) if told else ():
        if pending[step] == 0 and step in seeds:
            yield Enqueued(rows[step])
    for step in reversed(range(len(plan))):
        rule, adjoint, under = rules[step], sums[step], taken.get(step) if taken else None
        sums[step] = total = 0.0 if adjoint is None else adjoint if under is None else guarded(adjoint, under)
        if rule is not None and adjoint is not None and wanted[step]:
            operands = operand_steps[starts[step] : starts[step + 1]]
            xs = [values[operand] for operand in operands]
            if callable(rule.partials):  # of a rule of any number of operands, all come at once
                partials = rule.partials(xs, values[step])
            else:
                partials = rule.partials_at(xs, values[step], [wanted[operand] for operand in operands])
            for position, partial in enumerate(partials):
                operand, share, branch = operands[position], adjoint, under
                if partial is None or not wanted[operand]:
                    continue
                if rule.selects:  # the partial, 1 or 0, says which branch was taken
                    branch = partial if under is None else where(partial, under, 0.0)
                else:
                    share = adjoint * partial
                before = sums[operand]
                if before is None:
                    sums[operand] = share
                    if branch is not None:
                        taken[operand] = branch
                elif branch is taken.get(operand):
                    sums[operand] = before + share
                else:
                    sums[operand], taken[operand] = _joined(before, taken.get(operand), share, branch)
                if told:
                    shown, so_far = guarded(share, branch), guarded(sums[operand], taken.get(operand))
                    yield Contributed(rows[operand], rows[step], position, partial, total, shown, so_far)
        if told:
            yield Finished(rows[step], total)
            for operand in plan.operands(step):
                pending[operand] -= 1
                if pending[operand] == 0:
                    yield Enqueued(rows[operand])


def guarded(value: Value, taken: Value) -> Value:
    """The value where the branch was taken, else a plain 0."""
    return value if taken is None else where(taken, value, 0.0)


def _joined(before: Value, known: Value, share: Value, branch: Value) -> tuple[Value, Value]:
    """Two sums under two conditions: their sum, and the condition under which there is any."""
    either = known is None or branch is None
    return guarded(before, known) + guarded(share, branch), None if either else where(known, 1.0, branch)


def _uses(plan: Plan) -> list[int]:
    """How many operand positions each step fills: the counters of the reverse sort."""
    uses = [0] * len(plan)
    for operand in plan.operand_steps:
        uses[operand] += 1
    return uses
