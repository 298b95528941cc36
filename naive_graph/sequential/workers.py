"""The pipeline on real workers, threads, with the bits of the serial recurrence.

A worker runs the operators of one part, block after block of each group's samples.
Between workers there are queues that hold few blocks, and no lockstep: the forward
of group g waits for its weights U_g, everything else for its samples.
"""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np

from ..core.imports import interrupts_to
from ..errors import TrainingError
from .dataflow import Dataflow, StreamOperator
from .network import Network, Weights
from .partitioning import Partition
from .pipeline import schedule
from .sdf_runtime import learning
from .splitjoin import with_operators
from .weight_staleness import Gradients, Versions, block_size, blocks, copied, groups

Array = Any
CAPACITY = 4  # blocks that a stream between workers holds
PATIENCE = 0.05  # seconds between two looks whether somebody has failed


class FiringTime(NamedTuple):
    """One firing in real time, in seconds since the run began."""

    worker: int
    operator: str
    iteration: int  # of its first sample
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


class Store(Versions):
    """The weights of all layers in two buffers that workers share, and how many groups each writer has ended."""

    def __init__(self, buffers: Sequence[Weights], ended: Any, changed: Any, policy: str, rate: float) -> None:
        super().__init__(buffers, policy, rate)
        self.ended = ended  # by writer
        self.changed = changed

    def wait(self, writers: Sequence[int], group: int, alive: Callable[[], None]) -> None:
        """Until the weights of a group are there: groups 0 to group - 2 have ended."""
        with self.changed:
            while any(self.ended[each] < group - 1 for each in writers):
                alive()
                self.changed.wait(PATIENCE)

    def left(self) -> list[Weights]:
        """Both buffers, as nobody writes them any more."""
        return [copied(each) for each in self.buffers]

    def written(self, writer: int) -> None:
        """One more group has ended, and somebody may wait for it."""
        with self.changed:
            self.ended[writer] += 1
            self.changed.notify_all()


class StoreBeside(Store):
    """A store in new buffers: the first two groups read what was there before, and nothing is copied."""

    def __init__(self, begun: Sequence[Weights], first: int, *others: Any) -> None:
        super().__init__([[_like(layer) for layer in half] for half in begun], *others)
        self.begun, self.first = begun, first

    def of(self, layer: int, group: int) -> dict[str, Array]:
        return (self.begun if group < self.first + 2 else self.buffers)[group % 2][layer]

    def left(self) -> list[Weights]:
        """Both buffers; a copy of what was there before where no group has written."""
        written = {group % 2 for group in range(self.first, min(self.ended))}
        return [self.buffers[half] if half in written else copied(self.begun[half]) for half in (0, 1)]


def _like(layer: Mapping[str, Array]) -> dict[str, Array]:
    return {name: np.empty_like(array) for name, array in layer.items()}


class Desk:
    """What all workers share: how far to go, who failed, and the clock."""

    def __init__(self, limit: Any, failed: Any, started: float) -> None:
        self.limit = limit  # .value: the last sample to begin; a Ctrl-C lowers it to the end of a group
        self.failed = failed  # .value: whether somebody has
        self.started = started

    def check(self) -> None:
        if self.failed.value:
            raise WorkerStopped


class PipelineInput(NamedTuple):
    """What passes through: operators, samples, labels, the groups and samples seen before, and whether firings are
    timed."""

    flow: Dataflow
    samples: Array
    labels: Array
    before: tuple[int, int] = (0, 0)
    timed: bool = False


def writers(flow: Dataflow) -> dict[str, int]:
    """The operators that may write weights, numbered."""
    return {
        name: number
        for number, name in enumerate(each.name for each in flow.operators.values() if each.kind == "backward")
    }


class Part:
    """One worker's operators, and what they have at hand."""

    def __init__(
        self, network: Network, names: Sequence[str], worker: int, channels: Mapping[str, Any], store: Store,
        desk: Desk, course: PipelineInput,
    ) -> None:  # fmt: skip
        self.machine, self.worker, self.channels = learning(network, later=True), worker, channels
        self.store, self.desk, self.course = store, desk, course
        self.outside = {network.streams.data: course.samples, network.streams.labels: course.labels}
        self.operators = [course.flow.operators[name] for name in names]
        numbers = writers(course.flow)
        self.writers = {name: number for name, number in numbers.items() if name in names}
        self.teachers = {
            each.name: [numbers[name] for name in numbers if course.flow.operators[name].layer == each.layer]
            for each in self.operators
            if each.kind == "forward"
        }
        self.size, self.block = network.batch_size, block_size(network)
        self.losses: list[float] = []
        self.bars: list[FiringTime] = []

    def run(self) -> tuple[list[float], list[FiringTime]]:
        """All samples. Raises TrainingError with the operator's name."""
        for group, members in enumerate(groups(len(self.course.samples), self.size), self.course.before[0]):
            if members.start >= self.desk.limit.value:
                break
            totals: Gradients = {}
            for block in blocks(members, self.block):
                inside: dict[str, Array] = {}
                for operator in self.operators:
                    try:
                        self._fire(operator, group, block, inside, totals)
                        if operator.name in self.writers and block.stop == members.stop:
                            held = self.store.of(operator.layer - 1, group)
                            total = {operator.name: self.machine.summed(operator, totals.get(operator.name, {}), held)}
                            # Nobody is more than a group ahead, so that the last whole group is always at hand.
                            self.store.wait(range(len(self.store.ended)), group + 1, self.desk.check)
                            self.store.learn_all(self.course.flow, group, total, len(members))
                            self.store.written(self.writers[operator.name])
                    except (WorkerStopped, KeyboardInterrupt):
                        raise
                    except BaseException as error:
                        where = f"{operator.name} failed at sample {block.start + 1}"
                        raise TrainingError(f"{where}: {type(error).__name__}: {error}") from error
        return self.losses, self.bars

    def _fire(
        self, operator: StreamOperator, group: int, block: range, inside: dict[str, Array], totals: Gradients
    ) -> None:
        taken = {each: self._taken(each, block, inside) for each in operator.inputs}
        self.store.wait(self.teachers.get(operator.name, ()), group, self.desk.check)
        held = self.store.of(operator.layer - 1, group) if operator.layer else {}
        start = time.perf_counter()
        fired = self.machine.fire(operator, taken, held, self.course.before[1] + block.start + 1)
        if fired.gradients:
            self.machine.gather(totals.setdefault(operator.name, {}), fired.gradients)
        if self.course.timed:
            times = (each - self.desk.started for each in (start, time.perf_counter()))
            self.bars.append(FiringTime(self.worker, operator.name, block.start + 1, *times))
        self.losses += fired.loss or ()
        for stream, samples in fired.given.items():
            if stream in self.channels:
                _waited(self.channels[stream].put, self.desk, samples)
            elif self.course.flow.streams[stream].reader:
                inside[stream] = samples

    def _taken(self, stream: str, block: range, inside: dict[str, Array]) -> Array:
        if stream in self.outside and not self.course.flow.streams[stream].writer:
            return self.outside[stream][block.start : block.stop]
        return inside.pop(stream) if stream in inside else _waited(self.channels[stream].get, self.desk)[: len(block)]


def _waited(act: Callable[..., Any], desk: Desk, *given: Any) -> Any:
    """What a channel gives or takes, as soon as it can, unless somebody has failed."""
    while True:
        try:
            return act(*given, timeout=PATIENCE)
        except (queue.Empty, queue.Full):
            desk.check()


Division = Sequence[Sequence[str]] | Partition


def checked(network: Network, division: Division | None) -> tuple[Dataflow, list[list[str]]]:
    """Operators and who runs them; halves if nobody says. Raises SequentialError for what is no division.

    The names of the parts of splitjoins are those of the network taken apart, by the finest grain that has them.
    """
    flow = Network.expand(network)
    if isinstance(division, Partition):
        flow, division = division.flow, division.parts
    elif division is None:
        names = list(flow.operators)
        middle = names.index("lossComp") + 1
        division = [names[:middle], names[middle:]]
    else:
        flow = with_operators(flow, division)
    schedule(flow, division, network.batch_size)
    return flow, [list(names) for names in division]


def in_threads(
    network: Network, buffers: Sequence[Weights], samples: Array, labels: Array, policy: str = "delayed",
    partition: Division | None = None, before: tuple[int, int] = (0, 0), timed: bool = False,
) -> Ran:  # fmt: skip
    """A pipelined run with a thread for each part. A Ctrl-C ends it behind the group at hand."""
    flow, parts = checked(network, partition)
    ended = [before[0]] * len(writers(flow))
    store = StoreBeside(buffers, before[0], ended, threading.Condition(), policy, network.learning_rate)
    desk = Desk(SimpleNamespace(value=len(samples)), SimpleNamespace(value=0), time.perf_counter())
    channels: dict[str, Any] = {each.name: queue.Queue(CAPACITY) for each in flow.crossing(parts)}
    answers: dict[int, Any] = {}
    course = PipelineInput(flow, samples, labels, before, timed)
    _ = network.arithmetic  # made here, once, not by each thread

    def run(worker: int) -> None:
        try:
            answers[worker] = Part(network, parts[worker], worker, channels, store, desk, course).run()
        except BaseException as error:
            answers[worker] = error
            desk.failed.value = 1

    threads = [threading.Thread(target=run, args=(worker,), daemon=True) for worker in range(len(parts))]
    with ends_a_group(network, store, desk, len(samples), before[0]):
        for thread in threads:
            thread.start()
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
            desk.failed.value = 1
        desk.limit.value = min(count, begun)

    with interrupts_to(end):
        yield


def collected(store: Store, desk: Desk, network: Network, answers: Mapping[int, Any]) -> Ran:
    """What all workers found. Raises what one of them raised."""
    for answer in answers.values():
        if isinstance(answer, BaseException) and not isinstance(answer, WorkerStopped):
            raise answer
    if desk.failed.value:
        raise KeyboardInterrupt
    losses = [loss for found, _ in answers.values() for loss in found]
    bars = sorted((bar for _, found in answers.values() for bar in found), key=lambda bar: bar.start)
    return Ran(store.left(), min(store.ended), losses, bars)
