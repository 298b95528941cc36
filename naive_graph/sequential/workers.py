"""The pipeline on real workers, threads or processes, with the bits of the serial recurrence.

A worker runs the operators of one part, sample after sample. Between workers
there are queues that hold few samples, and no lockstep: the forward of group g
waits for its weights U_g, everything else for its samples.
"""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np

from ..core.imports import interrupts_to
from ..errors import TrainingError
from .firing import NetworkMachine
from .network import Network, Weights
from .pipeline import schedule
from .schemes import added, check_policy, copied, updated

Array = Any
CAPACITY = 4  # samples that a stream between workers holds
PATIENCE = 0.05  # seconds between two looks whether somebody has failed


class FiringTime(NamedTuple):
    """One firing in real time, in seconds since the run began."""

    worker: int
    operator: str
    iteration: int
    start: float
    end: float


class Ran(NamedTuple):
    """What a run leaves: both buffers, how many groups have ended, the loss of every sample, and when what fired."""

    buffers: list[Weights]
    ended: int
    losses: list[float]
    bars: list[FiringTime]


class WorkerStopped(Exception):
    """Another worker failed, so this one ends."""


class Store:
    """The weights of all layers in two buffers, and how many groups have ended in each."""

    def __init__(self, buffers: Sequence[Weights], ended: Any, changed: Any, policy: str, rate: float) -> None:
        self.buffers = buffers
        self.ended = ended  # by layer
        self.changed = changed
        self.policy = check_policy(policy)
        self.rate = rate

    def wait(self, layer: int, group: int, alive: Callable[[], None]) -> None:
        """Until the weights of a group are there: groups 0 to group - 2 have ended."""
        with self.changed:
            while self.ended[layer] < group - 1:
                alive()
                self.changed.wait(PATIENCE)

    def of(self, layer: int, group: int) -> dict[str, Array]:
        return self.buffers[group % 2][layer]

    def learn(self, layer: int, group: int, total: Mapping[str, Array], count: int) -> None:
        """Write U_{g+2} where U_g was. Nobody reads that any more: all forwards of the group have ended."""
        base = self.of(layer, group + 1 if self.policy == "delayed" else group)
        after = updated(base, total, count, self.rate)
        with self.changed:
            for name, array in self.of(layer, group).items():
                array[...] = after[name]
            self.ended[layer] += 1
            self.changed.notify_all()


class Desk:
    """What all workers share: how far to go, who failed, and the clock."""

    def __init__(self, limit: Any, failed: Any, started: float) -> None:
        self.limit = limit  # .value: the last iteration to begin; a Ctrl-C lowers it to the end of a group
        self.failed = failed  # an Event
        self.started = started

    def check(self) -> None:
        if self.failed.is_set():
            raise WorkerStopped


class PipelineInput(NamedTuple):
    """What passes through: samples, labels, the groups and samples seen before, and whether firings are timed."""

    samples: Array
    labels: Array
    before: tuple[int, int] = (0, 0)
    timed: bool = False


def work(
    network: Network, part: Sequence[str], worker: int, channels: Mapping[str, Any], store: Store, desk: Desk,
    course: PipelineInput,
) -> tuple[list[float], list[FiringTime]]:  # fmt: skip
    """Run one part for all samples. Raises TrainingError with the operator's name."""
    flow, machine, size = network.expand(), NetworkMachine(network), network.batch_size
    outside = {network.streams.data: course.samples, network.streams.labels: course.labels}
    totals: list[dict[str, Array]] = [{} for _ in network.layers]
    losses: list[float] = []
    bars: list[FiringTime] = []
    iteration = 0
    while iteration < desk.limit.value:
        iteration += 1
        group = course.before[0] + (iteration - 1) // size
        inside: dict[str, Array] = {}
        for name in part:
            operator = flow.operators[name]
            layer = operator.layer - 1
            try:
                taken = {}
                for each in operator.inputs:
                    if each in outside and not flow.streams[each].writer:
                        taken[each] = outside[each][iteration - 1]
                    else:
                        taken[each] = inside.pop(each) if each in inside else _get(channels[each], desk)
                if operator.layer:
                    store.wait(layer, group, desk.check)
                start = time.perf_counter()
                fired = machine.fire(
                    operator, taken, store.of(layer, group) if operator.layer else {}, course.before[1] + iteration
                )
                added(totals[layer], fired.gradients)
                if course.timed:
                    bars.append(
                        FiringTime(worker, name, iteration, start - desk.started, time.perf_counter() - desk.started)
                    )
                if operator.kind == "backward" and (iteration % size == 0 or iteration == desk.limit.value):
                    store.learn(layer, group, totals[layer], (iteration - 1) % size + 1)
                    totals[layer] = {}
            except (WorkerStopped, KeyboardInterrupt):
                raise
            except BaseException as error:
                raise TrainingError(f"{name} failed at sample {iteration}: {type(error).__name__}: {error}") from error
            if fired.loss is not None:
                losses.append(fired.loss)
            for stream, sample in fired.given.items():
                if stream in channels:
                    _put(channels[stream], sample, desk)
                elif flow.streams[stream].reader:
                    inside[stream] = sample
    return losses, bars


def _get(channel: Any, desk: Desk) -> Array:
    while True:
        try:
            return channel.get(timeout=PATIENCE)
        except queue.Empty:
            desk.check()


def _put(channel: Any, sample: Array, desk: Desk) -> None:
    while True:
        try:
            channel.put(sample, timeout=PATIENCE)
            return
        except queue.Full:
            desk.check()


def crossing(network: Network, partition: Sequence[Sequence[str]]) -> list[str]:
    """The names of the streams from one part to another."""
    return [each.name for each in network.expand().crossing(partition)]


def checked(network: Network, partition: Sequence[Sequence[str]] | None) -> list[list[str]]:
    """The parts; halves of the operators if none are given. Raises SequentialError for what is no division."""
    flow = network.expand()
    if partition is None:
        names = list(flow.operators)
        middle = names.index("lossComp") + 1
        partition = [names[:middle], names[middle:]]
    schedule(flow, partition)
    return [list(names) for names in partition]


class _Cell:
    """A number that threads share."""

    def __init__(self, value: int) -> None:
        self.value = value


def in_threads(
    network: Network, buffers: Sequence[Weights], samples: Array, labels: Array, policy: str = "delayed",
    partition: Sequence[Sequence[str]] | None = None, before: tuple[int, int] = (0, 0), timed: bool = False,
) -> Ran:  # fmt: skip
    """A pipelined run with a thread for each part. A Ctrl-C ends it behind the group at hand."""
    parts = checked(network, partition)
    store = Store(
        [copied(each) for each in buffers],
        [before[0]] * len(network.layers),
        threading.Condition(),
        policy,
        network.learning_rate,
    )
    desk = Desk(_Cell(len(samples)), threading.Event(), time.perf_counter())
    channels: dict[str, Any] = {name: queue.Queue(CAPACITY) for name in crossing(network, parts)}
    answers: dict[int, Any] = {}
    course = PipelineInput(samples, labels, before, timed)
    _ = network.arithmetic  # made here, once, not by each thread

    def run(worker: int) -> None:
        try:
            answers[worker] = work(network, parts[worker], worker, channels, store, desk, course)
        except BaseException as error:
            answers[worker] = error
            desk.failed.set()

    threads = [threading.Thread(target=run, args=(worker,), daemon=True) for worker in range(len(parts))]
    for thread in threads:
        thread.start()
    with ends_a_group(network, store, desk, len(samples), before[0]):
        for thread in threads:
            while thread.is_alive():
                thread.join(PATIENCE)
    return collected(store, desk, network, answers)


@contextmanager
def ends_a_group(network: Network, store: Store, desk: Desk, count: int, before: int) -> Iterator[None]:
    """A Ctrl-C inside lets all workers end the groups that were begun; a second one stops them at once."""

    def end(number: int, frame: Any) -> None:
        size = network.batch_size
        begun = (min(store.ended) - before + 3) * size  # no worker is further: group g waits for g - 2
        if desk.limit.value <= begun:
            desk.failed.set()
        desk.limit.value = min(count, begun)

    with interrupts_to(end):
        yield


def collected(store: Store, desk: Desk, network: Network, answers: Mapping[int, Any]) -> Ran:
    """What all workers found. Raises what one of them raised."""
    for answer in answers.values():
        if isinstance(answer, BaseException) and not isinstance(answer, WorkerStopped):
            raise answer
    if desk.failed.is_set():
        raise KeyboardInterrupt
    buffers = [[{name: np.array(array) for name, array in each.items()} for each in half] for half in store.buffers]
    losses = [loss for found, _ in answers.values() for loss in found]
    bars = sorted((bar for _, found in answers.values() for bar in found), key=lambda bar: bar.start)
    return Ran(buffers, min(store.ended), losses, bars)
