"""The recurrence of weights: golden numbers, and every way to run it with the same bits."""

import signal
import threading
import time

import numpy as np
import pytest
from written_networks import same, small

from naive_graph.errors import SequentialError, TrainingError
from naive_graph.sequential import sdf_runtime as firing
from naive_graph.sequential import workers
from naive_graph.sequential.layers import Activation, Conv2D, Dense
from naive_graph.sequential.model import Sequential
from naive_graph.sequential.on_dask import on_dask
from naive_graph.sequential.partitioning import Partition
from naive_graph.sequential.pipeline import schedule
from naive_graph.sequential.weight_staleness import copy_weights, doubled, in_cycles, in_series, newest
from naive_graph.sequential.workers import in_threads

START = [{"W": np.array([[0.8]])}, {"W": np.array([[0.3]])}]


def scalar(size=7):
    """y = x w1 w2, and its samples."""
    network = Sequential([Dense(1, 0), Dense(1, 0)], 1, 0.1, 7, initializer=1.0)
    network.batch_size = size
    x = np.array([[1 + 0.5 * (place % 3)] for place in range(42)])
    return network, x, np.ones((42, 1))


@pytest.mark.parametrize(
    "policy, golden",
    [
        ("delayed", [(0.826914285714286, 0.371771428571429), (0.854685714285714, 0.445828571428571),
                     (0.882901426630408, 0.508587497549085), (0.908974937940605, 0.558572310246677)]),
        ("alternate", [(0.826914285714286, 0.371771428571429), (0.827771428571429, 0.374057142857143),
                       (0.855129998058979, 0.434530354691942), (0.855562142185215, 0.435556726940447)]),
    ],
)  # fmt: skip
def test_golden_recurrence(policy, golden):
    network, x, y = scalar()
    found = []
    for step in in_series(network, doubled(START), x, y, policy):
        found.append(tuple(float(each["W"][0, 0]) for each in newest(step.buffers, step.group + 1)))
    np.testing.assert_allclose(found[:4], golden, rtol=1e-14)


def test_golden_serial_descent_and_the_naive_pipeline():
    network, x, y = scalar(size=1)
    network.values = [each["W"][0, 0] for each in START]
    network.fit(x[:10], y[:10], batch_size=1, shuffle=False)
    found = network.values
    np.testing.assert_allclose(found, (0.963277127948904, 0.626714128369926), rtol=1e-14)
    naive = in_cycles(network, schedule(network.expand()), START, x[:10], y[:10], None)
    np.testing.assert_allclose(
        [float(each["W"][0, 0]) for each in naive], (1.03413313184668, 0.706447864318458), rtol=1e-14
    )


@pytest.mark.parametrize("policy", ["delayed", "alternate"])
def test_cycle_by_cycle_the_bits_are_those_of_the_recurrence(policy):
    network, x, y = small()
    *_, last = in_series(network, doubled(network.weights), x, y, policy, block=1)
    found = in_cycles(network, schedule(network.expand()), network.weights, x, y, policy)
    assert same(found, newest(last.buffers, last.group + 1))


def parts(network, count):
    names = list(network.expand().operators)
    return [[str(name) for name in part] for part in np.array_split(names, count)]


@pytest.mark.parametrize("policy", ["delayed", "alternate"])
@pytest.mark.parametrize("count", [1, 2, 3, 12])
def test_threads_find_the_bits_of_the_recurrence(policy, count):
    network, x, y = small()
    *_, last = in_series(network, doubled(network.weights), x, y, policy)
    ran = in_threads(network, doubled(network.weights), x, y, policy, parts(network, count), timed=True)
    assert all(map(same, ran.buffers, last.buffers))
    assert ran.ended == 3 and len(ran.losses) == 30 and len(ran.bars) == (4 + 4 + 1) * 12  # blocks of 4


@pytest.mark.parametrize("policy", ["delayed", "alternate"])
@pytest.mark.parametrize("count", [0, 1, 2, 3])
@pytest.mark.parametrize("before", [0, 1])
def test_few_groups_leave_both_buffers_and_none_of_what_was_given(policy, count, before):
    """Also those that no group wrote, whose weights are then those that were there."""
    network, x, y = small()
    begun = doubled(network.weights)
    begun[1][0]["W"] += 0.125
    given = [copy_weights(half) for half in begun]
    x, y = x[: count * network.batch_size], y[: count * network.batch_size]
    ran = in_threads(network, begun, x, y, policy, parts(network, 2), (before, before * network.batch_size))
    steps = [step.buffers for step in in_series(network, begun, x, y, policy, before, before * network.batch_size)]
    for found, due, own, kept in zip(ran.buffers, steps[-1] if steps else given, begun, given):
        assert same(found, due) and same(own, kept)
        for layer, first in zip(found, own):
            assert not any(np.shares_memory(layer[name], first[name]) for name in layer)


def test_dask_finds_the_bits_of_the_recurrence():
    pytest.importorskip("distributed")
    network, x, y = small()
    *_, last = in_series(network, doubled(network.weights), x, y, "alternate")
    ran = on_dask(network, doubled(network.weights), x, y, "alternate", parts(network, 3))
    assert all(map(same, ran.buffers, last.buffers)) and len(ran.losses) == 30


def test_dask_finds_them_where_operators_are_taken_apart():
    pytest.importorskip("distributed")
    layers = [Conv2D(3, 2), Dense(5), Dense(2, use_bias=0)]
    network = Sequential(layers, (3, 4, 2), 0.1, 30, initializer="glorotUniform")
    random = np.random.default_rng(0)
    x, y = random.random((70, 3, 4, 2)), random.random((70, 2))
    flow = network.expand(decompose=True, grain=2)
    names = list(flow.operators)
    divided = Partition([names[:9], names[9:-8], names[-8:]], [], flow)
    *_, last = in_series(network, doubled(network.weights), x, y, "delayed", flow=flow)
    ran = on_dask(network, doubled(network.weights), x, y, "delayed", divided)
    assert all(map(same, ran.buffers, last.buffers)) and len(ran.losses) == len(x)


def test_dask_runs_a_network_without_weights():
    pytest.importorskip("distributed")
    network, x, y = Sequential([Activation("relu")], 1, batch_size=5), np.ones((10, 1)), np.zeros((10, 1))
    *_, last = in_series(network, doubled(network.weights), x, y, "delayed")
    ran = on_dask(network, doubled(network.weights), x, y, "delayed")
    assert ran.buffers == last.buffers and len(ran.losses) == 10


@pytest.mark.parametrize("runner", [in_series, in_threads, on_dask])
def test_groups_go_on_over_epochs(runner):
    """Two runs of half the samples are one of all, where a group ends between them."""
    if runner is on_dask:
        pytest.importorskip("distributed")
    network, x, y = small()
    *_, whole = in_series(network, doubled(network.weights), x[:26], y[:26], "delayed")
    *_, half = in_series(network, doubled(network.weights), x[:13], y[:13], "delayed")
    if runner is in_series:
        *_, rest = in_series(network, half.buffers, x[13:26], y[13:26], "delayed", 1, 13)
    else:
        rest = runner(network, half.buffers, x[13:26], y[13:26], "delayed", None, (1, 13))
    assert all(map(same, rest.buffers, whole.buffers))


def test_a_failing_operator_is_named(monkeypatch):
    network, x, y = small()
    fire = firing.NetworkMachine.fire

    def failing(self, operator, taken, weights, iteration):
        if operator.name == "BComp4" and iteration == 9:
            raise ZeroDivisionError("no reason")
        return fire(self, operator, taken, weights, iteration)

    monkeypatch.setattr(firing.NetworkMachine, "fire", failing)  # a fault that is put in
    before = copy_weights(network.weights)
    with pytest.raises(TrainingError, match="BComp4 failed at sample 9: ZeroDivisionError: no reason"):
        network.fit(x, y, workers="threads", partition=parts(network, 2), shuffle=False, progress=False)
    assert same(network.weights, before)


def test_of_two_failing_workers_the_first_in_time_is_told(monkeypatch):
    network, x, y = small()
    fire, has_failed = firing.NetworkMachine.fire, threading.Event()

    def failing(self, operator, taken, weights, iteration):
        if operator.name == "FComp1" and iteration == 5:
            has_failed.wait(10)
            time.sleep(0.02)
            raise ZeroDivisionError("a second fault")
        if operator.name == "BComp4" and iteration == 1:
            has_failed.set()
            raise ZeroDivisionError("the first fault")
        return fire(self, operator, taken, weights, iteration)

    monkeypatch.setattr(firing.NetworkMachine, "fire", failing)  # faults that are put in
    with pytest.raises(TrainingError, match="BComp4 failed at sample 1: ZeroDivisionError: the first fault"):
        in_threads(network, doubled(network.weights), x, y, "delayed", parts(network, 2))


def test_a_thread_that_cannot_start_ends_the_others(monkeypatch):
    network, x, y = small()
    start, before = threading.Thread.start, threading.active_count()

    def refuse_the_second(thread):
        if threading.active_count() > before:
            raise RuntimeError("can't start new thread")
        start(thread)

    monkeypatch.setattr(threading.Thread, "start", refuse_the_second)
    with pytest.raises(RuntimeError, match="can't start new thread"):
        in_threads(network, doubled(network.weights), x, y, "delayed", parts(network, 2))
    assert threading.active_count() == before


@pytest.mark.skipif(not hasattr(signal, "pthread_kill"), reason="Ctrl-C is sent by signal here")
def test_a_ctrl_c_leaves_whole_groups():
    network, x, y = small()
    x, y = np.tile(x, (200, 1)), np.tile(y, (200, 1))
    timer = threading.Timer(0.3, signal.raise_signal, [signal.SIGINT])
    timer.start()
    ran = in_threads(network, doubled(network.weights), x, y, "delayed")
    timer.join()
    assert len(ran.losses) % 13 == 0 and 0 < len(ran.losses) < len(x) and ran.ended == len(ran.losses) // 13
    *_, last = in_series(network, doubled(network.weights), x[: len(ran.losses)], y[: len(ran.losses)], "delayed")
    assert all(map(same, ran.buffers, last.buffers))


def test_streams_between_workers_are_those_from_one_part_to_another():
    network, _, _ = small()
    for count, expected in ((1, []), (None, ["_Loss", "F5_B5", "F3_B4", "F3_B3", "F2_B2", "copy_2"])):
        flow, divided = workers.resolve_partition(network, count and parts(network, count))
        assert [each.name for each in flow.crossing_streams(divided)] == expected


def test_workers_are_threads_or_dask():
    network, x, y = small()
    with pytest.raises(SequentialError, match='"threads", or "dask" for several machines, not'):
        network.fit(x, y, workers="processes", progress=False)


@pytest.mark.parametrize("given", [{"policy": "delayed"}, {"policy": "alternate"}, {"workers": "threads"}])
def test_a_batch_that_is_no_larger_than_the_pipeline_is_refused_however_it_is_asked_for(given):
    network, x, y = small()
    before = copy_weights(network.weights)
    with pytest.raises(SequentialError, match=r"must exceed \d+ stages of its pipeline"):
        network.fit(x, y, batch_size=2, progress=False, **given)
    assert same(network.weights, before)
