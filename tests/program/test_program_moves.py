"""A Program starts on the tape, and moves to straight-line code after as many samples as its plan asks for."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

pytest.importorskip("llvmlite")

import naive_graph as ng
from naive_graph import Graph, PlaceHolder, Program, Variable
from naive_graph.engines.llvm.precision import DOUBLE, SINGLE
from naive_graph.engines.straight import line as straight
from naive_graph.engines.straight.line import StraightLine, blocks
from naive_graph.engines.tape.tape import Tape
from naive_graph.program import descent, questions


@pytest.fixture
def patience(monkeypatch):
    """Set how many blocks of samples a Program waits, in both places that wait."""

    def wait(many):
        monkeypatch.setattr(questions, "PATIENCE", many)
        monkeypatch.setattr(descent, "PATIENCE", many)

    return wait


KINDS = {"float64": 1e-13, "float32": 1e-5}  # and how far gradients may be apart
of_each_kind = pytest.mark.parametrize("dtype", KINDS)


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


@pytest.mark.parametrize(("precision", "each"), [(DOUBLE, 3), (SINGLE, 2)])
def test_a_program_moves_after_so_many_blocks(patience, precision, each):
    patience(4 * each)
    output, weights, _ = network(samples=20)
    program, seen = Program(output, wrt=weights, dtype=precision.name), []
    for _ in range(6):
        program()
        seen.append(runs_on(program))
    assert blocks([20], precision) == each and seen == [Tape] * 3 + [StraightLine] * 3


def test_two_programs_of_both_kinds_move_and_keep_their_values(patience):
    patience(10)
    output, weights, inputs = network()
    programs = [Program(output, wrt=weights, inputs=inputs, dtype=each) for each in KINDS]
    batch = np.random.default_rng(3).normal(size=(20, 3))
    first = [program(batch) for program in programs]
    assert [runs_on(program) for program in programs] == [Tape] * 2
    for _ in range(6):
        for program, before in zip(programs, first):
            after = program(batch)
            assert after.value == before.value and after.gradient.dtype == before.gradient.dtype
            assert np.allclose(after.gradient, before.gradient, rtol=1e-5, atol=1e-6)
    assert [runs_on(program) for program in programs] == [StraightLine] * 2
    assert first[0].value != first[1].value


def test_a_large_batch_counts_as_many_times_as_it_has_blocks(patience):
    patience(12)
    output, weights, inputs = network()
    program = Program(output, wrt=weights, inputs=inputs)
    program(np.ones((88, 3)))
    assert runs_on(program) is Tape
    program(np.ones((1, 3)))
    assert runs_on(program) is StraightLine


@given(st.lists(st.integers(1, 40), min_size=2, max_size=6), st.integers(0, 10**6), st.sampled_from([*KINDS]))
@settings(max_examples=20, deadline=None)
def test_moving_changes_no_value_and_hardly_a_gradient(sizes, seed, dtype):
    """One program moves at once, its twin never; every call has a batch of another size."""
    dice = np.random.default_rng(seed)
    with Graph.scratch():
        output, weights, inputs = network()
        tape = Program(output, wrt=weights, inputs=inputs, engine="tape", dtype=dtype)
        native = Program(output, wrt=weights, inputs=inputs, engine="native", dtype=dtype)
        for size in sizes:
            batch = dice.normal(size=(size, 3))
            one, other = tape(batch), native(batch)
            assert one.value == other.value
            assert one.gradient.dtype == other.gradient.dtype == dtype
            assert np.allclose(one.gradient, other.gradient, rtol=KINDS[dtype], atol=KINDS[dtype])
            assert np.array_equal(native(batch).gradient, other.gradient)


@of_each_kind
@given(st.sampled_from([1, 15, 16, 17, 40, 100, 301]), st.integers(0, 10**6))
@settings(max_examples=10, deadline=None)
def test_samples_that_go_through_in_many_chunks_give_the_same_values(dtype, samples, seed):
    batch = np.random.default_rng(seed).normal(size=(samples, 3))
    with Graph.scratch(), pytest.MonkeyPatch.context() as patch:
        output, weights, inputs = network()
        found = []
        for warm in (straight.WARM, 1):  # all at once, and a block at a time
            patch.setattr(straight, "WARM", warm)
            found.append(Program([output], weights, inputs, engine="native", dtype=dtype)(batch))
        assert found[0].value == found[1].value
        assert np.allclose(found[0].gradient, found[1].gradient, rtol=KINDS[dtype], atol=KINDS[dtype])


@of_each_kind
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_one_sample_that_goes_wrong_stays_alone(bad, dtype):
    Graph.on_invalid = "ignore"
    w, p = Variable(2.0), PlaceHolder()
    program = Program((w * p).relu() + 1.0 / p, wrt=[p], inputs=[p], engine="native", dtype=dtype)
    batch = np.arange(1.0, 20.0)
    fine = program(batch)
    batch[9] = bad
    wrong = program(batch)
    others = np.arange(19) != 9
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
    monkeypatch.setattr("naive_graph.engines.straight.line.MOST_ROWS", 10)
    output, weights, _ = network(samples=20)
    program = Program(output, wrt=weights)
    program()
    assert runs_on(program) is Tape


@pytest.mark.parametrize(("dtype", "width", "word"), [("float64", 24, "eight"), ("float32", 32, "sixteen")])
def test_explain_says_what_runs_before_and_after(patience, dtype, width, word):
    patience(6 if dtype == "float64" else 4)
    output, weights, _ = network(samples=20)
    program = Program(output, wrt=weights, dtype=dtype)
    program()
    assert f"lanes: 20 samples in blocks of {width}" in program.explain()
    program()
    after = "\n".join(program.explain().splitlines()[-3:])
    assert "\nStraight-line code: " in f"\n{after}" and f"\nlanes: 20 samples, {word} at a time; " in after


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


@of_each_kind
@pytest.mark.parametrize("samples", [None, 20])
def test_minimize_walks_the_same_way_on_both(samples, dtype):
    walks = []
    for engine in ("tape", "native"):
        output, weights, inputs = network(samples)
        given = [np.random.default_rng(1).normal(size=(21, 3))] if inputs else []
        history = Program(output, weights, inputs, engine=engine, dtype=dtype).minimize(0.01, 30, *given)
        walks.append([*history, *(w.value for w in weights)])
    assert np.allclose(*walks, rtol=10 * KINDS[dtype], atol=KINDS[dtype])


def test_an_operator_that_only_the_tape_can_compile_stays_there(patience, monkeypatch):
    patience(1)
    output, weights, _ = network(samples=20)
    program = Program(output, wrt=weights)

    def refuse(*given, **rest):
        raise questions.Opaque("It cannot be compiled.")

    monkeypatch.setattr(questions, "StraightLine", refuse)
    first, second = program(), program()
    assert first.value == second.value and runs_on(program) is Tape


@pytest.mark.parametrize("calls", [1, 4], ids=["the long way", "the short way"])
def test_a_move_that_was_interrupted_is_made_by_the_next_call(calls, patience, monkeypatch):
    patience(calls)
    w = output = Variable(0.75)
    for _ in range(300):  # without lanes: gradients keep their bits too
        output = (output * w).tanh() - w
    program, made, tries = Program(output, wrt=[w]), StraightLine, []

    def interrupted_once(*given, **rest):
        tries.append(len(tries))
        if len(tries) == 1:
            raise KeyboardInterrupt
        return made(*given, **rest)

    monkeypatch.setattr(questions, "StraightLine", interrupted_once)
    law = Program(output, wrt=[w], engine="tape")()
    for _ in range(calls - 1):
        assert repr(program()) == repr(law)
    with pytest.raises(KeyboardInterrupt):
        program()
    assert runs_on(program) is Tape
    assert repr(program()) == repr(law)
    assert runs_on(program) is StraightLine and tries == [0, 1]
