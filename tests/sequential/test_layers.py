"""What a layer computes and its derivative, beside the formulas written by hand (SPEC E2)."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from naive_graph.errors import SequentialError
from naive_graph.sequential.compute import COMPOSED, Loss, make_arithmetic
from naive_graph.sequential.layers import (
    Activation,
    AveragePooling2D,
    Conv2D,
    Dense,
    Dropout,
    Layer,
    MaxPooling2D,
    connect_layers,
)
from naive_graph.sequential.model import Sequential
from naive_graph.sequential.splitjoin import dilate_delta

NEAR = {"rtol": 1e-12, "atol": 1e-12}


def both(layer, shape, seed=0):
    """A layer on random numbers: x, weights, delta, y, dx and the weights' gradients."""
    (place,) = connect_layers([layer], shape)
    random = np.random.default_rng(seed)
    x = random.normal(size=shape)
    weights = {name: random.normal(size=extents) for name, extents in place.weight_shapes.items()}
    delta = random.normal(size=place.output_shape)
    does = make_arithmetic(place)
    y, kept = does.forward(x[None], weights)
    held = x[None] if layer.needs_input_for_backward else kept
    dx, found = does.backward(delta[None], held, weights), does.weight_gradients(delta[None], held, weights)
    return x, weights, delta, y[0], dx[0], found


@given(st.integers(1, 6), st.integers(1, 6), st.booleans(), st.integers(0, 99))
def test_dense(rows, units, biased, seed):
    x, w, delta, y, dx, found = both(Dense(units, biased), (rows,), seed)
    np.testing.assert_allclose(y, x @ w["W"] + w.get("b", 0.0), **NEAR)
    np.testing.assert_allclose(dx, w["W"] @ delta, **NEAR)
    np.testing.assert_allclose(found["W"], np.outer(x, delta), **NEAR)
    assert not biased or np.array_equal(found["b"], delta)


pairs = st.tuples(st.integers(1, 3), st.integers(1, 3))


@settings(deadline=None)
@given(
    pairs, pairs, st.tuples(st.integers(0, 2), st.integers(0, 2)), st.integers(1, 3), st.integers(1, 3), st.booleans()
)
def test_conv2d_and_its_dilated_correlation(kernel, strides, padding, channels, filters, biased):
    shape = (5, 6, channels)
    layer = Conv2D(filters, kernel, strides, biased, padding)
    x, w, delta, y, dx, found = both(layer, shape)
    (kh, kw), (sh, sw), (ph, pw) = kernel, strides, padding
    wide = np.pad(x, ((ph, ph), (pw, pw), (0, 0)))
    spread = dilate_delta(connect_layers([layer], shape)[0], delta[None])[0]
    expected, learned = np.zeros_like(y), np.zeros_like(w["W"])
    back = np.zeros_like(wide)
    for m in range(y.shape[0]):
        for n in range(y.shape[1]):
            patch = wide[m * sh : m * sh + kh, n * sw : n * sw + kw]
            expected[m, n] = np.einsum("ijc,fcij->f", patch, w["W"]) + w.get("b", 0.0)
            learned += np.einsum("f,ijc->fcij", delta[m, n], patch)
    for m in range(wide.shape[0]):
        for n in range(wide.shape[1]):
            back[m, n] = np.einsum("ijf,fcij->c", spread[m : m + kh, n : n + kw], w["W"][:, :, ::-1, ::-1])
    np.testing.assert_allclose(y, expected, **NEAR)
    np.testing.assert_allclose(found["W"], learned, **NEAR)
    np.testing.assert_allclose(dx, back[ph : ph + 5, pw : pw + 6], **NEAR)
    assert not biased or np.allclose(found["b"], delta.sum((0, 1)), **NEAR)


@given(pairs, st.integers(0, 99))
def test_pooling_leaves_the_rest_out(pool, seed):
    shape, (p, q) = (7, 5, 2), pool
    high, wide = shape[0] // p, shape[1] // q
    x, _, delta, y, dx, _ = both(AveragePooling2D(pool), shape, seed)
    windows = x[: high * p, : wide * q].reshape(high, p, wide, q, 2)
    np.testing.assert_allclose(y, windows.mean((1, 3)), **NEAR)
    expected = np.zeros(shape)
    expected[: high * p, : wide * q] = np.repeat(np.repeat(delta, p, 0), q, 1) / (p * q)
    np.testing.assert_allclose(dx, expected, **NEAR)
    x, _, delta, y, dx, _ = both(MaxPooling2D(pool), shape, seed)
    assert np.array_equal(y, x[: high * p, : wide * q].reshape(high, p, wide, q, 2).max((1, 3)))
    assert np.isclose(dx.sum(), delta.sum()) and np.count_nonzero(dx) == delta.size


def test_the_first_of_equal_maxima_takes_the_gradient():
    (place,) = connect_layers([MaxPooling2D(2)], (2, 2, 1))
    dx = make_arithmetic(place).backward(np.ones((1, 1, 1, 1)), np.ones((1, 2, 2, 1)), {})
    assert dx.reshape(-1).tolist() == [1.0, 0.0, 0.0, 0.0]


def test_activations():
    x, _, delta, y, dx, _ = both(Activation("relu"), (9,))
    assert np.array_equal(y, np.maximum(x, 0)) and np.array_equal(dx, delta * (x > 0))
    x, _, delta, y, dx, _ = both(Activation("sigmoid"), (9,))
    np.testing.assert_allclose(dx, delta * y * (1 - y), **NEAR)
    x, _, delta, p, dx, _ = both(Activation("softmax"), (2, 3, 4))
    np.testing.assert_allclose(p.sum(-1), 1.0, **NEAR)
    np.testing.assert_allclose(dx, p * (delta - (delta * p).sum(-1, keepdims=True)), **NEAR)


def test_dropout_drops_in_training_alone():
    (place,) = connect_layers([Dropout(0.4)], (1000,))
    does, x = make_arithmetic(place), np.ones((1, 1000))
    assert np.array_equal(does.forward(x, {})[0], x)
    y, mask = does.forward(x, {}, [(0, 1, 1)])
    assert set(y[0]) == {0.0, 1 / 0.6} and 0.35 < (y == 0).mean() < 0.45
    assert np.array_equal(does.backward(x, mask, {}), mask)
    assert np.array_equal(does.forward(x, {}, [(0, 1, 1)])[0], y)  # by seed, layer and iteration alone
    assert not np.array_equal(does.forward(x, {}, [(0, 1, 2)])[0], y)
    (whole,) = connect_layers([Dropout(1)], (3,))
    assert make_arithmetic(whole).forward(np.ones((1, 3)), {}, [(0, 1, 1)])[0].tolist() == [[0.0, 0.0, 0.0]]


@given(st.integers(0, 99))
def test_losses_and_the_gradient_of_softmax_with_cross_entropy(seed):
    random = np.random.default_rng(seed)
    z, y = random.normal(size=4) * 3, np.eye(4)[seed % 4]
    (place,) = connect_layers([Activation("softmax")], (4,))
    p, kept = make_arithmetic(place).forward(z[None], {})
    (loss,), slope = Loss("crossEntropy", (4,))(p, y[None])
    assert loss == pytest.approx(-np.log(p[0, seed % 4]), rel=1e-12)
    np.testing.assert_allclose(slope, -y / p, **NEAR)
    np.testing.assert_allclose(make_arithmetic(place).backward(slope, kept, {}), p - y, **NEAR)
    (loss,), slope = Loss("variance", (4,))(z[None], y[None])
    assert loss == pytest.approx(((z - y) ** 2).sum() / 2, rel=1e-12)
    np.testing.assert_allclose(slope[0], z - y, **NEAR)


def test_a_probability_of_zero_has_a_finite_loss():
    loss, slope = Loss("crossEntropy", (2,))(np.array([[0.0, 1.0]]), np.array([[1.0, 0.0]]))
    assert loss == pytest.approx([-np.log(1e-12)]) and slope[0].tolist() == pytest.approx([-1e12, 0.0])


def test_golden_convolution():
    x = np.arange(1.0, 17.0).reshape(4, 4, 1)
    w = {"W": np.array([[[[1.0, 2.0], [3.0, 4.0]]]])}
    for strides, out, learned in ((2, [[44, 64], [124, 144]], [[24, 28], [40, 44]]), (1, None, [[54, 63], [90, 99]])):
        (place,) = connect_layers([Conv2D(1, 2, strides, use_bias=0)], (4, 4, 1))
        does = make_arithmetic(place)
        y, _ = does.forward(x[None], w)
        dx, found = does.backward(np.ones_like(y), x[None], w), does.weight_gradients(np.ones_like(y), x[None], w)
        assert out is None or y[0, ..., 0].tolist() == out
        assert found["W"][0, 0].tolist() == learned
    assert dx[0, ..., 0].tolist() == [[1, 3, 3, 2], [4, 10, 10, 6], [4, 10, 10, 6], [3, 7, 7, 4]]


def test_layers_know_their_neighbours():
    first, second = Sequential([Dense(3), Dense(2)], 4, initializer=0.5).layers
    assert first.next is second and second.previous is first and first.previous is None
    assert second.input_shape == (3,) and second.output_shape == (2,) and second.size == 8


def test_a_window_that_does_not_fit_is_refused():
    with pytest.raises(SequentialError, match="SHAPE: Conv2D"):
        connect_layers([Conv2D(1, 5)], (4, 4, 1))


def test_numbers_of_numpys_are_numbers():
    three = np.int64(3)
    assert Dense(three, np.True_) == Dense(3) and type(Dense(three).units) is int
    assert Conv2D(three, (np.int8(2), 2), padding=np.uint8(1)) == Conv2D(3, 2, padding=1)
    assert Dropout(np.float32(0.5)) == Dropout(0.5)
    network = Sequential([Dense(three)], np.int32(4), np.float64(0.1), np.int16(9), initializer=np.float32(0.5))
    assert (network.input_shape, network.learning_rate, network.batch_size) == ((4,), 0.1, 9)
    assert (network.weights[0]["W"] == 0.5).all()


def test_a_layer_that_says_wrongly_that_it_needs_no_input_is_refused(monkeypatch):
    class Squared(Layer):
        needs_input_for_backward = False

    assert Layer.needs_input_for_backward  # who says nothing gets the input
    monkeypatch.setitem(COMPOSED, Squared, lambda layer, x, _: x * x)
    (place,) = connect_layers([Squared()], (3,))
    with pytest.raises(TypeError, match="NoneType"):
        make_arithmetic(place).backward(np.ones((1, 3)), None, {})
