"""Functions of the subset, compiled for float32: every float is one, and only `Doubles` hold more."""

import ctypes

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from singles import same_bits, single

from naive_graph.core.arithmetics.single import Single, rounded
from naive_graph.engines.llvm.machine import library_of, machine
from naive_graph.engines.llvm.precision import DOUBLE, SINGLE
from naive_graph.engines.llvm.python import LANES, Doubles, Floats

POINTER, LONG = ctypes.c_void_p, ctypes.c_int64
FLOATS = arrays.arrays(np.float64, 64, elements=st.floats(-1e40, 1e40))


@machine
def copied(source: Doubles, out: Floats, size: int) -> None:
    for i in range(size):
        out[i] = source[i]


@machine
def kept(xs: Floats, into: Doubles, size: int) -> None:
    for i in range(size):
        into[i] = xs[i] * xs[i]


@machine
def squares(xs: Floats, out: Floats, size: int) -> None:
    for i in range(0, size, LANES):
        out[i : i + LANES] = xs[i : i + LANES] * xs[i : i + LANES]


@machine
def lanes_of_a_register() -> int:
    return LANES


@machine
def third(x: float, n: int) -> float:
    return (x + n) / 3


def compiled(function, result, *types):
    return library_of(__name__, SINGLE).function(function.__name__, result, types)


@pytest.fixture(autouse=True, scope="module")
def compiled_first():
    """So that no example waits for the compiler."""
    library_of(__name__, SINGLE)


@given(FLOATS)
def test_doubles_are_rounded_where_they_are_read(source):
    out = np.zeros(64, np.float32)
    compiled(copied, None, POINTER, POINTER, LONG)(source.ctypes.data, out.ctypes.data, 64)
    assert same_bits(out, single(source))


@given(FLOATS)
def test_what_is_written_to_doubles_was_computed_in_float32(source):
    xs, out = single(source), np.zeros(64)
    compiled(kept, None, POINTER, POINTER, LONG)(xs.ctypes.data, out.ctypes.data, 64)
    with np.errstate(all="ignore"):
        assert np.array_equal(out, (xs * xs).astype(np.float64))


@given(FLOATS)
def test_registers_compute_in_float32(source):
    xs, out = single(source), np.zeros(64, np.float32)
    compiled(squares, None, POINTER, POINTER, LONG)(xs.ctypes.data, out.ctypes.data, 64)
    with np.errstate(all="ignore"):
        assert same_bits(out, xs * xs)


def test_a_register_has_as_many_lanes_as_the_precision_says():
    assert compiled(lanes_of_a_register, LONG)() == SINGLE.lanes and lanes_of_a_register() == DOUBLE.lanes


@given(st.floats(-(2.0**100), 2.0**100, width=32), st.integers(-1000, 1000))
def test_numbers_that_are_passed_compute_in_float32(x, n):
    wanted = (np.float32(x) + np.float32(n)) / np.float32(3)
    assert compiled(third, ctypes.c_float, ctypes.c_float, LONG)(x, n) == float(wanted)


@given(st.floats())
def test_rounding_is_numpys(x):
    assert same_bits(np.float32(rounded(x)), single(x)) and type(rounded(x)) is float


@given(st.floats(), st.floats(), st.floats())
def test_a_single_is_rounded_after_every_addition(x, y, z):
    with np.errstate(all="ignore"):
        wanted = single(x) + single(y) + single(z)
        assert same_bits(np.float32(Single(x) + y + z), wanted)
        assert same_bits(np.float32(z * Single(x) * y), single(z) * single(x) * single(y))
