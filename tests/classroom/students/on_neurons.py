"""Answers to the exercises about a neuron and its loss."""

import math

import numpy as np

from . import RIGHT, right

# --- neuron_slopes ---


@right("neuron_slopes")
def neuron_slopes_by_cosh(weights, inputs, incoming):
    total = sum(w * x for w, x in zip(weights, inputs)) + weights[-1]
    push = incoming / math.cosh(total) ** 2
    return [push * x for x in [*inputs, 1.0]], [push * w for w in weights[:-1]]


@right("neuron_slopes")
def neuron_slopes_in_arrays(weights, inputs, incoming):
    w, x = np.array(weights), np.array([*inputs, 1.0])
    push = incoming * (1 - np.tanh(w @ x) ** 2)
    return (push * x).tolist(), (push * w[:-1]).tolist()


@right("neuron_slopes")
def neuron_slopes_one_by_one(weights, inputs, incoming):
    seen = [*inputs, 1]
    total = 0
    for place in range(len(weights)):
        total += weights[place] * seen[place]
    for_weights, for_inputs = [], []
    for place in range(len(weights)):
        for_weights.append(incoming * seen[place] * (1 - math.tanh(total) ** 2))
        if place < len(inputs):
            for_inputs.append(incoming * weights[place] * (1 - math.tanh(total) ** 2))
    return for_weights, for_inputs


# --- hinge ---

RIGHT += [
    (
        "hinge",
        lambda scores, labels: (
            sum(max(0, 1 - s * t) for s, t in zip(scores, labels)) / len(scores),
            [-t / len(scores) if s * t < 1 else 0.0 for s, t in zip(scores, labels)],
        ),
    ),
]


@right("hinge")
def hinge_in_arrays(scores, labels):
    s, t = np.array(scores), np.array(labels)
    short = np.maximum(0, 1 - s * t)
    return float(short.mean()), np.where(short > 0, -t / len(s), 0.0).tolist()


@right("hinge")
def hinge_in_two_steps(scores, labels):
    missing = []
    for score, label in zip(scores, labels):
        missing.append(max(1 - label * score, 0.0))
    slopes = [0.0] * len(scores)
    for place, each in enumerate(missing):
        if each:
            slopes[place] = -labels[place] / len(missing)
    return sum(missing) / len(missing), slopes
