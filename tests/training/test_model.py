"""Models: one flat array, initialisers, sparse lookups, averages, files that survive, and runs that go on."""

import io
import json
import math
import os
import signal
import subprocess
import sys
import textwrap
import time
import zipfile

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import naive_graph.training.optimizers as trainers
from naive_graph import Graph, Model, Variable
from naive_graph.errors import DivergedError, ShapeError, TrainingError
from naive_graph.training import LookupParameter, lookup, parameter
from naive_graph.training.initialisers import const, glorot, glorot_bound, identity, normal, uniform

ALL = [
    trainers.SimpleSGDTrainer, trainers.CyclicalSGDTrainer, trainers.MomentumSGDTrainer, trainers.AdagradTrainer,
    trainers.AdadeltaTrainer, trainers.RMSPropTrainer, trainers.AdamTrainer,
]  # fmt: skip
every_trainer = pytest.mark.parametrize("make", ALL, ids=lambda make: make.__name__)


def bowl(model):
    """A loss over all weights of a model, and its backward."""
    total = None
    for each in model.parameters:
        leaf = parameter(each)
        term = ((leaf - 1.5) ** 2 * 0.3).sum()
        total = term if total is None else total + term
    total.backward()
    return total


def small_model(seed=0):
    model = Model(seed)
    model.add_parameters((2, 3), name="W")
    model.add_parameters(3, init=const(0.5), name="b")
    return model


# --- the array ------------------------------------------------------------------


def test_parameters_are_views_of_one_flat_array():
    model = small_model()
    model["W"].values[...] = 7.0
    assert model.values.tolist() == [7.0] * 6 + [0.5] * 3
    model.add_parameters(2)
    assert model["W"].values.tolist() == [[7.0] * 3] * 2
    assert np.shares_memory(model["b"].values, model.values)


def test_a_leaf_reads_the_present_weights_and_hands_gradients_on():
    model = small_model()
    b = parameter(model["b"])
    y = (b * b).sum()
    assert float(y.eval()) == 0.75
    model["b"].values[...] = 1.0
    assert float(y.eval()) == 3.0
    assert float(y.forward()) == 3.0
    y.backward()
    y.backward()
    assert model["b"].g.tolist() == [4.0, 4.0, 4.0]


def test_frozen_parameters_stay_and_do_not_count():
    model = small_model()
    model.weight_decay_lambda = 0.1
    model["W"].updated = False
    model["W"].g[...] = 1e9
    model["b"].g[...] = 0.1
    before = model["W"].values.copy()
    trainer = trainers.SimpleSGDTrainer(model)
    trainer.update()
    assert (model["W"].values == before).all()
    assert trainer.clips == 0
    assert model["b"].values == pytest.approx([(0.5 - 0.01) * 0.9] * 3)


@pytest.mark.parametrize("shape", [0, (2, 0), (2.0,), (True,)])
def test_wrong_shapes_are_refused(shape):
    with pytest.raises(ShapeError):
        Model().add_parameters(shape)


def test_names_are_unique_and_unknown_ones_list_the_known():
    model = small_model()
    with pytest.raises(TrainingError, match="already"):
        model.add_parameters(2, name="W")
    with pytest.raises(TrainingError, match="It has: 'W', 'b'"):
        model["V"]
    with pytest.raises(TrainingError, match="parameter takes"):
        parameter(model)
    with pytest.raises(TrainingError, match="lookup takes"):
        lookup(model["W"], 0)


# --- weight decay ------------------------------------------------------------------


def test_each_update_shrinks_all_weights_but_frozen_ones():
    model = Model(seed=3)
    table, frozen = model.add_lookup_parameters((5, 2)), model.add_lookup_parameters((2, 2))
    frozen.updated = False
    model.weight_decay_lambda = 0.05
    before, stays = table.values.copy(), frozen.values.copy()
    lookup(table, 0).sum().backward()
    trainers.SimpleSGDTrainer(model, 0.1).update()
    assert table.values[0].tolist() == ((before[0] - 0.1) * 0.95).tolist()
    assert table.values[1:].tolist() == (before[1:] * 0.95).tolist()
    assert frozen.values.tolist() == stays.tolist()


def test_variables_decay_after_the_step():
    with Graph.scratch():
        x = Variable(3.0)
        trainer = trainers.SimpleSGDTrainer([x])
        trainer.model.weight_decay_lambda = 0.1
        f = x * x
        Graph.forward(f)
        Graph.backward(f)
        trainer.update()
        assert x.value == (3.0 - 0.1 * 6.0) * (1 - 0.1)  # 6 as it is: nothing is clipped


# --- initialisers ----------------------------------------------------------------


def test_initialisers_fill_as_they_say():
    model = Model(seed=3)
    wide = model.add_parameters((300, 200), init=normal(1.0, 4.0)).values
    assert (wide.mean(), wide.var()) == pytest.approx((1.0, 4.0), abs=0.05)
    assert model.add_parameters((2, 2), init=identity()).values.tolist() == [[1.0, 0.0], [0.0, 1.0]]
    low = model.add_parameters(1000, init=uniform(2.0, 3.0)).values
    assert 2.0 <= low.min() < 2.01 < 2.99 < low.max() <= 3.0
    with pytest.raises(TrainingError, match="square matrix"):
        model.add_parameters((2, 3), init=identity())


def test_glorots_bounds():
    assert glorot_bound((4, 8)) == pytest.approx(math.sqrt(6 / 12))
    assert glorot_bound((3, 3, 2, 4)) == pytest.approx(math.sqrt(6 / (9 * 6)))
    table = Model(seed=1).add_lookup_parameters((500, 12), init=glorot(gain=2.0)).values
    assert np.abs(table).max() == pytest.approx(2.0 * glorot_bound((12,)), rel=0.01)


def test_a_seed_gives_the_same_weights():
    assert small_model(5).values.tolist() == small_model(5).values.tolist() != small_model(6).values.tolist()


# --- lookups ---------------------------------------------------------------------


def two_rows(make, sparse, **options):
    """(3 x 2) zeros; the loss is the sum of row 0, then of row 1."""
    model = Model()
    table = model.add_lookup_parameters((3, 2), init=const(0.0))
    trainer = make(model, **options)
    trainer.sparse_updates = sparse
    for row in (0, 1):
        lookup(table, row).sum().backward()
        trainer.update()
    return table.values


def test_momentum_on_a_table_sparse_and_dense():
    sparse = two_rows(trainers.MomentumSGDTrainer, True, learning_rate=0.1)
    dense = two_rows(trainers.MomentumSGDTrainer, False, learning_rate=0.1)
    assert sparse == pytest.approx(np.array([[-0.1] * 2, [-0.1] * 2, [0.0] * 2]))
    assert dense == pytest.approx(np.array([[-0.19] * 2, [-0.1] * 2, [0.0] * 2]))


def test_adam_on_a_table_sparse_and_dense():
    sparse, dense = two_rows(trainers.AdamTrainer, True), two_rows(trainers.AdamTrainer, False)
    assert sparse[:2, 0] == pytest.approx([-0.000999999683772, -0.000744136588250], abs=1e-15)
    assert dense[:2, 0] == pytest.approx([-0.00167005772591, -0.000744136588250], abs=1e-14)


@every_trainer
def test_sparse_is_dense_where_every_row_is_used(make):
    found = []
    for sparse in (True, False):
        model = Model(seed=2)
        table = model.add_lookup_parameters((3, 2))
        trainer = make(model)
        trainer.sparse_updates = sparse
        for _ in range(3):
            ((lookup(table, [0, 1, 2]) - 1.0) ** 2).sum().backward()
            trainer.update()
        found.append(table.values.tolist())
    assert found[0] == found[1]


def test_a_row_that_is_looked_up_twice_gets_both_gradients():
    model = Model()
    table = model.add_lookup_parameters((3, 2), init=const(1.0))
    lookup(table, [2, 2]).sum().backward()
    assert table.g.tolist() == [[0.0, 0.0], [0.0, 0.0], [2.0, 2.0]]
    assert table.non_zero_grads == {2}


def test_untouched_rows_keep_value_and_memory():
    model = Model()
    table = model.add_lookup_parameters((2, 1), init=const(1.0))
    trainer = trainers.AdamTrainer(model)
    lookup(table, 0).sum().backward()
    trainer.update()
    memory = trainer.memory[0][0].copy()
    lookup(table, 1).sum().backward()
    trainer.update()
    assert trainer.memory[0][0][0] == memory[0]


@pytest.mark.parametrize("index", [3, -1, [0, 3], 0.5])
def test_a_row_that_is_not_there_is_refused(index):
    table = Model().add_lookup_parameters((3, 2))
    assert isinstance(table, LookupParameter)
    with pytest.raises(TrainingError, match="rows 0 to 2"):
        lookup(table, index)


# --- arrays and scalars ------------------------------------------------------------


@every_trainer
def test_a_model_and_variables_move_alike(make):
    model = Model()
    array = model.add_parameters(3, init=const(0.5))
    nodes = [Variable(0.5) for _ in range(3)]
    goal = (1.0, -2.0, 3.0)
    loss = sum((node - target) ** 2 for node, target in zip(nodes, goal))
    ours, theirs = make(model), make(nodes)
    for _ in range(4):
        ((parameter(array) - np.array(goal)) ** 2).sum().backward()
        Graph.forward(loss)
        Graph.backward(loss)
        ours.update()
        theirs.update()
        assert [node.value for node in nodes] == pytest.approx(array.values.tolist(), rel=1e-14)


def test_an_update_that_would_leave_the_floats_changes_nothing():
    model = small_model()
    model.values[0] = 1.7e308
    model.gradients[0] = -1.0
    trainer = trainers.SimpleSGDTrainer(model, 1e308)
    before = model.values.copy()
    with pytest.raises(DivergedError, match="infinite"):
        trainer.update()
    assert (model.values == before).all()
    assert trainer.updates == 0


# --- averages ------------------------------------------------------------------------


def test_the_cumulative_average_is_the_mean_of_the_weights():
    model = small_model()
    trainer = trainers.SimpleSGDTrainer(model)
    trainer.cumulative_moving_average()
    seen = []
    for _ in range(5):
        bowl(model)
        trainer.update()
        seen.append(model.values.copy())
    trainer.swap_params_to_moving_average()
    assert model.values == pytest.approx(np.mean(seen, axis=0))
    with pytest.raises(TrainingError, match="swap_params_to_weights"):
        trainer.update()
    trainer.swap_params_to_weights()
    assert (model.values == seen[-1]).all()


def test_the_exponential_average_forgets():
    x = Variable(0.0)
    trainer = trainers.SimpleSGDTrainer([x], 1.0)
    trainer.exponential_moving_average(0.75)
    for grad in (-1.0, -1.0):
        x.grad = grad
        trainer.update()
    trainer.swap_params_to_moving_average()
    assert x.value == 0.75 * 1.0 + 0.25 * 2.0


def test_an_average_begins_before_the_first_update():
    x = Variable(0.0)
    trainer = trainers.SimpleSGDTrainer([x])
    with pytest.raises(TrainingError, match="no moving average"):
        trainer.swap_params_to_moving_average()
    x.grad = 1.0
    trainer.update()
    with pytest.raises(TrainingError, match="before the first update"):
        trainer.cumulative_moving_average()
    with pytest.raises(TrainingError, match="below 1"):
        trainers.SimpleSGDTrainer([x]).exponential_moving_average(1.0)


# --- files ------------------------------------------------------------------------------


@every_trainer
@pytest.mark.parametrize("averaged", [False, True])
def test_a_run_that_was_saved_goes_on_with_the_same_bits(make, averaged, tmp_path):
    whole, parted = small_model(), small_model()
    first = make(whole)
    before = make(parted)
    for trainer in (first, before):
        trainer.set_clip_threshold(0.7)
        if averaged:
            trainer.exponential_moving_average(0.9)
    for _ in range(3):
        bowl(whole)
        first.update()
        bowl(parted)
        before.update()
    parted.save(tmp_path / "model.npz")
    before.save(tmp_path / "trainer.npz")
    later = small_model(seed=99)
    later.load(tmp_path / "model.npz")
    after = make(later)
    after.load(tmp_path / "trainer.npz")
    for _ in range(3):
        bowl(whole)
        first.update()
        bowl(later)
        after.update()
    assert later.values.tobytes() == whole.values.tobytes()
    if averaged:
        first.swap_params_to_moving_average()
        after.swap_params_to_moving_average()
        assert later.values.tobytes() == whole.values.tobytes()


@settings(max_examples=20, deadline=None)
@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=9, max_size=9))
def test_weights_come_back_bit_by_bit(values):
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        model = small_model()
        model.values[:] = values
        path = model.save(os.path.join(folder, "model.npz"))
        other = small_model()
        other.load(path)
        assert other.values.tobytes() == model.values.tobytes()


def test_a_file_of_another_model_changes_nothing(tmp_path):
    small_model().save(tmp_path / "model.npz")
    other = Model(seed=1)
    other.add_parameters((3, 3), name="W")
    before = other.values.copy()
    with pytest.raises(TrainingError, match=r"'W' is \(2, 3\) there and \(3, 3\) here; 'b'"):
        other.load(tmp_path / "model.npz")
    assert (other.values == before).all()


@pytest.mark.parametrize("content", [b"", b"nonsense", b"PK\x03\x04 half a file"])
def test_a_damaged_file_is_named(content, tmp_path):
    path = tmp_path / "model.npz"
    path.write_bytes(content)
    with pytest.raises(TrainingError, match="damaged"):
        small_model().load(path)


def test_a_missing_file_a_pickle_and_another_kind_are_refused(tmp_path):
    model = small_model()
    with pytest.raises(TrainingError, match="There is no file"):
        model.load(tmp_path / "none.npz")
    np.savez(tmp_path / "pickle.npz", head=np.array([object()], dtype=object))
    with pytest.raises(TrainingError, match="damaged"):
        model.load(tmp_path / "pickle.npz")
    trainers.AdamTrainer(model).save(tmp_path / "trainer.npz")
    with pytest.raises(TrainingError, match="not a model"):
        model.load(tmp_path / "trainer.npz")
    with pytest.raises(TrainingError, match="not a MomentumSGDTrainer"):
        trainers.MomentumSGDTrainer(model).load(tmp_path / "trainer.npz")


def rewritten(path, **changed):
    """A saved file with some of its entries changed; None takes one out."""
    with np.load(path) as file:
        entries = {name: file[name] for name in file.files}
    entries |= {name.replace("__", "/"): each for name, each in changed.items()}
    np.savez(path, **{name: each for name, each in entries.items() if each is not None})


def head_with(**changed):
    text = json.dumps({"naive_graph": 1, "kind": "model", "settings": {"decay": 0.0}} | changed)
    return np.frombuffer(text.encode(), dtype=np.uint8)


@pytest.mark.parametrize("changed", [
    {"array__b": np.array(["a", "b", "c"])}, {"array__b": np.array([1, 2, 3])}, {"array__b": np.zeros(3, complex)},
    {"array__b": np.array([1.0, math.nan, 2.0])}, {"array__b": np.zeros(4)}, {"array__b": None},
    {"head": head_with(settings={})}, {"head": head_with(settings={"decay": "much"})}, {"head": head_with(settings=7)},
    {"head": head_with(settings={"decay": math.nan})}, {"head": np.frombuffer(b"[]", np.uint8)}, {"head": None},
    {"array__more": np.zeros(2)}, {"array__b": np.array([object()] * 3)},
])  # fmt: skip
def test_a_file_with_anything_wrong_changes_nothing(changed, tmp_path):
    path = small_model().save(tmp_path / "model.npz")
    rewritten(path, **changed)
    other = small_model(seed=5)
    other.weight_decay_lambda = 0.25
    before = other.values.copy()
    with pytest.raises(TrainingError):
        other.load(path)
    assert other.values.tobytes() == before.tobytes()
    assert other.weight_decay_lambda == 0.25


@pytest.mark.parametrize("changed", [
    {"rate": 1.0}, {"learning_rate": "much"}, {"more": None}, {"more": {}}, {"more": {"average": [0.5]}},
    {"more": {"average": [0.5, "two"]}}, {"more": {"average": [None, 3]}},
])  # fmt: skip
def test_a_trainers_file_with_anything_wrong_changes_nothing(changed, tmp_path):
    model = small_model()
    trainer = trainers.MomentumSGDTrainer(model)
    bowl(model)
    trainer.update()
    path = trainer.save(tmp_path / "trainer.npz")
    with np.load(path) as file:
        settings = json.loads(file["head"].tobytes())["settings"] | changed
    rewritten(path, head=head_with(kind="MomentumSGDTrainer", settings=settings))
    other = trainers.MomentumSGDTrainer(small_model(), 0.5)
    with pytest.raises(TrainingError):
        other.load(path)
    assert (other.learning_rate, other.memory, other.average) == (0.5, {}, None)


def claims(shape):
    """A .npy entry that says it has this shape, and holds three numbers."""
    buffer = io.BytesIO()
    np.lib.format.write_array_header_1_0(buffer, {"descr": "<f8", "fortran_order": False, "shape": shape})
    return buffer.getvalue() + bytes(24)


@pytest.mark.parametrize("shape", [(10**12,), (3, 10**9), (2**62, 4)])
def test_an_array_that_claims_more_numbers_than_there_are_is_refused_unread(shape, tmp_path):
    path = small_model().save(tmp_path / "model.npz")
    with np.load(path) as file:
        head, w = file["head"], file["array/W"]
    np.savez(path, **{"head": head, "array/W": w})
    with zipfile.ZipFile(path, "a") as file:
        file.writestr("array/b.npy", claims(shape))
    with pytest.raises(TrainingError, match=r"claims .* which are not there"):
        small_model().load(path)


def test_a_file_that_unpacks_to_far_more_than_it_is_is_refused_unread(tmp_path):
    path = tmp_path / "model.npz"
    with (
        zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as file,
        file.open("head.npy", "w", force_zip64=True) as entry,
    ):
        for _ in range(30):
            entry.write(bytes(10_000_000))
    with pytest.raises(TrainingError, match="would unpack to more than it is"):
        small_model().load(path)


@pytest.mark.parametrize("name", ["a\0b", "a/b", "a\\b", "n" * 70_000, "two\nlines", 7, "\ud800"])
def test_a_name_that_no_file_could_hold_is_refused(name):
    with pytest.raises(TrainingError, match="name in a file"):
        Model().add_parameters(2, name=name)


@pytest.mark.parametrize("name", ["n" * 70_000, 7, "\ud800"])
def test_a_name_that_was_changed_later_is_refused_when_it_is_saved(name, tmp_path):
    model = small_model()
    model["W"].name = name
    with pytest.raises(TrainingError, match="name in a file"):
        model.save(tmp_path / "model.npz")
    assert not list(tmp_path.iterdir())


def test_a_diverged_model_is_not_saved(tmp_path):
    model = small_model()
    model.values[0] = math.inf
    with pytest.raises(TrainingError, match="not finite"):
        model.save(tmp_path / "model.npz")


@pytest.mark.skipif(sys.platform == "win32", reason="umask and links")
def test_a_file_has_the_permissions_of_the_umask_and_keeps_its_own(tmp_path):
    before = os.umask(0o027)
    try:
        path = small_model().save(tmp_path / "model.npz")
    finally:
        os.umask(before)
    assert path.stat().st_mode & 0o777 == 0o640
    path.chmod(0o600)
    small_model().save(path)
    assert path.stat().st_mode & 0o777 == 0o600


@pytest.mark.skipif(sys.platform == "win32", reason="umask and links")
def test_a_link_stays_a_link_and_what_it_leads_to_is_written(tmp_path):
    (tmp_path / "there").mkdir()
    link, target = tmp_path / "latest.npz", tmp_path / "there" / "model.npz"
    link.symlink_to(target)
    small_model().save(link)
    assert link.is_symlink()
    small_model().load(target)


SAVES = """
    import sys
    from naive_graph import Model
    from naive_graph.training.initialisers import const
    model = Model()
    model.add_parameters(200_000, init=const(float(sys.argv[2])), name="w")
    print("ready", flush=True)
    while True:
        model.values += 1.0
        model.save(sys.argv[1])
"""


@pytest.mark.skipif(sys.platform == "win32", reason="SIGKILL")
def test_a_kill_at_any_moment_leaves_a_whole_file(tmp_path):
    path = tmp_path / "model.npz"
    command = [sys.executable, "-c", textwrap.dedent(SAVES), str(path), "0"]
    for delay in (0.01, 0.037, 0.083):
        process = subprocess.Popen(command, stdout=subprocess.PIPE)
        process.stdout.readline()
        end = time.monotonic() + 180
        while not path.exists() and time.monotonic() < end:
            time.sleep(0.01)
        time.sleep(delay)
        process.send_signal(signal.SIGKILL)
        process.wait()
        process.stdout.close()
        model = Model()
        model.add_parameters(200_000, name="w")
        model.load(path)
        assert len(set(model.values.tolist())) == 1


@pytest.mark.skipif(sys.platform == "win32", reason="resource limits")
def test_a_full_disk_leaves_the_old_file(tmp_path):
    path = tmp_path / "model.npz"
    code = """
        import resource, signal, sys
        from naive_graph import Model
        from naive_graph.errors import TrainingError
        model = Model(seed=1)
        model.add_parameters(10, name="w")
        model.save(sys.argv[1])
        model.values += 1.0
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))
        try:
            model.save(sys.argv[1])
        except TrainingError as error:
            print(error)
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code), str(path)], capture_output=True, text=True, check=True
    )
    assert "Cannot write" in done.stdout
    assert [each.name for each in tmp_path.iterdir()] == ["model.npz"]
    model = Model(seed=1)
    weights = model.add_parameters(10, name="w").values.copy()
    model.load(path)
    assert (model.values == weights).all()
