"""What one call of a Program takes, value and gradient, for programs of many kinds.

    python tests/benchmarks/calls.py            all of them, about two minutes
    python tests/benchmarks/calls.py cnn rk4    those whose name begins so

The least of several rounds, in microseconds. Each is asked often enough before to
have moved to straight-line code, where that is where it moves. `kernel` is what the
machine code alone takes: the rest is checking, feeding and copying.
"""

from __future__ import annotations

import os
import sys
from functools import partial
from itertools import pairwise
from time import perf_counter

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # before NumPy

import numpy as np
from workloads import CHAIN_AT, LAYERS, chain, moons, random_graph, replay

import naive_graph as ng
from naive_graph import Graph, LeafNode, Model, Program, Variable, logsumexp, mean, relu
from naive_graph.tensor import conv2d, max_pool2d
from naive_graph.tensor.losses import sparse_softmax_cross_entropy
from naive_graph.training import lookup, parameter

ROUNDS, BUDGET, WARM = 60, 0.003, 0.3  # many short rounds: on a busy machine some are not disturbed
DICE = np.random.default_rng(5)


def layers(sizes, scale=0.3):
    """Weights and biases of dense layers, as Variables."""
    return [
        ([[Variable(w) for w in row] for row in (scale * DICE.normal(size=(out, into))).tolist()],
         [Variable(0.1) for _ in range(out)])
        for into, out in pairwise(sizes)
    ]  # fmt: skip


def through(made, h, bend=relu):
    for depth, (w, b) in enumerate(made):
        h = [sum((wi * xi for wi, xi in zip(row, h)), c) for row, c in zip(w, b)]
        h = h if depth == len(made) - 1 else [bend(x) for x in h]
    return h


def every(made):
    return [each for w, b in made for each in [*(x for row in w for x in row), *b]]


def holders(count):
    return [ng.PlaceHolder() for _ in range(count)]


def classifier(sizes, samples):
    """A network with classes' logits, fed a batch of one-hot classes."""
    made, x, y = layers(sizes), holders(sizes[0]), holders(sizes[-1])
    z = through(made, x)
    program = Program(mean(logsumexp(z) - sum(a * b for a, b in zip(y, z))), every(made), inputs=[x, y])
    classes = np.eye(sizes[-1])[DICE.integers(0, sizes[-1], samples)]
    return program, (DICE.normal(size=(samples, sizes[0])), classes)


def regression(samples):
    made, x, y = layers((8, 16, 1)), holders(8), ng.PlaceHolder()
    program = Program(mean((through(made, x, ng.tanh)[0] - y) ** 2), every(made), inputs=[x, y])
    return program, (DICE.normal(size=(samples, 8)), DICE.normal(size=samples))


def unrolled_moons():
    points, labels, _ = moons()
    made = layers((2, *(out for _, out in LAYERS)))
    losses = [relu(1 - y * through(made, x)[0]) for x, y in zip(points.tolist(), labels.tolist())]
    return Program(sum(losses) * 0.01, every(made)), ()


def fed_moons():
    points, labels, _ = moons()
    made, x, y = layers((2, *(out for _, out in LAYERS))), holders(2), ng.PlaceHolder()
    return Program(mean(relu(1 - y * through(made, x)[0])), every(made), inputs=[x, y]), (points, labels)


FUNCTIONS = {name: getattr(ng, name) for name in ("exp", "log", "sin", "cos", "tanh")}


def any_graph(size):
    leaves, steps = random_graph(size)
    variables = [Variable(x) for x in leaves]
    return Program(replay(variables, steps, FUNCTIONS), variables), ()


def any_graph_batch(samples):
    leaves, steps = random_graph(1000)
    given = holders(len(leaves))
    return Program(replay(given, steps, FUNCTIONS), given, inputs=[given]), (np.tile(leaves, (samples, 1)),)


def long_chain(size):
    leaves = [Variable(x) for x in CHAIN_AT]
    return Program(chain(size // 5, *leaves, ng.sin), leaves), ()


def cnn(samples):
    """Images of 8 by 8: four kernels of 3 by 3, pooling, ten classes."""
    model, x = Model(seed=1), LeafNode.input((samples, 8, 8, 1))
    kernel, w = parameter(model.add_parameters((3, 3, 1, 4))), parameter(model.add_parameters((36, 10)))
    h = max_pool2d(conv2d(x, kernel).relu(), 2).reshape(samples, 36)
    loss = sparse_softmax_cross_entropy(DICE.integers(0, 10, samples), h @ w)
    return Program(loss, inputs=[x]), (DICE.normal(size=(samples, 8, 8, 1)),)


def rnn(steps):
    model, x = Model(seed=2), LeafNode.input((steps, 4, 3))
    into, on, out = (parameter(model.add_parameters(shape)) for shape in ((3, 8), (8, 8), (8, 1)))
    h = LeafNode.constant(np.zeros((4, 8)))
    for step in range(steps):
        h = (x[step] @ into + h @ on).tanh()
    return Program(((h @ out) ** 2).sum(), inputs=[x]), (DICE.normal(size=(steps, 4, 3)),)


def attention(length):
    model, x = Model(seed=3), LeafNode.input((length, 8))
    q, k, v = (x @ parameter(model.add_parameters((8, 8))) for _ in range(3))
    y = ((q @ k.transpose()) * 8**-0.5).softmax() @ v
    return Program((y * y).sum(), inputs=[x]), (DICE.normal(size=(length, 8)),)


def mixture():
    """The likelihood of a hundred numbers under three normal distributions."""
    means, widths, shares = ([Variable(v) for v in (-1.0, 0.2, 1.0)] for _ in range(3))
    losses = [
        -logsumexp([s - w - (x - m) ** 2 * (w * -2.0).exp() * 0.5 for m, w, s in zip(means, widths, shares)])
        for x in DICE.normal(size=100).tolist()
    ]
    return Program(Graph.sum(losses) + logsumexp(shares) * 100.0, [*means, *widths, *shares]), ()


def stencil():
    u, c = [Variable(v) for v in DICE.normal(size=50).tolist()], Variable(0.1)
    start = u
    for _ in range(40):
        u = [u[0], *[u[i] + c * (u[i - 1] - 2.0 * u[i] + u[i + 1]) for i in range(1, 49)], u[-1]]
    return Program(Graph.sum([each * each for each in u]), [c, *start]), ()


def rk4():
    """Lotka and Volterra's two kinds, by Runge and Kutta's steps."""
    a, b, x, y, dt = Variable(1.1), Variable(0.4), Variable(1.0), Variable(1.5), 0.05
    wrt = [a, b, x, y]

    def slope(x, y):
        return a * x - b * x * y, b * x * y - a * y

    for _ in range(40):
        k = [slope(x, y)]
        for part in (dt / 2, dt / 2, dt):
            k.append(slope(x + k[-1][0] * part, y + k[-1][1] * part))
        x, y = (at + (p + q * 2.0 + r * 2.0 + s) * (dt / 6) for at, p, q, r, s in zip((x, y), *k))
    return Program(x * y, wrt), ()


def embeddings(samples):
    """Words as rows of a table, their mean, and a layer: what a batch reads of the table is fixed."""
    model, y = Model(seed=4), LeafNode.input((samples, 1))
    table, w = model.add_lookup_parameters((50, 8)), parameter(model.add_parameters((8, 1)))
    words = lookup(table, DICE.integers(0, 50, samples).tolist())
    return Program((((words @ w).tanh() - y) ** 2).sum(), inputs=[y]), (DICE.normal(size=(samples, 1)),)


def dense(samples):
    model, x, y = Model(seed=6), LeafNode.input((samples, 16)), LeafNode.input((samples, 1))
    w, v = parameter(model.add_parameters((16, 32))), parameter(model.add_parameters((32, 1)))
    loss = (((x @ w).tanh() @ v - y) ** 2).sum()
    return Program(loss, inputs=[x, y]), (DICE.normal(size=(samples, 16)), DICE.normal(size=(samples, 1)))


def small():
    x = Variable(6.0)
    return Program(((x - 7) ** 2 + 10).log(), [x]), ()


def three_numbers():
    x, p = Variable(6.0), holders(3)
    return Program((x * p[0] + p[1]) ** 2 * p[2], [x], inputs=p), (1.0, 2.0, 3.0)


PROGRAMS = {
    "small, nothing fed": small, "three floats fed": three_numbers,
    "moons, unrolled": unrolled_moons, "moons, fed 100": fed_moons,
    **{f"digits 64-32-10, batch of {n}": partial(classifier, (64, 32, 10), n) for n in (32, 64)},
    **{f"regression 8-16-1, batch of {n}": partial(regression, n) for n in (1, 8, 64)},
    **{f"20 classes 16-32-20, batch of {n}": partial(classifier, (16, 32, 20), n) for n in (16, 128)},
    **{f"random graph of {n:,}": partial(any_graph, n) for n in (1_000, 10_000, 100_000)},
    **{f"random graph of 1,000, batch of {n}": partial(any_graph_batch, n) for n in (8, 64)},
    **{f"chain of {n:,}": partial(long_chain, n) for n in (1_000, 100_000)},
    **{f"cnn, batch of {n}": partial(cnn, n) for n in (1, 8, 32, 64)},
    **{f"lowered MLP 16-32-1, batch of {n}": partial(dense, n) for n in (1, 8, 64)},
    "rnn of 10 steps": partial(rnn, 10), "attention over 6": partial(attention, 6),
    "mixture of three normals": mixture, "stencil 50 x 40": stencil, "rk4, 40 steps": rk4,
    "embeddings, 32 words": partial(embeddings, 32),
}  # fmt: skip


def ready(make):
    """The call that is timed, and the Program behind it, warm."""
    asked, given = make()
    call = partial(asked.backward if isinstance(asked.outputs[0], ng.TensorNode) else asked, *given)
    until = perf_counter() + WARM
    while perf_counter() < until:
        call()
    return call, asked


def least(call) -> float:
    """The least seconds of a call, over some rounds."""
    since = perf_counter()
    call()
    times = max(1, int(BUDGET / max(perf_counter() - since, 1e-6)))
    best = float("inf")
    for _ in range(ROUNDS):
        since = perf_counter()
        for _ in range(times):
            call()
        best = min(best, (perf_counter() - since) / times)
    return best


def kernel_of(program):
    """A call of the machine code alone; None if it has none of its own."""
    (answers,) = program._backends.values()
    code = getattr(answers, "tape", None)
    return None if code is None or not hasattr(code, "packed") else partial(code.call, code.packed)


def main(chosen) -> None:
    print("| one call | all | kernel |\n|---|---|---|")
    for name, make in PROGRAMS.items():
        if not chosen or name.startswith(tuple(chosen)):
            with Graph.scratch():
                call, program = ready(make)
                kernel = kernel_of(program)
                alone = "" if kernel is None else f"{least(kernel) * 1e6:.1f}"
                print(f"| {name} | {least(call) * 1e6:.1f} | {alone} |", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
