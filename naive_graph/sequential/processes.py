"""The pipeline on processes: weights, samples and the blocks in streams lie in memory that they share."""

from __future__ import annotations

import math
import multiprocessing
import os
import queue
import signal
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from copy import copy
from itertools import accumulate
from multiprocessing.shared_memory import SharedMemory
from typing import Any

import numpy as np

from ..errors import TrainingError
from .network import MADE_LATER, Network, Weights
from .schemes import block_size, check_policy
from .workers import (
    CAPACITY,
    PATIENCE,
    Desk,
    Division,
    Part,
    PipelineInput,
    Ran,
    Store,
    WorkerDied,
    WorkerStopped,
    checked,
    collected,
    ends_a_group,
    writers,
)

Array = Any
GRACE = 2.0  # seconds for the others to notice that one has failed


class Channel:
    """A stream between two processes: places for a few blocks, and how many of them are free and full."""

    def __init__(self, context: Any, shape: tuple[int, ...]) -> None:
        self.free, self.full = context.Semaphore(CAPACITY), context.Semaphore(0)
        self.shape = CAPACITY, *shape
        self.slots: Array = None
        self.at = 0  # of the next block; the writer and the reader count for themselves

    def put(self, block: Array, timeout: float) -> None:
        if not self.free.acquire(timeout=timeout):
            raise queue.Full
        self.slots[self.at % CAPACITY, : len(block)] = block
        self.at += 1
        self.full.release()

    def get(self, timeout: float) -> Array:
        if not self.full.acquire(timeout=timeout):
            raise queue.Empty
        block = self.slots[self.at % CAPACITY].copy()  # of a block that is shorter, its reader takes the beginning
        self.at += 1
        self.free.release()
        return block


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
        streams = [(each.name, (block_size(network), *each.shape)) for each in self.flow.crossing(self.parts)]
        channels = {name: Channel(context, shape) for name, shape in streams}
        memory, arrays = stack.enter_context(_shared(_shapes(network, channels)))
        self.buffers = _placed(arrays, network, channels)
        self.ended = context.Array("q", [0] * len(writers(self.flow)), lock=False)
        self.changed = context.Condition()
        # Plain numbers, without locks: one that a killed worker held would never be free.
        self.limit, self.failed = context.Value("q", 0, lock=False), context.Value("b", 0, lock=False)
        self.answers: Any = context.Queue()
        self.courses: list[Any] = [context.Queue() for _ in self.parts]
        shared = self.flow, self.ended, self.changed, memory.name, self.limit, self.failed
        self.people = [
            context.Process(
                target=_worker,
                args=(bare(network), part, number, channels, shared, self.courses[number], self.answers),
                daemon=True,
            )
            for number, part in enumerate(self.parts)
        ]
        stack.callback(self._end, [*self.courses, self.answers], [arrays, self.buffers, channels])
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
        desk = Desk(self.limit, self.failed, started)
        shapes = [samples.shape, labels.shape]
        with _shared(shapes) as (memory, (x, y)), ends_a_group(self.network, store, desk, len(samples), before[0]):
            x[...], y[...] = samples, labels
            for each in self.courses:
                each.put((policy, started, memory.name, shapes, before, timed))
            del x, y
            found = _heard(self.people, self.parts, self.answers, desk)
        try:
            return collected(store, desk, self.network, found)
        except WorkerDied as error:
            error.ran = Ran(store.left(), min(self.ended), [], [])
            raise

    def _end(self, channels: Sequence[Any], views: Sequence[Any]) -> None:
        for each in self.people:
            if each.pid:
                each.kill()
                each.join()
        for channel in channels:
            channel.close()
            channel.cancel_join_thread()
        for each in views:
            each.clear()  # the memory is given back


def bare(network: Network) -> Network:
    """The network without its weights, which lie in shared memory.

    What is sent to a process that starts has to be small: one that dies before it has read all would be waited for.
    """
    found = copy(network)
    for name in ("_begun", *MADE_LATER):
        vars(found).pop(name, None)
    return found


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
                    found[number] = WorkerDied(
                        f"The worker of {', '.join(parts[number])} died (exit code {each.exitcode}). The weights are "
                        "those of the last whole group; fit(..., resume=True) goes on behind it."
                    )
                    desk.failed.value = 1
        if deadline == float("inf") and desk.failed.value:
            deadline = time.monotonic() + GRACE
    return found


def _shapes(network: Network, channels: Mapping[str, Channel]) -> list[tuple[int, ...]]:
    """Of what a team shares: both buffers of weights, and the streams."""
    weights = [shape for each in network.layers for shape in each.weight_shapes.values()]
    return [*weights, *weights, *(each.shape for each in channels.values())]


def _placed(arrays: Iterable[Array], network: Network, channels: Mapping[str, Channel]) -> list[Weights]:
    """The buffers; the channels get their places."""
    given = iter(arrays)
    buffers = [[{name: next(given) for name in each.weight_shapes} for each in network.layers] for _ in range(2)]
    for channel in channels.values():
        channel.slots = next(given)
    return buffers


def _arrays(memory: SharedMemory, shapes: Sequence[tuple[int, ...]]) -> list[Array]:
    """One array behind the other."""
    starts = accumulate((8 * math.prod(shape) for shape in shapes), initial=0)
    return [np.ndarray(shape, np.float64, memory.buf, start) for shape, start in zip(shapes, starts)]


@contextmanager
def _shared(shapes: Sequence[tuple[int, ...]]) -> Iterator[tuple[SharedMemory, list[Array]]]:
    """Memory that processes share, as arrays. Nobody may hold one of them at the end."""
    memory = SharedMemory(create=True, size=max(8, 8 * sum(map(math.prod, shapes))))
    try:
        yield memory, _arrays(memory, shapes)
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
    flow, ended, changed, name, limit, failed = shared
    memory = SharedMemory(name)
    buffers = _placed(_arrays(memory, _shapes(network, channels)), network, channels)
    while True:
        policy, started, name, shapes, before, timed = courses.get()
        given = SharedMemory(name)
        desk = Desk(limit, failed, time.perf_counter() - (time.time() - started))
        x, y = _arrays(given, shapes)
        course = PipelineInput(flow, x, y, before, timed)
        try:
            store = Store(buffers, ended, changed, policy, network.learning_rate)
            answer: Any = Part(network, part, number, channels, store, desk, course).run()
        except BaseException as error:
            known = isinstance(error, (TrainingError, WorkerStopped))
            answer = error if known else TrainingError(f"Worker {number}: {error!r}")
            answer.__cause__ = None  # may be anything, which need not pass through a queue
            desk.failed.value = 1
        del course, x, y  # before the next memory comes
        answers.put((number, answer))
