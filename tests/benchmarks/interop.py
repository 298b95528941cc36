"""Networks to and from other frameworks: how long files take.

    python tests/benchmarks/interop.py writing
    python tests/benchmarks/interop.py reading
    python tests/benchmarks/interop.py running
    python tests/benchmarks/interop.py resnet

writing: to_onnx of a network of 10 million weights, beside onnx.save of the same
model; of LeNet's like with its gradients; and of 30,000 scalar nodes.
reading: from_onnx of a network of 10 million weights, beside onnx.load, and what
it holds, before and after its first run. running: the networks of
tests/interop/networks, on arrays and compiled, beside onnxruntime on one thread.
resnet: ResNet-18 beside torch on one thread. Seconds are the processor's, the least of
interleaved rounds.
"""

import ctypes
import gc
import os
import sys
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from time import process_time

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # before NumPy

import numpy as np
import onnx

from naive_graph import AdamTrainer, Graph, LeafNode
from naive_graph.interop import from_onnx, to_onnx
from naive_graph.interop.onnx.export import export_model
from naive_graph.tensor import conv2d, max_pool2d

ROUNDS = 5


def least(*tasks, rounds=ROUNDS):
    """The least seconds of the processor for each task, in interleaved rounds."""
    found = [float("inf")] * len(tasks)
    for _ in range(rounds):
        for place, task in enumerate(tasks):
            start = process_time()
            task()
            found[place] = min(found[place], process_time() - start)
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
        model = export_model(network)
        ours, theirs = least(
            lambda: to_onnx(network, f"{folder}/ours.onnx"), lambda: onnx.save(model, f"{folder}/theirs.onnx")
        )
        print(f"10 million weights: to_onnx {ours:.2f} s, onnx.save {theirs:.2f} s, ratio {ours / theirs:.2f}")
        for name, what in (("a small convolutional network with gradients", convolutional()), ("scalars", scalars())):
            count = len(export_model(what).graph.node)
            (seconds,) = least(lambda what=what: to_onnx(what, f"{folder}/ours.onnx"))
            print(f"{name}: {count:,} operators, {seconds:.3f} s, {1e6 * seconds / count:.0f} us each")


def held():
    """Megabytes of memory that this process holds; None where nothing says."""
    file = Path("/proc/self/statm")
    if not file.exists():
        return float("nan")
    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)
    return int(file.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6


def reading():
    with TemporaryDirectory() as folder:
        path = f"{folder}/wide.onnx"
        to_onnx(wide(), path)
        from_onnx(path)  # what is loaded once
        before = held()
        network = from_onnx(path)
        came = held() - before
        network(np.ones((1, 1000)))
        print(f"10 million weights of float32 hold {came:.0f} MB, and {held() - before:.0f} MB once they are used")
        del network
        ours, theirs = least(lambda: from_onnx(path), lambda: onnx.load(path))
        print(f"from_onnx {1e3 * ours:.0f} ms, onnx.load {1e3 * theirs:.0f} ms, ratio {ours / theirs:.2f}")


def running():
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    for path in sorted((Path(__file__).parent.parent / "interop" / "networks").glob("*.onnx")):
        session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
        beside(path, partial(session.run, None), "int" in session.get_inputs()[0].type)


def beside(path, run, whole):
    """A network on arrays and as machine code, beside onnxruntime."""
    network = from_onnx(path, sizes={"batch": 8} if path.stem == "mlp" else None)
    (leaf,) = network.inputs.values()
    x = np.random.default_rng(0).integers(0, 5, leaf.shape) if whole else np.ones(leaf.shape, np.float32)
    tasks = partial(run, {"x": x}), partial(network, x), partial(network.compiled(), x)
    theirs, arrays, compiled = (1e6 * each for each in least(*tasks, rounds=1000))
    print(f"{path.stem} {leaf.shape}: onnxruntime {theirs:.0f} us; on arrays {arrays:.0f} us, {arrays / theirs:.1f} "
          f"times that; compiled {compiled:.0f} us, {compiled / theirs:.1f} times")  # fmt: skip


def resnet():
    """ResNet-18 in float64 on one thread, beside torch: inference, and a step of Adam's with the norms folded in."""
    import torch
    from torch import nn

    class Block(nn.Module):
        def __init__(self, channels, filters, stride):
            super().__init__()
            self.first = nn.Conv2d(channels, filters, 3, stride, 1)
            self.second = nn.Conv2d(filters, filters, 3, 1, 1)
            self.beside = nn.Conv2d(channels, filters, 1, stride) if channels != filters else nn.Identity()

        def forward(self, x):
            return torch.relu(self.second(torch.relu(self.first(x))) + self.beside(x))

    stages = [(64, 64, 1), (64, 64, 1), (64, 128, 2), (128, 128, 1), (128, 256, 2), (256, 256, 1), (256, 512, 2),
              (512, 512, 1)]  # fmt: skip
    torch.set_num_threads(1)
    begin = nn.Conv2d(3, 64, 7, 2, 3), nn.ReLU(), nn.MaxPool2d(3, 2, 1)
    end = nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(512, 1000)
    theirs = nn.Sequential(*begin, *(Block(*each) for each in stages), *end).double()
    x = torch.randn(1, 3, 224, 224, dtype=torch.float64)
    with TemporaryDirectory() as folder:
        torch.onnx.export(theirs, (x,), f"{folder}/resnet.onnx", dynamo=False)
        network = from_onnx(f"{folder}/resnet.onnx")
    optimizer, trainer = torch.optim.Adam(theirs.parameters(), 1e-4), AdamTrainer(network.model, 1e-4)

    def their_step():
        optimizer.zero_grad()
        theirs(x).square().mean().backward()
        optimizer.step()

    def our_step():
        loss.forward()
        loss.backward()
        trainer.update()

    network(x.numpy())
    (y,) = network.outputs.values()
    loss = (y * y).mean()
    with torch.no_grad():
        found = least(partial(theirs, x), partial(network, x.numpy()))
    for what, (due, ours) in (("inference", found), ("a step", least(their_step, our_step))):
        print(f"{what}: torch {due:.3f} s, ours {ours:.3f} s, {ours / due:.2f} times that")


COMMANDS = {"writing": writing, "reading": reading, "running": running, "resnet": resnet}


if __name__ == "__main__":
    if sys.argv[1:2] and sys.argv[1] in COMMANDS:
        COMMANDS[sys.argv[1]]()
    else:
        print(__doc__)
