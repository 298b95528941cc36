"""A Program of dtype float32 computes what NumPy's float32 does, in the written order, on every engine."""

import math
import struct

import numpy as np
import pytest
from asking import (
    GATHERED,
    LAW,
    NASTY,
    SAMPLES,
    SEEDS,
    SINGLES,
    SIZES,
    asking,
    fed,
    fed_graph,
    of_each_engine,
)
from hypothesis import given, settings
from hypothesis import strategies as st
from large_graphs import EXACT, grown
from singles import PLAIN, rounded_value, same_bits, single, units_apart, value_of

import naive_graph as ng
from naive_graph import Constant, Graph, PlaceHolder, Program, Variable, mean, operator, total, where
from naive_graph.core.catalogue import BUILT_IN
from naive_graph.core.rules import BY_NUMBER, RULES

# --- values ---------------------------------------------------------------------


@of_each_engine
@LAW
@given(SEEDS, SIZES, st.booleans())
def test_values_have_the_bits_of_numpys_float32(engine, seed, size, wild):
    with Graph.scratch():
        Graph.on_invalid = "ignore"
        outputs = grown(seed, size, EXACT, wild)[-3:]
        for output, value in zip(outputs, asking(outputs, engine=engine)().value):
            assert type(value) is float and same_bits(np.float32(value), value_of(output))


@LAW
@given(SEEDS, SIZES, SAMPLES)
def test_a_batch_has_the_bits_of_numpys_float32(seed, size, samples):
    with Graph.scratch():
        Graph.on_invalid = "ignore"
        output, leaves = fed_graph(seed, size, EXACT)
        data = fed(seed, leaves, samples)
        assert same_bits(asking(output)(feed=data).value, value_of(output, data))


@LAW
@given(SEEDS, st.integers(3, 60), st.lists(st.sampled_from(NASTY) | SINGLES, min_size=1, max_size=40))
def test_a_batch_of_any_numbers_has_the_bits_of_numpys_float32(seed, size, numbers):
    with Graph.scratch():
        Graph.on_invalid = "ignore"
        output, leaves = fed_graph(seed, size, EXACT)
        holders = [leaf for leaf in leaves if isinstance(leaf, PlaceHolder)]
        data = {leaf: np.roll(numbers, place) for place, leaf in enumerate(holders)}
        assert same_bits(asking(output)(feed=data).value, value_of(output, data))


@LAW
@given(SEEDS, st.integers(3, 60), SAMPLES)
def test_totals_and_means_add_up_in_order(seed, size, samples):
    with Graph.scratch():
        Graph.on_invalid = "ignore"
        output, leaves = fed_graph(seed, size, EXACT)
        data = fed(seed, leaves, samples)
        all_of_them, average = asking([total(output), mean(output)])(feed=data).value
        with np.errstate(all="ignore"):  # infinite terms of unlike signs
            sum = np.add.accumulate(np.broadcast_to(value_of(output, data), samples))[-1]
        assert same_bits(np.float32(all_of_them), sum) and same_bits(np.float32(average), sum / np.float32(samples))


# --- every operator -------------------------------------------------------------

CASES = [(rule.name, arity) for rule in BY_NUMBER[:BUILT_IN] for arity in ([rule.arity] if rule.arity else range(1, 5))]


def most_units(name):
    """How far a result may be from the rule's, rounded: in units of float32."""
    if name in PLAIN:
        return 0
    return 4 if name == "softmax_share" else 1  # each of its exponentials may be a neighbour


def any_number(dice):
    return dice.choice([dice.choice(NASTY), dice.uniform(-9, 9), dice.uniform(-100, 100), anywhere(dice)])


def anywhere(dice):
    return struct.unpack("<f", dice.randbytes(4))[0]


def is_rounded_once(name, xs, value):
    wanted = rounded_value(name, xs) if name not in PLAIN else single(PLAIN[name](*xs))
    if name == "logsumexp" and math.isfinite(wanted):  # it adds what may be of unlike signs
        return abs(value - wanted) <= 4 * np.spacing(single(max(1.0, *map(abs, filter(math.isfinite, xs)))))
    return units_apart(value, wanted) <= most_units(name)


@pytest.mark.parametrize(("name", "arity"), CASES)
def test_every_operator_is_rounded_once(name, arity):
    """One by one, by the reference engine, and as a batch."""
    holders = [PlaceHolder() for _ in range(arity)]
    Graph.on_invalid = "ignore"
    native, plain, batch = (
        asking(RULES[name](*holders), inputs=holders, engine=each) for each in ("native", "reference", None)
    )

    @settings(max_examples=4, deadline=None)
    @given(st.randoms(use_true_random=True))
    def law(dice):
        columns = [[any_number(dice) for _ in range(20)] for _ in range(arity)]
        if name == "softmax_share" and arity > 1:
            columns[1] = columns[0]  # the one whose share is asked for is among them
        cases = list(zip(*single(columns), strict=True))
        together = [] if name in GATHERED else batch(*map(np.array, columns)).value
        found = [each(*map(float, xs)).value for each in (native, plain) for xs in cases]
        for xs, value in zip(cases * 3, [*found, *together]):
            assert is_rounded_once(name, xs, value), (xs, value)

    with np.errstate(all="ignore"):
        law()


@of_each_engine
def test_an_operator_of_ones_own_is_rounded_once(engine):
    if "single_chirp" not in RULES:
        operator("single_chirp", lambda a: ng.sin(a * a) / 3.0, [lambda a, y: 2.0 * a * ng.cos(a * a) / 3.0])
    for value in np.linspace(-3, 3, 20):
        x = Variable(value)
        found = asking(RULES["single_chirp"](x), engine=engine)().value
        assert found == rounded_value("single_chirp", [np.float32(value)])


# --- what goes in and comes out -------------------------------------------------


@of_each_engine
def test_leaves_are_rounded_once_and_the_graph_keeps_its_numbers(engine):
    x = Variable(0.1)
    value, gradient = asking(x * 1.0, [x], engine)()
    assert value == float(np.float32(0.1)) and gradient.dtype == np.float32 and x.value == 0.1


@of_each_engine
def test_a_constant_is_rounded_before_it_is_asked_about(engine):
    assert asking(where(Constant(1e-50), Variable(1.0), Variable(2.0)), engine=engine)().value == 2.0
    assert asking(Constant(1.0 + 1e-12) - 1.0 + Variable(0.0), engine=engine)().value == 0.0


@of_each_engine
def test_subnormals_are_kept(engine):
    x = Variable(2.0**-130)
    assert asking(x * 2.0**-19 + 0.0 * x, engine=engine)().value == 2.0**-149
    assert asking(x * 2.0**-21, engine=engine)().value == 0.0


def test_one_sample_gives_floats_and_a_batch_arrays_of_float32():
    p, w = PlaceHolder(), Variable(3.0)
    program = asking([w * p, w * w], [w, p], inputs=[p])
    values, slopes = program(0.1)
    assert [type(each) for each in values] == [float, float] and [row.dtype for row in slopes] == [np.float32] * 2
    values, slopes = program(np.linspace(0, 1, 5))
    assert values[0].dtype == np.float32 and type(values[1]) is float
    assert all(np.asarray(each).dtype == np.float32 for each in slopes[0][1:])


@given(SEEDS, SAMPLES)
def test_arrays_of_float32_may_be_fed(seed, samples):
    dice = np.random.default_rng(seed)
    x, y, w = [PlaceHolder(), PlaceHolder()], PlaceHolder(), Variable(0.7)
    program = asking((w * x[0] - x[1]) * y, [w], inputs=[x, y])
    points, labels = dice.normal(size=(samples, 2)), dice.normal(size=samples)
    found, wanted = program(points.astype(np.float32), labels.astype(np.float32)), program(points, labels)
    assert same_bits(found.value, wanted.value) and same_bits(found.gradient, wanted.gradient)


def test_programs_of_both_kinds_do_not_disturb_each_other():
    p, w = PlaceHolder(), Variable(0.1)
    loss, data = mean((w * p).tanh()), np.linspace(-1, 1, 40)
    wide, narrow = Program(loss, [w], inputs=[p]), asking(loss, [w], inputs=[p])
    first = wide(data), narrow(data)
    assert wide(data) == first[0] and narrow(data) == first[1]
    assert wide(data).gradient.dtype == np.float64 and wide(data).value != narrow(data).value


@LAW
@given(SEEDS, SIZES, SAMPLES)
def test_two_runs_give_the_same_bits(seed, size, samples):
    with Graph.scratch():
        Graph.on_invalid = "ignore"
        output, leaves = fed_graph(seed, size, [*EXACT, "tanh", "exp"])
        data, shared = fed(seed, leaves, samples), [leaf for leaf in leaves if type(leaf) is Variable]
        one, two = (asking(total(output), shared)(feed=data) for _ in range(2))
        assert same_bits(np.float32(one.value), np.float32(two.value)) and same_bits(one.gradient, two.gradient)


def test_samples_hidden_in_a_graph_are_found_and_change_nothing():
    w, p = Variable(0.3), PlaceHolder()
    loss = sum((w * (0.1 * k) + p) * (w - 0.07 * k) for k in range(40))
    p.value = 0.7
    assert same_bits(np.float32(asking(loss, engine="tape")().value), value_of(loss))
