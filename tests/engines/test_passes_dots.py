"""Sums of products as dots: the same bits, in fewer rows."""

from random import Random

import numpy as np
from drawn import drawn
from hypothesis import given, settings
from ir_values import edges, evaluated, same, table_values
from random_graphs import random_graph, seeds, sizes

from naive_graph import Constant, Graph, Variable
from naive_graph.engines.passes.build_ir import build_ir
from naive_graph.engines.passes.dots import dots
from naive_graph.engines.passes.ir import ADD, DOT, MUL, NONE
from naive_graph.graph.node_factory import CURRENT


def flattened(*nodes):
    ir, chosen = build_ir(CURRENT.tables, [node.row for node in nodes])
    return ir, np.array([chosen.tolist().index(node.row) for node in nodes], np.int32)


@given(seeds, sizes)
@settings(max_examples=80, deadline=None)
def test_dots_change_no_bit(seed, size):
    with Graph.scratch():
        nodes = random_graph(seed, size, odd=0.2)
        ir, keep = flattened(*Random(seed).choices(nodes, k=3))
        fused, place = dots(ir, keep)
        edges(fused)
        before, after = evaluated(ir, table_values()), evaluated(fused, table_values())
        assert (place[keep] != NONE).all()
        assert all(same(after[to], before[row]) for row, to in enumerate(place.tolist()) if to != NONE)


@given(seeds, sizes)
@settings(max_examples=30, deadline=None)
def test_no_product_is_left_that_only_one_sum_uses(seed, size):
    with Graph.scratch():
        ir, keep = flattened(random_graph(seed, size)[-1])
        fused, place = dots(ir, keep)
        uses = np.bincount(fused.operands[fused.operands >= 0], minlength=len(fused))
        for row in range(len(fused)):
            for each in lone_terms(fused, row):
                alone = uses[each] == 1 and each != place[keep[0]]
                assert not (alone and fused.kinds[each] == MUL and len(fused.of(each)) == 2)


def lone_terms(ir, row):
    """Operands that a sum takes as they are."""
    operands = ir.of(row)
    if ir.kinds[row] == DOT:
        return [x for x, y in zip(operands[::2], operands[1::2]) if y == NONE]
    return operands if ir.kinds[row] == ADD else []


def test_a_product_that_somebody_wants_to_see_stays():
    x, y = Variable(2.0), Variable(3.0)
    product = x * y
    fused, place = dots(*flattened(product, product + x))
    assert [fused.name(row) for row in range(len(fused))] == ["leaf", "leaf", "mul", "add"] and place[2] == 2


def test_a_product_of_three_stays():
    x, y = Variable(2.0), Variable(3.0)
    fused, _ = dots(*flattened(x * y * x + y))
    assert MUL in fused.kinds and DOT not in fused.kinds


def test_a_sum_dissolves_in_the_sum_that_it_begins_and_in_no_other():
    x, y, z = Variable(2.0), Variable(3.0), Variable(5.0)
    begins, follows = Graph.sum([Graph.sum([x, y]), z]), Graph.sum([z, Graph.sum([x, y])])
    assert dots(*flattened(begins))[0].kinds.tolist()[3:] == [DOT]
    assert dots(*flattened(follows))[0].kinds.tolist()[3:] == [ADD, ADD]


def test_minus_zero_survives_in_a_dot():
    x, zero = Constant(-0.0), Constant(1.0)
    fused, _ = dots(*flattened(Graph.sum([x * zero, x, x])))
    assert same(evaluated(fused, [])[-1], -0.0)


def test_a_total_over_samples_goes_through():
    ir = drawn("""
        0 leaf
        1 leaf (group 1)
        2 mul 0 1 (group 1)
        3 total 2
        4 mul 0 0
        5 add 3 4
    """)
    fused, _ = dots(ir, np.array([5], np.int32))
    assert str(fused).splitlines()[3:] == ["   3 total 2", "   4 dot 3 + 0*0"]
