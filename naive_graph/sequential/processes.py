"""The pipeline on processes: the weights lie in shared memory, samples pass through queues between them."""

from __future__ import annotations

import multiprocessing
import os
import queue
import signal
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from multiprocessing.shared_memory import SharedMemory
from typing import Any

import numpy as np

from ..errors import TrainingError
from .network import Network, Weights
from .schemes import check_policy
from .workers import (
    CAPACITY,
    PATIENCE,
    Desk,
    Division,
    Part,
    PipelineInput,
    Ran,
    Store,
    WorkerStopped,
    checked,
    collected,
    ends_a_group,
    writers,
)

Array = Any
GRACE = 2.0  # seconds for the others to notice that one has failed


class Flag:
    """Whether a worker has failed: a shared number, as an Event."""

    def __init__(self, number: Any) -> None:
        self.number = number

    def set(self) -> None:
        self.number.value = 1

    def is_set(self) -> bool:
        return bool(self.number.value)


def in_processes(
    network: Network, buffers: Sequence[Weights], samples: Array, labels: Array, policy: str = "delayed",
    partition: Division | None = None, before: tuple[int, int] = (0, 0), timed: bool = False,
) -> Ran:  # fmt: skip
    """A pipelined run with a process for each part. A Ctrl-C ends it behind the group at hand.

    In a script it must stand under `if __name__ == "__main__":`, as everything
    that starts processes.
    """
    with staying(network) as run:
        return run(network, buffers, samples, labels, policy, partition, before, timed)


@contextmanager
def staying(network: Network) -> Iterator[Callable[..., Ran]]:
    """What runs a network's pipeline, as `in_processes` does, on processes that the first run starts and that stay."""
    team: list[Team] = []

    def run(
        network: Network, buffers: Sequence[Weights], samples: Array, labels: Array, policy: str, partition: Any,
        before: tuple[int, int], timed: bool = False,
    ) -> Ran:  # fmt: skip
        if not team:
            team.append(Team(network, partition, stack))
        return team[0].run(buffers, samples, labels, check_policy(policy), before, timed)

    with ExitStack() as stack:
        yield run


class Team:
    """Processes, one for each part, and the memory that they share."""

    def __init__(self, network: Network, partition: Any, stack: ExitStack) -> None:
        self.network = network
        self.flow, self.parts = checked(network, partition)
        context = multiprocessing.get_context("spawn")  # a fork beside threads may hang
        memory, self.buffers = stack.enter_context(_shared(network.weights))
        self.ended = context.Array("q", [0] * len(writers(self.flow)), lock=False)
        self.changed = context.Condition()
        # Plain numbers, without locks: one that a killed worker held would never be free.
        self.limit, self.failed = context.Value("q", 0, lock=False), context.Value("b", 0, lock=False)
        channels = {each.name: context.Queue(CAPACITY) for each in self.flow.crossing(self.parts)}
        self.answers: Any = context.Queue()
        self.courses: list[Any] = [context.Queue() for _ in self.parts]
        shared = self.ended, self.changed, memory.name, self.limit, self.failed
        self.people = [
            context.Process(
                target=_worker,
                args=(network, part, number, channels, shared, self.courses[number], self.answers),
                daemon=True,
            )
            for number, part in enumerate(self.parts)
        ]
        stack.callback(self._end, [*channels.values(), *self.courses, self.answers])
        for each in self.people:
            each.start()

    def run(
        self, buffers: Sequence[Weights], samples: Array, labels: Array, policy: str, before: tuple[int, int],
        timed: bool,
    ) -> Ran:  # fmt: skip
        """One run, from these weights on."""
        for mine, given in zip(self.buffers, buffers):
            for held, layer in zip(mine, given):
                for name, array in held.items():
                    array[...] = layer[name]
        self.ended[:] = [before[0]] * len(self.ended)
        self.limit.value, started = len(samples), time.time()
        store = Store(self.buffers, self.ended, self.changed, policy, self.network.learning_rate)
        desk = Desk(self.limit, Flag(self.failed), started)
        course = PipelineInput(self.flow, samples, labels, before, timed)
        for each in self.courses:
            each.put((policy, started, course))
        with ends_a_group(self.network, store, desk, len(samples), before[0]):
            found = _heard(self.people, self.parts, self.answers, desk)
        return collected(store, desk, self.network, found)

    def _end(self, channels: Sequence[Any]) -> None:
        for each in self.people:
            if each.pid:
                each.kill()
                each.join()
        for channel in channels:
            channel.close()
            channel.cancel_join_thread()
        self.buffers.clear()  # views into the memory that is given back


def _heard(people: Sequence[Any], parts: Sequence[Sequence[str]], answers: Any, desk: Desk) -> dict[int, Any]:
    """What every worker says at its end; that one died, where one did."""
    found: dict[int, Any] = {}
    deadline = float("inf")
    while len(found) < len(people) and time.monotonic() < deadline:
        try:
            worker, answer = answers.get(timeout=PATIENCE)
            found[worker] = answer
        except queue.Empty:
            for number, each in enumerate(people):
                if number not in found and each.exitcode:
                    found[number] = TrainingError(
                        f"The worker of {', '.join(parts[number])} died (exit code {each.exitcode}). The weights are "
                        "those from before the run."
                    )
                    desk.failed.set()
        if deadline == float("inf") and desk.failed.is_set():
            deadline = time.monotonic() + GRACE
    return found


def _layout(network_weights: Weights) -> Iterator[tuple[int, str, tuple[int, ...], int]]:
    """Each array: its layer, name, shape, and where it begins, in numbers."""
    start = 0
    for layer, held in enumerate(network_weights):
        for name, array in held.items():
            yield layer, name, array.shape, start
            start += array.size


def _views(memory: SharedMemory, weights: Weights) -> list[Weights]:
    """The two buffers, as arrays in the memory."""
    count = sum(array.size for held in weights for array in held.values())
    buffers: list[Weights] = [[{} for _ in weights] for _ in range(2)]
    for number, buffer in enumerate(buffers):
        for layer, name, shape, start in _layout(weights):
            buffer[layer][name] = np.ndarray(shape, np.float64, memory.buf, 8 * (number * count + start))
    return buffers


@contextmanager
def _shared(weights: Weights) -> Iterator[tuple[SharedMemory, list[Weights]]]:
    """Memory that processes share, and the two buffers in it."""
    count = sum(array.size for held in weights for array in held.values())
    memory = SharedMemory(create=True, size=max(8, 16 * count))
    try:
        yield memory, _views(memory, weights)
    finally:
        memory.close()
        memory.unlink()


def _end_with_the_parent() -> None:
    """A worker whose parent is killed ends too; with the last of them the shared memory goes."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def _worker(
    network: Network, part: Sequence[str], number: int, channels: Any, shared: Any, courses: Any, answers: Any
) -> None:
    """A process: run the part for each course that comes, and say how it went."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent decides what a Ctrl-C ends
    threading.Thread(target=_end_with_the_parent, daemon=True).start()
    ended, changed, name, limit, failed = shared
    memory = SharedMemory(name)
    views = _views(memory, network.weights)
    while True:
        policy, started, course = courses.get()
        desk = Desk(limit, Flag(failed), time.perf_counter() - (time.time() - started))
        try:
            store = Store(views, ended, changed, policy, network.learning_rate)
            answer: Any = Part(network, part, number, channels, store, desk, course).run()
        except BaseException as error:
            known = isinstance(error, (TrainingError, WorkerStopped))
            answer = error if known else TrainingError(f"Worker {number}: {error!r}")
            answer.__cause__ = None  # may be anything, which need not pass through a queue
            desk.failed.set()
        answers.put((number, answer))
