"""Arrays of torch, JAX and Dask take NumPy's path and give NumPy's numbers."""

import pickle

import numpy as np
import pytest

import naive_graph as ng
from naive_graph import LeafNode, tensor
from naive_graph.tensor import ReductionNode, conv2d, max_pool2d
from naive_graph.tensor.evaluation.eval_plan import plan_evaluation
from naive_graph.tensor.evaluation.evaluate import cached_array
from naive_graph.tensor.losses import softmax_cross_entropy
from naive_graph.tensor.reduction_node import REDUCTIONS
from naive_graph.tensor.sparse_selector import SelectionNode
from naive_graph.tensor.tasks.serialization import serialize
from naive_graph.tensor.tasks.work import Evaluate

IMAGES = np.random.default_rng(0).normal(size=(2, 6, 6, 1))
KERNEL = np.random.default_rng(1).normal(size=(3, 3, 1, 2))
WEIGHTS = np.random.default_rng(2).normal(size=(8, 3))


def torch_array(values):
    return pytest.importorskip("torch").tensor(values)


def jax_array(values):
    jax = pytest.importorskip("jax")
    jax.config.update("jax_enable_x64", True)
    return jax.numpy.asarray(values)


def dask_array(values):
    return pytest.importorskip("dask.array").from_array(values, chunks=2)


def network(make):
    """A loss with convolution, padding, pooling, reshaping and a softmax; and its parameters."""
    images, kernel, weights = (
        LeafNode.constant(make(IMAGES)),
        LeafNode.parameter(make(KERNEL)),
        LeafNode.parameter(make(WEIGHTS)),
    )
    h = max_pool2d((conv2d(images, kernel, strides=2, padding="SAME")).tanh(), 2, strides=1)
    logits = h.reshape(2, -1) @ weights + ng.sigmoid(weights.sum(0))
    labels = LeafNode.constant(make(np.eye(3)[[0, 2]]))
    return softmax_cross_entropy(labels, logits) + (kernel.gelu() ** 2).mean(), [kernel, weights]


@pytest.mark.parametrize("make", [torch_array, jax_array, dask_array])
def test_values_and_gradients_are_numpys(make):
    loss, parameters = network(make)
    loss.backward()
    found = [np.asarray(each.gradient()) for each in parameters]
    expected, same = network(np.asarray)
    expected.backward()
    assert type(loss.eval()) is type(make(KERNEL))
    assert float(loss.eval()) == pytest.approx(float(expected.eval()), rel=1e-12)
    for ours, theirs in zip(found, same):
        assert ours == pytest.approx(theirs.gradient(), abs=1e-12)


@pytest.mark.parametrize("make", [torch_array, jax_array, dask_array])
@pytest.mark.parametrize("extent", [3, 40])  # folded one by one, and by the library's own function
@pytest.mark.parametrize("rule", REDUCTIONS)
def test_reductions_are_numpys(make, extent, rule):
    found = []
    for library in (make, np.asarray):
        x = LeafNode.parameter(library(np.random.default_rng(3).normal(size=(2, extent, 2))))
        y = ReductionNode(rule, (2,), (-1, 2, -2), x) if extent == 3 else ReductionNode(rule, (1, 2), (1, -1, 2), x)
        (y * y).sum().backward()
        found.append((np.asarray(y.eval()), np.asarray(x.gradient())))
    for ours, theirs in zip(*found):
        assert ours == pytest.approx(theirs, abs=1e-12)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # Dask computes later, and warns as NumPy does
@pytest.mark.parametrize("make", [torch_array, jax_array, dask_array])
@pytest.mark.parametrize("name", ng.core.catalogue.UNARY)
def test_every_unary_operator_gives_numpys_values(make, name):
    values = np.array([-2.0, -0.5, 0.0, 0.5, 2.0, np.inf, np.nan])
    rule = ng.core.rules.RULES[name]
    ours = rule(LeafNode.parameter(make(values))).eval()
    assert np.asarray(ours) == pytest.approx(rule(LeafNode.parameter(values)).eval(), rel=1e-12, abs=1e-15, nan_ok=True)


def test_torch_checks_the_gradients_of_the_network():
    torch = pytest.importorskip("torch")
    loss, parameters = network(np.asarray)
    loss.backward()
    kernel, weights = (torch.tensor(each, requires_grad=True) for each in (KERNEL, WEIGHTS))
    images = torch.tensor(IMAGES).permute(0, 3, 1, 2)
    padded = torch.nn.functional.pad(images, (0, 1, 0, 1))
    h = torch.nn.functional.conv2d(padded, kernel.permute(3, 2, 0, 1), stride=2).tanh()
    h = torch.nn.functional.max_pool2d(h, 2, 1).permute(0, 2, 3, 1)
    logits = h.reshape(2, -1) @ weights + torch.sigmoid(weights.sum(0))
    theirs = (
        torch.nn.functional.cross_entropy(logits, torch.tensor([0, 2])) + (torch.nn.functional.gelu(kernel) ** 2).mean()
    )
    theirs.backward()
    assert float(loss.eval()) == pytest.approx(float(theirs.detach()), rel=1e-12)
    for ours, each in zip(parameters, (kernel, weights)):
        assert ours.gradient() == pytest.approx(each.grad.numpy(), abs=1e-12)


def beside_infinity(make):
    """Entries that a padding has moved, and its zeros by structure, times infinity."""
    padded = tensor.pad(LeafNode.parameter(make(np.array([1.0, 2.0]))), [1, 0])
    return padded * LeafNode.constant(make(np.array([np.inf, 3.0, np.inf])))


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("make", [torch_array, jax_array, dask_array])
def test_a_zero_by_structure_beside_infinity_is_kept_by_numpy_alone(make, ignoring_invalid):
    assert np.asarray(beside_infinity(np.asarray).eval()).tolist() == [0.0, 3.0, np.inf]
    np.testing.assert_array_equal(np.asarray(beside_infinity(make).eval()), [np.nan, 3.0, np.inf])


def test_a_worker_of_dasks_keeps_what_a_selection_leaves_out_and_no_other_zero_by_structure(ignoring_invalid):
    pytest.importorskip("cloudpickle")
    x = LeafNode.parameter([[1.0, np.inf], [2.0, 3.0]])
    for node, due in ((beside_infinity(np.asarray), [np.nan, 3.0, np.inf]), (tensor.einsum([x], "ii->i"), [1.0, 3.0])):
        (recipe,) = plan_evaluation([node], node)
        for each in recipe.reads:
            each.eval()
        values = [cached_array(each) for each in recipe.reads if not isinstance(each, SelectionNode)]
        sent = pickle.loads(serialize(Evaluate(recipe), node))
        np.testing.assert_array_equal(sent(*values), due)
