"""The work that engines are timed on, as plain arrays: anybody can run the same."""

from __future__ import annotations

import math
import random

import numpy as np

LAYERS = ((2, 16), (16, 16), (16, 1))
WHEEL = ["add"] * 25 + ["sub"] * 15 + ["mul"] * 30 + ["div"] * 4 + ["exp"] * 6 + ["log"] * 4
WHEEL += ["sin"] * 6 + ["cos"] * 5 + ["tanh"] * 5
BINARY = ("add", "sub", "mul", "div")


def moons(samples: int = 100):
    """Two half circles with labels -1 and 1, and the weights of a network 2-16-16-1."""
    dice = np.random.default_rng(1337)
    angle = np.linspace(0, np.pi, samples // 2)
    up, down = np.c_[np.cos(angle), np.sin(angle)], np.c_[1 - np.cos(angle), 0.5 - np.sin(angle)]
    order = dice.permutation(2 * len(angle))
    points = np.concatenate([up, down])[order] + dice.normal(0, 0.1, (2 * len(angle), 2))
    labels = np.r_[-np.ones(len(angle)), np.ones(len(angle))][order]
    weights = [(dice.uniform(-1, 1, (out, into)), np.zeros(out)) for into, out in LAYERS]
    return points, labels, weights


def digits(samples: int):
    """Images of 8 by 8 (random, as dense as handwritten ones), classes, and the weights of a network 64-32-10."""
    dice = np.random.default_rng(11)
    images = np.maximum(dice.uniform(-1, 1, (samples, 64)), 0)
    classes = np.eye(10)[dice.integers(0, 10, samples)]
    weights = [(dice.normal(0, (2 / into) ** 0.5, (out, into)), np.zeros(out)) for into, out in ((64, 32), (32, 10))]
    return images, classes, weights


def random_graph(size: int, seed: int = 7):
    """`size` operators over leaves: (leaves, [(operator, a, b), ...]); every node is used, every value is within 8."""
    dice = random.Random(seed)
    width = min(1000, max(4, size // 10))
    leaves = [dice.uniform(-1, 1) for _ in range(width)]
    low, high, unused, steps = [-1.0] * width, [1.0] * width, list(range(width)), []
    while len(steps) < size - width:
        place = int(dice.random() * len(unused))
        a = unused[place]
        step = _step(dice, a, low, high)
        if step is not None:
            operator, b, bounds = step
            unused[place] = unused[-1]
            unused.pop()
            unused.append(len(low))
            steps.append((operator, a, b))
            low.append(bounds[0])
            high.append(bounds[1])
    last = unused[0]
    for each in unused[1:]:
        steps.append(("add", last, each))
        last = width + len(steps) - 1
    return leaves, steps


def _step(dice, a, low, high):
    """An operator on a that keeps all values within bounds, or None."""
    operator, count = WHEEL[int(dice.random() * len(WHEEL))], len(low)
    near = max(0, count - 1024)
    b = dice.randrange(near, count) if dice.random() < 0.75 else dice.randrange(count)
    a0, a1, b0, b1 = low[a], high[a], low[b], high[b]
    if operator == "add":
        bounds = a0 + b0, a1 + b1
    elif operator == "sub":
        bounds = a0 - b1, a1 - b0
    elif operator == "exp":
        bounds = (math.exp(a0), math.exp(a1)) if a1 <= 2 else (0.0, 9.0)
    elif operator == "log":
        bounds = (math.log(a0), math.log(a1)) if a0 >= 0.1 else (0.0, 9.0)
    elif operator in ("sin", "cos", "tanh"):
        bounds = -1.0, 1.0
    else:
        if operator == "div":
            if b0 < 0.2 and b1 > -0.2:
                return None
            b0, b1 = 1 / b1, 1 / b0
        corners = a0 * b0, a0 * b1, a1 * b0, a1 * b1
        bounds = min(corners), max(corners)
    return (operator, b, bounds) if bounds[0] >= -8 and bounds[1] <= 8 else None


def replay(leaves, steps, functions):
    """Build the graph with anybody's numbers. functions: operator -> function of one."""
    nodes = list(leaves)
    for operator, a, b in steps:
        x, y = nodes[a], nodes[b]
        if operator == "add":
            nodes.append(x + y)
        elif operator == "sub":
            nodes.append(x - y)
        elif operator == "mul":
            nodes.append(x * y)
        elif operator == "div":
            nodes.append(x / y)
        else:
            nodes.append(functions[operator](x))
    return nodes[-1]


def chain(links: int, x, a, b, c, sin):
    """x <- (x + b) - c * sin(a * x), again and again: five nodes a link, one after the other."""
    for _ in range(links):
        x = (x + b) - c * sin(a * x)
    return x


CHAIN_AT = (0.7, 1.3, 0.01, 0.003)  # x, a, b, c
