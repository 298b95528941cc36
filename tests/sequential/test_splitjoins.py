"""Splitjoins are data parallelism: networks taken apart train on every kind of worker, in any division."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from written_networks import same

from naive_graph.sequential import expand, schedule
from naive_graph.sequential.layers import Activation, AveragePooling2D, Conv2D, Dense, Dropout, MaxPooling2D
from naive_graph.sequential.model import Sequential
from naive_graph.sequential.partitioning import Partition, measure_costs, partition
from naive_graph.sequential.sdf_runtime import NetworkMachine, firings
from naive_graph.sequential.weight_staleness import doubled, in_series
from naive_graph.sequential.workers import in_threads
from naive_graph.views import cycles

LAYERS = [
    Conv2D(4, (2, 3), (2, 1), padding=(1, 2)), MaxPooling2D(2), Activation("relu"), AveragePooling2D((1, 2)),
    Dense(3), Dropout(0.3), Dense(2), Activation("softmax"),
]  # fmt: skip


def pictures(**wishes):
    """A network with every layer, and samples for it: whole groups and a short one."""
    network = Sequential(LAYERS, (7, 6, 2), 0.1, 21, "crossEntropy", "glorotUniform", seed=3, **wishes)
    random = np.random.default_rng(0)
    return network, random.random((50, 7, 6, 2)), np.eye(2)[random.integers(0, 2, 50)]


def divided(flow, cuts):
    names = list(flow.operators)
    return [names[start:end] for start, end in zip([0, *cuts], [*cuts, len(names)])]


@settings(max_examples=5, deadline=None)
@given(
    grain=st.integers(1, 4),
    cuts=st.sets(st.integers(1, 30), max_size=4),
    policy=st.sampled_from(["delayed", "alternate"]),
)
def test_threads_find_the_bits_of_the_recurrence_in_any_division(grain, cuts, policy):
    network, x, y = pictures()
    flow = expand(network, decompose=True, grain=grain)
    *_, last = in_series(network, doubled(network.weights), x, y, policy, flow=flow)
    ran = in_threads(network, doubled(network.weights), x, y, policy, Partition(divided(flow, sorted(cuts)), [], flow))
    assert all(map(same, ran.buffers, last.buffers)) and ran.ended == 3 and len(ran.losses) == 50


def test_taken_apart_a_training_differs_from_the_whole_ones_by_rounding():
    """Each step adds an error of some n eps of the terms; 6 groups of these sizes stay below 1e-12."""
    whole, x, y = pictures()
    apart, _, _ = pictures()
    flow = expand(apart, decompose=True, grain=2)
    whole.fit(x, y, epochs=2, policy="delayed", progress=False)
    apart.fit(
        x, y, epochs=2, workers="threads", partition=partition(flow, 2, measure_costs(apart, flow, 1)), progress=False
    )
    for one, other in zip(whole.weights, apart.weights):
        for name in one:
            np.testing.assert_allclose(other[name], one[name], rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("grain", [1, 2, 3])
def test_every_stream_has_the_shape_of_what_passes_and_pushes_what_is_popped(grain):
    network, x, y = pictures()
    flow = expand(network, decompose=True, grain=grain)
    feeds = {"data": x[:1], "label": y[:1]}
    fired = {each.operator: each for each in firings(flow, NetworkMachine(network), network.weights, feeds)}
    assert fired.keys() == flow.operators.keys()
    for stream in flow.streams.values():
        ends = [(stream.writer, "given"), (stream.reader, "taken")]
        found = [getattr(fired[name], side)[stream.name] for name, side in ends if name]
        assert {each.shape for each in found} == {stream.shape}
        assert {each.size for each in found} == {stream.push, stream.pop, stream.peek}


def test_a_network_taken_apart_has_a_pipeline_that_can_be_looked_at():
    network = Sequential([Dense(3), Dense(2)], 4, initializer=0.5)
    pipeline = schedule(expand(network, decompose=True))
    assert pipeline.least_group > 4 and pipeline.naive(20)
    assert pipeline.grouped(40, pipeline.least_group) == [] != pipeline.grouped(40, pipeline.least_group - 1)
    assert cycles(pipeline, 10, pipeline.least_group).axes


def test_data_parallelism_is_written_and_drawn_as_operators():
    flow = Sequential([Conv2D(2, 2), Dense(2)], (3, 3, 1), initializer=1.0).expand(decompose=True, grain=1)
    kinds = {name: each.kind for name, each in flow.operators.items()}
    assert kinds["FComp1.split_x"] == "duplicate" and kinds["BComp2.split_x"] == "roundrobin"
    assert kinds["BComp1.dilate"] == "dilate" and kinds["BComp1.split_delta"] == "duplicate"


def test_the_text_is_the_composite_with_its_streams_rates_and_weights():
    text = Sequential([Dense(3), Dense(2, 0)], 4, initializer=0.5).expand().text().splitlines()
    assert text[0].startswith("composite sequential_res(output stream<double x> res; input stream<double x> data, ")
    assert text[1:4] == ["  double W1[4][3];", "  double b1[3];", "  double W2[3][2];"]
    assert "  stream<double x> copy_1, copy_2;  // 4 a firing" in text
    apart = Sequential([Dense(3)], 4, initializer=0.5).expand(decompose=True, grain=2).text()
    assert " = duplicate FComp1.split_x(copy_1);" in apart and " = roundrobin BComp1.split_x(copy_2);" in apart
