"""The questions that disturbed.py asks, and what they are about: each answers with numbers, the same every time."""

import random
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

import naive_graph as ng
from naive_graph import AdamTrainer, Graph, Program, Sequential, Variable, tensor
from naive_graph.graph.registry import CURRENT
from naive_graph.sequential import Activation, Dense
from naive_graph.training import Model, SimpleSGDTrainer, fit, parameter
from naive_graph.training.initialisers import const
from naive_graph.training.loop import Outcome

DATA = np.array([[0.0, 1.0], [1.0, 0.5], [0.25, -1.0], [1.0, 2.0], [0.5, 0.5]] * 2)
FOLDER = TemporaryDirectory()  # which goes at the end: no Ctrl-C may come to Python's removing it
PRESSED = []  # an entry for each Ctrl-C that came, ever


class World:
    """What the questions are about."""

    def __init__(self):
        x, p = Variable(1.5, name="x"), Graph.PlaceHolder(name="p")
        p.value = 2.0
        self.x, self.p, self.long = x, p, x
        for _ in range(100):
            self.long = (self.long * 0.5 - x * p).sin() + x
        self.loop = (x * x + p).log()
        self.w = [Variable(0.5 + k / 8) for k in range(4)]
        self.program = Program(sum((w * w * 0.25 + w for w in self.w[1:]), self.w[0]), wrt=self.w)
        self.batches = Program(x * p + p, wrt=[x], inputs=[p])
        self.W, v = (
            tensor.LeafNode.parameter(np.array(a), n) for a, n in (([[1.0, 2.0], [3.0, 4.0]], "W"), ([0.5, -1.0], "v"))
        )
        self.tensor = (self.W @ v).tanh().sum()
        model = Model()
        self.weights = model.add_parameters(2, init=const(0.5))
        self.loss = Program((parameter(self.weights) * parameter(self.weights)).sum())
        self.rows = CURRENT.tables


def by_each_engine(world):
    y, engine = world.x * world.x * world.x + world.x / 2.0, random.choice([None, "direct", "reference"])
    Graph.forward(y, engine=engine)
    Graph.backward(y, engine=engine)
    return y.value, world.x.grad


def again_and_again(world):
    for _ in range(30):
        Graph.forward(world.loop)
        Graph.backward(world.loop)
    return world.loop.value, world.x.grad


def long_and_fed(world):
    Graph.forward(world.long, feed={world.p: 2.0})
    return (world.long.value,)


def gradients(world):
    found = ng.gradients(world.long, world.x)
    Graph.forward(found)
    return (found.value,)


def tangents(world):
    found = ng.tangents(world.x, world.x * world.x * world.p)
    Graph.forward(found)
    return (found.value,)


def numbers(world):
    y, wrt = world.x * world.x * world.w[0], [world.x, world.w[0]]
    hessian = [each for row in ng.hessian(y, wrt) for each in row]
    return ng.tangent(y, {world.x: 1.0}), *ng.jacobian([y], wrt)[0], *hessian


def many_operands(world):
    y = (
        ng.maximum(ng.maximum(world.x, 1.0), 2.5)
        + ng.where(world.x < 2.0, 3.0, world.x)
        + Graph.sum([1.0, world.x, 2.0])
    )
    Graph.forward(y)
    return (y.value,)


def programs(world):
    value, slopes = world.program()
    return (value, *slopes)


def in_batches(world):
    value, slopes = world.batches(np.array([1.0, 2.0, 4.0]))
    return *value, *np.ravel(slopes)


def new_programs(world):
    value, slopes = Program(world.long, wrt=[world.x], engine=random.choice(["tape", "reference", None]))()
    return (value, *slopes)


def minimize(world):
    w = Variable(6.0)
    history = Program((w - 7.0) ** 2, wrt=[w]).minimize(0.1, steps=50)
    return history[0], history[-1], w.value


def lower(world):
    y = tensor.lower((world.W @ world.W).tanh())
    Graph.forward(y[1, 1])
    return y[1, 1].value, y[1, 1].formula(), len(y)


def tensors(world):
    return float(world.tensor.eval()), *np.ravel(ng.gradients(world.tensor, [world.W])[0].eval())


def reading(world):
    y = (world.x + 2.0).cos() * world.x
    return y.formula(), y.in_deg, *(each.formula() for each in y.last), y.table().__repr__().count("\n")


def checking(world):
    report = ng.gradcheck(world.x * world.x + world.x.sin())
    return (bool(report),)


def pictures(world):
    return (ng.draw(world.x * 2.0 + 1.0).dot.count("->"),)


def steps(world):
    return (len(ng.step(world.x * world.x + world.p)),)


def fitting(world):
    """A Ctrl-C ends it after the step at hand; it goes on from there, and ends as if nothing had been."""
    w, outcome, pressed = Variable(0.0), Outcome(stopped="interrupt"), len(PRESSED)
    trainer, samples = SimpleSGDTrainer([w], 0.25), [1.0, 3.0]
    while outcome.stopped != "epochs":
        before, left = outcome.steps, 3 - outcome.epochs
        outcome = fit(trainer, lambda batch: (w - batch[0]) ** 2, samples, epochs=left, batch_size=1, resume=outcome)
        if outcome.stopped == "interrupt":
            assert len(PRESSED) > pressed, "fit says that a Ctrl-C came, and none did"
            assert outcome.steps == 2 * outcome.epochs + outcome.batches > before, outcome
            pressed = len(PRESSED)
    return w.value, outcome.steps


def lowered_loss(world):
    world.weights.g[:] = 0.0
    return (world.loss.backward(),)


def native(world):
    y = (world.x * world.p).tanh() + world.x
    Graph.forward(y, engine="native")
    Graph.backward(y, engine="native", accumulate=False)
    return y.value, world.x.grad, len(Graph.machine_code(y)) > 100


def network(world):
    """A Ctrl-C ends it with the last whole batch, and the next call goes on with the same bits."""
    return _learned(batch_size=2)


def pipeline(world):
    """By threads; there a Ctrl-C ends it with a whole group."""
    return _learned(batch_size=4, workers="threads")


def _learned(batch_size, **options):
    net, pressed = Sequential([Dense(3), Activation("sigmoid"), Dense(2)], 2, initializer="glorotUniform"), len(PRESSED)
    if options:
        operators = list(net.expand().operators)
        options["partition"] = [operators[:3], operators[3:]]
    while net._seen < 2 * len(DATA):
        history = net.fit(DATA, DATA, batch_size, resume=True, progress=False, **options)
        assert history.stopped != "interrupt" or len(PRESSED) > pressed, "fit says that a Ctrl-C came, and none did"
    return tuple(np.ravel(net.predict(DATA)).tolist())


def adam(world):
    model = Model()
    weights = model.add_parameters((2, 2), init=const(0.5))
    trainer = AdamTrainer(model, 0.1)
    for _ in range(3):
        w = parameter(weights)
        ((w @ w).tanh() * w).sum().backward()
        trainer.update()
    return tuple(np.ravel(weights.values).tolist())


def several(world):
    """Jacobian rows, and a batch of another size every time."""
    size = random.randrange(1, 200)
    program = Program([world.x * world.p, (world.x + world.p).sin()], wrt=[world.x], inputs=[world.p])
    values, slopes = program(np.full(size, 2.0))
    return float(values[0][-1]), float(values[1][0]), float(np.ravel(slopes[0])[0]) / size


def watched(world):
    with ng.record() as told:
        for _ in range(2):
            y = world.x * world.x
            Graph.forward(y)
            Graph.backward(y)
    return (len(told) >= 24,)  # with what a disturber ran meanwhile


def image(world):
    pixels = tensor.LeafNode.parameter(np.arange(16.0).reshape(1, 4, 4, 1))
    kernel = tensor.LeafNode.parameter(np.ones((2, 2, 1, 1)))
    y = tensor.max_pool2d(tensor.conv2d(pixels, kernel, 1, "VALID"), 2, 1, "VALID").sum()
    (slope,) = ng.gradients(y, [kernel])
    return float(y.eval()), *np.ravel(slope.eval()).tolist()


def explained(world):
    said = Program(world.loop, wrt=[world.x]).explain(times=False)
    return (said.count("\n") > 3,)


def in_scratch(world):
    with Graph.scratch():
        x = Variable(3.0)
        y = x * x + 1.0
        Graph.forward(y)
        Graph.backward(y)
        return y.value, x.grad


def written(world):
    return tuple((world.x * 2.0 + world.p).sin().code(each) for each in ("c", "javascript"))


def onnx(world):
    y = tensor.LeafNode.parameter(np.array([[1.0, 2.0]])) @ tensor.LeafNode.parameter(np.array([[3.0], [4.0]]))
    from naive_graph.interop.onnx import from_onnx, to_onnx

    to_onnx(y.tanh(), Path(FOLDER.name, "y.onnx"))
    return tuple(np.ravel(from_onnx(Path(FOLDER.name, "y.onnx"))()).tolist())


def stored(world):
    model = Model()
    model.add_parameters((2, 2), init=const(0.5))
    model.save(Path(FOLDER.name, "model.npz"))
    model.parameters[0].values[...] = 0.0
    model.load(Path(FOLDER.name, "model.npz"))
    return tuple(np.ravel(model.parameters[0].values).tolist())


QUESTIONS = [
    by_each_engine, again_and_again, long_and_fed, gradients, tangents, numbers, many_operands, programs, in_batches,
    new_programs, minimize, lower, tensors, reading, checking, pictures, steps, fitting, lowered_loss,
    native, network, pipeline, adam, several, watched, image, explained, in_scratch, written, stored,
    *([onnx] if find_spec("onnx") else []),
]  # fmt: skip
