"""Who runs a plan changes no bit: code of its own, level runs, and each of them again."""

import math
import random

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from random_graphs import random_graph, seeds
from taped import answers

import naive_graph as ng
from naive_graph import Graph, Variable
from naive_graph.engines.compiled.generator import WIDE, Generator
from naive_graph.engines.compiled.plan import CompiledPlan
from naive_graph.engines.compiled.runs import LevelRuns
from naive_graph.engines.passes.lowering import Lowering
from naive_graph.graph.node_factory import CURRENT

ONE = [lambda x: x.sin(), lambda x: x.tanh(), lambda x: ng.sigmoid(x), lambda x: x.cos(), lambda x: (x * x + 1.0).log()]
TWO = [lambda x, y: x + y, lambda x, y: x - y * 0.5, lambda x, y: x * y * 0.3, lambda x, y: x / (y * y + 1.0)]


def lowered(outputs, wrt):
    """As level runs take it: nobody looks for samples."""
    rows = [[node.row for node in nodes] for nodes in (outputs, wrt)]
    return Lowering(CURRENT.tables, *rows, frozenset(), find=False)


def same_bits(low):
    one, other = answers(CompiledPlan, low), answers(LevelRuns, low)
    missing = np.isnan(one)
    assert np.array_equal(np.isnan(other), missing)
    assert one[~missing].tobytes() == other[~missing].tobytes()


def repeated(dice, steps):
    """A random body over some carried numbers and over what never changes, so many times. The loss, the leaves."""
    shared = [Variable(dice.uniform(-1, 1)) for _ in range(3)]
    carried = [Variable(dice.uniform(-1, 1)) for _ in range(dice.randint(1, 3))]
    leaves, older, loss = [*shared, *carried], carried, 0.0
    plan = [(dice.random() < 0.5, dice.randrange(60), dice.randrange(60), dice.randrange(60)) for _ in range(7)]
    for step in range(steps):
        new = Variable(math.sin(step))
        leaves.append(new)
        here = [*shared, *carried, *older, new]
        for single, which, left, right in plan:
            x, y = here[left % len(here)], here[right % len(here)]
            here.append(ONE[which % len(ONE)](x) if single else TWO[which % len(TWO)](x, y))
        older, carried = carried, [(x * 0.5 + y).tanh() for x, y in zip(carried, here[-len(carried) :], strict=True)]
        loss = loss + carried[0] * shared[0]
    return loss, leaves


@given(seeds, st.integers(2, 40))
@settings(max_examples=8, deadline=None)
def test_level_runs_of_any_graph_have_the_bits_of_its_code(seed, size):
    with Graph.scratch():
        nodes = random_graph(seed, size)
        same_bits(lowered([nodes[-1]], [node for node in nodes if type(node) is Variable]))


@given(seeds, st.integers(3, 20))
@settings(max_examples=5, deadline=None)
def test_level_runs_of_a_recurrence_have_the_bits_of_its_code(seed, steps):
    with Graph.scratch():
        loss, leaves = repeated(random.Random(seed), steps)
        same_bits(lowered([loss], leaves))


@given(seeds, st.integers(1, 10), st.integers(1, 30))
@settings(max_examples=5, deadline=None)
def test_long_sums_of_products_have_one_order_whoever_makes_them(seed, rows, columns):
    """A layer and its gradients: dots of all lengths, that share a factor of every term or do not."""
    dice = random.Random(seed)
    with Graph.scratch():
        x, w = ([Variable(dice.uniform(-1, 1)) for _ in range(many)] for many in (columns, rows * columns))
        hidden = [sum((a * b for a, b in zip(w[k * columns :], x)), 0.0).tanh() for k in range(rows)]
        loss = sum((a * b for a, b in zip(hidden, w)), 0.0)
        same_bits(lowered([loss * loss], [*x, *w]))


def test_there_are_long_dots_in_those_programs():
    with Graph.scratch():
        x, w = ([Variable(k / 7) for k in range(many)] for many in (8, 160))
        hidden = [sum((a * b for a, b in zip(w[8 * k :], x)), 0.0).tanh() for k in range(20)]
        low = lowered([sum((a * b for a, b in zip(hidden, w)), 0.0)], [*x, *w])
        made = Generator(low.ir, [low.values[0].row, *(each.row for each in low.slopes[0])])
        assert "call double" in str(made) and max(np.diff(low.ir.starts)) > 2 * WIDE
