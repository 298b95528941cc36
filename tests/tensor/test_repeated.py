"""Cells along sequences: one node on arrays, which is all its steps for who looks inside."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from naive_graph import Graph, LeafNode
from naive_graph.errors import BudgetError
from naive_graph.tensor import gru, lstm, rnn
from naive_graph.tensor.differentiate import BACKWARD_SOURCES, ancestors
from naive_graph.tensor.scan import MOST_STEPS, ScanNode

GATES = {rnn: 1, gru: 3, lstm: 4}


def layer(operator, time=4, batch=2, features=2, hidden=3, direction="forward", seed=0, **more):
    """The leaves of a recurrent layer, and its results."""
    random, ways, stacked = np.random.default_rng(seed), 1 + (direction == "bidirectional"), GATES[operator] * hidden
    shapes = (time, batch, features), (ways, stacked, features), (ways, stacked, hidden), (ways, 2 * stacked)
    leaves = [LeafNode.parameter(0.5 * random.normal(size=each), name) for each, name in zip(shapes, "xwrb")]
    return leaves, operator(*leaves, direction=direction, **more)


def repeated(node):
    return [each for each in ancestors([node], predecessors=BACKWARD_SOURCES) if isinstance(each, ScanNode)]


LAYERS = st.builds(
    dict, operator=st.sampled_from([*GATES]), time=st.integers(1, 5), batch=st.integers(1, 3),
    hidden=st.integers(1, 3), direction=st.sampled_from(["forward", "reverse", "bidirectional"]),
    seed=st.integers(0, 99),
)  # fmt: skip


@settings(max_examples=12, deadline=None)
@given(LAYERS, st.booleans())
def test_the_loop_gives_what_its_steps_give_forwards_and_backwards(said, ragged):
    with Graph.scratch():
        if ragged:
            said["lengths"] = [1 + at % said["time"] for at in range(said["batch"])]
        leaves, results = layer(**said)
        total = sum((each * each * (place + 1.0)).sum() for place, each in enumerate(results))
        total.backward()
        for node in repeated(total):
            (unfolded,) = node.sources
            np.testing.assert_allclose(unfolded.eval(), node.eval(), rtol=1e-12, atol=1e-14)
        for leaf, slope in zip(leaves, total.gradients(leaves)):
            np.testing.assert_allclose(leaf.gradient(), slope.eval(), rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("operator", GATES)
def test_a_longer_sequence_makes_no_more_nodes(operator):
    counts = []
    for time in (3, 50):
        _leaves, (whole, *_) = layer(operator, time)
        loss = (whole * whole).mean()
        loss.backward()
        counts.append(len(ancestors([loss], predecessors=BACKWARD_SOURCES)))
        assert all("sources" not in vars(each) for each in repeated(loss))
    assert counts[0] == counts[1] < 60


def test_a_sequence_that_is_too_long_to_be_unfolded_says_so():
    (long,) = repeated(layer(rnn, MOST_STEPS + 1, 1, 1, 1)[1][0])
    with pytest.raises(BudgetError, match="would unfold into 30,001 steps, and 30,000 are the most"):
        long.lower()


def test_steps_that_are_made_late_stand_before_their_node():
    leaves, (whole, *_) = layer(lstm)
    later = (whole * leaves[0].sum()).sum()
    (node,) = repeated(later)
    made = [each for each in ancestors([node]) if each not in leaves]
    for each in made:
        assert all(source.serial < each.serial for source in each.sources)
    assert {each.origin.line for each in made} == {node.origin.line}
    assert all(str(each.scope.path).startswith("lstm") for each in made if each.scope)
    assert whole.lower().shape == whole.shape


def test_steps_that_are_made_after_a_checkpoint_stay_when_it_is_cut_back():
    with Graph.scratch():
        leaves, (whole, *_) = layer(gru)
        (node,) = repeated(whole)
        Graph.checkpoint()
        node.sources
        Graph.revert()
        assert whole.sum().gradients(leaves[0]).eval().shape == leaves[0].shape


def test_a_loop_whose_slopes_overflow_has_the_slopes_of_its_steps():
    with Graph.scratch(), np.errstate(all="ignore"):
        w, r, x = LeafNode.parameter([[[1.0]]]), LeafNode.parameter([[[1e200]]]), LeafNode.parameter(np.ones((4, 1, 1)))
        _whole, last = rnn(x, w, r, activations=["Relu"])
        last.sum().backward()
        slopes = last.sum().gradients([w, r, x])
        for leaf, slope in zip((w, r, x), slopes):
            np.testing.assert_array_equal(leaf.gradient(), slope.eval())


def test_a_graph_that_computes_at_once_computes_loops_too():
    with Graph.scratch():
        Graph.renew(immediate_compute=True)
        _leaves, (whole, *_) = layer(lstm)
        assert repeated(whole)[0]._value.shape == (2, 4, 2, 3)


def test_a_long_lstm_is_that_of_torch():
    torch = pytest.importorskip("torch")
    (x, w, r, b), (whole, *_) = layer(lstm, 50, 2, 3, 4)
    theirs = torch.nn.LSTM(3, 4).double()
    order = np.concatenate([np.arange(4) + 4 * gate for gate in (0, 2, 3, 1)])  # i, f, g, o there
    halves = [b.eval()[0, :16][order], b.eval()[0, 16:][order]]
    with torch.no_grad():
        for name, value in zip(("weight_ih_l0", "weight_hh_l0", "bias_ih_l0", "bias_hh_l0"),
                               (w.eval()[0][order], r.eval()[0][order], *halves)):  # fmt: skip
            getattr(theirs, name).copy_(torch.tensor(value))
    out, _ = theirs(torch.tensor(x.eval()))
    out.square().sum().backward()
    np.testing.assert_allclose(whole.eval()[:, 0], out.detach().numpy(), rtol=1e-12, atol=1e-13)
    (whole * whole).sum().backward()
    np.testing.assert_allclose(r.gradient()[0][order], theirs.weight_hh_l0.grad.numpy(), rtol=1e-9, atol=1e-11)
    np.testing.assert_allclose(w.gradient()[0][order], theirs.weight_ih_l0.grad.numpy(), rtol=1e-9, atol=1e-11)
