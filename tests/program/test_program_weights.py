"""All Variables of a Program as one array."""

import numpy as np
import pytest

from naive_graph import Graph, PlaceHolder, Program, Variable
from naive_graph.errors import FeedError, StaleGraphError


def test_weights_are_the_variables_values_in_the_order_of_wrt():
    x, gap, y = Variable(1.0), Variable(9.0), Variable(2.0)
    assert Program(x * gap + y, wrt=[y, x]).weights.tolist() == [2.0, 1.0]


def test_setting_weights_moves_every_variable():
    x, y = Variable(1.0), Variable(2.0)
    program = Program(x * y, wrt=[x, y])
    _, gradient = program()
    program.weights -= 0.5 * gradient
    assert (x.value, y.value, program().value) == (0.0, 1.5, 0.0)


def test_weights_are_a_copy():
    x = Variable(1.0)
    Program(x * 2, wrt=[x]).weights[0] = 7.0
    assert x.value == 1.0


def test_values_are_stale_after_the_weights_were_set():
    x = Variable(1.0)
    y = x * x
    Graph.forward()
    Program(y, wrt=[x]).weights = [3.0]
    with pytest.raises(StaleGraphError, match="has changed"):
        Graph.backward(y)


@pytest.mark.parametrize("wrong", [[1.0, 2.0], 1.0, ["1"], [[1.0]]])
def test_weights_of_another_shape_or_kind_are_refused_and_nothing_is_written(wrong):
    x = Variable(5.0)
    program = Program(x * x, wrt=[x])
    with pytest.raises(FeedError, match="has 1 weights"):
        program.weights = wrong
    assert x.value == 5.0


def test_a_placeholder_among_wrt_is_fed_and_not_set():
    x, p = Variable(1.0), PlaceHolder()
    program = Program(x * p, wrt=[x, p])
    with pytest.raises(FeedError, match="is fed, not set"):
        program.weights = np.zeros(2)
