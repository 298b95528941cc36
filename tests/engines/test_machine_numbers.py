"""What the small subset of Python computes as machine code, it computes as plain Python: numbers and questions."""

import ctypes

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from plainly import check_same, longs

from naive_graph.engines.llvm.machine import library_of, machine
from naive_graph.engines.llvm.values import Floats, Longs

WHOLE = st.integers(-(2**31), 2**31)
COUNT = st.integers(0, 2**31)
SMALL = st.integers(-20, 20)
REAL = st.floats(width=64)
FACTOR, DOWN, HALF = 3, -2, 0.5


@pytest.fixture(autouse=True, scope="module")
def compiled_first():
    """So that no example waits for the compiler."""
    library_of(__name__)


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


def test_a_machine_function_that_another_calls_can_be_called_from_outside_too():
    seen = longs(1)
    assert marked(seen, 0, 5) == 5 and seen[0] == 1


def test_what_a_machine_function_is_keeps_its_name_and_its_plain_function():
    assert whole_numbers.__name__ == "whole_numbers" and callable(whole_numbers.python)


def test_a_machine_function_also_takes_its_arguments_packed_in_one_array():
    out = longs(10)
    packed = np.array([2, 3, out.ctypes.data])
    entry = library_of(__name__, packed=True).function("whole_numbers.packed", None, [ctypes.c_void_p])
    entry(packed.ctypes.data)
    assert out[:3].tolist() == [5, -1, 6]
