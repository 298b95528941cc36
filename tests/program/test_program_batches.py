"""Many samples at once give what one after the other gives."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from large_graphs import EVERY, EXACT, grown, leaves_of

import naive_graph as ng
from naive_graph import Graph, PlaceHolder, Program, Variable

SIZES = [1, 2, 7, 8, 9, 100, 1000]
SEEDS = st.integers(0, 10**6)
LAW = settings(max_examples=15, deadline=None)
OF_ONE = {"total", "mean"}  # of one sample they are the sample itself


def fed_graph(seed, size, operators):
    """A random graph that depends on PlaceHolders: its output, its leaves, those that are fed."""
    nodes = grown(seed, size, [name for name in operators if name not in OF_ONE])
    p = PlaceHolder(name="p")
    p.value = 0.5
    leaves = [*leaves_of(nodes), p]
    return nodes[-1] * p, leaves, [leaf for leaf in leaves if isinstance(leaf, PlaceHolder)]


def batch(seed, holders, samples):
    dice = np.random.default_rng(seed)
    return {holder: dice.uniform(-2.0, 2.0, samples).round(3) for holder in holders}


def one_by_one(output, leaves, data, samples):
    program = Program(output, wrt=leaves, engine="reference")
    answers = [program(feed={p: float(line[k]) for p, line in data.items()}) for k in range(samples)]
    return np.array([each.value for each in answers]), np.array([each.gradient for each in answers])


def near(found, wanted, scale=1.0):
    return np.allclose(found, wanted, rtol=1e-9, atol=1e-11 * scale)


@LAW
@given(SEEDS, st.integers(3, 150), st.sampled_from(SIZES[:6]))
def test_a_batch_has_the_values_of_its_samples_bit_for_bit(seed, size, samples):
    with Graph.scratch():
        Graph.on_invalid = "ignore"
        output, leaves, holders = fed_graph(seed, size, EXACT)
        data = batch(seed, holders, samples)
        values, _ = one_by_one(output, leaves, data, samples)
        assert np.array_equal(Program(output)(feed=data).value, values, equal_nan=True)


@LAW
@given(SEEDS, st.integers(3, 150), st.sampled_from(SIZES[:6]), st.sampled_from([ng.total, ng.mean]))
def test_gradients_of_a_total_and_a_mean_are_sums_over_samples(seed, size, samples, gather):
    with Graph.scratch():
        Graph.on_invalid = "ignore"
        output, leaves, holders = fed_graph(seed, size, EVERY)
        data = batch(seed, holders, samples)
        values, slopes = one_by_one(output, leaves, data, samples)
        if not (np.isfinite(values).all() and np.isfinite(slopes).all()):
            return
        share = 1.0 / samples if gather is ng.mean else 1.0
        value, gradient = Program(gather(output), wrt=leaves)(feed=data)
        scale = 1.0 + np.abs(values).sum() + np.abs(slopes).sum()
        assert near(value, values.sum() * share, scale)
        for place, leaf in enumerate(leaves):
            wanted = slopes[:, place] if leaf in data else slopes[:, place].sum()
            assert near(gradient[place], wanted * share, scale)


def test_numbers_and_batches_may_alternate():
    p, w = PlaceHolder(), Variable(3.0)
    program = Program(w * p, wrt=[w], inputs=[p])
    assert program(2.0).value == 6.0
    assert program([1.0, 2.0]).value.tolist() == [3.0, 6.0]
    assert program(2.0).value == 6.0


@pytest.mark.parametrize("expression", [lambda p, w: p * w, lambda p, w: p * 2.0, lambda p, w: p, lambda p, w: p * p])
def test_the_gradient_of_a_fed_placeholder_has_one_entry_for_each_sample(expression):
    p, w = PlaceHolder(), Variable(3.0)
    data = [1.0, 2.0, 4.0]
    slopes = [Program(expression(p, w), wrt=[p])(feed={p: each}).gradient[0] for each in data]
    for gather, share in ((lambda y: y, 1.0), (ng.total, 1.0), (ng.mean, 1 / 3)):
        gradient = Program(gather(expression(p, w)), wrt=[w, p], inputs=[p])(data).gradient
        assert np.shape(gradient[1]) == (3,) and near(gradient[1], np.array(slopes) * share)


def test_a_placeholder_that_does_not_matter_has_zeros_for_each_sample():
    p, q, w = PlaceHolder(), PlaceHolder(), Variable(3.0)
    gradient = Program(w * p, wrt=[q, w], inputs=[p, q])([1.0, 2.0], [5.0, 6.0]).gradient
    assert gradient[0].tolist() == [0.0, 0.0] and gradient[1] == 3.0


def test_what_does_not_depend_on_the_batch_has_one_value():
    p, w = PlaceHolder(), Variable(3.0)
    assert Program([w * 2.0, p * w], inputs=[p])([1.0, 2.0]).value[0] == 6.0


@pytest.mark.parametrize("samples", [1, 2, 7, 100])
def test_a_normalisation_takes_its_mean_over_the_batch(samples):
    p, w = PlaceHolder(), Variable(1.5)
    x = p * w
    centred = x - ng.mean(x)
    spread = ng.mean(centred * centred)
    loss = ng.total(p * centred / (spread + 0.1).sqrt())
    data = np.linspace(-1.0, 2.0, samples)

    def by_hand(weight):
        found = data * weight
        away = found - found.mean()
        return (data * away / math.sqrt((away * away).mean() + 0.1)).sum()

    value, gradient = Program(loss, wrt=[w], inputs=[p])(data)
    assert near(value, by_hand(1.5))
    slope = (by_hand(1.5 + 1e-6) - by_hand(1.5 - 1e-6)) / 2e-6
    assert gradient[0] == pytest.approx(slope, rel=1e-6, abs=1e-6)


def test_a_fed_placeholder_feels_the_mean_that_it_is_part_of():
    p = PlaceHolder()
    loss = ng.total((p - ng.mean(p)) ** 2 * p)
    data = np.array([0.5, -1.0, 2.0, 0.25])

    def by_hand(x):
        return ((x - x.mean()) ** 2 * x).sum()

    gradient = Program(loss, wrt=[p], inputs=[p])(data).gradient[0]
    slopes = [(by_hand(data + h) - by_hand(data - h)) / 2e-6 for h in np.eye(4) * 1e-6]
    assert gradient == pytest.approx(slopes, rel=1e-6, abs=1e-6)


def test_inputs_and_feeds_are_the_same():
    p, q, w = PlaceHolder(), PlaceHolder(), Variable(3.0)
    loss = ng.mean((w * p - q) ** 2)
    xs, ys = [1.0, 2.0, 3.0], [2.0, 1.0, 0.0]
    answers = [
        Program(loss, wrt=[w], inputs=[p, q])(xs, ys),
        Program(loss, wrt=[w], inputs=[[p, q]])(np.array([xs, ys]).T),
        Program(loss, wrt=[w], inputs=[p])(xs, feed={q: ys}),
        Program(loss, wrt=[w])(feed={q: ys, p: xs}),
    ]
    assert len({(value, gradient[0]) for value, gradient in answers}) == 1


@pytest.mark.parametrize("engine", ["compiled", None])
@pytest.mark.parametrize("gather", [ng.total, ng.mean])
@pytest.mark.parametrize("batch", [2.0, [2.0], [1.0, 2.0, 3.0]])
def test_what_has_one_value_is_its_own_total_and_mean(gather, batch, engine):
    w, p = Variable(1.5), PlaceHolder()
    program = Program([gather(w * w), gather(p * 0.0) + w * w], wrt=[w], inputs=[p], engine=engine)
    value, gradient = program(batch)
    assert value == [2.25, 2.25] and [row.tolist() for row in gradient] == [[3.0], [3.0]]


@pytest.mark.parametrize("engine", ["compiled", None])
def test_a_penalty_counts_once_beside_a_total_and_for_each_sample_inside_it(engine):
    w, p = Variable(1.5), PlaceHolder()
    program = Program([ng.total(w * p) + w * w, ng.total(w * p + w * w)], wrt=[w], inputs=[p], engine=engine)
    value, gradient = program([1.0, 2.0, 3.0])
    assert value == [11.25, 15.75] and [row.tolist() for row in gradient] == [[9.0], [15.0]]


@pytest.mark.parametrize("samples", SIZES)
def test_what_is_fed_can_be_asked_for_itself(samples):
    p, q, v = PlaceHolder(), PlaceHolder(), Variable(3.0)
    a, b = np.arange(float(samples)), np.arange(float(samples)) - 2.0
    for outputs, wanted in (([p], [a]), ([p, q], [a, b]), ([p, v * v], [a, 9.0]), ([q, p * q, p], [b, a * b, a])):
        found = Program(outputs, inputs=[p, q])(a, b).value
        assert all(np.array_equal(one, other) for one, other in zip(found, wanted))


LAID_OUT = {
    "by rows": lambda a: a,
    "by columns": np.asfortranarray,
    "every other row": lambda a: np.repeat(a, 2, axis=0)[::2],
    "some columns of many": lambda a: np.hstack([a, a])[:, : a.shape[1]],
    "backwards": lambda a: a[::-1].copy()[::-1],
    "one row for all": lambda a: np.broadcast_to(a[:1], a.shape),
    "unaligned": lambda a: np.frombuffer(b"x" + a.tobytes(), offset=1).reshape(a.shape),
    "in half the room": lambda a: a.astype(np.float32),
    "whole numbers": lambda a: a.astype(int),
    "lists": lambda a: a.tolist(),
    "in the other order of bytes": lambda a: a.astype(">f8"),
}


@pytest.mark.parametrize("laid_out", LAID_OUT.values(), ids=LAID_OUT.keys())
def test_a_batch_is_read_however_it_is_laid_out(laid_out):
    xs, w = [PlaceHolder() for _ in range(3)], Variable(0.5)
    plain = np.random.default_rng(0).normal(size=(70, 3)).astype(np.float32).astype(float)
    program, batch = Program(w * xs[0] * xs[1] - xs[2] / w, [w], inputs=[xs]), laid_out(plain)
    expected = Program(w * xs[0] * xs[1] - xs[2] / w, [w], inputs=[xs])(np.array(batch, float))
    for array in (batch, batch, plain, batch, batch, batch):  # the short way, another layout, and the short way again
        found = program(array)
    assert np.array_equal(found.value, expected.value)
    assert np.array_equal(found.gradient, expected.gradient)


def test_samples_are_read_where_they_lie():
    xs = [PlaceHolder() for _ in range(3)]
    program, batch = Program(xs[0] * xs[2], inputs=[xs]), np.ones((70, 5))[:, 1:4]
    for _ in range(4):
        program(batch)
        code = next(iter(program._backends.values())).tape
        begins = batch.ctypes.data + 8 * np.array([0, 2])
        assert code.feeds[1].tolist() == [[begin, batch.strides[0]] for begin in begins]
