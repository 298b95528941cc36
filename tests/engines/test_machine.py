"""What the small subset of Python does as machine code, it does as plain Python: loops, calls and arrays."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from plainly import check_same, longs

from naive_graph.engines.llvm.machine import library_of, machine
from naive_graph.engines.llvm.values import Floats, Ints, Longs

WHOLE = st.integers(-(2**31), 2**31)
COUNT = st.integers(0, 2**31)
SMALL = st.integers(-20, 20)
REAL = st.floats(width=64)
FACTOR, DOWN, HALF = 3, -2, 0.5


@pytest.fixture(autouse=True, scope="module")
def compiled_first():
    """So that no example waits for the compiler."""
    library_of(__name__)


# --- loops --------------------------------------------------------------------


@machine
def counted(start: int, stop: int, out: Longs) -> int:
    at = 0
    for i in range(stop):
        out[at] = i
        at += 1
    for i in range(start, stop):
        out[at] = i
        at += 1
    for i in range(start, stop, 3):
        out[at] = i
        at += 1
    for i in range(stop, start, -1):
        out[at] = i
        at += 1
    for i in range(stop, start, DOWN):
        out[at] = i
        at += 1
    return at


@given(SMALL, SMALL)
def test_range_counts_as_in_python_downwards_too(start, stop):
    check_same(counted, start, stop, longs(200))


@machine
def last(stop: int) -> int:
    i = -1
    for i in range(stop):
        stop = 0
        i = i * 2
    return i


@given(st.integers(0, 9))
def test_a_loop_keeps_its_bounds_and_its_count_whatever_its_body_assigns(stop):
    check_same(last, stop)


@machine
def wandering(n: int, out: Longs) -> int:
    steps = 0
    while n != 1 and steps < 60:
        steps += 1
        if n % 2 == 0:
            n = n // 2
            continue
        n = 3 * n + 1
        out[steps] = n
    return steps


@given(st.integers(1, 1000))
def test_while_and_continue_go_as_in_python(n):
    check_same(wandering, n, longs(61))


@machine
def nested(rows: int, columns: int, out: Longs) -> int:
    found = 0
    for row in range(rows):
        for column in range(columns):
            if column > row or (row + column) % 2 == 1:
                continue
            out[row * columns + column] = 1 + row
            found += 1
    return found


@given(st.integers(0, 7), st.integers(0, 7))
def test_continue_belongs_to_the_inner_loop(rows, columns):
    check_same(nested, rows, columns, longs(49))


@machine
def place_of(xs: Longs, size: int, wanted: int) -> int:
    for i in range(size):
        if xs[i] == wanted:
            return i
    return -1


@given(st.lists(SMALL, min_size=1, max_size=9), SMALL)
def test_return_leaves_a_loop(xs, wanted):
    check_same(place_of, np.array(xs, np.int64), len(xs), wanted)


# --- names, calls, arrays -----------------------------------------------------


@machine
def swapped(t1: int, body2: int, after3: float) -> float:
    t1, body2 = body2, t1
    first = second = t1 - body2
    if first > 0:
        after3 = -after3
    return first + second + after3


@given(SMALL, SMALL, REAL)
def test_any_name_may_be_a_parameter(a, b, x):
    check_same(swapped, a, b, x)


def power(x: float, n: int) -> float:
    if n == 0:
        return 1.0
    return x * power(x, n - 1)


def fill(xs: Floats, size: int, x: float) -> None:
    for i in range(size):
        xs[i] = power(x, i)


@machine
def powers(xs: Floats, size: int, x: float) -> float:
    fill(xs[1:], size - 1, x)
    return power(2, 3) + xs[size - 1]


@given(st.integers(2, 9), st.floats(-3, 3))
def test_functions_call_functions_and_themselves(size, x):
    check_same(powers, np.zeros(size), size, x)


@machine
def kinds(small: Ints, long: Longs, xs: Floats) -> None:
    small[0] += small[1] * 2
    long[small[2]] = small[0] - long[0]
    xs[long[1] % 2] *= small[0] / 2


@given(st.integers(-1000, 1000), WHOLE, st.integers(0, 9), REAL)
def test_arrays_hold_whole_numbers_of_two_sizes_and_floats(a, b, c, x):
    check_same(kinds, np.array([a, 7, 2], np.int32), np.array([b, c, 0]), np.array([x, 1.0]))


class Interrupting:
    """An array at which Ctrl-C is pressed just as its address is asked for."""

    size = 1

    @property
    def ctypes(self):
        return self

    @property
    def data(self):
        raise KeyboardInterrupt

    def data_as(self, kind):
        raise KeyboardInterrupt


def test_a_ctrl_c_before_a_call_stays_one():
    with pytest.raises(KeyboardInterrupt):
        kinds(np.ones(3, np.int32), np.ones(3, np.int64), Interrupting())
