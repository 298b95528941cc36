"""What a row makes on arrays is linear in what it reads and returns, forwards and backwards."""

import tracemalloc
import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from naive_graph import Graph, LeafNode
from naive_graph.tensor.operators import register_all  # noqa: F401
from naive_graph.tensor.operators.table import TABLE

DICE = np.random.default_rng(5)


def peak(make):
    """How many bytes a loss, its value and its gradients take at most."""
    with Graph.scratch():
        tracemalloc.start()
        try:
            y = make()
            (y * y).sum().backward()
            return tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()


def forward():
    with warnings.catch_warnings(action="ignore"):  # of numbers that are not finite
        Graph.forward()


def fed(shape, extent):
    places = LeafNode.input(shape)
    places.value = DICE.integers(0, extent, shape).astype(float)
    return places


def parameter(*shape):
    return LeafNode.parameter(DICE.normal(size=shape))


CASES = {
    "top_k of 10,000 numbers": (lambda: TABLE["top_k"](parameter(10_000), 10)[0], 10_000),
    "top_k along an axis": (lambda: TABLE["top_k"](parameter(8, 5_000, 2), 5, axis=1)[0], 80_000),
    "4,096 tokens of 50,000": (lambda: parameter(50_000, 8).gather(fed((4_096,), 50_000)), 50_000 * 8),
    "4,096 places in batches": (
        lambda: TABLE["gather"](parameter(8, 5_000), fed((8, 512), 5_000), axis=1, batch_dims=1), 40_000),
    "gather_elements": (lambda: TABLE["gather_elements"](parameter(5_000, 4), fed((512, 4), 5_000)), 20_000),
    "scatter_elements": (
        lambda: TABLE["scatter_elements"](parameter(5_000, 4), parameter(512, 4), fed((512, 4), 5_000)), 20_000),
    "a product that is reshaped": (lambda: (parameter(64, 128) @ parameter(128, 128)).reshape(64, 4, 32), 16_384),
    "a transposed convolution": (
        lambda: TABLE["conv2d_transpose"](parameter(2, 8, 8, 16), parameter(4, 4, 16, 16), strides=2), 8_000),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_what_a_row_makes_is_as_much_as_it_reads_and_returns(name):
    make, entries = CASES[name]
    assert peak(make) < 40 * 8 * entries


def test_a_concat_of_many_pieces_is_one_copy():
    pieces = 800
    few, many = (peak(lambda n=n: TABLE["concat"]([parameter(200)] * n)) for n in (pieces // 4, pieces))
    assert many < 8 * few and many < 30 * 8 * 200 * pieces


@pytest.mark.parametrize("largest", [True, False])
@given(st.lists(st.sampled_from([0.0, -0.0, 1.0, 2.0, np.inf, -np.inf, np.nan]), min_size=1, max_size=7), st.data())
def test_arrays_are_sorted_as_single_numbers_are_compared(largest, numbers, data):
    with Graph.scratch():
        found = TABLE["top_k"](LeafNode.parameter(numbers), data.draw(st.integers(1, len(numbers))), largest=largest)
        for each in found:
            scalars = each.lower()
            forward()
            np.testing.assert_array_equal(scalars.values, each.eval())


@given(st.data())
def test_places_on_arrays_mean_what_they_mean_among_single_numbers(data):
    shape = data.draw(st.tuples(st.integers(1, 3), st.integers(1, 3)))
    axis = data.draw(st.integers(0, 1))
    places = st.integers(-shape[axis], shape[axis] - 1).map(float)  # others are refused: test_versions
    table = data.draw(st.lists(places, min_size=shape[0] * shape[1], max_size=shape[0] * shape[1]))
    with Graph.scratch():
        x, at = LeafNode.parameter(np.arange(1.0, 1 + shape[0] * shape[1]).reshape(shape)), LeafNode.input(shape)
        at.value = np.reshape(table, shape)
        y = TABLE["gather_elements"](x, at, axis=axis)
        put = TABLE["scatter_elements"](x, x * 2.0, at, axis=axis, reduction="add")
        for each in (y, TABLE["gather"](x, at, axis=axis), put):
            weights = np.arange(1.0, 1 + each.size).reshape(each.shape)
            loss = (each * weights).sum()
            loss.backward()
            scalars, leaf, total = each.lower(), x.lower(), loss.lower()
            forward()
            np.testing.assert_array_equal(scalars.values, each.eval())
            Graph.backward(total[()])
            np.testing.assert_array_equal(leaf.grads, x.gradient())
