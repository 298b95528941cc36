"""Pipelined training with one thread for each worker; the weights equal those of `in_series` bit for bit.

A worker runs the operators of one part of the dataflow, block after block of each group's samples. Workers are
connected by bounded queues and do not run in lockstep. A firing waits for its samples; the forward of group g also
waits for the weights U_g (see weight_staleness.py), and the update of group g until all workers have ended group g - 1.
"""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from typing import Any, NamedTuple

import numpy as np

from ..core.optional_deps import interrupts_to
from ..errors import TrainingError
from .dataflow import Dataflow, StreamOperator
from .network import Network, Weights
from .partitioning import Partition
from .pipeline import schedule
from .sdf_runtime import training_machine
from .weight_staleness import DoubleBuffer, Gradients, block_size, blocks, copy_weights, fire_operators

Array = Any
CAPACITY = 4  # blocks that a queue between workers holds
PATIENCE = 0.05  # seconds that a worker waits before it checks whether another has failed


class FiringTime(NamedTuple):
    """When one firing began and ended, in seconds since the run began."""

    worker: int
    operator: str
    iteration: int  # of its first sample
    start: float
    end: float


class PipelineResult(NamedTuple):
    """The result of a run: both buffers, the number of ended groups, each sample's loss, and the firing times."""

    buffers: list[Weights]
    ended: int
    losses: list[float]
    bars: list[FiringTime]


class WorkerStopped(Exception):
    """Another worker failed, so this one ends."""


class PipelineRun(DoubleBuffer):
    """State shared by the workers of a run: queues, double-buffered weights, how far to go, and whether one failed.

    The first two groups read the buffers of the run before, `initial`, without a copy; groups write into new buffers.
    before: numbers of groups and samples in earlier runs.
    """

    def __init__(
        self, network: Network, initial: Sequence[Weights], samples: Array, labels: Array, *, policy: str,
        flow: Dataflow, parts: Sequence[Sequence[str]], before: tuple[int, int],
    ) -> None:  # fmt: skip
        empty: list[Weights] = []
        for buffer in initial:
            empty.append([{name: np.empty_like(array) for name, array in layer.items()} for layer in buffer])
        super().__init__(empty, policy, network.learning_rate)
        self.network, self.flow, self.initial = network, flow, initial
        self.outside = {network.streams.data: samples, network.streams.labels: labels}
        self.first_group, self.samples_before = before
        # By backward operator: the number of groups whose weights it has written, earlier runs included.
        self.ended = {name: before[0] for name, each in flow.operators.items() if each.kind == "backward"}
        self.writers: dict[int, list[str]] = {}  # by layer: the operators that write its weights
        for name in self.ended:
            self.writers.setdefault(flow.operators[name].layer, []).append(name)
        self.changed = threading.Condition()
        self.queues: dict[str, queue.Queue[Array]] = {
            each.name: queue.Queue(CAPACITY) for each in flow.crossing_streams(parts)
        }
        self.count = self.limit = len(samples)  # a Ctrl-C lowers the limit to the end of a group
        self.failed = False
        self.started = time.perf_counter()

    def buffer_of(self, group: int) -> Weights:
        """The buffer that a group reads: the first two read those of the run before."""
        return (self.initial if group < self.first_group + 2 else self.buffers)[group % 2]

    def raise_if_failed(self) -> None:
        if self.failed:
            raise WorkerStopped

    def wait(self, writers: Iterable[str], group: int) -> None:
        """Wait until these operators have written the weights of a group: groups 0 to group - 2 have ended."""
        with self.changed:
            while any(self.ended[name] < group - 1 for name in writers):
                self.raise_if_failed()
                self.changed.wait(PATIENCE)

    def end_group(self, writer: str) -> None:
        """Count one more group as ended for an operator, and wake the workers that wait."""
        with self.changed:
            self.ended[writer] += 1
            self.changed.notify_all()

    def interrupt(self, number: int, frame: Any) -> None:
        """Signal handler for Ctrl-C: all workers finish the groups in flight.

        A second Ctrl-C stops them at once, and so does the first if the last group is in flight already.
        """
        # No worker is further ahead, since group g waits for group g - 2.
        samples_begun = (min(self.ended.values()) - self.first_group + 3) * self.network.batch_size
        self.failed = self.failed or self.limit <= samples_begun
        self.limit = min(self.count, samples_begun)

    def final_buffers(self) -> list[Weights]:
        """Both buffers after the run; where no group has written, a copy of the buffer before."""
        written = {group % 2 for group in range(self.first_group, min(self.ended.values()))}
        return [self.buffers[half] if half in written else copy_weights(self.initial[half]) for half in (0, 1)]


class PipelineWorker:
    """One worker: its operators, and the losses and firing times that it has recorded."""

    def __init__(self, shared: PipelineRun, worker: int, names: Sequence[str], timed: bool) -> None:
        self.shared, self.worker, self.timed = shared, worker, timed
        self.machine = training_machine(shared.network, later=True)
        self.operators = [shared.flow.operators[name] for name in names]
        self.losses: list[float] = []
        self.bars: list[FiringTime] = []

    def run(self) -> None:
        """Run this worker's operators on all samples. Raises TrainingError with the operator's name."""
        shared, network = self.shared, self.shared.network
        for group, members in enumerate(blocks(range(shared.count), network.batch_size), shared.first_group):
            if members.start >= shared.limit:
                break
            totals: Gradients = {}
            for block in blocks(members, block_size(network)):
                streams = {name: samples[block.start : block.stop] for name, samples in shared.outside.items()}
                for operator in self.operators:
                    try:
                        self._fire(operator, group, block, streams, totals)
                        if operator.kind == "backward" and block.stop == members.stop:
                            self._update_weights(operator, group, totals.get(operator.name, {}), len(members))
                    except (WorkerStopped, KeyboardInterrupt):
                        raise
                    except BaseException as error:
                        where = f"{operator.name} failed at sample {block.start + 1}"
                        raise TrainingError(f"{where}: {type(error).__name__}: {error}") from error

    def _fire(
        self, operator: StreamOperator, group: int, block: range, streams: dict[str, Array], totals: Gradients
    ) -> None:
        shared, iteration = self.shared, block.start + 1
        for name in operator.inputs:
            if name in shared.queues:
                streams[name] = self._retry(shared.queues[name].get)
        if operator.kind == "forward":
            shared.wait(shared.writers[operator.layer], group)
        start = time.perf_counter()
        weights = shared.buffer_of(group)
        self.losses += fire_operators(
            self.machine, [operator], weights, streams, totals, shared.samples_before + iteration
        )
        if self.timed:
            times = (moment - shared.started for moment in (start, time.perf_counter()))
            self.bars.append(FiringTime(self.worker, operator.name, iteration, *times))
        for name in operator.outputs:
            if name in shared.queues:
                self._retry(shared.queues[name].put, streams.pop(name))

    def _update_weights(self, operator: StreamOperator, group: int, total: Mapping[str, Array], count: int) -> None:
        """Update an operator's weights at the end of a group of `count` samples."""
        shared = self.shared
        sums = self.machine.sum_gradients(operator, dict(total), shared.buffer_of(group)[operator.layer - 1])
        shared.wait(shared.ended, group + 1)  # no worker is more than one group ahead
        shared.update_all(shared.flow, group, {operator.name: sums}, count)
        shared.end_group(operator.name)

    def _retry(self, get_or_put: Callable[..., Any], *samples: Array) -> Any:
        """Repeat a queue's get or put until it succeeds. Raises WorkerStopped if another worker has failed."""
        while True:
            try:
                return get_or_put(*samples, timeout=PATIENCE)
            except (queue.Empty, queue.Full):
                self.shared.raise_if_failed()


Division = Sequence[Sequence[str]] | Partition


def resolve_partition(network: Network, division: Division | None) -> tuple[Dataflow, list[list[str]]]:
    """Return the dataflow and each worker's operators; by default two halves. Raises SequentialError if invalid.

    A Partition may be of a decomposed dataflow; lists of names are operators of the undivided one.
    """
    flow = Network.expand(network)
    if isinstance(division, Partition):
        flow, division = division.flow, division.parts
    elif division is None:
        names = list(flow.operators)
        middle = names.index("lossComp") + 1
        division = [names[:middle], names[middle:]]
    schedule(flow, division, network.batch_size)
    return flow, [list(names) for names in division]


def in_threads(
    network: Network, buffers: Sequence[Weights], samples: Array, labels: Array, policy: str = "delayed",
    partition: Division | None = None, before: tuple[int, int] = (0, 0), timed: bool = False,
) -> PipelineResult:  # fmt: skip
    """Train in a pipeline with one thread for each part. Ctrl-C ends it after the groups in flight.

    before: numbers of groups and samples in earlier runs. timed: whether to record when each firing begins and ends.
    """
    flow, parts = resolve_partition(network, partition)
    shared = PipelineRun(network, buffers, samples, labels, policy=policy, flow=flow, parts=parts, before=before)
    _ = network.arithmetic  # made here, once, not by each thread
    workers = [PipelineWorker(shared, number, names, timed) for number, names in enumerate(parts)]
    errors: list[BaseException] = []  # in the order in which they came

    def stop_all_if_failed(run: Future[None]) -> None:
        if error := run.exception():
            errors.append(error)
            shared.failed = True

    with interrupts_to(shared.interrupt), ThreadPoolExecutor(len(workers)) as pool:
        try:
            runs = [pool.submit(worker.run) for worker in workers]
            for run in runs:
                run.add_done_callback(stop_all_if_failed)
            while wait(runs, PATIENCE).not_done:
                pass  # so that a Ctrl-C is heard
        except BaseException:  # a thread that cannot start, or a signal's handler: the pool waits for the others
            shared.failed = True
            raise
    for error in errors:
        if not isinstance(error, WorkerStopped):
            raise error
    if shared.failed:
        raise KeyboardInterrupt
    bars = sorted((bar for worker in workers for bar in worker.bars), key=lambda bar: bar.start)
    losses = [loss for worker in workers for loss in worker.losses]
    return PipelineResult(shared.final_buffers(), min(shared.ended.values()), losses, bars)
