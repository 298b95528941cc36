"""All passes, then the tape: the reference engine's numbers."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from ir_values import at, evaluated, near, plan_values, same
from random_graphs import random_graph, seeds, sizes
from taped import asked_of, given_values, lowered, on_tape
from test_passes_adjoint import with_magnitudes
from unrolled import Habit, network, unrolled

import naive_graph as ng
from naive_graph import Constant, Graph, PlaceHolder, Program, Variable

KINDS = st.sampled_from([Constant, PlaceHolder, Variable])


def differentiable(nodes):
    return [node for node in nodes if type(node) in (Variable, PlaceHolder)]


def agrees(output, wrt, exact=True, ulps=0.0):
    """The value bit for bit (or within the bound), and the gradient within it."""
    low = lowered([output], wrt)
    value, *slopes = on_tape(low)
    wanted = [output, *wrt]
    plan, values = plan_values(wanted)
    steps = dict(zip(plan.rows, range(len(plan)), strict=True))
    plan_of_output, values_of_output = plan_values([output])
    expected, magnitudes = with_magnitudes(plan_of_output, values_of_output)
    of_output = dict(zip(plan_of_output.rows, range(len(plan_of_output)), strict=True))
    before = values[steps[output.row]]
    if not math.isfinite(before):
        return low  # replayed on the reference engine
    if exact:
        assert same(value, before)
    else:
        assert abs(value - before) <= 1e-11 * (1.0 + abs(before))
    for node, slope in zip(wrt, slopes, strict=True):
        step = of_output.get(node.row)
        true, most = (expected[step], magnitudes[step]) if step is not None else (0.0, 0.0)
        assert near(true, slope, most * (1.0 if exact else 1e3), len(plan.operand_steps) + 8), (true, slope)
    return low


@given(seeds, sizes)
@settings(max_examples=25, deadline=None)
def test_without_library_functions_values_keep_every_bit(seed, size):
    with Graph.scratch():
        nodes = random_graph(seed, size, library=False)
        agrees(nodes[-1], differentiable(nodes))


@given(seeds, sizes)
@settings(max_examples=20, deadline=None)
def test_with_library_functions_values_are_near(seed, size):
    with Graph.scratch():
        nodes = random_graph(seed, min(size, 40))
        low = lowered([nodes[-1]], differentiable(nodes))
        interpreted = evaluated(low.ir, given_values(low))
        for taped, found in zip(on_tape(low), asked_of(low), strict=True):
            plain = at(interpreted, found)
            if math.isfinite(plain) and abs(plain) < 1e6:
                assert taped == pytest.approx(plain, rel=1e-6, abs=1e-6)


@given(seeds, st.integers(8, 40), KINDS, st.booleans())
@settings(max_examples=25, deadline=None)
def test_a_loop_over_samples_keeps_every_bit(seed, samples, data, own):
    with Graph.scratch():
        loss = unrolled(Habit(seed, samples, data=data, own=own, library=False))
        assert len(agrees(loss.total, loss.wanted).ir.samples) == 2


@given(seeds, st.integers(8, 40), st.integers(2, 3), KINDS, st.booleans(), st.booleans())
@settings(max_examples=25, deadline=None)
def test_ragged_loops_are_near(seed, samples, structures, data, own, begins):
    with Graph.scratch():
        loss = unrolled(Habit(seed, samples, structures, data, begins, own, library=False))
        agrees(loss.total, loss.wanted, exact=False)


@pytest.mark.parametrize(
    ("samples", "data"),
    [(8, Constant), (9, PlaceHolder), (16, Variable), (17, Constant), (129, Variable), (300, PlaceHolder)],
)
def test_a_network_of_any_number_of_samples_is_learned(samples, data):
    loss = network(samples, data=data)
    assert agrees(loss.total, loss.weights, exact=False).ir.samples == [1, samples]


def test_an_untaken_branch_of_one_sample_leaks_nothing():
    w, terms = Variable(0.5), []
    for k in range(-6, 7):
        z = w * float(k)
        terms.append(ng.where(z > 0, z.sqrt() * w, z))
    low = agrees(Graph.sum(terms), [w], exact=False)
    assert len(low.ir.samples) == 2 and math.isfinite(on_tape(low)[1])


def fed(number):
    x = PlaceHolder()
    x.value = number
    return x


@pytest.mark.parametrize("odd", [math.nan, math.inf])
@pytest.mark.parametrize("data", [Constant, Variable, fed])
def test_a_wild_number_under_an_untaken_branch_leaks_nothing(data, odd):
    """What one knows only later, in a table where a gap is NaN, say, is chosen by a mask."""
    w, v, terms = Variable(0.5), Variable(2.0), []
    for k in range(12):
        x = data(odd if k == 5 else k - 3.5)
        terms.append(ng.where(Constant(float(k != 5)), (w * x + v).tanh(), v * 0.25))
    (value, slopes), right = (Program(Graph.sum(terms), [w, v], engine=engine)() for engine in (None, "reference"))
    assert [value, *slopes] == pytest.approx([right[0], *right[1]])


@pytest.mark.parametrize("odd", [math.nan, math.inf])
def test_a_wild_number_in_a_batch_leaks_nothing_either(odd):
    w, x, there = Variable(0.5), PlaceHolder(), PlaceHolder()
    xs, mask = np.arange(20.0), np.arange(20) % 3 > 0
    program = Program(ng.total(ng.where(there, (w * x) ** 2, 0.0)), [w], inputs=[x, there])
    _, slopes = program(np.where(mask, xs, odd), mask.astype(float))
    assert slopes[0] == pytest.approx((xs[mask] ** 2).sum())


@pytest.mark.parametrize("samples", [1, 3, 8, 9, 130])
def test_lanes_that_no_sample_fills_add_nothing(samples):
    """The lanes beyond the last sample hold log(0) and 1/0."""
    w, v, x = Variable(0.5), Variable(2.0), PlaceHolder()
    xs = np.linspace(0.5, 2.0, samples)
    x.value = 1.0
    y = ng.total(x.log() * w * v + v / x * w)
    value, *slopes = on_tape(lowered([y], [w, v], [x]), {x.row: xs}, samples)
    terms = np.log(xs) * 2.0 + 2.0 / xs
    assert [value, *slopes] == pytest.approx([terms.sum() * 0.5, terms.sum(), terms.sum() / 4.0])


@given(seeds, st.integers(1, 40))
@settings(max_examples=20, deadline=None)
def test_a_fed_batch_gives_what_its_interpreter_gives(seed, samples):
    with Graph.scratch():
        loss = unrolled(Habit(seed, 1, data=PlaceHolder, library=False, inputs=3))
        xs, numbers = loss.data[0], np.random.default_rng(seed)
        batch = ng.mean(loss.terms[0]) * 2.0 + ng.total(loss.terms[0] * loss.weights[0])
        low = lowered([batch, loss.terms[0]], [*loss.weights, *xs], xs)
        fed = {x.row: numbers.normal(size=samples).tolist() for x in xs}
        low.ir.samples[1] = samples
        interpreted = evaluated(low.ir, given_values(low, fed))
        for place, (taped, found) in enumerate(zip(on_tape(low, fed, samples), asked_of(low), strict=True)):
            plain = at(interpreted, found)
            assert taped == pytest.approx(plain, rel=1e-9, abs=1e-9) if place else taped == plain


@pytest.mark.parametrize("samples", [1, 21, 300])
def test_samples_that_lose_their_mean_need_two_sections_of_lanes(samples):
    w, x = Variable(0.5), PlaceHolder()
    x.value = 1.0
    xs = np.linspace(-1.0, 2.0, samples)
    centred = x * w - ng.mean(x * w)
    low = lowered([ng.mean(centred.square() * x)], [w], [x])
    value, slope = on_tape(low, {x.row: xs}, samples)
    expected = (((xs - xs.mean()) * 0.5) ** 2 * xs).mean()
    assert [value, slope] == pytest.approx([expected, 4.0 * expected])


def test_several_outputs_have_a_row_of_slopes_each():
    x, y = Variable(2.0), Variable(3.0)
    assert on_tape(lowered([x * y, x - y], [x, y])) == [6.0, -1.0, 3.0, 2.0, 1.0, -1.0]


def test_an_output_that_does_not_depend_on_a_leaf_has_slope_zero():
    x, y = Variable(2.0), Variable(3.0)
    assert on_tape(lowered([x * x], [x, y])) == [4.0, 4.0, 0.0]


def test_a_shared_branch_that_no_sample_takes_passes_nothing_on():
    w = Variable(0.0)
    root = w.sqrt()
    terms = [ng.where(Constant(0.1 * k) > 2.0, root * 3.0, w * float(k)) for k in range(10)]
    low = agrees(Graph.sum(terms), [w])
    assert len(low.ir.samples) == 2 and on_tape(low) == [0.0, 45.0]


def test_a_condition_costs_a_weight_no_choice_of_its_own():
    w, terms = Variable(0.5), []
    for k in range(10):
        z = w * Constant(0.1 * k - 0.5)
        terms.append(ng.leaky_relu(z).tanh())
    low = agrees(Graph.sum(terms), [w], exact=False)
    choices = [row for row in range(len(low.ir)) if low.ir.name(row) == "where"]
    assert all(low.ir.groups[row] for row in choices)


@pytest.mark.parametrize("samples", [5, 9])
def test_the_slopes_of_one_samples_term_are_its_own(samples):
    w, v = Variable(0.5), Variable(2.0)
    terms = [(w * Constant(0.3 * k) + v).sin() for k in range(samples)]
    values_and_slopes = on_tape(lowered([terms[3], Graph.sum(terms), terms[0]], [w, v]))
    slopes = [(0.3 * k * math.cos(0.15 * k + 2.0), math.cos(0.15 * k + 2.0)) for k in range(samples)]
    total = [sum(each) for each in zip(*slopes)]
    assert values_and_slopes[3:] == pytest.approx([*slopes[3], *total, *slopes[0]])


def test_a_sample_of_ones_own_has_its_own_slope():
    w, xs = Variable(0.5), [Variable(0.1 * k) for k in range(10)]
    low = lowered([Graph.sum([(x * w).sin() * w for x in xs])], [w, *xs])
    assert len(low.ir.samples) == 2
    expected = [math.cos(0.05 * k) * 0.25 for k in range(10)]
    assert on_tape(low)[2:] == pytest.approx(expected)


@pytest.mark.parametrize("samples", [8, 13, 200])
def test_loops_that_depend_on_each_other_are_near(samples):
    w, v, xs = Variable(0.5), Variable(-0.3), [Constant(0.3 * k) for k in range(samples)]
    mean = Graph.sum([(x * w).square() * v for x in xs]) / float(samples)
    spread = Graph.sum([((x * v).square() - mean).square() for x in xs]) / float(samples)
    loss = Graph.sum([ng.where(x * w - mean > 0.0, (x * w - mean) / (spread + 1.0), x * v * mean) for x in xs])
    assert len(agrees(loss, [w, v], exact=False).ir.samples) > 2
