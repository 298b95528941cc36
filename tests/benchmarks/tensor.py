"""How fast tensors unfold into scalars, and what a training step on arrays costs beside torch and jax.

    OPENBLAS_NUM_THREADS=1 python tests/benchmarks/tensor.py

Minima of interleaved rounds, as ratios where a peer is installed.
"""

from __future__ import annotations

import os
import time

import numpy as np

from naive_graph import Graph, LeafNode, lower
from naive_graph.tensor import conv2d, losses, max_pool2d

ROUNDS = 7


def seconds(work) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def unfold(make) -> tuple[int, float]:
    """How many nodes lowering appends, and how long it takes."""
    with Graph.scratch():
        tensor = make()
        took = seconds(lambda: lower(tensor))
        return len(Graph.node_list), took


def matrix_product():
    return LeafNode.parameter(np.ones((1000, 1000))) @ LeafNode.parameter(np.ones((1000, 5)))


def convolution():
    x, w = LeafNode.parameter(np.ones((8, 32, 32, 3))), LeafNode.parameter(np.ones((3, 3, 3, 16)))
    return conv2d(x, w)


# --- the gradient step of a convolutional network: here, in torch, and compiled by jax ---

DIGITS = [(3, 3, 1, 8), (72, 10)]  # 8 x 8 images
LENET = [(5, 5, 1, 6), (5, 5, 6, 16), (400, 120), (120, 84), (84, 10)]  # 28 x 28, the first layer padded by 2


def network(size: int, side: int, shapes, padding: int):
    """The step on `size` images: each convolution is rectified and pooled, each dense layer but the last rectified."""
    rng = np.random.default_rng(0)
    images, classes = rng.normal(size=(size, side, side, 1)), rng.integers(0, 10, size)
    layers = [(rng.normal(size=shape) * 0.1, rng.normal(size=shape[-1]) * 0.1) for shape in shapes]
    return [make(images, classes, layers, padding) for make in (here, in_torch, in_jax)]


def through(h, layers, padding, convolved, flat, relu):
    for at, (w, b) in enumerate(layers):
        if len(w.shape) == 4:
            h = convolved(h, w, b, padding if at == 0 else 0)
        else:
            h = flat(h) @ w + b
            h = relu(h) if at < len(layers) - 1 else h
    return h


def here(images, classes, layers, padding):
    def convolved(h, w, b, pad):
        return max_pool2d((conv2d(h, w, padding=pad) + b).relu(), 2)

    leaves = [tuple(map(LeafNode.parameter, pair)) for pair in layers]
    flat = lambda h: h if h.rank == 2 else h.reshape(len(images), -1)  # noqa: E731
    logits = through(LeafNode.constant(images), leaves, padding, convolved, flat, lambda h: h.relu())
    loss = losses.sparse_softmax_cross_entropy(classes, logits)

    def step() -> None:
        loss.forward()
        loss.backward()

    return step


def in_torch(images, classes, layers, padding):
    try:
        import torch
    except ImportError:
        return None
    torch.set_num_threads(1)
    x, labels = torch.tensor(images).permute(0, 3, 1, 2).contiguous(), torch.tensor(classes)
    leaves = [(torch.tensor(w.transpose(3, 2, 0, 1).copy() if w.ndim == 4 else w), torch.tensor(b)) for w, b in layers]
    every = [each.requires_grad_() for pair in leaves for each in pair]

    def convolved(h, w, b, pad):
        return torch.nn.functional.max_pool2d(torch.nn.functional.conv2d(h, w, b, padding=pad).relu(), 2)

    def step() -> None:
        for each in every:
            each.grad = None
        h = through(x, leaves, padding, convolved, lambda h: h.flatten(1), torch.relu)
        torch.nn.functional.cross_entropy(h, labels).backward()

    return step


def in_jax(images, classes, layers, padding):
    try:
        import jax
    except ImportError:
        return None
    jax.config.update("jax_enable_x64", True)

    def convolved(h, w, b, pad):
        y = jax.lax.conv_general_dilated(h, w, (1, 1), [(pad, pad)] * 2, dimension_numbers=("NHWC", "HWIO", "NHWC"))
        return jax.lax.reduce_window(jax.nn.relu(y + b), -np.inf, jax.lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID")

    def loss(leaves, x):
        z = through(x, leaves, padding, convolved, lambda h: h.reshape(len(images), -1), jax.nn.relu)
        return (jax.nn.logsumexp(z, 1) - z[np.arange(len(classes)), classes]).mean()

    function, x = jax.jit(jax.value_and_grad(loss)), jax.numpy.asarray(images)
    weights = jax.tree.map(jax.numpy.asarray, layers)
    return lambda: jax.block_until_ready(function(weights, x))


def beside(name: str, steps, rounds: int) -> None:
    """Interleaved rounds, and our share of each peer's time."""
    known = [step for step in steps if step]
    columns = zip(*([seconds(step) for step in known] for _ in range(rounds)))
    best = dict(zip(known, map(min, columns)))
    ours, *peers = (best.get(step, float("nan")) for step in steps)
    shares = ", ".join(f"{ours / each:.2f} of {peer}'s" for peer, each in zip(("torch eager", "jax jit"), peers))
    print(f"{name}: {ours * 1e3:.2f} ms a step, {shares}")


def building() -> None:
    """How long expressions take to write down, which computes nothing."""
    with Graph.scratch():
        x, row = LeafNode.parameter(np.ones((64, 1000))), LeafNode.parameter(np.ones(1000))
        im, kernel = LeafNode.parameter(np.ones((64, 28, 28, 1))), LeafNode.parameter(np.ones((5, 5, 1, 6)))
        for name, make in {
            "softmax over 1,000 classes": x.softmax, "the largest of 1,000": lambda: x.max(1),
            "exp": x.exp, "x + row": lambda: x + row, "conv2d": lambda: conv2d(im, kernel),
        }.items():  # fmt: skip
            print(f"{name} is built in {min(seconds(make) for _ in range(50 * ROUNDS)) * 1e6:.0f} us")


def main() -> None:
    for name, make in (("a matrix product", matrix_product), ("a convolution", convolution)):
        runs = [unfold(make) for _ in range(ROUNDS)]
        nodes, best = runs[0][0], min(took for _, took in runs)
        print(f"{name}: {nodes:,} scalar nodes in {best * 1e3:.0f} ms, {nodes / best / 1e6:.1f} M nodes/s")
    building()
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})  # one thread for all: jax knows no other way
    for size in (32, 64, 256):
        beside(f"digits network, {size} images", network(size, 8, DIGITS, 0), 10 * ROUNDS)
    beside("LeNet, 64 images", network(64, 28, LENET, 2), 3 * ROUNDS)


if __name__ == "__main__":
    main()
