"""Compiled code builds what Python builds, to the last byte, and leaves the rest to it."""

import weakref
from decimal import Decimal

import pytest
from built import STEPS, follow, tables
from graphs import check_consistent
from hypothesis import given, settings
from hypothesis import strategies as st

import naive_graph as ng
from naive_graph import Constant, Graph, Variable, builder
from naive_graph.engines.llvm.layout import ROWS
from naive_graph.errors import ForeignNodeError, NaiveGraphError, StaleNodeError
from naive_graph.handles import CURRENT
from naive_graph.tables import Tables

pytestmark = pytest.mark.usefixtures("compiled_builder")


@settings(max_examples=150, deadline=None)
@given(STEPS, st.integers(1, 3))
def test_the_tables_are_those_that_python_builds(steps, rounds):
    seen = []
    for choice in ("python", "compiled"):
        builder.use(choice)
        with Graph.scratch():
            nodes = follow(steps * rounds)
            place = {id(node): place for place, node in enumerate(nodes)}
            seen.append((tables(), [node.row for node in nodes], [place.get(id(node)) for node in Graph.node_list]))
            assert all(Graph.node_list[node.row] is node for node in nodes)
            check_consistent()
    assert seen[0] == seen[1]


def test_a_long_sum_merges_alike_across_margins():
    seen = []
    for choice in ("python", "compiled"):
        builder.use(choice)
        with Graph.scratch():
            x, w = Variable(2.0), Variable(3.0)
            y = x
            for _ in range(3000):
                y = y + w * x + 1.0 - 2
            seen.append(tables())
    assert seen[0] == seen[1]


def test_compiled_code_takes_over():
    x = Variable(1.0)
    y = x
    for _ in range(10):
        y = y * x
    assert type(CURRENT.tables) is not Tables and CURRENT.tables.margin.words[ROWS] > 0
    assert len(Graph.node_list) == 11 and type(CURRENT.tables) is Tables


def test_a_row_has_one_node_while_its_first_is_held():
    x = Variable(1.0)
    held = [x]
    for _ in range(3000):
        held.append(held[-1] - x)
    assert all(Graph.node_list[row] is node for row, node in enumerate(held))
    assert held[2000].last == [held[1999], x] and held[1999].next[0] is held[2000]


def test_a_node_that_was_let_go_dies_and_comes_back():
    x = Variable(1.0)
    nodes = [x * x for _ in range(5)]
    gone = weakref.ref(nodes[3])
    del nodes[3]
    assert len(Graph.node_list) == 6 and gone() is None
    assert Graph.node_list[4].operator == "mul"


def test_values_are_right():
    x, y = Variable(3.0), Variable(2.0)
    z = (x + y * 2 - 1) / y**2 + x * x * x
    Graph.forward()
    Graph.backward(z)
    assert (z.value, x.grad) == (28.5, 27.25)


@pytest.mark.parametrize("operand", ["a", None, 1j, True, 10**400, [1]])
def test_what_is_no_number_is_refused_as_in_python(operand):
    said = []
    for choice in ("python", "compiled"):
        builder.use(choice)
        with Graph.scratch():
            x = Variable(1.0)
            _ = x * x
            with pytest.raises((NaiveGraphError, TypeError)) as error:
                x + operand
            said.append((type(error.value), str(error.value), len(Graph.node_list)))
    assert said[0] == said[1]


def test_graph_after_graph_is_as_python_builds_it():
    seen = []
    for choice in ("python", "compiled"):
        builder.use(choice)
        seen.append([])
        for size in (*range(30), 300, 3, 1200, 700, 0, 40):
            Graph.renew()
            x = y = Variable(0.5)
            for place in range(size):
                y = y * x if place % 3 else y + Variable(place)
            seen[-1].append((tables(), y.row, Graph.node_list[y.row] is y))
        Graph.clear()
    assert seen[0] == seen[1]


def test_nodes_of_a_forgotten_graph_are_stale_and_those_of_the_next_are_not():
    held = []
    for _ in range(20):
        Graph.renew()
        held.append([Variable(float(place)) for place in range(20)])
    for nodes in held[:-1]:
        with pytest.raises(StaleNodeError):
            nodes[7].value
        with pytest.raises(StaleNodeError):
            nodes[7] + held[-1][0]
    assert [node.value for node in held[-1]] == [float(place) for place in range(20)]
    assert all(Graph.node_list[node.row] is node for node in held[-1])


@pytest.mark.parametrize("operand", [2**53, 2**53 + 1, -(2**70), -1, Decimal("0.5"), float("nan"), float("-inf")])
def test_a_number_is_the_constant_that_python_makes_of_it(operand):
    said = []
    for choice in ("python", "compiled"):
        builder.use(choice)
        with Graph.scratch():
            x = Variable(1.0)
            _ = x * x
            said.append(repr((x + operand).last[1].value))
    assert said[0] == said[1]


def test_a_node_of_another_graph_is_refused():
    x = Variable(1.0)
    _ = x * x
    with Graph.scratch():
        inner = Variable(2.0)
        _ = inner * inner
        for build in (lambda: inner * x, lambda: x * inner, lambda: x * 2.0):
            with pytest.raises(ForeignNodeError):
                build()
        assert len(Graph.node_list) == 2
    with pytest.raises(StaleNodeError):
        x + inner
    assert len(Graph.node_list) == 2


def test_a_cut_forgets_what_compiled_code_wrote():
    x = Variable(1.0)
    y = x * x
    Graph.checkpoint()
    z = y * x * x
    Graph.revert()
    with pytest.raises(StaleNodeError):
        z + x
    assert len(Graph.node_list) == 2 and (y * y).row == 2


def test_an_operator_of_a_learners_own_class_is_built():
    class Mine(Variable):
        pass

    x = Mine(2.0)
    assert [(x * 2).row, (x * x).row, (2 * x).row, (Variable(1.0) + x).row] == [2, 3, 5, 7]


def test_the_descriptor_refuses_what_is_no_node():
    with pytest.raises(TypeError):
        ng.Node.__add__(1.0, Variable(1.0))
    for no_variable in (1.0, Constant(1.0)):
        with pytest.raises(TypeError):
            Variable.__init__(no_variable, 2.0)
    assert len(Graph.node_list) == 2
