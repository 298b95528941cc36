"""An exception at any point of any call leaves the graph usable."""

import pytest
from graphs import snapshot

import naive_graph as ng
from naive_graph import Graph, PlaceHolder, Variable
from naive_graph.core.rules import RULES, Arithmetic


class Boom(Exception):
    """Raised by an operator at its n-th call."""


@pytest.fixture
def fuse():
    """An operator that is the identity until its fuse has burnt down."""
    left = {"value": 10**9, "partial": 10**9}

    def burn(which, result):
        left[which] -= 1
        if left[which] < 0:
            raise Boom(which)
        return result

    ng.operator("fused", lambda a: burn("value", a), [lambda a, y: burn("partial", 1.0)])
    yield left
    del RULES["fused"]
    delattr(Arithmetic, "fused")


def chain():
    x, p = Variable(2.0, name="x"), PlaceHolder(name="p")
    p.value = 3.0
    y = x * p
    for _ in range(4):
        y = y.fused() * x + 1.0
    return x, p, y


@pytest.mark.parametrize("position", range(4))
def test_forward_that_fails_at_any_operator_changes_nothing(fuse, position):
    x, p, y = chain()
    Graph.forward()
    x.value = 5.0
    before = snapshot()
    fuse["value"] = position
    with pytest.raises(Boom):
        Graph.forward(y, feed={p: 7.0})
    assert snapshot() == before
    fuse["value"] = 10**9
    Graph.forward()
    assert y.value == right_value(5.0, 3.0)


@pytest.mark.parametrize("position", range(4))
@pytest.mark.parametrize(
    "ask",
    [
        lambda x, y: Graph.backward(y),
        lambda x, y: Graph.backward(y, accumulate=True),
        lambda x, y: ng.gradients(y, x),
        lambda x, y: ng.tangents(x, y),
        lambda x, y: ng.jacobian([y], [x]),
        lambda x, y: ng.hessian(y, [x]),
        lambda x, y: ng.tangent(y, {x: 1.0}),
        lambda x, y: ng.gradcheck(y),
        lambda x, y: ng.draw(y, partials=True),
    ],
)
def test_a_derivative_that_fails_at_any_partial_changes_nothing(fuse, position, ask):
    x, _, y = chain()
    Graph.forward()
    Graph.backward(y)
    before = snapshot()
    fuse["partial"] = position
    with pytest.raises(Boom):
        ask(x, y)
    assert snapshot() == before
    fuse["partial"] = 10**9
    Graph.backward(y)
    assert x.grad == ng.tangent(y, {x: 1.0})


def right_value(x, p):
    y = x * p
    for _ in range(4):
        y = y * x + 1.0
    return y
