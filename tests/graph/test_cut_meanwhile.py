"""Another thread cuts the graph back at any moment of a question: a right answer, or a word that the node is stale."""

import sys
import threading

import pytest
from test_interrupts import Interrupt

import naive_graph as ng
from naive_graph import Graph, Program, Variable
from naive_graph.core.tables import Tables
from naive_graph.errors import NaiveGraphError, StaleNodeError
from naive_graph.graph.registry import CURRENT, let_go

ASKS = {
    "formula": lambda x, y: y.formula(),
    "table": lambda x, y: str(y.table()),
    "html": lambda x, y: y._repr_html_(),
    "code": lambda x, y: y.code("c"),
    "repr": lambda x, y: repr(y),
    "degrees": lambda x, y: (y.in_deg, y.out_deg),
    "neighbours": lambda x, y: ([each.row for each in y.last], [each.row for each in y.next]),
    "where": lambda x, y: (y.name, y.scope, y.origin.line, y.absorbed),
    "value": lambda x, y: (y.value, y.grad),
    "forward": lambda x, y: (Graph.forward(y), y.value),
    "backward": lambda x, y: (Graph.backward(y), x.grad),
    "tangent": lambda x, y: ng.tangent(y, {x: 1.0}),
    "gradients": lambda x, y: ng.gradients(y, [x])[0].formula(),
    "program": lambda x, y: Program(y, wrt=[x], engine="reference")().value,
    "operator": lambda x, y: (y * 2.0).formula(),
}


def cut_and_built_upon():
    """What another thread does: the rows that went are others' now."""
    Graph.revert()
    for _ in range(2):
        (Variable(5.0).exp() - 7.0).sin()


class AnothersTurn(Interrupt):
    """At the n-th point where Python looks up another thread has its turn, if it need not wait for the graph's lock."""

    def __init__(self, at):
        super().__init__(at)
        self.at = at

    def strike(self):
        if CURRENT.tables.lock._is_owned():
            self.left, self.at = 1, self.at + 1
            return
        self.struck = True
        other = threading.Thread(target=cut_and_built_upon)
        other.start()
        other.join()


def asked(ask, at):
    """The answer, and whether the other thread came to its turn."""
    Graph.clear()
    x, before, turn = Variable(2.0, name="x"), sys.gettrace(), AnothersTurn(at)
    Graph.checkpoint()
    y = (x * 3.0 + x).tanh()
    Graph.forward(y)
    Graph.backward(y)
    sys.settrace(turn)
    try:
        return ask(x, y), turn
    except StaleNodeError:
        return None, turn
    finally:
        sys.settrace(before)
        turn.last.clear()


@pytest.mark.skipif(sys.version_info[:2] != (3, 11), reason="where Python 3.11 looks is known")
@pytest.mark.parametrize("name", ASKS)
def test_another_thread_cuts_the_graph_back_at_any_moment_of_a_question(name):
    right, _ = asked(ASKS[name], 10**9)
    at, turn = 0, None
    while turn is None or turn.struck:
        found, turn = asked(ASKS[name], at + 1)
        at = turn.at
        assert found in (right, None, "<stale Operator>"), at
        at += 1
    assert at > 1


def test_a_node_that_is_built_while_the_graph_is_cut_back_is_stale(monkeypatch):
    x, real, made = Variable(2.0), Tables._shorten, []
    Graph.checkpoint()

    def shorten(tables, *given):
        made.append(x * 2.0)
        return real(tables, *given)

    monkeypatch.setattr(Tables, "_shorten", shorten)
    Graph.revert()
    for question in (lambda: made[0].formula(), lambda: made[0].value, lambda: made[0] + 1.0):
        with pytest.raises(StaleNodeError):
            question()


class HandlersTurn(Interrupt):
    """At the n-th point where Python looks up a signal's handler cuts the graph back."""

    def strike(self):
        self.struck = True
        Graph.revert()


def built_by(count):
    """Rows that so many code objects made."""
    for place in range(count):
        exec(compile("(Variable(1.0) * 2.0).sin()", f"<{place}>", "exec"), {"Variable": Variable})


def let_go_of_some():
    mark = CURRENT.tables.mark()
    built_by(3)
    let_go(CURRENT.tables, mark)


ACTS = {
    "a page is turned": lambda: CURRENT.tables.turn(),
    "rows are let go": let_go_of_some,
    "all is computed": lambda: Graph.forward(),
    "places are asked": lambda: [(node.origin.line, node.scope) for node in Graph.node_list],
    "edges are listed": lambda: [node.last for node in Graph.node_list],
}


@pytest.mark.skipif(sys.version_info[:2] != (3, 11), reason="where Python 3.11 looks is known")
@pytest.mark.parametrize("name", ACTS)
def test_a_handler_cuts_the_graph_back_at_any_moment_while(name):
    at, turn = 0, None
    while turn is None or turn.struck:
        Graph.clear()
        built_by(1)
        Graph.checkpoint()
        built_by(2)
        CURRENT.tables.turn()
        built_by(2)
        at, before, turn = at + 1, sys.gettrace(), HandlersTurn(at + 1)
        sys.settrace(turn)
        try:
            ACTS[name]()
        except NaiveGraphError:  # that the graph was cut back meanwhile
            pass
        finally:
            sys.settrace(before)
            turn.last.clear()
        built_by(2)
        assert {node.origin.filename for node in Graph.node_list} <= {f"<{place}>" for place in range(4)}
        Graph.forward()
        assert all(node.value is not None for node in Graph.node_list)
    assert at > 20
