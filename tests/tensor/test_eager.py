"""Computing while writing: immediate_compute and check_validity."""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from programs import loops, nodes, programs

from naive_graph import Graph, LeafNode
from naive_graph.errors import EngineError, NumericError, PlaceHolderError

LAWS = settings(max_examples=30, deadline=None, suppress_health_check=list(HealthCheck))


@pytest.fixture
def at_once():
    Graph.renew(immediate_compute=True)


@pytest.fixture
def checked():
    Graph.renew(immediate_compute=True, check_validity=True)


@LAWS
@given(programs())
def test_at_once_computes_what_loops_compute(program):
    with Graph.scratch():
        Graph.renew(immediate_compute=True)
        for node, expected in zip(nodes(program), loops(program)):
            assert node._value is not None
            assert np.abs(node._value - expected).max(initial=0.0) <= 1e-12 * max(
                1.0, np.abs(expected).max(initial=0.0)
            )


def test_every_node_has_a_value_also_a_product_in_a_product(at_once):
    a, b, v = (LeafNode.parameter(np.eye(2)) for _ in "abv")
    product = a @ b
    (product @ v).sum()
    assert product._value is not None


def test_without_it_writing_computes_nothing():
    Graph.renew()
    assert (LeafNode.parameter([1.0]) * 2.0)._value is None


@pytest.mark.parametrize("end", [Graph.renew, Graph.clear], ids=["renew", "clear"])
def test_it_lasts_as_long_as_the_graph(at_once, end):
    end()
    assert (LeafNode.parameter([1.0]) * 2.0)._value is None


def test_a_scratch_graph_inside_is_lazy(at_once):
    with Graph.scratch():
        assert (LeafNode.parameter([1.0]) * 2.0)._value is None
    assert (LeafNode.parameter([1.0]) * 2.0)._value is not None


def test_an_input_that_was_not_fed_is_named_where_it_is_used(at_once):
    x = LeafNode.input((2,), "x")
    with pytest.raises(PlaceHolderError, match=r"LeafNode 'x' \(2\) has no value"):
        x + 1.0


def test_nan_and_infinity_pass_unless_they_are_checked(at_once):
    assert np.isnan(LeafNode.parameter([-1.0, 1.0]).log()._value[0])


def test_the_first_node_that_went_wrong_is_named_with_its_operands_and_its_line(checked):
    x = LeafNode.parameter([[1.0, -2.0], [4.0, -1.0]], "x")
    with pytest.raises(NumericError) as caught:
        x.log()
    said = str(caught.value)
    assert "NonlinearNode (2 x 2): 2 of 4 entries are not finite: it is nan at [0, 1], by log(x0) with x0 = -2" in said
    assert "It was made on line" in said
    assert "x.log()" in said
    assert "begin the graph without check_validity" in said


def test_a_single_number_that_is_infinite_is_named(checked):
    with pytest.raises(NumericError, match=r"LinearNode \(a single number\): it is inf\. It was made on"):
        LeafNode.parameter(1e200) * LeafNode.parameter(1e200)


def test_what_is_finite_passes_the_check(checked):
    assert (LeafNode.parameter([1.0]) + 1.0)._value.tolist() == [2.0]


def test_a_check_needs_something_that_is_computed():
    version = Graph.version
    with pytest.raises(EngineError, match=r"renew\(immediate_compute=True, check_validity=True\)"):
        Graph.renew(check_validity=True)
    assert Graph.version == version


def test_tensors_of_torch_are_checked_too(checked):
    torch = pytest.importorskip("torch")
    with pytest.raises(NumericError, match="it is nan"):
        LeafNode.parameter(torch.tensor([-1.0])).log()
