"""Answers to the exercises about deep chains."""

import math
import statistics
from itertools import accumulate
from operator import mul

import numpy as np

from . import RIGHT, right

# --- depth_slopes ---

RIGHT += [
    ("depth_slopes", lambda partials: list(accumulate(reversed(partials), mul, initial=1.0))[::-1]),
    ("depth_slopes", lambda partials: [math.prod(partials[place:]) for place in range(len(partials) + 1)]),
]


@right("depth_slopes")
def depth_slopes_by_inserting(partials):
    slopes = [1]
    for place in range(len(partials)):
        slopes.insert(0, slopes[0] * partials[-1 - place])
    return slopes


# --- normalise ---

RIGHT += [
    (
        "normalise",
        lambda xs, tiny: [
            (x - statistics.fmean(xs)) / math.sqrt(statistics.pvariance(xs, statistics.fmean(xs)) + tiny) for x in xs
        ],
    ),
]


@right("normalise")
def normalise_an_array(xs, tiny):
    x = np.array(xs)
    return ((x - x.mean()) / np.sqrt(x.var() + tiny)).tolist()


@right("normalise")
def normalise_by_the_mean_square(xs, tiny):
    mean, square = sum(xs) / len(xs), sum((x - sum(xs) / len(xs)) ** 2 for x in xs) / len(xs)
    factor = (square + tiny) ** -0.5
    result = []
    for x in xs:
        result.append(factor * (x - mean))
    return result
