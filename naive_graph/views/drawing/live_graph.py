"""Compile a graph for the browser: rules and trainers as JavaScript, the graph as JSON data for a page to compute.

So a reader of a saved page can move a leaf, and the page evaluates and differentiates the graph anew. Rules and
formulas are not written in JavaScript by hand: `core.interpreters.code` traces those that Python runs. The only text
of the learner's in them is names of operators, as string literals.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from itertools import pairwise
from math import isfinite
from typing import Any

from ...core.interpreters.code import trace_to_javascript
from ...core.plan import Plan, absorptions_between, plan_for
from ...core.rules import Rule
from ...core.tables import PLACEHOLDER, VARIABLE, Tables
from ...errors import NaiveGraphError, NodeError
from ...training import formulas
from ...training.optimizers import TRAINERS, CyclicalSGDTrainer
from ...training.trainer import Trainer
from .names import names_of

MOST_ALIVE = 5_000  # nodes of the largest graph that a page computes while a slider is dragged
MOST_OPERANDS = 200  # of one operator: its code has a partial for each
CYCLE = 20  # updates in one cycle of the cyclical learning rate


def update_rule(trainer: type[Trainer]) -> Callable[..., tuple[Any, ...]]:
    """A trainer's update rule as a page calls it: with weight, gradient, rate, step number and the trainer's state."""

    def update(w: Any, g: Any, rate: Any, t: Any, *memory: Any) -> tuple[Any, ...]:
        settings = {"rate": rate} if "rate" in trainer.attribute_of else {}
        return trainer.rule(w, g, *memory, **settings, **({"t": t} if trainer.takes_step_number else {}))

    return update


@dataclass(frozen=True)
class LiveGraph:
    """A snapshot of a graph that a page can evaluate and differentiate: `facts` as JSON data, `code` as JavaScript."""

    plan: Plan
    facts: dict[str, Any]
    code: str  # an expression that gives {rules, trainers}

    @property
    def key(self) -> str:
        """A hash of the code: pictures with the same code share one copy in a page."""
        return sha256(self.code.encode()).hexdigest()[:12]


def make_live_graph(tables: Tables, results: Sequence[int], **wishes: bool) -> LiveGraph | None:
    """Snapshot the graph of these results for a page; None if it is too large, incomplete or cyclic, or has no code.

    wishes: what the picture shows, `values` and `grads`. The page differentiates the results whose own gradient is 1,
    as after a `backward` from them; if there are none, the sum of all results.
    """
    try:
        plan = plan_for(tables, results)
        named = [row for _, row, _, _ in plan.absorbed if tables.name(row)]  # absorbed nodes with a name are drawn
        plan = plan_for(tables, [*results, *named])
    except NaiveGraphError:
        return None
    if len(plan) > MOST_ALIVE or not plan.complete:
        return None
    step_of = {row: step for step, row in enumerate(plan.rows)}
    absorptions = absorptions_between(plan.absorbed, step_of)
    # Steps that were merged into a longer sum or product: (the merged step, the step, its number of operands).
    merged = [(step_of[absorber], step_of[row], count) for absorber, row, count in absorptions]
    # A merged sum or product that is drawn is one operand in place of its `count` terms.
    code = rules_to_javascript(plan, [(plan.rules[into], 1 + len(plan.operands(into)) - n) for into, _, n in merged])
    if not code:
        return None
    differentiated = [row for row in results if not tables.grads_are_zero and tables.grad(row) == 1.0]
    targets = [step_of[row] for row in dict.fromkeys(differentiated or results)]
    names = names_of(tables, plan.rows)
    leaves, kinds = plan.leaves(), list(map(tables.kind, plan.rows))
    types = list(dict.fromkeys(kinds))
    facts = {
        "gaps": [row - before for before, row in pairwise([0, *plan.rows])],
        "counts": [end - start for start, end in pairwise(plan.starts)],
        # How far before a step its operands stand.
        "backs": [step - operand for step in range(len(plan)) for operand in plan.operands(step)],
        "types": types,
        "kinds": list(map(types.index, kinds)),
        "given": {step: _to_json_number(tables.value(plan.rows[step])) for step in leaves},
        "targets": targets,
        "absorbed": merged,  # drawn if they have a name or other users; they also feed their absorber
        "named": [step for step, row in enumerate(plan.rows) if tables.name(row)],
        "called": {step: names[plan.rows[step]] for step in leaves + targets},
    }
    return LiveGraph(plan, facts | wishes, f"(() => {{\n{code}\nreturn {{ rules, trainers }};\n}})()")


def _to_json_number(value: float | None) -> float | str:
    """A value as JSON: NaN and infinities as strings that the page reads back; no value is "NaN"."""
    if value is None or value != value:
        return "NaN"
    return value if isfinite(value) else f"{'-' * (value < 0)}Infinity"


def rules_to_javascript(plan: Plan, more: Iterable[tuple[Rule | None, int]] = ()) -> str:
    """JavaScript statements that define `rules` and `trainers`; "" if a page cannot compute the plan.

    It cannot if no leaf is a Variable or PlaceHolder, if an operator's Python function works on numbers only, so that
    it cannot be traced, or if one (but a sum) has more than MOST_OPERANDS operands. more: further rules, each with its
    number of operands.
    """
    needed = dict[str, str]()  # helper functions that the rules call, by name
    if not any(kind in (VARIABLE, PLACEHOLDER) for kind in plan.kinds):
        return ""
    counts = (end - start for start, end in pairwise(plan.starts))
    pairs = dict.fromkeys([*zip(plan.rules, counts), *more])
    try:
        rules = ",\n".join(_emit_rule(rule, count, needed) for rule, count in pairs if rule is not None)
    except NodeError:
        return ""
    formulas_of_trainers, functions = _emit_trainers()
    needed |= functions
    trainers = ",\n".join(formulas_of_trainers)
    return "\n".join([*needed.values(), f"const rules = {{\n{rules}\n}};", f"const trainers = {{\n{trainers}\n}};"])


def _emit_rule(rule: Rule, count: int, needed: dict[str, str]) -> str:
    """A rule, for its number of operands, as a JavaScript object with `value(x)` and `partials(x, y)`."""
    if count > MOST_OPERANDS and rule.name != "add":  # the partials of a sum are all 1
        raise NodeError(f"{rule.name} of {count} operands is not written down.")
    operands = [f"x[{index}]" for index in range(count)]
    value = trace_to_javascript(operands, lambda *arguments: [rule(*arguments)], needed)
    partials = trace_to_javascript(
        [*operands, "y"], lambda *arguments: rule.partials_at(arguments[:-1], arguments[-1], [True] * count), needed
    )
    selects = str(rule.selects).lower()
    name = _javascript_string(f"{rule.name}/{count}")
    return f"{name}: {{ value(x) {{ {value} }}, partials(x, y) {{ {partials} }}, selects: {selects} }}"


@cache
def _emit_trainers() -> tuple[list[str], dict[str, str]]:
    """The trainers' update rules as JavaScript, the same in every page, and the helper functions that they call."""
    needed: dict[str, str] = {}
    cycle = [formulas.cyclical_rate(it, low=0.01, high=0.1, step_size=CYCLE / 2) for it in range(CYCLE)]
    updates = []
    for name, (trainer, _, rate) in TRAINERS.items():
        memory, is_cyclical = trainer.state_count, issubclass(trainer, CyclicalSGDTrainer)
        parameters = ["w", "g", "rate", "t", *(f"m{index}" for index in range(memory))]
        body = trace_to_javascript(parameters, update_rule(trainer), needed)
        cycles = f", cycle: {json.dumps(cycle)}" if is_cyclical else ""
        updates.append(
            f"{_javascript_string(name)}: {{ update({', '.join(parameters)}) {{ {body} }}, memory: {memory}, "
            f"rate: {json.dumps(rate)}{cycles} }}"
        )
    return updates, needed


def _javascript_string(name: str) -> str:
    """A JavaScript string literal that is safe inside a <script> element."""
    return json.dumps(name).replace("<", "\\u003c")
