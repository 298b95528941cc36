"""A graph that is new for every sample leaves nothing behind, whatever was done with it."""

import gc
import weakref

import numpy as np
import pytest

from naive_graph import (
    AdamTrainer,
    Graph,
    History,
    LeafNode,
    Model,
    PlaceHolder,
    Program,
    Sequential,
    Variable,
    gradients,
    lower,
    mean,
)
from naive_graph.graph.node_factory import CURRENT
from naive_graph.sequential.layers import Activation, Dense
from naive_graph.tensor import conv2d, max_pool2d
from naive_graph.training import parameter

MODEL = Model(seed=1)
W, B = MODEL.add_parameters((6, 5)), MODEL.add_parameters(6)
SHARED = History()


def scalars():
    x = Variable(2.0, name="x")
    y = (x * x).sin() + x
    Graph.forward(y)
    Graph.backward(y)
    SHARED.record(y=y)
    assert x.grad


def scalars_by_every_engine():
    for engine in ("reference", "direct"):
        x = Variable(2.0)
        y = (x * x + 1.0).log()
        Graph.forward(y, engine=engine)
        Graph.backward(y, engine=engine)
    assert y.formula()


def derivatives():
    x = Variable(0.5)
    (slope,) = gradients((x * x).exp(), [x])
    Graph.forward(slope)


def tensors():
    loss = (parameter(W) @ LeafNode.constant(np.ones((5, 3)))).tanh().sum()
    loss.backward()
    assert loss.gradient() is not None


def tensor_gradients():
    w = LeafNode.parameter(np.ones((4, 4)))
    (slope,) = ((w @ w).sigmoid().sum()).gradients([w])
    slope.eval()


def tensor_operators():
    x = LeafNode.parameter(np.random.default_rng(1).normal(size=(1, 8, 8, 1)))
    max_pool2d(conv2d(x, LeafNode.parameter(np.ones((3, 3, 1, 2)))).relu(), 2).softmax().sum().backward()


def programs():
    w, p = Variable(0.5), PlaceHolder()
    program = Program(mean((w * p).tanh() ** 2), [w], inputs=[p])
    for size in (3, 3, 3, 8):
        program(np.ones(size))
    program.minimize(0.1, 3, np.ones(4))
    assert program.explain(np.ones(3))


def lowered():
    x = LeafNode.input((3, 5))
    loss = Program(((x @ parameter(W).transpose() + parameter(B)) ** 2).sum(), inputs=[x])
    for _ in range(3):
        loss.backward(np.ones((3, 5)))


def lowered_tensors():
    Graph.forward(lower((LeafNode.parameter(np.ones(4)) * 2.0).sum())[()])


def sequentials():
    network = Sequential([Dense(3), Activation("sigmoid"), Dense(2)], 4, initializer="glorotUniform", seed=1)
    samples, labels = np.ones((12, 4)), np.ones((12, 2))
    network.fit(samples, labels, 6, epochs=2, progress=False)
    network.fit(samples, labels, 6, epochs=2, trainer=AdamTrainer(network), progress=False)
    network.fit(samples, labels, 12, policy="delayed", workers="threads", progress=False)
    assert network.evaluate(samples, labels) and network.predict(samples).shape == (12, 2)
    network(samples[0]).sum().backward()


KINDS = [
    scalars, scalars_by_every_engine, derivatives, tensors, tensor_gradients, tensor_operators, programs, lowered,
    lowered_tensors, sequentials,
]  # fmt: skip


@pytest.mark.parametrize("sample", KINDS)
def test_no_graph_of_an_earlier_sample_is_kept(sample):
    tables = []
    for _ in range(4):
        Graph.renew()
        sample()
        tables.append(weakref.ref(CURRENT.tables))
    Graph.renew()
    gc.collect()
    assert [each() for each in tables] == [None] * 4


@pytest.mark.parametrize("sample", KINDS)
def test_objects_and_arrays_are_as_many_after_many_samples_as_after_few(sample):
    def counted(samples):
        for _ in range(samples):
            Graph.renew()
            sample()
        gc.collect()
        kinds = [type(each) for each in gc.get_objects()]
        return sum(kind in (list, dict, set) or kind.__module__.startswith("naive_graph") for kind in kinds)

    few = counted(8)
    assert abs(counted(30) - few) < 60  # a sample has hundreds; compiled code, made beside, is kept
