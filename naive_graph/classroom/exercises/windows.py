"""Exercises of lesson 16a: convolution of a picture with a kernel, and the gradients of convolution and max pooling.

A solution's docstring is the statement that learners read; a generator yields the test cases, or their arguments.

A picture, a kernel, a result and its slopes are lists of rows of numbers.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

from ..cases import make_random
from ..exercise import Exercise


def convolve(x, w, stride, padding):
    """Slide the kernel w over the picture x; return the result y, a list of rows.

    First put `padding` zeros on each of the picture's four sides. Then y[p][q]
    is the sum over i, j of x[p * stride + i][q * stride + j] * w[i][j],
    wherever the whole window lies inside. x, w: lists of rows. Leave x as it is.
    """
    side = [0.0] * padding
    x = [[*side, *row, *side] for row in x]
    above = [[0.0] * len(x[0]) for _ in side]
    x = [*above, *x, *above]
    rows = (len(x) - len(w)) // stride + 1
    columns = (len(x[0]) - len(w[0])) // stride + 1
    y = [[0.0] * columns for _ in range(rows)]
    for p in range(rows):
        for q in range(columns):
            for i in range(len(w)):
                for j in range(len(w[0])):
                    y[p][q] += x[p * stride + i][q * stride + j] * w[i][j]
    return y


def input_gradient(delta, w, stride, rows, columns):
    """Return the slopes of a loss with respect to a picture: a list of `rows` rows of `columns` numbers.

    The picture went through y = convolve(x, w, stride, 0), and delta[p][q] is
    the slope of the loss with respect to y[p][q]. What no window saw has slope 0.
    """
    slopes = [[0.0] * columns for _ in range(rows)]
    for p in range(len(delta)):
        for q in range(len(delta[0])):
            for i in range(len(w)):
                for j in range(len(w[0])):
                    row = p * stride + i
                    column = q * stride + j
                    weight = w[i][j]
                    slopes[row][column] += delta[p][q] * weight
    return slopes


def kernel_gradient(x, delta, stride, rows, columns):
    """Return the slopes of a loss with respect to a kernel w: a list of `rows` rows of `columns` numbers.

    The kernel slid over the picture x, y = convolve(x, w, stride, 0), and
    delta[p][q] is the slope of the loss with respect to y[p][q].
    """
    slopes = [[0.0] * columns for _ in range(rows)]
    for p in range(len(delta)):
        for q in range(len(delta[0])):
            for i in range(rows):
                for j in range(columns):
                    seen = x[p * stride + i][q * stride + j]
                    slopes[i][j] += delta[p][q] * seen
    return slopes


def pool_gradient(x, delta, size):
    """Return the slopes of a loss with respect to a picture x that was pooled: a list of rows, as x is.

    Windows of size times size numbers stand side by side. The largest number of
    each was taken, and delta[p][q] is the slope of the loss with respect to
    what window p, q gave. The largest number gets it; of equal ones the first,
    row by row. All others get 0. A rest at the right or below is in no window.
    """
    slopes = [[0.0] * len(x[0]) for _ in x]
    for p in range(len(delta)):
        for q in range(len(delta[0])):
            row = p * size
            column = q * size
            for i in range(p * size, p * size + size):
                for j in range(q * size, q * size + size):
                    if x[i][j] > x[row][column]:
                        row = i
                        column = j
            slopes[row][column] = delta[p][q]
    return slopes


# --- cases ----------------------------------------------------------------------

# (picture rows, picture columns, kernel rows, kernel columns, stride, padding)
CONVOLUTIONS = (
    (1, 1, 1, 1, 1, 0), (2, 2, 1, 1, 1, 0), (2, 2, 2, 2, 1, 0), (2, 3, 2, 2, 1, 0), (3, 3, 2, 2, 1, 0),
    (2, 2, 2, 2, 1, 1), (3, 3, 1, 1, 2, 0), (4, 4, 2, 2, 2, 0), (3, 4, 1, 2, 1, 0), (5, 5, 3, 3, 1, 0),
    (3, 3, 3, 3, 1, 1), (5, 4, 2, 2, 2, 0), (5, 5, 3, 3, 2, 1), (7, 7, 3, 3, 2, 0), (5, 6, 3, 3, 1, 2),
    (1, 3, 1, 2, 1, 1), (4, 4, 3, 2, 1, 0), (8, 8, 3, 3, 2, 0), (7, 8, 2, 2, 3, 1),
)  # fmt: skip
# (picture rows, picture columns, window size, smallest number)
POOLINGS = ((2, 4, 2, 0), (4, 4, 2, 0), (3, 3, 3, -10), (5, 4, 2, -1), (4, 6, 2, -5), (6, 6, 3, 0), (8, 8, 2, -1))


def _random_rows(chance: random.Random, rows: int, columns: int) -> list[list[int]]:
    return [[1 + int(chance.random() * 9) for _ in range(columns)] for _ in range(rows)]


def _convolutions() -> Iterator[tuple[Any, ...]]:
    """Yield (x, w, delta, stride, padding), where delta has the shape of the result."""
    chance = make_random(17)
    for rows, columns, kernel_rows, kernel_columns, stride, padding in CONVOLUTIONS:
        sides = ((rows, kernel_rows), (columns, kernel_columns))
        result = ((n + 2 * padding - k) // stride + 1 for n, k in sides)
        shapes = ((rows, columns), (kernel_rows, kernel_columns), tuple(result))
        yield *(_random_rows(chance, *shape) for shape in shapes), stride, padding


def _convolutions_without_padding() -> Iterator[tuple[Any, ...]]:
    return ((x, w, delta, stride) for x, w, delta, stride, padding in _convolutions() if not padding)


def _poolings() -> Iterator[tuple[Any, ...]]:
    for x in ([[3, 1], [2, 2]], [[1, 4], [3, 2]], [[2, 7], [7, 1]], [[-3, -2], [-1, -4]]):
        yield x, [[5]], 2
    yield [[3, 8]], [[5, 6]], 1
    chance = make_random(18)
    for rows, columns, size, smallest in POOLINGS:
        x = [[smallest + number for number in row] for row in _random_rows(chance, rows, columns)]
        yield x, _random_rows(chance, rows // size, columns // size), size


def _input_gradient_cases() -> Iterator[tuple[Any, ...]]:
    return ((delta, w, stride, len(x), len(x[0])) for x, w, delta, stride in _convolutions_without_padding())


def _kernel_gradient_cases() -> Iterator[tuple[Any, ...]]:
    return ((x, delta, stride, len(w), len(w[0])) for x, w, delta, stride in _convolutions_without_padding())


CONVOLVE = Exercise(convolve, lambda: ((x, w, stride, padding) for x, w, _, stride, padding in _convolutions()))
INPUT_GRADIENT = Exercise(input_gradient, _input_gradient_cases)
KERNEL_GRADIENT = Exercise(kernel_gradient, _kernel_gradient_cases)
POOL_GRADIENT = Exercise(pool_gradient, _poolings)
