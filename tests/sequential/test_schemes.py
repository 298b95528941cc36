"""The recurrence of weights: golden numbers, and every way to run it with the same bits."""

import multiprocessing
import os
import pickle
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest
from written_networks import same, small

from naive_graph.errors import TrainingError
from naive_graph.sequential import firing, processes, workers
from naive_graph.sequential.layers import Dense
from naive_graph.sequential.model import Sequential
from naive_graph.sequential.on_dask import on_dask
from naive_graph.sequential.pipeline import schedule
from naive_graph.sequential.processes import in_processes
from naive_graph.sequential.schemes import copied, doubled, in_cycles, in_series, newest
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
    given = [copied(half) for half in begun]
    x, y = x[: count * network.batch_size], y[: count * network.batch_size]
    ran = in_threads(network, begun, x, y, policy, parts(network, 2), (before, before * network.batch_size))
    steps = [step.buffers for step in in_series(network, begun, x, y, policy, before, before * network.batch_size)]
    for found, due, own, kept in zip(ran.buffers, steps[-1] if steps else given, begun, given):
        assert same(found, due) and same(own, kept)
        for layer, first in zip(found, own):
            assert not any(np.shares_memory(layer[name], first[name]) for name in layer)


def test_processes_find_the_bits_of_the_recurrence():
    network, x, y = small()
    *_, last = in_series(network, doubled(network.weights), x, y, "delayed")
    ran = in_processes(network, doubled(network.weights), x, y, "delayed")
    assert all(map(same, ran.buffers, last.buffers)) and len(ran.losses) == 30


def test_processes_start_once_for_all_epochs(monkeypatch):
    started = []

    class Counted(processes.Team):
        def __init__(self, *given):
            super().__init__(*given)
            started.extend(each.pid for each in self.people)

    monkeypatch.setattr(processes, "Team", Counted)
    network, x, y = small()
    serial, _, _ = small()
    history = network.fit(x, y, epochs=3, workers="processes", partition=parts(network, 2), progress=False)
    serial.fit(x, y, epochs=3, policy="delayed", progress=False)
    assert same(network.weights, serial.weights) and len(history) == 3 and len(started) == 2
    assert not any(each.is_alive() for each in multiprocessing.active_children())


def test_dask_finds_the_bits_of_the_recurrence():
    pytest.importorskip("distributed")
    network, x, y = small()
    *_, last = in_series(network, doubled(network.weights), x, y, "alternate")
    ran = on_dask(network, doubled(network.weights), x, y, "alternate", parts(network, 3))
    assert all(map(same, ran.buffers, last.buffers)) and len(ran.losses) == 30


@pytest.mark.parametrize("runner", [in_series, in_threads])
def test_groups_go_on_over_epochs(runner):
    """Two runs of half the samples are one of all, where a group ends between them."""
    network, x, y = small()
    *_, whole = in_series(network, doubled(network.weights), x[:26], y[:26], "delayed")
    *_, half = in_series(network, doubled(network.weights), x[:13], y[:13], "delayed")
    if runner is in_series:
        *_, rest = in_series(network, half.buffers, x[13:26], y[13:26], "delayed", 1, 13)
    else:
        rest = in_threads(network, half.buffers, x[13:26], y[13:26], "delayed", None, (1, 13))
    assert all(map(same, rest.buffers, whole.buffers))


def test_a_failing_operator_is_named(monkeypatch):
    network, x, y = small()
    fire = firing.NetworkMachine.fire

    def failing(self, operator, taken, weights, iteration):
        if operator.name == "BComp4" and iteration == 9:
            raise ZeroDivisionError("no reason")
        return fire(self, operator, taken, weights, iteration)

    monkeypatch.setattr(firing.NetworkMachine, "fire", failing)  # a fault that is put in
    before = copied(network.weights)
    with pytest.raises(TrainingError, match="BComp4 failed at sample 9: ZeroDivisionError: no reason"):
        network.fit(x, y, workers="threads", partition=parts(network, 2), shuffle=False, progress=False)
    assert same(network.weights, before)


@pytest.mark.parametrize("which", [0, 1])
def test_a_worker_that_is_killed_is_named_and_the_last_whole_group_stays(monkeypatch, which):
    started, killed = threading.Event(), []

    class Seen(processes.Team):
        def __init__(self, *given):
            super().__init__(*given)
            killed.append(self)
            started.set()

    def kill():
        started.wait(60)
        while min(killed[0].ended) < 3:
            time.sleep(0.001)
        killed[0].people[which].kill()
        killed.append(time.monotonic())

    monkeypatch.setattr(processes, "Team", Seen)
    network, x, y = small()
    whole, _, _ = small()
    x, y = np.tile(x, (100, 1)), np.tile(y, (100, 1))
    killer = threading.Thread(target=kill)
    killer.start()
    with pytest.raises(TrainingError, match=r"The worker of .* died \(exit code -9\).* last whole group"):
        network.fit(x, y, workers="processes", partition=parts(network, 2), progress=False)
    killer.join()
    assert time.monotonic() - killed[1] < 5.0
    assert 3 * 13 <= network._done < len(x) and network._done % 13 == 0
    network.fit(x, y, policy="delayed", resume=True, progress=False)
    whole.fit(x, y, policy="delayed", progress=False)
    assert same(network.weights, whole.weights)  # the bits of a training that nobody broke off


def test_a_worker_that_dies_while_it_starts_is_named(monkeypatch):
    class Stillborn(processes.Team):
        def __init__(self, *given):
            super().__init__(*given)
            self.people[0].kill()

    monkeypatch.setattr(processes, "Team", Stillborn)
    network, x, y = small()
    with pytest.raises(TrainingError, match=r"The worker of .*copy.* died"):
        network.fit(x, y, workers="processes", partition=parts(network, 2), progress=False)
    assert network._done == 0


def test_what_a_process_is_sent_at_its_start_fits_into_a_pipe():
    network = Sequential([Dense(300), Dense(300)], 300, 0.1, 9, initializer="glorotUniform")
    network.fit(np.ones((9, 300)), np.ones((9, 300)), policy="delayed", progress=False)
    assert len(pickle.dumps(processes.bare(network))) < 16_384  # the smallest pipe of Linux has four times as much
    assert same(pickle.loads(pickle.dumps(network)).weights, network.weights)


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
        flow, divided = workers.checked(network, count and parts(network, count))
        assert [each.name for each in flow.crossing(divided)] == expected


ENDLESS = """
import numpy as np
from naive_graph import Sequential
from naive_graph.sequential import Dense

if __name__ == "__main__":
    network = Sequential([Dense(2), Dense(1)], 2, initializer=0.5, learning_rate=1e-6)
    halves = [["copy", "FComp1", "FComp2", "lossComp"], ["BComp2", "BComp1"]]
    many = 10_000_000
    network.fit(np.ones((many, 2)), np.ones((many, 1)), workers="processes", partition=halves, progress=False)
"""


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="nothing is killed without a word there")
def test_workers_end_with_a_parent_that_is_killed_and_leave_no_memory(tmp_path):
    psutil = pytest.importorskip("psutil")
    script = tmp_path / "endless.py"
    script.write_text(ENDLESS)
    before = set(os.listdir("/dev/shm")) if os.path.isdir("/dev/shm") else set()
    running = subprocess.Popen([sys.executable, str(script)], stderr=subprocess.DEVNULL)
    parent = psutil.Process(running.pid)
    children = []
    for _ in range(600):
        children = parent.children(recursive=True)
        if (
            sum(each.cpu_times().user > 1.0 for each in children) == 2
        ):  # two workers, at work, and who keeps their memory
            break
        time.sleep(0.1)
    parent.kill()
    running.wait()
    _, left = psutil.wait_procs(children, timeout=20)
    for each in left:
        each.kill()
    assert len(children) >= 2 and not left
    assert not {name for name in os.listdir("/dev/shm") if name.startswith("psm_")} - before if before else True
