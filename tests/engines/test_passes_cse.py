"""Nothing is computed twice, or for nobody; and no bit changes."""

from random import Random

import numpy as np
from hypothesis import given, settings
from ir_values import counts, edges, evaluated, same, table_values
from random_graphs import random_graph, seeds, sizes

from naive_graph import Constant, Graph, Variable
from naive_graph.engines.passes.build_ir import build_ir
from naive_graph.engines.passes.cse import eliminate_common_subexpressions
from naive_graph.engines.passes.dots import dots
from naive_graph.graph.node_factory import CURRENT


def flattened(nodes):
    ir, chosen = build_ir(CURRENT.tables, [node.row for node in nodes])
    return ir, np.array([chosen.tolist().index(node.row) for node in nodes], np.int32)


def shared(*nodes):
    ir, wanted = flattened(nodes)
    return eliminate_common_subexpressions(ir, wanted)[0]


@given(seeds, sizes)
@settings(max_examples=80, deadline=None)
def test_sharing_changes_no_bit(seed, size):
    with Graph.scratch():
        nodes = random_graph(seed, size, odd=0.3)
        ir, _ = flattened(nodes)
        ir, _ = dots(ir, np.empty(0, np.int32))
        wanted = np.array(Random(seed).choices(range(len(ir)), k=3), np.int32)
        small, place = eliminate_common_subexpressions(ir, wanted)
        edges(small)
        before, after = evaluated(ir, table_values()), evaluated(small, table_values())
        assert (place[wanted] >= 0).all()
        assert all(same(after[to], before[row]) for row, to in enumerate(place.tolist()) if to >= 0)


@given(seeds, sizes)
@settings(max_examples=40, deadline=None)
def test_nothing_dead_or_double_is_left(seed, size):
    with Graph.scratch():
        nodes = random_graph(seed, size, odd=0.3)
        ir, _ = flattened(nodes)
        wanted = np.array(Random(seed).choices(range(len(ir)), k=3), np.int32)
        small, place = eliminate_common_subexpressions(ir, wanted)
        assert set(range(len(small))) == set(small.operands.tolist()) | set(place[wanted].tolist())
        operators = [(int(small.kinds[row]), *small.of(row)) for row in range(len(small)) if small.of(row)]
        assert len(operators) == len(set(operators))
        constants = [np.float64(each).tobytes() for each in small.constants.values()]
        assert len(constants) == len(set(constants))


def test_a_sine_that_is_written_twice_is_computed_once():
    x = Variable(2.0)
    assert counts(shared(Graph.sum([x.sin(), x.sin()]))) == {"leaf": 1, "sin": 1, "add": 1}


def test_two_variables_with_one_value_stay_two():
    assert counts(shared(Variable(2.0).sin() - Variable(2.0).sin())) == {"leaf": 2, "sin": 2, "sub": 1}


def test_zero_and_minus_zero_stay_two():
    assert len(shared(Constant(0.0) - Constant(-0.0)).constants) == 2


def test_operands_in_another_order_are_another_row():
    x, y = Variable(2.0), Variable(3.0)
    assert counts(shared((x * y) - (y * x)))["mul"] == 2
