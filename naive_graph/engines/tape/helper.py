"""A second thread: the helper of a process makes calls of machine code beside those of whoever asks.

It waits for work, and lives as long as Python; to start a thread for each call took 60 us more. Where
it comes late, as on a busy machine, it finds its job done by the one who asked. Nothing here
holds a lock that a signal's handler, which may ask too, could meet again.
"""

from __future__ import annotations

import atexit
import os
from _thread import allocate_lock, start_new_thread  # `threading` keeps a list of threads, under such a lock
from collections.abc import Callable
from contextlib import suppress
from queue import SimpleQueue
from time import perf_counter
from typing import Any

Code = Callable[[int], Any]
RECENT, SELDOM = 0.1, 63  # the share of the last run in what runs take of late; and each how many go the other way
LOST = 1.0  # seconds after which who waits looks whether a fork, in a signal's handler, left the helper behind


class Job:
    """A call that is made once, by whoever comes first. memory: all that it works in, held until then."""

    def __init__(self, code: Code, packed: int, memory: Any = None) -> None:
        self.code, self.packed, self.memory = code, packed, memory
        self.begun, self.done = allocate_lock(), allocate_lock()
        self.done.acquire()

    def run(self) -> None:
        """Make the call, unless somebody does."""
        if self.begun.acquire(blocking=False):
            self.code(self.packed)
            self.done.release()

    def wait(self) -> None:
        """Until it is made; a Ctrl-C comes through, and leaves it under way."""
        while not self.done.acquire(timeout=LOST):
            if not _HELPERS:
                return self.code(self.packed)
        return None


_HELPERS: list[SimpleQueue[Job]] = []  # where the helper takes its jobs from, once there is one
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_HELPERS.clear)  # no thread goes along


def helper() -> SimpleQueue[Job] | None:
    """Who makes calls beside ours; None where there is one core, or can be no more threads."""
    if cores() > 1 and not _HELPERS:
        with suppress(RuntimeError):  # so many are there, or Python ends
            start_new_thread(_work, (queue := SimpleQueue[Job](),))
            _HELPERS.append(queue)
    return _HELPERS[0] if cores() > 1 and _HELPERS else None


def _work(queue: SimpleQueue[Job]) -> None:
    while job := queue.get():
        job.run()
        del job  # and let its memory go


def cores() -> int:
    """How many this process may use: one where OMP_NUM_THREADS says so, as NumPy does."""
    if os.environ.get("OMP_NUM_THREADS") == "1":
        return 1
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@atexit.register
def _end() -> None:
    """Wait for what a Ctrl-C left under way: its code and its memory go with Python."""
    for queue in _HELPERS:
        queue.put(last := Job(int, 0))
        last.wait()


class Turns:
    """A run in turns: one call, and then by threes two side by side, and one when both are done.

    seconds: what a run takes without a helper, and with one, as of late. On a busy machine it may be slower with one,
    so the quicker way is gone, and now and then the other one, to see.
    """

    def __init__(self, code: Code, calls: list[int], memory: Any) -> None:
        self.code, self.calls, self.memory = code, calls, memory
        self.runs, self.seconds = 0, [0.0, 0.0]

    def __call__(self, packed: int) -> None:
        since, self.runs = perf_counter(), self.runs + 1
        quicker = self.seconds[True] < self.seconds[False]
        queue = helper() if quicker != (self.runs % SELDOM == 0) else None
        self.code(packed)
        for ours, others, then in zip(self.calls[::3], self.calls[1::3], self.calls[2::3], strict=True):
            job = Job(self.code, others, self.memory)
            if queue is not None:
                queue.put(job)
            self.code(ours)
            job.run()
            job.wait()
            self.code(then)
        helped = queue is not None
        self.seconds[helped] += RECENT * (perf_counter() - since - self.seconds[helped])
