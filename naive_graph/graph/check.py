"""Are the derivatives right? Every mode against finite differences.

A finite difference knows nothing of rules: it moves one leaf a little, both
ways, and looks at what the loss does. Reverse mode, forward mode and the
gradients built as nodes must all agree with it.
"""

from __future__ import annotations

import math
import random
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from ..core.arithmetics.dual import Dual, slope_of
from ..core.number import listed, number, whole
from ..core.plan import Plan, plan_for
from ..core.reference import differentiate, evaluate
from ..core.rules import Rule, rule_named
from ..core.tables import Tables
from ..errors import GradientCheckError, NodeError, NumericError
from .derive import gradients, leaf_values
from .graph import Graph
from .handles import CURRENT, abandon, handle
from .nodes import Node, Variable, rows_of

SUBSETS = ("random", "every_n")
KINK_REACH = 10.0  # steps of eps within which a declared kink spoils a finite difference


class Failure(NamedTuple):
    """A derivative that disagrees with its finite difference."""

    leaf: str
    mode: str
    derivative: float
    difference: float
    relative_error: float

    def __str__(self) -> str:
        return (
            f"d/d {self.leaf}: {self.mode} says {self.derivative!r}, finite differences say "
            f"{self.difference!r} (relative error {self.relative_error:.2e})"
        )


@dataclass
class Report:
    """What a gradient check found. It is true if nothing failed."""

    count: int = 0
    masked: int = 0
    worst: float = 0.0
    failures: list[Failure] = field(default_factory=list)

    def __bool__(self) -> bool:
        return not self.failures

    def require(self) -> Report:
        """This report if nothing failed; else a GradientCheckError that lists what did."""
        if self.failures:
            raise GradientCheckError(str(self))
        return self

    def __str__(self) -> str:
        head = (
            f"{self.count} derivatives checked, {self.masked} masked, {len(self.failures)} failed; "
            f"worst relative error {self.worst:.2e}"
        )
        return "\n".join([head, *map(str, self.failures[:20])])


def gradcheck(
    loss: Node | Iterable[Node],
    eps: float = 1e-5,
    max_rel: float = 1e-5,
    min_abs: float = 1e-6,
    mask: Callable[[Node], bool] | None = None,
    skip: Iterable[Node] = (),
    max_per_param: int | None = None,
    subset: str = "random",
    seed: int = 12345,
) -> Report:
    """Compare d loss / d leaf, in every mode, with (loss(x + eps) - loss(x - eps)) / (2 eps).

    loss: a node, or several whose sum is meant. A derivative fails if it is off
    by more than max_rel, relative to the sum of both magnitudes, and by at least
    min_abs. mask: a function that is true for a leaf to leave out; leaves within
    10 eps of a declared kink are left out as well. skip: leaves never looked at.
    max_per_param: at most so many leaves of one name (`w[0]`, `w[1]`, ... are
    one), chosen by `subset`: "random" with `seed`, or "every_n".
    The graph, its values and its gradients are left as they are. Raises
    NumericError if the loss or a derivative is not finite.

    >>> x = Variable(0.5)
    >>> print(gradcheck((x * x).sin()).count)
    1
    """
    losses = rows_of([loss] if isinstance(loss, Node) else loss, "gradcheck")
    eps, max_rel, min_abs = (number(each, "gradcheck's tolerance") for each in (eps, max_rel, min_abs))
    most = None if max_per_param is None else whole(max_per_param, "gradcheck's max_per_param", 1)
    if not eps > 0.0:
        raise NodeError(f"gradcheck moves each leaf by eps, a number above 0, not {eps!r}.")
    if mask is not None and not callable(mask):
        raise NodeError(f"gradcheck's mask is a function of a leaf that is true for those to leave out, not {mask!r}.")
    if not losses:
        raise NodeError("gradcheck needs at least one loss.")
    if subset not in SUBSETS:
        raise NodeError(f'gradcheck takes subset "random" or "every_n", not {subset!r}.')
    tables, skipped = CURRENT.tables, set(rows_of(skip, "gradcheck"))
    with tables.lock:
        question = _Question(tables, plan_for(tables, losses), eps)
        leaves = [step for step in question.leaves() if question.plan.rows[step] not in skipped]
        leaves = _sampled(question, leaves, most, subset, seed)
        report = Report()
        modes = question.derivatives(leaves)
        for place, step in enumerate(leaves):
            node = handle(tables, question.plan.rows[step])
            if (mask is not None and mask(node)) or question.near_kink(step):
                report.masked += 1
                continue
            difference = question.difference(step)
            for mode, derivatives in modes.items():
                _compare(report, question.label(step), mode, derivatives[place], difference, max_rel, min_abs)
            report.count += 1
    return report


def check_operator(operator: str | Rule, points: Iterable[Sequence[float]] | None = None) -> Report:
    """Check one operator at some points: its arity, that it is pure, and its derivatives.

    points: operand values, one sequence for each point. First and second
    derivatives are checked, but not within reach of a declared kink.

    >>> bool(check_operator("sin", [(0.3,), (2.0,)]))
    True
    """
    rule = operator if isinstance(operator, Rule) else rule_named(operator)
    total = Report()
    for each in listed(points, "check_operator", "points, as in check_operator('sin', [(0.3,), (2.0,)])"):
        point = [number(x, "check_operator") for x in listed(each, "A point", "a number for each operand")]
        rule.check_arity(len(point))
        if rule.partials_at(point, rule(*point), [True] * len(point)) != rule.partials_at(
            point, rule(*point), [True] * len(point)
        ):
            raise GradientCheckError(f"'{rule.name}' is not pure: at {tuple(point)} it gave two different answers.")
        with Graph.scratch():
            variables = [Variable(value, name=f"operand {place}") for place, value in enumerate(point)]
            y = rule(*variables)
            for node in [y, *gradients(y, variables)]:
                if node.in_deg:
                    _gather(total, gradcheck(node))
    return total


def _gather(total: Report, report: Report) -> None:
    total.count += report.count
    total.masked += report.masked
    total.worst = max(total.worst, report.worst)
    total.failures += report.failures


def _compare(
    report: Report, leaf: str, mode: str, derivative: float, difference: float, max_rel: float, min_abs: float
) -> None:
    error, size = abs(derivative - difference), abs(derivative) + abs(difference)
    relative = error / size if size else 0.0
    report.worst = max(report.worst, relative)
    if relative > max_rel and error >= min_abs:
        report.failures.append(Failure(leaf, mode, derivative, difference, relative))


def _sampled(question: _Question, leaves: list[int], most: int | None, subset: str, seed: int) -> list[int]:
    """At most so many leaves of each parameter; `w[0]` and `w[1]` belong to parameter w."""
    if most is None:
        return leaves
    parameters: dict[str, list[int]] = defaultdict(list)
    for step in leaves:
        parameters[question.label(step).partition("[")[0]].append(step)
    chosen: list[int] = []
    generator = random.Random(seed)
    for steps in parameters.values():
        if subset == "random":
            chosen += generator.sample(steps, min(most, len(steps)))
        else:
            chosen += steps[:: max(1, math.ceil(len(steps) / max(most, 1)))][:most]
    return sorted(chosen)


class _Question:
    """The loss as a function of its leaves, asked without touching the graph."""

    def __init__(self, tables: Tables, plan: Plan, eps: float) -> None:
        self.tables, self.plan, self.eps = tables, plan, eps
        self.values = leaf_values(plan)
        evaluate(plan, self.values)
        self.require_finite("The loss", self.loss(self.values))

    def leaves(self) -> list[int]:
        varies = self.plan.varies()
        return [step for step in self.plan.leaves() if varies[step]]

    def label(self, step: int) -> str:
        row = self.plan.rows[step]
        return self.tables.name(row) or self.tables.label(row)

    def loss(self, values: Sequence[float]) -> float:
        return math.fsum(values[step] for step in self.plan.targets)

    def moved(self, step: int, distance: float) -> list[float]:
        """All values with one leaf moved."""
        values = self.values[:]
        values[step] += distance
        evaluate(self.plan, values)
        return values

    def difference(self, step: int) -> float:
        above, below = (self.loss(self.moved(step, distance)) for distance in (self.eps, -self.eps))
        return self.require_finite(f"The loss near {self.label(step)}", (above - below) / (2.0 * self.eps))

    def near_kink(self, step: int) -> bool:
        """Whether a declared kink lies within reach of the leaf's value."""
        depends = self.plan.leads_from([step])
        kinked = [at for at in range(len(self.plan)) if depends[at] or self._feeds(at, depends)]
        kinked = [at for at in kinked if (rule := self.plan.rule(at)) is not None and rule.kink is not None]
        if not kinked:
            return False
        below, above = (self.moved(step, sign * KINK_REACH * self.eps) for sign in (-1.0, 1.0))
        return not all(
            self._kink(at, self.values) * self._kink(at, moved) > 0.0 for at in kinked for moved in (below, above)
        )

    def _feeds(self, at: int, depends: Sequence[bool]) -> bool:
        return any(depends[operand] for operand in self.plan.operands(at))

    def _kink(self, at: int, values: Sequence[float]) -> float:
        rule = self.plan.rule(at)
        assert rule is not None and rule.kink is not None  # near_kink asks only these
        return float(rule.kink(*[values[operand] for operand in self.plan.operands(at)]))

    def derivatives(self, leaves: Sequence[int]) -> dict[str, list[float]]:
        """d loss / d leaf for each leaf, in each mode."""
        modes = {"reverse": self._reverse(leaves), "forward": self._forward(leaves), "graph": self._graph(leaves)}
        for mode, derivatives in modes.items():
            for step, derivative in zip(leaves, derivatives):
                self.require_finite(f"The {mode} derivative along {self.label(step)}", derivative)
        return modes

    def _reverse(self, leaves: Sequence[int]) -> list[float]:
        seeds = dict.fromkeys(self.plan.targets, 1.0)
        adjoints = differentiate(self.plan, self.values, seeds, self.plan.varies())
        return [adjoints[step] for step in leaves]

    def _forward(self, leaves: Sequence[int]) -> list[float]:
        return [self._tangent(step) for step in leaves]

    def _tangent(self, step: int) -> float:
        duals = [Dual(value) for value in self.values]
        duals[step] = Dual(self.values[step], 1.0)
        evaluate(self.plan, duals)
        return math.fsum(slope_of(duals[target]) for target in self.plan.targets)

    def _graph(self, leaves: Sequence[int]) -> list[float]:
        """Build the gradients as nodes, evaluate them apart, and cut them off again."""
        wrt = [handle(self.tables, self.plan.rows[step]) for step in leaves]
        mark, sums = self.tables.mark(), [0.0] * len(leaves)
        try:
            for target in self.plan.targets:
                built = gradients(handle(self.tables, self.plan.rows[target]), wrt)
                plan = Plan(self.tables, [node.row for node in built])
                values = leaf_values(plan)
                evaluate(plan, values)
                sums = [total + values[step] for total, step in zip(sums, plan.targets)]
        finally:
            abandon(self.tables, mark.rows, "was built by gradcheck")
            self.tables.cut(mark)
        return sums

    def require_finite(self, what: str, value: float) -> float:
        if not math.isfinite(value):
            raise NumericError(f"{what} is {value}. gradcheck needs finite numbers: move the leaves into the domain.")
        return value
