"""How fast tensors unfold into scalars, and what a training step on arrays costs beside torch.

    python tests/benchmarks/tensor.py

Minima of interleaved rounds, as ratios where a peer is installed.
"""

from __future__ import annotations

import time

import numpy as np

from naive_graph import Graph, LeafNode, conv2d, lower, max_pool2d
from naive_graph.tensor import losses

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


def network(size: int):
    """The gradient step of a small convolutional network on `size` images of 8 x 8, here and in torch."""
    rng = np.random.default_rng(0)
    images, classes = rng.normal(size=(size, 8, 8, 1)), rng.integers(0, 10, size)
    arrays = [rng.normal(size=shape) * 0.1 for shape in ((3, 3, 1, 8), (8,), (72, 10), (10,))]
    kernel, bias, weights, shift = (LeafNode.parameter(array) for array in arrays)
    h = max_pool2d((conv2d(LeafNode.constant(images), kernel) + bias).relu(), 2)
    loss = losses.sparse_softmax_cross_entropy(classes, h.reshape(size, -1) @ weights + shift)

    def ours() -> None:
        loss.forward()
        loss.backward()

    return ours, in_torch(images, classes, arrays)


def in_torch(images, classes, arrays):
    try:
        import torch
    except ImportError:
        return None
    torch.set_num_threads(1)
    x, labels = torch.tensor(images).permute(0, 3, 1, 2), torch.tensor(classes)
    kernel, bias, weights, shift = (torch.tensor(array, requires_grad=True) for array in arrays)

    def theirs() -> None:
        h = torch.nn.functional.conv2d(x, kernel.permute(3, 2, 0, 1), bias).relu()
        h = torch.nn.functional.max_pool2d(h, 2).permute(0, 2, 3, 1).reshape(len(x), -1)
        torch.nn.functional.cross_entropy(h @ weights + shift, labels).backward()

    return theirs


def main() -> None:
    for name, make in (("a matrix product", matrix_product), ("a convolution", convolution)):
        runs = [unfold(make) for _ in range(ROUNDS)]
        nodes, best = runs[0][0], min(took for _, took in runs)
        print(f"{name}: {nodes:,} scalar nodes in {best * 1e3:.0f} ms, {nodes / best / 1e6:.1f} M nodes/s")
    for size in (32, 64, 256):
        ours, theirs = network(size)
        rounds = [(seconds(ours), seconds(theirs) if theirs else float("nan")) for _ in range(5 * ROUNDS)]
        here, there = (min(column) for column in zip(*rounds))
        beside = f"torch eager {there * 1e3:.2f} ms, {here / there:.1f} times"
        print(f"digits network, {size} images: {here * 1e3:.2f} ms a step; {beside}")


if __name__ == "__main__":
    main()
