"""Answers to the exercises about windows over pictures."""

import numpy as np

from . import RIGHT, right

# --- convolve ---

RIGHT += [
    (
        "convolve",
        lambda x, w, stride, padding: np.einsum(
            "pqij,ij->pq",
            np.lib.stride_tricks.sliding_window_view(np.pad(x, padding), np.shape(w))[::stride, ::stride],
            w,
        ).tolist(),
    ),
]


@right("convolve")
def convolve_by_asking(x, w, stride, padding):
    def at(row, column):
        return x[row][column] if 0 <= row < len(x) and 0 <= column < len(x[0]) else 0

    return [
        [
            sum(w[i][j] * at(p + i, q + j) for i in range(len(w)) for j in range(len(w[0])))
            for q in range(-padding, len(x[0]) + padding - len(w[0]) + 1, stride)
        ]
        for p in range(-padding, len(x) + padding - len(w) + 1, stride)
    ]


@right("convolve")
def convolve_by_shifts(x, w, stride, padding):
    x, w = np.pad(np.array(x, dtype=float), padding), np.array(w)
    rows, columns = x.shape[0] - w.shape[0] + 1, x.shape[1] - w.shape[1] + 1
    y = np.zeros((rows, columns))
    for (i, j), weight in np.ndenumerate(w):
        y += weight * x[i : i + rows, j : j + columns]
    return y[::stride, ::stride].tolist()


@right("convolve")
def convolve_window_by_window(x, w, stride, padding):
    wide = len(x[0]) + 2 * padding
    padded = [[0] * wide for _ in range(padding)]
    for row in x:
        padded.append([0] * padding + row + [0] * padding)
    padded += [[0] * wide for _ in range(padding)]
    y, top = [], 0
    while top + len(w) <= len(padded):
        line, left = [], 0
        while left + len(w[0]) <= wide:
            window = [row[left : left + len(w[0])] for row in padded[top : top + len(w)]]
            line.append(sum(a * b for row, weights in zip(window, w) for a, b in zip(row, weights)))
            left += stride
        y.append(line)
        top += stride
    return y


# --- input_gradient ---


@right("input_gradient")
def input_gradient_dilated(delta, w, stride, rows, columns):
    k, m = np.shape(w)
    extended = np.zeros((rows + k - 1, columns + m - 1))
    for (p, q), slope in np.ndenumerate(delta):
        extended[k - 1 + p * stride, m - 1 + q * stride] = slope
    return convolve_by_asking(extended, [row[::-1] for row in w[::-1]], 1, 0)


@right("input_gradient")
def input_gradient_by_stamps(delta, w, stride, rows, columns):
    slopes = np.zeros((rows, columns))
    for (p, q), slope in np.ndenumerate(delta):
        slopes[p * stride : p * stride + len(w), q * stride : q * stride + len(w[0])] += slope * np.array(w)
    return slopes.tolist()


@right("input_gradient")
def input_gradient_asks_each_number(delta, w, stride, rows, columns):
    def slope(row, column):
        total = 0
        for p in range(len(delta)):
            for q in range(len(delta[0])):
                i, j = row - p * stride, column - q * stride
                if 0 <= i < len(w) and 0 <= j < len(w[0]):
                    total += delta[p][q] * w[i][j]
        return total

    return [[slope(row, column) for column in range(columns)] for row in range(rows)]


# --- kernel_gradient ---


@right("kernel_gradient")
def kernel_gradient_weight_by_weight(x, delta, stride, rows, columns):
    def slope(i, j):
        return sum(d * x[p * stride + i][q * stride + j] for p, line in enumerate(delta) for q, d in enumerate(line))

    return [[slope(i, j) for j in range(columns)] for i in range(rows)]


@right("kernel_gradient")
def kernel_gradient_by_slices(x, delta, stride, rows, columns):
    x, delta, slopes = np.array(x), np.array(delta), np.zeros((rows, columns))
    for i, j in np.ndindex(rows, columns):
        seen = x[i::stride, j::stride][: delta.shape[0], : delta.shape[1]]
        slopes[i, j] = (delta * seen).sum()
    return slopes.tolist()


@right("kernel_gradient")
def kernel_gradient_by_windows(x, delta, stride, rows, columns):
    total = [[0.0] * columns for _ in range(rows)]
    for p, line in enumerate(delta):
        for q, slope in enumerate(line):
            window = [row[q * stride : q * stride + columns] for row in x[p * stride : p * stride + rows]]
            total = [[t + slope * s for t, s in zip(ours, theirs)] for ours, theirs in zip(total, window)]
    return total


# --- pool_gradient ---


@right("pool_gradient")
def pool_gradient_by_argmax(x, delta, size):
    slopes = np.zeros_like(x, dtype=float)
    for (p, q), slope in np.ndenumerate(delta):
        rows, columns = slice(p * size, (p + 1) * size), slice(q * size, (q + 1) * size)
        place = np.unravel_index(np.argmax(np.array(x)[rows, columns]), (size, size))
        slopes[rows, columns][place] = slope
    return slopes.tolist()


@right("pool_gradient")
def pool_gradient_by_max(x, delta, size):
    slopes = [[0] * len(row) for row in x]
    for p, line in enumerate(delta):
        for q, slope in enumerate(line):
            window = [(p * size + i, q * size + j) for i in range(size) for j in range(size)]
            row, column = max(window, key=lambda place: x[place[0]][place[1]])
            slopes[row][column] = slope
    return slopes


@right("pool_gradient")
def pool_gradient_by_sorting(x, delta, size):
    slopes = {(i, j): 0.0 for i in range(len(x)) for j in range(len(x[0]))}
    taken = set()
    for i, j in sorted(slopes, key=lambda place: (-x[place[0]][place[1]], place)):
        window = i // size, j // size
        if window not in taken and window[0] < len(delta) and window[1] < len(delta[0]):
            taken.add(window)
            slopes[i, j] = delta[window[0]][window[1]]
    return [[slopes[i, j] for j in range(len(x[0]))] for i in range(len(x))]
