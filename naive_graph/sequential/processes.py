"""The pipeline on processes: the weights lie in shared memory, samples pass through queues between them."""

from __future__ import annotations

import multiprocessing
import os
import queue
import signal
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from multiprocessing.shared_memory import SharedMemory
from typing import Any

import numpy as np

from ..errors import TrainingError
from .network import Network, Weights
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
    flow, parts = checked(network, partition)
    context = multiprocessing.get_context("spawn")  # a fork beside threads may hang
    with _shared(buffers[0]) as (memory, shared_buffers):
        for shared_half, half in zip(shared_buffers, buffers):
            for mine, given in zip(shared_half, half):
                for name, array in mine.items():
                    array[...] = given[name]
        ended, changed = context.Array("q", [before[0]] * len(writers(flow)), lock=False), context.Condition()
        store = Store(shared_buffers, ended, changed, policy, network.learning_rate)
        # Plain numbers, without locks: one that a killed worker held would never be free.
        limit, failed = context.Value("q", len(samples), lock=False), context.Value("b", 0, lock=False)
        desk = Desk(limit, Flag(failed), time.time())
        course = PipelineInput(flow, samples, labels, before, timed)
        channels = {each.name: context.Queue(CAPACITY) for each in flow.crossing(parts)}
        answers: Any = context.Queue()
        shared = (ended, changed, policy, memory.name, limit, failed, desk.started)
        people = [
            context.Process(
                target=_worker,
                args=(network, part, number, channels, shared, course, answers),
                daemon=True,
            )
            for number, part in enumerate(parts)
        ]
        for each in people:
            each.start()
        try:
            with ends_a_group(network, store, desk, len(samples), before[0]):
                found = _heard(people, parts, answers, desk)
            return collected(store, desk, network, found)
        finally:
            for each in people:
                each.kill()
                each.join()
            for channel in (*channels.values(), answers):
                channel.close()
                channel.cancel_join_thread()
            shared_buffers.clear()  # views into the memory that is given back
            store.buffers = []


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
    network: Network, part: Sequence[str], number: int, channels: Any, shared: Any, course: PipelineInput, answers: Any
) -> None:
    """A process: run the part, and say how it went."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent decides what a Ctrl-C ends
    threading.Thread(target=_end_with_the_parent, daemon=True).start()
    ended, changed, policy, name, limit, failed, started = shared
    memory = SharedMemory(name)
    desk = Desk(limit, Flag(failed), time.perf_counter() - (time.time() - started))
    try:
        store = Store(_views(memory, network.weights), ended, changed, policy, network.learning_rate)
        answer: Any = Part(network, part, number, channels, store, desk, course).run()
        del store
    except BaseException as error:
        answer = (
            error if isinstance(error, (TrainingError, WorkerStopped)) else TrainingError(f"Worker {number}: {error!r}")
        )
        answer.__cause__ = None  # may be anything, which need not pass through a queue
        desk.failed.set()
    answers.put((number, answer))
