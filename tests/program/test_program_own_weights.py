"""A Program over an array of weights reads it where it lies, and has the answers of one over Variables."""

import pytest

pytest.importorskip("llvmlite")

import numpy as np
from graphs import any_graph, build
from hypothesis import given, settings
from hypothesis import strategies as st

from naive_graph import Graph, PlaceHolder, Program, Variable, log, mean
from naive_graph.errors import FeedError, NumericWarning

ENGINES = ["reference", "runs", None]  # None compiles what is small
of_each_engine = pytest.mark.parametrize("engine", ENGINES)


@of_each_engine
def test_the_array_is_read_at_every_call_and_the_graph_is_left_alone(engine):
    x, y = Variable(100.0), Variable(100.0)
    array = np.array([2.0, 3.0])
    program = Program(x * y + y, wrt=[x, y], engine=engine, weights=array)
    for value in (2.0, 5.0, 7.0, 7.5):
        array[0] = value
        answer = program()
        assert (answer.value, answer.gradient.tolist()) == (value * 3.0 + 3.0, [3.0, value + 1.0])
    assert (x.value, y.value) == (100.0, 100.0)


@of_each_engine
def test_weights_may_lie_anywhere_in_the_array_and_two_at_one_place(engine):
    x, y, z = (Variable(0.0) for _ in range(3))
    array = np.arange(10.0)
    program = Program(x + 10.0 * y + 100.0 * z, wrt=[x, y, z], engine=engine, weights=(array, [7, 2, 7]))
    assert program().value == 7.0 + 20.0 + 700.0
    assert program.weights.tolist() == [7.0, 2.0, 7.0]


@of_each_engine
def test_variables_that_are_no_weights_keep_their_values(engine):
    x, other = Variable(0.0), Variable(4.0)
    program = Program(x * other, wrt=[x], engine=engine, weights=np.array([3.0]))
    for value in (4.0, 5.0, 6.0):
        other.value = value
        assert program() == (3.0 * value, [value])


@settings(max_examples=40, deadline=None)
@given(any_graph(), st.sampled_from(ENGINES), st.integers(0, 2**32))
def test_the_answers_are_those_of_the_same_numbers_in_variables(drawing, engine, seed):
    with Graph.scratch():
        Graph.on_invalid = "ignore"
        nodes = build(drawing)
        leaves = [node for node in nodes if type(node) is Variable]
        if not leaves:
            return
        there = Program(nodes[-1], wrt=leaves, engine=engine)
        dice = np.random.default_rng(seed)
        places = dice.permutation(len(leaves) + 3)[: len(leaves)]
        array = np.full(len(leaves) + 3, np.nan)
        here = Program(nodes[-1], wrt=leaves, engine=engine, weights=(array, places))
        for _ in range(3):
            numbers = dice.normal(size=len(leaves))
            there.weights = numbers
            expected = there()
            there.weights = np.full(len(leaves), 99.0)  # what the Variables hold does not count
            here.weights = numbers
            found = here()
            assert np.array_equal([found.value, *found.gradient], [expected.value, *expected.gradient], equal_nan=True)


def test_batches_read_the_array():
    w, b, p = Variable(0.0), Variable(0.0), PlaceHolder()
    array = np.array([2.0, 1.0])
    program = Program(mean((w * p + b) ** 2), wrt=[w, b], inputs=[p], weights=array)
    data = np.linspace(-1.0, 2.0, 20)
    for step in range(9):
        array[:] = 2.0 + step, 1.0 - step
        value, gradient = program(data)
        line = array[0] * data + array[1]
        assert value == pytest.approx(np.mean(line**2), rel=1e-13)
        assert gradient == pytest.approx([np.mean(2 * line * data), np.mean(2 * line)], rel=1e-12)


def test_samples_of_an_unrolled_loop_may_have_weights_of_their_own():
    shared, own = Variable(0.0), [Variable(0.0) for _ in range(20)]
    loss = sum((shared * x - x * x * 0.5 for x in own), 0.0)
    array = np.arange(1.0, 22.0)
    program = Program(loss, wrt=[shared, *own], weights=array)
    for _ in range(3):
        array += 0.5
        value, gradient = program()
        assert value == pytest.approx(np.sum(array[0] * array[1:] - array[1:] ** 2 * 0.5), rel=1e-13)
        assert gradient == pytest.approx([array[1:].sum(), *(array[0] - array[1:])], rel=1e-13)


@of_each_engine
def test_minimize_moves_the_array_and_no_variable(engine):
    x, y = Variable(50.0), Variable(60.0)
    array = np.array([1.0, 2.0, 3.0])
    program = Program((x - 7.0) ** 2 + (y + 1.0) ** 2, wrt=[x, y], engine=engine, weights=(array, [2, 0]))
    history = program.minimize(0.25, 60)
    assert history[0] == 16.0 + 4.0
    assert array == pytest.approx([-1.0, 2.0, 7.0])
    assert (x.value, y.value) == (50.0, 60.0)


def test_another_array_is_held_from_now_on():
    x = Variable(0.0)
    first, second = np.array([1.0]), np.array([2.0])
    program = Program(x * 3.0, wrt=[x], weights=first)
    assert [program().value for _ in range(4)] == [3.0] * 4
    program.hold(second)
    assert [program().value for _ in range(4)] == [6.0] * 4


def test_a_number_that_goes_wrong_is_that_of_the_array():
    x = Variable(5.0)
    with pytest.warns(NumericWarning, match=r"log\(-1.0\)"):
        Program(log(x), wrt=[x], weights=np.array([-1.0]))()
    array = np.array([-1.0])
    with pytest.warns(NumericWarning, match="did not begin"):
        Program(log(x), wrt=[x], weights=array).minimize(0.1, 3)
    assert (x.value, array.tolist()) == (5.0, [-1.0])


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ([1.0, 2.0], "a flat array of float64"),
        (np.zeros((1, 2)), r"shape \(1, 2\)"),
        (np.zeros(2, np.float32), "float32"),
        (np.zeros(4)[::2], "side by side"),
        (np.zeros(3), "2 weights, and weights= 3 places"),
        ((np.zeros(3), [0]), "2 weights, and weights= 1 places"),
        ((np.zeros(3), [0, 3]), "from 0 to 2"),
        ((np.zeros(3), [0.0, 1.0]), "whole numbers"),
    ],
)
def test_an_array_that_cannot_be_read_in_place_is_refused(weights, message):
    x, y = Variable(1.0), Variable(2.0)
    with pytest.raises(FeedError, match=message):
        Program(x * y, wrt=[x, y], weights=weights)


def test_only_variables_have_weights_of_their_own():
    p = PlaceHolder()
    with pytest.raises(FeedError, match="a PlaceHolder among wrt is fed"):
        Program(p * 2.0, wrt=[p], weights=np.zeros(1))
    with pytest.raises(FeedError, match="reads its Variables"):
        Program(p * 2.0).hold(np.zeros(1))


@of_each_engine
def test_an_array_too_short_for_the_places_is_refused_and_the_last_one_goes_on(engine):
    x, y = Variable(0.0), Variable(0.0)
    first = np.array([2.0, 9.0, 3.0])
    program = Program(x * y, wrt=[x, y], engine=engine, weights=(first, [0, 2]))
    assert program().value == 6.0
    for short in (np.ones(2), np.ones(0)):
        with pytest.raises(FeedError, match=r"places up to 2, and this array has \d"):
            program.hold(short)
    first[0] = 5.0
    assert program().value == 15.0
    program.hold(np.array([1.0, 0.0, 4.0, 8.0]))
    assert program().value == 4.0


def test_masked_weights_are_refused():
    w = Variable(2.0)
    masked = np.ma.array([3.0], mask=[True])
    with pytest.raises(FeedError, match="masked"):
        Program(w * w, wrt=[w]).weights = masked
    program = Program(w * w, wrt=[w], weights=np.ones(1))
    with pytest.raises(FeedError, match="masked"):
        program.hold(masked)
    assert w.value == 2.0 and program().value == 1.0
