"""Running a graph on a named engine, and comparing what comes out."""

import math

import pytest

from naive_graph import Graph

COMPILED = ["direct"]
on_compiled_engines = pytest.mark.parametrize("engine", COMPILED)


def run(nodes, y, engine):
    """The values and gradients of all nodes."""
    Graph.forward(engine=engine)
    values = [node.value for node in nodes]
    Graph.backward(y, engine=engine)
    return values, [node.grad for node in nodes]


def check_same(ours, theirs, most=0.0):
    for one, other in zip(ours, theirs, strict=True):
        if one is None or other is None:
            assert one is other
        elif one != one or math.isinf(one) or most == 0:
            assert repr(one) == repr(other)
        else:
            assert math.isclose(one, other, rel_tol=most, abs_tol=most)
