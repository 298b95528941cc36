"""Twelve graphs that stand for all others: each is hard to draw in a way of its own."""

from itertools import pairwise

import numpy as np

import naive_graph as ng
from naive_graph import Graph, LeafNode, Program, Sequential, Variable, draw, scope
from naive_graph.sequential import Dense


def differentiated(y, **wishes):
    Graph.forward()
    Graph.backward(y)
    return draw(y, **wishes)


def square():
    x = Variable(3.0, name="x")
    return differentiated(x * x)


def seed():
    return differentiated(((Variable(6, name="x") - 7) ** 2 + 10).log())


def diamond():
    y = Variable(0.5, name="x")
    for _ in range(8):
        y = y.sin() * y.cos()
    return differentiated(y)


def wide():
    products = [Variable(0.1 * i, name=f"w{i}") * Variable(1.0 * i, name=f"x{i}") for i in range(1, 13)]
    return differentiated(sum(products[1:], products[0]).sigmoid())


def mlp(sizes=(2, 3, 2, 1)):
    values = [Variable(0.5 * i, name=f"x{i}") for i in range(1, sizes[0] + 1)]
    for layer, (before, after) in enumerate(pairwise(sizes), 1):
        with scope(f"layer{layer}"):
            weights = [[Variable(0.1 * (i + j), name=f"w{layer}{i}{j}") for i in range(before)] for j in range(after)]
            values = [sum((w * v for w, v in zip(row, values)), Variable(0.0, name="b")).tanh() for row in weights]
    return values[0]


def mlp_folded():
    return differentiated(mlp(), fold=True)


def mlp_open():
    return differentiated(mlp())


def lstm(steps=3, **wishes):
    h, c = Variable(0.0, name="h0"), Variable(0.0, name="c0")
    weights = {gate: [Variable(0.1 * (i + 1), name=f"{gate}{part}") for i, part in enumerate("xhb")] for gate in "ifog"}
    for step in range(1, steps + 1):
        x = Variable(float(step), name=f"x{step}")
        with scope(f"cell {step}"):
            sums = {gate: w[0] * x + w[1] * h + w[2] for gate, w in weights.items()}
            c = sums["f"].sigmoid() * c + sums["i"].sigmoid() * sums["g"].tanh()
            h = sums["o"].sigmoid() * c.tanh()
    return differentiated(h, **{"fold": True, **wishes})


def convolution():
    image = LeafNode.parameter(np.arange(36.0).reshape(1, 6, 6, 1) / 36, "x")
    kernel = LeafNode.parameter(np.array([[1.0, 0.0], [0.0, -1.0]]).reshape(2, 2, 1, 1), "k")
    y = ng.tensor.conv2d(image, kernel).tanh()
    y.name = "y"
    loss = (y * y).sum()
    loss.eval()
    return draw(loss)


def matrix():
    weights, x = LeafNode.parameter(np.arange(6.0).reshape(2, 3), "W"), LeafNode.parameter([1.0, 2.0, 3.0], "x")
    y = ng.linear("ij,j->i", weights, x, name="y")
    y.eval()
    return y


def tensors():
    return draw(matrix())


def opened():
    y = matrix()
    ng.lower(y)
    return draw(y, open=True)


def tasks():
    a, b, c, d = (LeafNode.parameter(value, name) for name, value in zip("abcd", (2.0, 3.0, 5.0, 7.0)))
    return draw(ng.tensor.DAGExecutionEngine().tasks(a * b + c * d))


def flow():
    return draw(Sequential([Dense(3), Dense(2)], 4, initializer=1.0).expand())


def split():
    return draw(Sequential([Dense(3), Dense(2)], 4, initializer=1.0).expand(decompose=True), fold=False)


def lanes():
    w, b, loss = Variable(0.5, name="w"), Variable(0.0, name="b"), 0
    for i in range(6):
        loss = loss + (w * float(i) + b - 2.0 * i) ** 2
    return draw(Program(loss, wrt=[w, b]), after="lanes")


def choice():
    x, y = Variable(-2.0, name="x"), Variable(1.0, name="y")
    return differentiated(ng.where(x > 0, x.sin(), ng.maximum(x * x, y)), partials=True)


def cells():
    """Two cells of an LSTM, open: long arrows, many of one box, all with numbers on them."""
    return lstm(steps=2, fold=False, partials=True)


def rounds():
    """A graph that is shown by what is alike, so that an arrow goes back against the flow."""
    xs, ws = ([Variable(0.1 * i, name=f"{name}{i}") for i in range(40)] for name in "xw")
    for _ in range(4):
        xs = [(a * w + b).tanh() for a, b, w in zip(xs, xs[1:] + xs[:1], ws)]
        xs = [(a - b).sin() for a, b in zip(xs, xs[3:] + xs[:3])]
    return draw(sum(xs[1:], xs[0]))


def streams():
    """Splitjoins of three layers, open, in a row: streams pass many frames and names."""
    flow = Sequential([Dense(5), Dense(4), Dense(3)], 4, initializer=1.0).expand(decompose=True)
    return draw(flow, fold=False)


def downwards():
    return draw(mlp((2, 4, 3, 1)), direction="TB")


# Each with the crossings that it had when it was last looked at; more would be a step back.
ALL = {
    square: 0, seed: 0, diamond: 0, wide: 1, mlp_folded: 0, mlp_open: 6, lstm: 0, convolution: 0, tensors: 0,
    opened: 19, tasks: 25, flow: 0, split: 6, lanes: 20, choice: 0, cells: 106, rounds: 2, streams: 17, downwards: 24,
}  # fmt: skip
