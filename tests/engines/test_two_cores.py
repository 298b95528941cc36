"""Many samples run in two halves, on one core or on two: no bit depends on which."""

import threading

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from random_graphs import seeds
from unrolled import Habit, unrolled

import naive_graph as ng
from naive_graph import PlaceHolder, Program, Variable
from naive_graph.engines.compiled import plan


@pytest.fixture(autouse=True)
def halves(monkeypatch):
    """Here every batch of two blocks and more runs in halves."""
    monkeypatch.setattr(plan, "HALVED", 1)


def on_cores(monkeypatch, many, make, *inputs):
    """What a new Program answers: the values and the gradient, thrice, and whether it ran in halves."""
    monkeypatch.setattr(plan, "has_two_cores", lambda: many == 2)
    program = make()
    found = [program(*inputs) for _ in range(3)]
    code = next(iter(program._backends.values())).tape
    return [np.array(part).tobytes() for answer in found for part in answer], code.halves


def centred(seed):
    """A loss that gathers the samples thrice: their mean, their spread, and what is left."""
    loss = unrolled(Habit(seed, 1, data=PlaceHolder, library=False))
    term, xs = loss.terms[0], loss.data[0]
    away = term - ng.mean(term)
    spread = ng.mean(away.square())
    return ng.total(away / (spread + 1.0) * loss.weights[0]), loss.weights, xs


@given(seeds, st.integers(1, 300))
@settings(max_examples=8, deadline=None)
def test_one_core_and_two_give_the_same_bits(seed, samples):
    data = np.random.default_rng(seed)
    with ng.Graph.scratch(), pytest.MonkeyPatch.context() as patch:
        patch.setattr(plan, "HALVED", 1)
        loss, weights, xs = centred(seed)
        batch = data.normal(size=(samples, len(xs)))
        one, two = (on_cores(patch, many, lambda: Program(loss, weights, inputs=[xs]), batch) for many in (1, 2))
    assert one == two
    assert one[1] == (samples > 64)


def network(outputs, inputs):
    """A layer with a loss of its outputs: its products run as kernels, and their slopes as outer products."""
    xs = [PlaceHolder() for _ in range(inputs)]
    ws = [[Variable(0.1 * (i - j) + 0.05) for j in range(inputs)] for i in range(outputs)]
    hidden = [sum((w * x for w, x in zip(line[1:], xs[1:])), line[0] * xs[0]).tanh() for line in ws]
    return sum((h * h for h in hidden[1:]), hidden[0] * hidden[0]), [w for line in ws for w in line], xs


def test_layers_and_outer_products_run_in_halves(monkeypatch):
    loss, weights, xs = network(8, 9)
    batch = np.random.default_rng(0).normal(size=(200, 9))
    one, two = (on_cores(monkeypatch, many, lambda: Program(loss, weights, inputs=[xs]), batch) for many in (1, 2))
    assert one == two == (one[0], True)


def test_a_total_adds_up_in_the_order_of_the_samples_in_halves_too():
    x = PlaceHolder()
    batch = np.random.default_rng(1).normal(size=1000) * 10.0 ** np.random.default_rng(2).integers(-8, 8, 1000)
    total = -0.0
    for each in (batch * batch).tolist():
        total += each
    assert Program(ng.total(x * x), inputs=[x])(batch).value == total


def test_values_of_all_samples_come_in_their_order_in_halves_too():
    x = PlaceHolder()
    batch = np.arange(1000.0)
    assert np.array_equal(Program(x * x, inputs=[x])(batch).value, batch * batch)


def test_minimize_takes_the_same_steps_on_one_core_and_two(monkeypatch):
    histories = []
    for many in (1, 2):
        monkeypatch.setattr(plan, "has_two_cores", lambda many=many: many == 2)
        loss, weights, xs = network(2, 3)
        batch = np.random.default_rng(3).normal(size=(300, 3))
        histories.append(Program(ng.mean(loss), weights, inputs=[xs]).minimize(0.1, 20, batch).tobytes())
    assert histories[0] == histories[1]


@pytest.mark.parametrize("threads", ["1", "2", None])
def test_who_wants_one_core_sets_the_number_of_threads(monkeypatch, threads):
    handed = []
    monkeypatch.setattr(plan, "handed_over", lambda *given: handed.append(given))
    monkeypatch.setattr(plan.os, "cpu_count", lambda: 2)
    monkeypatch.delattr(plan.os, "sched_getaffinity", raising=False)
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    if threads is not None:
        monkeypatch.setenv("OMP_NUM_THREADS", threads)
    x = PlaceHolder()
    Program(ng.total(x * x), inputs=[x])(np.ones(300))
    assert bool(handed) == (threads != "1")


@pytest.mark.parametrize(("many", "said"), [(1, "in two halves, on one core"), (2, "in two halves, on two cores")])
def test_an_explanation_says_on_how_many_cores_the_samples_run(monkeypatch, many, said):
    monkeypatch.setattr(plan, "has_two_cores", lambda: many == 2)
    x = PlaceHolder()
    program = Program(ng.total(x * x), inputs=[x])
    program(np.ones(9))
    assert "halves" not in program.explain(np.ones(9))
    program(np.ones(300))
    assert said in program.explain(np.ones(300))


def test_where_there_are_no_threads_one_core_runs_both_halves(monkeypatch):
    def refuse(*given):
        raise RuntimeError("can't start new thread")

    x = PlaceHolder()
    program, batch = Program(ng.total(x * x), [x], inputs=[x]), np.arange(300.0)
    monkeypatch.setattr(plan, "has_two_cores", lambda: True)
    monkeypatch.setattr(threading.Thread, "start", refuse)
    plan._helper.cache_clear()
    assert np.array_equal(program(batch).gradient[0], 2 * batch)
    plan._helper.cache_clear()
