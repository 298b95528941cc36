"""Tasks on Dask: the same works, run by Dask's own schedulers, in threads here or in processes anywhere."""

from __future__ import annotations

import os
import pickle
from collections.abc import Callable, Mapping
from threading import get_ident
from time import time
from typing import Any, NamedTuple
from uuid import uuid4

from ...errors import EngineError, MissingToolError
from .engine import DAGExecutionEngine
from .graph import TaskGraph
from .scheduling import Bar, TaskRun
from .strides import received_result, sent_result
from .work import Work

Get = Callable[[Mapping[str, Any], list[str]], Any]  # what every Dask scheduler has: the results of some keys


class DaskEngine(DAGExecutionEngine):
    """A DAGExecutionEngine whose tasks run on Dask; the same bits.

    client: a `distributed.Client`, whose workers need naive_graph too; without
    it Dask's threads in this process run them. An operator of the learner's own
    must be defined in a module that the workers import.

    >>> from .. import LeafNode
    >>> w = LeafNode.parameter([3.0, 4.0], "w")
    >>> DaskEngine().backward((w * w).sum())  # doctest: +SKIP
    """

    def __init__(self, client: Any = None) -> None:
        super().__init__()
        if client is not None and not callable(getattr(client, "get", None)):
            raise EngineError(f"A DaskEngine takes a distributed.Client, or nothing, not {client!r}.")
        self.client = client
        self._get: Get = _threads() if client is None else client.get

    def _perform(self, graph: TaskGraph) -> tuple[list[Any], TaskRun]:
        begin, mark = time(), uuid4().hex[:8]  # Dask keeps a key's result, so each run has keys of its own
        tasks = dask_graph(graph, mark)
        wanted = [key if graph.tasks[at].key.kind != "B" else f"when {key}" for at, key in enumerate(tasks)]
        times = {f"when {key}": (Measured.when, key) for key in tasks}  # a contribution itself can stay where it is
        found: list[Measured] = list(self._get({**tasks, **times}, wanted))
        return [each.result for each in found], TaskRun(graph, _bars(found, begin))

    def __repr__(self) -> str:
        return f"<DaskEngine on {'threads of this process' if self.client is None else self.client}>"


def dask_graph(graph: TaskGraph, mark: str = "") -> dict[str, Any]:
    """The tasks as a Dask graph: {key: (callable, key, key, ...)}, in their order. Each gives a `Measured`.

    mark: what all keys end with.

    >>> from .. import LeafNode
    >>> from .graph import task_graph
    >>> x = LeafNode.parameter(2.0, "x")
    >>> [key for key in dask_graph(task_graph(x * x))]
    ['F(x)', 'F(t1)', 'G(t1)', 'B(t1,0)', 'B(t1,1)', 'G(x)']
    """
    keys = [f"{graph.label(number)}{mark and '-'}{mark}" for number in range(len(graph))]
    return {key: (Measure(task.work), *(keys[need] for need in task.needs)) for key, task in zip(keys, graph.tasks)}


class Measured(NamedTuple):
    """A task's result, and when it was found where: seconds since 1970, process, thread."""

    result: Any
    start: float
    end: float
    place: tuple[int, int]

    def when(self) -> Measured:
        """The times alone."""
        return self._replace(result=None)

    def __reduce__(self) -> tuple[Any, ...]:
        return _received_measured, (sent_result(self.result), *self[1:])


def _received_measured(result: Any, *when: Any) -> Measured:
    return Measured(received_result(result), *when)


class Measure:
    """A work that measures itself. Takes and gives `Measured`.

    It travels as bytes, which only the worker opens: so a work that cannot be
    rebuilt there fails as its task, and the error reaches the learner.
    """

    def __init__(self, work: Work | bytes) -> None:
        self.work = work

    def __call__(self, *needs: Measured) -> Measured:
        start = time()
        work: Work = pickle.loads(self.work) if isinstance(self.work, bytes) else self.work
        result = work(*(need.result for need in needs))
        return Measured(result, start, time(), (os.getpid(), get_ident()))

    def __reduce__(self) -> tuple[Any, ...]:
        return Measure, (self.work if isinstance(self.work, bytes) else pickle.dumps(self.work),)


def _bars(found: list[Measured], begin: float) -> list[Bar]:
    places: dict[tuple[int, int], int] = {}
    for each in sorted(found, key=lambda each: each.start):
        places.setdefault(each.place, len(places))
    return [Bar(number, places[each.place], each.start - begin, each.end - begin) for number, each in enumerate(found)]


def _threads() -> Get:
    try:
        from dask.threaded import get
    except ImportError:
        raise MissingToolError('A DaskEngine needs Dask: pip install "naive-graph[dask]".') from None
    threads: Get = get
    return threads
