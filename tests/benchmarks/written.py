"""The same work however its loop is written, beside CasADi and JAX.

    python tests/benchmarks/written.py              all of it, about three minutes
    python tests/benchmarks/written.py classes cnn  those whose name begins so

One thread, float64, minima of interleaved rounds, as in engines.py. CasADi builds the same nodes by the same lines;
JAX computes with arrays what these mean, which is how people write it there.
"""

from __future__ import annotations

import math
import sys
from functools import partial
from itertools import pairwise
from types import SimpleNamespace

from engines import minima, row  # first: it sets the number of threads

import numpy as np  # isort: skip
import peers  # isort: skip

import naive_graph as ng
from naive_graph import Graph, LeafNode, Model, Program
from naive_graph.tensor import conv2d, max_pool2d
from naive_graph.tensor.losses import softmax_cross_entropy
from naive_graph.training import parameter

OURS = SimpleNamespace(tanh=ng.tanh, exp=ng.exp, log=ng.log, logsumexp=ng.logsumexp, leaf=ng.Variable)


def weights_of(sizes):
    dice = np.random.default_rng(7)
    return [(0.4 * dice.normal(size=(out, into)), np.full(out, 0.1)) for into, out in pairwise(sizes)]


def leaves_of(weights, leaf):
    return [([[leaf(x) for x in line] for line in w.tolist()], [leaf(x) for x in b.tolist()]) for w, b in weights]


def dense(h, layer):
    return [sum((a * x for a, x in zip(line, h)), c) for line, c in zip(*layer)]


def through(h, layers, m):
    for depth, layer in enumerate(layers, 1):
        h = dense(h, layer)
        h = [m.tanh(x) for x in h] if depth < len(layers) else h
    return h


def samples(count, into, out):
    dice = np.random.default_rng(3)
    return dice.normal(size=(count, into)), dice.normal(size=(count, out))


# --- what people write ---------------------------------------------------------------------------


SIZES, CLASSES = (4, 8, 3), (8, 16, 20)


def classes(m):
    """A cross-entropy over 20 classes of which the right one is picked by its number."""
    layers, loss = leaves_of(weights_of(CLASSES), m.leaf), 0
    for number, x in enumerate(samples(64, 8, 1)[0].tolist()):
        h = through(x, layers, m)
        loss = loss + (m.logsumexp(h) - h[number * 7 % 20])
    return loss


def flat_sum(m):
    """Three outputs to a sample, and each one's error added to the one sum."""
    layers, loss = leaves_of(weights_of(SIZES), m.leaf), 0
    for x, y in zip(*map(np.ndarray.tolist, samples(50, 4, 3))):
        for out, wanted in zip(through(x, layers, m), y):
            loss = loss + (out - wanted) ** 2
    return loss


def per_sample(m):
    """The same, summed for each sample first."""
    layers, loss = leaves_of(weights_of(SIZES), m.leaf), 0
    for x, y in zip(*map(np.ndarray.tolist, samples(50, 4, 3))):
        loss = loss + sum((out - wanted) ** 2 for out, wanted in zip(through(x, layers, m), y))
    return loss


def by_layers(m):
    """A layer for all samples, then the next; the errors are added in pairs, and these in pairs."""
    layers, (xs, ys) = leaves_of(weights_of(SIZES), m.leaf), map(np.ndarray.tolist, samples(50, 4, 3))
    for depth, layer in enumerate(layers, 1):
        xs = [dense(x, layer) for x in xs]
        xs = [[m.tanh(each) for each in x] for x in xs] if depth < len(layers) else xs
    errors = [(out - wanted) ** 2 for x, y in zip(xs, ys) for out, wanted in zip(x, y)]
    while len(errors) > 1:
        errors = [a + b for a, b in zip(errors[::2], errors[1::2])] + errors[len(errors) & ~1 :]
    return errors[0]


def rk4(m, steps=150):
    """Lotka and Volterra's two kinds, by Runge and Kutta's steps."""
    a, b, x, y, dt = m.leaf(1.1), m.leaf(0.4), m.leaf(1.0), m.leaf(1.5), 0.02
    for _ in range(steps):
        k = [_slope(a, b, x, y)]
        for part in (dt / 2, dt / 2, dt):
            k.append(_slope(a, b, x + k[-1][0] * part, y + k[-1][1] * part))
        x, y = (at + (p + q * 2.0 + r * 2.0 + s) * (dt / 6) for at, p, q, r, s in zip((x, y), *k))
    return x * y


def _slope(a, b, x, y):
    return a * x - b * x * y, b * x * y - a * y


def heat(m, places=50, steps=40):
    """A rod that evens out."""
    c, u = m.leaf(0.1), [m.leaf(math.sin(0.3 * place)) for place in range(places)]
    for _ in range(steps):
        u = [u[0], *(u[i] + c * (u[i - 1] - 2.0 * u[i] + u[i + 1]) for i in range(1, places - 1)), u[-1]]
    return sum(each * each for each in u)


# --- in JAX --------------------------------------------------------------------------------------


def _jax_through(jnp, h, layers):
    for depth, (w, b) in enumerate(layers, 1):
        h = h @ w.T + b
        h = jnp.tanh(h) if depth < len(layers) else h
    return h


def jax_classes(jax):
    x, labels = samples(64, 8, 1)[0], np.arange(64) * 7 % 20

    def loss(layers, x):
        h = _jax_through(jax.numpy, x, layers)
        return (jax.nn.logsumexp(h, 1) - jax.numpy.take_along_axis(h, labels[:, None], 1)[:, 0]).sum()

    return loss, weights_of(CLASSES), x


def jax_errors(jax):
    return (
        lambda layers, x, y: ((_jax_through(jax.numpy, x, layers) - y) ** 2).sum(),
        weights_of(SIZES),
        *samples(50, 4, 3),
    )


def jax_rk4(jax, steps=150):
    def loss(p):
        def step(at, _):
            k, dt = [jax.numpy.array(_slope(p[0], p[1], *at))], 0.02
            for part in (dt / 2, dt / 2, dt):
                k.append(jax.numpy.array(_slope(p[0], p[1], *(at + k[-1] * part))))
            return at + (k[0] + k[1] * 2.0 + k[2] * 2.0 + k[3]) * (dt / 6), None

        x, y = jax.lax.scan(step, p[2:], None, length=steps)[0]
        return x * y

    return loss, np.array([1.1, 0.4, 1.0, 1.5])


def jax_heat(jax, places=50, steps=40):
    def loss(p):
        def step(u, _):
            return u.at[1:-1].add(p[0] * (u[:-2] - 2.0 * u[1:-1] + u[2:])), None

        return (jax.lax.scan(step, p[1:], None, length=steps)[0] ** 2).sum()

    return loss, np.array([0.1, *(math.sin(0.3 * place) for place in range(places))])


# --- side by side --------------------------------------------------------------------------------


def written_rows(name, make, in_jax):
    jax = peers._jax()
    with Graph.scratch():
        leaves = []
        m = SimpleNamespace(**{**vars(OURS), "leaf": lambda x: leaves.append(ng.Variable(x)) or leaves[-1]})
        loss = make(m)
        ours, size = Program(loss, leaves), len(Graph.node_list)
        works = {"ours": ours, "CasADi": casadi_of(make), "jax jit": jax and peers._jitted(jax, *in_jax(jax))}
        row(f"{name}, {size:,} nodes", minima(works))


def casadi_of(make):
    ca = peers.tool("casadi")
    if ca is None:
        return None
    symbols, values = [], []

    def leaf(x):
        symbols.append(ca.SX.sym(f"x{len(symbols)}"))
        values.append(x)
        return symbols[-1]

    def logsumexp(xs):
        return ca.log(sum(ca.exp(x) for x in xs))

    y = make(SimpleNamespace(tanh=ca.tanh, exp=ca.exp, log=ca.log, logsumexp=logsumexp, leaf=leaf))
    every = ca.vertcat(*symbols)
    function = ca.Function("f", [every], [y, ca.gradient(y, every)])
    return peers._buffered(function, [np.array(values)], [np.zeros(1), np.zeros(len(values))])


def images(count):
    dice = np.random.default_rng(2)
    pixels = np.maximum(dice.normal(size=(count, 8, 8, 1)), 0)
    return pixels, np.eye(10)[dice.integers(0, 10, count)]


def cnn_rows(count):
    """Eight kernels of 3 by 3, pooling, ten classes; images and classes are fed anew with each call."""
    with Graph.scratch():
        model, x, y = Model(seed=1), LeafNode.input((count, 8, 8, 1)), LeafNode.input((count, 10))
        kernel, w = parameter(model.add_parameters((3, 3, 1, 8))), parameter(model.add_parameters((72, 10)))
        h = max_pool2d(conv2d(x, kernel).relu(), 2).reshape(count, 72)
        program = Program(softmax_cross_entropy(y, h @ w), inputs=[x, y])
        works = {"ours": partial(program.backward, *images(count)), "jax jit": jax_cnn(kernel.value, w.value, count)}
        row(f"cnn of 8 x 8, batch of {count}", minima(works))


def jax_cnn(kernel, w, count):
    jax = peers._jax()
    if jax is None:
        return None

    def loss(weights, x, y):
        h = jax.lax.conv_general_dilated(
            x, weights[0], (1, 1), "VALID", dimension_numbers=("NHWC", "HWIO", "NHWC")
        )  # fmt: skip
        h = jax.lax.reduce_window(jax.nn.relu(h), -np.inf, jax.lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID")
        z = h.reshape(count, -1) @ weights[1]
        return (jax.nn.logsumexp(z, 1) - (y * z).sum(1)).mean()

    function, weights, given = (
        jax.jit(jax.value_and_grad(loss)),
        (jax.numpy.asarray(kernel), jax.numpy.asarray(w)),
        images(count),
    )
    return lambda: jax.block_until_ready(function(weights, *given))


WRITTEN = {
    "classes": (classes, jax_classes), "flat": (flat_sum, jax_errors), "per": (per_sample, jax_errors),
    "layers": (by_layers, jax_errors), "rk4": (rk4, jax_rk4), "heat": (heat, jax_heat),
}  # fmt: skip
ROWS = {
    **{name: partial(written_rows, make.__doc__.splitlines()[0].rstrip("."), *others) for name, (make, *others) in
       ((name, (pair[0], *pair)) for name, pair in WRITTEN.items())},
    **{f"cnn{count}": partial(cnn_rows, count) for count in (1, 8, 32, 64)},
}  # fmt: skip


if __name__ == "__main__":
    print("| work | ours | peers, and our share of their time |\n|---|---|---|")
    for name, rows in ROWS.items():
        if len(sys.argv) == 1 or name.startswith(tuple(sys.argv[1:])):
            rows()
