"""The losses of SPEC D4: golden numbers, reductions, gradients, and their lowered scalars."""

import re

import numpy as np
import pytest

import naive_graph as ng
from naive_graph import Graph, LeafNode, lower
from naive_graph.errors import ShapeError
from naive_graph.tensor import losses
from naive_graph.tensor.losses import REDUCTIONS

Y = [[1.0, 0.0, 1.0], [0.0, 1.0, 0.0]]
P = [[0.8, 0.3, 0.6], [0.2, 0.5, 0.1]]
Z = [[2.0, -1.0, 0.5], [0.0, 1.0, -0.5]]
W = [[1.0, 1.0, 1.0], [0.0, 2.0, 2.0]]
GOLDEN = {
    "absolute_difference": (P, {}, "1.7", "0.3", "0.42"),
    "mean_squared_error": (P, {}, "0.59", "0.115714285714", "0.162"),
    "huber": (P, {"delta": 0.5}, "0.295", "0.0578571428571", "0.081"),
    "log_loss": (P, {}, "2.11229449592", "0.383951207816", "0.537531690942"),
    "hinge": (Z, {}, "2", "0.214285714286", "0.3"),
    "sigmoid_cross_entropy": (Z, {}, "2.394752535", "0.355563432305", "0.497788805228"),
    "log_poisson": (Z, {}, "10.230469299", "1.65075454102", "2.31105635743"),
}


def last_digit(text):
    """One unit of the last printed digit."""
    return 10.0 ** -len(text.partition(".")[2]) if "." in text else 1e-12


def agrees(node, text):
    """On arrays and as scalars, to within one unit of the last printed digit."""
    scalar = lower(node)[()]
    Graph.forward(scalar)
    for value in (float(node.eval()), scalar.value):
        assert abs(value - float(text)) <= last_digit(text)


LOSSES = [name for name, row in ng.operators().items() if "reduce" in row.names or "target" in row.names]


@pytest.mark.parametrize("name", [*LOSSES, "softmax_cross_entropy_with_logits"])
def test_a_loss_says_what_its_labels_and_predictions_are(name):
    row = ng.operators()[name]
    labels, predictions = (each for each in row.names if each in ("y", "classes", "target", "p", "z", "x"))
    if row.names[0] in ("x", "z"):
        labels, predictions = predictions, labels
    assert f"{labels}: labels" in row.__doc__ and re.search(rf"\b{predictions}: \w+", row.__doc__)


@pytest.mark.parametrize("name", GOLDEN)
def test_losses_reach_their_golden_numbers(name):
    inputs, options, total, by_weight, by_count = GOLDEN[name]
    loss = getattr(losses, name)
    agrees(loss(Y, inputs, reduce="sum", **options), total)
    agrees(loss(Y, inputs, W, "mean_by_weight", **options), by_weight)
    agrees(loss(Y, inputs, W, **options), by_count)


def test_softmax_cross_entropy_reaches_its_golden_numbers():
    found = losses.softmax_cross_entropy([[1.0, 0, 0], [0, 1.0, 0]], Z, reduce="none").eval()
    assert found == pytest.approx([0.241311296657, 0.464368784108], abs=1e-12)


def test_sparse_labels_are_one_hot_labels():
    sparse = losses.sparse_softmax_cross_entropy([0, 1], Z, reduce="none").eval()
    assert sparse.tolist() == losses.softmax_cross_entropy([[1.0, 0, 0], [0, 1.0, 0]], Z, reduce="none").eval().tolist()


def test_labels_of_the_other_kind_are_told_where_to_go():
    with pytest.raises(ShapeError, match="Numbers of classes go to sparse_softmax_cross_entropy"):
        ng.tensor.softmax_cross_entropy([0, 1], Z)
    with pytest.raises(ShapeError, match="One-hot labels go to softmax_cross_entropy"):
        ng.tensor.sparse_softmax_cross_entropy([[1, 0, 0], [0, 1, 0]], Z)


def test_an_ignored_row_weighs_nothing():
    alone = losses.sparse_softmax_cross_entropy([0], Z[:1]).eval()
    assert float(losses.sparse_softmax_cross_entropy([0, -1], Z, ignore_index=-1).eval()) == pytest.approx(float(alone))


def test_the_other_golden_numbers():
    agrees(losses.weighted_cross_entropy_with_logits(Y, Z, 3.0, reduce="sum"), "4.2232859004822")
    rows = losses.mean_pairwise_squared_error(Y, P, reduce="none").eval()
    assert rows == pytest.approx([0.26, 0.286666666667], abs=1e-12)
    agrees(losses.l2_loss(P), "0.695")


def test_cosine_distance_of_equal_unit_vectors_is_zero():
    unit = [[0.6, 0.8], [1.0, 0.0]]
    assert losses.cosine_distance(unit, unit, reduce="none").eval().ravel() == pytest.approx([0.0, 0.0], abs=1e-15)


def test_smoothing_moves_labels_towards_even_odds():
    smooth = [[0.9, 0.1, 0.9], [0.1, 0.9, 0.1]]
    found = losses.sigmoid_cross_entropy(Y, Z, smoothing=0.2).eval()
    assert float(found) == pytest.approx(float(losses.sigmoid_cross_entropy(smooth, Z).eval()), rel=1e-14)


def test_full_poisson_adds_stirling_above_one():
    y, z = [[0.5, 4.0]], [[0.0, 0.0]]
    plain, full = (losses.log_poisson(y, z, reduce="none", full=full).eval()[0] for full in (False, True))
    assert full[0] == plain[0]
    assert full[1] - plain[1] == pytest.approx(4 * np.log(4.0) - 4 + 0.5 * np.log(2 * np.pi * 4))


def test_empty_denominators_give_zero():
    nothing = np.zeros((2, 3))
    assert float(losses.absolute_difference(Y, P, nothing).eval()) == 0.0
    assert float(losses.absolute_difference(Y, P, nothing, "mean_by_weight").eval()) == 0.0


def test_cross_entropies_stay_finite_at_huge_logits():
    huge = [[1000.0, -1000.0, 0.0], [-1000.0, 1000.0, 0.0]]
    for loss in (losses.sigmoid_cross_entropy, losses.softmax_cross_entropy):
        assert np.isfinite(loss(Y, huge).eval())


@pytest.mark.parametrize("reduce", REDUCTIONS)
def test_reductions_may_be_written_in_capitals(reduce):
    found = [losses.hinge(Y, Z, W, each).eval().tolist() for each in (reduce, reduce.upper())]
    assert found[0] == found[1]


@pytest.mark.parametrize("scale", [1.0, 1e3, -1e3])
def test_softmax_cross_entropys_gradient_is_the_softmax_less_the_labels(scale):
    z = LeafNode.parameter(np.array(Z) * scale, "z")
    y = np.array([[0.2, 0.3, 0.1], [0.0, 2.0, 0.0]])
    loss = losses.softmax_cross_entropy(y, z, reduce="sum")
    loss.backward()
    shares = np.exp(z.value - z.value.max(1, keepdims=True))
    shares /= shares.sum(1, keepdims=True)
    expected = shares * y.sum(1, keepdims=True) - y
    assert z.gradient() == pytest.approx(expected, abs=1e-15)
    assert ng.gradients(loss, z).eval() == pytest.approx(expected, abs=1e-15)


def test_weights_do_not_make_more_losses():
    with pytest.raises(ShapeError, match=r"softmax_cross_entropy: weights of shape \(2, 3\) do not spread over losses"):
        losses.softmax_cross_entropy(Y, Z, W)
    assert losses.softmax_cross_entropy(Y, Z, [1.0, 0.5], "none").shape == (2,)


def test_labels_do_not_broadcast_to_predictions():
    with pytest.raises(ShapeError, match=r"labels of shape \(3,\) and predictions of shape \(2, 3\)"):
        losses.mean_squared_error([1.0, 0.0, 1.0], P)


def test_classes_outside_the_logits_are_refused():
    with pytest.raises(ShapeError, match="run from 0 to 2"):
        losses.sparse_softmax_cross_entropy([0, 3], Z)
    with pytest.raises(ShapeError, match="whole number for each row of z"):
        losses.sparse_softmax_cross_entropy([0, 1, 2], Z)
    with pytest.raises(ShapeError, match="classes is an array of whole numbers"):
        losses.sparse_softmax_cross_entropy([0.5, 1.0], Z)
