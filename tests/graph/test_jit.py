"""The short way through forward and backward gives what the long way gives, and steps aside in time."""

import math

import pytest
from graphs import any_graph, build
from hypothesis import HealthCheck, given, settings

from naive_graph import Constant, Graph, Variable, log, record, sqrt
from naive_graph.engines.select import Setting
from naive_graph.errors import NumericError, StaleGraphError
from naive_graph.graph.node_factory import CURRENT


@pytest.fixture(autouse=True)
def on_the_native_engine():
    pytest.importorskip("llvmlite")
    before, Setting.default = Setting.default, "compiled"
    yield
    Setting.default = before


def quick():
    return CURRENT.tables.cache.get("quick")


def armed(f):
    """Go the long way once, after which the short one is there."""
    Graph.forward()
    Graph.backward(f)
    assert quick() is not None
    return f


def numbers():
    return [(repr(node.value), repr(node.grad)) for node in Graph.node_list]


def bowl():
    x = Variable(6.0, name="x")
    return x, armed(((x - 7.0) * (x - 7.0) + 10.0).log())


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(any_graph())
def test_the_short_way_gives_what_the_long_way_gives(recipe):
    found = []
    for engine in (None, "compiled"):  # named, an engine is taken the long way
        with Graph.scratch():
            Graph.on_invalid = "ignore"
            nodes = build(recipe)
            if isinstance(nodes[-1], Constant):
                return
            for _ in range(3):
                Graph.forward(engine=engine)
                Graph.backward(nodes[-1], engine=engine)
                for node in nodes:
                    if type(node) is Variable and node.grad is not None and math.isfinite(node.grad):
                        node.value = node.value - 0.125 * node.grad
            Graph.forward(engine=engine)
            Graph.backward(nodes[-1], engine=engine)
            found.append(numbers())
    assert found[0] == found[1]


def test_gradients_of_changed_values_are_refused():
    x, f = bowl()
    Graph.forward()
    x.value = 8.0
    with pytest.raises(StaleGraphError, match="has changed"):
        Graph.backward(f)


def test_forward_alone_changes_no_gradient():
    x, _ = bowl()
    before = x.grad
    x.value = 9.0
    Graph.forward()
    assert x.grad == before


def test_gradients_that_were_cleared_stay_cleared_until_the_next_backward():
    x, f = bowl()
    Graph.forward()
    Graph.backward(f)
    Graph.kill_grad()
    Graph.forward()
    assert x.grad == 0.0
    Graph.backward(f)
    assert x.grad == -2.0 / 11.0


def test_a_graph_that_grew_goes_the_long_way_and_has_all_its_values():
    x, f = bowl()
    y = x * f
    assert quick() is None
    Graph.forward()
    assert y.value == 6.0 * f.value


def test_another_nodes_gradients_are_its_own():
    x = Variable(3.0)
    y = x * x
    f = armed(y.log())
    Graph.forward()
    Graph.backward(y)
    assert x.grad == 6.0
    Graph.backward(f)
    assert x.grad == pytest.approx(2.0 / 3.0)


def test_one_target_that_needs_the_whole_graph_takes_the_short_way(monkeypatch):
    x, f = bowl()
    x.value = 8.0
    monkeypatch.setattr("naive_graph.graph.graph.plan_for", None)  # which the long way would call
    Graph.forward(f)
    assert f.value == math.log(11.0)


def test_a_target_that_needs_less_evaluates_no_more():
    x = Variable(3.0)
    y = x * x
    armed(y.log())
    z = quick()
    x.value = 4.0
    Graph.forward(y)
    assert (y.value, z.matches([y])) == (16.0, False)


def test_a_result_that_is_not_finite_is_told_of_and_nothing_is_written_if_it_is_forbidden():
    x = Variable(4.0)
    f = armed(log(x) + sqrt(x))
    Graph.on_invalid = "raise"
    x.value, before = -1.0, f.value
    with pytest.raises(NumericError, match="log"):
        Graph.forward()
    assert f.value == before


def test_what_is_watched_is_seen():
    _, f = bowl()
    with record() as steps:
        Graph.forward()
        Graph.backward(f)
    assert len(steps) > 5


def test_a_graph_that_was_cut_back_has_no_short_way():
    x = Variable(2.0)
    f = x * x
    Graph.checkpoint()
    armed((f * x).exp())
    Graph.revert()
    assert quick() is None
    Graph.forward()
    assert f.value == 4.0
