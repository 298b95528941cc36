"""A Program of dtype float32 computes what NumPy's float32 does, in the written order, on every engine."""

import math
import re
import warnings

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from large_graphs import EXACT, allowance, grown, leaves_of
from singles import PLAIN, rounded_value, same_bits, single, units_apart, value_of

import naive_graph as ng
from naive_graph import Constant, Graph, PlaceHolder, Program, Variable, mean, operator, total, where
from naive_graph.catalogue import BUILT_IN
from naive_graph.errors import EngineError, NumericWarning
from naive_graph.rules import BY_NUMBER, RULES
from naive_graph.training.formulas import adam, momentum, sgd

LAW = settings(max_examples=30, deadline=None)
SEEDS = st.integers(0, 10**6)
SIZES = st.integers(3, 300)
SAMPLES = st.sampled_from([1, 7, 8, 15, 16, 17, 33, 100, 300])
ENGINES = ["reference", "tape", "native", None]
of_each_engine = pytest.mark.parametrize("engine", ENGINES)
of_each_machine = pytest.mark.parametrize("engine", ENGINES[1:])
SINGLES = st.floats(width=32)
NASTY = [0.0, -0.0, 1.0, -1.0, math.inf, -math.inf, math.nan, 1e-45, -1e-45, 1.1754944e-38, 3.4028235e38, -1e38, 1e39]
GATHERED = {"total", "mean"}


def asking(outputs, wrt=(), engine=None, **rest):
    return Program(outputs, wrt=wrt, engine=engine, dtype="float32", **rest)


def fed_graph(seed, size, operators):
    """A random graph, and the PlaceHolders that its output depends on."""
    nodes = grown(seed, size, [name for name in operators if name not in GATHERED])
    p = PlaceHolder(name="p")
    p.value = 0.5
    return nodes[-1] * p, [*leaves_of(nodes), p]


def fed(seed, leaves, samples):
    """A batch for each PlaceHolder."""
    dice = np.random.default_rng(seed)
    return {leaf: dice.uniform(-2, 2, samples) for leaf in leaves if isinstance(leaf, PlaceHolder)}


# --- values --------------------------------------------------------------------


@of_each_engine
@LAW
@given(SEEDS, SIZES, st.booleans())
def test_values_have_the_bits_of_numpys_float32(engine, seed, size, wild):
    with Graph.scratch():
        Graph.on_invalid = "ignore"
        outputs = grown(seed, size, EXACT, wild)[-3:]
        for output, value in zip(outputs, asking(outputs, engine=engine)().value):
            assert type(value) is float and same_bits(np.float32(value), value_of(output))


@of_each_machine
@LAW
@given(SEEDS, SIZES, SAMPLES)
def test_a_batch_has_the_bits_of_numpys_float32(engine, seed, size, samples):
    with Graph.scratch():
        Graph.on_invalid = "ignore"
        output, leaves = fed_graph(seed, size, EXACT)
        data = fed(seed, leaves, samples)
        assert same_bits(asking(output, engine=engine)(feed=data).value, value_of(output, data))


@of_each_machine
@LAW
@given(SEEDS, st.integers(3, 60), st.lists(st.sampled_from(NASTY) | SINGLES, min_size=1, max_size=40))
def test_a_batch_of_any_numbers_has_the_bits_of_numpys_float32(engine, seed, size, numbers):
    with Graph.scratch():
        Graph.on_invalid = "ignore"
        output, leaves = fed_graph(seed, size, EXACT)
        holders = [leaf for leaf in leaves if isinstance(leaf, PlaceHolder)]
        data = {leaf: np.roll(numbers, place) for place, leaf in enumerate(holders)}
        assert same_bits(asking(output, engine=engine)(feed=data).value, value_of(output, data))


@of_each_machine
@LAW
@given(SEEDS, st.integers(3, 60), SAMPLES)
def test_totals_and_means_add_up_in_order(engine, seed, size, samples):
    with Graph.scratch():
        Graph.on_invalid = "ignore"
        output, leaves = fed_graph(seed, size, EXACT)
        data = fed(seed, leaves, samples)
        all_of_them, average = asking([total(output), mean(output)], engine=engine)(feed=data).value
        with np.errstate(all="ignore"):  # infinite terms of unlike signs
            sum = np.add.accumulate(np.broadcast_to(value_of(output, data), samples))[-1]
        assert same_bits(np.float32(all_of_them), sum) and same_bits(np.float32(average), sum / np.float32(samples))


# --- every operator ------------------------------------------------------------

CASES = [(rule.name, arity) for rule in BY_NUMBER[:BUILT_IN] for arity in ([rule.arity] if rule.arity else range(1, 5))]


def most_units(name):
    """How far a result may be from the rule's, rounded: in units of float32."""
    if name in PLAIN:
        return 0
    return 4 if name == "softmax_share" else 1  # each of its exponentials may be a neighbour


@pytest.mark.parametrize(("name", "arity"), CASES)
@pytest.mark.parametrize("way", ["one by one", "as a batch", "by the reference engine"])
def test_every_operator_is_rounded_once(name, arity, way):
    holders = [PlaceHolder() for _ in range(arity)]
    Graph.on_invalid = "ignore"
    engine = {"one by one": "native", "as a batch": None, "by the reference engine": "reference"}[way]
    program = asking(RULES[name](*holders), inputs=holders, engine=engine)
    number = st.sampled_from(NASTY) | st.floats(-9, 9, width=32) | st.floats(-100, 100, width=32) | SINGLES

    @settings(max_examples=20, deadline=None)
    @given(st.lists(st.lists(number, min_size=20, max_size=20), min_size=arity, max_size=arity))
    def law(columns):
        if name == "softmax_share" and arity > 1:
            columns[1] = columns[0]  # the one whose share is asked for is among them
        cases = list(zip(*single(columns), strict=True))
        if way == "as a batch" and name not in GATHERED:
            found = program(*map(np.array, columns)).value
        else:
            found = [program(*map(float, xs)).value for xs in cases]
        for xs, value in zip(cases, found, strict=True):
            wanted = rounded_value(name, xs) if name not in PLAIN else single(PLAIN[name](*xs))
            if name == "logsumexp" and math.isfinite(wanted):  # it adds what may be of unlike signs
                scale = single(max(1.0, *map(abs, filter(math.isfinite, xs))))
                assert abs(value - wanted) <= 4 * np.spacing(scale), (xs, value, wanted)
            else:
                assert units_apart(value, wanted) <= most_units(name), (xs, value, wanted)

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


# --- gradients -----------------------------------------------------------------


@of_each_machine
@LAW
@given(SEEDS, SIZES)
def test_gradients_keep_the_law_of_reordered_sums(engine, seed, size):
    with Graph.scratch():
        Graph.on_invalid = "ignore"
        nodes = grown(seed, size, EXACT)
        leaves = leaves_of(nodes)
        law, found = (asking(nodes[-1], leaves, each)().gradient for each in ("reference", engine))
        assume(np.isfinite(law).all())
        most = np.array(allowance(nodes[-1], leaves)) * 2.0**29
        assert found.dtype == law.dtype == np.float32 and (np.abs(found - law) <= most).all()


@of_each_machine
@LAW
@given(SEEDS, st.integers(3, 120), st.sampled_from([1, 7, 16, 17, 40]))
def test_gradients_of_a_total_are_sums_over_samples(engine, seed, size, samples):
    with Graph.scratch():
        Graph.on_invalid = "ignore"
        output, leaves = fed_graph(seed, size, EXACT)
        data, shared = fed(seed, leaves, samples), [leaf for leaf in leaves if isinstance(leaf, Variable)]
        found = asking(total(output), shared, engine)(feed=data).gradient
        law, most, singly = np.zeros(len(shared)), np.zeros(len(shared)), asking(output, shared, "reference")
        for sample in range(samples):
            for holder, numbers in data.items():
                holder.value = numbers[sample]
            law += singly().gradient
            most += np.array(allowance(output, shared)) * 2.0**29
        assume(np.isfinite(law).all())
        assert (np.abs(found - law) <= (1 + samples) * most).all()


@pytest.mark.parametrize("samples", [1, 5, 8, 15, 16, 17, 31, 33, 100, 257])
@pytest.mark.parametrize("hidden", [3, 4, 9])
@of_each_machine
def test_a_networks_gradient_is_right_at_every_size(engine, samples, hidden):
    dice = np.random.default_rng(samples)
    first, second = dice.normal(0, 1, (hidden, 5)), dice.normal(0, 1, (2, hidden))
    rows = [[[Variable(w) for w in row] for row in layer.tolist()] for layer in (first, second)]
    x, y = [PlaceHolder() for _ in range(5)], [PlaceHolder() for _ in range(2)]
    h = x
    for layer in rows:
        h = [sum((w * v for w, v in zip(row, h)), Constant(0.0)).tanh() for row in layer]
    loss = mean(sum((a - b) ** 2 for a, b in zip(h, y)))
    every = [w for layer in rows for row in layer for w in row]
    points, labels = dice.normal(0, 1, (samples, 5)), dice.normal(0, 1, (samples, 2))
    exact = Program(loss, every, inputs=[x, y])(points, labels)
    found = asking(loss, every, engine, inputs=[x, y])(points, labels)
    assert found.value == pytest.approx(exact.value, rel=1e-5)
    assert np.allclose(found.gradient, exact.gradient, rtol=1e-4, atol=1e-5)


def test_the_conventions_at_nasty_points_hold():
    x, y = Variable(0.0), Variable(0.0)
    for engine in ENGINES:
        Graph.on_invalid = "ignore"
        assert asking(where(x > 0, x.sqrt(), 0.0), [x], engine)().gradient.tolist() == [0.0]
        assert asking(x**y, [x, y], engine)().gradient.tolist() == [0.0, 0.0]
        assert asking(ng.maximum(x, y), [x, y], engine)().gradient.tolist() == [0.5, 0.5]
        assert asking(ng.atan2(x, y), [x, y], engine)().gradient.tolist() == [0.0, 0.0]
        assert math.isnan(asking((x - 1.0).log(), [x], engine)().gradient[0])
        assert asking(abs(x) + x.relu(), [x], engine)().gradient.tolist() == [0.0]


@of_each_engine
@pytest.mark.parametrize("function", [ng.tanh, ng.sigmoid, ng.erf, ng.expm1])
def test_derivatives_keep_their_digits_in_the_tails(engine, function):
    for value in (-9.0, -5.0, 3.0, 8.5):
        x = Variable(value)
        (found,) = asking(function(x), [x], engine)().gradient
        (exact,) = Program(function(x), [x])().gradient
        assert found == pytest.approx(exact, rel=2.0**-22)


# --- what goes in and comes out --------------------------------------------------


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


@of_each_machine
@LAW
@given(SEEDS, SIZES, SAMPLES)
def test_two_runs_give_the_same_bits(engine, seed, size, samples):
    with Graph.scratch():
        Graph.on_invalid = "ignore"
        output, leaves = fed_graph(seed, size, [*EXACT, "tanh", "exp"])
        data, shared = fed(seed, leaves, samples), [leaf for leaf in leaves if isinstance(leaf, Variable)]
        one, two = (asking(total(output), shared, engine)(feed=data) for _ in range(2))
        assert same_bits(np.float32(one.value), np.float32(two.value)) and same_bits(one.gradient, two.gradient)


def test_samples_hidden_in_a_graph_are_found_and_change_nothing():
    w, p = Variable(0.3), PlaceHolder()
    loss = sum((w * (0.1 * k) + p) * (w - 0.07 * k) for k in range(40))
    p.value = 0.7
    assert same_bits(np.float32(asking(loss, engine="tape")().value), value_of(loss))


# --- numbers that float32 cannot hold --------------------------------------------


@of_each_engine
def test_what_overflows_only_in_float32_is_named(engine):
    x = Variable(1e30, name="x")
    y = (x * x) / x  # the culprit
    with pytest.warns(NumericWarning, match=r"'mul' \(row 1\) gave mul\(1\.0\d*e\+30, 1\.0\d*e\+30\) = inf"):
        assert asking(y, [x], engine)().value == math.inf
    assert Program(y, [x], engine=engine)().value == pytest.approx(1e30)


@of_each_engine
def test_a_gradient_that_overflows_only_in_float32_is_named(engine):
    x = Variable(1e-30, name="x")
    with pytest.warns(NumericWarning, match="the gradient of Variable 'x' became -inf"):
        asking(1.0 / x, [x], engine)()


@of_each_engine
def test_a_leaf_that_float32_cannot_hold_is_named(engine):
    with pytest.warns(NumericWarning, match=re.escape("Variable 'x' holds 1e+39, inf in float32")):
        asking(Variable(1e39, name="x") * 1.0, engine=engine)()
    p = PlaceHolder(name="p")
    with pytest.warns(NumericWarning, match=re.escape("PlaceHolder 'p' was fed -1e+39, -inf in float32")):
        asking(p * 1.0, engine=engine)(feed={p: -1e39})


def test_a_sample_that_float32_cannot_hold_is_named():
    p = PlaceHolder(name="p")
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        asking(total(p * 2.0), inputs=[p])([1.0, 1e39, 2.0])
    (only,) = found  # and NumPy says nothing of its own
    assert "Sample 1. Forward: PlaceHolder 'p' was fed 1e+39, inf in float32" in str(only.message)


# --- minimize --------------------------------------------------------------------


def walked(start, steps):
    """w <- w - 0.1 * g for f = (w - 3)**2 * 0.7, in NumPy's float32."""
    w, rate, history = np.float32(start), np.float32(0.1), []
    for _ in range(steps):
        d = w - np.float32(3)
        history.append(d * d * np.float32(0.7))
        w = w - rate * (np.float32(0.7) * (np.float32(2) * d))
    return np.array(history), w


@of_each_engine
def test_minimize_walks_as_a_loop_in_float32(engine):
    w = Variable(0.1)
    history = asking((w - 3.0) ** 2 * 0.7, [w], engine).minimize(0.1, steps=25)
    wanted, end = walked(0.1, 25)
    assert same_bits(history, wanted) and w.value == float(end)


@of_each_machine
@pytest.mark.parametrize("formula", [sgd, momentum, adam])
def test_minimize_with_a_formula_is_the_reference_engines(engine, formula):
    walks = []
    for each in ("reference", engine):
        with Graph.scratch():
            xs = [Variable(0.5 * k - 1.2) for k in range(4)]
            loss = Graph.sum([(a - 0.3 * k) * (a - 0.3 * k) * (1.0 + k) for k, a in enumerate(xs)])
            history = asking(loss, xs, each).minimize(formula, steps=30)
            walks.append((history, np.array([x.value for x in xs], np.float32)))
    (law, ends), (found, reached) = walks
    assert found.dtype == law.dtype == np.float32
    assert np.allclose(found, law, rtol=1e-5, atol=1e-6) and np.allclose(reached, ends, rtol=1e-5, atol=1e-6)


def test_minimize_over_a_batch_keeps_float32():
    w, p = Variable(0.0), PlaceHolder()
    history = asking(mean((w * p - 2.0 * p) ** 2), [w], inputs=[p]).minimize(0.1, 60, np.linspace(-2, 2, 30))
    assert history.dtype == np.float32 and w.value == pytest.approx(2.0, abs=1e-5)
    assert w.value == float(np.float32(w.value))


# --- asking ------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["float32", np.float32, np.dtype("float32"), "f4", np.dtype(">f4")])
def test_float32_may_be_named_as_numpy_names_it(dtype):
    x = Variable(0.1)
    assert Program(x * 1.0, dtype=dtype)().value == float(np.float32(0.1))


@pytest.mark.parametrize("dtype", ["float64", np.float64, float, None])
def test_float64_is_what_python_has(dtype):
    x = Variable(0.1)
    assert Program(x * 1.0, dtype=dtype)().value == 0.1


@pytest.mark.parametrize("dtype", ["float16", "int32", "single precision", np.int64, int, 32, object(), "f4,f4"])
def test_another_dtype_is_refused(dtype):
    x = Variable(1.0)
    with pytest.raises(EngineError, match=r"computes in dtype 'float64' or 'float32', not in"):
        Program(x * 1.0, dtype=dtype)


@of_each_engine
def test_explain_says_that_it_is_float32(engine):
    x = Variable(1.0)
    said = [Program(x * x, [x], engine=engine, dtype=dtype).explain(times=False) for dtype in ("float32", "float64")]
    assert said[0].endswith("All floats are float32.") and "float32" not in said[1]


def test_the_lanes_take_half_of_the_room():
    p, w = PlaceHolder(), Variable(0.5)
    loss = mean((w * p).tanh() * p)
    sizes = []
    for dtype in ("float64", "float32"):
        program = Program(loss, [w], inputs=[p], dtype=dtype)
        answers = program._ask(program._given(None, [np.zeros(960)]), None)
        sizes.append(sum(each.nbytes for each in (answers.tape.lanes, answers.tape.feeds)) // 1000)
    assert sizes[1] <= sizes[0] / 2 + 1
