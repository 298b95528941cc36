"""Many samples go in two halves: the same bits on one core and on two, whatever happens to the helper."""

import gc
import math
import os
import subprocess
import sys
import threading
import weakref
from functools import partial
from itertools import chain
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from random_graphs import seeds
from unrolled import Habit, unrolled

from naive_graph import Graph, PlaceHolder, Program, Variable, logsumexp, mean, relu, total
from naive_graph.engines.tape import helper, memory
from naive_graph.engines.tape.helper import Job, Turns

HOUSE = Path(__file__).parent.parent.parent
EDGES = [1, 2, 7, 8, 9, 15, 16, 17, 127, 128, 129, 255, 256, 257, 264, 513, 1000]  # of registers, blocks and halves
edges = st.sampled_from(EDGES)


@pytest.fixture(autouse=True)
def halved(monkeypatch):
    """All samples go in halves, however few, and there are two cores."""
    monkeypatch.setattr(memory, "LEAST_HALVED", 0)
    monkeypatch.setattr(helper, "cores", lambda: 2)
    return monkeypatch


def same(one, other):
    """Whether both are the same to the last bit, lists inside lists too."""
    if isinstance(one, (list, tuple)):
        return len(one) == len(other) and all(map(same, one, other))
    return np.array_equal(one, other, equal_nan=True)


def on_cores(count, ask):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(helper, "cores", lambda: count)
        return ask()


def whole(ask):
    """The answer without halves."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(memory, "LEAST_HALVED", math.inf)
        return ask()


def network(samples, seed=0):
    """A classifier of two layers, fed a batch: dense tiles, outer products, pairs, and a total in written order."""
    dice = np.random.default_rng(seed)
    made = [
        ([[Variable(w) for w in row] for row in dice.normal(size=(out, into)).tolist()], [Variable(0.1)] * out)
        for into, out in ((5, 9), (9, 3))
    ]
    x, y = ([PlaceHolder() for _ in range(size)] for size in (5, 3))
    h = x
    for w, b in made:
        h = [relu(sum((wi * hi for wi, hi in zip(row, h, strict=True)), c)) for row, c in zip(w, b, strict=True)]
    weights = [each for w, b in made for each in [*(x for row in w for x in row), b[0]]]
    loss = mean(logsumexp(h) - sum(a * b for a, b in zip(y, h, strict=True)))
    given = dice.normal(size=(samples, 5)), np.eye(3)[dice.integers(0, 3, samples)]
    return Program(loss, weights, inputs=[x, y], engine="tape"), given


def normalised(samples):
    """Samples that need their mean, twice: their lanes are kept from one section to the next."""
    w, v, x = Variable(0.5), Variable(-1.5), PlaceHolder()
    centred = (w * x).sin() - mean((w * x).sin())
    spread = (mean(centred * centred) + 0.1).sqrt()
    program = Program([total(x * (centred / spread * v).tanh()), centred, x], [w, v, x], inputs=[x], engine="tape")
    return program, (np.random.default_rng(samples).normal(size=samples),)


def any_batch(samples, seed):
    """A random expression of what is fed and what is not, for each sample, and its total."""
    loss = unrolled(Habit(seed, 1, data=PlaceHolder))
    program = Program([total(loss.terms[0]), loss.terms[0]], [*loss.weights, *loss.data[0]], inputs=[loss.data[0]])
    return program, (np.random.default_rng(seed).normal(size=(samples, len(loss.data[0]))),)


@given(st.sampled_from([network, normalised]), edges)
@settings(max_examples=30, deadline=None)
def test_one_core_and_two_give_the_same_bits(make, samples):
    with Graph.scratch():
        program, data = make(samples)
        ask = lambda: program(*data)  # noqa: E731
        one, two, again = on_cores(1, ask), on_cores(2, ask), on_cores(2, ask)
        assert same(one, two) and same(one, again)


@given(seeds, edges)
@settings(max_examples=30, deadline=None)
def test_any_expression_has_the_same_bits_on_one_core_on_two_and_in_one_piece(seed, samples):
    """But for slopes that are sums over the samples, in one piece."""
    with Graph.scratch():
        program, data = any_batch(samples, seed)
        ask = partial(program, *data)
        one, two, piece = on_cores(1, ask), on_cores(2, ask), whole(ask)
    assert same(one, two) and same(one.value, piece.value)
    slopes = zip(chain.from_iterable(one.gradient), chain.from_iterable(piece.gradient), strict=True)
    assert all(same(ours, theirs) for ours, theirs in slopes if np.ndim(ours))


@given(seeds, edges)
@settings(max_examples=20, deadline=None)
def test_a_slope_that_is_a_sum_of_halves_keeps_to_its_bound(seed, samples):
    dice = np.random.default_rng(seed)
    x, t = dice.normal(size=(samples, 3)), dice.normal(size=samples)
    with Graph.scratch():
        w, given_x, given_t = [Variable(0.5) for _ in range(3)], [PlaceHolder() for _ in range(3)], PlaceHolder()
        y = sum((wi * xi for wi, xi in zip(w, given_x, strict=True)), 0.0)
        slopes = Program(total(y * given_t), w, inputs=[given_x, given_t], engine="tape")(x, t).gradient
    terms = x * t[:, None]
    exact = np.array([math.fsum(line) for line in terms.T])
    assert (np.abs(slopes - exact) <= 2 * samples * 2.0**-52 * np.abs(terms).sum(axis=0)).all()


@given(seeds, edges)
@settings(max_examples=20, deadline=None)
def test_where_sums_are_exact_halves_give_the_reference_engines_numbers(seed, samples):
    dice = np.random.default_rng(seed)
    table, numbers = dice.integers(-3, 4, (samples, 2)).astype(float), dice.integers(-2, 3, 9).tolist()
    with Graph.scratch():
        w, x = [Variable(float(each)) for each in numbers], [PlaceHolder(), PlaceHolder()]
        h = [relu(a * x[0] + b * x[1] + c) for a, b, c in (w[:3], w[3:6])]
        loss = (w[6] * h[0] + w[7] * h[1] + w[8] - x[0]) ** 2
        value, slopes = Program(total(loss), w, inputs=[x], engine="tape")(table)
        law = Program(loss, w, inputs=x, engine="reference")
        singles = [law(*row) for row in table.tolist()]
    assert value == sum(each.value for each in singles)
    assert slopes.tolist() == sum(each.gradient for each in singles).tolist()


@given(seeds, st.integers(2, 300), st.integers(1, 3))
@settings(max_examples=15, deadline=None)
def test_hidden_samples_have_the_same_bits_on_one_core_and_two(seed, samples, structures):
    with Graph.scratch():
        loss = unrolled(Habit(seed, samples, structures=structures))
        program = Program(loss.total, loss.wanted, engine="tape")
        one, two, piece = on_cores(1, program), on_cores(2, program), whole(Program(loss.total, [], engine="tape"))
    assert same(one, two) and same(one.value, piece.value)


def test_a_walk_downhill_has_the_same_bits_on_one_core_and_two():
    def walk():
        with Graph.scratch():
            program, data = network(100)
            return program.minimize(0.05, 30, *data), program.weights

    assert same(on_cores(1, walk), on_cores(2, walk))
    assert np.allclose(walk()[0], whole(walk)[0], rtol=1e-12)


def test_batches_of_any_lengths_may_follow_each_other():
    with Graph.scratch():
        program, _ = network(1)
        for samples in [*EDGES, *reversed(EDGES), 3]:
            fresh, data = network(samples)
            assert same(program(*data), fresh(*data)) and same(program(*data), fresh(*data))


# --- when ---------------------------------------------------------------------


def test_the_plan_and_the_number_of_samples_alone_say_whether_there_are_halves(halved):
    halved.undo()
    with Graph.scratch():
        program, data = network(3)
        program(*data)
        tape = next(iter(program._backends.values())).tape.twin()

        def is_halved(samples, cores):
            halved.setattr(helper, "cores", lambda: cores)
            tape.set_samples([1, samples])
            return tape.places[1].half < samples

        halves = [[is_halved(samples, cores) for samples in range(1000, 200_000, 1000)] for cores in (1, 2, 64)]
    assert halves[0] == halves[1] == halves[2] == sorted(halves[0])
    assert 20 < halves[0].count(False) < 100


def test_an_explanation_tells_of_halves(halved):
    with Graph.scratch():
        program, data = network(300)
        program(*data)
        assert "300 samples in two halves and blocks of 80;" in " ".join(program.explain(*data).split())


# --- the helper -----------------------------------------------------------------


def test_without_a_thread_to_be_had_the_caller_does_it_all(halved):
    def refuse(work, arguments):
        raise RuntimeError("can't start new thread")

    with Graph.scratch():
        program, data = network(200)
        law = program(*data)
        halved.setattr(helper, "_HELPERS", [])
        halved.setattr(helper, "start_new_thread", refuse)
        assert helper.helper() is None and same(program(*data), law)


def test_where_omp_num_threads_is_one_there_is_no_helper(halved):
    halved.undo()
    halved.setenv("OMP_NUM_THREADS", "1")
    assert helper.cores() == 1 and helper.helper() is None
    halved.delenv("OMP_NUM_THREADS")
    assert 1 <= helper.cores() <= os.cpu_count()


def test_a_helper_that_is_busy_is_not_waited_for():
    begun, end = threading.Event(), threading.Event()
    with Graph.scratch():
        program, data = network(200)
        law = program(*data)
        helper.helper().put(busy := Job(lambda packed: begun.set() or end.wait(60), 0))
        assert begun.wait(60) and same(program(*data), law)
        end.set()
        busy.wait()


@pytest.mark.parametrize(("delay", "least", "most"), [(5.0, 8, 30), (-0.9, 470, 500)])
def test_a_helper_is_asked_often_where_it_saves_time_and_seldom_where_it_costs_some(halved, delay, least, most):
    now, asked = [0.0], []

    class Queue:
        def put(self, job):
            asked.append(job)
            now[0] += delay

    def code(packed):
        now[0] += 1.0

    halved.setattr(helper, "helper", Queue)
    halved.setattr(helper, "perf_counter", lambda: now[0])
    run = Turns(code, [1, 2, 3], None)
    for _ in range(500):
        run(0)
    assert least <= len(asked) <= most


def test_two_threads_that_ask_at_once_get_their_own_answers():
    def ask(seed):
        for program, data, law in ready[seed]:
            wrong.extend(seed for _ in range(20) if not same(program(*data), law))

    ready, wrong = [], []
    for seed in range(4):
        with Graph.scratch():
            asked = [(*network(samples, seed), samples) for samples in (60, 300)]
            ready.append([(program, data, program(*data)) for program, data, _ in asked])
            threads = [threading.Thread(target=ask, args=[seed]) for _ in range(3)]
            for each in threads:
                each.start()
            for each in threads:
                each.join()
    assert not wrong


def test_a_job_keeps_its_memory_until_it_is_done_and_no_longer():
    class Memory:
        pass

    begun, end = threading.Event(), threading.Event()
    memory = Memory()
    gone = weakref.ref(memory)
    helper.helper().put(job := Job(lambda packed: begun.set() or end.wait(60), 0, memory))
    assert begun.wait(60)
    del memory
    last = Job(int, 0)
    helper.helper().put(last)
    del job
    gc.collect()
    assert gone() is not None
    end.set()
    last.wait()
    gc.collect()
    assert gone() is None


START = """
import os, signal, sys, threading, time
import numpy as np
from naive_graph import Graph, PlaceHolder, Program, Variable, total
from naive_graph.engines.tape import helper, memory
from naive_graph.engines.tape.helper import Job
memory.LEAST_HALVED, helper.cores, helper.LOST = 0, lambda: 2, 0.05
w, x = Variable(0.5), PlaceHolder()
program = Program(total((w * x).sin() * x), [w], inputs=[x], engine="tape")
data = np.linspace(-1.0, 2.0, 300)
law = program(data)
parent, begun, end, made = os.getpid(), threading.Event(), threading.Event(), []

def slow(packed):
    made.append(os.getpid())
    begun.set()
    if os.getpid() == parent:
        end.wait(60)

def end_of(child):
    status = os.waitpid(child, 0)[1]
    assert status == 0, status
"""

EXIT = """
helper.helper().put(Job(lambda packed: time.sleep(0.5) or print("done", flush=True), 0))
raise SystemExit(3)
"""

FORK = """
child = os.fork()
if not child:
    signal.alarm(20)
    answers = [program(data) for _ in range(3)]
    assert helper._HELPERS and {each.value for each in answers} == {law.value}
    os._exit(0)
end_of(child)
assert program(data).value == law.value
"""

FORK_INSIDE = """
job = Job(slow, 0)
helper.helper().put(job)
begun.wait(60)
child = os.fork()
if not child:
    signal.alarm(20)
    job.run()
    job.wait()
    os._exit(0 if made == [parent, os.getpid()] else 1)
end_of(child)
end.set()
job.wait()
"""


def run(script, code=0):
    command = [sys.executable, "-W", "ignore", "-c", START + script]
    found = subprocess.run(command, cwd=HOUSE, capture_output=True, timeout=240)
    assert found.returncode == code, found.stderr.decode()
    return found.stdout.decode()


def test_python_ends_when_the_helper_is_done():
    assert run(EXIT, 3).split() == ["done"]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="a system without forks")
@pytest.mark.parametrize("script", [FORK, FORK_INSIDE], ids=["between two calls", "in the middle of one"])
def test_the_child_of_a_fork_has_a_helper_of_its_own_and_waits_for_none(script):
    run(script)
