"""A Program starts on the tape, and moves to straight-line code after as many samples as its plan asks for."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

pytest.importorskip("llvmlite")

import naive_graph as ng
from naive_graph import Graph, PlaceHolder, Program, Variable, descent
from naive_graph.engines import questions
from naive_graph.engines.straight import StraightLine, blocks
from naive_graph.engines.tape.tape import Tape


@pytest.fixture
def patience(monkeypatch):
    """Set how many blocks of samples a Program waits, in both places that wait."""

    def wait(many):
        monkeypatch.setattr(questions, "PATIENCE", many)
        monkeypatch.setattr(descent, "PATIENCE", many)

    return wait


def network(samples=None):
    """A small network's loss, over a loop of so many samples, or fed: output, weights, inputs."""
    weights = [Variable(0.1 * k - 0.7) for k in range(15)]
    holders = [PlaceHolder() for _ in range(3)]

    def loss(xs):
        hidden = [ng.relu(sum((w * x for w, x in zip(weights[k : k + 3], xs)), weights[k])) for k in range(0, 12, 4)]
        return (sum((w * h for w, h in zip(weights[12:], hidden)), weights[3]) - xs[0]) ** 2

    if samples is None:
        return ng.mean(loss(holders)), weights, [holders]
    data = np.random.default_rng(5).normal(size=(samples, 3)).tolist()
    return Graph.sum([loss(xs) for xs in data]), weights, []


def runs_on(program):
    (answers,) = program._questions.values()
    return type(answers.tape)


def test_a_program_moves_after_so_many_blocks(patience):
    patience(12)
    output, weights, _ = network(samples=20)
    program, seen = Program(output, wrt=weights), []
    for _ in range(6):
        program()
        seen.append(runs_on(program))
    assert blocks([20]) == 3 and seen == [Tape] * 3 + [StraightLine] * 3


def test_a_large_batch_counts_as_many_times_as_it_has_blocks(patience):
    patience(12)
    output, weights, inputs = network()
    program = Program(output, wrt=weights, inputs=inputs)
    program(np.ones((88, 3)))
    assert runs_on(program) is Tape
    program(np.ones((1, 3)))
    assert runs_on(program) is StraightLine


@given(st.lists(st.integers(1, 40), min_size=2, max_size=6), st.integers(0, 10**6))
@settings(max_examples=20, deadline=None)
def test_moving_changes_no_value_and_hardly_a_gradient(sizes, seed):
    """One program moves at once, its twin never; every call has a batch of another size."""
    dice = np.random.default_rng(seed)
    with Graph.scratch():
        output, weights, inputs = network()
        tape = Program(output, wrt=weights, inputs=inputs, engine="tape")
        straight = Program(output, wrt=weights, inputs=inputs, engine="native")
        for size in sizes:
            batch = dice.normal(size=(size, 3))
            one, other = tape(batch), straight(batch)
            assert one.value == other.value
            assert np.allclose(one.gradient, other.gradient, rtol=1e-13, atol=1e-13)
            assert np.array_equal(straight(batch).gradient, other.gradient)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_one_sample_that_goes_wrong_stays_alone(bad):
    Graph.on_invalid = "ignore"
    w, p = Variable(2.0), PlaceHolder()
    program = Program((w * p).relu() + 1.0 / p, wrt=[p], inputs=[p], engine="native")
    batch = np.arange(1.0, 12.0)
    fine = program(batch)
    batch[9] = bad
    wrong = program(batch)
    others = np.arange(11) != 9
    assert np.array_equal(wrong.value[others], fine.value[others])
    assert np.array_equal(wrong.gradient[0][others], fine.gradient[0][others])
    law = [(2.0 * bad if bad != -np.inf else 0.0) + 1.0 / bad]
    assert np.array_equal(wrong.value[[9]], law, equal_nan=True)


def test_a_program_that_names_the_tape_stays_there(patience):
    patience(1)
    output, weights, _ = network(samples=20)
    program = Program(output, wrt=weights, engine="tape")
    program(), program()
    assert runs_on(program) is Tape


def test_the_native_engine_is_there_from_the_first_run_and_takes_batches():
    output, weights, inputs = network()
    program = Program(output, wrt=weights, inputs=inputs, engine="native")
    program(np.ones((3, 3)))
    assert runs_on(program) is StraightLine


def test_a_plan_that_is_too_large_stays_on_the_tape(patience, monkeypatch):
    patience(1)
    monkeypatch.setattr("naive_graph.engines.straight.MOST_ROWS", 10)
    output, weights, _ = network(samples=20)
    program = Program(output, wrt=weights)
    program()
    assert runs_on(program) is Tape


def test_explain_says_what_runs_before_and_after(patience):
    patience(6)
    output, weights, _ = network(samples=20)
    program = Program(output, wrt=weights)
    program()
    assert "lanes: 20 samples in blocks of 24" in program.explain()
    program()
    after = program.explain().splitlines()
    assert after[-2].startswith("Straight-line code: ") and after[-1].startswith("lanes: 20 samples, eight at a time; ")


@pytest.mark.parametrize(("steps", "way"), [(3, "Tape"), (4, "StraightLine")])
def test_minimize_knows_its_steps_and_chooses_at_once(steps, way, patience, monkeypatch):
    patience(12)
    gone = []
    for name in ("Tape", "StraightLine"):
        made = getattr(descent, name)
        monkeypatch.setattr(
            descent, name, lambda *given, made=made, name=name, **rest: gone.append(name) or made(*given, **rest)
        )
    output, weights, _ = network(samples=20)
    Program(output, wrt=weights).minimize(0.01, steps)
    assert gone == [way]


@pytest.mark.parametrize("samples", [None, 20])
def test_minimize_walks_the_same_way_on_both(samples):
    walks = []
    for engine in ("tape", "native"):
        output, weights, inputs = network(samples)
        given = [np.random.default_rng(1).normal(size=(21, 3))] if inputs else []
        history = Program(output, wrt=weights, inputs=inputs, engine=engine).minimize(0.01, 30, *given)
        walks.append([*history, *(w.value for w in weights)])
    assert np.allclose(*walks, rtol=1e-12, atol=1e-13)


def test_an_operator_that_only_the_tape_can_compile_stays_there(patience, monkeypatch):
    patience(1)
    output, weights, _ = network(samples=20)
    program = Program(output, wrt=weights)

    def refuse(*given, **rest):
        raise questions.Opaque("It cannot be compiled.")

    monkeypatch.setattr(questions, "StraightLine", refuse)
    first, second = program(), program()
    assert first.value == second.value and runs_on(program) is Tape
