"""From the tables to columns: the rows that somebody asked for, each with all its operands."""

from random import Random

import pytest
from hypothesis import given, settings
from ir_values import edges, evaluated, ir_of, reference_values, same, table_values
from random_graphs import random_graph, seeds, sizes

from naive_graph import Graph, Variable
from naive_graph.core.plan import plan_for
from naive_graph.engines.passes.build_ir import build_ir
from naive_graph.graph.node_factory import CURRENT


def flattened(nodes):
    ir, chosen = build_ir(CURRENT.tables, [node.row for node in nodes])
    edges(ir)
    return ir, chosen.tolist()


def drawn(row, chosen):
    """A row's operands: a merged one goes on with the value of what it absorbed, where that is among the rows."""
    operands, absorbed = CURRENT.tables.operands(row), CURRENT.tables.adjacency.absorbed_row(row)
    if absorbed is None:
        return operands
    rest = operands[len(CURRENT.tables.operands(absorbed)) :]
    return [*([absorbed] if absorbed in chosen else drawn(absorbed, chosen)), *rest]


def written_out(row, chosen):
    return CURRENT.tables.operands(row)


def agree_with_the_plan(nodes, operands=drawn):
    ir, chosen = flattened(nodes)
    plan, values = plan_for(CURRENT.tables, [node.row for node in nodes]), evaluated(ir, table_values())
    expected = reference_values(nodes)
    assert sorted(chosen) == sorted(plan.rows)
    assert all(same(value, expected[row]) for row, value in zip(chosen, values, strict=True))
    for place, row in enumerate(chosen):
        assert [chosen[each] for each in ir.of(place)] == operands(row, set(chosen))


@given(seeds, sizes)
@settings(max_examples=60, deadline=None)
def test_columns_hold_what_the_plan_holds(seed, size):
    with Graph.scratch():
        nodes = random_graph(seed, size, odd=0.2)
        agree_with_the_plan(Random(seed).choices(nodes, k=3))


@given(seeds, sizes)
@settings(max_examples=30, deadline=None)
def test_edges_drawn_by_hand_go_by_the_plan(seed, size):
    with Graph.scratch():
        nodes, random = random_graph(seed, size), Random(seed)
        sums = [node for node in nodes if takes_more(node.row)]
        for late in (Variable(2.0), Variable(3.0).sin()):
            if sums:
                late.build_edge(random.choice(sums))
        agree_with_the_plan([node for node in nodes if not node.absorbed][-3:], written_out)


def takes_more(row):
    """Whether an edge may be drawn to it: a sum or a product that was not merged."""
    return CURRENT.tables.kind(row) in ("add", "mul") and ~row not in CURRENT.tables.sources


def test_an_absorbed_row_that_is_used_stays_a_row():
    a, b, c = Variable(1.0), Variable(2.0), Variable(4.0)
    y = a + b
    z = y + c
    agree_with_the_plan([z * y])
    agree_with_the_plan([y, z])


def test_sums_that_go_on_from_a_used_one_have_few_operands():
    total, seen = Variable(1.0), []
    for _ in range(100):
        total = total + Variable(1.0)
        seen.append(total.sin())
    assert len(flattened(seen)[0].operands) == 300


def test_a_merged_sum_has_all_its_operands():
    y = x = Variable(1.0)
    for _ in range(20):
        y = y + x
    ir, _ = flattened([y])
    assert ir.of(1) == [0] * 21


def test_the_same_target_may_be_asked_for_twice():
    x = Variable(1.0)
    y = x.sin()
    ir, chosen = flattened([y, y, x])
    assert chosen == [x.row, y.row] and len(ir) == 2


@pytest.mark.parametrize("seed", range(5))
def test_a_plan_as_columns_has_its_own_steps(seed):
    nodes = random_graph(seed, 50)
    plan = plan_for(CURRENT.tables, [nodes[-1].row])
    ir = ir_of(plan)
    expected, held = reference_values([nodes[-1]]), table_values()
    values = evaluated(ir, [held[row] for row in plan.rows])
    assert all(same(value, expected[row]) for row, value in zip(plan.rows, values, strict=True))
