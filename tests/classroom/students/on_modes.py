"""Answers to the exercises about second slopes and fixed points."""

from functools import reduce

import numpy as np

from . import RIGHT, right

# --- hessian_times ---

RIGHT += [
    (
        "hessian_times",
        lambda gradient, x, v, h: [
            (up - down) / 2 / h
            for up, down in zip(*(gradient([a + side * h * b for a, b in zip(x, v)]) for side in (1, -1)))
        ],
    ),
]


@right("hessian_times")
def hessian_times_in_arrays(gradient, x, v, h):
    x, v = np.array(x), np.array(v)
    above, below = np.array(gradient(x + h * v)), np.array(gradient(x - h * v))
    return ((above - below) / (2 * h)).tolist()


@right("hessian_times")
def hessian_times_by_appending(gradient, x, v, h):
    ahead, behind, result = [], [], []
    for place in range(len(x)):
        ahead.append(x[place] + v[place] * h)
        behind.append(x[place] - v[place] * h)
    slopes = gradient(ahead)
    for place, slope in enumerate(gradient(behind)):
        result.append(0.5 * (slopes[place] - slope) / h)
    return result


# --- fixed_point ---


@right("fixed_point")
def fixed_point_by_reduce(f, f_x, f_a, x, a, steps):
    end = reduce(lambda last, _: f(last, a), range(steps), x)
    return end, f_a(end, a) / (1 - f_x(end, a))


@right("fixed_point")
def fixed_point_by_recursion(f, f_x, f_a, x, a, steps):
    if steps:
        return fixed_point_by_recursion(f, f_x, f_a, f(x, a), a, steps - 1)
    return x, -f_a(x, a) / (f_x(x, a) - 1)


@right("fixed_point")
def fixed_point_as_a_list(f, f_x, f_a, x, a, steps):
    points = [x]
    while len(points) <= steps:
        points.append(f(points[-1], a))
    inside, outside = f_x(points[-1], a), f_a(points[-1], a)
    return [points[-1], outside / (1 - inside)]
