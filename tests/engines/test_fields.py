"""A record's fields are parameters in machine code, and fields in plain Python."""

from __future__ import annotations

from typing import NamedTuple

import pytest

pytest.importorskip("llvmlite")

import numpy as np

from naive_graph.engines.llvm.machine import machine
from naive_graph.engines.llvm.values import Floats, Longs


class Points(NamedTuple):
    xs: Floats
    ys: Floats
    size: int


class Seen(NamedTuple):
    most: Longs


@machine
def area(of: Points, seen: Seen) -> float:
    sum = 0.0
    for at in range(of.size):
        sum += product(of, at)
        seen.most[0] = at
    return sum + product(Points(of.ys, of.xs[1:], 1), 0)


def product(of: Points, at: int) -> float:
    return of.xs[at] * of.ys[at]


def test_a_record_gives_what_its_fields_give():
    points, seen = Points(np.array([1.0, 2.0, 3.0]), np.array([4.0, 5.0, 6.0]), 3), Seen(np.zeros(1, np.int64))
    assert area(points, seen) == area.python(points, seen) == 32.0 + 8.0
    assert seen.most[0] == 2


def largest_of(xs: tuple[float, ...]) -> float:
    top = xs[0]
    for x in xs:
        top = x if x > top else top
    return top + len(xs)


def summed(first: float, *others: float) -> float:
    for other in others:
        first += other
    return first


@machine
def both(xs: Floats, count: int) -> float:
    return summed(xs[0], xs[1:], count - 1) + 100.0 * largest_of(xs, count)  # type: ignore[call-arg, arg-type]


def test_a_tuple_of_floats_is_an_array_and_its_length():
    for xs in ([3.0], [3.0, 5.0, 4.0]):
        assert both(np.array([*xs, 1e300]), len(xs)) == summed(*xs) + 100.0 * largest_of(tuple(xs))
