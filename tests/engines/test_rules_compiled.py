"""Every rule of the catalogue as machine code: the reference's numbers, one at a time and eight at once."""

import ctypes
import math
import struct

import mpmath
import numpy as np
import pytest
from calling import EXACT, NASTY, at_once, one_by_one, units_apart
from hypothesis import example, given, settings
from hypothesis import strategies as st

from naive_graph.core.catalogue import BUILT_IN
from naive_graph.core.rules import BY_NUMBER, RULES
from naive_graph.engines.compiled.operators import kernels
from naive_graph.engines.llvm.functions import LANES
from naive_graph.engines.llvm.mathematics import LARGEST_ANGLE

CASES = [(rule.name, arity) for rule in BY_NUMBER[:BUILT_IN] for arity in ([rule.arity] if rule.arity else range(1, 6))]
OVER_ROWS = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 2, *[ctypes.c_int64] * 3)


def bound(name, xs, y):
    """How far the machine may be from the reference, in units in the last place."""
    if name in EXACT:
        return 0.0
    if name == "logsumexp" and math.isfinite(y) and y != 0:
        return 4.0 * max(1.0, max(map(abs, filter(math.isfinite, xs))) / abs(y), 1 / abs(y))  # it adds log and largest
    if name == "softmax_share":  # a quotient of two exp, which have few digits where they are subnormal
        return 4.0 if xs[0] - max(xs[1:], default=xs[0]) < 700 else 1024.0
    if name == "sigmoid_slope":  # its exp stands in it three times
        return 4.0
    if name in ("inverse_radius", "hypot_share"):  # Python's hypot is not C's, and is divided by, twice
        return 4.0
    return 2.0  # one function of the C library, and a few operations


def check(name, columns, results):
    for xs, result in zip(zip(*columns, strict=True), results, strict=True):
        expected = RULES[name].value(*xs)
        assert units_apart(result, expected) <= bound(name, xs, expected), (xs, result, expected)


def any_number(dice):
    return dice.choice([dice.choice(NASTY), dice.uniform(-9, 9), dice.uniform(-800, 800), anywhere(dice)])


def anywhere(dice):
    return struct.unpack("<d", dice.randbytes(8))[0]


def of_each_rule(test):
    return pytest.mark.parametrize(("name", "arity"), CASES, ids=lambda value: str(value))(test)


@of_each_rule
def test_a_rule_over_one_number_or_eight_is_the_references(name, arity):
    function = one_by_one(RULES[name], arity)

    @settings(max_examples=10, deadline=None)
    @given(st.randoms(use_true_random=True))
    def law(dice):
        columns = [[any_number(dice) for _ in range(LANES)] for _ in range(arity)]
        check(name, columns, [function(*xs) for xs in zip(*columns, strict=True)])
        check(name, columns, at_once(RULES[name], *columns))

    law()


def spread(seed, count):
    """Numbers of six ranges in turn: near 0, ordinary, where exp ends, of every size, and any bits at all."""
    random = np.random.default_rng(seed)
    u = random.uniform(-1.0, 1.0, count)
    ranges = [u, 9 * u, 40 * u, 800 * u, np.copysign(np.exp(30 * np.abs(u)), random.uniform(-1, 1, count))]
    ranges.append(random.integers(0, 2**64, count, dtype=np.uint64).view(np.float64))
    return np.choose(random.integers(0, 6, count), ranges).tolist()


@of_each_rule
@settings(max_examples=10, deadline=None)
@given(seed=st.integers(0, 2**32 - 1))
def test_a_rule_over_thousands_of_numbers_is_the_references(name, arity, seed):
    columns = [spread((seed, place), 1024) for place in range(arity)]
    check(name, columns, at_once(RULES[name], *columns))


# What the law above found, or took an hour's search to find: 4 units, where 2 are promised.
@pytest.mark.parametrize("x", [1.4385435421573032, -0.8830108938651815, 0.43963889885673524, 354.59569168953635])
def test_the_slope_of_tanh_is_the_references_where_its_roundings_met(x):
    check("sech_squared", [[x] * LANES], at_once(RULES["sech_squared"], [x] * LANES))


@of_each_rule
def test_the_nasty_numbers_in_all_pairs_give_the_references(name, arity):
    columns = [[], []]
    for x in NASTY:
        for y in NASTY:
            columns[0].append(x), columns[1].append(y)
    columns = (columns * 3)[:arity]
    check(name, columns, at_once(RULES[name], *columns))


@of_each_rule
def test_a_row_alone_has_the_bits_of_a_row_in_a_register(name, arity):
    code, place = kernels(RULES[name].number, arity), len(NASTY)
    run, one = (OVER_ROWS(code.address(each)) for each in ("run", "one"))
    scalars = np.array(NASTY + [0.0] * (3 * place + LANES))
    numbers, found = scalars[:place], scalars[place : 4 * place].reshape(3, place)
    results, register = found.view("u8"), 4 * place
    for turn in range(place if arity > 1 else 1):  # every number with every other
        index = np.concatenate([np.roll(np.arange(place), turn * k) for k in range(arity)]).astype(np.int32)
        at, wanted = scalars.ctypes.data, index.reshape(arity, place)
        run(at, index.ctypes.data, 0, 2 * place, place)
        for row in range(place):
            alone = np.repeat(wanted[:, row], LANES)  # the same number in every lane
            run(at, alone.ctypes.data, 0, register, LANES)
            scalars[place + row] = scalars[register]
            one(at, index.ctypes.data, row, 3 * place + row, place)
        missing = np.isnan(found)
        assert (missing == missing[0]).all(), numbers[wanted]
        assert (results == results[0])[:, ~missing[0]].all(), numbers[wanted]


def test_every_rule_of_the_catalogue_is_compared():
    assert {name for name, _ in CASES} == set(list(RULES)[:BUILT_IN]) and set(RULES) > EXACT


# --- the functions that are our own -------------------------------------------

mp = mpmath.mp.clone()
mp.dps = 60
TRUTH = {"exp": mp.exp, "log": mp.log, "sin": mp.sin, "cos": mp.cos, "tanh": mp.tanh}


@pytest.fixture(autouse=True, scope="module")
def compiled_first():
    """So that no example waits for the compiler."""
    for name in TRUTH:
        at_once(RULES[name], [1.0])


def check_accurate(name, xs):
    """Each result within 2 units in the last place of the true one."""
    for x, y in zip(xs, at_once(RULES[name], xs), strict=True):
        truth = TRUTH[name](mp.mpf(x))
        unit = mp.mpf(2) ** max(mp.frexp(truth)[1] - 53, -1074)
        assert abs(mp.mpf(y) - truth) <= 2 * unit, (x, y, truth)


def several(numbers):
    return st.lists(numbers, min_size=1, max_size=40)


@given(several(st.floats(-745.2, 709.78)))
@example([709.7827128933839, -708.3964185322641, -745.1332191019411, -745.1332191019412])
def test_exp_is_accurate_from_the_smallest_subnormal_to_the_largest_float(xs):
    check_accurate("exp", xs)


@given(several(st.floats(709.782712893384, math.inf, exclude_min=True)))
@example([math.nextafter(709.782712893384, math.inf), 709.99, 710.0, 710.01, 1e308, math.inf])
def test_exp_is_infinite_beyond_the_largest_float_and_0_below_the_smallest(xs):
    assert set(at_once(RULES["exp"], xs)) == {math.inf}
    assert set(at_once(RULES["exp"], [min(-x, -745.1332191019413) for x in xs])) == {0.0}
    assert set(at_once(RULES["exp"], [-745.1332191019413, -745.14, -745.2])) == {0.0}


@given(several(st.floats(5e-324, 1.7976931348623157e308)))
@example([5e-324, 2.225073858507201e-308, 0.7071067811865475, 0.7071067811865476, 1.414213562373095])
def test_log_is_accurate_for_every_positive_float(xs):
    check_accurate("log", xs)


@given(several(st.floats(-0.3, 0.3).filter(lambda d: 1 + d != 1)))
@example([2.0**-52, -(2.0**-53)])
def test_log_is_accurate_near_one(distances):
    check_accurate("log", [1 + distance for distance in distances])


@given(several(st.floats(-25.0, 25.0)))
@example([0.625, 0.6249999999999999, 22.0, 22.000000000000004])
def test_tanh_is_accurate(xs):
    check_accurate("tanh", xs)


@pytest.mark.parametrize("name", ["sin", "cos"])
@given(xs=several(st.floats(-LARGEST_ANGLE, LARGEST_ANGLE)))
@example(xs=[LARGEST_ANGLE, math.nextafter(LARGEST_ANGLE, 0.0), 5e-324])
def test_sine_and_cosine_are_accurate(name, xs):
    check_accurate(name, xs)


@pytest.mark.parametrize("name", ["sin", "cos"])
@given(turns=several(st.integers(-int(LARGEST_ANGLE / 1.6), int(LARGEST_ANGLE / 1.6)).filter(bool)))
def test_sine_and_cosine_keep_their_digits_where_they_cross_zero(name, turns):
    nearest = [float(turn * mp.pi / 2) for turn in turns]
    check_accurate(name, nearest)
    check_accurate(name, [math.nextafter(x, math.inf) for x in nearest])


@pytest.mark.parametrize("name", ["sin", "cos"])
@given(xs=several(st.floats(LARGEST_ANGLE, 1.7976931348623157e308)))
def test_sine_and_cosine_of_huge_angles_are_accurate(name, xs):
    check_accurate(name, xs)


@pytest.mark.parametrize("name", ["sin", "cos"])
def test_one_huge_angle_among_eight_leaves_the_others_accurate(name):
    check_accurate(name, [0.1, 1.0, -2.0, 1e300, 5e-324, 3.0, 1e5, 7.0])


@pytest.mark.parametrize("name", ["sin", "tanh"])
def test_an_odd_function_keeps_the_sign_of_zero(name):
    assert str(at_once(RULES[name], [-0.0])[0]) == "-0.0"
