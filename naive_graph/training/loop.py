"""`fit`, the training loop: minibatches, validation, early stopping, resuming, and a clean end on Ctrl-C.

The loop prints nothing. After each step it calls the reporters (callbacks) with keyword numbers such as
`loss`: `History().record` is one. Below it: learning-rate schedules.
"""

from __future__ import annotations

import random
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import islice
from math import cos, pi
from operator import index
from typing import Any

from ..core.number import as_list, number, shortened
from ..core.optional_deps import interrupts_to
from ..engines.select import WATCHERS
from ..errors import TrainingError
from ..graph.graph import Graph
from ..graph.node_factory import CURRENT, truncate_if_unreferenced
from ..graph.nodes import Node
from .parameter_protocol import LARGEST, make_range_check
from .trainer import Trainer

Listener = Callable[..., object]
Schedule = Callable[[int], float]
check_rate = make_range_check(0.0, LARGEST, "finite number of at least 0")


@dataclass
class Outcome:
    """How a training loop ended, and the state from which `fit(resume=...)` continues; plain, serializable values."""

    steps: int = 0
    epochs: int = 0  # completed epochs, earlier runs included
    stopped: str = "epochs"  # why it ended: "epochs", "patience" or "interrupt"
    best: float | None = None  # the lowest validation loss
    best_epoch: int | None = None
    batches: int = 0  # completed minibatches of the interrupted epoch


def batches(samples: Sequence[Any], size: int, seed: int | None = None) -> Iterator[list[Any]]:
    """Minibatches: the samples in lists of `size`, shuffled by a seed; the last may be shorter.

    >>> list(batches([1, 2, 3], 2))
    [[1, 2], [3]]
    """
    size, order = checked_int(size, "size"), list(range(len(samples)))
    if seed is not None:
        random.Random(seed).shuffle(order)
    for start in range(0, len(order), size):
        yield [samples[position] for position in order[start : start + size]]


def fit(
    trainer: Trainer,
    loss_of: Callable[[list[Any]], Any],
    samples: Sequence[Any],
    *,
    epochs: int = 10,
    batch_size: int = 32,
    seed: int = 0,
    validate: Callable[[], float] | None = None,
    patience: int | None = None,
    schedule: Schedule | None = None,
    report: Iterable[Listener] = (),
    save: Callable[[], object] | None = None,
    first_epoch: int = 0,
    resume: Outcome | None = None,
) -> Outcome:
    """Train: for each minibatch evaluate the loss, backpropagate, update, and call the reporters.

    loss_of: a function from a list of samples to their loss, a scalar node or a
    tensor of one entry; or a Program of a loss, whose samples have an array for each
    input. The nodes that it adds to the scalar graph are removed after each step,
    unless they are referenced.
    seed: epoch e is shuffled by (seed, e), so a run can be repeated.
    validate: a loss on other samples, after each epoch; with `patience`, the
    loop ends after so many epochs without a new lowest. schedule: the learning
    rate for each epoch. save: called at the end, whatever ended the loop.
    Ctrl-C ends the loop after the step at hand; a second one ends it at once.
    first_epoch: the number of the first epoch, if earlier ones were run before.
    resume: the Outcome of an earlier run with the same trainer, which may have ended
    in the middle of an epoch (Ctrl-C). Training continues from there, to the bit as
    if it had not stopped.

    >>> from naive_graph import Variable
    >>> from naive_graph.training.optimizers import SimpleSGDTrainer
    >>> mean = Variable(0.0)
    >>> outcome = fit(SimpleSGDTrainer([mean], 0.25), lambda batch: (mean - batch[0]) ** 2, [2.0], epochs=20)
    >>> outcome.stopped, round(mean.value, 3)
    ('epochs', 2.0)
    """
    _check_parts(trainer, loss_of, samples)
    listeners = as_list(report, "report", "a list of functions")
    reports = {f"report[{position}]": listener for position, listener in enumerate(listeners)}
    _check_functions(validate=validate, schedule=schedule, save=save, **reports)
    epochs, batch_size = checked_int(epochs, "epochs"), checked_int(batch_size, "batch_size")
    seed, first_epoch = checked_int(seed, "seed", 0), checked_int(first_epoch, "first_epoch", 0)
    patience = None if patience is None else checked_int(patience, "patience")
    if not isinstance(resume, Outcome | None):
        raise TrainingError(f"resume takes the Outcome of an earlier run, not {shortened(resume)}.")
    outcome = Outcome(epochs=first_epoch) if resume is None else replace(resume, stopped="epochs")

    def steps(epoch: int, stop_event: threading.Event) -> Iterator[float]:
        if schedule is not None and not outcome.batches:  # a resumed epoch keeps the trainer's rate
            trainer.learning_rate = check_rate(schedule(epoch), "What schedule gives")
        shuffled = batches(samples, batch_size, seed * 1_000_003 + epoch)  # one seed per epoch
        for batch in islice(shuffled, outcome.batches, None):
            loss = _step(trainer, loss_of, batch)
            for listener in listeners:
                listener(epoch=epoch, loss=loss, rate=trainer.learning_rate)
            yield loss

    try:
        return run(steps, outcome, range(outcome.epochs, outcome.epochs + epochs), validate, patience)
    finally:
        if save is not None:
            save()


def run(
    steps: Callable[[int, threading.Event], Iterator[float]], outcome: Outcome, epochs: Iterable[int],
    validate: Callable[[], float] | None = None, patience: int | None = None,
) -> Outcome:  # fmt: skip
    """The loop under `fit`: run the steps of each epoch, then validate; returns the updated outcome.

    steps: yields once for each step of an epoch; the event tells it that Ctrl-C was pressed, which ends the loop
    after the current step; a second Ctrl-C raises KeyboardInterrupt at once.
    """
    stop_event = threading.Event()

    def handle_interrupt(*_: object) -> None:
        if stop_event.is_set():
            raise KeyboardInterrupt
        stop_event.set()

    with interrupts_to(handle_interrupt):
        for epoch in epochs:
            for _ in steps(epoch, stop_event):
                outcome.steps += 1
                outcome.batches += 1
                if stop_event.is_set():
                    outcome.stopped = "interrupt"
                    return outcome
            outcome.epochs, outcome.batches = epoch + 1, 0
            if validate is None:
                continue
            loss = number(validate(), "What validate gives")
            if outcome.best is None or outcome.best_epoch is None or loss < outcome.best:
                outcome.best, outcome.best_epoch = loss, epoch
            if patience is not None and epoch - outcome.best_epoch >= patience:  # so many brought no new best
                outcome.stopped = "patience"
                return outcome
    return outcome


def _step(trainer: Trainer, loss_of: Callable[[list[Any]], Any], batch: list[Any]) -> float:
    """One training step: evaluate the loss of a batch, backpropagate, update; returns the loss.

    Scalar nodes that `loss_of` added and nobody references are removed from the graph again.
    """
    tables = CURRENT.tables
    mark = tables.mark()
    program: Any = loss_of
    loss: Any = None
    if hasattr(program, "backward"):
        value = program.backward(*_columns(batch, len(program.inputs)))
    elif isinstance(loss := loss_of(batch), Node):
        Graph.forward(loss)
        Graph.backward(loss)
        value = loss.value
    elif hasattr(loss, "backward"):
        value = loss.forward()
        loss.backward()
    else:
        raise TrainingError(f"loss_of gives a node or a tensor, not {shortened(loss)}. Does it forget to return?")
    trainer.update()
    del loss
    if not WATCHERS and tables is CURRENT.tables:
        truncate_if_unreferenced(tables, mark)
    return float(value)


def _columns(batch: list[Any], inputs: int) -> list[Any]:
    """Collate a batch: for each input one array stacked over the samples.

    A sample is a sequence with one array for each input; if there is one input, the array itself.
    """
    import numpy as np

    return [np.stack([np.asarray(sample) for sample in column]) for column in (zip(*batch) if inputs > 1 else [batch])]


def _check_parts(trainer: Any, loss_of: Any, samples: Any) -> None:
    """Raise TrainingError unless `fit` got a trainer, a function and a nonempty sequence of samples."""
    if isinstance(trainer, type) or not callable(getattr(trainer, "update", None)) or not callable(loss_of):
        raise TrainingError(
            f"fit takes a trainer and a function of samples, not {shortened(trainer)}, {shortened(loss_of)}."
        )
    is_sequence = hasattr(samples, "__len__") and hasattr(samples, "__getitem__")
    if not is_sequence or isinstance(samples, (Mapping, str, bytes)):
        raise TrainingError(f"fit takes samples in a list, not {type(samples).__name__}. Write list(samples).")
    if not len(samples):
        raise TrainingError("fit needs at least one sample.")


def _check_functions(**functions: Any) -> None:
    for name, function in functions.items():
        if function is not None and not callable(function):
            raise TrainingError(f"{name} is a function, not {shortened(function)}.")


def checked_int(value: Any, name: str, least: int = 1) -> int:
    """The value as an int. Raises TrainingError unless it is a whole number of at least `least`."""
    with suppress(TypeError):
        if not isinstance(value, bool) and index(value) >= least:
            return index(value)
    raise TrainingError(f"{name} is a whole number of at least {least}, not {shortened(value)}.")


# --- learning rates, epoch by epoch ---------------------------------------------


def steps_down(first: float, factor: float = 0.1, every: int = 10) -> Schedule:
    """Step decay: the rate falls by a factor every so many epochs.

    >>> [round(steps_down(1.0, 0.5, 2)(epoch), 3) for epoch in range(5)]
    [1.0, 1.0, 0.5, 0.5, 0.25]
    """
    first, factor, every = check_rate(first, "first"), check_rate(factor, "factor"), checked_int(every, "every")
    return lambda epoch: first * factor ** (epoch // every)


def cosine(first: float, last: float, epochs: int) -> Schedule:
    """Cosine decay: the rate falls from first to last along half a cosine. Source: Loshchilov & Hutter, ICLR 2017.

    >>> [round(cosine(1.0, 0.0, 4)(epoch), 3) for epoch in range(5)]
    [1.0, 0.854, 0.5, 0.146, 0.0]
    """
    first, last, epochs = check_rate(first, "first"), check_rate(last, "last"), checked_int(epochs, "epochs")
    return lambda epoch: last + 0.5 * (first - last) * (1 + cos(pi * min(epoch, epochs) / epochs))


def warmed_up(schedule: Schedule, epochs: int) -> Schedule:
    """Linear warm-up: scale a schedule from near 0 to 1 over the first epochs.

    >>> [round(warmed_up(lambda epoch: 1.0, 4)(epoch), 2) for epoch in range(5)]
    [0.25, 0.5, 0.75, 1.0, 1.0]
    """
    _check_functions(schedule=schedule)
    epochs = checked_int(epochs, "epochs")
    return lambda epoch: schedule(epoch) * min(1.0, (epoch + 1) / epochs)
