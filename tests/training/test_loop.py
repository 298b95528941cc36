"""The training loop: order, validation, patience, schedules, reporters, and Ctrl-C."""

import json
import os
import signal
import threading
from dataclasses import asdict

import pytest

from naive_graph import (
    AdamTrainer,
    Graph,
    History,
    LeafNode,
    Model,
    PlaceHolder,
    Program,
    SimpleSGDTrainer,
    Variable,
    record,
)
from naive_graph.errors import FeedError, TrainingError
from naive_graph.training import parameter
from naive_graph.training.initialisers import const
from naive_graph.training.loop import Outcome, batches, cosine, fit

POINTS = [(x / 10, 2.0 * x / 10 - 1.0) for x in range(20)]


class Line:
    """y = a x + b over scalar nodes, one graph for all samples."""

    def __init__(self):
        self.a, self.b = Variable(0.0, name="a"), Variable(0.0, name="b")
        self.x, self.y = PlaceHolder(name="x"), PlaceHolder(name="y")
        self.error = (self.a * self.x + self.b - self.y) ** 2
        self.trainer = SimpleSGDTrainer([self.a, self.b], 0.1)

    def loss(self, batch):
        ((self.x.value, self.y.value),) = batch
        return self.error


def test_a_line_is_found_with_scalars():
    line = Line()
    outcome = fit(line.trainer, line.loss, POINTS, epochs=60, batch_size=1)
    assert (line.a.value, line.b.value) == pytest.approx((2.0, -1.0), abs=1e-3)
    assert (outcome.steps, outcome.epochs, outcome.stopped) == (1200, 60, "epochs")


def test_a_line_is_found_with_a_model_and_a_graph_for_each_batch():
    model = Model(seed=1)
    w = model.add_parameters(2)

    def loss(batch):
        Graph.renew()
        inputs = [[x, 1.0] for x, _ in batch]
        return ((inputs @ parameter(w) - [y for _, y in batch]) ** 2).mean()

    with Graph.scratch():
        fit(AdamTrainer(model, 0.1), loss, POINTS, epochs=100, batch_size=5)
    assert w.values == pytest.approx([2.0, -1.0], abs=1e-3)


def test_every_epoch_sees_every_sample_once_in_an_order_of_its_own():
    seen = []
    line = Line()

    def loss(batch):
        seen.extend(batch)
        return line.loss(batch[:1])

    fit(line.trainer, loss, POINTS, epochs=2, batch_size=1, seed=3)
    first, second = seen[:20], seen[20:]
    assert sorted(first) == sorted(second) == POINTS
    assert first != second != POINTS


def test_a_seed_gives_the_same_run():
    ends = []
    for _ in range(2):
        line = Line()
        fit(line.trainer, line.loss, POINTS, epochs=2, batch_size=1, seed=5)
        ends.append((line.a.value, line.b.value))
    assert ends[0] == ends[1]
    assert list(batches(POINTS, 7)) != list(batches(POINTS, 7, seed=1))


def test_patience_ends_a_run_that_learns_no_more():
    losses = iter([3.0, 2.0, 2.5, 2.5, 1.0])
    line = Line()
    outcome = fit(line.trainer, line.loss, POINTS[:1], epochs=9, validate=lambda: next(losses), patience=2)
    assert (outcome.stopped, outcome.epochs, outcome.best, outcome.best_epoch) == ("patience", 4, 2.0, 1)


def test_reporters_hear_every_step_and_history_is_one():
    line, history = Line(), History()
    heard = []
    reporters = [history.record, lambda **numbers: heard.append(numbers)]
    fit(line.trainer, line.loss, POINTS, epochs=2, batch_size=1, report=reporters)
    assert len(history) == len(heard) == 40
    assert history.names == ["epoch", "loss", "rate"]
    assert history["loss"][-1] < history["loss"][0]


def test_a_schedule_sets_the_rate_of_each_epoch():
    line, history = Line(), History()
    fit(line.trainer, line.loss, POINTS[:1], epochs=3, schedule=cosine(0.1, 0.0, 2), report=[history.record])
    assert history["rate"] == pytest.approx([0.1, 0.05, 0.0])


@pytest.mark.skipif(os.name == "nt", reason="SIGINT to oneself")
def test_ctrl_c_ends_after_the_step_at_hand_with_everything_saved():
    line, saved = Line(), []

    def interrupt(**numbers):
        if len(saved) == 0 and numbers["epoch"] == 1:
            os.kill(os.getpid(), signal.SIGINT)

    before = signal.getsignal(signal.SIGINT)
    outcome = fit(
        line.trainer,
        line.loss,
        POINTS,
        epochs=5,
        batch_size=1,
        report=[interrupt],
        save=lambda: saved.append(line.a.value),
    )
    assert outcome.stopped == "interrupt"
    assert outcome.steps == line.trainer.updates < 30
    assert saved == [line.a.value]
    assert signal.getsignal(signal.SIGINT) is before


@pytest.mark.skipif(os.name == "nt", reason="SIGINT to oneself")
def test_a_second_ctrl_c_ends_at_once():
    line = Line()

    def stubborn(batch):
        os.kill(os.getpid(), signal.SIGINT)
        os.kill(os.getpid(), signal.SIGINT)
        return line.loss(batch)

    with pytest.raises(KeyboardInterrupt):
        fit(line.trainer, stubborn, POINTS, batch_size=1)


def test_a_loop_runs_in_a_thread_too():
    line, outcomes = Line(), []
    thread = threading.Thread(target=lambda: outcomes.append(fit(line.trainer, line.loss, POINTS[:1], epochs=1)))
    thread.start()
    thread.join()
    assert outcomes[0].steps == 1


def test_what_was_learned_is_saved_on_an_exception():
    saved = []
    with pytest.raises(ZeroDivisionError):
        fit(Line().trainer, lambda batch: 1 / 0, POINTS, save=lambda: saved.append(True))
    assert saved == [True]


@pytest.mark.parametrize(
    "wrong, says",
    [
        ({"samples": []}, "at least one sample"),
        ({"epochs": 0}, "epochs is a whole number"),
        ({"batch_size": 2.5}, "batch_size is a whole number"),
        ({"patience": 0}, "patience is a whole number"),
        ({"loss_of": lambda batch: None}, "forget to return"),
    ],
)
def test_a_wrong_wish_is_named(wrong, says):
    line = Line()
    given = {"trainer": line.trainer, "loss_of": line.loss, "samples": POINTS, "batch_size": 1, **wrong}
    with pytest.raises(TrainingError, match=says):
        fit(**given)


# --- going on -------------------------------------------------------------------


def state(line):
    return line.a.value, line.b.value, line.trainer.memory


class Swift(Line):
    def __init__(self):
        super().__init__()
        self.trainer = AdamTrainer([self.a, self.b], 0.05)


def test_three_epochs_and_three_are_six():
    whole, first, second = Swift(), Swift(), Swift()
    wishes = {"samples": POINTS, "batch_size": 1, "schedule": cosine(0.1, 0.0, 6)}
    fit(whole.trainer, whole.loss, epochs=6, **wishes)
    fit(first.trainer, first.loss, epochs=3, **wishes)
    fit(first.trainer, first.loss, epochs=3, first_epoch=3, **wishes)
    outcome = fit(second.trainer, second.loss, epochs=3, **wishes)
    done = fit(second.trainer, second.loss, epochs=3, resume=outcome, **wishes)
    assert state(first) == state(second) == state(whole)
    assert (done.steps, done.epochs) == (120, 6)


@pytest.mark.skipif(os.name == "nt", reason="SIGINT to oneself")
@pytest.mark.parametrize("at", [1, 27, 40, 59])
def test_a_run_that_ctrl_c_ended_goes_on_with_the_bits_of_one_that_was_not(at):
    whole, stopped, steps = Swift(), Swift(), []

    def interrupt(**numbers):
        steps.append(numbers)
        if len(steps) == at:
            os.kill(os.getpid(), signal.SIGINT)

    checked = {"batch_size": 1, "validate": lambda: 1.0}
    expected = fit(whole.trainer, whole.loss, POINTS, epochs=3, **checked)
    outcome = fit(stopped.trainer, stopped.loss, POINTS, epochs=3, report=[interrupt], **checked)
    assert (outcome.stopped, outcome.steps) == ("interrupt", at)
    outcome = Outcome(**json.loads(json.dumps(asdict(outcome))))
    done = fit(stopped.trainer, stopped.loss, POINTS, epochs=3 - outcome.epochs, resume=outcome, **checked)
    assert state(stopped) == state(whole)
    assert done == expected


def test_a_graph_for_each_batch_does_not_grow_for_ever():
    with Graph.scratch():
        mean = Variable(0.0)
        trainer = SimpleSGDTrainer([mean], 0.1)
        fit(trainer, lambda batch: (mean - batch[0][0]) ** 2, POINTS, epochs=20, batch_size=1)
        assert len(Graph.node_list) == 1
        assert mean.value == pytest.approx(0.95, abs=0.5)


def test_what_is_recorded_stays(tmp_path):
    with Graph.scratch():
        mean = Variable(0.0)
        with record() as steps:
            fit(SimpleSGDTrainer([mean], 0.1), lambda batch: (mean - batch[0][0]) ** 2, POINTS, epochs=1, batch_size=1)
        steps.save(tmp_path / "walk.html")
        cast = steps.runs[0].cast
        assert mean.row in cast.rows and "difference" in " ".join(cast.called(row) for row in cast.rows)


def test_nodes_that_somebody_holds_stay():
    with Graph.scratch():
        mean, kept = Variable(0.0), {}

        def loss(batch):
            if len(batch) not in kept:  # a graph for each size of a batch, made when it is needed
                x = [PlaceHolder() for _ in batch]
                kept[len(batch)] = x, sum(((mean - each) ** 2 for each in x), start=Variable(0.0))
            x, total = kept[len(batch)]
            for holder, (value, _) in zip(x, batch):
                holder.value = value
            return total

        fit(SimpleSGDTrainer([mean], 0.01), loss, POINTS, epochs=3, batch_size=6)
        nodes = len(Graph.node_list)
        fit(SimpleSGDTrainer([mean], 0.01), loss, POINTS, epochs=3, batch_size=6)
        assert len(Graph.node_list) == nodes


def test_a_program_of_a_loss_with_inputs_is_trained():
    def line():
        model, x, y = Model(), LeafNode.input((5,), "x"), LeafNode.input((5,), "y")
        w = model.add_parameters(2, init=const(0.0))
        return model, x, y, ((parameter(w)[0] * x + parameter(w)[1] - y) ** 2).mean()

    with Graph.scratch():
        model, x, y, loss = line()
        fit(AdamTrainer(model, 0.1), Program(loss, inputs=[x, y]), POINTS, epochs=100, batch_size=5)
        assert model.values == pytest.approx([2.0, -1.0], abs=1e-2)
        with pytest.raises(FeedError, match="has 5 samples, not 6"):
            fit(AdamTrainer(model, 0.1), Program(loss, inputs=[x, y]), POINTS, batch_size=6)
