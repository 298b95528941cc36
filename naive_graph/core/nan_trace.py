"""Find the node where the first infinity or NaN arose, by replaying the sweeps once a result is not finite."""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite

from .plan import Plan
from .rules import Rule
from .sweep import Contributed, Evaluated, forward_sweep, reverse_sweep
from .tables import PLACEHOLDER, Tables

REMEDY = 'Mend the operand, or choose what happens: Graph.on_invalid = "warn", "raise" or "ignore".'


def explain_forward(tables: Tables, plan: Plan, values: Sequence[float]) -> str:
    """Name the first node that became infinite or NaN in a forward run."""
    for step in plan.leaves():
        if not isfinite(values[step]):
            return _explain_leaf(tables, plan.rows[step], values[step])
    for event in forward_sweep(plan, list(values)):
        if isinstance(event, Evaluated) and not isfinite(event.value):
            return _explain_call(tables, event.row, event.rule, event.operands, event.value)
    raise AssertionError("explain_forward is called only when a value is not finite")


def _explain_leaf(tables: Tables, row: int, value: float) -> str:
    """Message: a leaf's value is infinite or NaN."""
    how = "was fed" if tables.operators[row] == PLACEHOLDER else "holds"
    return f"Forward: {tables.label(row)} {how} {value}, made on {tables.origin(row)}. {REMEDY}"


def _explain_call(tables: Tables, row: int, rule: Rule, operands: Sequence[float], value: float) -> str:
    """Message: an operator's result is infinite or NaN."""
    call = f"{rule.name}({_numbers(operands)}) = {value}"
    return f"Forward: {tables.label(row)} gave {call}, written on {tables.origin(row)}. {REMEDY}"


def explain_value(tables: Tables, plan: Plan, values: Sequence[float], step: int, samples: int) -> str:
    """Name one step whose value is infinite or NaN.

    samples: how many samples a total adds up; 0 for other steps.
    """
    row, rule, value = plan.rows[step], plan.rule(step), values[step]
    if rule is None:
        return _explain_leaf(tables, row, value)
    if not samples:
        return _explain_call(tables, row, rule, [values[operand] for operand in plan.operands(step)], value)
    gave = f"{value} over {samples} samples, each of them finite"
    return f"Forward: {tables.label(row)} gave {gave}, written on {tables.origin(row)}. {REMEDY}"


def explain_backward(
    tables: Tables, plan: Plan, values: Sequence[float], seeds: dict[int, float], wanted: Sequence[bool]
) -> str:
    """Name the first contribution with which a gradient became infinite or NaN in a backward run."""
    step_of = {row: step for step, row in enumerate(plan.rows)}
    for event in reverse_sweep(plan, values, seeds, wanted):
        if isinstance(event, Contributed) and not isfinite(event.total):
            consumer = step_of[event.consumer]
            rule = plan.rule(consumer)
            assert rule is not None  # only operators contribute
            return _explain_share(tables, event, rule, [values[operand] for operand in plan.operands(consumer)])
    raise AssertionError("explain_backward is called only when a gradient is not finite")


def _explain_share(tables: Tables, event: Contributed, rule: Rule, operands: Sequence[float]) -> str:
    """Message: a contribution made a gradient infinite or NaN. rule, operands: the consumer's."""
    return (
        f"Backward: the gradient of {tables.label(event.row)} became {event.total} at "
        f"{tables.label(event.consumer)}: incoming {event.incoming} times partial {event.partial} of "
        f"operand {event.position} in {rule.name}({_numbers(operands)}), "
        f"written on {tables.origin(event.consumer)}. {REMEDY}"
    )


def _numbers(values: Sequence[float]) -> str:
    shown = [repr(value) for value in values[:4]]
    return ", ".join(shown) + (f", ... ({len(values)} operands)" if len(values) > 4 else "")
