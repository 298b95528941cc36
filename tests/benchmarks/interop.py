"""Networks to and from other frameworks: how long files take.

    python tests/benchmarks/interop.py writing

writing: to_onnx of a network of 10 million weights, beside onnx.save of the same
model; of LeNet's like with its gradients; and of 30,000 scalar nodes. Seconds
are the least of interleaved rounds.
"""

import os
import sys
from tempfile import TemporaryDirectory
from time import perf_counter

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # before NumPy

import numpy as np
import onnx

from naive_graph import Graph, LeafNode, conv2d, max_pool2d, to_onnx
from naive_graph.interop.onnx.writing import modelled

ROUNDS = 5


def least(*tasks):
    """The least seconds of each task, in interleaved rounds."""
    found = [float("inf")] * len(tasks)
    for _ in range(ROUNDS):
        for place, task in enumerate(tasks):
            start = perf_counter()
            task()
            found[place] = min(found[place], perf_counter() - start)
    return found


def wide(layers=10, width=1000):
    """A network of layers * width**2 weights."""
    random, y = np.random.default_rng(0), LeafNode.input((1, width), "x")
    for layer in range(layers):
        y = (y @ LeafNode.parameter(random.normal(size=(width, width)), f"W{layer}")).relu()
    return y


def convolutional():
    """A small convolutional network, and its gradients by the weights."""
    random, x = np.random.default_rng(0), LeafNode.input((2, 16, 16, 1), "x")
    first, second = (LeafNode.parameter(random.normal(size=(5, 5, *ends)), name)
                     for ends, name in (((1, 4), "first"), ((4, 8), "second")))  # fmt: skip
    y = max_pool2d(conv2d(x, first, padding="SAME").tanh(), 2)
    y = max_pool2d(conv2d(y, second).tanh(), 2).reshape(2, 32).softmax()
    return [y, *y.sum().gradients([first, second])]


def scalars(count=10_000):
    f = Graph.Variable(0.5, name="x")
    for _ in range(count):
        f = (f * 0.5).sin() + 1.0
    return f


def writing():
    with TemporaryDirectory() as folder:
        network = wide()
        model = modelled(network)
        ours, theirs = least(
            lambda: to_onnx(network, f"{folder}/ours.onnx"), lambda: onnx.save(model, f"{folder}/theirs.onnx")
        )
        print(f"10 million weights: to_onnx {ours:.2f} s, onnx.save {theirs:.2f} s, ratio {ours / theirs:.2f}")
        for name, what in (("a small convolutional network with gradients", convolutional()), ("scalars", scalars())):
            count = len(modelled(what).graph.node)
            (seconds,) = least(lambda what=what: to_onnx(what, f"{folder}/ours.onnx"))
            print(f"{name}: {count:,} operators, {seconds:.3f} s, {1e6 * seconds / count:.0f} us each")


COMMANDS = {"writing": writing}


if __name__ == "__main__":
    if sys.argv[1:2] and sys.argv[1] in COMMANDS:
        COMMANDS[sys.argv[1]]()
    else:
        print(__doc__)
