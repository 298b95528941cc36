"""The division of operators among workers is the best there is."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from written_networks import same, small

from naive_graph.errors import SequentialError
from naive_graph.sequential import model, partitioning
from naive_graph.sequential.layers import Conv2D, Dense, MaxPooling2D
from naive_graph.sequential.model import Sequential
from naive_graph.sequential.partitioning import (
    Costs,
    count_multiplications,
    measure_costs,
    partition,
    run_costs,
    split_large_operators,
)

NETWORK = small()[0]
FLOW = NETWORK.expand()
seconds = st.floats(0.0, 1.0)


@given(st.lists(seconds, min_size=12, max_size=12), st.lists(seconds, min_size=20, max_size=20), st.integers(1, 12))
def test_no_division_into_runs_is_better(work, streams, workers):
    costs = Costs(dict(zip(FLOW.operators, work, strict=True)), dict(zip(FLOW.streams, streams)))
    cost = run_costs(FLOW, costs)
    count = len(FLOW.operators)
    best = min(
        max(cost[start, end] for start, end in zip((0, *cuts), (*cuts, count)))
        for used in range(workers)
        for cuts in combinations(range(1, count), used)
    )
    found = partition(FLOW, workers, costs)
    assert found.slowest == pytest.approx(best)
    assert [name for part in found.parts for name in part] == list(FLOW.operators)
    assert len(found.parts) <= workers


def test_measured_costs_are_of_every_operator_and_stream():
    costs = measure_costs(NETWORK, repeats=2)
    assert costs.work.keys() == FLOW.operators.keys() and costs.stream.keys() == FLOW.streams.keys()
    assert min(costs.work.values()) > 0 and costs.serial == pytest.approx(sum(costs.work.values()))


@pytest.mark.parametrize("workers", [0, -2, 1.5, "2", None])
def test_a_wrong_number_of_workers_is_refused(workers):
    even = Costs(dict.fromkeys(FLOW.operators, 1.0), dict.fromkeys(FLOW.streams, 0.0))
    with pytest.raises(SequentialError, match="workers"):
        partition(FLOW, workers, even)


def test_costs_of_the_parts_of_splitjoins_are_measured_too():
    assert np.isfinite(list(measure_costs(NETWORK, NETWORK.expand(True, 2), 1).work.values())).all()


def test_threads_that_wait_for_one_lock_are_not_worth_a_second_worker():
    for lock, workers in ((0.0, 2), (0.5, 2), (1.0, 1)):
        costs = Costs(dict.fromkeys(FLOW.operators, 1.0), dict.fromkeys(FLOW.streams, 0.01), lock)
        found = partition(FLOW, 2, costs)
        assert len(found.parts) == workers
        assert found.slowest == pytest.approx({0.0: 6.05, 0.5: 9.07, 1.0: 12.0}[lock], rel=0.01)


def test_a_fit_divides_by_itself_and_says_where_one_worker_is_as_fast(monkeypatch, capsys):
    monkeypatch.setattr(model, "cpu_count", lambda: 2)
    serial, x, y = small()
    serial.fit(x, y, policy="delayed", progress=False)
    for lock in (0.0, 1.0):

        def on_a_quiet_machine(network, flow, *wishes, lock=lock):
            return Costs(dict.fromkeys(flow.operators, 1.0), dict.fromkeys(flow.streams, 0.01), lock)

        monkeypatch.setattr(partitioning, "measure_costs", on_a_quiet_machine)
        network, _, _ = small()
        network.fit(x, y, workers="threads")
        assert same(network.weights, serial.weights)
        assert ("One worker alone is as fast" in capsys.readouterr().err) == (lock == 1.0)


def heavy():
    """A network of which one layer is nearly all the work, and samples for it."""
    network = Sequential([Dense(16), Dense(3)], 12, 0.1, 12, initializer="glorotUniform")
    random = np.random.default_rng(3)
    return network, random.random((50, 12)), random.random((50, 3))


@pytest.fixture
def two_cores(monkeypatch):
    """A machine with two cores, to whom nothing is too small to be taken apart."""
    monkeypatch.setattr(model, "cpu_count", lambda: 2)
    monkeypatch.setattr(partitioning, "LEAST_PIECE", 1)
    return monkeypatch


def test_a_heavy_operator_is_taken_apart_and_trains_as_the_whole_one(two_cores):
    flow = split_large_operators(heavy()[0], 2)
    assert "BComp1.worker_1" in flow.operators and "BComp2" in flow.operators
    (apart, x, y), (whole, _, _) = heavy(), heavy()
    apart.fit(x, y, epochs=2, workers="threads", progress=False)
    whole.fit(x, y, epochs=2, policy="delayed", progress=False)
    assert all(np.allclose(a[name], b[name], 1e-12, 1e-14) for a, b in zip(apart.weights, whole.weights) for name in a)


@settings(max_examples=10, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_what_is_measured_changes_no_bit_of_a_training(two_cores, data):
    def on_a_busy_machine(network, flow, *wishes):
        work = {name: data.draw(seconds, name) for name in flow.operators}
        return Costs(work, dict.fromkeys(flow.streams, 0.01), data.draw(seconds, "lock"))

    def trained():
        network, x, y = heavy()
        network.fit(x, y, workers="threads", progress=False)
        return network.weights

    two_cores.setattr(partitioning, "measure_costs", on_a_busy_machine)
    assert same(trained(), trained())


def test_a_small_network_is_taken_apart_nowhere():
    assert split_large_operators(small()[0], 2).operators.keys() == FLOW.operators.keys()


def test_a_convolution_multiplies_its_kernel_at_every_place():
    flow = Sequential([Conv2D(5, (2, 3)), MaxPooling2D(2)], (7, 9, 4)).expand()
    counted = {name: count_multiplications(flow, each) for name, each in flow.operators.items()}
    once = 6 * 7 * 5 * (2 * 3 * 4)
    assert {name: each for name, each in counted.items() if each} == {"FComp1": once, "BComp1": 2 * once}
