"""Larger random graphs, and loops over samples as learners write them."""

import math
from random import Random

from hypothesis import strategies as st

import naive_graph as ng
from naive_graph import Constant, Graph, PlaceHolder, Variable
from naive_graph.core.rules import RULES

PLAIN = ["neg", "square", "relu", "abs", "sign", "heaviside"]
LIBRARY = ["sin", "cos", "tanh", "sigmoid", "exp", "log", "sqrt", "softplus"]
BINARY = ["sub", "mul", "mul", "add", "maximum", "minimum", "greater", "less", "less_equal", "equal", "div"]
ODD = [0.0, -0.0, 1.0, 2.0, math.inf, -math.inf, math.nan, 5e-324, 1e300]
seeds = st.integers(0, 2**32)
sizes = st.integers(3, 300)


def random_graph(seed, size, odd=0.0, library=True):
    """Nodes in the order of their making. odd: how many of the leaves hold numbers that are not tame."""
    random = Random(seed)
    nodes = [leaf(random, odd) for _ in range(random.randint(1, 6))]
    while len(nodes) < size:
        nodes.append(grown(random, nodes, odd, library))
    return nodes


def leaf(random, odd):
    value = random.choice(ODD) if random.random() < odd else round(random.uniform(-2, 2), 2)
    kind = random.choice([Variable, Variable, Constant, PlaceHolder])
    return held(kind, value)


def held(kind, value):
    """A leaf of that kind with that value."""
    if kind is not PlaceHolder:
        return kind(value)
    node = PlaceHolder()
    node.value = value
    return node


def grown(random, nodes, odd, library):
    """One more node over the ones that are there, the newest most often."""

    def pick():
        return nodes[-1 - min(int(random.expovariate(0.15)), len(nodes) - 1)]

    what = random.random()
    if what < 0.1:
        return leaf(random, odd)
    if what < 0.3:
        return RULES[random.choice(PLAIN + LIBRARY * library)](pick())
    if what < 0.55:
        return RULES[random.choice(BINARY)](pick(), pick())
    if what < 0.65:
        return Graph.sum([pick() for _ in range(random.randint(1, 12))])
    if what < 0.72:
        return Graph.prod([pick() for _ in range(random.randint(1, 5))])
    if what < 0.87:
        return sum_of_products(random, pick)
    if what < 0.95:
        return ng.where(pick(), pick(), pick())
    return pick() + pick()  # which merges


def sum_of_products(random, pick):
    total = pick()
    for _ in range(random.randint(1, 9)):
        total = total + (pick() * pick() if random.random() < 0.8 else pick())
    return total
