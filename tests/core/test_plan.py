"""Who goes first: Kahn's order, first in, first out, over the whole graph or what some targets need."""

import pytest
from graphs import any_graph, build
from hypothesis import given, settings

from naive_graph import Graph, Operator, PlaceHolder, Variable, gradients
from naive_graph.core.plan import Plan, plan_for, sort_topologically
from naive_graph.errors import GraphCycleError
from naive_graph.graph.node_factory import CURRENT


def order(*targets):
    return [Graph.node_list[row] for row in plan_for(CURRENT.tables, [target.row for target in targets]).rows]


def test_consumers_get_ready_in_the_order_their_edges_were_drawn():
    x = Variable(1.0)
    second, first = Operator("sin"), Operator("cos")
    x.build_edge(first)
    x.build_edge(second)
    assert order() == [x, first, second]


def test_a_plan_of_targets_holds_what_they_need_alone():
    a, b = Variable(1.0), Variable(2.0)
    y, z = a.sin(), b.cos()
    assert order(y) == [a, y] and order(z, y) == [a, b, y, z]


def test_the_targets_of_a_whole_graph_are_the_operators_that_feed_nobody():
    a, _unused = Variable(1.0), PlaceHolder()
    absorber = a + a + a.sin()
    y, z = a.cos(), a * 5.0
    plan = plan_for(CURRENT.tables)
    assert {Graph.node_list[plan.rows[step]] for step in plan.targets} == {absorber, y, z}


def test_targets_keep_the_order_in_which_they_were_named():
    x = Variable(1.0)
    y, z = x.sin(), x.cos()
    plan = plan_for(CURRENT.tables, [z.row, y.row, z.row])
    assert [Graph.node_list[plan.rows[step]] for step in plan.targets] == [z, y, z]


@settings(max_examples=150, deadline=None)
@given(any_graph())
def test_every_plan_is_the_order_of_a_plain_queue(recipe):
    """Kahn's sort once more, with a list for a queue and the graph asked node by node."""
    with Graph.scratch():
        build(recipe)
        live = [node for node in Graph.node_list if not node.absorbed]
        waiting = {node: node.in_deg for node in live}
        queue = [node for node in live if node.in_deg == 0]
        for node in queue:
            for consumer in node.next:
                waiting[consumer] -= 1
                if waiting[consumer] == 0:
                    queue.append(consumer)
        assert order() == queue


@settings(max_examples=100, deadline=None)
@given(any_graph())
def test_every_operand_comes_before_its_consumer(recipe):
    with Graph.scratch():
        nodes = build(recipe)
        for target in nodes:
            plan = plan_for(CURRENT.tables, [target.row])
            for step, row in enumerate(plan.rows):
                operands = [plan.rows[operand] for operand in plan.operands(step)]
                assert operands == CURRENT.tables.operands(row)
                assert all(operand < step for operand in plan.operands(step))
            assert plan.rows[plan.targets[0]] == target.row


def test_edges_drawn_by_hand_stand_beside_those_that_were_taken_over():
    a, b, c = Variable(1.0), Variable(2.0), Variable(4.0)
    late = Operator("add")
    merged = a + b + c
    merged.build_edge(late)
    c.build_edge(merged)
    a.build_edge(late)
    Graph.forward(engine="reference")
    Graph.backward(late, engine="reference")
    plan = plan_for(CURRENT.tables)
    operands = {row: [plan.rows[each] for each in plan.operands(step)] for step, row in enumerate(plan.rows)}
    assert operands[merged.row] == [a.row, b.row, c.row, c.row] and operands[late.row] == [merged.row, a.row]
    assert (merged.value, late.value, Graph.node_list[4].value, c.grad) == (11.0, 12.0, 3.0, 2.0)


def test_gradients_find_what_depends_on_a_leaf_through_what_responds():
    x, z = Variable(2.0), Variable(1.0)
    y = (x > 0) * z + x
    plan = plan_for(CURRENT.tables, [y.row])
    found = plan.depends_on([list(plan.rows).index(x.row)])
    depends = {Graph.node_list[row].row for row, leads in zip(plan.rows, found) if leads}
    assert depends == {x.row, y.row}  # a comparison does not respond
    Graph.forward(gradients(y, x))


def test_a_cycle_is_named_and_nothing_beside_it():
    x = Variable(1.0, name="innocent")
    a, b = Operator("add", name="a"), Operator("add", name="b")
    x.build_edge(a)
    a.build_edge(b)
    b.build_edge(a)
    after = Operator("sin", name="after")
    b.build_edge(after)
    with pytest.raises(GraphCycleError) as caught:
        Graph.forward()
    assert "'a' -> 'add' 'b' -> 'add' 'a'" in str(caught.value) or "'b' -> 'add' 'a' -> 'add' 'b'" in str(caught.value)
    assert "innocent" not in str(caught.value) and "after" not in str(caught.value)


def test_an_edge_to_itself_is_a_cycle():
    y = Operator("add", name="y")
    y.build_edge(y)
    with pytest.raises(GraphCycleError, match="'y' -> 'add' 'y'"):
        Graph.forward()


def test_a_cycle_elsewhere_does_not_stop_what_does_not_need_it():
    x = Variable(3.0)
    y = x * x
    loop = Operator("add")
    loop.build_edge(loop)
    Graph.forward(y)
    assert y.value == 9.0


def test_a_revert_mends_a_cycle():
    x = Variable(3.0)
    y = Graph.sum([x])
    z = y.sin()
    Graph.checkpoint()
    z.build_edge(y)
    with pytest.raises(GraphCycleError, match=r"Graph\.revert"):
        Graph.forward()
    Graph.revert()
    Graph.forward()
    assert y.value == 3.0


def test_an_empty_graph_has_an_empty_plan():
    plan = Plan(CURRENT.tables)
    assert (len(plan), plan.targets, list(plan.sources())) == (0, [], [])
    Graph.forward()


def test_kahn_leaves_out_what_was_not_asked_for():
    assert sort_topologically([0, 2], [0, 0, 1], [[2], [], []]) == [0, 2]
