"""gradcheck of tensors: every mode, every option, kinks, and what it says of a wrong derivative."""

import numpy as np
import pytest

import naive_graph as ng
from naive_graph import LeafNode, Model, draw, gradcheck
from naive_graph.errors import GradientCheckError, NodeError, NumberError, NumericError, PlaceHolderError
from naive_graph.tensor import losses
from naive_graph.training import parameter


def leaf(name, *shape, seed=0):
    return LeafNode.parameter(np.random.default_rng(seed).normal(size=shape), name)


def network():
    x, w, b = LeafNode.input((4, 3), "x"), leaf("w", 3, 2), leaf("b", 2, seed=1)
    x.value = np.random.default_rng(2).normal(size=(4, 3))
    return losses.softmax_cross_entropy(np.eye(2)[[0, 1, 1, 0]], (x @ w + b).tanh()), x, w, b


@pytest.fixture
def wrong():
    """An operator whose derivative is off by a hundredth."""
    yield ng.operator("nearly_square", lambda a: a * a, [lambda a, y: 2.02 * a])
    del ng.core.rules.RULES["nearly_square"]


def test_inputs_and_parameters_are_checked_entry_by_entry():
    loss, *_ = network()
    report = gradcheck(loss).require()
    assert report.count == 12 + 6 + 2
    assert {name: each.count for name, each in report.parameters.items()} == {"x": 12, "w": 6, "b": 2}
    assert report.worst < 1e-7


def test_a_convolutional_network_of_a_model_passes():
    model = Model(seed=1)
    kernel, weights = model.add_parameters((2, 2, 1, 2), name="kernel"), model.add_parameters((8, 2), name="weights")
    images = np.random.default_rng(0).normal(size=(2, 5, 5, 1))
    h = ng.tensor.max_pool2d(ng.tensor.conv2d(LeafNode.constant(images), parameter(kernel)).relu(), 2)
    loss = losses.sparse_softmax_cross_entropy([0, 1], h.reshape(2, -1) @ parameter(weights))
    report = gradcheck(loss).require()
    assert report.count + report.masked == 8 + 16
    assert report.parameters["kernel"].count > 0
    assert model.gradients.tolist() == [0.0] * 24  # nothing was added to them
    assert gradcheck(loss, skip=[kernel]).count == 16


def test_a_wrong_derivative_is_found_in_every_mode_and_named(wrong):
    w = LeafNode.parameter([[3.0, 1.0]], "w")
    report = gradcheck(wrong(w).sum())
    assert {each.mode for each in report.failures} == {"reverse", "forward", "graph"}
    assert (report.failed, len(report.failures)) == (2, 6)
    with pytest.raises(GradientCheckError, match=r"d/d w\[0,0\]: reverse says 6.06"):
        report.require()


def test_the_report_is_a_table_and_draws_its_worst_entries(wrong):
    w, v = LeafNode.parameter([3.0, 1.0], "w"), LeafNode.parameter([2.0], "v")
    report = gradcheck([wrong(w), v * v])
    assert [line.split()[:4] for line in report.table().splitlines()[1:]] == [
        ["w", "2", "0", "2"],
        ["v", "1", "0", "0"],
    ]
    assert report.entries[0].leaf.startswith("w[")
    assert draw(report).drawn("png").startswith(b"\x89PNG")


def test_several_losses_of_any_shape_are_summed():
    w = leaf("w", 2, 3)
    assert gradcheck([w.sin(), (w * w).sum(0)]).require().count == 6


def test_scalar_nodes_inside_a_tensor_are_checked_too():
    x, y = ng.Variable(1.5, name="x"), ng.Variable(-0.5, name="y")
    assert gradcheck((LeafNode.of([x, y], "t").sin() * 2.0).sum()).require().count == 2


def test_entries_near_a_kink_are_masked():
    w = LeafNode.parameter([1.0, 5e-5, 0.0, -1.0], "w")
    assert gradcheck(w.relu()).require().masked == 2
    tied = LeafNode.parameter([[2.0, 2.0], [2.0, 1.0]], "tied")
    assert gradcheck(tied.max(1)).require().masked == 2
    assert gradcheck(tied.min(1)).require().masked == 2


@pytest.mark.parametrize("at", [0.0, 4e-6, -5e-5])
def test_kinks_that_cancel_mask_nothing(at):
    w = LeafNode.parameter([at, 1.0], "w")
    assert gradcheck(w.abs() * w + losses.huber([0.0, 1.0], w)).require().masked == 0
    assert gradcheck(w.abs()).masked == 1


def test_what_does_not_depend_on_an_entry_masks_nothing():
    w, v = LeafNode.parameter([1.0], "w"), LeafNode.parameter([0.0], "v")
    report = gradcheck(w.square() + v.relu())
    assert (report.parameters["w"].masked, report.parameters["v"].masked) == (0, 1)


def test_mask_skip_and_samples_choose_what_is_checked():
    loss, x, w, b = network()
    assert gradcheck(loss, skip=[x, b]).count == 6
    assert gradcheck(loss, skip=[x, b], mask=lambda which, at: which is w and at[0] == 1).masked == 2
    assert gradcheck(loss, max_per_param=2).count == 6
    assert gradcheck(loss, max_per_param=4, subset="every_n", skip=[b]).count == 4 + 3
    assert gradcheck(loss, max_per_param=2, seed=1).count == 6


def test_tolerances_decide_what_fails(wrong):
    w = LeafNode.parameter([1.0], "w")
    assert not gradcheck(wrong(w))
    assert gradcheck(wrong(w), max_rel=0.01)
    assert gradcheck(wrong(w), min_abs=0.1)
    assert gradcheck(w * w * w, eps=1e-2, max_rel=1e-3)


def test_nothing_is_left_changed():
    loss, _, w, _ = network()
    loss.backward()
    before, value = w.gradient().copy(), loss._value
    gradcheck(loss)
    assert w.gradient().tolist() == before.tolist()
    assert loss._value is value


def test_what_cannot_be_checked_says_so():
    x = LeafNode.input((2,), "x")
    with pytest.raises(PlaceHolderError, match="'x'"):
        gradcheck(x.sum())
    x.value = [-1.0, 1.0]
    with pytest.raises(NumericError, match="The loss is nan"):
        gradcheck(x.log())
    with pytest.raises(NodeError, match='"random" or "every_n"'):
        gradcheck(x.sum(), subset="first")
    torch = pytest.importorskip("torch")
    single = LeafNode.parameter(torch.ones(2, dtype=torch.float32), "single")
    with pytest.raises(NumberError, match="float64"):
        gradcheck(single.sum())
