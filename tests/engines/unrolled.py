"""Losses over samples, written as a loop of Python writes them."""

from dataclasses import dataclass, field
from random import Random
from typing import Any

from random_graphs import held

import naive_graph as ng
from naive_graph import Constant, Graph, PlaceHolder, Variable

SMOOTH = ["sin", "tanh", "sigmoid", "square", "cos"]
EXACT = ["neg", "square", "relu", "abs"]


@dataclass
class Loss:
    """A sum over samples; `terms` in order, `wanted` leaves whose gradients somebody asks for."""

    total: Any
    terms: list[Any]
    weights: list[Any]
    data: list[list[Any]]
    wanted: list[Any] = field(default_factory=list)


@dataclass
class Habit:
    """How a learner writes the loop."""

    seed: int
    samples: int
    structures: int = 1
    data: type = Constant
    begins: bool = True  # whether the terms begin the sum
    own: bool = False  # whether every sample has a Variable of its own that is wanted
    library: bool = True
    inputs: int = 2


def unrolled(habit):
    """The loss of a random expression for each structure, applied to every sample."""
    random = Random(habit.seed)
    weights = [Variable(number(random)) for _ in range(3)]
    shared = [*weights, (weights[0] * weights[1]).tanh() if habit.library else weights[0] * weights[1]]
    recipes = [recipe(random, len(shared) + habit.inputs + habit.own, habit.library) for _ in range(habit.structures)]
    data, owned, terms = [], [], []
    for sample in range(habit.samples):
        leaves = [held(habit.data, number(random)) for _ in range(habit.inputs)]
        mine = [Variable(number(random))] if habit.own else []
        chosen = recipes[0] if sample == 0 else random.choice(recipes)
        terms.append(follow(chosen, [*shared, *leaves, *mine]))
        data.append(leaves)
        owned += mine
    total = terms[0] if habit.begins else weights[2] + terms[0]
    for term in terms[1:]:
        total = total + term
    return Loss(total, terms, weights, data, [*weights, *owned])


def number(random):
    return round(random.uniform(-2, 2), 2)


def recipe(random, leaves, library):
    """Steps over what is there; the last inputs are used for sure, and the last step uses all steps before."""
    steps = [("mul", leaves - 1, 0)]
    if leaves > 5:
        steps.append(("mul", leaves - 2, 1))
    for size in range(leaves + len(steps), leaves + len(steps) + random.randint(1, 8)):
        what = random.choice(["add", "mul", "sub", "where", "dot", *(SMOOTH if library else EXACT)])
        count = {"add": 2, "mul": 2, "sub": 2, "where": 3, "dot": 5}.get(what, 1)
        steps.append((what, *[random.randrange(max(0, size - 6), size) for _ in range(count)]))
    size = leaves + len(steps)
    return [*steps, ("mul", size - 1, leaves)]


def follow(steps, leaves):
    nodes = list(leaves)
    for what, *places in steps:
        xs = [nodes[place] for place in places]
        if what == "dot":
            nodes.append(xs[0] * xs[1] + xs[2] * xs[3] + xs[4])
        elif what in ("add", "mul"):
            nodes.append((Graph.sum if what == "add" else Graph.prod)(xs))
        else:
            nodes.append(getattr(ng, what)(*xs))
    return nodes[-1]


def network(samples, inputs=3, hidden=4, data=PlaceHolder, seed=0):
    """The squared error of a dense network with one hidden layer, sample by sample."""
    random = Random(seed)
    first = [[Variable(number(random)) for _ in range(inputs + 1)] for _ in range(hidden)]
    second = [Variable(number(random)) for _ in range(hidden + 1)]
    terms, rows = [], []
    for _ in range(samples):
        xs = [held(data, number(random)) for _ in range(inputs)]
        layer = [dense(ws, xs).tanh() for ws in first]
        terms.append((dense(second, layer) - held(data, number(random))) ** 2)
        rows.append(xs)
    total = terms[0]
    for term in terms[1:]:
        total = total + term
    weights = [w for ws in first for w in ws] + second
    return Loss(total, terms, weights, rows, weights)


def dense(weights, xs):
    total = weights[-1]
    for w, x in zip(weights, xs):
        total = total + w * x
    return total
