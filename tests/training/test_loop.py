"""The training loop: order, validation, patience, schedules, reporters, and Ctrl-C."""

import os
import signal
import threading

import pytest

from naive_graph import AdamTrainer, Bar, Graph, History, Model, PlaceHolder, SimpleSGDTrainer, Variable, parameter
from naive_graph.errors import TrainingError
from naive_graph.training.loop import batches, cosine, fit

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
    with Bar() as bar:
        fit(line.trainer, line.loss, POINTS, epochs=2, batch_size=1, report=[history.record, bar])
    assert len(history) == 40
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
