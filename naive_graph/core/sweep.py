"""The forward and the reverse sweep over a plan, as generators of events; and the reference engine, which drains them.

There is one sweep of each kind, for any type of values; only compiled plans repeat it, over their own
rows. Fed with floats it computes numbers; with dual numbers, directional derivatives; with symbolic
expressions, derivatives as graphs. The stepper shows the events and tests read them; `evaluate` and
`differentiate` run the same code. What these two compute is the specification of every other engine.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, MutableMapping, MutableSequence, Sequence
from typing import Any, NamedTuple, TypeVar

from .catalogue import where
from .plan import Plan
from .progress import FEW, progress, shows_bars
from .rules import Rule

Value = Any
N = TypeVar("N")
REFERENCE_ONLY = "reference only"  # key in a graph's cache: it has a rule that cannot be compiled


class Enqueued(NamedTuple):
    """The row became ready: everything that it waited for is done."""

    row: int


class Evaluated(NamedTuple):
    """The row's rule was applied to its operands."""

    row: int
    rule: Rule
    operands: tuple[Value, ...]
    value: Value


class Contributed(NamedTuple):
    """An operand received `incoming * partial` (0 in an untaken branch) from a consumer; `total` is its sum so far."""

    row: int
    consumer: int
    position: int
    partial: Value
    incoming: Value
    contribution: Value
    total: Value
    taken: Value  # 0 in a branch that `where` did not take


class Finished(NamedTuple):
    """Every consumer of the row has contributed: the adjoint is its whole gradient."""

    row: int
    adjoint: Value


Event = Enqueued | Evaluated | Contributed | Finished
Contribution = tuple[N, Value, int, Value]  # operand, its contribution, its position, partial derivative


def forward_sweep(plan: Plan, values: MutableSequence[Value], emit_events: bool = True) -> Iterator[Event]:
    """Evaluate every step in topological order.

    values: one for each step. The leaves' are set; the operators' are filled in.
    """
    rows, starts, operand_steps = plan.rows, plan.starts, plan.operand_steps
    floats = plan.complete and set(map(type, values)) == {float}  # then all stay floats: rules need no checks
    for step in plan.sources() if emit_events else ():
        yield Enqueued(rows[step])
    for step, rule in enumerate(plan.rules):
        if rule is not None:
            xs = [values[operand] for operand in operand_steps[starts[step] : starts[step + 1]]]
            values[step] = rule.value(*xs) if floats else rule(*xs)
            if emit_events:
                yield Evaluated(rows[step], rule, tuple(xs), values[step])
        if emit_events:
            for ready in plan.ready_after(step):
                yield Enqueued(rows[ready])


def backward_pass(
    order: Sequence[N],
    adjoints: MutableMapping[N, Value],
    contributions: Callable[[N, Value], Iterable[Contribution[N]]],
    add: Callable[[N, Value, Value], Value],
    emit_events: bool = False,
) -> Iterator[Contribution[N] | None]:
    """Reverse mode for any type of values: from the last node to the first, each contributes to its operands' adjoints.

    order: nodes, operands first. adjoints: what each has received so far; at first, those of the results.
    contributions(node, adjoint): what a node passes on, in order, as (operand, share, position, partial).
    add(operand, earlier, share): the sum of two adjoints of an operand.

    With emit_events, yields each contribution after it was added, and None when a node is finished: all its consumers
    came before, so its adjoint was complete. An adjoint is summed in this order: the last consumer first, then by
    operand position.
    """
    for node in reversed(order):
        adjoint = adjoints.pop(node, None)
        if adjoint is not None:
            for contribution in contributions(node, adjoint):
                operand, share, _, _ = contribution
                earlier = adjoints.get(operand)
                adjoints[operand] = share if earlier is None else add(operand, earlier, share)
                if emit_events:
                    yield contribution
        if emit_events:
            yield None


def pullback(
    plan: Plan, values: Sequence[Value], wanted: Sequence[bool], adjoints: MutableSequence[Value]
) -> Callable[[int, Value], Iterable[Contribution[int]]]:
    """Return a function that gives a step's contributions to its operands (vjp): adjoint times partial derivative.

    values: one for each step, all computed. wanted: whether each step's adjoint is needed.
    adjoints: filled in with each step's complete adjoint when its turn comes.
    """
    rules, starts, operand_steps = plan.rules, plan.starts, plan.operand_steps

    def contributions(step: int, adjoint: Value) -> Iterator[Contribution[int]]:
        adjoints[step] = unmask_adjoint(adjoint) if type(adjoint) is Masked else adjoint
        rule = rules[step]
        if rule is None or not wanted[step]:
            return
        operands = operand_steps[starts[step] : starts[step + 1]]
        xs, result = [values[operand] for operand in operands], values[step]
        if callable(rule.partials):  # variadic: one function gives all partials
            partials = rule.partials(xs, result)
        else:
            partials = [
                partial(*xs, result) if wanted[operand] and partial is not None else None
                for partial, operand in zip(rule.partials, operands)
            ]
        for position, operand in enumerate(operands):
            partial = partials[position]
            if partial is not None and wanted[operand]:
                share = contribute_to_branch(adjoint, partial) if rule.selects else adjoint * partial
                yield operand, share, position, partial

    return contributions


def reverse_sweep(
    plan: Plan, values: Sequence[Value], seeds: dict[int, Value], wanted: Sequence[bool]
) -> Iterator[Event]:
    """Differentiate, and yield events, with those of the queue of ready steps.

    values: one for each step, all computed. seeds: the adjoints of the results,
    by step. wanted: whether each step's adjoint is needed.
    """
    rows, size = plan.rows, len(plan)
    pending = Counter(plan.operand_steps)  # for each step, its uses as an operand by steps that are not finished yet
    sums, finished = dict(seeds), [0.0] * size
    for step in reversed(range(size)):
        if pending[step] == 0 and step in seeds:
            yield Enqueued(rows[step])
    step = size - 1
    for contribution in backward_pass(range(size), sums, pullback(plan, values, wanted, finished), add_adjoints, True):
        if contribution is not None:
            operand, share, position, partial = contribution
            taken = share.taken if type(share) is Masked else 1.0
            shown = unmask_adjoint(share), unmask_adjoint(sums[operand]), taken
            yield Contributed(rows[operand], rows[step], position, partial, finished[step], *shown)
            continue
        yield Finished(rows[step], finished[step])
        for operand in plan.operands(step):
            pending[operand] -= 1
            if pending[operand] == 0:
                yield Enqueued(rows[operand])
        step -= 1


# --- the reference engine -----------------------------------------------------


def evaluate(plan: Plan, values: list[Any]) -> None:
    """Fill in the operators' values. values: one for each step; the leaves' are set."""
    watched = len(plan) >= FEW and shows_bars()
    computed = sum(1 for kind in plan.kinds if kind >= 0) if watched else 0
    events: Iterator[Any] = forward_sweep(plan, values, emit_events=watched)
    deque(progress(events, "forward", len(plan) + computed) if watched else events, maxlen=0)


def differentiate(plan: Plan, values: Sequence[Any], seeds: dict[int, Any], wanted: Sequence[bool]) -> list[Any]:
    """The adjoint of each step, 0.0 where it is not wanted or the seeded results do not depend on it."""
    watched, size = len(plan) >= FEW and shows_bars(), len(plan)
    adjoints: list[Any] = [0.0] * size
    contributions = pullback(plan, values, wanted, adjoints)
    events: Iterator[Any] = backward_pass(range(size), dict(seeds), contributions, add_adjoints, emit_events=watched)
    deque(progress(events, "backward", size + len(plan.operand_steps)) if watched else events, maxlen=0)
    return adjoints


# --- branches -----------------------------------------------------------------
#
# Only the branch that a `where` took passes a gradient on. The other passes nothing, not even 0 times an infinite
# slope, which is NaN. While all contributions to an adjoint have one condition, it is applied once, at the end.


class Masked:
    """An adjoint under a condition: its value where the branch was taken, and the condition; both may be symbolic."""

    __slots__ = ("taken", "value")

    def __init__(self, value: Any, taken: Any) -> None:
        self.value, self.taken = value, taken

    def __mul__(self, partial: Any) -> Masked:
        return Masked(self.value * partial, self.taken)


def unmask_adjoint(adjoint: Any) -> Any:
    """The adjoint where the branch was taken, 0 elsewhere."""
    return where(adjoint.taken, adjoint.value, 0.0) if type(adjoint) is Masked else adjoint


def contribute_to_branch(adjoint: Any, partial: Any) -> Masked:
    """The contribution of `where` to one of its branches; the partial, 1 or 0, says whether it was taken."""
    if type(adjoint) is Masked:
        return Masked(adjoint.value, where(partial, adjoint.taken, 0.0))
    return Masked(adjoint, partial)


def add_adjoints(step: object, first: Any, second: Any) -> Any:
    """The sum of two adjoints of a step; either may be Masked."""
    if type(first) is not Masked and type(second) is not Masked:
        return first + second
    if type(first) is type(second) and first.taken is second.taken:
        return Masked(first.value + second.value, first.taken)
    total = unmask_adjoint(first) + unmask_adjoint(second)
    return Masked(total, where(first.taken, 1.0, second.taken)) if type(first) is type(second) else total
