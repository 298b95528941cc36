"""The checker of weights, beside runs by cycles with real weights: who meets whom in the memory."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from written_networks import same

from naive_graph.sequential.layers import Activation, Conv2D, Dense
from naive_graph.sequential.model import Sequential
from naive_graph.sequential.partitioning import Costs, partition
from naive_graph.sequential.pipeline import schedule
from naive_graph.sequential.weight_staleness import by_cycles, doubled, in_series

LAYERS = [Dense(2), Dense(3, 0), Activation("sigmoid"), Conv2D(2, (1, 2), padding=(0, 1))]


@st.composite
def pipelines(draw):
    """A network, its operators, perhaps taken apart, divided among workers; its groups, and how many samples pass."""
    layers = draw(st.lists(st.sampled_from(LAYERS), min_size=1, max_size=3).filter(is_network))
    network = Sequential(layers, (1, 3, 1), 0.02, initializer=("gaussRandom", 0, 0.3), seed=draw(st.integers(0, 9)))
    flow = network.expand(decompose=draw(st.booleans()), grain=draw(st.integers(1, 2)))
    names = list(flow.operators)
    cuts = sorted(draw(st.sets(st.integers(1, len(names) - 1), max_size=8)))
    parts = [names[start:end] for start, end in zip([0, *cuts], [*cuts, len(names)])]
    network.batch_size = draw(st.integers(1, 7))
    return network, schedule(flow, parts), draw(st.integers(1, 4 * network.batch_size + 1))


def is_network(layers):
    dense = [isinstance(each, Dense) for each in layers]
    convolved = [isinstance(each, Conv2D) for each in layers]
    return any(dense) and not any(convolved[dense.index(True) :])


def ran(network, pipeline, samples, policy):
    """Both buffers after a run by cycles: each worker in its turn, and the last worker first."""
    random = np.random.default_rng(1)
    x, y = random.normal(size=(samples, *network.input_shape)), random.normal(size=(samples, *network.output_shape))
    workers = sorted(set(pipeline.workers.values()))
    found = [by_cycles(network, pipeline, network.weights, x, y, policy, order) for order in (workers, workers[::-1])]
    *_, last = in_series(network, doubled(network.weights), x, y, policy or "delayed", flow=pipeline.dataflow, block=1)
    return found, last.buffers


@settings(max_examples=25, deadline=None)
@given(pipelines(), st.sampled_from(["delayed", "alternate"]))
def test_a_conflict_is_reported_if_and_only_if_a_bit_differs_from_the_recurrence(made, policy):
    network, pipeline, samples = made
    found, expected = ran(network, pipeline, samples, policy)
    right = all(map(same, found[0], expected)) and all(map(same, found[1], expected))
    assert right == (not pipeline.grouped(samples, network.batch_size))
    assert right or network.batch_size < pipeline.least_group


@settings(max_examples=12, deadline=None)
@given(pipelines())
def test_the_naive_scheme_conflicts_if_and_only_if_it_matters_who_comes_first(made):
    network, pipeline, samples = made
    (one, other), _ = ran(network, pipeline, samples, None)
    assert all(map(same, one, other)) == (not pipeline.naive(samples))


def test_one_worker_meets_nobody():
    network = Sequential([Dense(3), Dense(2)], 4, initializer=0.5)
    flow = network.expand()
    pipeline = schedule(flow, [list(flow.operators)])
    assert pipeline.least_group == 0 and not pipeline.naive(20) and not pipeline.grouped(20, 1)


def test_two_workers_of_whole_layers_need_groups_of_one_alone():
    network = Sequential([Dense(3), Dense(2)], 4, initializer=0.5)
    flow = network.expand()
    names = list(flow.operators)
    halves = schedule(flow, [names[:3], names[3:]])
    assert halves.least_group == 1 and not halves.grouped(30, 1)
    even = Costs(dict.fromkeys(names, 1.0), dict.fromkeys(flow.streams, 0.0))
    chosen = schedule(flow, partition(flow, 2, even))
    assert all(not chosen.grouped(30, size) for size in range(1, 9))
