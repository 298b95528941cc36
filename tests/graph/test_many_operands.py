"""Derivatives of rules of many operands: as large as what they are of, at every order."""

import math

import pytest

from naive_graph import Graph, Variable, gradients, hessian, logsumexp, softmax
from naive_graph.graph.node_factory import CURRENT

NUMBERS = [0.1 * place - 0.003 * place * place for place in range(40)]


def sizes(n):
    """How many edges the first and the second derivatives of a logsumexp draw."""
    with Graph.scratch():
        xs = [Variable(0.1 * place) for place in range(n)]
        edges = [len(CURRENT.tables.sources)]
        first = gradients(logsumexp(xs), xs)
        edges.append(len(CURRENT.tables.sources))
        gradients(Graph.sum(share * (place + 1.0) for place, share in enumerate(first)), xs)
        edges.append(len(CURRENT.tables.sources))
    return edges[1] - edges[0], edges[2] - edges[1]


def test_derivatives_of_a_wide_logsumexp_grow_with_it_and_not_with_its_square():
    once, twice = sizes(40), sizes(160)
    assert all(after < 4.1 * before for before, after in zip(once, twice))


@pytest.mark.parametrize("count", [3, 17, 40])
def test_shares_as_nodes_have_the_bits_of_shares_of_numbers(count):
    xs = [Variable(x) for x in NUMBERS[:count]]
    shares = [gradients(logsumexp(xs), xs), softmax(xs)]
    Graph.forward()
    assert [[share.value for share in each] for each in shares] == [softmax(NUMBERS[:count])] * 2


@pytest.mark.parametrize("count", [3, 17, 40])
def test_second_derivatives_of_a_logsumexp_are_those_of_the_textbook(count):
    xs = [Variable(x) for x in NUMBERS[:count]]
    y = logsumexp(xs)
    first = gradients(y, xs)
    second = gradients(first[1], xs)
    Graph.forward()
    p = softmax(NUMBERS[:count])
    book = [p[1] * ((place == 1) - share) for place, share in enumerate(p)]
    assert [node.value for node in second] == pytest.approx(book, rel=1e-13, abs=1e-17)
    assert hessian(y, xs)[1] == pytest.approx(book, rel=1e-13, abs=1e-17)


def test_infinite_operands_share_as_numbers_do():
    for numbers in ([math.inf] * 2 + [0.0] * 20, [-math.inf] * 20, [math.nan] + [0.0] * 20):
        shares = softmax([Variable(x) for x in numbers])
        Graph.on_invalid = "ignore"
        Graph.forward()
        assert [repr(share.value) for share in shares] == [repr(share) for share in softmax(numbers)]
