"""The list of passes: each, alone, takes a plan and what is wanted of it, and gives both."""

import pytest
from hypothesis import given, settings
from ir_values import at, edges, evaluated, same, table_values
from random_graphs import random_graph, seeds, sizes

from naive_graph import Graph
from naive_graph.engines.passes.build_ir import build_ir
from naive_graph.engines.passes.ir import NONE, Sample
from naive_graph.engines.passes.lowering import PASSES, Wanted
from naive_graph.graph.node_factory import CURRENT

KEEPING = {each.name: each for each in PASSES if each.name not in ("powers", "batch", "adjoint")}


@pytest.mark.parametrize("name", KEEPING)
def test_a_pass_by_itself_keeps_the_bits_of_what_is_wanted(name):
    @given(seeds, sizes)
    @settings(max_examples=25, deadline=None)
    def law(seed, size):
        with Graph.scratch():
            rows = [node.row for node in random_graph(seed, size, odd=0.2)[-2:]]
            ir, chosen = build_ir(CURRENT.tables, rows)
            wanted = Wanted([Sample(chosen.tolist().index(row), NONE) for row in rows], [], [])
            made, now = KEEPING[name].run(ir, wanted)
            edges(made)
            before, after = evaluated(ir, table_values()), evaluated(made, table_values())
            found = zip(wanted.outputs, now.outputs, strict=True)
            assert all(same(at(before, was), at(after, here)) for was, here in found)

    law()


def test_derivatives_take_the_place_of_what_they_are_with_respect_to():
    (adjoint,) = (each for each in PASSES if each.name == "adjoint")
    x = Graph.Variable(3.0)
    y = x * x
    ir, _ = build_ir(CURRENT.tables, [y.row, x.row])
    made, wanted = adjoint.run(ir, Wanted([Sample(1, NONE)], [Sample(0, NONE)], []))
    ((slope,),) = wanted.slopes
    assert wanted.wrt == [] and evaluated(made, table_values())[slope.row] == 6.0
