"""Checks before a forward or backward run, and the writing of values and gradients to the tables after it."""

from __future__ import annotations

import warnings
from array import array
from collections.abc import Iterator, Mapping, Sequence
from math import isfinite
from typing import Any

from ..core import nan_trace
from ..core.number import number, shortened
from ..core.origin import user_stacklevel
from ..core.plan import Plan, check_set, plan_for
from ..core.rules import BY_NUMBER
from ..core.tables import CONSTANT, NEVER, PLACEHOLDER, VARIABLE, Tables
from ..errors import FeedError, NodeError, NumericError, NumericWarning, PlaceHolderError, StaleGraphError
from .node_factory import CURRENT
from .nodes import Node, PlaceHolder, is_tensor

NOTHING_FED: Mapping[int, float] = {}


def feed_items(feed: Any) -> Iterator[tuple[int, Any]]:
    """Pairs (row, value) of a feed. Raises FeedError for what is no mapping or has a key that is no PlaceHolder."""
    if not isinstance(feed, Mapping):
        raise FeedError(f"A feed is a dictionary from PlaceHolders to numbers: feed={{p: 1.0}}, not {shortened(feed)}.")
    for node, value in feed.items():
        if not isinstance(node, PlaceHolder):
            what = CURRENT.tables.label(node.row) if isinstance(node, Node) else shortened(node)
            repair = "Set a Variable with x.value = 1.0."
            if isinstance(node, str):
                repair = "Name the node itself, without quotation marks: feed={p: 1.0}."
            if is_tensor(node):
                repair = "Set it with x.value = array, or feed it to a Program, once."
            raise FeedError(f"Only a PlaceHolder can be fed, not {what}. {repair}")
        yield node.row, value


def check_plain(**wishes: Any) -> None:
    """Raise NodeError if an option was given that tensors do not take."""
    if wished := [name for name, wish in wishes.items() if wish]:
        raise NodeError(f"With a tensor there is no {wished[0]}=. Set its leaves, x.value = array, and leave it out.")


def validate_feed(feed: Mapping[PlaceHolder, float]) -> dict[int, float]:
    """The feed as row -> float, checked."""
    return {row: number(value, CURRENT.tables.label(row)) for row, value in feed_items(feed)}


def initial_values(tables: Tables, plan: Plan, fed: Mapping[int, float] = NOTHING_FED) -> list[float]:
    """The initial values of a run, by step: leaves have their values or what is fed; operators are not computed yet.

    Raises PlaceHolderError if a leaf that is needed has no number, ArityError if an operator lacks operands.
    """
    rows = plan.rows
    empty = [step for step in plan.placeholders() if rows[step] not in fed and tables.stamp(rows[step]) == NEVER]
    needed = {*plan.targets, *plan.operand_steps} if empty else ()  # a set of all steps, which few runs need
    for row in [rows[step] for step in empty if step in needed]:
        called = tables.name(row) or "p"
        raise PlaceHolderError(
            f"{tables.label(row)} has no value. Feed it: Graph.forward(feed={{{called}: 1.0}}). "
            f"It was made on {tables.origin(row)}."
        )
    check_set(tables, rows)
    plan.check_complete(tables)
    values = tables.values
    return [fed.get(row, values[row]) for row in rows] if fed else [values[row] for row in rows]


def commit_values(tables: Tables, plan: Plan, values: Sequence[float], fed: Mapping[int, float], now: int) -> None:
    """Write the values of a forward run to the tables, all at once; absorbed rows get values too.

    now: the number of the run.
    """
    column, stamps = tables._values[:], tables._stamps[:]  # copies of one moment: `tables.values` could flush rows
    if fed:
        tables.written = now
    for row, value in fed.items():
        column[row], stamps[row] = value, now
    for row, rule, value in zip(plan.rows, plan.rules, values):
        if rule is not None:
            column[row], stamps[row] = value, now
    for row in compute_absorbed_values(plan, tables.operators, column):
        stamps[row] = now
    all_rows = slice(0, len(column))
    tables._values[all_rows], tables._stamps[all_rows] = column, stamps  # no function is called: both or neither


def compute_absorbed_values(plan: Plan, operators: Sequence[int], values: Any) -> Iterator[int]:
    """Compute the values of absorbed rows, the oldest first; yields each row. values: by row, those of the plan set."""
    operands_of: dict[int, Sequence[int]] = {}  # as they were drawn: the absorbed row, then those added to it
    for absorber, row, operands, count in plan.absorbed:
        operands_of.setdefault(row, operands[:count])
        operands_of[absorber] = [row, *operands[count:]]
    for row in dict.fromkeys(row for _, row, _, _ in reversed(plan.absorbed)):
        values[row] = BY_NUMBER[operators[row]](*[values[operand] for operand in operands_of[row]])
        yield row


def add_absorbed_adjoints(plan: Plan, operators: Sequence[int], values: Any, adjoints: Any) -> Iterator[int]:
    """Add to absorbed rows' adjoints as if each still were its absorber's first operand; yields each row."""
    for absorber, row, operands, count in plan.absorbed:
        xs = [values[row], *[values[operand] for operand in operands[count:]]]
        wanted = [True] + [False] * (len(xs) - 1)
        partial = BY_NUMBER[operators[absorber]].partials_at(xs, values[absorber], wanted)[0]
        adjoints[row] += adjoints[absorber] * partial
        yield row


def check_results(tables: Tables, results: Sequence[int]) -> None:
    """Raise StaleGraphError if there is nothing to differentiate; warn, with names, if there are several results."""
    if not results:
        raise StaleGraphError("There is nothing to differentiate: the graph has no operators.")
    if len(results) > 1:
        names = ", ".join(map(tables.label, results[:5]))
        warnings.warn(
            f"The graph has {len(results)} results ({names}); their sum is differentiated. "
            "Name one: Graph.backward(y).",
            stacklevel=user_stacklevel(),
        )


def check_fresh(tables: Tables, plan: Plan) -> None:
    """Raise StaleGraphError unless the targets were evaluated after the last change to anything they depend on."""
    if why := _find_stale(tables, plan):
        raise StaleGraphError(f"{why} Call Graph.forward() before Graph.backward().")


def why_stale(node: Node) -> str:
    """Why an operator's value is stale (a leaf or an edge has changed since); empty if it is not, or has none yet."""
    tables, row = node.tables, node.row
    with tables.lock:
        evaluated = tables.stamp(row)
        if tables.operators[row] < 0 or evaluated == NEVER or max(tables.written, tables.edges_edited_at) <= evaluated:
            return ""
        return _find_stale(tables, plan_for(tables, [row]))


def _find_stale(tables: Tables, plan: Plan) -> str:
    """What makes the targets' values stale, as a sentence; empty if nothing does."""
    evaluated = min(tables.stamp(plan.rows[step]) for step in plan.targets)
    if evaluated == NEVER:
        return "The values are not computed yet."
    for step in plan.leaves() if tables.written > evaluated else ():
        row = plan.rows[step]
        if plan.kinds[step] != CONSTANT and tables.stamp(row) > evaluated:
            return f"{tables.label(row)} has changed since the last forward."
    return "An edge was drawn since the last forward." if tables.edges_edited_at > evaluated else ""


def commit_grads(tables: Tables, plan: Plan, adjoints: Sequence[float], accumulate: bool) -> None:
    """Write the gradients of a backward run to the tables; rows that the result does not depend on get 0.0."""
    grads = [0.0] * len(tables)
    for row, adjoint in zip(plan.rows, adjoints):
        grads[row] = adjoint
    for _ in add_absorbed_adjoints(plan, tables.operators, tables.values, grads):
        pass
    replace_grads(tables, array("d", grads), accumulate)


def replace_grads(tables: Tables, grads: array[float], accumulate: bool) -> None:
    """Replace the tables' column of gradients. accumulate: add the earlier gradients of leaves."""
    if accumulate:
        for row, (earlier, kind) in enumerate(zip(tables.grads[: len(grads)], tables.operators)):
            if kind in (VARIABLE, PLACEHOLDER):
                grads[row] += earlier
    tables.grads, tables.grads_are_zero = grads, False


def check_values(tables: Tables, plan: Plan, values: Sequence[float], on_invalid: str) -> None:
    """Warn or raise if a result is infinite or NaN; only then is the node searched for where it arose."""
    if on_invalid != "ignore" and not all(isfinite(values[step]) for step in plan.targets):
        wrong = nan_trace.first_wrong(plan, values, plan.targets)
        assert wrong is not None
        report_invalid(nan_trace.explain_value(tables, plan, values, wrong), on_invalid)


def check_grads(
    tables: Tables, plan: Plan, values: Sequence[float], adjoints: Sequence[float], on_invalid: str
) -> None:
    """Warn or raise if the gradient of a leaf is infinite or NaN."""
    if on_invalid == "ignore" or all(map(isfinite, adjoints)):
        return
    wanted = plan.varies()
    if not all(isfinite(adjoints[step]) for step in plan.leaves() if wanted[step]):
        seeds = dict.fromkeys(plan.targets, 1.0)
        report_invalid(nan_trace.explain_backward(tables, plan, values, seeds, wanted), on_invalid)


def report_invalid(message: str, on_invalid: str) -> None:
    """Raise or warn, as `Graph.on_invalid` says; the warning points to the learner's line."""
    if on_invalid == "raise":
        raise NumericError(message)
    warnings.warn(NumericWarning(message), stacklevel=user_stacklevel())
