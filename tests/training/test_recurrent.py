"""Recurrent layers one step after another: what the operators over sequences give."""

import numpy as np
import pytest

from naive_graph import Model, SimpleSGDTrainer
from naive_graph.errors import ShapeError, TrainingError
from naive_graph.tensor import gru, lstm, rnn
from naive_graph.training import GRUBuilder, LSTMBuilder, SimpleRNNBuilder

KINDS = {SimpleRNNBuilder: rnn, GRUBuilder: gru, LSTMBuilder: lstm}
XS = np.random.default_rng(0).normal(size=(5, 3))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("layers", [1, 2])
def test_step_by_step_is_the_operator_over_the_sequence(kind, layers):
    builder = kind(Model(seed=1), 3, 2, layers)
    found = np.array([each.eval() for each in builder.transduce(XS)])
    expected = XS[:, None, :]
    for weights in builder.weights:
        expected = KINDS[kind](expected, *(each.values for each in weights))[0].eval()[:, 0]
    np.testing.assert_allclose(found, expected[:, 0], rtol=1e-14)


@pytest.mark.parametrize("kind", KINDS)
def test_a_state_stays_as_it_is_and_its_builder_learns(kind):
    model = Model(seed=1)
    start = kind(model, 3, 2).initial_state()
    one, other = start.add_input(XS[0]), start.add_input(XS[1])
    before = one.output().eval().tolist()
    assert before != other.output().eval().tolist()
    (other.output() ** 2).sum().backward()
    assert np.abs(model.gradients).max() > 0
    SimpleSGDTrainer(model, 0.1).update()
    assert start.add_input(XS[0]).output().eval().tolist() != before


def test_gradients_are_scaled_for_one_parameter_or_all():
    model = Model()
    p, q = model.add_parameters(2), model.add_parameters(2)
    model.gradients[...] = 1.0
    model.scale_gradient(0.5), p.scale_gradient(4)
    assert p.g.tolist() == [2.0, 2.0] and q.g.tolist() == [0.5, 0.5]


def test_what_does_not_fit_is_told():
    builder = LSTMBuilder(Model(), 3, 2)
    with pytest.raises(ShapeError, match="takes 3 numbers"):
        builder.initial_state().add_input([1.0, 2.0])
    with pytest.raises(TrainingError, match="in a Model"):
        LSTMBuilder(1, 3, 2)
    with pytest.raises(AttributeError, match=r"state\.add_input\(x\)"):
        builder.add_input([1.0, 2.0, 3.0])
