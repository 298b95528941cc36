"""Answers to the exercises about attention."""

import math
from operator import mul

import numpy as np

from . import RIGHT, right, wrong

# --- attend ---


@right("attend")
def attend_in_arrays(query, keys):
    scores = np.array(keys) @ np.array(query) / np.sqrt(len(query))
    powers = np.exp(scores - scores.max())
    return (powers / powers.sum()).tolist()


@right("attend")
def attend_by_the_others(query, keys):
    scores = [math.fsum(map(mul, query, key)) / len(query) ** 0.5 for key in keys]
    return [1 / sum(math.exp(min(other - score, 700)) for other in scores) for score in scores]


@right("attend")
def attend_by_logarithms(query, keys):
    scores = []
    for key in keys:
        total = 0.0
        for place in range(len(key)):
            total += key[place] * query[place] / math.sqrt(len(key))
        scores.append(total)
    top = sorted(scores)[-1]
    log_sum = top + math.log(sum(math.exp(score - top) for score in scores))
    return [math.exp(score - log_sum) for score in scores]


# --- softmax_pullback ---


@right("softmax_pullback")
def softmax_pullback_by_differences(weights, incoming):
    back = []
    for w, g in zip(weights, incoming):
        back.append(w * sum(other * (g - h) for other, h in zip(weights, incoming)))
    return back


@right("softmax_pullback")
def softmax_pullback_by_the_jacobian(weights, incoming):
    w = np.array(weights)
    return ((np.diag(w) - np.outer(w, w)) @ np.array(incoming)).tolist()


@right("softmax_pullback")
def softmax_pullback_in_two_loops(weights, incoming):
    back = []
    for j in range(len(weights)):
        total = 0
        for i in range(len(weights)):
            if i == j:
                total += incoming[i] * weights[i] * (1 - weights[i])
            else:
                total -= incoming[i] * weights[i] * weights[j]
        back.append(total)
    return back


# --- causal ---

RIGHT += [
    (
        "causal",
        lambda scores: [row[: i + 1] + [float("-inf")] * (len(scores) - i - 1) for i, row in enumerate(scores)],
    ),
    (
        "causal",
        lambda scores: [[s if j <= i else -math.inf for j, s in enumerate(row)] for i, row in enumerate(scores)],
    ),
]


@right("causal")
def causal_in_arrays(scores):
    size = len(scores)
    return (np.array(scores).reshape(size, size) + np.triu(np.full((size, size), -np.inf), 1)).tolist()


@wrong("causal", "changes_argument")
def causal_in_place(scores):
    for i in range(len(scores)):
        for j in range(i + 1, len(scores)):
            scores[i][j] = -math.inf
    return scores
