"""Dots that share operands become matrices, which stand where their operands are there."""

from drawn import drawn
from hypothesis import given, settings
from hypothesis import strategies as st
from random_graphs import seeds
from taped import batch_plan, lowered, random_plan
from unrolled import network

from naive_graph import Graph
from naive_graph.engines.compiled.schedule import (
    DENSE_LEAST,
    DenseLayer,
    Outer,
    find_dense_layers,
    operands_of,
    schedule_section,
    sections,
)
from naive_graph.engines.passes.ir import NONE


def rows_of(step):
    return step if isinstance(step, list) else operands_of(None, step)[0]  # only a list of rows asks the plan


def needs_of(ir, step):
    return {each for row in rows_of(step) for each in ir.of(row) if each != NONE}.difference(rows_of(step))


def fits(ir, step):
    """Whether a tile says of its rows what the plan says."""
    if isinstance(step, DenseLayer):
        return all(
            sorted(terms(ir, row)) == sorted([*([(bias,)] if bias != NONE else []), *map(pair, ws, step.inputs)])
            for row, ws, bias in zip(step.outputs, step.weights, step.bias, strict=True)
        )
    if isinstance(step, Outer):
        grid = zip(step.lefts, step.results, strict=True)
        return all(
            ir.of(row) == [each for both in zip(left, right, strict=True) for each in both]
            for left, rows in grid
            for right, row in zip(step.rights, rows, strict=True)
        )
    return True


def pair(x, y):
    return tuple(sorted((x, y)))


def terms(ir, row):
    operands = ir.of(row)
    return [(x,) if y == NONE else pair(x, y) for x, y in zip(operands[::2], operands[1::2], strict=True)]


def tiled(ir):
    """Every row of every section stands in one step, after what it needs; returns the steps."""
    found, done = [], set(ir.leaves().tolist())
    for part in sections(ir):
        if part.group == 0:
            done |= set(part.rows.tolist())
            continue
        steps = schedule_section(ir, part)
        assert sorted(row for step in steps for row in rows_of(step)) == part.rows.tolist()
        for step in steps:
            assert needs_of(ir, step) <= done and fits(ir, step)
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


@given(st.integers(8, 12), st.integers(1, 7), st.integers(1, 6), seeds)
@settings(max_examples=20, deadline=None)
def test_a_networks_layers_are_tiles(samples, inputs, hidden, seed):
    with Graph.scratch():
        loss = network(samples, inputs, hidden, seed=seed)
        steps = tiled(lowered([loss.total], loss.weights).ir)
        if hidden > 1 and hidden * inputs >= DENSE_LEAST:
            assert any(isinstance(step, DenseLayer) and len(step.outputs) == hidden for step in steps)
            assert any(isinstance(step, Outer) and hidden in (len(step.lefts), len(step.rights)) for step in steps)


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
    ir = drawn("""
        0 leaf
        1 leaf (group 1)
        2 dot 0*1 + 0*1 (group 1)
        3 dot 0 + 0*1 + 0*1 (group 1)
        4 dot 0 + 1*0 + 1*0 (group 1)
    """)
    (layer,) = find_dense_layers(ir, sections(ir)[0])
    assert layer.outputs == [3, 4] and layer.inputs == [1, 1] and fits(ir, layer)


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
