"""(a + b) + c becomes one sum of three, and nothing that a learner holds changes."""

import math

import pytest
from graphs import any_graph, build, check_consistent
from hypothesis import given, settings

import naive_graph as ng
from naive_graph import Graph, Variable
from naive_graph.graph.node_factory import CURRENT


def test_a_sum_of_three_is_one_node():
    x, y, z = Variable(1), Variable(2), Variable(4)
    s = x + y + z
    assert s.in_deg == 3 and s.last == [x, y, z] and x.next == [s]


def test_merging_looks_left_only():
    a, b, c = Variable(1), Variable(2), Variable(4)
    assert (a + (b + c)).in_deg == 2 and ((a + b) + (b + c)).in_deg == 3


def test_a_node_merged_with_itself_is_left_alone():
    y = Variable(1) + Variable(2)
    assert (y + y).last == [y, y]


def test_a_merged_node_has_at_most_32_operands():
    x = y = Variable(1.0)
    for _ in range(40):
        y = y + x
    assert max(node.in_deg for node in Graph.node_list) == 32
    Graph.forward()
    assert y.value == 41.0


def test_an_absorbed_node_keeps_its_right_value_and_is_nobodys_operand():
    a, b, c = Variable(1), Variable(2), Variable(4)
    y = a + b
    z = y + c
    Graph.forward()
    assert y.absorbed and y.value == 3.0 and y not in a.next and y.out_deg == 0 and z.value == 7.0


def test_an_absorbed_node_gets_its_right_gradient():
    a, b, c, d = (Variable(value) for value in (2.0, 3.0, 5.0, 7.0))
    y = a * b
    z = y * c
    w = z * d
    Graph.forward()
    Graph.backward(w)
    assert (y.grad, z.grad) == (35.0, 7.0)


def test_an_absorbed_node_is_no_result():
    a, b, c = Variable(1), Variable(2), Variable(4)
    _ = a + b + c
    Graph.forward()
    Graph.backward()  # would warn if there were two results
    assert a.grad == 1.0


def test_merging_stores_no_edge_twice():
    x = y = Variable(1.0)
    for _ in range(30):
        y = y + x
    assert len(CURRENT.tables.sources) == 60


EXACT = {"add", "sub", "mul", "div", "neg", "sum", "prod", "sqrt", "greater", "less", "where", "maximum", "minimum",
    "greater_equal", "less_equal", "equal", "not_equal"}  # fmt: skip


@settings(max_examples=35, deadline=None)
@given(any_graph())
def test_merging_changes_no_value(recipe):
    """Every node, absorbed or not, has the value that its own expression has on its operands' numbers.

    Arithmetic has the same bits on every engine, functions two units in the last place.
    """
    with Graph.scratch():
        Graph.on_invalid = "ignore"
        nodes = build(recipe)
        Graph.forward()
        values = [node.value for node in nodes]
        for (name, *operands), value in zip(recipe[1], values[len(recipe[0]) :], strict=True):
            operands = [values[each] if isinstance(each, int) else each for each in operands]
            expected = getattr(ng, {"sum": "add", "prod": "mul"}.get(name, name))(*operands)
            near = name not in EXACT and math.isfinite(expected) and abs(value - expected) <= 2 * math.ulp(expected)
            assert near or repr(value) == repr(expected)


def test_a_sum_does_not_merge_with_a_product():
    a, b, c = Variable(2.0), Variable(3.0), Variable(5.0)
    assert (a + b) * c is not None and ((a + b) * c).in_deg == 2 and (a * b + c).in_deg == 2


def test_numbers_merge_too():
    x = Variable(2.0)
    y = x + 1 + 2.5
    assert [node.value for node in y.last] == [2.0, 1.0, 2.5]


def test_two_nodes_may_take_over_the_same_node():
    a, b, c, d = (Variable(value) for value in (1.0, 2.0, 4.0, 8.0))
    y = a + b
    z, w = y + c, y + d
    Graph.forward()
    assert (z.last, w.last, y.absorbed) == ([a, b, c], [a, b, d], True)
    assert (y.value, z.value, w.value, a.out_deg) == (3.0, 7.0, 11.0, 2)


def test_an_absorbed_node_can_be_asked_for():
    a, b, c = Variable(1.0), Variable(2.0), Variable(4.0)
    y = a + b
    z = y + c
    Graph.forward(y)
    assert (y.value, z.value) == (3.0, None)
    Graph.backward(y)
    assert (a.grad, b.grad, c.grad) == (1.0, 1.0, 0.0)


def test_an_absorbed_node_gets_its_new_value_with_its_absorber():
    a, b, c = Variable(1.0), Variable(2.0), Variable(4.0)
    y = a + b
    z = y + c
    Graph.forward()
    a.value = 10.0
    Graph.forward(z)
    assert (y.value, z.value) == (12.0, 16.0)


@pytest.mark.parametrize(
    "use", [lambda y: y.sin(), lambda y: 1 - y, lambda y: y * y, lambda y: Graph.sum([1.0, y, 2.0])]
)
def test_an_absorbed_node_comes_back_however_it_is_used(use):
    a, b, c = Variable(1.0), Variable(2.0), Variable(4.0)
    y = a + b
    _ = y + c
    assert y.absorbed
    w = use(y)
    Graph.forward()
    assert not y.absorbed and y in w.last and y in a.next and y.out_deg == w.last.count(y)
    check_consistent()


def test_a_sum_that_a_learner_gathered_goes_on_to_the_left():
    xs = [Variable(float(value)) for value in range(40)]
    y = Graph.sum(xs)
    z = y + 1.0
    assert (y.in_deg, z.in_deg) == (40, 2)  # already more than 32: it is left alone


def test_a_merged_sum_is_a_left_fold_to_the_last_bit():
    tenth = [Variable(0.1) for _ in range(10)]
    y, right = tenth[0], 0.1
    for x in tenth[1:]:
        y = y + x
        right = right + 0.1
    Graph.forward()
    assert y.in_deg == 10 and y.value == right == 0.9999999999999999  # math.fsum would say 1.0


def test_cutting_back_gives_a_merged_node_its_freedom_again():
    a, b = Variable(1.0), Variable(2.0)
    y = a + b
    Graph.checkpoint()
    _ = y + 4.0
    Graph.revert()
    assert not y.absorbed and a.next == [y]


def test_an_edge_cannot_be_drawn_into_an_absorbed_node():
    a, b, c = Variable(1.0), Variable(2.0), Variable(4.0)
    y = a + b
    _ = y + c
    with pytest.raises(ng.errors.NodeError, match="merged into a larger add"):
        c.build_edge(y)


def test_an_edge_may_be_drawn_into_the_absorber():
    a, b, c = Variable(1.0), Variable(2.0), Variable(4.0)
    z = a + b + c
    a.build_edge(z)
    Graph.forward()
    Graph.backward(z)
    assert (z.last, z.value, a.grad) == ([a, b, c, a], 8.0, 2.0)
