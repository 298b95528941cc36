"""A softmax whose exponentials are computed once has the bits of one that computes them again and again."""

import pytest
from drawn import drawn
from hypothesis import given, settings
from hypothesis import strategies as st
from ir_values import counts, edges, evaluated, same, table_values
from random_graphs import ODD
from taped import lowered, on_tape

import naive_graph as ng
from naive_graph import Graph, Variable
from naive_graph.engines.passes.build_ir import build_ir
from naive_graph.engines.passes.softmax import softmax
from naive_graph.graph.node_factory import CURRENT

NUMBERS = st.one_of(st.floats(-800, 800), st.sampled_from(ODD))


@given(st.lists(NUMBERS, min_size=1, max_size=6), st.integers(0, 5))
@settings(max_examples=40, deadline=None)
def test_shares_keep_every_bit(numbers, again):
    with Graph.scratch():
        xs = [Variable(each) for each in numbers]
        xs.append(xs[again % len(xs)])  # one of them twice
        shares = ng.softmax(xs)
        ir, _ = build_ir(CURRENT.tables, [each.row for each in shares])
        made, moved = softmax(ir, [])
        edges(made)
        before, after = evaluated(ir, table_values()), evaluated(made, table_values())
        assert all(same(after[to], before[row]) for row, to in enumerate(moved.tolist()))
        assert counts(made)["exp_below"] == len(xs)


@given(st.lists(NUMBERS, min_size=1, max_size=6))
@settings(max_examples=40, deadline=None)
def test_a_logsumexp_beside_its_shares_keeps_every_bit(numbers):
    with Graph.scratch():
        xs = [Variable(each) for each in numbers]
        rows = [each.row for each in (ng.logsumexp(xs), *ng.softmax(xs))]
        ir, _ = build_ir(CURRENT.tables, rows)
        made, moved = softmax(ir, [])
        edges(made)
        before, after = evaluated(ir, table_values()), evaluated(made, table_values())
        assert all(same(after[to], before[row]) for row, to in enumerate(moved.tolist()))
        assert "logsumexp" not in counts(made) and counts(made)["exp_below"] == len(xs)


def test_a_logsumexp_alone_stays_as_it_is():
    ir = drawn("""
        0 leaf
        1 leaf
        2 logsumexp 0 1
        3 softmax_share 1 1 0
    """)
    made, _ = softmax(ir, [])
    assert counts(made)["logsumexp"] == 1


def test_a_share_of_something_else_stays_as_it_is():
    ir = drawn("""
        0 leaf
        1 leaf
        2 leaf
        3 softmax_share 0 1 2
    """)
    made, moved = softmax(ir, [])
    assert str(made) == str(ir) and moved.tolist() == [0, 1, 2, 3]


def test_shares_of_samples_have_a_value_for_each():
    ir = drawn(
        """
        0 leaf
        1 leaf (group 1)
        2 leaf (group 1)
        3 softmax_share 1 1 2 (group 1)
        4 softmax_share 0 0 0
        5 softmax_share 2 1 2 (group 1)
    """,
        [2],
    )
    given_values = [1.0, [1.0, 2.0], [3.0, -1.0]]
    made, moved = softmax(ir, [])
    edges(made)
    before, after = evaluated(ir, given_values), evaluated(made, given_values)
    assert all(same(after[to], before[row]) for row, to in enumerate(moved.tolist()))


def test_the_slopes_of_logsumexp_are_its_shares():
    xs = [Variable(each) for each in (1.0, 2.0, 0.5)]
    low = lowered([ng.logsumexp(xs), *ng.softmax(xs)], xs)
    taped = on_tape(low)
    assert taped[4:7] == taped[1:4] and counts(low.ir)["exp_below"] == 3


@pytest.mark.parametrize("engine", ["compiled", None])
@pytest.mark.parametrize("numbers", [(1.0, 2.0, 0.5), (800.0, -800.0, 3.0), (7.0, 7.0, 7.0)])
def test_every_engine_knows_the_pieces_of_a_softmax(engine, numbers):
    xs = list(map(Variable, numbers))
    outputs = [ng.logsumexp(xs), *ng.softmax(xs)]
    found, lawful = (ng.Program(outputs, wrt=xs, engine=each)() for each in (engine, "reference"))
    assert found.value == pytest.approx(lawful.value, rel=1e-15)
    for row, expected in zip(found.gradient, lawful.gradient, strict=True):
        assert list(row) == pytest.approx(list(expected), rel=1e-14, abs=1e-300)
