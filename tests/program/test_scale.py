"""Large graphs: nothing recurses, nothing is lost, nothing stays behind."""

import gc
import sys

import pytest
from making import finish

from naive_graph import Graph, Variable, gradients
from naive_graph.core.records import ClearedColumn
from naive_graph.core.storage import EDGE_COLUMNS, NODE_COLUMNS
from naive_graph.core.tables import Tables
from naive_graph.errors import NodeError
from naive_graph.graph.node_factory import CURRENT
from naive_graph.graph.symbolic import Expression


def chain(operators):
    x = Variable(0.5, name="x")
    y = x
    for _ in range(operators // 2):
        y = (y * x).sin()
    return x, y


def run_through(operators):
    x, y = chain(operators)
    Graph.forward(y)
    Graph.backward(y)
    assert y.value == y.calculate() and type(x.grad) is float
    text = y.formula()
    assert len(text) < 200_000 and "more lines" in text and len(str(y.table())) < 20_000
    assert str(y) == "sin" and repr(y) == f"sin(...) = {y.value!r}"
    assert len(y._repr_html_()) < 20_000
    Graph.clear()
    gc.collect()


def test_a_chain_of_a_hundred_thousand_needs_no_recursion():
    sys.setrecursionlimit(300)
    try:
        run_through(100_000)
    finally:
        sys.setrecursionlimit(1000)


def test_a_very_long_formula_is_written_from_where_it_nears_its_end(monkeypatch):
    monkeypatch.setattr("naive_graph.core.interpreters.text.MAX_NODES", 100)
    _, y = chain(40)
    whole = y.formula()
    assert "nodes before" not in whole
    _, y = chain(400)
    for style in ("text", "tex"):
        assert "301 nodes before these" in y.formula(style)


def test_the_machine_code_of_a_very_large_graph_is_refused_with_advice():
    _, y = chain(20_000)
    with pytest.raises(NodeError, match=r"20,001 nodes would be too long to be read.*machine_code\(y.last\[0\]\)"):
        Graph.machine_code(y)


def test_the_work_of_gradients_goes_with_the_size_of_the_graph():
    def calls(operators):
        x, y = chain(operators)
        count = [0]
        sys.setprofile(lambda frame, event, what: count.__setitem__(0, count[0] + (event == "call")))
        try:
            gradients(y, [x])
        finally:
            sys.setprofile(None)
        return count[0]

    assert calls(4_000) < 5 * calls(1_000)


@pytest.mark.parametrize("others", [20_000, pytest.param(100_000, marks=pytest.mark.slow)])
def test_a_node_used_by_ever_so_many_others_works(others):
    x = Variable(2.0)
    y = Graph.sum([x * 3.0 for _ in range(others)])
    Graph.forward()
    Graph.backward(y)
    assert (y.value, x.grad, x.out_deg, y.in_deg) == (6.0 * others, 3.0 * others, others, others)


def test_a_formula_of_a_doubling_chain_stays_linear():
    y = Variable(1.0, name="x")
    for _ in range(200):
        y = y * y.sin()
    assert len(y.formula()) < 20_000


def test_a_wide_product_has_all_its_gradients():
    xs = [Variable(1.0) for _ in range(20_000)]
    y = Graph.prod(xs)
    Graph.forward()
    Graph.backward(y)
    assert all(x.grad == 1.0 for x in xs)


def test_the_gradient_graph_of_a_long_chain_can_be_evaluated():
    x, y = chain(10_000)
    node = gradients(y, x)
    Graph.forward(node, y)
    Graph.backward(y)
    assert node.value == pytest.approx(x.grad, rel=1e-9, abs=1e-300)


def test_a_cleared_graph_holds_no_rows():
    tables = CURRENT.tables
    _, y = chain(1000)
    Graph.clear()
    assert len(tables) == 0 and repr(y) == "<stale Operator>"
    assert all(isinstance(getattr(tables, name), ClearedColumn) for name in NODE_COLUMNS + EDGE_COLUMNS)


def test_the_rows_of_a_gradient_are_appended_at_once(monkeypatch):
    x, y = chain(2_000)
    before, appended, append = len(Graph.node_list), [], Tables._append
    monkeypatch.setattr(Tables, "_append", lambda *of: (appended.append(1), append(*of))[1])
    gradients(y, x)
    assert len(appended) == 1 and len(Graph.node_list) - before <= 6_000


def test_no_draft_outlives_a_gradient_and_the_collector_goes_on():
    x, y = chain(2_000)
    gradients(y, x)
    finish()  # while code is made, collection waits
    assert gc.isenabled() and not any(type(each) is Expression for each in gc.get_objects())
