"""Find the node where the first infinity or NaN arose, once a result or a gradient is not finite."""

from __future__ import annotations

from collections.abc import Container, Sequence
from math import isfinite
from typing import Any

from .plan import Plan
from .sweep import Contributed, reverse_sweep
from .tables import PLACEHOLDER, Tables

REMEDY = 'Mend the operand, or choose what happens: Graph.on_invalid = "warn", "raise" or "ignore".'


def first_wrong(plan: Plan, values: Sequence[Any], results: Sequence[int], known: Container[int] = ()) -> int | None:
    """The first step that made a result infinite or NaN; None if all results are finite.

    The branch that a `where` did not take made nothing. known: totals, whose
    operands are other samples' too.
    """
    waiting = [step for step in results if values[step] is not None and not isfinite(values[step])]
    reached = set(waiting)
    guilty = []
    while waiting:
        step = waiting.pop()
        operands, rule = [] if step in known else plan.operands(step), plan.rule(step)
        if operands and rule is not None and rule.selects:
            operands = [operands[0], operands[1 if values[operands[0]] != 0 else 2]]
        wrong = [operand for operand in operands if not isfinite(values[operand])]
        if not wrong:
            guilty.append(step)
        waiting.extend(operand for operand in wrong if operand not in reached)
        reached.update(wrong)
    return min(guilty, default=None)


def explain_value(tables: Tables, plan: Plan, values: Sequence[float], step: int, samples: int = 0) -> str:
    """Message: a step's value is infinite or NaN. samples: how many a total adds up; 0 for other steps."""
    row, rule, value = plan.rows[step], plan.rule(step), values[step]
    if rule is None:
        what = f"{'was fed' if tables.operators[row] == PLACEHOLDER else 'holds'} {value}, made"
    elif samples:
        what = f"gave {value} over {samples} samples, each of them finite, written"
    else:
        what = f"gave {_format_call(plan, values, step)} = {value}, written"
    return f"Forward: {tables.label(row)} {what} on {tables.origin(row)}. {REMEDY}"


def explain_backward(
    tables: Tables, plan: Plan, values: Sequence[float], seeds: dict[int, float], wanted: Sequence[bool]
) -> str:
    """Name the first contribution with which a gradient became infinite or NaN in a backward run."""
    for event in reverse_sweep(plan, values, seeds, wanted):
        if isinstance(event, Contributed) and not isfinite(event.total):
            return (
                f"Backward: the gradient of {tables.label(event.row)} became {event.total} at "
                f"{tables.label(event.consumer)}: incoming {event.incoming} times partial {event.partial} of "
                f"operand {event.position} in {_format_call(plan, values, plan.rows.index(event.consumer))}, "
                f"written on {tables.origin(event.consumer)}. {REMEDY}"
            )
    raise AssertionError("explain_backward is called only when a gradient is not finite")


def _format_call(plan: Plan, values: Sequence[float], step: int) -> str:
    """The operator with its operands' values: `log(-1.0)`; of many operands the first four."""
    operands, rule = [repr(values[operand]) for operand in plan.operands(step)], plan.rule(step)
    assert rule is not None
    if len(operands) > 4:
        operands[4:] = [f"... ({len(operands)} operands)"]
    return f"{rule.name}({', '.join(operands)})"
