"""A copy of a Program asks the same question on its own; a pickle of one is refused."""

import copy
import pickle

import pytest

pytest.importorskip("llvmlite")

import numpy as np
from graphs import any_graph, build
from hypothesis import given, settings
from hypothesis import strategies as st

from naive_graph import Graph, Model, PlaceHolder, Program, Variable, mean
from naive_graph.errors import NodeError
from naive_graph.training import parameter

ENGINES = ["reference", "runs", None]  # None compiles what is small
of_each_engine = pytest.mark.parametrize("engine", ENGINES)
of_each_copy = pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy])


@of_each_copy
@settings(max_examples=20, deadline=None)
@given(any_graph(), st.sampled_from(ENGINES), st.integers(0, 4))
def test_a_copy_has_the_answers_of_its_original(copied, drawing, engine, asked):
    with Graph.scratch():
        Graph.on_invalid = "ignore"
        nodes = build(drawing)
        leaves = [node for node in nodes if type(node) is Variable]
        program = Program(nodes[-1], wrt=leaves, engine=engine)
        for _ in range(asked):
            program()
        twin = copied(program)
        for move in (0.0, 0.5, 0.0, 0.25):
            for leaf in leaves:
                leaf.value += move
            assert repr(twin()) == repr(program())


@of_each_copy
def test_a_copy_takes_the_inputs_and_batches_of_its_original(copied):
    w, p = Variable(3.0), PlaceHolder()
    program = Program(mean(w * p), wrt=[w], inputs=[p])
    for batch in ([1.0, 2.0], [5.0], [1.0, 2.0, 6.0]):
        found = copied(program)(np.array(batch))
        assert (found.value, found.gradient.tolist()) == (3.0 * np.mean(batch), [np.mean(batch)])


@of_each_engine
def test_a_shallow_copy_reads_the_same_array_and_a_deep_one_a_copy(engine):
    x, array = Variable(0.0), np.array([2.0])
    program = Program(x * x, wrt=[x], engine=engine, weights=array)
    program()
    same, (other, its_own) = copy.copy(program), copy.deepcopy((program, array))
    array[0], its_own[0] = 5.0, 7.0
    assert [each().value for each in (program, same, other)] == [25.0, 25.0, 49.0]
    other.minimize(0.25, 1)
    assert (array[0], its_own[0]) == (5.0, 3.5)


@of_each_copy
def test_a_copy_may_be_given_another_array_without_its_original(copied):
    x = Variable(0.0)
    program = Program(x * x, wrt=[x], weights=np.array([2.0]))
    twin = copied(program)
    twin.hold(np.array([3.0]))
    assert (program().value, twin().value) == (4.0, 9.0)


def test_a_program_cannot_be_pickled():
    x = Variable(3.0)
    with pytest.raises(NodeError, match=r"cannot be pickled: .* Save program.weights instead"):
        pickle.dumps(Program(x * x, wrt=[x]))


def lowered():
    model = Model(seed=1)
    return model, Program((parameter(model.add_parameters((2, 3))) ** 2).sum())


def test_a_program_of_tensors_is_copied_with_code_of_its_own():
    _, loss = lowered()
    assert copy.copy(loss)().value == loss().value


def test_a_program_of_tensors_is_not_copied_with_its_model():
    both = lowered()
    with pytest.raises(NodeError, match=r"cannot be copied with its model: .* Copy the model"):
        copy.deepcopy(both)
