"""Running tasks level by level, on one thread or several, and measuring when each ran where."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from threading import get_ident
from time import perf_counter
from typing import Any, NamedTuple

from .graph import TaskGraph

Mapped = Callable[[Callable[[int], Any], Sequence[int]], Iterable[Any]]


class TaskBar(NamedTuple):
    """When a task ran: seconds since the run began, and on which worker."""

    task: int
    worker: int
    start: float
    end: float


class TaskRun(NamedTuple):
    """A run that is over: its graph, and a bar for each task. `gantt` draws it."""

    graph: TaskGraph
    bars: list[TaskBar]

    @property
    def seconds(self) -> float:
        """From the first task's start to the last one's end."""
        return max((bar.end for bar in self.bars), default=0.0)

    @property
    def work(self) -> float:
        """The seconds that all tasks took together."""
        return sum(bar.end - bar.start for bar in self.bars)


def run_tasks(graph: TaskGraph, workers: int = 1) -> tuple[list[Any], TaskRun]:
    """The result of each task, and when it was found. Tasks of one level run on up to `workers` threads.

    A contribution is let go once it was added, so its result is None.
    """
    results: list[Any] = [None] * len(graph)
    bars: list[TaskBar] = []
    threads: dict[int, int] = {}
    begin = perf_counter()

    def perform(number: int) -> Any:
        task, worker = graph.tasks[number], threads.setdefault(get_ident(), len(threads))
        start = perf_counter()
        result = task.work(*(results[need] for need in task.needs))
        bars.append(TaskBar(number, worker, start - begin, perf_counter() - begin))
        return result

    with _crew(workers) as mapped:
        for level in graph.levels:
            for number, result in zip(level, list(mapped(perform, level))):
                results[number] = result
            _let_go(graph, level, results)
    return results, TaskRun(graph, sorted(bars))


def _let_go(graph: TaskGraph, level: Sequence[int], results: list[Any]) -> None:
    for task in (graph.tasks[number] for number in level):
        if task.key.kind == "G":
            for need in task.needs:
                results[need] = None


@contextmanager
def _crew(workers: int) -> Iterator[Mapped]:
    """A function like `map`, which may use several threads."""
    if workers == 1:
        yield map
        return
    with ThreadPoolExecutor(workers, "naive_graph task") as pool:
        yield pool.map
