"""Exercises of lessons 14b and 16a, on pictures: axes and padding of other libraries, convolution, and its gradients.

A solution's docstring is the statement that learners read; a generator yields the test cases, or their arguments.

A picture, a kernel, a result and its slopes are lists of rows of numbers. Only in `channels_last` a picture has
channels: files of other libraries have it as a list of channels, each a list of rows; here it is a list of rows of
pixels, each a list with a number for each channel.
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


def _poolings() -> Iterator[tuple[Any, ...]]:
    for x in ([[3, 1], [2, 2]], [[1, 4], [3, 2]], [[2, 7], [7, 1]], [[-3, -2], [-1, -4]]):
        yield x, [[5]], 2
    yield [[3, 8]], [[5, 6]], 1
    chance = make_random(18)
    for rows, columns, size, smallest in POOLINGS:
        x = [[smallest + number for number in row] for row in _random_rows(chance, rows, columns)]
        yield x, _random_rows(chance, rows // size, columns // size), size


def _input_gradient_cases() -> Iterator[tuple[Any, ...]]:
    return ((delta, w, stride, len(x), len(x[0])) for x, w, delta, stride, padding in _convolutions() if not padding)


def _kernel_gradient_cases() -> Iterator[tuple[Any, ...]]:
    return ((x, delta, stride, len(w), len(w[0])) for x, w, delta, stride, padding in _convolutions() if not padding)


CONVOLVE = Exercise(convolve, lambda: ((x, w, stride, padding) for x, w, _, stride, padding in _convolutions()))
INPUT_GRADIENT = Exercise(input_gradient, _input_gradient_cases)
KERNEL_GRADIENT = Exercise(kernel_gradient, _kernel_gradient_cases)
POOL_GRADIENT = Exercise(pool_gradient, _poolings)


# --- lesson 14b -----------------------------------------------------------------


def channels_last(picture):
    """Return the picture with its channels last: result[i][j][c] is picture[c][i][j].

    picture: a list of channels, each a list of rows of numbers.
    """
    channels = len(picture)
    rows = len(picture[0])
    columns = len(picture[0][0])
    return [[[picture[c][i][j] for c in range(channels)] for j in range(columns)] for i in range(rows)]


def same_pads(size, kernel, stride):
    """How many zeros stand before and behind a line of `size` numbers, as [before, behind], if padding is "SAME"?

    A window of `kernel` numbers moves by `stride`. The result has as many
    numbers as size / stride, rounded up. There are just enough zeros for that.
    If their number is odd, the one more stands behind.
    """
    places = (size + stride - 1) // stride
    zeros = (places - 1) * stride + kernel - size
    zeros = max(zeros, 0)
    before = zeros // 2
    return [before, zeros - before]


def field_of_view(layers):
    """How many numbers along a line does one number of the last layer see?

    layers: for each layer, the first one first, a pair (kernel, stride): a
    window of `kernel` numbers that moves by `stride`. Without layers it sees 1.
    """
    seen = 1
    for kernel, stride in reversed(layers):
        seen = (seen - 1) * stride + kernel
    return seen


# --- cases ----------------------------------------------------------------------


def _pictures() -> Iterator[tuple[Any, ...]]:
    chance = make_random(23)
    sizes = ((1, 1, 1), (2, 1, 1), (1, 2, 2), (1, 1, 2), (2, 2, 2), (2, 1, 3), (3, 2, 1), (3, 2, 4), (4, 3, 3))
    for channels, rows, columns in sizes:
        yield ([[[int(chance.random() * 90) for _ in range(columns)] for _ in range(rows)] for _ in range(channels)],)


def _lines() -> Iterator[tuple[Any, ...]]:
    yield from ((n, k, s) for n in range(1, 10) for k in range(1, 6) for s in range(1, 5))
    yield from ((28, 5, 1), (32, 3, 2), (224, 7, 2), (100, 2, 10))


def _stacks() -> Iterator[tuple[Any, ...]]:
    yield ([],)
    pairs = [(k, s) for k in (1, 2, 3, 5) for s in (1, 2, 3)]
    yield from (([pair],) for pair in pairs)
    yield from (([one, other],) for one in pairs[1:] for other in pairs[3:])
    yield ([(3, 1), (2, 2), (3, 1), (2, 2)],)
    yield ([(7, 2), (3, 2), (3, 1), (3, 1), (3, 2)],)


CHANNELS_LAST = Exercise(channels_last, _pictures)
SAME_PADS = Exercise(same_pads, _lines)
FIELD_OF_VIEW = Exercise(field_of_view, _stacks)
