"""Code written for the note's static graph runs as it is printed there."""

import pytest

import naive_graph as ng
from naive_graph import Constant, Graph, Variable, naive_Graph
from naive_graph.core.catalogue import COMPOSITIONS
from naive_graph.errors import OperandError


def test_an_instance_of_the_graph_is_the_graph():
    x = Variable(2.0)
    y = naive_Graph().add(x, 1.0)
    naive_Graph().forward()
    assert list(naive_Graph().node_list) == [x, *y.last[1:], y] and y.value == 3.0


@pytest.mark.parametrize("where", [ng, Graph, naive_Graph()], ids=["the package", "Graph", "an instance"])
def test_frames_take_numbers_and_give_nodes(where):
    built = [
        where.unary_function_frame(0.0, "cos"),
        where.binary_function_frame(6, 3, "div"),
        where.commutable_binary_function_frame(1, 2, "add"),
    ]
    Graph.forward()
    assert [node.value for node in built] == [1.0, 2.0, 3.0]
    assert all(isinstance(leaf, Constant) for node in built for leaf in node.last)


def test_operators_of_the_graph_make_nodes_of_numbers_alone():
    built = [Graph.add(1, 2), Graph.sin(0.0), Graph.logsumexp([0.0, 0.0]), Graph.sum([1, 2]), *Graph.softmax([0, 0])]
    Graph.forward()
    assert [round(node.value, 6) for node in built] == [3.0, 0.0, 0.693147, 3.0, 0.5, 0.5]


@pytest.mark.parametrize("composition", COMPOSITIONS, ids=lambda each: each.__name__)
def test_compositions_are_methods_of_the_graph(composition):
    x = Variable(-0.5)
    by_node, by_number = getattr(Graph, composition.__name__)(x), getattr(Graph, composition.__name__)(-0.5)
    Graph.forward()
    assert by_node.value == by_number.value == composition(-0.5)


def test_the_table_of_calculations_knows_every_operator():
    x, y = Variable(3.0), Variable(4.0)
    assert Graph.operator_calculate_table["mul"](x * y) == 12.0
    assert set(Graph.operator_calculate_table) >= {"add", "sub", "mul", "div", "pow", "exp", "log", "sin", "cos"}
    with pytest.raises(KeyError):
        Graph.operator_calculate_table["nonsense"]


def test_text_is_refused_by_every_frame_and_leaves_the_graph_as_it_was():
    for build in (lambda: Graph.add(1, "a"), lambda: Graph.gelu("text"), lambda: Graph.softmax([1.0, "a"])):
        before = len(Graph.node_list)
        with pytest.raises((OperandError, TypeError)):
            build()
        assert len(Graph.node_list) == before
