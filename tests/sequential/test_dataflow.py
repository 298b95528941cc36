"""A network as operators and single-reader streams, whole and taken apart."""

import numpy as np
import pytest
from written_networks import V1, V2, V3, small

from naive_graph.errors import SequentialError
from naive_graph.sequential.compile import parse
from naive_graph.sequential.layers import Activation, AveragePooling2D, Conv2D, Dense, MaxPooling2D
from naive_graph.sequential.model import Sequential
from naive_graph.sequential.sdf_runtime import NetworkMachine, firings


def written(flow):
    return {each.name: (each.inputs, each.outputs) for each in flow.operators.values()}


def test_the_expansion_of_the_second_example_is_the_specifications():
    assert written(parse(V2)["out"].expand()) == {
        "copy": (["img"], ["copy_1", "copy_2"]),
        "FComp1": (["copy_1"], ["F1_F2", "F1_B2"]),
        "FComp2": (["F1_F2"], ["F2_F3", "F2_B3"]),
        "FComp3": (["F2_F3"], ["F3_F4"]),
        "FComp4": (["F3_F4"], ["F4_loss", "F4_B4"]),
        "lossComp": (["F4_loss", "cls"], ["_Loss"]),
        "BComp4": (["_Loss", "F4_B4"], ["B4_B3"]),
        "BComp3": (["B4_B3", "F2_B3"], ["B3_B2"]),
        "BComp2": (["B3_B2", "F1_B2"], ["B2_B1"]),
        "BComp1": (["B2_B1", "copy_2"], ["out"]),
    }


def test_average_pooling_needs_no_input_backwards():
    flow = Sequential([AveragePooling2D(2), Dense(2)], (4, 4, 1), initializer=1.0).expand()
    assert "copy" not in flow.operators and flow.operators["BComp1"].inputs == ["B2_B1"]


@pytest.mark.parametrize("text", [V1, V2, V3])
@pytest.mark.parametrize("decompose", [False, True])
def test_every_stream_has_one_writer_and_one_reader(text, decompose):
    (network,) = (parse(text)[name] for name in parse(text))
    flow = network.expand(decompose, 64)
    for stream in flow.streams.values():
        writers = [each.name for each in flow.operators.values() if stream.name in each.outputs]
        readers = [each.name for each in flow.operators.values() if stream.name in each.inputs]
        assert writers == [stream.writer] * bool(stream.writer)
        assert readers == [stream.reader] * bool(stream.reader)


def test_golden_numbers_of_the_first_example():
    network = parse(V1)["res"]
    found = {each.operator: each for each in run(network, network.expand(), np.arange(1.0, 5.0), np.array([1.0, 0.0]))}
    assert found["FComp1"].given["F1_F2"].tolist() == [5.0, 5.0, 5.0]
    assert found["FComp2"].given["F2_loss"].tolist() == [7.5, 7.5]
    assert found["lossComp"].loss == 49.25
    assert found["BComp2"].gradients["W"].tolist() == [[32.5, 37.5]] * 3
    assert found["BComp1"].gradients["W"].tolist() == [[7.0 * x] * 3 for x in (1, 2, 3, 4)]
    assert found["BComp1"].given["res"].tolist() == [10.5] * 4


def run(network, flow, x, y):
    return list(
        firings(
            flow, NetworkMachine(network), network.weights, {network.streams.data: [x], network.streams.labels: [y]}
        )
    )


def gathered(network, flow, x, y):
    """The gradient at the data, and those of all weights."""
    total = [{name: np.zeros_like(array) for name, array in held.items()} for held in network.weights]
    for fired in run(network, flow, x, y):
        for name, array in fired.gradients.items():
            total[flow.operators[fired.operator].layer - 1][name][fired.part.get(name, slice(None))] += array
    return fired.given[network.streams.result], total


NETWORKS = {
    "dense": ([Dense(3), Activation("relu"), Dense(2), Activation("softmax")], (5,)),
    "pictures": ([Conv2D(4, (2, 3), (2, 1), padding=(1, 2)), MaxPooling2D(2), Conv2D(2, 1, use_bias=0),
                  AveragePooling2D((1, 2)), Dense(3)], (7, 6, 2)),
}  # fmt: skip


@pytest.mark.parametrize("grain", [1, 2, 3])
@pytest.mark.parametrize("name", NETWORKS)
def test_taken_apart_it_computes_the_same(name, grain):
    network = Sequential(*NETWORKS[name], initializer=("gaussRandom", 0, 0.5))
    random = np.random.default_rng(1)
    for array in (array for held in network.weights for array in held.values()):
        array[...] = random.normal(size=array.shape)  # biases, too
    x, y = random.random(network.input_shape), random.random(network.output_shape)
    dx, whole = gathered(network, network.expand(), x, y)
    again, parts = gathered(network, network.expand(decompose=True, grain=grain), x, y)
    np.testing.assert_allclose(again, dx, rtol=1e-12, atol=1e-12)
    for a, b in zip(whole, parts):
        for each in a:
            np.testing.assert_allclose(b[each], a[each], rtol=1e-12, atol=1e-12)


def test_the_parts_have_the_specifications_names():
    names = list(Sequential([Dense(2)], 4, initializer=1.0).expand(decompose=True).operators)
    assert {"BComp1.split_x", "BComp1.split_delta", "BComp1.worker_3", "BComp1.join"} <= set(names)


def test_a_firing_takes_one_sample_of_each_stream_and_order_is_kept():
    network, x, y = small()
    flow = network.expand()
    fired = list(firings(flow, NetworkMachine(network), network.weights, {"data": x[:4], "label": y[:4]}))
    assert len(fired) == 4 * len(flow.operators)
    for name in flow.operators:
        assert [each.iteration for each in fired if each.operator == name] == [1, 2, 3, 4]


def test_an_operator_without_its_sample_waits():
    network, x, y = small()
    fired = list(firings(network.expand(), NetworkMachine(network), network.weights, {"data": x[:3], "label": y[:1]}))
    assert sum(each.operator == "lossComp" for each in fired) == 1
    assert sum(each.operator == "FComp1" for each in fired) == 3


def test_an_unknown_stream_is_refused():
    network, x, _ = small()
    with pytest.raises(SequentialError, match="from outside come data, label"):
        list(firings(network.expand(), NetworkMachine(network), network.weights, {"dta": x}))


@pytest.mark.parametrize("grain", [0, 1.5, "2", None, -1])
def test_a_wrong_grain_is_refused(grain):
    with pytest.raises(SequentialError, match="grain"):
        small()[0].expand(decompose=True, grain=grain)
