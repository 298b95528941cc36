"""What a signal's handler builds, between any two of our lines, leaves the graph right."""

import sys

import pytest
from graphs import check_consistent

from naive_graph import Graph, Variable


class Handler:
    """A trace function that runs a handler once, at the n-th line of ours, as a signal would."""

    def __init__(self, at, handler):
        self.left, self.handler = at, handler

    def __call__(self, frame, event, argument):
        if "naive_graph/" not in frame.f_code.co_filename or "/tests/" in frame.f_code.co_filename:
            return None
        if event == "line":
            self.left -= 1
            if self.left == 0:
                sys.settrace(None)
                self.handler()
        return self


def handled(act, at, handler):
    """Whether the handler ran."""
    trace, before = Handler(at, handler), sys.gettrace()
    sys.settrace(trace)
    try:
        act()
    finally:
        sys.settrace(before)
    return trace.left <= 0


ACTS = {
    "add": lambda x, y: x + y,
    "number": lambda x, y: x * 2.0,
    "method": lambda x, y: x.sin(),
    "leaf": lambda x, y: Variable(5.0),
    "look": lambda x, y: (Graph.node_list[-1], x.next),
    "forward": lambda x, y: Graph.forward(),
}


@pytest.mark.parametrize("engine", ["reference", "direct"])
@pytest.mark.parametrize("name", ACTS)
def test_a_handler_may_build_and_look_between_any_two_lines(name, engine):
    at, ran = 0, True
    while ran and at < 400:
        at += 1
        with Graph.scratch():
            x, y = Variable(2.0), Variable(3.0)
            y = x * y
            made = []

            def handler(x=x, y=y, made=made):
                made.append(x - y)
                Graph.forward(engine="reference")
                assert made[0].value == -4.0

            ran = handled(lambda x=x, y=y: ACTS[name](x, y), at, handler)
            z = y + 1.0
            check_consistent()
            Graph.forward(engine=engine)
            Graph.backward(z, engine=engine)
            assert (z.value, x.grad, y.grad) == (7.0, 3.0, 1.0)
            assert all(node.row == row for row, node in enumerate(Graph.node_list))
            assert all(each.value == -4.0 for each in made)
