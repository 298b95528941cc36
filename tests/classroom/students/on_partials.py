"""Answers to the exercises of the lesson on operators: right ones in other styles, and wrong ones."""

import functools
import operator

import naive_graph as ng

from . import RIGHT, right, wrong

RIGHT += [
    ("both_partials", lambda a, b, y: (y / b, -y * a / b**2)),
    ("robust_slope", lambda adjoint, x, scale: adjoint * x * (1 + (x / scale) ** 2) ** -0.5),
    ("robust_slope", lambda d, x, s: d * s * x / (s * s + x * x) ** 0.5),
    (
        "row_slopes",
        lambda d, x, b: (
            [[e * f for e, f in zip(row, b)] for row in d],
            [sum(map(operator.mul, *columns)) for columns in zip(zip(*d), zip(*x))],
        ),
    ),
    (
        "disagreement",
        lambda f, df, x, h: (
            abs(df(x) - (f(x + h) - f(x - h)) / (2 * h)) / (abs(df(x)) + abs((f(x + h) - f(x - h)) / (2 * h)) or 1.0)
        ),
    ),
]


# --- right ------------------------------------------------------------------------


@right("both_partials")
def partials_by_the_library(a, b, y):
    again = ng.exp(a / b)
    return [again * ng.reciprocal(b), ng.neg(again) * a * ng.reciprocal(b) ** 2]


@right("both_partials")
def partials_one_from_the_other(a, b, y):
    first = y * b**-1
    second = 0 - first * (a / b)
    return [first, second]


@right("robust_slope")
def robust_in_steps(adjoint, x, scale):
    ratio = x / scale
    height = ng.sqrt(ratio**2 + 1.0)
    inner = 1 / scale
    return scale**2 * (ratio / height) * inner * adjoint


@right("row_slopes")
def rows_by_arrays(adjoint, x, b):
    import numpy as np

    adjoint = np.array(adjoint)
    return (adjoint * b).tolist(), (adjoint * np.array(x)).sum(axis=0).tolist()


@right("row_slopes")
def rows_by_index(adjoint, x, b):
    for_x, for_b = [], []
    for i in range(len(x)):
        for_x.append([adjoint[i][j] * b[j] for j in range(len(b))])
    for j in range(len(b)):
        for_b.append(functools.reduce(lambda total, i: total + adjoint[i][j] * x[i][j], range(len(x)), 0))
    return for_x, for_b


@right("disagreement")
def disagreement_with_an_early_end(f, df, x, h):
    claimed, found = df(x), (f(x + h) - f(x - h)) / 2 / h
    if claimed == found == 0:
        return 0
    return abs(claimed - found) / (abs(claimed) + abs(found))


@right("disagreement")
def disagreement_by_sizes(f, df, x, h):
    pair = [df(x), 0.5 / h * (f(x + h) - f(x - h))]
    size = sum(map(abs, pair))
    return abs(pair[0] - pair[1]) / size if size > 0 else 0.0


# --- wrong ------------------------------------------------------------------------


@wrong("both_partials", "returns_nothing")
def printed_only(a, b, y):
    print(y / b, -y * a / b**2)


@wrong("both_partials", "raises")
def pythons_own_exp(a, b, y):
    import math

    return [math.exp(a / b) / b, -math.exp(a / b) * a / b**2]


@wrong("row_slopes", "wrong_shape")
def b_before_x(adjoint, x, b):
    return rows_by_index(adjoint, x, b)[::-1]


@wrong("disagreement", "raises", "nothing_over_nothing")
def flat_places_forgotten(f, df, x, h):
    d, n = df(x), (f(x + h) - f(x - h)) / (2 * h)
    return abs(d - n) / (abs(d) + abs(n))
