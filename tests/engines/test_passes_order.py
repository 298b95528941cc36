"""The passes that only put rows in an order: nothing comes before what it needs."""

from random import Random

import numpy as np
import pytest
from drawn import drawn
from flats import evaluated, near, same, table_values
from hypothesis import given, settings
from hypothesis import strategies as st
from random_graphs import random_graph, seeds, sizes
from taped import lowered
from unrolled import Habit, network, unrolled

import naive_graph as ng
from naive_graph import Graph, PlaceHolder, Variable
from naive_graph.engines.tape.blocks import Instruction, Slot, give_slots
from naive_graph.engines.tape.flat import MUL, NONE, REDUCE, TOTAL
from naive_graph.engines.tape.powers import powers
from naive_graph.engines.tape.rows import flat_of_tables
from naive_graph.engines.tape.runs import runs, shapes_of
from naive_graph.engines.tape.sections import lives_on, sections
from naive_graph.engines.tape.tiles import Dense, Outer, tiles
from naive_graph.handles import CURRENT

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


def random_plan(seed, samples=12):
    """A plan with lanes and scalars, derivatives included."""
    loss = unrolled(Habit(seed, samples, structures=2, library=False))
    return lowered([loss.total * loss.total], loss.wanted).flat


def batch_plan(seed):
    """A fed batch that loses its mean, and whose square is gathered again."""
    loss = unrolled(Habit(seed, 1, data=PlaceHolder, library=False))
    term, xs = loss.terms[0], loss.data[0]
    centred = term - ng.mean(term)
    spread = ng.mean(centred.square())
    return lowered([ng.total(centred / (spread + 1.0) * loss.weights[0])], loss.weights, xs).flat


# --- powers -------------------------------------------------------------------


@given(st.floats(-1e3, 1e3), st.sampled_from([2.0, 3.0, 0.5, -2.0, 2]))
@settings(deadline=None)
def test_only_squares_become_products(number, exponent):
    with Graph.scratch():
        y = Variable(number) ** exponent
        flat, _ = flat_of_tables(CURRENT.tables, [y.row])
        made = powers(flat)
        assert (MUL in made.kinds) == (exponent == 2)
        before, after = evaluated(flat, table_values())[-1], evaluated(made, table_values())[-1]
        assert near(before, after, abs(before), 1) or same(before, after)


@pytest.mark.parametrize("number", [np.inf, -np.inf, np.nan, 0.0, -0.0, 1e200])
def test_odd_numbers_have_the_same_square(number):
    flat, _ = flat_of_tables(CURRENT.tables, [(Variable(number) ** 2).row])
    assert same(evaluated(flat, table_values())[-1], evaluated(powers(flat), table_values())[-1])


def test_a_variable_exponent_stays():
    flat, _ = flat_of_tables(CURRENT.tables, [(Variable(3.0) ** Variable(2.0)).row])
    assert MUL not in powers(flat).kinds


# --- sections -----------------------------------------------------------------


def hold_together(flat):
    """Every computed row runs once, after all that it needs."""
    parts, done = sections(flat), set(flat.leaves().tolist())
    for part in parts:
        done_before = set(done)
        for row in part.rows.tolist():
            assert row not in done
            needed = {each for each in flat.of(row) if each != NONE}
            assert needed <= done
            # what other sections of this run compute at the same time is not there yet
            apart = {each for each in needed if flat.groups[each] != part.group and each not in flat.leaves()}
            assert apart <= done_before
            collects = flat.kinds[row] in (TOTAL, REDUCE)
            assert flat.groups[row] == (0 if collects else part.group)
            done.add(row)
    assert done == set(range(len(flat)))
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
    assert lives_on(parts) == {1}


def test_a_plain_loss_has_one_section_of_lanes():
    parts = hold_together(lowered([(loss := network(9)).total], loss.weights).flat)
    assert [part.group for part in parts if part.group] == [1] and not lives_on(parts)


def test_a_plan_without_samples_is_one_section():
    x = Variable(1.0)
    assert len(hold_together(lowered([x.sin() * x], [x]).flat)) == 1


# --- tiles --------------------------------------------------------------------


def rows_of(step):
    if isinstance(step, Dense):
        return step.outputs
    return [row for results in step.results for row in results] if isinstance(step, Outer) else [step.row]


def needs_of(flat, step):
    return {each for row in rows_of(step) for each in flat.of(row) if each != NONE}


def fits(flat, step):
    """Whether a tile says of its rows what the plan says."""
    if isinstance(step, Dense):
        return all(
            sorted(terms(flat, row)) == sorted([*([(bias,)] if bias != NONE else []), *map(pair, ws, step.inputs)])
            for row, ws, bias in zip(step.outputs, step.weights, step.bias, strict=True)
        )
    if isinstance(step, Outer):
        grid = zip(step.lefts, step.results, strict=True)
        return all(
            flat.of(row) == [left, right] for left, rows in grid for right, row in zip(step.rights, rows, strict=True)
        )
    return True


def pair(x, y):
    return tuple(sorted((x, y)))


def terms(flat, row):
    operands = flat.of(row)
    return [(x,) if y == NONE else pair(x, y) for x, y in zip(operands[::2], operands[1::2], strict=True)]


def tiled(flat):
    """Every row of every section stands in one step, after what it needs; returns the steps."""
    found, done = [], set(flat.leaves().tolist())
    for part in sections(flat):
        if part.group == 0:
            done |= set(part.rows.tolist())
            continue
        steps = tiles(flat, part)
        assert sorted(row for step in steps for row in rows_of(step)) == part.rows.tolist()
        for step in steps:
            assert needs_of(flat, step) <= done and fits(flat, step)
            done |= set(rows_of(step))
        found += steps
    return found


@given(seeds)
@settings(max_examples=30, deadline=None)
def test_every_row_is_in_one_tile_and_operands_come_first(seed):
    with Graph.scratch():
        tiled(random_plan(seed))
    with Graph.scratch():
        tiled(batch_plan(seed))


@given(st.integers(8, 12), st.integers(1, 5), st.integers(1, 6), seeds)
@settings(max_examples=20, deadline=None)
def test_a_networks_layers_are_tiles(samples, inputs, hidden, seed):
    with Graph.scratch():
        loss = network(samples, inputs, hidden, seed=seed)
        steps = tiled(lowered([loss.total], loss.weights).flat)
        if hidden > 1:
            assert any(isinstance(step, Dense) and len(step.outputs) == hidden for step in steps)
            assert any(isinstance(step, Outer) and len(step.results) == hidden for step in steps)


def test_outputs_that_feed_each_other_are_no_tile():
    tiled(
        drawn("""
        0 leaf
        1 leaf (group 1)
        2 leaf (group 1)
        3 dot 0*1 + 0*2 (group 1)
        4 dot 0*1 + 0*3 (group 1)
        5 dot 0*1 + 0*3 (group 1)
        6 dot 0*1 + 0*2 (group 1)
    """)
    )


def test_an_input_that_is_weighted_twice_is_two_inputs():
    steps = tiled(
        drawn("""
        0 leaf
        1 leaf (group 1)
        2 dot 0*1 + 0*1 (group 1)
        3 dot 0 + 0*1 + 0*1 (group 1)
        4 dot 0 + 1*0 + 1*0 (group 1)
    """)
    )
    assert [type(step).__name__ for step in steps] == ["Single", "Dense"]


def test_an_outer_product_of_one_adjoint_with_itself_is_a_tile():
    tiled(
        drawn("""
        0 leaf (group 1)
        1 leaf (group 1)
        2 reduce 0*0
        3 reduce 0*1
        4 reduce 1*0
        5 reduce 1*1
        6 reduce 1*1
        7 reduce 1
    """)
    )


# --- runs ---------------------------------------------------------------------


@given(seeds, sizes)
@settings(max_examples=50, deadline=None)
def test_runs_are_of_one_shape_and_operands_come_first(seed, size):
    with Graph.scratch():
        random, nodes = Random(seed), random_graph(seed, size)
        flat, _ = flat_of_tables(CURRENT.tables, [nodes[-1].row])
        flat = lowered([nodes[-1]], random.choices([*varying(nodes), *[Variable(1.0)]], k=2)).flat
        for part in sections(flat):
            if part.group == 0:
                in_order(flat, part.rows)


def varying(nodes):
    return [node for node in nodes if type(node) is Variable]


def in_order(flat, rows):
    found = runs(flat, rows)
    assert sorted(found.order.tolist()) == rows.tolist()
    assert found.starts[0] == 0 and found.starts[-1] == len(rows) and (np.diff(found.starts) > 0).all()
    of_row, shapes = shapes_of(flat, rows)
    shape_of = {row: shapes[at] for row, at in zip(rows.tolist(), of_row.tolist(), strict=True)}
    waiting = set(rows.tolist())
    for run, shape in enumerate(found.shapes):
        members = found.order[found.starts[run] : found.starts[run + 1]].tolist()
        assert {shape_of[row] for row in members} == {shape}
        assert not any(each in waiting for row in members for each in flat.of(row) if each != NONE)
        waiting -= set(members)


def test_dots_of_other_terms_are_of_another_shape():
    flat = drawn("""
        0 leaf
        1 dot 0*0 + 0
        2 dot 0 + 0*0
        3 dot 0*0 + 0*0
        4 dot 0*0 + 0
        5 add 0 0
        6 add 0 0 0
    """)
    of_row, shapes = shapes_of(flat, np.arange(1, 7, dtype=np.int32))
    assert of_row[0] == of_row[3] and len(shapes) == 5


def test_no_rows_are_no_runs():
    assert runs(drawn("0 leaf"), np.empty(0, np.int32)).shapes == []


# --- slots --------------------------------------------------------------------


@given(st.lists(st.lists(st.integers(0, 30), min_size=1, max_size=5), min_size=1, max_size=60), st.booleans())
@settings(max_examples=100, deadline=None)
def test_two_values_that_are_needed_at_once_never_share_a_slot(accesses, keep):
    instructions = [Instruction(0, [Slot(row) for row in rows]) for rows in accesses]
    slot_of = {}
    size = give_slots(instructions, slot_of, keep)
    assert set(slot_of.values()) <= set(range(size))
    first, last = {}, {}
    for time, rows in enumerate(accesses):
        for row in rows:
            first.setdefault(row, time)
            last[row] = len(accesses) if keep else time
    for a in first:
        for b in first:
            if a < b and first[a] <= last[b] and first[b] <= last[a]:
                assert slot_of[Slot(a)] != slot_of[Slot(b)]


def test_slots_of_an_earlier_section_are_not_given_away():
    slot_of = {Slot(7): 0, Slot(8): 1}
    give_slots([Instruction(0, [Slot(1), Slot(7)]), Instruction(0, [Slot(2), Slot(1)])], slot_of, True)
    assert len(set(slot_of.values())) == len(slot_of)


def test_a_value_that_nobody_reads_again_gives_its_slot_back():
    chain = [Instruction(0, [Slot(row + 1), Slot(row)]) for row in range(20)]
    assert give_slots(chain, {}, False) == 2
