"""Gradient checking: the derivatives of every mode against finite differences.

A finite difference knows nothing of rules: it moves one leaf a little, both
ways, and looks at what the loss does. Reverse mode, forward mode and the
gradients built as nodes must all agree with it.
"""

from __future__ import annotations

import math
import random
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any

from ..core.did_you_mean import explains
from ..core.lock import GUARD
from ..core.number import as_list, number, shortened
from ..core.plan import Plan, plan_for
from ..core.rules import RULES, Arithmetic, Rule
from ..core.sweep import evaluate
from ..core.tables import PLACEHOLDER, VARIABLE, Tables
from ..errors import GradientCheckError, NodeError, OperatorNameError
from .derive import differentiate_along, gradients, jacobian
from .graph import Graph
from .node_factory import CURRENT, handle, truncate_if_unreferenced
from .nodes import Node, Variable, is_tensor, rows_of
from .report import KINK_REACH, CheckOptions, Report, require_finite
from .run_checks import initial_values


@explains
def gradcheck(
    loss: Any,
    eps: float = 1e-5,
    max_rel: float = 1e-5,
    min_abs: float = 1e-6,
    mask: Callable[..., bool] | None = None,
    skip: Iterable[Any] = (),
    max_per_param: int | None = None,
    subset: str = "random",
    seed: int = 12345,
) -> Report:
    """Compare d loss / d leaf, in every mode, with (loss(x + eps) - loss(x - eps)) / (2 eps).

    loss: a node, or several whose sum is meant. A derivative fails if it is off
    by more than max_rel, relative to the sum of both magnitudes, and by at least
    min_abs. mask: a function that is true for a leaf to leave out; leaves within
    10 eps of a declared kink are left out as well, if the slopes on both sides
    of it differ. skip: leaves never looked at.
    max_per_param: at most so many leaves of one name (`w[0]`, `w[1]`, ... are
    one), chosen by `subset`: "random" with `seed`, or "every_n".
    Of tensors, the leaves are checked entry by entry: mask is asked with a leaf
    and a place, as in mask(w, (0, 2)), and skip lists leaves, or parameters of a
    Model. print(report) is a table; draw(report) shows the worst entries.
    The graph, its values and its gradients are left as they are. Raises
    NumericError if the loss or a derivative is not finite.

    >>> from naive_graph import Variable
    >>> x = Variable(0.5)
    >>> print(gradcheck((x * x).sin()).count)
    1
    """
    is_function = callable(loss) and not isinstance(loss, Arithmetic)
    if is_function or isinstance(eps, (list, tuple, Arithmetic)):
        call = " Call a function first, gradcheck(f(x))." if is_function else ""
        raise NodeError(f"gradcheck takes the loss alone, and finds its leaves: gradcheck(y).{call}")
    wishes = CheckOptions(eps, max_rel, min_abs, mask, skip, max_per_param, subset, seed).checked()
    is_one = isinstance(loss, Arithmetic)
    losses: list[Any] = [loss] if is_one else as_list(loss, "gradcheck", "a node or a list of nodes")
    if not losses:
        raise NodeError("gradcheck needs at least one loss.")
    if is_tensor(losses[0]):
        first: Any = losses[0]  # a tensor checks itself
        report: Report = first.gradients_checked(losses, wishes)
        return report
    return _check_losses(losses, wishes)


def _check_losses(losses: list[Node], wishes: CheckOptions) -> Report:
    """Compare the derivatives of the losses' sum along its leaves, or `max_per_param` of each parameter."""
    tables, skipped, report = CURRENT.tables, set(rows_of(wishes.skip, "gradcheck")), Report()
    generator = random.Random(wishes.seed)
    with tables.lock, GUARD:
        function = _LossFunction(tables, losses, wishes.eps)
        plan = function.plan
        parameters: dict[str, list[tuple[int, str, str]]] = defaultdict(list)
        for step, (row, kind) in enumerate(zip(plan.rows, plan.kinds)):
            if kind in (VARIABLE, PLACEHOLDER) and row not in skipped:
                label = tables.name(row) or tables.label(row)
                parameter = label.partition("[")[0]  # w[0] and w[1] belong to w
                parameters[parameter].append((step, parameter, label))
        leaves = sorted(leaf for entries in parameters.values() for leaf in wishes.sample(entries, generator))
        nodes = [handle(tables, plan.rows[step]) for step, _, _ in leaves]
        modes = function.derivatives(nodes)
    for index, (step, parameter, label) in enumerate(leaves):  # unlocked: a mask may use the graph
        if wishes.mask is not None and wishes.mask(nodes[index]):
            report.leave_out(parameter)
        else:
            in_each_mode = {mode: derivatives[index] for mode, derivatives in modes.items()}
            loss = partial(function.loss_at, step)
            report.check(parameter, label, in_each_mode, loss, function.is_near_kink(step), wishes)
    return report


@explains
def check_operator(operator: Any, points: Iterable[Any] | None = None) -> Any:
    """Check one operator at some points: its arity, that it is pure, and its derivatives.

    points: operand values, one sequence for each point. First and second
    derivatives are checked, but not within reach of a declared kink. For a tensor
    operator (a row of `operators()`) all its promises are checked on examples, its
    own if none are given, and the report has a tick for each.

    >>> bool(check_operator("sin", [(0.3,), (2.0,)]))
    True
    """
    if hasattr(operator, "check") and not isinstance(operator, type):
        return operator.check(points)
    rule = RULES.get(operator) if isinstance(operator, str) else operator
    if not isinstance(rule, Rule):
        raise OperatorNameError(
            f"There is no operator of numbers {shortened(operator)}. check_operator takes such an operator or its "
            "name, or a row of the table, as in check_operator(operators()['softmax'])."
        )
    total = Report()
    for operands in as_list(points, "check_operator", "points, as in check_operator('sin', [(0.3,), (2.0,)])"):
        point = [number(x, "check_operator") for x in as_list(operands, "A point", "a number for each operand")]
        first, second = (rule.partials_at(point, rule(*point), [True] * len(point)) for _ in range(2))
        if first != second:
            raise GradientCheckError(f"'{rule.name}' is not pure: at {tuple(point)} it gave two different answers.")
        with Graph.scratch():
            variables = [Variable(value, name=f"operand {position}") for position, value in enumerate(point)]
            y = rule(*variables)
            for node in [y, *gradients(y, variables)]:
                if node.in_deg:
                    total.gather(gradcheck(node))
    return total


def _exact_sum(values: Iterable[float]) -> float:
    """The sum, rounded once; infinite or NaN as IEEE arithmetic makes it, where math.fsum raises an error."""
    numbers = list(values)
    try:
        return math.fsum(numbers)
    except (OverflowError, ValueError):
        return sum(numbers)


class _LossFunction:
    """The sum of losses as a function of its leaves, evaluated without changing the graph."""

    def __init__(self, tables: Tables, losses: list[Node], eps: float) -> None:
        self.tables, self.losses, self.eps = tables, losses, eps
        self.plan = plan_for(tables, rows_of(losses, "gradcheck"))
        self.values = initial_values(tables, self.plan)
        evaluate(self.plan, self.values)
        self.kinks = self._kinks(self.values)
        require_finite("The loss", self.loss(self.values))

    def loss(self, values: Sequence[float]) -> float:
        return _exact_sum(values[step] for step in self.plan.targets)

    def values_at(self, step: int, distance: float) -> list[float]:
        """All values after one leaf was moved by a distance."""
        values = self.values[:]
        values[step] += distance
        evaluate(self.plan, values)
        return values

    def loss_at(self, step: int, distance: float) -> float:
        """The loss after one leaf was moved by a distance."""
        return self.loss(self.values_at(step, distance))

    def is_near_kink(self, step: int) -> bool:
        """Whether a declared kink lies within reach of the leaf's value."""
        reach = KINK_REACH * self.eps
        for distance in (-reach, reach) if self.kinks else ():
            for before, after in zip(self.kinks, self._kinks(self.values_at(step, distance))):
                if before != after and not before * after > 0.0:
                    return True
        return False

    def _kinks(self, values: Sequence[float]) -> list[float]:
        """The kink functions of all rules that have one: each changes its sign at the kink."""
        return [
            rule.kink(*[values[operand] for operand in self.plan.operands(step)])
            for step, rule in enumerate(self.plan.rules)
            if rule is not None and rule.kink is not None
        ]

    def derivatives(self, leaves: list[Node]) -> dict[str, list[float]]:
        """d loss / d leaf for each leaf, in each mode."""
        return {
            "reverse": [_exact_sum(column) for column in zip(*jacobian(self.losses, leaves))],
            "forward": [_exact_sum(differentiate_along(self.losses, {leaf: 1.0})) for leaf in leaves],
            "graph": self._built_gradients(leaves),
        }

    def _built_gradients(self, leaves: list[Node]) -> list[float]:
        """Build the gradients as nodes, evaluate them without writing to the tables, and truncate them again."""
        mark, sums = self.tables.mark(), [0.0] * len(leaves)
        try:
            for loss in self.losses if leaves else ():  # Plan of no targets would be the whole graph
                built = gradients(loss, leaves)
                plan = Plan(self.tables, [node.row for node in built])
                values = initial_values(self.tables, plan)
                evaluate(plan, values)
                sums = [total + values[step] for total, step in zip(sums, plan.targets)]
        finally:
            built, plan = [], self.plan  # drop the references to the nodes
            truncate_if_unreferenced(self.tables, mark)
        return sums
