"""What the small subset of Python computes as machine code, it computes as plain Python."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from naive_graph.engines.llvm.machine import machine
from naive_graph.engines.llvm.python import LANES, Floats, Ints, Longs
from naive_graph.engines.tape.kernels import fma, many, sum_lanes

WHOLE = st.integers(-(2**31), 2**31)
COUNT = st.integers(0, 2**31)
SMALL = st.integers(-20, 20)
REAL = st.floats(width=64)
FACTOR, DOWN, HALF = 3, -2, 0.5


def check_same(function, *arguments):
    """The compiled function and the plain one give the same result, and leave the same in their arrays."""
    ours, plain = ([_copied(each) for each in arguments] for _ in range(2))
    with np.errstate(all="ignore"):
        expected = function.python(*plain)
    assert same(function(*ours), expected)
    for one, other in zip(ours, plain, strict=True):
        assert not isinstance(one, np.ndarray) or np.array_equal(one, other, equal_nan=one.dtype.kind == "f")


def _copied(argument):
    return argument.copy() if isinstance(argument, np.ndarray) else argument


def same(one, other):
    if isinstance(one, float) and isinstance(other, float) and one != one:
        return other != other
    return one == other and math.copysign(1.0, one or 0.0) == math.copysign(1.0, other or 0.0)


def longs(size):
    return np.zeros(size, np.int64)


@pytest.fixture(autouse=True, scope="module")
def compiled_first():
    """So that no example waits for the compiler."""
    whole_numbers(1, 1, longs(10))


# --- arithmetic ---------------------------------------------------------------


@machine
def whole_numbers(a: int, b: int, out: Longs) -> None:
    out[0], out[1], out[2] = a + b, a - b, a * b
    out[3], out[4], out[5] = a & b, a | b, a ^ b
    out[6], out[7], out[8] = -a, +a, ~a
    out[9] = FACTOR * a + DOWN


@given(WHOLE, WHOLE)
def test_whole_numbers_compute_as_in_python(a, b):
    check_same(whole_numbers, a, b, longs(10))


@machine
def quotient(a: int, b: int, out: Longs) -> None:
    out[0], out[1] = a // b, a % b


@given(COUNT, st.integers(1, 2**20))
def test_whole_quotients_are_those_of_python_where_nothing_is_negative(a, b):
    check_same(quotient, a, b, longs(2))


@machine
def shifted(a: int, b: int, out: Longs) -> None:
    out[0], out[1] = a << b, a >> b


@given(WHOLE, st.integers(0, 30))
def test_shifts_are_those_of_python_for_either_sign(a, b):
    check_same(shifted, a, b, longs(2))


@machine
def real_numbers(a: float, b: float, out: Floats) -> None:
    out[0], out[1], out[2] = a + b, a - b, a * b
    out[3], out[4] = -a, +a
    out[5] = HALF * a - 1e300


@given(REAL, REAL)
def test_floats_compute_as_in_python(a, b):
    check_same(real_numbers, a, b, np.zeros(6))


@machine
def ratio(a: float, b: float) -> float:
    return a / b


@given(REAL, REAL.filter(lambda b: b != 0))
def test_a_ratio_is_that_of_python(a, b):
    check_same(ratio, a, b)


@machine
def mixed(n: int, x: float, out: Floats) -> None:
    out[0], out[1], out[2], out[3] = n + x, n * x, n / 4, n - True
    out[4] = n


@given(WHOLE, REAL)
def test_whole_numbers_become_floats_where_floats_are(n, x):
    check_same(mixed, n, x, np.zeros(5))


# --- questions ----------------------------------------------------------------


@machine
def compared_whole(a: int, b: int, out: Longs) -> None:
    out[0], out[1], out[2] = a < b, a <= b, a > b
    out[3], out[4], out[5] = a >= b, a == b, a != b
    out[6] = -(a < b)


@given(SMALL, SMALL)
def test_whole_numbers_compare_as_in_python(a, b):
    check_same(compared_whole, a, b, longs(7))


@machine
def compared(a: float, b: float, out: Longs) -> None:
    out[0], out[1], out[2] = a < b, a <= b, a > b
    out[3], out[4], out[5] = a >= b, a == b, a != b


@given(REAL, REAL)
def test_floats_compare_as_in_python_nan_included(a, b):
    check_same(compared, a, b, longs(6))


@machine
def questions(a: int, b: int, x: float) -> int:
    answer = 0
    if a < b and b < 10:
        answer += 1
    if a < b or b < 10:
        answer += 2
    if not (a == b or (a > 0 and x > 0.0)):
        answer += 4
    if x:
        answer += 8
    if a:
        answer += 16
    elif b:
        answer += 32
    else:
        answer += 64
    both = a < b and x < 1.0
    return answer + 128 * both


@given(SMALL, SMALL, REAL)
def test_and_or_not_answer_as_in_python(a, b, x):
    check_same(questions, a, b, x)


@machine
def marked(seen: Longs, place: int, answer: int) -> int:
    seen[place] += 1
    return answer


@machine
def short_circuits(a: int, b: int, c: int, seen: Longs) -> int:
    if (marked(seen, 0, a) != 0 and marked(seen, 1, b) != 0) or marked(seen, 2, c) != 0:
        return 1
    return 0


@given(st.integers(0, 1), st.integers(0, 1), st.integers(0, 1))
def test_and_or_look_no_further_than_they_must(a, b, c):
    check_same(short_circuits, a, b, c, longs(3))


@machine
def either(a: int, b: int, seen: Longs) -> int:
    return marked(seen, 0, a // b) if b > 0 else marked(seen, 1, a)


@given(COUNT, st.integers(0, 3))
def test_an_expression_with_if_computes_only_the_branch_that_is_taken(a, b):
    check_same(either, a, b, longs(2))


@machine
def either_kind(a: int, x: float) -> float:
    return a if x > 0.0 else x


@given(SMALL, REAL)
def test_branches_of_two_kinds_meet_in_a_float(a, x):
    check_same(either_kind, a, x)


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
def strided(start: int, stop: int, step: int, out: Longs) -> int:
    at = 0
    for i in range(start, stop, step):
        out[at] = i
        at += 1
    return at


@given(SMALL, SMALL, st.integers(-3, 3).filter(bool))
def test_range_takes_a_step_that_is_only_known_when_it_runs(start, stop, step):
    check_same(strided, start, stop, step, longs(50))


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
    while True:
        if n == 1 or steps >= 60:
            break
        steps += 1
        if n % 2 == 0:
            n = n // 2
            continue
        n = 3 * n + 1
        out[steps] = n
    return steps


@given(st.integers(1, 1000))
def test_while_break_and_continue_go_as_in_python(n):
    check_same(wandering, n, longs(61))


@machine
def nested(rows: int, columns: int, out: Longs) -> int:
    found = 0
    for row in range(rows):
        for column in range(columns):
            if column > row:
                break
            if (row + column) % 2 == 1:
                continue
            out[row * columns + column] = 1 + row
            found += 1
    return found


@given(st.integers(0, 7), st.integers(0, 7))
def test_break_and_continue_belong_to_the_inner_loop(rows, columns):
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


@machine
def registers(xs: Floats, ys: Floats, out: Floats, size: int, scale: float) -> float:
    total = many(0.0)
    for i in range(0, size, LANES):
        x, y = xs[i : i + LANES], ys[i : i + LANES]
        out[i : i + LANES] = -x * scale + y / 2 - 1
        total += x
    return sum_lanes(total)


@machine
def fused(xs: Floats, ys: Floats, out: Floats) -> None:
    out[0:LANES] = fma(xs[0:LANES], ys[0:LANES], many(1.0))


@given(st.lists(st.integers(-100, 100), min_size=16, max_size=16), st.floats(-9, 9))
def test_a_slice_of_lanes_computes_as_a_register(xs, scale):
    xs = np.array(xs, float)
    check_same(registers, xs, xs[::-1].copy(), np.zeros(16), 16, scale)


@given(st.lists(st.integers(-100, 100), min_size=LANES, max_size=LANES))
def test_a_fused_product_is_that_of_python_where_nothing_is_rounded(xs):
    xs = np.array(xs, float)
    check_same(fused, xs, xs[::-1].copy(), np.zeros(LANES))


def test_a_machine_function_may_be_called_by_its_address():
    assert whole_numbers.address() != 0


def test_a_machine_function_that_another_calls_can_be_called_from_outside_too():
    seen = longs(1)
    assert marked(seen, 0, 5) == 5 and seen[0] == 1


def test_what_a_machine_function_is_keeps_its_name_and_its_plain_function():
    assert whole_numbers.__name__ == "whole_numbers" and callable(whole_numbers.python)
