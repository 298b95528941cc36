"""Reductions along axes: one node each, the same as slices by hand, NumPy, differences, and their scalars."""

import numpy as np
import pytest

import naive_graph as ng
from naive_graph import Graph, LeafNode
from naive_graph.errors import IndexSpecError, OperatorNameError
from naive_graph.tensor import ReductionNode
from naive_graph.tensor.differentiate import ancestors
from naive_graph.tensor.lowering.lower import estimate
from naive_graph.tensor.reduction_node import FLAT, REDUCTIONS

SMOOTH = [rule for rule in REDUCTIONS if rule not in FLAT]
NUMPY = {
    "maximum": np.max, "first_maximum": np.max, "peak": np.max, "minimum": np.min, "mul": np.prod,
    "logsumexp": lambda a, axis: np.log(np.sum(np.exp(a), axis)),
    "argmax": lambda a, axis: np.argmax(a.transpose(*[at for at in range(a.ndim) if at not in axis], *axis).reshape(
        *[n for at, n in enumerate(a.shape) if at not in axis], -1), -1),
}  # fmt: skip
AXES = [(2,), (0, 2), (0, 1, 2)]


def numbers(*shape, seed=0):
    return np.random.default_rng(seed).normal(size=shape)


def reduction(rule, x, axes):
    src = [-(axis + 1) if axis in axes else axis + 1 for axis in range(x.rank)]
    return ReductionNode(rule, [each for each in src if each > 0], src, x)


def lowered(node):
    scalars = ng.lower(node)
    Graph.forward()
    return scalars.values


@pytest.mark.parametrize("axes", AXES)
@pytest.mark.parametrize("rule", REDUCTIONS)
def test_a_reduction_is_numpys_on_arrays_and_as_scalars(rule, axes):
    x = LeafNode.parameter(numbers(3, 5, 4))
    y = reduction(rule, x, axes)
    assert y.eval() == pytest.approx(NUMPY[rule](x.value, axis=axes), abs=1e-14)
    assert lowered(y) == pytest.approx(y.eval(), abs=1e-14)


@pytest.mark.parametrize("extent", [1, 3, 16, 17])
@pytest.mark.parametrize("rule", REDUCTIONS)
def test_few_entries_and_many_are_reduced_alike(rule, extent):
    x = LeafNode.parameter(numbers(extent, 2))
    y = reduction(rule, x, (0,))
    assert y.eval() == pytest.approx(NUMPY[rule](x.value, axis=(0,)), rel=1e-13)
    if rule not in FLAT:
        y.sum().backward()
        assert x.gradient() == pytest.approx(by_differences(rule, x, (0,)), abs=1e-8)


def by_differences(rule, x, axes, eps=1e-6):
    found, start = np.empty(x.shape), x.value
    for at in np.ndindex(x.shape):
        above, below = start.copy(), start.copy()
        above[at] += eps
        below[at] -= eps
        found[at] = (NUMPY[rule](above, axis=axes).sum() - NUMPY[rule](below, axis=axes).sum()) / (2 * eps)
    return found


@pytest.mark.parametrize("axes", AXES)
@pytest.mark.parametrize("rule", SMOOTH)
def test_every_mode_finds_the_derivative_that_differences_find(rule, axes):
    x = LeafNode.parameter(numbers(3, 5, 4), "x")
    y = reduction(rule, x, axes).sum()
    y.backward()
    expected = by_differences(rule, x, axes)
    assert x.gradient() == pytest.approx(expected, abs=1e-7)
    assert ng.gradients(y, x).eval() == pytest.approx(x.gradient(), abs=1e-13)
    assert ng.tangents(x, y).eval() == pytest.approx(x.gradient(), abs=1e-13)
    scalar = ng.lower(y)[()]
    Graph.forward(scalar)
    Graph.backward(scalar)
    assert ng.lower(x).grads == pytest.approx(x.gradient(), abs=1e-13)


@pytest.mark.parametrize("rule", ["mul", "logsumexp"])
def test_second_derivatives_agree_with_those_of_the_scalars(rule):
    values = numbers(2, 5)
    values[0, 1] = values[0, 3] = 0.0  # two zeros: the product's first derivative is 0, its second is not
    x = LeafNode.parameter(values, "x")
    y = reduction(rule, x, (1,)).sum()
    second = ng.gradients(ng.gradients(y, x), x)
    both = ng.tangents(x, ng.gradients(y, x))
    scalars = ng.lower(x)
    matrix = np.array(ng.hessian(ng.lower(y)[()], list(scalars))).reshape(*x.shape, *x.shape)
    assert second.eval() == pytest.approx(matrix, abs=1e-13)
    assert both.eval() == pytest.approx(matrix, abs=1e-13)
    assert lowered(second) == pytest.approx(second.eval(), abs=1e-13)


def test_a_products_third_derivative_is_the_product_of_the_rest():
    x = LeafNode.parameter([0.0, 0.0, 0.0, 7.0, 2.0])
    third = ng.gradients(ng.gradients(ng.gradients(x.prod(), x)[0], x)[1], x)
    assert third.eval().tolist() == [0.0, 0.0, 14.0, 0.0, 0.0]


@pytest.mark.parametrize("rule", ["maximum", "minimum"])
def test_those_that_tie_share_the_gradient_on_arrays_and_as_scalars(rule):
    x = LeafNode.parameter([[3.0, 3.0, 3.0], [3.0, 3.0, 3.0]], "x")
    y = reduction(rule, x, (0, 1))
    y.backward()
    assert x.gradient() == pytest.approx(np.full((2, 3), 1 / 6))
    scalar = ng.lower(y)[()]
    Graph.forward(scalar)
    Graph.backward(scalar)
    assert ng.lower(x).grads == pytest.approx(x.gradient())


def test_the_first_of_equals_takes_the_gradient_row_by_row():
    x = LeafNode.parameter([[1.0, 3.0], [3.0, 3.0]])
    reduction("first_maximum", x, (0, 1)).backward()
    assert x.gradient().tolist() == [[0.0, 1.0], [0.0, 0.0]]


@pytest.mark.parametrize("rule", REDUCTIONS)
@pytest.mark.parametrize("extent", [3, 20])
def test_nan_wins_every_reduction(rule, extent):
    values = np.ones(extent)
    values[1] = np.nan
    y = reduction(rule, LeafNode.parameter(values), (0,))
    assert float(y.eval()) == 1.0 if rule == "argmax" else np.isnan(y.eval())


def test_a_logsumexp_stays_finite_and_its_gradient_is_the_softmax():
    for extent in (2, 30):
        values = np.linspace(-1e3, 1e3, extent)
        x = LeafNode.parameter(values)
        y = x.logsumexp()
        y.backward()
        assert float(y.eval()) == pytest.approx(1e3)
        assert x.gradient() == pytest.approx(np.exp(values - 1e3) / np.exp(values - 1e3).sum(), abs=1e-15)


def test_infinite_entries_share_a_logsumexps_gradient():
    x = LeafNode.parameter([np.inf, 0.0, np.inf])
    x.logsumexp().backward()
    assert x.gradient().tolist() == [0.5, 0.0, 0.5]
    x.value = [-np.inf, -np.inf, -np.inf]
    y = x.logsumexp()
    assert float(y.eval()) == -np.inf


def test_a_reduction_is_one_node_however_long_the_axis():
    x = LeafNode.input((4, 1000))
    y = x.softmax()
    assert len(ancestors([y])) < 10
    assert x.max(1).sources == (x,)


def test_reductions_read_as_equations():
    x = LeafNode.input((2, 3), "x")
    assert x.max(1).equation().endswith("= max_{a} x[i,a]")
    assert x.prod().equation().endswith("= prod_{a,b} x[a,b]")
    assert x.logsumexp(0).equation("tex").endswith(r"= \operatorname{logsumexp}_{a} x_{ai}")


@pytest.mark.parametrize("rule", REDUCTIONS)
def test_lowering_appends_no_more_than_the_estimate(rule):
    x = LeafNode.parameter(numbers(3, 5))
    y = reduction(rule, x, (1,))
    ng.lower(x)
    most, before = estimate(y), len(Graph.node_list)
    ng.lower(y)
    constants = 6  # are shared
    assert len(Graph.node_list) - before <= most + constants


def test_a_product_or_logsumexp_lowers_to_one_scalar_of_all_its_entries():
    x = LeafNode.parameter(numbers(2, 5), "x")
    for y, word in ((x.prod(1), "mul"), (x.logsumexp(1), "logsumexp")):
        node = ng.lower(y)[0]
        assert (node.operator, node.in_deg) == (word, 5)


def test_a_rule_that_no_reduction_has_is_refused_with_those_that_there_are():
    x = LeafNode.input((2, 3))
    with pytest.raises(OperatorNameError, match="one of 'maximum', 'minimum', 'mul'"):
        ReductionNode("median", (1,), (1, -1), x)
    with pytest.raises(OperatorNameError, match=r"TransformNode: t.sum\(axis\)"):
        ReductionNode(ng.add, (1,), (1, -1), x)
    with pytest.raises(IndexSpecError, match="makes no new index"):
        ReductionNode("mul", (1, -1), (1, -1), x)


STABLE = {
    "softmax": lambda x: x.softmax(), "log_softmax": lambda x: x.log_softmax(),
    "logsumexp": lambda x: x.logsumexp(-1),
}  # fmt: skip
WIDE = np.array([[1e3, 999.0, -1e3], [-1e3, -1001.0, -999.5], [0.0, 1e3, 1e-3]])


@pytest.mark.parametrize("name", STABLE)
def test_shares_of_huge_entries_are_the_scalars_with_their_gradients(name):
    x = LeafNode.parameter(WIDE, "x")
    y = STABLE[name](x)
    weights = np.arange(1.0, y.size + 1).reshape(y.shape)
    total = (y * weights).sum()
    total.backward()
    scalar = ng.lower(total)[()]
    Graph.forward(scalar)
    Graph.backward(scalar)
    assert np.isfinite(y.eval()).all()
    assert ng.lower(y).values == pytest.approx(y.eval(), rel=1e-12)
    assert ng.lower(x).grads == pytest.approx(x.gradient(), abs=1e-12)
