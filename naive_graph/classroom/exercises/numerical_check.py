"""Exercises of lesson 3, on numerical derivatives: the complex step, and the best step size.

A solution's docstring is the statement that learners read; a generator yields the test cases, or their arguments.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from ..cases import Formula
from ..exercise import Exercise


def complex_step(f, x, h):
    """The slope of f at x by a complex step: the imaginary part of f(x + ih), over h."""
    shifted = f(complex(x, h))
    return shifted.imag / h


def _complex_functions() -> Iterator[tuple[Any, ...]]:
    texts = "x", "x * x", "x**3 - x", "1 / (1 + x * x)", "2 - 3 * x", "x * (1 - x) / (3 + x)", "5.0 + 0 * x"
    for x in (1.0, -2.0, 0.5):
        for text in texts:
            yield Formula(text), x, 1e-20
            yield Formula(text), x, 0.125


def best_h(f, x, right, tries):
    """Return the h of tries with which the central difference comes nearest to right.

    The central difference is (f(x + h) - f(x - h)) / (2 * h); right is the
    slope of f at x. Where several are as near, return the first of them.
    """
    best, least = None, math.inf
    for h in tries:
        found = (f(x + h) - f(x - h)) / (2 * h)
        error = abs(found - right)
        if error < least:
            best, least = h, error
    return best


def _best_h_cases() -> Iterator[tuple[Any, ...]]:
    yield Formula("5.0"), 1.0, 0.0, [0.5]
    yield Formula("5.0"), 1.0, 0.0, [0.25, 0.5, 0.125]
    yield Formula("x * x"), 1.0, 2.0, [1.0, 0.5, 0.25]
    yield Formula("x**3"), 1.0, 3.0, [0.5, 0.25, 1.0]
    yield Formula("2 - x**3"), 1.0, -3.0, [0.25, 0.5]
    yield Formula("exp(x)"), 0.0, 1.0, [1e-2, 1e-5, 1e-14]
    yield Formula("exp(x)"), 1.0, math.e, [1e-1, 1e-3, 1e-5, 1e-8]
    yield Formula("sin(x)"), 1.0, math.cos(1.0), [1e-13, 1e-5, 1e-1]
    yield Formula("sin(x)"), 0.0, 1.0, [3.0, 2.0, 0.125]
    yield Formula("sin(x)"), 0.0, 1.0, [2.0, 0.5, 3.0]
    yield Formula("log(x)"), 2.0, 0.5, [1e-15, 1.0, 1e-5]


COMPLEX_STEP = Exercise(complex_step, _complex_functions)
BEST_H = Exercise(best_h, _best_h_cases)
