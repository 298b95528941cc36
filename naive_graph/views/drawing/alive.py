"""A graph that computes in a page: its rules and the trainers' formulas as JavaScript.

Both are what Python runs, written down by `core.arithmetics.code`. No text of
the learner's gets into them but the names of operators, as strings.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import cache
from itertools import pairwise
from typing import Any

from ...core.arithmetics.code import traced
from ...core.plan import Plan
from ...core.rules import Rule
from ...core.tables import PLACEHOLDER, VARIABLE
from ...errors import NodeError
from ...training import formulas

MOST_OPERANDS = 200  # of one operator: each has a partial of its own
CYCLE = 20  # updates, of the cyclical rate
# Each trainer's formula, how many numbers it remembers of a weight, and the rate that a page begins with.
TRAINERS: dict[str, tuple[Any, int, float | None]] = {
    "SGD": (lambda w, g, rate, t: formulas.sgd(w, g, rate=rate), 0, 0.1),
    "cyclical SGD": (lambda w, g, rate, t: formulas.sgd(w, g, rate=rate), 0, 0.1),
    "momentum": (lambda w, g, rate, t, v: formulas.momentum(w, g, v, rate=rate), 1, 0.01),
    "Adagrad": (lambda w, g, rate, t, s: formulas.adagrad(w, g, s, rate=rate), 1, 0.1),
    "Adadelta": (lambda w, g, rate, t, s, d: formulas.adadelta(w, g, s, d), 2, None),
    "RMSProp": (lambda w, g, rate, t, s: formulas.rmsprop(w, g, s, rate=rate), 1, 0.1),
    "Adam": (lambda w, g, rate, t, m, v: formulas.adam(w, g, m, v, t=t, rate=rate), 2, 0.1),
}


def rules_code(plan: Plan) -> str:
    """Statements that leave `rules` and `trainers` behind; empty where a page cannot compute what Python did.

    That is an operator whose value or partial asks for numbers, and a graph
    none of whose leaves can be given another value.
    """
    needed = dict[str, str]()
    if not any(kind in (VARIABLE, PLACEHOLDER) for kind in plan.kinds):
        return ""
    try:
        rules = ",\n".join(_rules(plan, needed))
    except NodeError:
        return ""
    trainers = ",\n".join(_trainers(needed))
    return "\n".join([*needed.values(), f"const rules = {{\n{rules}\n}};", f"const trainers = {{\n{trainers}\n}};"])


def _rules(plan: Plan, needed: dict[str, str]) -> Iterator[str]:
    """Of each rule with so many operands: its value from a list of them, its partials from that and the result."""
    pairs = ((rule, end - start) for (start, end), rule in zip(pairwise(plan.starts), plan.rules) if rule is not None)
    for rule, count in dict.fromkeys(pairs):
        if count > MOST_OPERANDS and rule.name != "add":  # a sum's partials name nobody
            raise NodeError(f"{rule.name} of {count} operands is not written down.")
        yield f"{_quoted(f'{rule.name}/{count}')}: {_of_rule(rule, count, needed)}"


def _of_rule(rule: Rule, count: int, needed: dict[str, str]) -> str:
    operands = [f"x[{place}]" for place in range(count)]
    value = traced(operands, lambda *given: [rule(*given)], needed)
    partials = traced([*operands, "y"], lambda *given: rule.partials_at(given[:-1], given[-1], [True] * count), needed)
    selects = str(rule.selects).lower()
    return f"{{ value(x) {{ {value} }}, partials(x, y) {{ {partials} }}, selects: {selects} }}"


@cache
def _written_trainers() -> tuple[list[str], dict[str, str]]:
    """The trainers' formulas, which are the same in every page, and the functions that they need."""
    needed: dict[str, str] = {}
    rates = [formulas.cyclical_rate(it, low=0.01, high=0.1, step_size=CYCLE / 2) for it in range(CYCLE)]
    found = []
    for name, (formula, memory, rate) in TRAINERS.items():
        parameters = ["w", "g", "rate", "t", *(f"m{place}" for place in range(memory))]
        body = traced(parameters, formula, needed)
        cycle = f", cycle: {json.dumps(rates)}" if name.startswith("cyclical") else ""
        found.append(
            f"{_quoted(name)}: {{ update({', '.join(parameters)}) {{ {body} }}, memory: {memory}, "
            f"rate: {json.dumps(rate)}{cycle} }}"
        )
    return found, needed


def _trainers(needed: dict[str, str]) -> list[str]:
    found, more = _written_trainers()
    needed |= more
    return found


def _quoted(name: str) -> str:
    """A text of JavaScript, also inside a page."""
    return json.dumps(name).replace("<", "\\u003c")
