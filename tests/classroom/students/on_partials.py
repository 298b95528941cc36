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


@wrong("both_partials", "no_inner")
def each_moves_like_y(a, b, y):
    return y, y


@wrong("both_partials", "exchanged")
def b_before_a(a, b, y):
    for_a = y / b
    for_b = -(a / b**2) * y
    return [for_b, for_a]


@wrong("both_partials", "no_minus")
def never_falls(a, b, y):
    return [y / b, y * a / b / b]


@wrong("both_partials", "no_square")
def quotient_forgotten(a, b, y):
    return [y / b, -y * a / b]


@wrong("both_partials", "no_y")
def only_inside(a, b, y):
    return [1 / b, -a / b**2]


@wrong("both_partials", "returns_nothing")
def printed_only(a, b, y):
    print(y / b, -y * a / b**2)


@wrong("both_partials", "raises")
def pythons_own_exp(a, b, y):
    import math

    return [math.exp(a / b) / b, -math.exp(a / b) * a / b**2]


@wrong("robust_slope", "no_scale")
def as_if_scale_were_one(adjoint, x, scale):
    return adjoint * x / (1 + x**2) ** 0.5


@wrong("robust_slope", "no_adjoint")
def slope_alone(adjoint, x, scale):
    return x / (1 + (x / scale) ** 2) ** 0.5


@wrong("robust_slope", "no_inner")
def the_inside_does_not_move(adjoint, x, scale):
    r = x / scale
    return adjoint * scale**2 * r / (1 + r * r) ** 0.5


@wrong("robust_slope", "no_root")
def below_without_root(adjoint, x, scale):
    return adjoint * x / (1 + (x / scale) ** 2)


@wrong("robust_slope", "twice")
def the_half_is_lost(adjoint, x, scale):
    return 2 * adjoint * x / (1 + (x / scale) ** 2) ** 0.5


@wrong("robust_slope", "gives_value")
def value_times_adjoint(adjoint, x, scale):
    return adjoint * scale**2 * ((1 + (x / scale) ** 2) ** 0.5 - 1)


@wrong("row_slopes", "not_summed")
def a_table_for_b(adjoint, x, b):
    rows = range(len(x))
    return (
        [[adjoint[i][j] * b[j] for j in range(len(b))] for i in rows],
        [[adjoint[i][j] * x[i][j] for j in range(len(b))] for i in rows],
    )


@wrong("row_slopes", "own_value")
def each_its_own(adjoint, x, b):
    for_x = [[d * e for d, e in zip(row, entries)] for row, entries in zip(adjoint, x)]
    return for_x, [sum(row[j] for row in adjoint) * b[j] for j in range(len(b))]


@wrong("row_slopes", "last_row")
def overwritten(adjoint, x, b):
    for_b = [0] * len(b)
    for row, entries in zip(adjoint, x):
        for j in range(len(b)):
            for_b[j] = row[j] * entries[j]
    return [[d * f for d, f in zip(row, b)] for row in adjoint], for_b


@wrong("row_slopes", "over_columns")
def summed_along_rows(adjoint, x, b):
    for_x = [[d * f for d, f in zip(row, b)] for row in adjoint]
    return for_x, [sum(d * e for d, e in zip(row, entries)) for row, entries in zip(adjoint, x)]


@wrong("row_slopes", "wrong_shape")
def b_before_x(adjoint, x, b):
    return rows_by_index(adjoint, x, b)[::-1]


@wrong("disagreement", "one_sided")
def looks_ahead_only(f, df, x, h):
    d, n = df(x), (f(x + h) - f(x)) / h
    return abs(d - n) / (abs(d) + abs(n)) if d or n else 0.0


@wrong("disagreement", "absolute")
def how_far_apart(f, df, x, h):
    return abs(df(x) - (f(x + h) - f(x - h)) / (2 * h))


@wrong("disagreement", "raises", "nothing_over_nothing")
def flat_places_forgotten(f, df, x, h):
    d, n = df(x), (f(x + h) - f(x - h)) / (2 * h)
    return abs(d - n) / (abs(d) + abs(n))


@wrong("disagreement", "no_two")
def one_h_too_few(f, df, x, h):
    d, n = df(x), (f(x + h) - f(x - h)) / h
    return abs(d - n) / (abs(d) + abs(n)) if d or n else 0.0
