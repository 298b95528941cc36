"""Sequential, as one uses it: the text and the Python, training, files, and wrong inputs."""

import signal

import numpy as np
import pytest
from written_networks import V1, V2, same, small

from naive_graph.errors import SequentialError, SequentialWarning, ShapeError, TrainingError
from naive_graph.sequential.compile import parse
from naive_graph.sequential.layers import Activation, Conv2D, Dense, Dropout
from naive_graph.sequential.model import Sequential, expand
from naive_graph.sequential.network import Network
from naive_graph.sequential.partitioning import Costs
from naive_graph.sequential.partitioning import partition as divide
from naive_graph.sequential.pipeline import schedule
from naive_graph.sequential.workers import PipelineWorker


def test_the_python_is_the_text():
    text = parse(V2)["out"]
    python = Sequential(
        [each.layer for each in text.layers], (5, 5, 1), 0.01, 12, "crossEntropy", ("gaussRandom", 0, 0.1)
    )
    assert python.summary() == text.summary() and same(python.weights, text.weights)


def test_the_first_example_learns_its_golden_step():
    network = parse(V1)["res"]
    network.fit(np.array([[1.0, 2, 3, 4]]), np.array([[1.0, 0]]), shuffle=False, progress=False)
    np.testing.assert_allclose(network.weights[0]["W"][:, 0], (-0.2, -0.9, -1.6, -2.3), rtol=1e-12)
    np.testing.assert_allclose(network.weights[1]["W"][0], (-2.75, -3.25), rtol=1e-12)


def test_a_number_fills_biases_and_a_method_leaves_them_0_as_layers_and_initializers_say():
    for layer in (Dense(3), Conv2D(3, 2)):
        filled, left = (Sequential([layer], (4, 4, 1), initializer=how) for how in (2.0, ("gaussRandom", 2, 0)))
        assert {*filled["1.W"].values.flat} == {*left["1.W"].values.flat} == {*filled["1.b"].values.flat} == {2.0}
        assert not left["1.b"].values.any() and "leaves it 0" in type(layer).__doc__
    assert "leave biases 0" in Network.__doc__


@pytest.mark.parametrize("workers", [None, "threads"])
def test_a_training_is_repeated_bit_for_bit(workers):
    found = []
    for _ in range(2):
        network, x, y = small()
        history = network.fit(x, y, epochs=3, workers=workers, policy="delayed", validation_data=(x, y), progress=False)
        found.append((network.weights, [row["val_loss"] for row in history]))
    assert same(found[0][0], found[1][0]) and found[0][1] == found[1][1]


def test_classes_may_be_numbers():
    one, x, y = small()
    other, _, _ = small()
    one.fit(x, y, progress=False)
    other.fit(x, y.argmax(1), progress=False)
    assert same(one.weights, other.weights)
    assert one.evaluate(x, y) == one.evaluate(x, y.argmax(1)) and one.evaluate(x, y).keys() == {"loss", "accuracy"}


@pytest.mark.parametrize("name", ["data", "F1_loss"])
def test_a_name_that_another_stream_has_is_refused(name):
    with pytest.raises(SequentialError, match=f"DUPLICATE_NAME {name}"):
        Sequential([Dense(2)], 4, batch_size=9, name=name)


def test_another_file_is_refused(tmp_path):
    path = tmp_path / "other.npz"
    path.write_bytes(b"nothing")
    with pytest.raises(TrainingError, match=r"other\.npz"):
        Sequential.load(path)
    with pytest.raises(TrainingError):
        Sequential.load(tmp_path / "missing.npz")


def test_one_sample_or_many():
    network, x, _ = small()
    assert network.predict(x[0]).shape == (3,) and network.predict(x).shape == (30, 3)
    assert np.array_equal(network.predict(x)[4], network.predict(x[4]))
    picture = Sequential([Conv2D(2, 2), Dense(2)], (3, 3, 1), initializer=0.1)
    assert picture.predict(np.ones((3, 3))).shape == (2,)  # one channel may be left out


def test_biases_begin_at_zero_and_a_number_fills_all():
    drawn = Sequential([Dense(3)], 4, initializer="gaussRandom").weights[0]
    assert not drawn["b"].any() and drawn["W"].all()
    assert (Sequential([Dense(3)], 4, initializer=0.5).weights[0]["b"] == 0.5).all()
    limit = (6 / (9 * (3 + 8))) ** 0.5
    kernels = Sequential([Conv2D(8, 3)], (5, 5, 3), initializer="glorotUniform").weights[0]["W"]
    assert 0.9 * limit < np.abs(kernels).max() <= limit == pytest.approx(0.246, abs=1e-3)


@pytest.mark.parametrize(
    "make, error, says",
    [
        (lambda: Sequential([], 4), SequentialError, "list of layers"),
        (lambda: Sequential([3], 4), SequentialError, "list of layers"),
        (lambda: Sequential(Dense(3), 4), SequentialError, "list of layers"),
        (lambda: Sequential([Dense(3)], (4, 4)), SequentialError, "ARG_TYPE input_shape"),
        (lambda: Sequential([Dense(3)]), SequentialError, "sample: Sequential([Dense(3)], 4), or (28, 28, 1)"),
        (lambda: Sequential(), SequentialError, "it needs input_shape"),
        (lambda: Sequential([Dense(3)], 4, 2.0), SequentialError, "ARG_RANGE learning_rate"),
        (lambda: schedule(expand(Sequential([Dense(3)], 4)), batch_size=4), SequentialError,
         "BATCH_TOO_SMALL: 4 must exceed 4 stages of its pipeline. Let batch_size be 5 or more, or leave it out."),
        (lambda: Sequential([Dense(3)], 4, loss="mse"), SequentialError, "BAD_VALUE loss"),
        (lambda: Sequential([Dense(3)], 4, initializer="he"), SequentialError, "BAD_VALUE initializer"),
        (lambda: Sequential([Dense(3)], 4, seed=-1), SequentialError, "ARG_RANGE seed"),
        (lambda: Sequential([Conv2D(2, 3)], 4), SequentialError, "SHAPE: Conv2D needs"),
        (lambda: Dense(3, activation="relu"), SequentialError, 'a layer of its own: Activation("relu")'),
        (lambda: Dense(3, input_shape=4), SequentialError, "the network's: Sequential([...], input_shape)"),
        (lambda: Dense("3"), SequentialError, "ARG_TYPE units"),
        (lambda: Activation("swish"), SequentialError, "BAD_VALUE activation"),
        (lambda: small()[0].predict(np.ones(5)), ShapeError, "samples of"),
        (lambda: small()[0].predict("four"), ShapeError, "data: numbers"),
        (lambda: small()[0].fit(np.ones((2, 4)), np.ones((3, 3))), ShapeError, "labels of shape"),
        (lambda: small()[0].fit(np.ones((2, 4)), [0, 3]), ShapeError, "0 to 2"),
        (lambda: small()[0].fit(np.ones((2, 4)), [0, 1], epochs=-1), TrainingError, "epochs"),
        (lambda: small()[0].fit(np.ones((2, 4)), [0, 1], workers="gpu"), SequentialError, "workers"),
        (lambda: small()[0].fit(np.ones((2, 4)), [0, 1], policy="none"), SequentialError, "policy"),
        (lambda: small()[0].fit(np.ones((2, 4)), [0], workers="threads", policy="serial"), ShapeError, "labels"),
        (lambda: small()[0].fit(np.ones((1, 4)), [0], workers="threads", policy="serial"), SequentialError, "policy"),
        (lambda: small()[0].fit(np.ones((2, 4)), [0, 1], validation_data=3), SequentialError, "validation_data"),
        (lambda: small()[0].fit(np.ones((2, 4)), [0, 1], partition=[]), SequentialError, "partition"),
    ],
)  # fmt: skip
def test_wrong_inputs_are_told(make, error, says):
    with pytest.raises(error) as caught:
        make()
    assert says in str(caught.value)


def test_one_worker_needs_no_more_samples_than_one():
    network, x, y = small(batch_size=1)
    network.fit(x, y, progress=False)
    for pipeline in ({"policy": "delayed"}, {"workers": "threads"}):  # which is one for any number of workers
        with pytest.raises(SequentialError, match="BATCH_TOO_SMALL"):
            network.fit(x, y, progress=False, **pipeline)


@pytest.mark.parametrize("layers", [[Dense(3)], [Dense(3), Activation("relu")], [Activation("softmax"), Dense(3)]])
def test_cross_entropy_of_what_need_not_lie_between_0_and_1_is_warned_of(layers):
    with pytest.warns(SequentialWarning, match="crossEntropy takes logarithms"):
        Sequential(layers, 4, loss="crossEntropy", initializer=0.5)
    for last in ([Activation("sigmoid")], [Activation("softmax"), Dropout(0.5)]):
        Sequential([*layers, *last], 4, loss="crossEntropy", initializer=0.5)


def test_what_is_one_stream_for_data_and_labels_is_refused_while_reading():
    with pytest.raises(SequentialError, match="DUPLICATE_NAME d: the network would read data and labels from one"):
        parse("stream<double x> r, d; r = sequential (d, d) (4, 0.1, 9) { add Dense(4); };")


def test_a_fit_says_how_it_ended(monkeypatch):
    network, x, y = small()
    assert network.fit(x, y, progress=False).stopped == "epochs"
    run = PipelineWorker.run

    def interrupted(part):
        signal.raise_signal(signal.SIGINT)
        return run(part)

    monkeypatch.setattr(PipelineWorker, "run", interrupted)
    names = list(expand(network).operators)
    history = network.fit(
        np.tile(x, (999, 1)), np.tile(y, (999, 1)), workers="threads", partition=[names], progress=False
    )
    assert history.stopped == "interrupt" and network._in_epoch and network._in_epoch % network.batch_size == 0


@pytest.mark.parametrize("name", ["", "a b", "é", 3, None, "1"])
def test_a_network_has_a_name_that_the_language_can_write(name):
    with pytest.raises(SequentialError, match="name: of sequential it is a name of letters"):
        Sequential([Dense(3)], 4, name=name)


def test_habits_of_keras_are_told_what_stands_here_instead():
    network = Sequential([Dense(3)], 4)
    with pytest.raises(AttributeError, match="all its layers at once"):
        network.add(Dense(3))
    with pytest.raises(AttributeError, match="a trainer in fit"):
        network.compile(optimizer="adam")


def test_costs_of_another_dataflow_are_refused_by_name():
    with pytest.raises(SequentialError, match=r"None are told of .*copy"):
        divide(expand(Sequential([Dense(3)], 4)), 2, Costs({}, {}))
