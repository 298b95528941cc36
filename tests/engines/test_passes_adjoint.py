"""The reverse sweep over columns: the sweep of sweep.py, in rows."""

import math
from random import Random

import numpy as np
import pytest
from drawn import drawn
from hypothesis import given, settings
from ir_values import edges, evaluated, ir_of, near, plan_values, same
from random_graphs import random_graph, seeds, sizes

import naive_graph as ng
from naive_graph import Constant, Graph, Variable
from naive_graph.core import sweep
from naive_graph.core.sweep import Contributed, reverse_sweep
from naive_graph.engines.passes.cse import eliminate_common_subexpressions
from naive_graph.engines.passes.dots import dots
from naive_graph.engines.passes.reverse_symbolic import adjoint


def reached(plan, wanted, seeds):
    """Which of the wanted steps the seeded results respond to."""
    leads = plan.depends_on(wanted)
    return any(leads[seed] for seed in seeds)


def agree_with_the_sweep(nodes, wanted_of):
    """Every wanted row's adjoint has the bits of the reverse sweep's."""
    plan, values = plan_values(nodes)
    wanted = wanted_of(plan)
    seeds = dict.fromkeys(plan.targets, 1.0)
    expected = sweep.differentiate(plan, values, seeds, plan.depends_on(wanted))
    grown, adjoints = adjoint(ir_of(plan), list(seeds), np.array(wanted, np.int32))
    edges(grown)
    found = evaluated(grown, values)
    for step in wanted:
        got = found[adjoints[step]] if adjoints[step] >= 0 else 0.0
        assert same(got, expected[step]), (step, got, expected[step])


@given(seeds, sizes)
@settings(max_examples=50, deadline=None)
def test_rows_give_the_bits_of_the_reverse_sweep(seed, size):
    with Graph.scratch():
        nodes = random_graph(seed, size, odd=0.2)
        agree_with_the_sweep([nodes[-1]], lambda plan: [s for s in range(len(plan)) if plan.varies()[s]])


@given(seeds, sizes)
@settings(max_examples=50, deadline=None)
def test_any_rows_may_be_asked_for_and_many_may_be_seeded(seed, size):
    with Graph.scratch():
        random = Random(seed)
        nodes = random_graph(seed, size)
        agree_with_the_sweep(
            list(dict.fromkeys(random.choices(nodes, k=2))),
            lambda plan: random.sample(range(len(plan)), min(3, len(plan))),
        )


@given(seeds, sizes)
@settings(max_examples=40, deadline=None)
def test_dots_and_sharing_keep_derivatives_within_the_bound(seed, size):
    with Graph.scratch():
        plan, values = plan_values([random_graph(seed, size)[-1]])
        leaves = [step for step in plan.leaves() if plan.varies()[step]]
        wanted, target = np.array(leaves, np.int32), plan.targets
        ir, place = dots(ir_of(plan), np.array([*target, *leaves], np.int32))
        grown, adjoints = adjoint(ir, place[target].tolist(), place[wanted])
        rows = adjoints[place[wanted]]
        small, to = eliminate_common_subexpressions(grown, rows[rows >= 0])
        found = evaluated(small, values)
        expected, magnitudes = with_magnitudes(plan, values)
        for step, row in zip(leaves, rows.tolist(), strict=True):
            got = found[to[row]] if row >= 0 else 0.0
            assert near(expected[step], got, magnitudes[step], len(plan.operand_steps) + 4)


def with_magnitudes(plan, values):
    """The adjoint of each step, and the sum of the magnitudes of the products along all paths."""
    step_of = {row: step for step, row in enumerate(plan.rows)}
    seeds = dict.fromkeys(plan.targets, 1.0)
    magnitudes = [float(step in seeds) for step in range(len(plan))]
    for event in reverse_sweep(plan, values, seeds, plan.varies()):
        if isinstance(event, Contributed) and not (event.contribution == 0.0 and not math.isfinite(event.partial)):
            magnitudes[step_of[event.row]] += magnitudes[step_of[event.consumer]] * abs(event.partial)
    return sweep.differentiate(plan, values, seeds, plan.varies()), magnitudes


def test_an_untaken_branch_passes_nothing_on():
    x = Variable(-1.0)
    agree_with_the_sweep([ng.where(x > 0, x.sqrt() * x, x * 3.0)], lambda plan: plan.leaves())


def test_a_branch_that_another_consumer_takes_passes_its_share():
    x = Variable(-1.0)
    root = x.sqrt()
    y = ng.where(x > 0, root, x) + ng.where(x < 0, root * 0.0, x)
    agree_with_the_sweep([y], lambda plan: plan.leaves())


@pytest.mark.parametrize("outer", [0.0, 1.0])
@pytest.mark.parametrize("inner", [0.0, 1.0])
def test_a_where_in_a_where_needs_both(outer, inner):
    x, a, b = Variable(0.0), Constant(outer), Constant(inner)
    agree_with_the_sweep([ng.where(a, ng.where(b, x.log(), x), x * 2.0)], lambda plan: plan.leaves())


def test_a_row_that_no_wanted_leaf_feeds_has_no_adjoint():
    x, y = Variable(2.0), Variable(3.0)
    plan, _ = plan_values([x.sin() * y.sin()])
    _, adjoints = adjoint(ir_of(plan), plan.targets, np.array([0], np.int32))
    assert (adjoints >= 0).tolist() == [True, False, False, False, False]


def test_what_nothing_responds_to_has_no_adjoint():
    x = Variable(2.0)
    plan, _ = plan_values([x > 1.0])
    _, adjoints = adjoint(ir_of(plan), plan.targets, np.array([0], np.int32))
    assert adjoints[0] == -1


def test_the_adjoint_of_the_result_is_one():
    x = Variable(2.0)
    agree_with_the_sweep([x], lambda plan: [0])
    agree_with_the_sweep([x.sin()], lambda plan: [0, 1])


BOTH_GROUPS = """
    0 leaf
    1 leaf (group 1)
    2 leaf (group 2)
    3 sqrt 0
    4 where 1 3 1 (group 1)
    5 where 2 3 2 (group 2)
    6 total 4
    7 total 5
    8 add 6 7
"""


@pytest.mark.parametrize(
    "ones, twos, slope", [([0.0, 0.0], [0.0], 0.0), ([0.0, 1.0], [0.0], np.inf), ([0.0, 0.0], [1.0], np.inf)]
)
def test_what_samples_share_is_taken_if_one_of_them_takes_it(ones, twos, slope):
    """The slope of sqrt at 0 is infinite: 0 times it would be NaN."""
    grown, adjoints = adjoint(drawn(BOTH_GROUPS, [2, 1]), [8], np.array([0], np.int32))
    edges(grown)
    assert evaluated(grown, [0.0, ones, twos])[adjoints[0]] == slope
