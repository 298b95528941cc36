"""Lesson 16a: a window of weights slides over a picture, and the slopes come back the same way.

A picture, a kernel, a result and its slopes are lists of rows of numbers.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

from ..exercise import Exercise

Rows = list[list[float]]


def convolve(
    x: Any, w: Any, stride: Any, padding: Any, *, flipped: str = "", transposed: str = "", one_short: str = "",
    no_stride: str = "", no_padding: str = "", last_product: str = "", jumps: str = "",
) -> Any:  # fmt: skip
    """Slide the kernel w over the picture x; return the result y, a list of rows.

    First put `padding` zeros on each of the picture's four sides. Then y[p][q]
    is the sum over i, j of x[p * stride + i][q * stride + j] * w[i][j],
    wherever the whole window lies inside. x, w: lists of rows. Leave x as it is.
    """
    if flipped:
        w = _turned(w)
    if jumps or no_stride == "no_stride":
        stride = len(w) if jumps else 1
    if no_padding:
        x, padding = _zeros_before(x, padding if no_padding == "half_padded" else 0), 0
    side = [0.0] * padding
    x = [[*side, *row, *side] for row in x]
    above = [[0.0] * len(x[0]) for _ in side]
    x = [*above, *x, *above]
    rows = (len(x) - len(w)) // stride + 1
    columns = (len(x[0]) - len(w[0])) // stride + 1
    if one_short:
        rest = 0 if one_short == "one_short" else stride - 1
        rows, columns = ((n - k + rest) // stride for n, k in ((len(x), len(w)), (len(x[0]), len(w[0]))))
    if no_stride == "crowded":
        stride = 1
    y = [[0.0] * columns for _ in range(rows)]
    for p in range(rows):
        for q in range(columns):
            for i in range(len(w)):
                for j in range(len(w[0])):
                    if last_product:
                        y[p][q] = 0.0
                    y[p][q] += x[p * stride + i][q * stride + j] * (w[i][j] if not transposed else w[j][i])
    return y


def _turned(w: Rows) -> Rows:
    """By half a turn: the last row first, and each from its end."""
    return [row[::-1] for row in w[::-1]]


def _zeros_before(x: Rows, count: int) -> Rows:
    """Zeros on the left and above alone."""
    wide = [[0.0] * count + row for row in x]
    return [[0.0] * len(wide[0]) for _ in range(count)] + wide


def input_gradient(
    delta: Any, w: Any, stride: Any, rows: Any, columns: Any, *, flipped: str = "", overwrites: str = "",
    no_stride: str = "", dilates_kernel: str = "", shifted: str = "", transposed: str = "", no_delta: str = "",
    cropped: str = "",
) -> Any:  # fmt: skip
    """Return the slopes of a loss with respect to a picture: a list of `rows` rows of `columns` numbers.

    The picture went through y = convolve(x, w, stride, 0), and delta[p][q] is
    the slope of the loss with respect to y[p][q]. What no window saw has slope 0.
    """
    if flipped:
        w = _turned(w)
    if cropped:
        rows, columns = (stride * (len(d) - 1) + len(k) for d, k in ((delta, w), (delta[0], w[0])))
    slopes = [[0.0] * columns for _ in range(rows)]
    for p in range(len(delta)):
        for q in range(len(delta[0])):
            for i in range(len(w)):
                for j in range(len(w[0])):
                    row = p * stride + i
                    column = q * stride + j
                    if no_stride or dilates_kernel:
                        row, column = (p + i, q + j) if no_stride else (p + i * stride, q + j * stride)
                    if shifted:
                        row, column = row + 1, column + 1
                        if row == rows or column == columns:
                            continue
                    if overwrites:
                        slopes[row][column] = 0.0
                    weight = w[i][j] if not transposed else w[j][i]
                    slopes[row][column] += delta[p][q] * weight if not no_delta else weight
    return slopes


def kernel_gradient(
    x: Any, delta: Any, stride: Any, rows: Any, columns: Any, *, flipped: str = "", overwrites: str = "",
    no_stride: str = "", dilates_picture: str = "", no_delta: str = "", mean: str = "",
) -> Any:  # fmt: skip
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
                    if no_stride or dilates_picture:
                        seen = x[p + i][q + j] if no_stride else x[p + i * stride][q + j * stride]
                    if overwrites:
                        slopes[i][j] = 0.0
                    slopes[i][j] += delta[p][q] * seen if not no_delta else seen
    if mean:
        slopes = [[each / (len(delta) * len(delta[0])) for each in row] for row in slopes]
    return slopes if not flipped else _turned(slopes)


def pool_gradient(
    x: Any, delta: Any, size: Any, *, ties: str = "", everywhere: str = "", first_place: str = "",
    times_value: str = "", no_delta: str = "", from_zero: str = "", smallest: str = "",
) -> Any:  # fmt: skip
    """Return the slopes of a loss with respect to a picture x that was pooled: a list of rows, as x is.

    Windows of size times size numbers stand side by side. The largest number of
    each was taken, and delta[p][q] is the slope of the loss with respect to
    what window p, q gave. The largest number gets it; of equal ones the first,
    row by row. All others get 0. A rest at the right or below is in no window.
    """
    if first_place or smallest:
        x = [[0.0 if first_place else -each for each in row] for row in x]
    slopes = [[0.0] * len(x[0]) for _ in x]
    for p in range(len(delta)):
        for q in range(len(delta[0])):
            row = p * size
            column = q * size
            if ties or everywhere or from_zero:
                _share_out(x, slopes, delta[p][q], (row, column, size), ties or everywhere or from_zero)
                continue
            for i in range(p * size, p * size + size):
                for j in range(q * size, q * size + size):
                    if x[i][j] > x[row][column]:
                        row = i
                        column = j
            slopes[row][column] = delta[p][q] if not no_delta else 1.0 if no_delta == "no_delta" else x[row][column]
            if times_value:
                slopes[row][column] *= x[row][column]
    return slopes


def _share_out(x: Rows, slopes: Rows, slope: float, window: tuple[int, int, int], mistake: str) -> None:
    """Hand out a window's slope as somebody does who makes a mistake."""
    top, left, size = window
    places = [(i, j) for i in range(top, top + size) for j in range(left, left + size)]
    best = max(x[i][j] for i, j in places)
    takers = places if mistake in ("everywhere", "average") else [(i, j) for i, j in places if x[i][j] == best]
    if mistake == "from_zero":
        takers = takers[:1] if best > 0 else []
    for i, j in takers[-1:] if mistake == "last_tie" else takers:
        slopes[i][j] = slope / len(takers) if mistake in ("average", "shared") else slope


# --- cases ----------------------------------------------------------------------

# Rows and columns of the picture, those of the kernel, the stride, the padding.
SIZES = (
    (1, 1, 1, 1, 1, 0), (2, 2, 1, 1, 1, 0), (2, 2, 2, 2, 1, 0), (2, 3, 2, 2, 1, 0), (3, 3, 2, 2, 1, 0),
    (2, 2, 2, 2, 1, 1), (3, 3, 1, 1, 2, 0), (4, 4, 2, 2, 2, 0), (3, 4, 1, 2, 1, 0), (5, 5, 3, 3, 1, 0),
    (3, 3, 3, 3, 1, 1), (5, 4, 2, 2, 2, 0), (5, 5, 3, 3, 2, 1), (7, 7, 3, 3, 2, 0), (5, 6, 3, 3, 1, 2),
    (1, 3, 1, 2, 1, 1), (4, 4, 3, 2, 1, 0), (8, 8, 3, 3, 2, 0), (7, 8, 2, 2, 3, 1),
)  # fmt: skip
# Rows and columns of the picture, the size of the windows, the smallest number.
POOLED = ((2, 4, 2, 0), (4, 4, 2, 0), (3, 3, 3, -10), (5, 4, 2, -1), (4, 6, 2, -5), (6, 6, 3, 0), (8, 8, 2, -1))


def _rows(chance: random.Random, rows: int, columns: int) -> list[list[int]]:
    return [[1 + int(chance.random() * 9) for _ in range(columns)] for _ in range(rows)]


def _slid() -> Iterator[tuple[Any, ...]]:
    """(x, w, delta, stride, padding)."""
    chance = random.Random(17)
    for tall, wide, high, broad, stride, padding in SIZES:
        p, q = ((n + 2 * padding - k) // stride + 1 for n, k in ((tall, high), (wide, broad)))
        yield *(_rows(chance, *each) for each in ((tall, wide), (high, broad), (p, q))), stride, padding


def _pooled() -> Iterator[tuple[Any, ...]]:
    for x in ([[3, 1], [2, 2]], [[1, 4], [3, 2]], [[2, 7], [7, 1]], [[-3, -2], [-1, -4]]):
        yield x, [[5]], 2
    yield [[3, 8]], [[5, 6]], 1
    chance = random.Random(18)
    for tall, wide, size, low in POOLED:
        x = [[low + each for each in row] for row in _rows(chance, tall, wide)]
        yield x, _rows(chance, tall // size, wide // size), size


CONVOLVE = Exercise(convolve, lambda: ((x, w, stride, padding) for x, w, _, stride, padding in _slid()))
INPUT_GRADIENT = Exercise(
    input_gradient,
    lambda: ((delta, w, stride, len(x), len(x[0])) for x, w, delta, stride, padding in _slid() if not padding),
)
KERNEL_GRADIENT = Exercise(
    kernel_gradient,
    lambda: ((x, delta, stride, len(w), len(w[0])) for x, w, delta, stride, padding in _slid() if not padding),
)
POOL_GRADIENT = Exercise(pool_gradient, _pooled)
