"""Files that anything may have happened to: every one is read whole, or refused and changes nothing."""

import os
import signal
import sys
import zipfile
from contextlib import suppress
from itertools import count

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from naive_graph import Model, Sequential
from naive_graph.errors import TrainingError
from naive_graph.sequential import Dense
from naive_graph.training import parameter
from naive_graph.training.optimizers import AdamTrainer


def learned():
    """A model with a matrix and a table, a trainer that has moved it, and a network."""
    model = Model(seed=1)
    w, _ = model.add_parameters((2, 3), name="w"), model.add_lookup_parameters((4, 2), name="table")
    trainer = AdamTrainer(model)
    trainer.cumulative_moving_average()
    for _ in range(2):
        (parameter(w) * parameter(w)).sum().backward()
        trainer.update()
    return model, trainer, Sequential([Dense(2), Dense(1)], 2, initializer="glorotUniform")


KEPT = learned()


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("files")
    return folder, [each.save(folder / f"{number}.npz").read_bytes() for number, each in enumerate(KEPT)]


def state():
    model, trainer, _ = KEPT
    return model.values.tobytes(), repr(trainer.settings()), repr(trainer.memory), repr(vars(trainer.average))


def load(which, path):
    return Sequential.load(path) if which == 2 else KEPT[which].load(path)


EDITS = st.lists(
    st.tuples(
        st.sampled_from(["set", "cut", "insert", "end"]), st.floats(0, 1, exclude_max=True), st.binary(max_size=9)
    ),
    min_size=1,
    max_size=6,
)


def edited(data, edits):
    data = bytearray(data)
    for kind, at, more in edits:
        place = int(at * len(data))
        if kind == "set":
            data[place : place + len(more)] = more
        elif kind == "cut":
            del data[place : place + 1 + len(more)]
        elif kind == "insert":
            data[place:place] = more
        else:
            del data[place:]
    return bytes(data)


@settings(max_examples=200, deadline=None)
@given(which=st.integers(0, 2), edits=EDITS)
def test_a_damaged_file_is_read_as_it_was_or_refused_and_changes_nothing(files, which, edits):
    folder, whole = files
    path = folder / "damaged.npz"
    path.write_bytes(edited(whole[which], edits))
    before = state()
    with suppress(TrainingError):
        load(which, path)
    assert state() == before  # sums of its bytes are in the file: it can only be read as it was


@pytest.mark.parametrize("which", range(3))
@pytest.mark.parametrize(("offset", "byte"), [(8, 1), (8, 32), (8, 64), (6, 215)])  # flags of an entry, its version
def test_an_encrypted_file_and_one_of_another_zip_are_refused(files, which, offset, byte):
    folder, whole = files
    data = bytearray(whole[which])
    for mark, shift in ((b"PK\x01\x02", 0), (b"PK\x03\x04", -2)):
        place = data.find(mark)
        while place >= 0:
            data[place + offset + shift] |= byte
            place = data.find(mark, place + 4)
    path = folder / "encrypted.npz"
    path.write_bytes(data)
    before = state()
    with pytest.raises(TrainingError, match="damaged"):
        load(which, path)
    assert state() == before


@pytest.mark.parametrize("which", range(3))
@pytest.mark.parametrize("path", [None, 7, "a\0b"])
def test_what_is_no_path_is_named_by_all_who_save_and_load(which, path):
    with pytest.raises(TrainingError, match="named by a path"):
        KEPT[which].save(path)
    with pytest.raises(TrainingError, match="named by a path"):
        load(which, path)


@pytest.mark.skipif(sys.platform == "win32", reason="pipes with names")
def test_a_pipe_is_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "pipe.npz")
    with pytest.raises(TrainingError, match="a pipe"):
        KEPT[0].load(tmp_path / "pipe.npz")


def test_a_ctrl_c_while_a_file_is_made_is_a_ctrl_c(tmp_path):
    model, handler = Model(), signal.signal(signal.SIGINT, signal.default_int_handler)
    model.add_parameters(2, name="w")

    def struck(at):
        """Whether a Ctrl-C at that line of zipfile came, and with it nothing else."""
        left = count(at, -1)

        def trace(frame, event, argument):
            if event == "line" and next(left) == 0:
                sys.settrace(None)
                signal.raise_signal(signal.SIGINT)
            return trace if frame.f_code.co_filename == zipfile.__file__ else None

        sys.settrace(lambda frame, *_: trace if frame.f_code.co_filename == zipfile.__file__ else None)
        try:
            model.save(tmp_path / "model.npz")
            return False
        except KeyboardInterrupt:
            return True
        finally:
            sys.settrace(None)

    try:
        assert next(at for at in count() if not struck(at)) > 100
    finally:
        signal.signal(signal.SIGINT, handler)
