"""A Sequential is a Model: trainers move it, files hold it, and fit has the words of Keras."""

import json
import signal
import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from written_networks import same, small

from naive_graph import Graph, LeafNode, Model, Program, draw, lower
from naive_graph.errors import SequentialError, ShapeError, TrainingError
from naive_graph.graph.node_factory import CURRENT
from naive_graph.sequential.layers import Activation, Conv2D, Dense, MaxPooling2D
from naive_graph.sequential.model import Sequential
from naive_graph.training import optimizers

HALVES = [["copy", "FComp1", "FComp2", "FComp3", "lossComp"], ["BComp3", "BComp2", "BComp1"]]  # of `plain`
SEVEN = [
    optimizers.SimpleSGDTrainer,
    optimizers.CyclicalSGDTrainer,
    optimizers.MomentumSGDTrainer,
    optimizers.AdagradTrainer,
    optimizers.AdadeltaTrainer,
    optimizers.RMSPropTrainer,
    optimizers.AdamTrainer,
]


def plain(**wishes):
    """A network without chance, and samples for it."""
    network = Sequential(
        [Dense(5), Activation("sigmoid"), Dense(3)], 4, initializer="glorotUniform", seed=3, batch_size=11, **wishes
    )
    random = np.random.default_rng(0)
    return network, random.random((20, 4)), random.random((20, 3))


@pytest.mark.parametrize("make", SEVEN)
def test_a_trainer_moves_a_network_as_fit_does_with_it(make):
    """By hand: the loss of each batch as a tensor expression, its gradient, one update."""
    one, x, y = plain()
    other, _, _ = plain()
    one.fit(x, y, batch_size=5, epochs=2, trainer=make(one), shuffle=False, progress=False)
    trainer = make(other)
    for start in [0, 5, 10, 15] * 2:
        batch = list(zip(x[start : start + 5], y[start : start + 5]))
        sum(((other(each) - LeafNode.constant(label)) ** 2).sum() * 0.5 for each, label in batch).backward()
        trainer.update(1.0 / 5)
    assert one.values == pytest.approx(other.values, rel=1e-9, abs=1e-12)


def test_plain_descent_is_the_trainer_without_a_clip():
    one, x, y = small()
    other, _, _ = small()
    trainer = optimizers.SimpleSGDTrainer(other, other.learning_rate)
    trainer.set_clip_threshold(0.0)
    one.fit(x, y, epochs=3, progress=False)
    other.fit(x, y, epochs=3, trainer=trainer, progress=False)
    assert same(one.weights, other.weights)


def test_the_names_of_a_model_are_the_networks():
    network, _, _ = plain()
    assert isinstance(network, Model)
    assert [each.name for each in network.parameters] == ["1.W", "1.b", "3.W", "3.b"]
    network["3.b"].values = [1.0, 2.0, 3.0]
    assert network.weights[2]["b"].tolist() == [1.0, 2.0, 3.0] == network.values[-3:].tolist()
    assert network.size == len(network.values) == 43


def test_frozen_parameters_and_decay_count_in_fit():
    network, x, y = plain()
    network["1.W"].updated = False
    network.weight_decay_lambda = 0.1
    before = network.values.copy()
    network.fit(x, y, epochs=2, progress=False)
    assert (network.values[:20] == before[:20]).all() and (network.values[20:] != before[20:]).any()
    with pytest.raises(TrainingError, match="no weight decay and no frozen parameters"):
        network.fit(x, y, workers="threads", progress=False)


def test_a_network_of_tensors_is_the_network():
    network = Sequential(
        [Conv2D(2, 2), MaxPooling2D(2), Dense(3), Activation("softmax")], (5, 5, 1), initializer="gaussRandom"
    )
    sample = np.random.default_rng(1).random((5, 5, 1))
    assert network(sample).eval() == pytest.approx(network.predict(sample), rel=1e-12)
    x = LeafNode.input((5, 5, 1), name="x")
    lowered = Program((network(x) ** 2).sum(), inputs=[x])
    assert lowered(sample).value == pytest.approx((network.predict(sample) ** 2).sum(), rel=1e-12)
    with pytest.raises(ShapeError):
        network(LeafNode.input((2, 5, 5, 1)))


# --- the words of Keras ---------------------------------------------------------------------


def test_batch_size_and_epochs_mean_what_they_mean_in_keras():
    network, x, y = plain()
    trainer = optimizers.AdamTrainer(network)
    history = network.fit(x, y, 8, 5, validation_data=(x[:4], y[:4]), trainer=trainer, progress=False)
    assert trainer.updates == 5 * 3  # of 8, 8 and 4
    assert len(history) == 5 and history.names == ["loss", "val_loss", "val_accuracy"]
    assert history["val_loss"][-1] == network.evaluate(x[:4], y[:4])["loss"]
    assert network.batch_size == 11


@pytest.mark.parametrize("wrong, error, says", [
    ({"batch_size": 0}, SequentialError, "batch_size"), ({"batch_size": "a"}, SequentialError, "batch_size"),
    ({"batch_size": 1, "workers": "threads"}, SequentialError, "BATCH_TOO_SMALL: 1 must exceed 8 stages"),
    ({"batch_size": 2, "workers": "threads", "partition": HALVES}, SequentialError, "BATCH_TOO_SMALL: 2 must exceed 2"),
    ({"epochs": "a"}, TrainingError, "epochs"), ({"validation_data": 3}, SequentialError, "validation_data"),
    ({"trainer": "adam"}, TrainingError, "AdamTrainer(network)"), ({"workers": [3]}, SequentialError, "workers"),
    ({"trainer": optimizers.AdamTrainer}, TrainingError, "AdamTrainer(network)"),
    ({"workers": "threads", "partition": 3}, SequentialError, "partition"),
    ({"shuffle": "a"}, TypeError, "shuffle"), ({"resume": "a"}, TypeError, "resume"),
])  # fmt: skip
def test_a_wrong_wish_is_named_and_changes_nothing(wrong, error, says):
    network, x, y = plain()
    before = network.values.copy()
    with pytest.raises(error) as caught:
        network.fit(x, y, progress=False, **wrong)
    assert says in str(caught.value)
    assert (network.values == before).all()


def test_a_trainer_of_another_model_and_a_rate_that_is_none_are_refused():
    network, x, y = plain()
    with pytest.raises(TrainingError, match="moves this network"):
        network.fit(x, y, trainer=optimizers.AdamTrainer(plain()[0]))
    with pytest.raises(SequentialError, match="trainer"):
        network.fit(x, y, trainer=optimizers.AdamTrainer(network), workers="threads")
    network.learning_rate = "a"
    with pytest.raises(SequentialError, match="learning_rate"):
        network.fit(x, y)


# --- files ------------------------------------------------------------------------------------


def test_there_is_one_format(tmp_path):
    network, _, _ = plain()
    path = network.save(tmp_path / "network.npz")
    model = Model(seed=9)
    for each in network.parameters:
        model.add_parameters(each.shape, name=each.name)
    model.load(path)
    assert model.values.tobytes() == network.values.tobytes()
    other = plain()[0]
    other.values *= 2.0
    other.load(path)
    assert other.values.tobytes() == network.values.tobytes() == Sequential.load(path).values.tobytes()
    model.values *= 3.0
    other.load(model.save(tmp_path / "model.npz"))
    assert other.values.tobytes() == model.values.tobytes()
    with pytest.raises(TrainingError, match="without layers"):
        Sequential.load(tmp_path / "model.npz")


def test_a_class_with_arguments_of_its_own_is_loaded(tmp_path):
    class TwoLayers(Sequential):
        def __init__(self, units):
            super().__init__([Dense(units), Dense(2)], 4, batch_size=9, initializer="glorotUniform", name="y")

    network = TwoLayers(3)
    loaded = TwoLayers.load(network.save(tmp_path / "network.npz"))
    assert type(loaded) is TwoLayers and loaded.values.tobytes() == network.values.tobytes()
    assert loaded.streams == network.streams and loaded.batch_size == 9


@pytest.mark.parametrize("what", ["model", "network", "trainer"])
def test_a_name_without_its_ending_says_what_to_write(what, tmp_path):
    network = plain()[0]
    saved = {"model": Model(), "network": network, "trainer": optimizers.AdamTrainer(network)}[what]
    with pytest.raises(TrainingError, match=r'Write save\(".*a\.npz"\)'):
        saved.save(tmp_path / "a")
    assert not list(tmp_path.iterdir())


# --- interruptions -------------------------------------------------------------------------------


def taught(folder, how, stop_at=None, seed=3):
    """Three epochs, two of them behind the first, which may be broken off after some batches and goes on from files."""
    network, x, y = small(seed=seed)
    make = how.get("trainer")
    trainer = None if make is None else SEVEN[make](network)
    resume = (folder / "network.npz").exists()
    left = 3
    if resume:
        network = Sequential.load(folder / "network.npz")
        left = json.loads((folder / "left.json").read_text())
        if make is not None:
            trainer = SEVEN[make](network)
            trainer.load(folder / "trainer.npz")
    batches = []

    def counted(found):
        for losses in found:
            batches.append(losses)
            if len(batches) == stop_at:
                signal.raise_signal(signal.SIGINT)
            yield losses

    for name in ("_by_trainer", "_pipelined"):
        run = getattr(network, name)
        setattr(network, name, lambda *given, run=run: counted(run(*given)))
    wishes = {"trainer": trainer, "policy": how["policy"], "resume": resume, "progress": False}
    history = network.fit(x, y, batch_size=13, epochs=left, **wishes)
    for name in ("_by_trainer", "_pipelined"):
        delattr(network, name)
    ended = len(history) - (network._in_epoch > 0)
    if left > ended:
        network.save(folder / "network.npz")
        (folder / "left.json").write_text(json.dumps(left - ended))
        if trainer is not None:
            trainer.save(folder / "trainer.npz")
        return None
    memory = [] if trainer is None else [part.tobytes() for each in trainer.memory.values() for part in each]
    return network.values.tobytes().hex(), [each.hex() for each in memory]


WAYS = st.one_of(
    st.fixed_dictionaries({"policy": st.sampled_from(["serial", "delayed", "alternate"])}),
    st.fixed_dictionaries({"policy": st.just("serial"), "trainer": st.integers(0, 6)}),
)


@settings(max_examples=10, deadline=None)
@given(how=WAYS, stops=st.lists(st.integers(1, 5), min_size=1, max_size=3))
def test_a_network_goes_on_with_the_bits_of_one_that_did_not_stop(how, stops):
    with tempfile.TemporaryDirectory() as name:
        expected = taught(Path(name), how)
        found = None
        for stop in stops:
            found = taught(Path(name), how, stop)
            if found is not None:
                break
        assert (found or taught(Path(name), how)) == expected


@pytest.mark.parametrize("policy", ["delayed", "alternate"])
def test_a_save_between_epochs_keeps_both_buffers_and_the_number_of_samples(policy, tmp_path):
    whole, x, y = small()
    parted, _, _ = small()
    whole.fit(x, y, epochs=4, policy=policy, progress=False)
    for _ in range(4):
        parted.fit(x, y, policy=policy, progress=False)
        parted = Sequential.load(parted.save(tmp_path / "network.npz"))
    assert same(whole.weights, parted.weights)


def test_what_a_layer_computes_and_its_weights_stand_in_a_scope_of_its_name():
    """In pictures and in walks, of tensors and of their scalars; calls alone leave nothing in the graph."""
    with Graph.scratch():
        network = Sequential([Dense(3), Activation("relu"), Dense(2)], 4, initializer="glorotUniform")
        y = network([1.0, 2.0, 3.0, 4.0]).sum()
        marks = len(CURRENT.tables.scopes)
        for _ in range(10):
            network([1.0, 2.0, 3.0, 4.0])
        assert len(CURRENT.tables.scopes) == marks
        names = ["1 Dense(3)", "2 Activation('relu')", "3 Dense(2)"]
        assert [each for each in draw(y).scene.scope_names.values() if each[0].isdigit()] == names
        lower(y)
        paths = {node.scope.path.partition("/")[0] for node in Graph.node_list if node.scope}
        assert paths == {*names, "transform"}  # the sum
        for node in Graph.node_list:
            if node.name:
                assert node.scope.path == names[int(node.name[0]) - 1]
