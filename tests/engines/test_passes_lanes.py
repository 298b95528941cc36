"""Samples hidden in an unrolled graph become lanes; what was asked for is still there."""

import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from ir_values import at, edges, evaluated, near, reference_values, same, table_values
from random_graphs import random_graph, seeds, sizes
from unrolled import Habit, network, unrolled

import naive_graph as ng
from naive_graph import Constant, Graph, PlaceHolder, Program, Variable
from naive_graph.engines.passes import roll_samples as passes
from naive_graph.engines.passes.build_ir import build_ir
from naive_graph.engines.passes.cse import eliminate_common_subexpressions
from naive_graph.engines.passes.dots import dots
from naive_graph.engines.passes.ir import TOTAL
from naive_graph.engines.passes.roll_samples import lanes
from naive_graph.graph.node_factory import CURRENT

KINDS = st.sampled_from([Constant, PlaceHolder, Variable])


def rolled(asked, wanted=()):
    """The plan of what is asked for, rolled up; the values of asked and wanted nodes in it, in their order."""
    rows = [node.row for node in (*asked, *wanted)]
    ir, chosen = build_ir(CURRENT.tables, rows)
    place = {row: number for number, row in enumerate(chosen.tolist())}
    ir, moved = dots(ir, np.array([place[row] for row in rows], np.int32))
    at_rows = [int(moved[place[row]]) for row in rows]
    new, now = lanes(ir, np.array(at_rows[len(asked) :], np.int32), np.array(at_rows, np.int32))
    edges(new)
    values = evaluated(new, table_values())
    return new, [at(values, now[row]) for row in at_rows]


def keeps_every_bit(asked, wanted=()):
    """Rolling up changed none of the values; returns the plan that was made."""
    new, values = rolled(asked, wanted)
    expected = reference_values([*asked, *wanted])
    for node, value in zip((*asked, *wanted), values, strict=True):
        assert same(value, expected[node.row])
    return new


def magnitude(terms):
    values = reference_values(terms)
    return sum(abs(values[term.row]) for term in terms)


@given(seeds, st.integers(2, 40), KINDS, st.booleans(), st.booleans())
@settings(max_examples=40, deadline=None)
def test_samples_that_begin_the_sum_keep_every_bit(seed, samples, data, own, library):
    with Graph.scratch():
        loss = unrolled(Habit(seed, samples, data=data, own=own, library=library))
        new = keeps_every_bit([loss.total], loss.wanted)
        if samples >= 8:
            assert len(new.samples) > 1


@given(seeds, st.integers(8, 60), st.integers(1, 3), KINDS, st.booleans(), st.booleans())
@settings(max_examples=40, deadline=None)
def test_ragged_samples_keep_the_sum_within_the_bound(seed, samples, structures, data, own, begins):
    with Graph.scratch():
        loss = unrolled(Habit(seed, samples, structures, data, begins, own))
        _, values = rolled([loss.total], loss.wanted)
        expected = reference_values([loss.total, *loss.wanted])
        bound = magnitude(loss.terms) + abs(expected[loss.weights[2].row])
        assert near(expected[loss.total.row], values[0], bound, samples + 1)
        assert all(same(value, expected[node.row]) for node, value in zip(loss.wanted, values[1:], strict=True))


@given(seeds, sizes)
@settings(max_examples=40, deadline=None)
def test_a_graph_without_samples_keeps_its_values(seed, size):
    with Graph.scratch():
        nodes = random_graph(seed, size)
        new, values = rolled([nodes[-1]])
        if len(new.samples) == 1:
            assert same(values[0], reference_values([nodes[-1]])[nodes[-1].row])


@pytest.mark.parametrize("data", [Constant, PlaceHolder, Variable])
def test_a_network_becomes_lanes_of_one_network(data):
    loss = network(20, data=data)
    new = keeps_every_bit([loss.total], loss.weights)
    small, _ = eliminate_common_subexpressions(new, np.array([len(new) - 1], np.int32))
    assert new.samples == [1, 20] and len(small) - len(small.leaves()) < 15


def test_a_network_whose_outputs_are_asked_for_keeps_them():
    loss = network(9)
    new = keeps_every_bit([loss.total, *loss.terms], loss.weights)
    assert new.samples == [1, 9]


def test_fewer_than_eight_samples_stay_as_they_are():
    assert keeps_every_bit([network(7).total]).samples == [1]


def test_an_inner_node_that_is_used_elsewhere_is_not_rolled_wrongly():
    w, xs = Variable(0.5), [Variable(0.1 * k) for k in range(10)]
    inner = [(w * x).sin() for x in xs]
    terms = [(each * w).tanh() * w for each in inner]
    total = Graph.sum(terms)
    _, values = rolled([total * inner[3].cos(), total], [w])  # the others may be added up before it
    expected = reference_values([total * inner[3].cos()])
    assert near(expected[total.row], values[1], magnitude(terms), 10) and values[0] == values[1] * math.cos(
        expected[inner[3].row]
    )
    keeps_every_bit([total, inner[3], inner[7]], [w])


def test_neighbours_that_share_a_part_are_not_rolled_wrongly():
    w, hidden = Variable(0.5), [Variable(0.1 * k).sin() for k in range(12)]
    keeps_every_bit([Graph.sum([(a * w).tanh() * b for a, b in pairwise(hidden)])], [w])


def test_samples_that_share_a_leaf_that_is_not_asked_for_may_be_rolled():
    w, xs = Variable(0.5), [Constant(0.1 * k) for k in range(12)]
    new = keeps_every_bit([Graph.sum([(a * w).tanh() * b for a, b in pairwise(xs)])], [w])
    assert new.samples == [1, 11]


def test_samples_that_share_a_wanted_leaf_are_not_rolled_wrongly():
    w, xs = Variable(0.5), [Variable(0.1 * k) for k in range(12)]
    keeps_every_bit([Graph.sum([(a * w).tanh() * b for a, b in pairwise(xs)])], [w, *xs])


def test_a_term_that_is_added_again_and_again_is_no_sample():
    w, x = Variable(0.5), Variable(2.0)
    term = (w * x).sin() * x
    new = keeps_every_bit([Graph.sum([term] * 10)], [w])
    assert TOTAL not in new.kinds


def test_a_shared_term_times_a_sample_is_rolled_rightly():
    w = Variable(0.5)
    shared = (w.sin() * w).cos()
    keeps_every_bit([Graph.sum([shared * (Constant(0.1 * k) * w).sin() for k in range(10)])], [w])


def test_a_loop_in_a_loop_keeps_every_bit():
    ws, total = [Variable(0.1 * k) for k in range(9)], None
    for i in range(10):
        inner = Graph.sum([(w * Constant(0.01 * i * k)).sin() * w for k, w in enumerate(ws)])
        total = inner.tanh() if total is None else total + inner.tanh()
    assert len(keeps_every_bit([total], ws).samples) == 2


def test_rows_that_became_lanes_are_not_rolled_again():
    w, total = Variable(0.5), None
    for i in range(10):
        inner = Graph.sum([(w * Constant(0.01 * i * k)).sin() * w for k in range(9)])
        total = inner.tanh() if total is None else total + inner.tanh()
    assert keeps_every_bit([total], [w]).samples == [1, 10]


def test_loops_that_depend_on_each_other_keep_every_bit():
    w, xs = Variable(0.5), [PlaceHolder() for _ in range(10)]
    for k, x in enumerate(xs):
        x.value = 0.3 * k
    mean = Graph.sum([(x * w).tanh() for x in xs]) / 10.0
    new = keeps_every_bit([Graph.sum([((x * w).tanh() - mean).square() for x in xs])], [w])
    assert len(new.samples) > 1


def test_a_sum_that_a_comparison_sees_keeps_its_order():
    w = Variable(0.1)
    odd, even = ([(w * Constant(0.1 * k)).sin() for k in range(start, 20, 2)] for start in (0, 1))
    terms = [each for k in range(10) for each in (odd[k] * w, even[k].tanh())]
    total = Graph.sum(terms)
    keeps_every_bit([ng.where(total > 0.3, total, w)], [w])


def test_a_sample_of_another_kind_stays_apart():
    w = Variable(0.5)
    leaves = [Constant(1.0 * k) if k % 2 else Variable(1.0 * k) for k in range(30)]
    _, values = rolled([Graph.sum([(w * x).sin() * x for x in leaves])], [w])
    assert values[1] == 0.5


def test_neighbours_in_a_stencil_are_no_samples_and_not_laid_side_by_side(monkeypatch):
    monkeypatch.setattr(passes, "_align_samples", lambda *_: pytest.fail("laid side by side"))
    u = [Variable(float(place)) for place in range(30)]
    for _ in range(10):
        u = [u[0], *[u[i] - 0.1 * (u[i - 1] * u[i + 1]) for i in range(1, 29)], u[-1]]
    keeps_every_bit([Graph.sum([each.sin() for each in u])])


def test_an_output_that_is_a_samples_own_leaf_depends_on_no_other_sample():
    """Its adjoint begins at 1 in its own lane alone."""
    xs = [Variable(k / 8) for k in range(8)]
    loss = Graph.sum([(x + 1.0).exp() for x in xs])
    assert Program([loss, xs[2]], xs[2:4])().gradient[1].tolist() == [1.0, 0.0]
