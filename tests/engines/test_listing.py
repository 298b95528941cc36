"""A listing says of every row where it went, and which instruction leaves it in which slot."""

import numpy as np
from hypothesis import given, settings
from ir_values import evaluated, same, table_values
from random_graphs import random_graph, seeds, sizes

from naive_graph import Graph, Variable
from naive_graph.engines.compiled.listing import list_runs
from naive_graph.engines.passes.build_ir import build_ir
from naive_graph.graph.node_factory import CURRENT


@given(seeds, sizes)
@settings(max_examples=40, deadline=None)
def test_a_row_has_its_bits_where_the_listing_says_that_it_went(seed, size):
    with Graph.scratch():
        target = random_graph(seed, size, odd=0.3)[-1]
        found = list_runs(CURRENT.tables, [target.row])
        ir, rows = build_ir(CURRENT.tables, [target.row])
        assert np.array_equal(rows, found.rows)
        before, after = evaluated(ir, table_values()), evaluated(found.ir, table_values())
        assert found.place[-1] >= 0
        assert all(same(after[to], before[row]) for row, to in enumerate(found.place.tolist()) if to >= 0)


@given(seeds, sizes)
@settings(max_examples=40, deadline=None)
def test_every_computed_row_is_left_by_one_instruction_of_its_name_in_a_slot_of_its_own(seed, size):
    with Graph.scratch():
        target = random_graph(seed, size, odd=0.3)[-1]
        found = list_runs(CURRENT.tables, [target.row])
        computed = found.ir.computed().tolist()
        left = {slot: each.name for each in found.instructions for slot in range(each.first, each.first + each.rows)}
        assert sum(each.rows for each in found.instructions) == len(left) == len(computed)
        assert {int(found.slots[row]): found.ir.name(row) for row in computed} == left


def test_a_product_goes_into_the_dot_that_adds_it_up():
    x, y = Variable(2.0), Variable(3.0)
    z = x * y + x * x + y
    found = list_runs(z.tables, [z.row])
    assert [found.ir.name(row) for row in range(len(found.ir))] == ["leaf", "leaf", "dot"]
    assert found.place.tolist()[2:4] == [-1, -1] and [each.name for each in found.instructions] == ["dot"]
