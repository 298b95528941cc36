"""The functions of float32 are within 1.5 units in the last place, from the smallest number to the largest."""

import ctypes

import numpy as np
import pytest

from naive_graph.core.rules import RULES
from naive_graph.engines.llvm.mathematics import LARGEST_ANGLE
from naive_graph.engines.llvm.precision import SINGLE
from naive_graph.engines.llvm.singles import FUNCTIONS as EVERY
from naive_graph.engines.tape.operators import Shape, kernels

SIGNATURE = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64, ctypes.c_void_p, *[ctypes.c_int64] * 2)
ONE_ROW = np.array([1, 0], np.int32)  # into slot 1, from slot 0
MOST = 1.5
FUNCTIONS = sorted(set(EVERY) - {"exp_below"})  # of two numbers: a piece of a softmax


def bell(x, factor):
    e = np.exp(-factor * np.abs(x))
    return factor**2 * e / ((1.0 + e) * (1.0 + e))


TRUTH = {  # in float64, whose own errors do not matter here
    "exp": np.exp, "log": np.log, "sin": np.sin, "cos": np.cos, "tanh": np.tanh, "sech_squared": lambda x: bell(x, 2.0),
    "sigmoid": lambda x: np.where(x >= 0, 1.0, np.exp(-np.abs(x))) / (1.0 + np.exp(-np.abs(x))),
    "sigmoid_slope": lambda x: bell(x, 1.0),
}  # fmt: skip
BORDERS = [
    0.0, 0.3465736, 0.625, 0.7853982, 1.0, 1.4142135, 1.5707964, 3.1415927, 10.0, 87.33654, 88.72284, 103.97208, 104.0,
    108.0, 1e5, 1.1754944e-38, 1e-45, 3.4028235e38, np.inf, np.nan,
]  # fmt: skip
of_each_function = pytest.mark.parametrize("name", FUNCTIONS)


def at_once(name, x):
    """The function of many float32."""
    code = kernels(Shape(RULES[name].number, 1), SINGLE)
    values = np.zeros((2, -(-len(x) // SINGLE.lanes) * SINGLE.lanes), np.float32)
    values[0, : len(x)] = x
    SIGNATURE(code.lanes)(ONE_ROW.ctypes.data, 0, values.ctypes.data, values.shape[1], values.shape[1])
    return values[1, : len(x)]


def check(name, x):
    with np.errstate(all="ignore"):
        truth, found = TRUTH[name](x.astype(np.float64)), at_once(name, x)
        nearest = truth.astype(np.float32)
        finite = np.isfinite(nearest)
        assert np.array_equal(found[~finite], nearest[~finite], equal_nan=True)
        unit = np.ldexp(1.0, np.maximum(np.frexp(truth[finite])[1] - 24, -149))
        assert (np.abs(found[finite] - truth[finite]) <= MOST * unit).all()


def every(step, start=0):
    """Float32 of every size, sign and kind: each step-th of all bit patterns."""
    return np.arange(start, 2**32, step, dtype=np.int64).astype(np.uint32).view(np.float32)


def test_every_function_has_a_truth():
    assert set(TRUTH) == set(FUNCTIONS)


@of_each_function
def test_floats_of_every_size_are_right(name):
    check(name, every(65_521))


@of_each_function
@pytest.mark.parametrize("high", [1.0, 9.0, 90.0, 1000.0, LARGEST_ANGLE, 2e5])
def test_floats_of_daily_use_are_right(name, high):
    check(name, np.random.default_rng(1).uniform(-high, high, 50_000).astype(np.float32))


@of_each_function
def test_the_borders_are_right(name):
    near = np.array(BORDERS, np.float32).view(np.int32)
    around = (near[:, None] + np.arange(-40, 41)).astype(np.int32).view(np.float32).ravel()
    check(name, np.concatenate([around, -around]))


@of_each_function
def test_zeros_keep_their_signs(name):
    zeros = np.array([0.0, -0.0], np.float32)
    with np.errstate(all="ignore"):
        assert np.array_equal(np.signbit(at_once(name, zeros)), np.signbit(TRUTH[name](zeros.astype(np.float64))))


@pytest.mark.slow
@of_each_function
def test_every_float_is_right(name):
    for start in range(509):
        check(name, every(509, start))
