"""A Program without lanes starts on the tape, and moves to straight-line code after many runs."""

import numpy as np
import pytest

pytest.importorskip("llvmlite")

import naive_graph as ng
from naive_graph import Graph, PlaceHolder, Program, Variable
from naive_graph.engines.straight.line import StraightLine
from naive_graph.engines.tape.tape import Tape
from naive_graph.errors import EngineWarning
from naive_graph.program import backends, descent


@pytest.fixture
def patience(monkeypatch):
    """Set how many runs a Program waits, in both places that wait."""

    def wait(many):
        monkeypatch.setattr(backends, "PATIENCE", many)
        monkeypatch.setattr(descent, "PATIENCE", many)

    return wait


def recurrence():
    """An output that leads through more rows than straight-line code is compiled for at once; its weights."""
    w = output = Variable(0.75)
    for _ in range(300):
        output = (output * w).tanh() - w
    return output, [w]


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
    (answers,) = program._backends.values()
    return type(answers.tape)


def test_a_program_moves_after_so_many_runs_and_keeps_its_bits(patience):
    patience(4)
    output, weights = recurrence()
    program, seen, answers = Program(output, wrt=weights), [], []
    for _ in range(6):
        answers.append(repr(program()))
        seen.append(runs_on(program))
    assert seen == [Tape] * 3 + [StraightLine] * 3 and len(set(answers)) == 1


@pytest.mark.parametrize("samples", [None, 20])
def test_a_program_with_lanes_stays_on_the_tape(patience, samples):
    patience(1)
    output, weights, inputs = network(samples)
    program, given = Program(output, wrt=weights, inputs=inputs), [np.ones((20, 3))] if inputs else []
    program(*given), program(*given)
    assert runs_on(program) is Tape


def test_a_program_that_names_the_tape_stays_there(patience):
    patience(1)
    output, weights = recurrence()
    program = Program(output, wrt=weights, engine="tape")
    program(), program()
    assert runs_on(program) is Tape


def test_the_native_engine_is_there_from_the_first_run_and_needs_no_lanes():
    output, weights, _ = network(samples=20)
    program = Program(output, wrt=weights, engine="native")
    program()
    assert runs_on(program) is StraightLine


def test_the_native_engine_leaves_batches_to_the_tape_and_says_so():
    output, weights, inputs = network()
    program = Program(output, wrt=weights, inputs=inputs, engine="native")
    with pytest.warns(EngineWarning, match="A plan of many samples is too large for straight-line code"):
        program(np.ones((3, 3)))
    assert runs_on(program) is Tape
    program.minimize(0.01, 2, np.ones((3, 3)))


def test_a_plan_that_is_too_large_stays_on_the_tape(patience, monkeypatch):
    patience(1)
    monkeypatch.setattr("naive_graph.engines.straight.line.MOST_ROWS", 10)
    output, weights = recurrence()
    program = Program(output, wrt=weights)
    program()
    assert runs_on(program) is Tape


def test_explain_says_what_runs_before_and_after(patience):
    patience(2)
    output, weights = recurrence()
    program = Program(output, wrt=weights)
    program()
    assert "\nscalars: " in program.explain()
    program()
    assert "\nStraight-line code: " in program.explain()


@pytest.mark.parametrize(("steps", "way"), [(11, "Tape"), (12, "StraightLine")])
def test_minimize_knows_its_steps_and_chooses_at_once(steps, way, patience, monkeypatch):
    patience(12)
    gone = []
    for name in ("Tape", "StraightLine"):
        made = getattr(descent, name)
        monkeypatch.setattr(
            descent, name, lambda *given, made=made, name=name, **rest: gone.append(name) or made(*given, **rest)
        )
    output, weights = recurrence()
    Program(output, wrt=weights).minimize(0.01, steps)
    assert gone == [way]


def test_minimize_walks_the_same_way_on_both():
    walks = []
    for engine in ("tape", "native"):
        output, weights, _ = network(samples=20)
        history = Program(output, weights, engine=engine).minimize(0.01, 30)
        walks.append([*history, *(w.value for w in weights)])
    assert np.allclose(*walks, rtol=1e-12, atol=1e-13)


def test_an_operator_that_only_the_tape_can_compile_stays_there(patience, monkeypatch):
    patience(1)
    output, weights = recurrence()
    program = Program(output, wrt=weights)

    def refuse(*given, **rest):
        raise backends.Opaque("It cannot be compiled.")

    monkeypatch.setattr(backends, "StraightLine", refuse)
    first, second = program(), program()
    assert first.value == second.value and runs_on(program) is Tape


@pytest.mark.parametrize("calls", [1, 4], ids=["the long way", "the short way"])
def test_a_move_that_was_interrupted_is_made_by_the_next_call(calls, patience, monkeypatch):
    patience(calls)
    output, weights = recurrence()
    program, made, tries = Program(output, wrt=weights), StraightLine, []

    def interrupted_once(*given, **rest):
        tries.append(len(tries))
        if len(tries) == 1:
            raise KeyboardInterrupt
        return made(*given, **rest)

    monkeypatch.setattr(backends, "StraightLine", interrupted_once)
    law = Program(output, wrt=weights, engine="tape")()
    for _ in range(calls - 1):
        assert repr(program()) == repr(law)
    with pytest.raises(KeyboardInterrupt):
        program()
    assert runs_on(program) is Tape
    assert repr(program()) == repr(law)
    assert runs_on(program) is StraightLine and tries == [0, 1]
