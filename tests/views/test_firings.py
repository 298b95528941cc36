"""The walk of a dataflow is its run: every firing a step, and in each stream what the run would have there."""

import re
from collections import deque

import numpy as np
import pytest
from unpacking import unpack_blob

from naive_graph import Sequential, draw, step
from naive_graph.errors import SequentialError, ShapeError
from naive_graph.sequential import Activation, Composite, Dense, expand
from naive_graph.sequential.sdf_runtime import NetworkMachine, firings
from naive_graph.views.steps.firings import brief

NETWORK = Sequential([Dense(3), Activation("relu"), Dense(2)], 4, initializer="glorotUniform")
FEED = {"data": [[1.0, 2.0, 3.0, 4.0], [0.0, 1.0, 0.0, -1.0]], "label": [[1.0, 0.0], [0.0, 1.0]]}


def ran(flow):
    """The firings of a run that nobody watches, with what lies in each stream after each."""
    feeds = dict(zip(FEED, NETWORK.samples(*FEED.values())))
    streams = {name: deque(feeds.get(name, ())) for name in flow.streams}
    for fired in firings(flow, NetworkMachine(NETWORK), NETWORK.weights, feeds):
        for name in fired.taken:
            streams[name].popleft()
        for name, sample in fired.given.items():
            streams[name].append(sample)
        yield fired, {name: [each.tolist() for each in samples] for name, samples in streams.items()}


def lies(firing):
    return {name: [each.tolist() for each in samples] for name, samples in firing.streams.items()}


@pytest.mark.parametrize("decompose", [False, True])
def test_the_steps_are_the_firings_of_the_run(decompose):
    flow = expand(NETWORK, decompose)
    steps = step(flow, feed=FEED)
    told = [(each.operator, each.iteration) for each in steps[1:]]
    assert told == [(fired.operator, fired.iteration) for fired, _ in ran(flow)]
    for each, (fired, streams) in zip(steps[1:], ran(flow)):
        assert lies(each) == streams
        assert {name: a.tolist() for name, a in each.given.items()} == {n: a.tolist() for n, a in fired.given.items()}
        assert each.loss == fired.loss


def test_before_the_first_firing_the_samples_wait_outside():
    first = step(NETWORK, feed=FEED)[0]
    assert {name: len(samples) for name, samples in first.streams.items() if samples} == {"data": 2, "label": 2}
    assert first.sentence == "2 samples in data and label: nothing has fired."


def test_the_first_firings_are_had_without_the_others():
    steps = step(NETWORK, feed=FEED)
    steps.fired.append("no firing")
    assert [each.index for each in steps[2:0:-1]] == [2, 1]
    assert steps[2:2] == []


def test_at_the_end_the_samples_lie_in_the_last_stream():
    last = step(NETWORK, feed=FEED)[-1]
    assert {name: len(samples) for name, samples in last.streams.items() if samples} == {"res": 2}


def test_stepping_leaves_the_weights_as_they_were():
    before = [{name: array.copy() for name, array in layer.items()} for layer in NETWORK.weights]
    step(NETWORK, feed=FEED)
    assert all(np.array_equal(a[name], b[name]) for a, b in zip(before, NETWORK.weights) for name in a)


def test_the_browser_is_given_every_firing_and_every_sample():
    steps = step(NETWORK, feed=FEED)
    flow = unpack_blob(steps.walk().blob)[0]["flow"]
    assert [each["text"] for each in flow["fired"]] == [each.sentence for each in steps[1:]]
    assert flow["fed"]["data"] == ["[1, 2, 3, 4]", "[0, 1, 0, −1]"]


@pytest.mark.parametrize("feed", [None, 3, {"data": [[1, 2, 3, 4]]}, {"x": 1}])
def test_a_dataflow_without_samples_says_the_call_that_steps_through_one(feed):
    with pytest.raises(SequentialError, match="feed: it holds samples for streams from outside") as told:
        step(NETWORK, feed=feed)
    call = re.search(r"One sample: (step.*)\.$", str(told.value))[1]
    assert call == 'step(network, feed={"data": np.zeros((1, 4)), "label": np.zeros((1, 2))})'
    assert len(eval(call, {"step": step, "network": NETWORK, "np": np})) > 1


def test_the_layers_are_the_title():
    title = step(NETWORK, feed=FEED).walk().title
    assert title == "Dense(3), Activation('relu'), Dense(2), one firing after another"
    long = Sequential([Dense(3), Activation("relu")] * 3, 4, initializer="glorotUniform")
    named = "Dense(3), Activation('relu'), Dense(3) and 3 more layers"
    assert step(long, feed={"data": [[1.0] * 4], "label": [[1.0, 0.0, 0.0]]}).walk().title.startswith(f"{named}, one")
    assert f"<h1>{named.replace(chr(39), '&#x27;')}</h1>" in draw(long).page


def test_samples_of_another_shape_are_refused():
    with pytest.raises(ShapeError):
        step(NETWORK, feed={"data": [[1, 2]], "label": [[1, 0]]})


def test_a_large_sample_is_written_short():
    assert brief(np.arange(64.0).reshape(8, 8)) == "[0, 1, 2, 3, 4, 5, ...] (8 x 8)"
    assert brief(np.array(2.0)) == "[2]"


def composite():
    main = Composite()
    main.source("x", range(1, 41))
    main.input("label")
    main.operator("smooth", np.mean, "x", peek=4, pop=2, name="mean")
    main.operator(["low", "high"], lambda window: (window[:2], window[2]), "x", pop=3, push=[2, 1], name="parted")
    main.network("slope", Sequential([Dense(2)], 3, initializer=0.5, batch_size=2), "smooth", "label")
    return main


def test_a_composite_is_stepped_number_by_number_and_ends_as_its_run():
    main = composite()
    (network,) = main.networks.values()
    before = [each["W"].copy() for each in network.weights]
    steps = step(main, feed={"label": range(12)})
    assert all(np.array_equal(a, b["W"]) for a, b in zip(before, network.weights)), "stepping teaches nothing"
    found = main.run({"label": range(12)})
    assert {name: [*map(float, steps[-1].streams[name])] for name in found} == {n: a.tolist() for n, a in found.items()}
    assert not all(np.array_equal(a, b["W"]) for a, b in zip(before, network.weights))
    assert str(steps[0]) == "12 numbers in label: nothing has fired."
    mean = next(each for each in steps if each.operator == "mean")
    assert "[1, 2, 3, 4], of which the last 2 stay, and gives smooth = [2.5]" in str(mean)


def test_the_browser_moves_a_composites_numbers_as_the_run_does():
    steps = step(composite(), feed={"label": range(12)})
    flow = unpack_blob(steps.walk().blob)[0]["flow"]
    lies = {name: list(flow["fed"].get(name, [])) for name in flow["streams"]}
    for fired in flow["fired"]:  # as flow.js does
        for name in fired["taken"]:
            del lies[name][: flow["pops"][name]]
        for name in fired["given"]:
            lies[name] += fired["put"][name]
    assert lies == {name: [brief(each) for each in held] for name, held in steps[-1].streams.items()}
