"""After renew(immediate_compute=True), scalars are computed as they are written, as tensors are."""

import math

import pytest

import naive_graph as ng
from naive_graph import Constant, Graph, LeafNode, PlaceHolder, Variable
from naive_graph.errors import NumericError, StaleGraphError


@pytest.fixture(autouse=True)
def at_once():
    Graph.renew(immediate_compute=True)
    yield
    Graph.renew()


def test_a_value_is_there_as_soon_as_it_is_written():
    x = Variable(1.0)
    assert (x + 2).value == 3.0 and (2 - x).value == 1.0 and x.sin().value == math.sin(1.0)
    assert ng.maximum(x, 4.0).value == 4.0 and Graph.sum([x, x, 5.0]).value == 7.0
    assert (x + 1.0 + 2.0 + 3.0).value == 7.0 and Constant(2.0).exp().value == math.exp(2.0)


def test_the_values_are_those_of_a_forward():
    x, y = Variable(0.7), Variable(-1.3)
    f = (x * y + ng.exp(x) / (1.0 + y * y)).tanh() ** 3 - ng.where(x > y, x, y)
    values = [node.value for node in Graph.node_list]
    Graph.forward()
    assert [node.value for node in Graph.node_list] == values and f.value == values[f.row]


def test_backward_needs_no_forward_until_a_leaf_moves():
    x = Variable(3.0)
    f = x * x
    Graph.backward(f)
    assert x.grad == 6.0
    x.value = 4.0
    assert f.value == 9.0
    with pytest.raises(StaleGraphError):
        Graph.backward(f)
    g = x * x
    Graph.backward(g)
    assert (g.value, x.grad) == (16.0, 8.0)


def test_what_waits_for_a_placeholder_waits_for_forward():
    p = PlaceHolder()
    f = 2.0 * p
    assert f.value is None
    Graph.forward(f, feed={p: 3.0})
    assert f.value == 6.0 and (f + 1.0).value == 7.0


def test_validity_is_checked_at_once_and_leaves_the_graph_as_it_was():
    Graph.renew(immediate_compute=True, check_validity=True)
    x = Variable(-1.0)
    with pytest.raises(NumericError, match=r"'log' of -1\.0 is nan"):
        x.log()
    assert len(Graph.node_list) == 1


def test_it_ends_with_the_next_renew_or_clear():
    Graph.clear()
    assert (Variable(1.0) + 2).value is None
    assert (LeafNode.parameter([1.0]) * 2.0).eval().tolist() == [2.0]
