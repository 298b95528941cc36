"""A larger Program starts in level runs; after many of them code of its own is made beside it, and it moves."""

import os
import subprocess
import sys
from copy import copy
from threading import Event

import numpy as np
import pytest

pytest.importorskip("llvmlite")

from graphs import TAME_BINARY, TAME_UNARY, build, recipes
from hypothesis import HealthCheck, given, settings
from making import finish

import naive_graph as ng
from naive_graph import Constant, Graph, PlaceHolder, Program, Variable
from naive_graph.core.background import BackgroundTask
from naive_graph.engines.compiled.plan import CompiledPlan
from naive_graph.engines.compiled.runs import LevelRuns
from naive_graph.errors import EngineWarning, ReentrantCallError, StaleNodeError
from naive_graph.program import backends, descent


@pytest.fixture
def patience(monkeypatch):
    """Set how many runs a Program waits, in both places that wait; then it looks at every run."""

    def wait(many):
        monkeypatch.setattr(backends, "PATIENCE", many)
        monkeypatch.setattr(backends, "SOON", 1)
        monkeypatch.setattr(descent, "PATIENCE", many)

    return wait


@pytest.fixture
def compiler(monkeypatch):
    """The making of code, held back until it is let go. made: a list with an entry for each."""

    class Compiler:
        made, free = [], Event()

        def __call__(self, *given, **rest):
            self.made.append(given)
            assert self.free.wait(60)
            return CompiledPlan(*given, **rest)

        def let_go(self):
            """Let it be made, and wait until it is."""
            self.free.set()
            finish()

    compiler = Compiler()
    compiler.made, compiler.free = [], Event()
    monkeypatch.setattr(backends, "CompiledPlan", compiler)
    yield compiler
    compiler.let_go()


def recurrence():
    """An output that leads through more rows than code is made for at once; its weights."""
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


def idle_of(program):
    """The code that the next call runs."""
    (answers,) = program._backends.values()
    return answers.tape


def test_a_program_moves_after_so_many_runs_and_keeps_its_bits(patience):
    patience(4)
    output, weights = recurrence()
    program, seen, answers = Program(output, wrt=weights), [], []
    for _ in range(6):
        answers.append(repr(program()))
        seen.append(runs_on(program))
        finish()
    assert seen == [LevelRuns] * 4 + [CompiledPlan] * 2 and len(set(answers)) == 1


def test_the_loop_goes_on_while_the_code_is_made_and_moves_when_it_is_there(patience, compiler):
    patience(4)
    output, weights = recurrence()
    program = Program(output, wrt=weights)
    answers = {repr(program()) for _ in range(50)}
    assert runs_on(program) is LevelRuns and len(compiler.made) == 1
    compiler.let_go()
    answers |= {repr(program()) for _ in range(5)}
    assert runs_on(program) is type(idle_of(program)) is CompiledPlan
    assert len(compiler.made) == len(answers) == 1


@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
@given(recipes(TAME_UNARY, TAME_BINARY, most=30))
def test_bits_stay_when_a_program_moves(recipe):
    """Of small graphs as well, which have code of their own at once otherwise."""
    with pytest.MonkeyPatch.context() as patch, Graph.scratch():
        patch.setattr(backends, "FEW_OPERANDS", -1)
        patch.setattr(backends, "PATIENCE", 3)
        patch.setattr(backends, "SOON", 1)
        Graph.on_invalid = "ignore"
        nodes = build(recipe)
        leaves = [node for node in nodes if type(node) in (Variable, PlaceHolder)]
        if isinstance(nodes[-1], Constant) or not leaves:
            return
        program = Program(nodes[-1], [each for each in leaves if type(each) is Variable])
        feed = {each: 0.5 for each in leaves if type(each) is PlaceHolder}
        answers, ran = set(), []
        for _ in range(5):
            answers.add(repr(program(feed=feed)))
            (backend,) = program._backends.values()
            ran.append(type(backend.tape))
            finish()
        lanes = len(backend.ir.samples) > 1
        assert len(answers) == 1 and ran[0] is (CompiledPlan if lanes else LevelRuns) and ran[-1] is CompiledPlan


def test_a_program_that_is_copied_while_its_code_is_made_moves_by_itself(patience, compiler):
    patience(2)
    output, weights = recurrence()
    program = Program(output, wrt=weights)
    program(), program()
    twin = copy(program)
    compiler.let_go()
    for _ in range(3):
        assert repr(program()) == repr(twin())
        finish()
    assert runs_on(program) is runs_on(twin) is CompiledPlan and len(compiler.made) == 2


def test_a_graph_that_is_cleared_while_code_is_made_for_it_is_gone(patience, compiler):
    patience(2)
    output, weights = recurrence()
    program = Program(output, wrt=weights)
    program(), program()
    Graph.clear()
    compiler.let_go()
    with pytest.raises(StaleNodeError):
        program()


def test_a_call_from_within_a_call_is_refused_and_does_not_move_the_code_that_runs(patience, compiler, monkeypatch):
    """As from a signal handler or a finalizer: the outer call puts its level runs back, and the next one moves."""
    patience(3)
    output, weights = recurrence()
    program, run, refused = Program(output, wrt=weights), LevelRuns.run, []
    law = repr(program())
    program(), program()
    compiler.let_go()

    def asked_meanwhile(self, source):
        run(self, source)
        answers.patience = 1  # so that a call would move
        with pytest.raises(ReentrantCallError) as error:
            program()
        refused.append(error)

    monkeypatch.setattr(LevelRuns, "run", asked_meanwhile)
    (answers,) = program._backends.values()
    answers.patience = 5
    assert repr(program(feed={})) == law and refused  # a question by name has no short way
    assert type(idle_of(program)) is runs_on(program) is LevelRuns
    assert repr(program()) == law
    assert type(idle_of(program)) is runs_on(program) is CompiledPlan


@pytest.mark.parametrize("samples", [None, 20])
def test_a_program_with_samples_has_code_of_its_own_from_the_first_run(patience, samples):
    patience(1)
    output, weights, inputs = network(samples)
    program, given = Program(output, wrt=weights, inputs=inputs), [np.ones((20, 3))] if inputs else []
    program(*given)
    assert runs_on(program) is CompiledPlan


@pytest.mark.parametrize(("engine", "kind"), [("runs", LevelRuns), ("compiled", CompiledPlan)])
def test_a_program_that_names_its_engine_stays_there(engine, kind, patience):
    patience(1)
    output, weights = recurrence()
    program = Program(output, wrt=weights, engine=engine)
    program()
    finish()
    program(), program()
    assert runs_on(program) is kind


def test_level_runs_leave_batches_to_compiled_code_and_say_so():
    output, weights, inputs = network()
    program = Program(output, wrt=weights, inputs=inputs, engine="runs")
    with pytest.warns(EngineWarning, match="Level runs have no samples"):
        program(np.ones((3, 3)))
    assert runs_on(program) is CompiledPlan
    program.minimize(0.01, 2, np.ones((3, 3)))


def test_a_plan_that_is_too_large_stays_in_level_runs(patience, monkeypatch):
    patience(1)
    monkeypatch.setattr(backends, "MOST_OPERANDS", 10)
    output, weights = recurrence()
    program = Program(output, wrt=weights)
    program()
    assert runs_on(program) is LevelRuns


def test_explain_says_what_runs_before_and_after(patience):
    patience(2)
    output, weights = recurrence()
    program = Program(output, wrt=weights)
    program(), program()
    assert " level runs; " in program.explain()
    finish()
    program()
    assert " lines of LLVM's language" in program.explain()


def walked_on(program):
    (answers,) = program._backends.values()
    return type(answers.descent.code)


@pytest.mark.parametrize(
    ("steps", "way"),
    [([11], LevelRuns), ([12, 1], CompiledPlan), ([5, 5, 2, 1], CompiledPlan), ([400, 1], CompiledPlan)],
)
def test_minimize_moves_after_so_many_steps_and_keeps_its_bits(steps, way, patience):
    """Counted over all walks at one rate."""
    patience(12)
    walks = []
    for engine in ("runs", None):
        with Graph.scratch():
            output, weights = recurrence()
            program, walk = Program(output, wrt=weights, engine=engine), []
            for many in steps:
                walk += [*program.minimize(0.001, many), *(w.value for w in weights)]
                finish()
            walks.append(walk)
            assert walked_on(program) is (LevelRuns if engine else way)
    assert walks[0] == walks[1]


def test_a_walk_moves_in_its_middle_with_what_its_formula_remembers(patience, compiler, monkeypatch):
    patience(12)
    monkeypatch.setattr(descent, "_next", lambda chunk, took: 1)  # step by step
    monkeypatch.setattr(backends, "CompiledPlan", compiler)
    run, walks = descent._CompiledDescent.run, []

    def run_and_let_go(self, history):
        run(self, history)
        if self.coming is not None and compiler.made:
            compiler.let_go()
        seen.append(type(self.code))

    monkeypatch.setattr(descent._CompiledDescent, "run", run_and_let_go)
    for engine in ("runs", None):
        seen = []
        with Graph.scratch():
            output, weights = recurrence()
            history = Program(output, wrt=weights, engine=engine).minimize(
                lambda w, g, m, *, t: (w - 0.001 * (0.9 * m + g) / t, 0.9 * m + g), 30
            )
            walks.append([*history, *(w.value for w in weights)])
    assert walks[0] == walks[1] and len(compiler.made) == 1
    assert seen[:2] == [LevelRuns, CompiledPlan] and len(seen) == 30


def test_an_operator_that_only_level_runs_can_compile_stays_there_and_is_tried_once(patience, monkeypatch):
    patience(1)
    output, weights = recurrence()
    program, tries = Program(output, wrt=weights), []

    def refuse(*given, **rest):
        tries.append(given)
        raise backends.NotCompilable("It cannot be compiled.")

    monkeypatch.setattr(backends, "CompiledPlan", refuse)
    answers = set()
    for _ in range(5):
        answers.add(repr(program()))
        finish()
    assert runs_on(program) is LevelRuns and len(answers) == len(tries) == 1


def test_what_goes_wrong_beside_the_calls_is_raised_in_one_of_them_and_tried_again(patience, monkeypatch):
    patience(1)
    output, weights = recurrence()
    program, makers = Program(output, wrt=weights), [lambda *given: 1 / 0]
    monkeypatch.setattr(backends, "CompiledPlan", lambda *given: makers[0](*given))
    law = repr(program())
    finish()
    with pytest.raises(ZeroDivisionError):
        program()
    makers[0] = CompiledPlan
    for _ in range(2):
        assert repr(program()) == law
        finish()
    assert repr(program()) == law and runs_on(program) is CompiledPlan


@pytest.mark.parametrize("calls", [1, 4], ids=["the long way", "the short way"])
@pytest.mark.parametrize("when", ["is_done", "result"])
def test_a_move_that_was_interrupted_is_made_by_a_later_call(when, calls, patience, monkeypatch):
    patience(calls)
    output, weights = recurrence()
    program, asked, tries = Program(output, wrt=weights), getattr(BackgroundTask, when), []
    law = repr(Program(output, wrt=weights, engine="runs")())

    def interrupted_once(self):
        tries.append(len(tries))
        if len(tries) == 1:
            raise KeyboardInterrupt
        return asked(self)

    monkeypatch.setattr(BackgroundTask, when, interrupted_once)
    interrupted = 0
    for _ in range(calls + 4):
        try:
            assert repr(program()) == law
        except KeyboardInterrupt:
            interrupted += 1
            assert runs_on(program) is LevelRuns
        finish()
    assert interrupted == 1 and runs_on(program) is CompiledPlan


IN_THE_MIDDLE = """
import os, signal, sys
from naive_graph import Program, Variable
from naive_graph.core.background import BackgroundTask
from naive_graph.program import backends
backends.PATIENCE, backends.SOON = 3, 1
x = y = Variable(0.5)
for k in range(250):
    y = (y * x + 0.25 * k) / (y + float(os.getpid()))  # code that no process has left on disk
program = Program(y, [x])
answers = {repr(program()) for _ in range(4)}
(backend,) = program._backends.values()
assert BackgroundTask.busy.is_alive() and not hasattr(backend.tape, "generator")

def moves():
    while not hasattr(backend.tape, "generator"):
        BackgroundTask.busy.join(0.001)
        answers.add(repr(program()))
    assert len(answers) == 1, answers

"""
FORKS = """
child = os.fork()
moves()
if child:
    assert os.waitpid(child, 0)[1] == 0
else:
    os._exit(0)
"""
PRESSED = """
try:
    while True:
        signal.raise_signal(signal.SIGINT)
except KeyboardInterrupt:
    pass
moves()
"""
ASKED_AT_THE_END = """
import atexit
atexit.register(lambda: answers.add(repr(program())) or print(len(answers)))
"""

PRESSED_AT_THE_END = """
import _thread, threading, time
def press():
    while threading.main_thread().is_alive():
        time.sleep(0.001)
    _thread.interrupt_main()
threading.Thread(target=press, daemon=True).start()
"""


@pytest.mark.parametrize(
    "then", ["", "sys.exit()", PRESSED, ASKED_AT_THE_END, *([FORKS] if hasattr(os, "fork") else [])]
)
def test_while_code_is_made_a_script_ends_forks_and_is_interrupted_as_ever(then):
    command = [sys.executable, "-W", "ignore", "-c", IN_THE_MIDDLE + then]
    found = subprocess.run(command, capture_output=True, text=True, timeout=240)
    assert (found.returncode, found.stderr) == (0, "")
    assert found.stdout == ("1\n" if "print" in then else "")


def test_a_ctrl_c_while_python_waits_for_code_at_its_end_does_not_keep_it_for_ever():
    """Python itself says that it was interrupted; before 3.12 it is how that is said."""
    command = [sys.executable, "-W", "ignore", "-c", IN_THE_MIDDLE + PRESSED_AT_THE_END]
    found = subprocess.run(command, capture_output=True, text=True, timeout=240)
    assert found.returncode == 0 and found.stderr.splitlines()[-1].startswith("KeyboardInterrupt")
