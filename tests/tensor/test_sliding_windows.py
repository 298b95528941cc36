"""Convolutions of arrays at once give what the nodes give that they are written of: values and derivatives."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from naive_graph import Graph, LeafNode
from naive_graph.tensor import conv2d, depthwise_conv2d
from naive_graph.tensor.evaluation.evaluate import ArrayAlgebra, cached_array, evaluate_composition
from naive_graph.tensor.slicing import pad_axis

EPS = np.finfo(float).eps
pairs = st.tuples(st.integers(1, 3), st.integers(1, 3))
extents = st.one_of(st.integers(5, 9), st.integers(24, 30))  # one block of windows, or several
layouts = st.sampled_from(["NHWC", "NCHW"])


@st.composite
def convolutions(draw):
    """A convolution of the image and the filters, and arrays for them."""
    groups, per, many = draw(st.sampled_from([(1, 1, 3), (1, 3, 40), (1, 2, 2), (3, 1, 1), (2, 1, 2)]))
    lead, layout, (kh, kw) = draw(st.sampled_from([(), (1,), (3,), (2, 2)])), draw(layouts), draw(pairs)
    random = np.random.default_rng(draw(st.integers(0, 99)))
    rows, columns = draw(extents), draw(extents)
    channels = groups * per
    image = (rows, columns, channels) if layout == "NHWC" else (channels, rows, columns)
    filters = random.normal(size=(groups * many, per, kh, kw)).transpose(2, 3, 1, 0)  # as they lie in an ONNX file
    w = filters if draw(st.booleans()) else np.ascontiguousarray(filters)
    settings = {"strides": draw(pairs), "padding": draw(st.sampled_from(["VALID", "SAME", 2, [0, 1, 2, 0]])),
                "dilations": draw(st.sampled_from([1, 2])), "groups": groups, "data_format": layout}  # fmt: skip
    return (lambda x, w: conv2d(x, w, **settings)), random.normal(size=(*lead, *image)), w


def made(write, *arrays):
    """The node that is found at once, with what it reads."""
    node = write(*(LeafNode.parameter(each) for each in arrays))
    node.eval()
    while not (node.direct and node.direct.back):
        (node,) = (each for each in node.sources if each.sources)
    return node


def both(node, seed):
    """Value and derivatives: at once, and as the node is written."""
    at_once = [cached_array(node), *node.direct.back(node, cached_array, seed, range(2))]
    read = evaluate_composition(node, cached_array, node.reads)
    return at_once, [read(node), *ArrayAlgebra().vjp_through_composition(node, read, seed)]


@settings(max_examples=60)
@given(convolutions(), st.integers(0, 99))
def test_a_convolution_at_once_is_the_one_that_is_written(convolution, seed):
    write, x, w = convolution
    with Graph.scratch():
        node = made(write, x, w)
        adjoint = np.random.default_rng(seed).normal(size=node.shape)
        found, expected = both(node, adjoint)
        _, terms = both(made(write, abs(x), abs(w)), abs(adjoint))
        counts = both(made(write, np.ones_like(x), np.ones_like(w)), np.ones_like(adjoint))[1]
    for ours, due, sizes, count in zip(found, expected, terms, counts):
        assert ours.shape == due.shape
        assert (abs(ours - due) <= 2 * count * EPS * sizes).all()


def test_an_infinite_filter_meets_nothing_in_the_padding():
    x, w = np.ones((4, 4, 1)), np.ones((3, 3, 1, 1))
    w[0] = np.inf
    with Graph.scratch():
        leaves = [LeafNode.parameter(each) for each in (x, w)]
        found = [
            conv2d(*leaves, padding=1).eval(),
            conv2d(pad_axis(pad_axis(leaves[0], 0, 1, 1), 1, 1, 1), leaves[1]).eval(),
        ]
    for each in found:
        assert np.isfinite(each[0]).all()
        assert np.isposinf(each[1:]).all()


def test_filters_of_single_channels_may_be_several():
    x, w = np.random.default_rng(0).normal(size=(1, 6, 6, 3)), np.random.default_rng(1).normal(size=(3, 3, 3, 2))
    with Graph.scratch():
        ours = depthwise_conv2d(LeafNode.constant(x), LeafNode.constant(w)).eval()
    for c in range(3):
        for m in range(2):
            due = sum(x[:, i : i + 4, j : j + 4, c] * w[i, j, c, m] for i in range(3) for j in range(3))
            np.testing.assert_allclose(ours[..., 2 * c + m], due, rtol=1e-12, atol=1e-12)


def test_only_the_derivatives_that_are_asked_for_are_computed():
    with Graph.scratch():
        node = made(conv2d, np.ones((5, 5, 1)), np.ones((2, 2, 1, 1)))
        image, filters = node.direct.back(node, cached_array, np.ones(node.shape), [1])
    assert image is None
    assert filters.shape == (2, 2, 1, 1)
