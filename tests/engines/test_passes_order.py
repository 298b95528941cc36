"""The passes that only put rows in an order: nothing comes before what it needs."""

import numpy as np
import pytest
from drawn import drawn
from hypothesis import given, settings
from hypothesis import strategies as st
from ir_values import evaluated, near, reference_values, same, table_values
from random_graphs import ODD, random_graph, seeds, sizes
from taped import batch_plan, lowered, on_tape, random_plan
from unrolled import network

from naive_graph import Graph, PlaceHolder, Program, Variable, total
from naive_graph.engines.compiled.runs import LevelRuns
from naive_graph.engines.compiled.schedule import sections
from naive_graph.engines.passes.build_ir import build_ir
from naive_graph.engines.passes.ir import MUL, NONE, REDUCE, TOTAL
from naive_graph.engines.passes.strength_reduction import powers
from naive_graph.graph.node_factory import CURRENT

NORMALISED = """
    0 leaf
    1 leaf (group 1)
    2 mul 0 1 (group 1)
    3 total 2
    4 sub 2 3 (group 1)
    5 reduce 4*1
    6 sin 0
    7 add 5 6
"""


# --- powers -------------------------------------------------------------------


@given(st.floats(-1e3, 1e3), st.sampled_from([2.0, 3.0, 0.5, -2.0, 2]))
@settings(deadline=None)
def test_only_squares_become_products(number, exponent):
    with Graph.scratch():
        y = Variable(number) ** exponent
        ir, _ = build_ir(CURRENT.tables, [y.row])
        made, _ = powers(ir, [])
        assert (MUL in made.kinds) == (exponent == 2)
        before, after = evaluated(ir, table_values())[-1], evaluated(made, table_values())[-1]
        assert near(before, after, abs(before), 1) or same(before, after)


@pytest.mark.parametrize("number", [np.inf, -np.inf, np.nan, 0.0, -0.0, 1e200])
def test_odd_numbers_have_the_same_square(number):
    ir, _ = build_ir(CURRENT.tables, [(Variable(number) ** 2).row])
    assert same(evaluated(ir, table_values())[-1], evaluated(powers(ir, [])[0], table_values())[-1])


def test_a_variable_exponent_stays():
    ir, _ = build_ir(CURRENT.tables, [(Variable(3.0) ** Variable(2.0)).row])
    assert MUL not in powers(ir, [])[0].kinds


# --- sections -----------------------------------------------------------------


def hold_together(ir):
    """Every computed row runs once, after all that it needs."""
    parts, done = sections(ir), set(ir.leaves().tolist())
    for part in parts:
        done_before = set(done)
        for row in part.rows.tolist():
            assert row not in done
            needed = {each for each in ir.of(row) if each != NONE}
            assert needed <= done
            # what other sections of this run compute at the same time is not there yet
            apart = {each for each in needed if ir.groups[each] != part.group and each not in ir.leaves()}
            assert apart <= done_before
            collects = ir.kinds[row] in (TOTAL, REDUCE)
            assert ir.groups[row] == (0 if collects else part.group)
            done.add(row)
    assert done == set(range(len(ir)))
    return parts


@given(seeds)
@settings(max_examples=30, deadline=None)
def test_a_section_needs_only_what_earlier_ones_computed(seed):
    with Graph.scratch():
        hold_together(random_plan(seed))
    with Graph.scratch():
        hold_together(batch_plan(seed))


def test_samples_that_need_their_total_have_two_sections_of_lanes():
    parts = hold_together(drawn(NORMALISED))
    assert [(part.group, part.rows.tolist()) for part in parts] == [(0, [6]), (1, [2, 3]), (1, [4, 5]), (0, [7])]
    assert [part.group for part in parts if part.group] == [1, 1]


def test_a_plain_loss_has_one_section_of_lanes():
    parts = hold_together(lowered([(loss := network(9)).total], loss.weights).ir)
    assert [part.group for part in parts if part.group] == [1]


def test_a_plan_without_samples_is_one_section():
    x = Variable(1.0)
    assert len(hold_together(lowered([x.sin() * x], [x]).ir)) == 1


# --- level runs ---------------------------------------------------------------


@given(seeds, sizes)
@settings(max_examples=50, deadline=None)
def test_runs_are_of_one_shape_and_operands_come_first(seed, size):
    with Graph.scratch():
        nodes = random_graph(seed, size)
        ir, _ = build_ir(CURRENT.tables, [nodes[-1].row])
        made = LevelRuns(ir, [])
        row_at = np.argsort(made.places).tolist()
        assert sorted(row_at) == [*range(len(ir) + 1)]  # with the one for a missing factor
        runs, done = made.runs.reshape(-1, 4).tolist(), len(ir.leaves()) + 1
        for shape, first, many, _ in runs:
            kind, arity = made.shapes[shape]
            assert first == done
            for row in row_at[first : first + many]:
                assert (int(ir.kinds[row]), len(ir.of(row))) == (kind, arity)
                assert all(made.places[each] < first for each in ir.of(row))
            done += many
        assert done == len(ir) + 1


@given(st.lists(st.sampled_from(ODD), min_size=5, max_size=5))
@settings(max_examples=40, deadline=None)
def test_rows_of_every_kind_keep_every_bit(numbers):
    with Graph.scratch():
        a, b, c, d, e = map(Variable, numbers)
        nodes = [a + b, a - b, a * b, -a, a * b + c, a + b * c + d, a * b + c * d + e, Graph.sum([a, b, c, d, e] * 3)]
        expected = reference_values(nodes)
        for node, taped in zip(nodes, on_tape(lowered(nodes, [])), strict=True):
            assert same(taped, expected[node.row])


# --- samples ------------------------------------------------------------------


@given(st.lists(st.sampled_from([1, 7, 8, 100, 129, 300]), min_size=1, max_size=5), seeds)
@settings(max_examples=15, deadline=None)
def test_batches_of_any_lengths_may_follow_each_other(lengths, seed):
    random = np.random.default_rng(seed)
    with Graph.scratch():
        w, (x, y) = Variable(0.5), (PlaceHolder(), PlaceHolder())
        program = Program([total(w * x * y), x - y], [w], inputs=[[x, y]], engine="compiled")
        for length in lengths:
            given_now = random.integers(-9, 10, (length, 2)).astype(float)
            product = given_now.prod(axis=1)
            (value, difference), (slope, _) = program(given_now)
            assert value == 0.5 * product.sum() and slope == [product.sum()]
            assert difference.tolist() == (given_now[:, 0] - given_now[:, 1]).tolist()


def test_numbers_that_are_fed_once_are_there_in_every_run():
    with Graph.scratch():
        w = Variable(2.0)
        program = Program(Graph.sum([(w * x).square() for x in range(9)]), [w], engine="compiled")
        assert "9 samples" in program.explain()
        assert [program().value for _ in range(3)] == [816.0] * 3
