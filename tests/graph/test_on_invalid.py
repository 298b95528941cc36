"""A result that is infinite or NaN is explained: which node, its operands, the learner's line."""

import math
import warnings

import pytest
from graphs import snapshot

from naive_graph import Graph, Variable, where
from naive_graph.errors import NumericError, NumericWarning


def caught(act):
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        act()
    return [warning for warning in found if issubclass(warning.category, NumericWarning)]


def test_forward_names_the_first_node_its_operands_and_its_line():
    x = Variable(-1.0, name="x")
    y = x.log()  # the culprit
    _ = (y + 1).sin()
    (warning,) = caught(Graph.forward)
    message = str(warning.message)
    assert "'log' (row 1)" in message and "log(-1.0) = nan" in message and "y = x.log()  # the culprit" in message


def test_backward_names_the_node_whose_partial_went_wrong():
    x = Variable(0.0, name="x")
    y = x.sqrt()  # the culprit
    Graph.forward()
    (warning,) = caught(lambda: Graph.backward(y))
    message = str(warning.message)
    assert "gradient of Variable 'x' became inf" in message and "sqrt(0.0)" in message and "# the culprit" in message


def test_the_warning_points_at_the_learners_line():
    _ = Variable(-1.0).log()
    (warning,) = caught(Graph.forward)
    assert warning.filename == __file__


def test_a_leaf_that_was_set_so_is_named():
    x = Variable(math.inf, name="x")
    _ = x * 2
    (warning,) = caught(Graph.forward)
    assert "Variable 'x' holds inf" in str(warning.message)


def test_an_inner_nan_that_no_result_depends_on_is_no_complaint():
    x = Variable(-1.0)
    y = where(x > 0, x.sqrt(), 0)
    assert caught(Graph.forward) == [] and caught(lambda: Graph.backward(y)) == [] and x.grad == 0.0


def test_raise_leaves_the_graph_as_it_was():
    Graph.on_invalid = "raise"
    x = Variable(1.0)
    y = x.log()
    Graph.forward()
    x.value = -1.0
    before = snapshot()
    with pytest.raises(NumericError, match="log"):
        Graph.forward()
    assert snapshot() == before and y.value == 0.0


def test_raise_in_backward_keeps_the_gradients_there_were():
    Graph.on_invalid = "raise"
    x = Variable(4.0)
    y = x.sqrt()
    Graph.forward()
    Graph.backward(y)
    x.value = 0.0
    Graph.forward()
    with pytest.raises(NumericError, match="Backward"):
        Graph.backward(y)
    assert x.grad == 0.25


def test_ignore_says_nothing():
    Graph.on_invalid = "ignore"
    _ = Variable(-1.0).log()
    assert caught(Graph.forward) == []


def test_many_operands_are_shortened():
    _ = Graph.sum([Variable(1e308) for _ in range(10)])
    (warning,) = caught(Graph.forward)
    assert "... (10 operands)" in str(warning.message)


def test_forward_names_what_made_the_result_wrong_and_not_a_branch_that_was_not_taken():
    x = Variable(-1.0)
    beside = where(x > 0, x.sqrt(), 0.0)
    _ = beside + x.log()  # the culprit
    (warning,) = caught(Graph.forward)
    assert "log(-1.0) = nan" in str(warning.message)
