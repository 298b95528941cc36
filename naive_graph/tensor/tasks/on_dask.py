"""`DaskEngine`: runs the tasks of forward and backward on Dask, in threads of this process or on a cluster.

The task graph (graph.py) becomes a Dask graph, a dict from task names to (callable, names of the tasks that it needs):
{"F(y)": (evaluate, "F(x)"), ...}. Dask's scheduler places the tasks. Each task measures when and where it ran.
"""

from __future__ import annotations

import os
import pickle
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache, partial
from threading import get_ident
from time import time
from typing import Any, NamedTuple
from uuid import uuid4

from ...core.number import shortened
from ...core.optional_deps import door
from ...errors import EngineError, EngineWarning, NaiveGraphError
from .engine import DAGExecutionEngine, TaskBar, TaskRun
from .graph import TaskGraph
from .serialization import serialize
from .work import Evaluate, KnownValue, Work

# Tasks are too small for Dask if a run takes more seconds than both MIN_WARNED_SECONDS and MAX_OVERHEAD times its work.
MIN_WARNED_SECONDS, MAX_OVERHEAD = 0.1, 10.0
MAX_SECONDS_WITHOUT_WORKERS = 60
Get = Callable[[Mapping[str, Any], list[str]], Any]  # a Dask scheduler's `get`: (graph, keys) -> results


class DaskEngine(DAGExecutionEngine):
    """A DAGExecutionEngine whose tasks run on Dask; results are bit-identical.

    client: a `distributed.Client`, whose workers need naive_graph too; without
    it Dask's threads in this process run them. A user-defined operator is pickled
    with its functions. Workers compute with as many BLAS threads as this
    process, since the order of a sum, and so its last bits, depend on them.
    Results of a killed worker are recomputed. Each task costs Dask some
    milliseconds, so it pays for large arrays only; with a client the engine
    warns once if tasks are too small.

    >>> from naive_graph.tensor import LeafNode
    >>> w = LeafNode.parameter([3.0, 4.0], "w")
    >>> DaskEngine().backward((w * w).sum())  # doctest: +SKIP
    """

    def __init__(self, client: Any = None) -> None:
        super().__init__()
        if client is not None and not callable(getattr(client, "get", None)):
            raise EngineError(f"A DaskEngine takes a distributed.Client, or nothing, not {shortened(client)}.")
        self.client, self.advised = client, False
        self._get: Get = _threaded_get() if client is None else partial(_fetch_results, client)

    def _perform(self, graph: TaskGraph) -> tuple[list[Any], TaskRun]:
        begin, run_id = time(), uuid4().hex[:8]  # Dask keeps a key's result, so each run has keys of its own
        tasks = dask_graph(graph, run_id)
        # Values and total gradients are fetched; of contributions only the times, so that they stay on the workers.
        times = {f"when {key}": (Measured.when, key) for key in tasks}
        wanted = [key if graph.tasks[number].key.kind in "FG" else f"when {key}" for number, key in enumerate(tasks)]
        measurements: list[Measured] = list(self._get({**tasks, **times}, wanted))
        run = TaskRun(graph, _task_bars(measurements, begin))
        self._warn_small_tasks(run, time() - begin)
        return [measurement.result for measurement in measurements], run

    def _warn_small_tasks(self, run: TaskRun, waited: float) -> None:
        """Warn once if the tasks are too small to be worth sending."""
        if self.client is not None and not self.advised and waited > max(MIN_WARNED_SECONDS, MAX_OVERHEAD * run.work):
            self.advised = True
            warnings.warn(
                f"{len(run.graph)} tasks took {1000 * waited:.0f} ms on Dask, and {1000 * run.work:.0f} ms of work: "
                "they are too small to be sent. Compute them here, with DAGExecutionEngine(), or send larger arrays.",
                EngineWarning,
                stacklevel=5,
            )

    def __repr__(self) -> str:
        return f"<DaskEngine on {'threads of this process' if self.client is None else self.client}>"


def dask_graph(graph: TaskGraph, run_id: str = "") -> dict[str, Any]:
    """The tasks as a Dask graph: {key: (callable, key, key, ...)}, in their order. Each gives a `Measured`.

    run_id: a suffix of all keys, which makes them unique to a run.

    >>> from naive_graph.tensor import LeafNode
    >>> from .graph import task_graph
    >>> x = LeafNode.parameter(2.0, "x")
    >>> y = x * x
    >>> y.name = "y"
    >>> [key for key in dask_graph(task_graph(y))]
    ['F(x)', 'F(y)', 'G(y)', 'B(y,0)', 'B(y,1)', 'G(x)']
    """
    keys = [f"{graph.label(number)}{run_id and '-'}{run_id}" for number in range(len(graph))]
    return {key: (Measure(task.work), *(keys[need] for need in task.needs)) for key, task in zip(keys, graph.tasks)}


class Measured(NamedTuple):
    """A task's result, when it was computed (seconds since 1970), and where (process, thread)."""

    result: Any
    start: float
    end: float
    place: tuple[int, int]

    def when(self) -> Measured:
        """The times of a `Measured`, without its result."""
        return self._replace(result=None)

    def __reduce__(self) -> tuple[Any, ...]:
        return _unpack_measured, (serialize(tuple(self)),)


def _unpack_measured(data: bytes) -> Measured:
    return Measured(*pickle.loads(data))


class Measure:
    """A task's callable with timing: takes and returns `Measured`.

    It is pickled as bytes that only the worker unpickles. So if unpickling fails there, that is an error
    of this task, which reaches the learner.
    """

    def __init__(self, work: Work | bytes, threads: int | None = None) -> None:
        self.work = work
        self.threads = threads  # the number of BLAS threads of the sending process; None in that process itself

    def __call__(self, *needs: Measured) -> Measured:
        start = time()
        work: Work = pickle.loads(self.work) if isinstance(self.work, bytes) else self.work
        if self.threads is not None:
            _blas().limit(limits=self.threads)
        result = work(*(need.result for need in needs))
        return Measured(result, start, time(), (os.getpid(), get_ident()))

    def __reduce__(self) -> tuple[Any, ...]:
        if isinstance(self.work, bytes):
            return Measure, (self.work, self.threads)
        threads = max((library["num_threads"] for library in _blas().info()), default=None)
        return Measure, (_serialize_work(self.work), threads)


@cache
def _blas() -> Any:
    """The thread controls of this process's BLAS libraries."""
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController().select(user_api="blas")


def _serialize_work(work: Any) -> bytes:
    """Pickle a task's callable, with its own node in full."""
    if isinstance(work, KnownValue):
        return serialize(work)
    return serialize(work, work.step.node if isinstance(work, Evaluate) else work.node)


def _task_bars(measurements: list[Measured], begin: float) -> list[TaskBar]:
    places: dict[tuple[int, int], int] = {}
    for measurement in sorted(measurements, key=lambda record: record.start):
        places.setdefault(measurement.place, len(places))
    numbered = enumerate(measurements)
    return [TaskBar(i, places[record.place], record.start - begin, record.end - begin) for i, record in numbered]


def _fetch_results(client: Any, tasks: Mapping[str, Any], wanted: list[str]) -> Any:
    """The results of some keys, from a Dask client."""
    with explain_lost_workers(EngineError):
        return gather_results(client, client.get(tasks, wanted, sync=False))


def gather_results(client: Any, futures: Any) -> Any:
    """The results of futures. Raises LostWorkersError if the cluster has no workers for too long.

    Dask itself would wait for ever.
    """
    from distributed import TimeoutError, wait

    seconds_without_workers = 0
    while True:
        try:
            wait(futures, timeout=1.0)  # type: ignore[no-untyped-call]
            return client.gather(futures)
        except TimeoutError:
            seconds_without_workers = 0 if client.nthreads() else seconds_without_workers + 1
            if seconds_without_workers >= MAX_SECONDS_WITHOUT_WORKERS:
                client.cancel(futures)
                raise LostWorkersError("it has no workers") from None


class LostWorkersError(Exception):
    """Dask has no workers left, or has lost its scheduler."""


@contextmanager
def explain_lost_workers(failure: type[NaiveGraphError]) -> Iterator[None]:
    """Turn Dask's errors for lost workers or a lost scheduler into the error `failure` with a plain message."""
    from distributed import CancelledError
    from distributed.comm.core import CommClosedError
    from distributed.scheduler import KilledWorker

    try:
        yield
    except (CancelledError, LostWorkersError, CommClosedError, KilledWorker) as error:
        raise failure(
            f"Dask has lost workers, or its scheduler, and what they had found: {error}. Nothing was changed here. "
            "Start workers, and wait for them: client.wait_for_workers(1); if the scheduler is gone too, a new Client."
        ) from error


def _threaded_get() -> Get:
    with door("A DaskEngine needs", "dask"):
        from dask.threaded import get
    threads: Get = get
    return threads
