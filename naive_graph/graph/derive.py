"""Derivatives in every mode: as nodes, to any order, and as numbers.

All of it reuses the two sweeps. Over symbolic expressions they give derivatives
as graphs; over dual numbers, directional derivatives (forward mode); dual numbers through the
reverse sweep, second derivatives (forward over reverse). No derivative formula is written here.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ..core.did_you_mean import explains
from ..core.interpreters.dual import DualNumber, slope_of
from ..core.lock import GUARD
from ..core.number import as_list, number, shortened
from ..core.plan import Plan, plan_for
from ..core.progress import with_progress
from ..core.sweep import differentiate, evaluate
from ..core.tables import Tables
from ..errors import NodeError
from .node_factory import CURRENT
from .nodes import Constant, Node, is_tensor, rows_of
from .run_checks import initial_values
from .symbolic import Expressions


@explains
def gradients(y: Node, wrt: Node | Iterable[Node]) -> Any:
    """The derivatives of y as new nodes: one for each node of `wrt`, or one alone for one alone.

    They are ordinary nodes: evaluate, draw, or differentiate them again. Reverse
    mode; nodes that y does not depend on get a Constant 0.

    >>> from naive_graph import Variable
    >>> x = Variable(6, name="x")
    >>> print(gradients(((x - 7) ** 2 + 10).log(), x).formula())
    2*(x - 7)/((x - 7)**2 + 10)
    """
    if is_tensor(y):
        return y.gradients(wrt)  # tensors have their own implementation
    one = isinstance(wrt, Node)
    chosen = [wrt] if isinstance(wrt, Node) else as_list(wrt, "gradients", "a node or a list of nodes")
    tables = CURRENT.tables
    with tables.lock, GUARD:
        plan, steps = _plan(tables, [y], chosen, "gradients")
        expressions, answers = derived_expressions(tables, plan, steps)
        nodes = expressions.to_nodes(answers)
    return nodes[0] if one else nodes


def derived_expressions(tables: Tables, plan: Plan, steps: Sequence[int | None]) -> tuple[Expressions, list[Any]]:
    """Derivatives of a plan's first target at these steps, as expressions or floats, and their owner."""
    expressions = Expressions(tables)
    wanted = plan.depends_on(step for step in steps if step is not None)
    adjoints = differentiate(plan, _expressions_of(expressions, plan), {plan.targets[0]: 1.0}, wanted)
    return expressions, [0.0 if step is None else adjoints[step] for step in steps]


@explains
def tangents(x: Node, outputs: Node | Iterable[Node]) -> Any:
    """The derivatives of the outputs with respect to one leaf x, as new nodes. Forward mode.

    >>> from naive_graph import Variable
    >>> x = Variable(2.0, name="x")
    >>> print(tangents(x, x * x).formula())
    2*x
    """
    if is_tensor(x):
        return x.tangents(outputs)
    one = isinstance(outputs, Node) or is_tensor(outputs)
    chosen: list[Any] = [outputs] if one else as_list(outputs, "tangents", "a node or a list of nodes")
    if tensors := [output for output in chosen if is_tensor(output)]:
        return type(tensors[0]).tangents(x, outputs)
    tables = CURRENT.tables
    with tables.lock, GUARD:
        plan, (start,) = _plan(tables, chosen, [x], "tangents")
        expressions = Expressions(tables)
        duals = _seed_duals(tables, plan, {start: 1.0}, _expressions_of(expressions, plan))
        evaluate(plan, duals)
        answers = [duals[step].slope for step in plan.targets]
        nodes = expressions.to_nodes([0.0 if answer is None else answer for answer in answers])
    return nodes[0] if one else nodes


@explains
def tangent(y: Node, directions: Mapping[Node, float]) -> float:
    """The directional derivative of y, as its leaves move at the given speeds: forward mode, as a number.

    Computed from the leaves' present values; the graph is left as it is.

    >>> from naive_graph import Variable
    >>> x = Variable(3.0)
    >>> tangent(x * x, {x: 1.0})
    6.0
    """
    if not isinstance(directions, Mapping):
        raise NodeError(
            f"tangent takes how fast each leaf moves, as in tangent(y, {{x: 1.0}}), not {shortened(directions)}."
        )
    return differentiate_along([y], directions)[0]


def differentiate_along(ys: Sequence[Node], directions: Mapping[Node, float]) -> list[float]:
    """The `tangent` of each y, by one forward sweep for all of them."""
    speeds = [number(speed, "A direction") for speed in directions.values()]
    tables = CURRENT.tables
    with tables.lock, GUARD:
        plan, steps = _plan(tables, ys, list(directions), "tangent")
        duals = _seed_duals(tables, plan, dict(zip(steps, speeds)), initial_values(tables, plan))
        evaluate(plan, duals)
        return [slope_of(duals[target]) for target in plan.targets]


@explains
def jacobian(ys: Sequence[Node], xs: Sequence[Node]) -> list[list[float]]:
    """The matrix of dy/dx: a row for each y, a column for each x. One reverse sweep for each row.

    Computed from the leaves' present values; the graph is left as it is.

    >>> from naive_graph import Variable
    >>> a, b = Variable(2.0), Variable(3.0)
    >>> jacobian([a * b, a - b], [a, b])
    [[3.0, 2.0], [1.0, -1.0]]
    """
    ys, xs = as_list(ys, "jacobian", "two lists of nodes"), as_list(xs, "jacobian", "two lists of nodes")
    tables = CURRENT.tables
    with tables.lock, GUARD:
        plan, steps = _plan(tables, ys, xs, "jacobian")
        values = initial_values(tables, plan)
    evaluate(plan, values)
    wanted = plan.depends_on(step for step in steps if step is not None)
    rows = [differentiate(plan, values, {target: 1.0}, wanted) for target in plan.targets]
    return [[0.0 if step is None else row[step] for step in steps] for row in rows]


@explains
def hessian(y: Node, xs: Sequence[Node]) -> list[list[float]]:
    """The matrix of second derivatives of y with respect to leaves xs.

    Each column is one reverse sweep over dual numbers that move along one leaf.
    Computed from the leaves' present values; the graph is left as it is.

    >>> from naive_graph import Variable
    >>> a, b = Variable(2.0), Variable(3.0)
    >>> hessian(a * a * b, [a, b])
    [[6.0, 4.0], [4.0, 0.0]]
    """
    xs = as_list(xs, "hessian", "a node and a list of leaves")
    tables = CURRENT.tables
    with tables.lock, GUARD:
        plan, steps = _plan(tables, [y], xs, "hessian")
        values = initial_values(tables, plan)
    wanted = plan.depends_on(step for step in steps if step is not None)
    columns = []
    for along in steps:
        duals = _seed_duals(tables, plan, {along: 1.0}, values)
        evaluate(plan, duals)
        adjoints = differentiate(plan, duals, {plan.targets[0]: 1.0}, wanted)
        columns.append([0.0 if step is None else slope_of(adjoints[step]) for step in steps])
    return [list(row) for row in zip(*columns)]


# --- shared by all ------------------------------------------------------------


def _plan(tables: Tables, ys: Sequence[Node], xs: Sequence[Node], who: str) -> tuple[Plan, list[int | None]]:
    """The plan of the outputs, and the step of each x in it (None if no output depends on x)."""
    x_rows = rows_of(xs, who)
    if any(isinstance(x, Constant) for x in xs):
        raise NodeError(f"{who} differentiates with respect to nodes that vary; a Constant does not.")
    y_rows = rows_of(ys, who)
    if not y_rows:
        raise NodeError(f"{who} needs at least one node to differentiate.")
    plan = plan_for(tables, y_rows)
    plan.check_complete(tables)
    _check_order(tables, y_rows, x_rows, who)
    _check_not_merged(tables, plan, x_rows, who)
    step_of = {row: step for step, row in enumerate(plan.rows)}
    return plan, [step_of.get(row) for row in x_rows]


def _check_order(tables: Tables, y_rows: Sequence[int], x_rows: Sequence[int], who: str) -> None:
    """Raise NodeError for the derivative of a leaf with respect to a result: swapped arguments, which would give 0."""
    kinds = tables.operators
    if any(kinds[row] >= 0 for row in y_rows) or not x_rows or any(kinds[row] < 0 for row in x_rows):
        return
    behind = {*plan_for(tables, x_rows).rows}
    if any(row in behind for row in y_rows):
        raise NodeError(explain_swap(who, tables.label(y_rows[0]), tables.label(x_rows[0])))


def explain_swap(who: str, leaf: str, result: str) -> str:
    """Error message for swapped arguments: a leaf where the result belongs, and the reverse."""
    first = "the leaf first: tangents(x, f)" if who == "tangents" else f"the result first: {who}(f, x)"
    return f"{who} takes {first}. Here {result} is made of {leaf}, which depends on nothing. Swap the two."


def _check_not_merged(tables: Tables, plan: Plan, rows: Sequence[int], who: str) -> None:
    """Raise NodeError for a row that was merged into another: no path leads through it, so it would seem 0."""
    merged = {row: absorber for absorber, row, _, _ in plan.absorbed}
    for row in rows:
        if row in merged:
            raise NodeError(
                f"{who}: {tables.label(row)} was merged into {tables.label(merged[row])}, which uses its operands "
                "directly. Differentiate with respect to those operands instead."
            )


def _seed_duals(tables: Tables, plan: Plan, speeds: Mapping[int | None, float], values: Sequence[Any]) -> list[Any]:
    """The values as dual numbers. speeds: the slopes of leaves, by step; an entry for None is ignored."""
    for step in speeds:
        if step is not None and plan.rule(step) is not None:
            label = tables.label(plan.rows[step])
            raise NodeError(f"Forward mode moves leaves (Variables and PlaceHolders), not {label}.")
    return [DualNumber(value, speeds.get(step)) for step, value in enumerate(values)]


def _expressions_of(expressions: Expressions, plan: Plan) -> list[Any]:
    """An expression for each node of the plan, in topological order."""
    nodes: list[Any] = []
    for step, row in enumerate(with_progress(plan.rows, "gradients", len(plan))):
        operands = tuple(nodes[operand] for operand in plan.operands(step))
        nodes.append(expressions.node(row, plan.rule(step), operands))
    return nodes
