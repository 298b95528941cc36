"""A run that was saved, broken off and taken up elsewhere has the bits of the run that was not."""

import json
import subprocess
import sys
import tempfile
from dataclasses import asdict
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from naive_graph import Graph, Model, Variable
from naive_graph.errors import TrainingError
from naive_graph.training import lookup, optimizers, parameter
from naive_graph.training.loop import Outcome, cosine, fit

SEVEN = [
    optimizers.SimpleSGDTrainer,
    optimizers.CyclicalSGDTrainer,
    optimizers.MomentumSGDTrainer,
    optimizers.AdagradTrainer,
    optimizers.AdadeltaTrainer,
    optimizers.RMSPropTrainer,
    optimizers.AdamTrainer,
]


def begun(make, options, seed=3):
    """A model and its trainer, as a script makes them."""
    model = Model(seed=seed)
    model.add_lookup_parameters((4, 2), name="table")
    model.add_parameters(3, name="b")
    model.add_parameters(2, name="frozen").updated = not options["freeze"]
    model.weight_decay_lambda = options["decay"]
    trainer = make(model, edecay=options["edecay"], **({"step_size": 3} if make is SEVEN[1] else {}))
    trainer.sparse_updates = options["sparse"]
    trainer.set_clip_threshold(options["clip"])
    if options["average"] is not None:
        trainer.exponential_moving_average(0.75)
    elif options["mean"]:
        trainer.cumulative_moving_average()
    return model, trainer


def taken_up(make, options, folder):
    """The same, in another process: from two files, and with nothing else of the run."""
    model, trainer = begun(make, {**options, "freeze": False, "average": None, "mean": False}, seed=99)
    model.load(folder / "model.npz")
    trainer.load(folder / "trainer.npz")
    return model, trainer


def one(model, trainer, action, at):
    """One step of a script; a number is the row that the step looks up."""
    if action == "epoch":
        trainer.update_epoch()
    elif action == "freeze":
        model["b"].updated = not model["b"].updated
    elif action == "swap":
        average = trainer.average
        if average is not None and average.swapped:
            trainer.swap_params_to_weights()
        elif average is not None and average.values:
            trainer.swap_params_to_moving_average()
    elif trainer.average is None or not trainer.average.swapped:
        ((lookup(model["table"], action) - 1.5) ** 2 * (1.0 + at)).sum().backward()
        for name in ("b", "frozen"):
            ((parameter(model[name]) - 0.5) ** 2).sum().backward()
        trainer.update()


def ended(model, trainer):
    if trainer.average is not None and trainer.average.swapped:
        trainer.swap_params_to_weights()
    arrays = [part.tobytes() for at in sorted(trainer.memory) for part in trainer.memory[at]]
    means = [] if trainer.average is None else [each.tobytes() for each in trainer.average.values]
    return [model.values.tobytes(), *arrays, *means, trainer.settings(), model["b"].updated, model["frozen"].updated]


OPTIONS = st.fixed_dictionaries({
    "decay": st.sampled_from([0.0, 0.05, 0.4]), "edecay": st.sampled_from([0.0, 0.5]), "sparse": st.booleans(),
    "clip": st.sampled_from([0.0, 0.7]), "average": st.sampled_from([None, 0.75]),
    "mean": st.booleans(), "freeze": st.booleans(),
})  # fmt: skip
ACTIONS = st.lists(st.one_of(st.integers(0, 3), st.sampled_from(["epoch", "swap", "freeze"])), min_size=1, max_size=9)


@settings(max_examples=50, deadline=None)
@given(make=st.sampled_from(SEVEN), options=OPTIONS, actions=ACTIONS, data=st.data())
def test_a_run_goes_on_with_the_bits_of_one_that_did_not_stop_and_a_save_changes_none(make, options, actions, data):
    whole = begun(make, options)
    parted = begun(make, options)
    with tempfile.TemporaryDirectory() as name, Graph.scratch():
        folder = Path(name)
        for at, action in enumerate(actions):
            what = data.draw(st.sampled_from(["go on", "save", "break off"]))
            if what != "go on":
                parted[0].save(folder / "model.npz")
                parted[1].save(folder / "trainer.npz")
            if what == "break off":
                Graph.renew()
                parted = taken_up(make, options, folder)
            one(*whole, action, at)
            one(*parted, action, at)
        assert ended(*whole) == ended(*parted)


@settings(max_examples=40, deadline=None)
@given(make=st.sampled_from(SEVEN), steps=st.integers(1, 5), more=st.integers(1, 3))
def test_variables_and_their_trainer_go_on_in_a_fresh_graph(make, steps, more):
    def go(x, y, trainer, count):
        for _ in range(count):
            f = (x - 1.0) ** 2 * y.exp() + y * y
            Graph.forward(f)
            Graph.backward(f)
            trainer.update()

    with tempfile.TemporaryDirectory() as name, Graph.scratch():
        x, y = Variable(2.0), Variable(0.5)
        trainer = make([x, y])
        go(x, y, trainer, steps)
        path = trainer.save(Path(name) / "trainer.npz")
        go(x, y, trainer, more)
        expected = x.value, y.value, trainer.memory
        Graph.renew()
        x, y = Variable(0.0), Variable(0.0)
        trainer = make([x, y])
        trainer.load(path)
        go(x, y, trainer, more)
        assert (x.value, y.value, trainer.memory) == expected


# --- the loop ---------------------------------------------------------------------------


SAMPLES = [0.1 * at for at in range(7)]


def looped(make, folder, stop_at=None):
    """Three epochs by `fit`, which end at a step; and go on, if a run before was stopped."""
    model = Model(seed=3)
    table, b = model.add_lookup_parameters((4, 2), name="table"), model.add_parameters(2, name="b")
    model.weight_decay_lambda = 0.05
    trainer = make(model)
    outcome = None
    if (folder / "outcome.json").exists():
        model.load(folder / "model.npz")
        trainer.load(folder / "trainer.npz")
        outcome = Outcome(**json.loads((folder / "outcome.json").read_text()))
        (folder / "outcome.json").unlink()

    def loss(batch):
        ((lookup(table, [0, int(20 * batch[0]) % 4]) - 1.0) ** 2).sum().backward()
        return ((parameter(b) - batch[-1]) ** 2).sum()

    steps = []

    def stop(**numbers):
        import signal

        steps.append(numbers)
        if len(steps) == stop_at:
            signal.raise_signal(signal.SIGINT)

    rates = cosine(0.2, 0.01, 3)
    left = 3 - (0 if outcome is None else outcome.epochs)
    done = fit(
        trainer, loss, SAMPLES, epochs=left, batch_size=2, schedule=rates, validate=lambda: float(b.values.sum()),
        report=[stop], resume=outcome,
    )  # fmt: skip
    if done.stopped == "interrupt":
        model.save(folder / "model.npz")
        trainer.save(folder / "trainer.npz")
        (folder / "outcome.json").write_text(json.dumps(asdict(done)))
        return None
    return (model.values.tobytes(), repr(done))


@settings(max_examples=30, deadline=None)
@given(make=st.sampled_from(SEVEN), stops=st.lists(st.integers(1, 5), min_size=1, max_size=4))
def test_a_loop_goes_on_with_the_same_bits_whatever_sets_the_rate(make, stops):
    with tempfile.TemporaryDirectory() as name:
        expected = looped(make, Path(name))
        for stop in stops:
            found = looped(make, Path(name), stop)
            if found is not None:
                break
        assert (found or looped(make, Path(name))) == expected


SCRIPT = """
import sys
from pathlib import Path
sys.path.insert(0, {tests!r})
import test_interruptions as here
make, folder, stop = here.SEVEN[int(sys.argv[1])], Path(sys.argv[2]), int(sys.argv[3])
done = here.looped(make, folder, stop or None)
print(done and (done[0].hex(), done[1]))
"""


@pytest.mark.parametrize("which", [6])
def test_a_loop_goes_on_in_another_process(which, tmp_path):
    def run(stop):
        code = SCRIPT.format(tests=str(Path(__file__).parent))
        command = [sys.executable, "-c", code, str(which), str(tmp_path), str(stop)]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()

    whole = run(0)
    assert run(5) == "None"
    assert run(0) == whole


# --- numbers and functions ----------------------------------------------------------------


@pytest.mark.parametrize("make", SEVEN)
@pytest.mark.parametrize("wrong", ["a", None, float("nan"), float("-inf"), [1.0], True, 1j])
def test_no_setting_of_a_trainer_is_anything_but_a_number(make, wrong):
    model = Model(seed=1)
    names = [*make.__signature__.parameters][1:]
    none_is_the_default = {"clip_threshold"} | (set(names) if make is optimizers.RMSPropTrainer else set())
    settings_of = [name for name in names if name != "legacy" and not (wrong is None and name in none_is_the_default)]
    for name in settings_of:
        with pytest.raises((TypeError, ValueError), match=name):
            make(model, **{name: wrong})
    trainer = make(model)
    before = trainer.settings()
    for name in before:
        if (wrong is not True or not isinstance(before[name], bool)) and (wrong, name) != (None, "clip_threshold"):
            with pytest.raises((TypeError, ValueError), match=name):
                setattr(trainer, name, wrong)
    for name in ("update_epoch", "restart", "set_clip_threshold", "exponential_moving_average", "update"):
        if wrong is not None or name not in ("restart", "set_clip_threshold"):
            with pytest.raises((TypeError, ValueError)):
                getattr(trainer, name)(wrong)
    with pytest.raises((TypeError, ValueError), match="weight_decay_lambda"):
        model.weight_decay_lambda = wrong
    assert trainer.settings() == before
    assert model.weight_decay_lambda == 0.0


@pytest.mark.parametrize("wrong", [
    {"seed": "a"}, {"seed": -1}, {"schedule": 3}, {"schedule": lambda epoch: "a"}, {"schedule": lambda epoch: -1.0},
    {"report": print}, {"report": [3]}, {"save": 3}, {"validate": 3}, {"validate": lambda: "a"}, {"resume": 3},
    {"first_epoch": -1}, {"patience": "a"}, {"epochs": True}, {"batch_size": "a"}, {"samples": "abc"},
    {"trainer": optimizers.AdamTrainer}, {"loss_of": 3},
])  # fmt: skip
def test_no_wish_of_a_loop_is_met_with_an_error_of_pythons(wrong):
    with Graph.scratch():
        x = Variable(1.0)
        given = {"trainer": optimizers.AdamTrainer([x]), "loss_of": lambda batch: x * x, "samples": [1, 2], "epochs": 1}
        with pytest.raises((TrainingError, TypeError, ValueError)) as caught:
            fit(**{**given, **wrong})
        assert type(caught.value).__module__ == "naive_graph.errors"
