"""A network that a Python loop wrote out over its samples is found again: the numbers of the batched one."""

import math
import random
from itertools import pairwise

import numpy as np
import pytest

import naive_graph as ng
from naive_graph import Constant, Graph, PlaceHolder, Program, Variable

SAMPLES = 20
DATA = [[math.sin(3.0 * k + j) for j in range(3)] for k in range(SAMPLES)]
TARGETS = [math.cos(2.0 * k) for k in range(SAMPLES)]


@pytest.fixture(params=["compiled", None], scope="module")
def compiled(request):
    """The engine that finds the samples."""
    return request.param


def weights(sizes=(3, 5, 4, 1)):
    """Layers of rows of weights, each row's bias last."""
    dice = random.Random(1)
    return [[[Variable(dice.uniform(-1, 1)) for _ in range(m + 1)] for _ in range(n)] for m, n in pairwise(sizes)]


def flattened(layers):
    return [w for layer in layers for row in layer for w in row]


def net(layers, xs, bend=lambda z: z.tanh()):
    for place, layer in enumerate(layers):
        sums = [Graph.sum([*[w * x for w, x in zip(row, xs)], row[-1]]) for row in layer]
        xs = sums if place == len(layers) - 1 else [bend(z) for z in sums]
    return xs[0]


def as_leaves(numbers, kind):
    """A sample as numbers, Constants, Variables or PlaceHolders that hold them."""
    if kind is None:
        return numbers
    made = [kind() if kind is PlaceHolder else kind(number) for number in numbers]
    if kind is PlaceHolder:
        for p, number in zip(made, numbers):
            p.value = number
    return made


def unrolled(layers, kind=None, samples=SAMPLES):
    leaves = [as_leaves(xs, kind) for xs in DATA[:samples]]
    guesses = [net(layers, xs) for xs in leaves]
    return Graph.sum([(guess - t) ** 2 for guess, t in zip(guesses, TARGETS)]), guesses, leaves


def batched(layers):
    ps, t = [PlaceHolder() for _ in range(3)], PlaceHolder()
    guess = net(layers, ps)
    program = Program([ng.total((guess - t) ** 2), guess], wrt=flattened(layers), inputs=[ps, t])
    return program(np.array(DATA), TARGETS)


def near(found, wanted):
    return np.allclose(found, wanted, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("kind", [None, Constant, Variable, PlaceHolder])
@pytest.mark.parametrize("engine", ["compiled", None])
def test_an_unrolled_net_equals_its_batched_twin(kind, engine):
    layers = weights()
    value, gradient = Program(unrolled(layers, kind)[0], wrt=flattened(layers), engine=engine)()
    twin = batched(layers)
    assert near(value, twin.value[0]) and near(gradient, twin.gradient[0])


@pytest.mark.parametrize("kind", [None, Constant, Variable, PlaceHolder])
def test_an_unrolled_net_equals_the_reference_engine(kind, compiled):
    layers = weights()
    loss = unrolled(layers, kind)[0]
    tape, law = (Program(loss, wrt=flattened(layers), engine=each)() for each in (compiled, "reference"))
    assert near(tape.value, law.value) and near(tape.gradient, law.gradient)


def test_guesses_beside_the_loss_are_those_of_the_batch():
    layers = weights()
    loss, guesses, _ = unrolled(layers)
    values = Program([loss, *guesses], engine="compiled")().value
    assert near(values[1:], batched(layers).value[1])


def test_guesses_beside_the_loss_have_their_own_gradients(compiled):
    layers = weights()
    loss, guesses, _ = unrolled(layers)
    outputs, wrt = [loss, guesses[3], guesses[7]], flattened(layers)
    tape, law = (Program(outputs, wrt=wrt, engine=each)().gradient for each in (compiled, "reference"))
    assert near(tape, law)


@pytest.mark.parametrize("kind", [Variable, PlaceHolder])
def test_gradients_of_the_samples_themselves(kind, compiled):
    layers = weights()
    loss, _, leaves = unrolled(layers, kind)
    wrt = [*flattened(layers), *(x for xs in leaves for x in xs)]
    tape, law = (Program(loss, wrt=wrt, engine=each)().gradient for each in (compiled, "reference"))
    assert near(tape, law)


@pytest.mark.parametrize("kind", [Variable, PlaceHolder])
def test_samples_that_changed_are_seen(kind, compiled):
    layers = weights()
    loss, _, leaves = unrolled(layers, kind)
    program, law = (Program(loss, wrt=flattened(layers), engine=each) for each in (compiled, "reference"))
    program()
    for place in (0, 3, SAMPLES - 1):
        leaves[place][1].value = 0.77
    assert near(program().value, law().value) and near(program().gradient, law().gradient)


def test_samples_that_are_fed_are_seen(compiled):
    layers = weights()
    loss, _, leaves = unrolled(layers, PlaceHolder)
    feed = {leaves[2][0]: 0.5, leaves[SAMPLES - 1][2]: -0.25}
    tape, law = (Program(loss, engine=each)(feed=feed).value for each in (compiled, "reference"))
    assert near(tape, law)


@pytest.mark.parametrize("samples", [1, 2, 7, 8, 9, 15, 16, 17])
def test_any_number_of_samples(samples, compiled):
    layers = weights()
    loss = unrolled(layers, samples=samples)[0]
    tape, law = (Program(loss, wrt=flattened(layers), engine=each)() for each in (compiled, "reference"))
    assert near(tape.value, law.value) and near(tape.gradient, law.gradient)


def test_explain_names_the_samples_that_were_found():
    layers = weights()
    program = Program(unrolled(layers)[0], wrt=flattened(layers), engine="compiled")
    assert f"{SAMPLES} samples" in program.explain()


def test_explain_says_when_there_are_none():
    x = Variable(2.0)
    assert "none found" in Program(x * x, engine="compiled").explain()


def test_explain_of_a_small_program_tells_of_its_code():
    assert "scalars: 1 rows, one after the other" in Program(Variable(2.0) * 2.0).explain()


def test_stages_are_named_after_the_passes():
    layers = weights()
    stages = Program(unrolled(layers)[0], wrt=flattened(layers)).stages()
    assert set(stages) == {"plan", "powers", "dots", "lanes", "share", "adjoint"}
    assert len(stages["lanes"]) < len(stages["plan"]) / 5


def test_stages_of_a_batch_name_the_batch():
    p = PlaceHolder()
    assert "batch" in Program(ng.total(p * p), inputs=[p]).stages([1.0, 2.0])


def test_a_stage_prints_as_a_table():
    x = Variable(2.0)
    assert str(Program(x * x + x).stages()["dots"]).splitlines()[-1].split() == ["1", "dot", "0*0", "+", "0"]


def test_the_reference_engine_has_no_stages():
    assert Program(Variable(2.0) * 2.0, engine="reference").stages() == {}
