"""Tasks on Dask: the same bits, in threads here and in processes elsewhere; data-parallel training."""

import os
import pickle
import signal
import subprocess
import sys
import warnings
from pathlib import Path
from threading import Thread
from time import sleep

import numpy as np
import pytest
import shards
from hypothesis import HealthCheck, given, settings
from programs import nodes, programs

import naive_graph as ng
from naive_graph import Graph, LeafNode
from naive_graph.errors import EngineError, MissingToolError
from naive_graph.tensor.differentiate import ancestors
from naive_graph.tensor.tasks.graph import task_graph
from naive_graph.tensor.tasks.on_dask import DaskEngine, dask_graph
from naive_graph.tensor.tasks.serialization import serialize

FEWER = settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
HOUSE = Path(__file__).parent.parent.parent
pytestmark = pytest.mark.filterwarnings("ignore:.* tasks took:naive_graph.errors.EngineWarning")
PATIENCE = 60  # seconds for a cluster to come up


def bits(array):
    return None if array is None else (np.shape(array), np.asarray(array).tobytes())


def found_by(run, build):
    """What every node holds after a run."""
    with Graph.scratch():
        total = build()
        run(total)
        return [(bits(node._value), bits(node._grad)) for node in ancestors([total])]


def network():
    rng = np.random.default_rng(3)
    x = LeafNode.constant(rng.normal(size=(2, 6, 6, 1)))
    hidden = ng.tensor.conv2d(x, LeafNode.parameter(rng.normal(size=(3, 3, 1, 2)))).relu()
    flat = hidden.max_pool2d(2).reshape(2, -1)
    return (flat @ LeafNode.parameter(rng.normal(size=(8, 3)))).log_softmax().mean()


def simple(total):
    total.backward()


# --- without Dask ---------------------------------------------------------------


def test_without_dask_the_engine_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "dask.threaded", None)
    with pytest.raises(MissingToolError, match=r'pip install "naive-graph\[dask\]"'):
        DaskEngine()


def test_a_client_is_one_of_dasks():
    with pytest.raises(EngineError, match=r"a distributed\.Client, or nothing, not 'localhost'"):
        DaskEngine("localhost")


def test_every_task_is_a_key_and_every_need_an_argument():
    y = network()
    graph = task_graph(y)
    drawn = dask_graph(graph, "run")
    keys = list(drawn)
    assert keys == [f"{graph.label(number)}-run" for number in range(len(graph))]
    edges = [(keys.index(need), number) for number, key in enumerate(keys) for need in drawn[key][1:]]
    assert edges == graph.edges


# --- in threads -------------------------------------------------------------------


@FEWER
@given(programs(most=6))
def test_dasks_threads_find_the_bits_of_the_simple_engine(program):
    pytest.importorskip("dask")

    def build():
        return nodes(program)[-1].sum()

    assert found_by(DaskEngine().backward, build) == found_by(simple, build)


def test_a_run_on_dask_was_timed():
    pytest.importorskip("dask")
    engine, y = DaskEngine(), network()
    engine.backward(y)
    graph, bars = engine.last_run
    assert [bar.task for bar in bars] == list(range(len(graph)))
    assert all(0.0 <= bar.start <= bar.end for bar in bars)
    assert ng.views.gantt(engine)


def test_dask_reads_a_leaf_again_that_was_written():
    pytest.importorskip("dask")
    w, engine = LeafNode.parameter([1.0]), DaskEngine()
    y = w * w
    assert engine.forward(y).tolist() == [1.0]
    w.value = [3.0]
    assert engine.incremental_forward(y).tolist() == [9.0]
    assert engine.forward(y).tolist() == [9.0]


# --- in processes -----------------------------------------------------------------


@pytest.fixture(scope="module")
def random_programs():
    """Drawn before the client starts: its threads use `random`, which Hypothesis does not allow beside itself."""
    found = []

    @settings(FEWER, max_examples=10, database=None)
    @given(programs(most=6))
    def draw(program):
        found.append(program)

    draw()
    return found


@pytest.fixture(scope="module")
def client(random_programs, tmp_path_factory):
    """A scheduler and two worker processes, started by hand."""
    distributed = pytest.importorskip("distributed")
    room = tmp_path_factory.mktemp("cluster")
    address = ["--scheduler-file", str(room / "scheduler.json"), "--no-dashboard"]
    worker = ["worker", *address, "--no-nanny", "--nthreads", "1", "--local-directory", str(room)]
    running = []
    try:
        for command in (["scheduler", "--host", "127.0.0.1", "--port", "0", *address], worker, worker):
            running.append(started(command, room / f"{len(running)}.log"))
        with distributed.Client(scheduler_file=str(room / "scheduler.json"), timeout=PATIENCE) as client:
            client.wait_for_workers(2, timeout=PATIENCE)
            yield client
    finally:
        for process in reversed(running):
            ended(process)


def started(command, log):
    paths = [str(HOUSE), str(HOUSE / "tests" / "tensor"), os.environ.get("PYTHONPATH", "")]
    settings = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths))}
    with open(log, "w") as output:
        return subprocess.Popen([sys.executable, "-m", "dask", *command], env=settings, stdout=output, stderr=output)


def ended(process):
    process.terminate()
    try:
        process.wait(10)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def test_two_processes_find_the_bits_of_the_simple_engine(client):
    engine = DaskEngine(client)
    assert found_by(engine.backward, network) == found_by(simple, network)
    assert {bar.worker for bar in engine.last_run.bars} <= {0, 1}


def test_two_processes_find_the_same_bits_on_random_programs(client, random_programs):
    for program in random_programs:

        def build(program=program):
            return nodes(program)[-1].sum()

        assert found_by(DaskEngine(client).backward, build) == found_by(simple, build)


def test_training_on_two_processes_gives_the_numbers_of_one(client):
    who = set()

    def on_workers(gradient, each):
        futures = [client.submit(gradient, *arguments, pure=False) for arguments in each]
        found = client.gather(futures)
        who.update(*client.who_has(futures).values())
        return found

    losses, weights = shards.train(on_workers)
    expected, alone = shards.train(lambda gradient, each: [gradient(*arguments) for arguments in each])
    assert losses == expected
    assert weights.tobytes() == alone.tobytes()
    assert losses[-1] < 0.9 * losses[0]
    assert len(who) == 2


def test_an_operator_of_ones_own_travels_with_its_functions(client):
    cube = ng.operator("cube_known_here_alone", lambda a: a * a * a, [lambda a, y: 3.0 * a * a])

    def build():
        return (cube(LeafNode.parameter([1.0, 2.0])) * cube(LeafNode.parameter([3.0, 0.5]))).sum()

    assert found_by(DaskEngine(client).backward, build) == found_by(simple, build)


@pytest.mark.parametrize("threads", [1, 2])
def test_workers_sum_in_the_order_of_this_process_however_many_threads_multiply(client, threads):
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=(300, 500)), rng.normal(size=(500, 300))

    def build():
        return (LeafNode.parameter(a) @ LeafNode.constant(b)).sum()

    with pytest.importorskip("threadpoolctl").threadpool_limits(threads, user_api="blas"):
        assert found_by(DaskEngine(client).backward, build) == found_by(simple, build)


def test_tasks_that_are_too_small_to_be_sent_are_said_to_be_once(client, monkeypatch):
    monkeypatch.setattr("naive_graph.tensor.tasks.on_dask.MIN_WARNED_SECONDS", 0.0)
    monkeypatch.setattr("naive_graph.tensor.tasks.on_dask.MAX_OVERHEAD", 0.0)
    engine, y = DaskEngine(client), network()
    with pytest.warns(ng.errors.EngineWarning, match=r"tasks took .* too small to be sent.*DAGExecutionEngine"):
        engine.backward(y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        engine.backward(y)


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="nothing is killed without a word there")
def test_a_worker_killed_in_the_middle_loses_nothing(client, tmp_path):
    slow = ng.operator("slow_on_workers", lambda a: (sleep(0.3), a * a)[1], [lambda a, y: 2.0 * a])

    def build():
        return sum((slow(LeafNode.parameter([1.0 + place, 2.0])) for place in range(8)), LeafNode.constant(0.0)).sum()

    known = set(client.scheduler_info(n_workers=-1)["workers"])
    address = client.scheduler_info()["address"]
    worker = started(["worker", address, "--no-nanny", "--nthreads", "1", "--no-dashboard", "--local-directory",
                      str(tmp_path)], tmp_path / "log")  # fmt: skip
    try:
        client.wait_for_workers(len(known) + 1, timeout=PATIENCE)
        (new,) = set(client.scheduler_info(n_workers=-1)["workers"]) - known
        struck = []

        def strike():
            while worker.poll() is None and not struck:
                if client.processing([new])[new] and client.has_what([new])[new]:  # it is at work, and others need it
                    struck.append(new)
                    worker.kill()

        thread = Thread(target=strike)
        thread.start()
        found = found_by(DaskEngine(client).backward, build)
        struck.append("too late")
        thread.join()
        assert struck[0] == new
        assert found == found_by(simple, build)
    finally:
        ended(worker)


LOST = """
import os, signal, sys
from threading import Thread
from time import sleep
import distributed
import numpy as np
import naive_graph as ng
from naive_graph.errors import EngineError, TrainingError
from naive_graph.tensor.tasks import on_dask

on_dask.MAX_SECONDS_WITHOUT_WORKERS = 1
who, file, *pids = sys.argv[1:]
with distributed.Client(scheduler_file=file, timeout=60) as client:
    client.wait_for_workers(1)

    def strike():
        while not any(client.processing().values()):
            sleep(0.01)
        for pid in pids:
            os.kill(int(pid), signal.SIGKILL)

    Thread(target=strike).start()
    w = ng.LeafNode.parameter([1.0, 2.0])
    network = ng.Sequential([ng.sequential.Dense(2), ng.sequential.Dense(1)], 3, initializer=0.5)
    before = network.predict([1.0, 2.0, 3.0])
    slow = ng.operator("slow_until_the_end", lambda a: (sleep(0.5), a)[1], [lambda a, y: 1.0])
    try:
        if who == "engine":
            on_dask.DaskEngine(client).backward(slow(slow(slow(w))).sum())
        else:
            network.fit(np.ones((3000, 3)), np.ones((3000, 1)), workers="dask", progress=False)
    except (EngineError, TrainingError) as error:
        print(type(error).__name__, error, flush=True)
    assert w._grad is None
    assert network.predict([1.0, 2.0, 3.0]) == before
    print("as before", flush=True)
"""


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="nothing is killed without a word there")
@pytest.mark.parametrize("who", ["engine", "network"])
@pytest.mark.parametrize("dead", ["workers", pytest.param("all", marks=pytest.mark.slow)])
def test_where_all_workers_are_killed_it_is_said_and_nothing_is_changed(who, dead, tmp_path):
    pytest.importorskip("distributed")
    file = tmp_path / "scheduler.json"
    address = ["--scheduler-file", str(file), "--no-dashboard"]
    worker = ["worker", *address, "--no-nanny", "--nthreads", "1", "--local-directory", str(tmp_path)]
    running = []
    try:
        for command in (["scheduler", "--host", "127.0.0.1", "--port", "0", *address], worker):
            running.append(started(command, tmp_path / f"{len(running)}.log"))
        while not file.exists():
            sleep(0.05)
        pids = [str(each.pid) for each in running[dead == "workers" :]]
        told = subprocess.run([sys.executable, "-c", LOST, who, str(file), *pids], capture_output=True, text=True)
        says, *_, last = told.stdout.splitlines()
        assert says.startswith("EngineError" if who == "engine" else "TrainingError")
        assert "Dask has lost workers, or its scheduler" in says
        assert last == "as before"
    finally:
        for process in reversed(running):
            ended(process)


def test_an_array_keeps_its_layout_on_the_way():
    pytest.importorskip("cloudpickle")
    spread = np.broadcast_to(np.array([[1.0], [2.0]]), (2, 3)).T
    there = pickle.loads(serialize(spread))
    assert there.strides == spread.strides
    assert there.tolist() == spread.tolist()
