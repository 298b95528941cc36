"""Evaluation on arrays: lazy, incremental and full; the simple engine's gradients; size."""

import tracemalloc

import numpy as np
import pytest

import naive_graph as ng
from naive_graph import Graph, LeafNode, gradients, operator
from naive_graph.errors import (
    ForeignNodeError,
    NodeError,
    NoGradientError,
    PlaceHolderError,
    ShapeError,
)
from naive_graph.tensor import NonlinearNode, concat, stack


def leaf(*shape, seed=0):
    return LeafNode.parameter(np.random.default_rng(seed).normal(size=shape))


def test_writing_computes_nothing():
    x = LeafNode.input((3,))
    y = (x.exp() + 1).sum()
    assert y.shape == ()
    assert y._value is None


def test_eval_and_forward_answer_for_the_present_leaves():
    w = LeafNode.parameter([1.0])
    y = w * w
    assert y.eval().tolist() == [1.0]
    w.value = [3.0]
    assert y.eval().tolist() == [9.0]
    assert y.forward().tolist() == [9.0]


def test_an_input_without_a_value_is_named():
    x = LeafNode.input((2,), "x")
    with pytest.raises(PlaceHolderError, match=r"LeafNode 'x' \(2\) has no value"):
        (x + 1).eval()


def test_a_leaf_refuses_an_array_of_another_shape():
    x = LeafNode.input((2,), "x")
    with pytest.raises(ShapeError, match=r"cannot hold an array of shape \(3,\)"):
        x.value = [1.0, 2.0, 3.0]
    assert x.value is None


def test_a_constant_stays():
    with pytest.raises(NodeError, match="a constant stays"):
        LeafNode.constant([1.0]).value = [2.0]


def test_gradient_is_none_before_any_backward():
    assert leaf(2).gradient() is None


def test_backward_starts_from_one_number():
    with pytest.raises(ShapeError, match="Sum it"):
        leaf(2).backward()


def test_a_node_that_the_result_does_not_depend_on_has_no_gradient():
    w, other = leaf(2), leaf(2)
    (w * w).sum().backward()
    with pytest.raises(NoGradientError, match="does not depend on it"):
        other.gradient()


def test_a_constant_path_has_no_gradient_unless_asked_for():
    w, x = leaf(2), LeafNode.constant([3.0, 4.0])
    y = (w * x).sum()
    y.backward()
    with pytest.raises(NoGradientError, match="full=True"):
        x.gradient()
    y.backward(full=True)
    assert x.gradient() == pytest.approx(w.value)


def test_a_result_that_does_not_respond_gives_zeros():
    w = leaf(3)
    w.heaviside().sum().backward()
    assert w.gradient().tolist() == [0.0, 0.0, 0.0]


def test_two_backwards_are_two_answers():
    w = LeafNode.parameter([1.0, 2.0])
    (w * w).sum().backward()
    w.sum().backward()
    assert w.gradient().tolist() == [1.0, 1.0]


def test_ten_million_parameters_are_ordinary():
    w = LeafNode.parameter(np.ones((2500, 4000)))
    x = LeafNode.constant(np.ones(4000))
    loss = (w @ x).mean()
    loss.backward()
    assert float(loss.eval()) == 4000.0
    assert float(w.gradient().sum()) == pytest.approx(4000.0)


@pytest.mark.parametrize("shape", [(), (1,)])
def test_an_infinite_slope_times_a_zero_is_nan_in_tensors_of_any_rank(shape):
    x = LeafNode.parameter(np.zeros(shape))
    (x**2).log().sum().backward()
    assert np.isnan(x.gradient()).all()


def test_a_large_identity_is_never_written_out():
    w = LeafNode.parameter(np.ones(100_000))
    slope = gradients(w.tanh(), w)  # a tensor of 10**10 entries, of which a dot product needs the diagonal
    ones = LeafNode.constant(np.ones(100_000))
    total = ng.linear("ij,j->i", slope, ones)
    assert total.eval() == pytest.approx(1.0 - np.tanh(1.0) ** 2)


def test_products_of_products_are_contracted_in_the_cheapest_order():
    n = 400
    a, b, v = leaf(n, n), leaf(n, n, seed=1), leaf(n, seed=2)
    assert ((a @ b) @ v).eval() == pytest.approx(a.value @ (b.value @ v.value))


def test_a_learners_operator_runs_on_arrays():
    cube = operator("cube_of_entries", lambda a: a * a * a, [lambda a, y: 3.0 * a * a])
    x = leaf(4)
    y = cube(x)
    y.sum().backward()
    assert y.eval() == pytest.approx(x.value**3)
    assert x.gradient() == pytest.approx(3 * x.value**2)


def test_a_learners_opaque_python_runs_entry_by_entry():
    import math

    step = operator("opaque_of_entries", lambda a: math.floor(a) + 0.5 if a > 0 else math.ceil(a) - 0.5, [None])
    assert step(LeafNode.parameter([1.7, -1.7])).eval().tolist() == [1.5, -1.5]


def test_a_function_of_elements_may_not_reach_outside():
    y = Graph.Variable(1.0)
    with pytest.raises(TypeError, match="its arguments and of numbers"):
        NonlinearNode(lambda x: x * y, leaf(2))


def test_an_untaken_branch_never_leaks():
    x = LeafNode.parameter([-1.0, 4.0])
    y = ng.where(x > 0, ng.sqrt(x), 0.0).sum()
    y.backward()
    assert x.gradient().tolist() == [0.0, 0.25]
    assert gradients(y, x).eval().tolist() == [0.0, 0.25]
    assert ng.tangents(x, y).eval().tolist() == [0.0, 0.25]


def test_the_slope_of_a_logarithm_ends_where_the_logarithm_does():
    x = LeafNode.parameter([-1.0, 4.0])
    x.log().sum().backward()
    assert x.gradient() == pytest.approx([np.nan, 0.25], nan_ok=True)


NUMPY = {
    "a row": (lambda t: t[1], lambda a: a[1]),
    "a column": (lambda t: t[:, -1], lambda a: a[:, -1]),
    "steps backwards": (lambda t: t[::-1, ::2], lambda a: a[::-1, ::2]),
    "an ellipsis": (lambda t: t[..., 1:], lambda a: a[..., 1:]),
    "a new axis": (lambda t: t[:, None], lambda a: a[:, None]),
    "a list of places": (lambda t: t[[2, 0, 2]], lambda a: a[[2, 0, 2]]),
    "a transpose": (lambda t: t.T, lambda a: a.T),
    "a sum": (lambda t: t.sum(0, keepdims=True), lambda a: a.sum(0, keepdims=True)),
    "a mean": (lambda t: t.mean((0, 1)), lambda a: a.mean((0, 1))),
    "a maximum": (lambda t: t.max(1), lambda a: a.max(1)),
    "a minimum": (lambda t: t.min(), lambda a: a.min()),
    "a product": (lambda t: t.prod(0), lambda a: a.prod(0)),
    "another shape": (lambda t: t.reshape(2, -1), lambda a: a.reshape(2, -1)),
    "one axis": (lambda t: t.flatten(), lambda a: a.ravel()),
    "no axes of one": (lambda t: t[:1].squeeze(), lambda a: a[:1].squeeze()),
    "numbers on both sides": (lambda t: 2 - 3 * t / 4 + 1, lambda a: 2 - 3 * a / 4 + 1),
    "a power": (lambda t: t**2, lambda a: a**2),
    "a vector beside": (lambda t: t + np.arange(4.0), lambda a: a + np.arange(4.0)),
    "a column beside": (lambda t: np.ones((3, 1)) * t - t[:, :1], lambda a: np.ones((3, 1)) * a - a[:, :1]),
    "a matrix product": (lambda t: t @ t.T, lambda a: a @ a.T),
    "a product with a vector": (lambda t: t @ np.arange(4.0), lambda a: a @ np.arange(4.0)),
    "an array in front": (lambda t: np.ones((2, 3)) @ t, lambda a: np.ones((2, 3)) @ a),
    "one after the other": (lambda t: concat([t, t[:, :2]], 1), lambda a: np.concatenate([a, a[:, :2]], 1)),
    "one upon the other": (lambda t: stack([t, t]), lambda a: np.stack([a, a])),
    "a comparison": (lambda t: t > 0, lambda a: (a > 0).astype(float)),
}


@pytest.mark.parametrize("what", NUMPY)
def test_tensors_compute_what_numpy_computes(what):
    ours, theirs = NUMPY[what]
    t = leaf(3, 4)
    assert ours(t).eval() == pytest.approx(theirs(t.value), abs=1e-14)


@pytest.mark.parametrize("what", NUMPY)
def test_their_gradients_are_those_of_their_scalars(what):
    t = leaf(3, 4)
    y = (NUMPY[what][0](t) * 1.5).sum()
    y.backward()
    node = ng.lower(y)[()]
    Graph.forward(node)
    Graph.backward(node)
    assert node.value == pytest.approx(float(y.eval()), abs=1e-12)
    grads = ng.lower(t).grads
    assert np.nan_to_num(grads) == pytest.approx(t.gradient(), abs=1e-12)


def test_ties_share_the_gradient_of_a_maximum():
    t = LeafNode.parameter([3.0, 1.0, 3.0, 3.0])
    t.max().backward()
    assert t.gradient() == pytest.approx([1 / 3, 0, 1 / 3, 1 / 3])


def test_a_products_gradient_survives_zeros():
    t = LeafNode.parameter([2.0, 0.0, 5.0])
    t.prod().backward()
    assert t.gradient().tolist() == [0.0, 10.0, 0.0]


def test_max_pooling_gives_the_gradient_to_the_first_of_equals():
    x = LeafNode.parameter(np.ones((1, 2, 2, 1)))
    ng.tensor.max_pool2d(x, 2).sum().backward()
    assert x.gradient().ravel().tolist() == [1.0, 0.0, 0.0, 0.0]


def test_nan_wins_a_maximum():
    for place in range(4):
        values = np.ones(4)
        values[place] = np.nan
        x = LeafNode.parameter(values.reshape(1, 2, 2, 1))
        assert np.isnan(ng.tensor.max_pool2d(x, 2).eval()).all()


def test_tensors_and_scalars_of_two_graphs_do_not_mix():
    w = leaf(2)
    with Graph.scratch(), pytest.raises(ForeignNodeError):
        w + leaf(2)


def test_softmax_of_a_tensor_runs_along_its_last_axis():
    z = leaf(2, 3)
    assert ng.softmax(z).eval().sum(1) == pytest.approx([1.0, 1.0])
    assert z.log_softmax().eval() == pytest.approx(np.log(z.softmax().eval()))


def test_two_arrays_under_one_selection_are_multiplied_before_their_entries_move():
    x = leaf(6, 7, 8, 9)
    tiled = x.tile([7, 6, 4, 2])  # its selection, written out, would take 900 GiB
    slope = gradients((tiled * np.ones(tiled.shape)).sum(), x)
    assert (slope.eval() == 7 * 6 * 4 * 2).all()


def test_joining_many_tensors_takes_memory_in_proportion():
    def peak(count):
        parts = [LeafNode.parameter(np.full(8, float(each))) for each in range(count)]
        joined = ng.tensor.concat(parts)
        tracemalloc.start()
        joined.sum().backward()
        found = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert (parts[-1].gradient() == 1.0).all() and (joined.eval() == np.repeat(np.arange(float(count)), 8)).all()
        return found

    assert peak(800) < 6 * peak(200)  # of sums of all, one by one, 16 times as much
