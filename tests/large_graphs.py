"""Random graphs of up to thousands of nodes, and how far a gradient may be from the reference engine's."""

import math
import random

import naive_graph as ng
from naive_graph import Constant, Graph, PlaceHolder, Variable
from naive_graph.core import sweep
from naive_graph.core.catalogue import BUILT_IN
from naive_graph.core.plan import plan_for
from naive_graph.core.rules import RULES

# Operators whose compiled code has the reference engine's bits, and those of the C library.
EXACT = ["add", "sub", "mul", "div", "neg", "abs", "sign", "heaviside", "relu", "square", "reciprocal", "sqrt",
         "maximum", "minimum", "greater", "less", "where", "sum", "prod", "total", "mean"]  # fmt: skip
HELD = ["held"]  # helpers that a learner may meet in a gradient's graph
EVERY = [rule.name for rule in RULES.values() if not rule.helper and rule.number < BUILT_IN] + ["sum", "prod"]
EPS = 2.0**-52


def grown(seed, size, operators, wild=False):
    """At least `size` nodes over a few leaves, in the current graph. In tame graphs values stay between 1e-3 and 4."""
    dice = random.Random(seed)
    nodes, values = [], []

    def keep(node, value):
        nodes.append(node)
        values.append(value)

    for place in range(dice.randint(1, 6)):
        value = round(dice.uniform(-2, 2), 3) or 0.5
        kind = dice.choice([Variable, Variable, Constant, PlaceHolder]) if place else Variable
        node = kind(name=f"p{place}") if kind is PlaceHolder else kind(value)
        if kind is PlaceHolder:
            node.value = value
        keep(node, value)
    while len(nodes) < size:
        name = dice.choice(operators)
        rule = RULES[{"sum": "add", "prod": "mul"}.get(name, name)]
        count = rule.arity or dice.choice([1, 2, 3, 5])
        near = len(nodes) - 1 - min(len(nodes) - 1, int(dice.expovariate(0.2)))
        places = [dice.choice([near, dice.randrange(len(nodes))]) for _ in range(count)]
        value = rule(*[values[place] for place in places])
        if wild or (math.isfinite(value) and (value == 0.0 or 1e-3 < abs(value) < 4)):
            operands = [nodes[place] for place in places]
            made = {"sum": Graph.sum, "prod": Graph.prod, "logsumexp": ng.logsumexp}.get(name)
            keep(made(operands) if made else rule(*operands), value)
        else:
            keep(nodes[places[0]] * 0.25, values[places[0]] * 0.25)
    return nodes


def leaves_of(nodes):
    return [node for node in nodes if type(node) in (Variable, PlaceHolder)]


def allowance(output, leaves):
    """For each leaf 2 n eps times the sum of its gradient's terms' magnitudes; n: the rows that the output needs."""
    plan = plan_for(output.tables, [output.row, *(leaf.row for leaf in leaves)])
    values = [output.tables.values[row] for row in plan.rows]
    sweep.evaluate(plan, values)
    step_of = {row: step for step, row in enumerate(plan.rows)}
    sizes, wanted = [0.0] * len(plan), plan.varies()
    sizes[step_of[output.row]] = 1.0
    for step in reversed(range(len(plan))):
        rule, operands = plan.rule(step), list(plan.operands(step))
        if rule is None or not wanted[step]:
            continue
        partials = rule.partials_at(
            [values[each] for each in operands], values[step], [wanted[each] for each in operands]
        )
        for operand, partial in zip(operands, partials):
            if partial and sizes[step]:
                sizes[operand] += sizes[step] * abs(partial)
    return [2 * len(plan) * EPS * sizes[step_of[leaf.row]] for leaf in leaves]
