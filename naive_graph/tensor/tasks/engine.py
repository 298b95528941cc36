"""The DAG execution engine: forward and backward as a task graph whose independent tasks run in parallel threads."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from threading import get_ident
from time import perf_counter
from typing import Any, NamedTuple

from ...core.number import shortened
from ...errors import EngineError
from ..base import TensorNode, check_tensors
from ..differentiate import BACKWARD_SOURCES, ancestors
from ..evaluation.arrays import Array
from ..evaluation.backprop import BackwardRun, check_single, ones_like, store_gradients
from ..evaluation.eval_plan import missing_ancestors
from ..evaluation.evaluate import cache_value, cached_array, check_fed, invalidate_stale, to_dense
from ..versions import own_copy, ticks
from .graph import Key, TaskGraph, task_graph


class TaskBar(NamedTuple):
    """When a task ran: seconds since the run began, and on which worker."""

    task: int
    worker: int
    start: float
    end: float


class TaskRun(NamedTuple):
    """The timings of a finished run: its task graph, and a bar for each task. `gantt` draws it."""

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
    """Run all tasks level by level; returns each task's result, and the timings.

    Tasks of one level run on up to `workers` threads. A contribution is freed once it
    was added to its total, so its result is None.
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

    with ThreadPoolExecutor(workers, "naive_graph task") as pool:  # which starts no thread before it is asked
        perform_all = pool.map if workers > 1 else map  # one worker is the caller, which may hold the graph's lock
        for level in graph.levels:
            for number, result in zip(level, list(perform_all(perform, level))):
                results[number] = result
            for task in (graph.tasks[number] for number in level if graph.tasks[number].key.kind == "G"):
                for need in task.needs:
                    results[need] = None
    return results, TaskRun(graph, sorted(bars))


class DAGExecutionEngine:
    """Evaluates and differentiates tensors by tasks; its numbers are those of `t.eval()` and `t.backward()` to the bit.

    workers: how many threads run tasks of one level. Array libraries release
    Python's global lock while they compute, so large arrays gain and small ones do not.
    `last_run` says when each task ran; draw it with `gantt(engine)`.

    >>> from naive_graph.tensor import DAGExecutionEngine, LeafNode
    >>> w = LeafNode.parameter([3.0, 4.0], "w")
    >>> engine = DAGExecutionEngine(workers=2)
    >>> engine.backward((w * w).sum())
    >>> w.gradient().tolist()
    [6.0, 8.0]
    """

    def __init__(self, workers: int = 1) -> None:
        if type(workers) is not int or workers < 1:
            raise EngineError(
                f"A DAGExecutionEngine has a whole number of workers, at least 1, not {shortened(workers)}."
            )
        self.workers = workers
        self.last_run: TaskRun | None = None

    def tasks(self, output: TensorNode, full: bool = False) -> TaskGraph:
        """The tasks of a forward and a backward run, computing nothing: print them, or draw them."""
        return task_graph(output, full)

    def forward(self, output: TensorNode) -> Array:
        """The tensor's array, with everything that it needs computed again."""
        return self._evaluate(output, use_cached=False)

    def incremental_forward(self, output: TensorNode) -> Array:
        """The tensor's array; what was not computed before, or is stale, is computed now."""
        return self._evaluate(output, use_cached=True)

    def backward(self, output: TensorNode, full: bool = False) -> None:
        """Differentiate a tensor of one entry; see `TensorNode.backward`. Nothing is written if a task fails."""
        check_single(output)
        invalidate_stale([output])
        start_tick = next(ticks)
        graph = task_graph(output, full, use_cached=True)
        results = self._run(graph, use_cached=True)
        nodes = ancestors([output], predecessors=BACKWARD_SOURCES)
        value = to_dense(cached_array(output))
        gradients: dict[TensorNode, Array] = {}
        for node in graph.wanted:
            number = graph.number.get(Key("G", node))
            if number is not None and results[number] is not None:
                total = results[number].sum
                gradients[node] = ones_like(value) if total is None else total
        store_gradients(BackwardRun(output, full, start_tick, nodes), output, nodes, graph.wanted, gradients)

    def _evaluate(self, output: TensorNode, use_cached: bool) -> Array:
        check_tensors("A DAGExecutionEngine", [output])
        invalidate_stale([output])
        self._run(task_graph(output, use_cached=use_cached, with_backward=False), use_cached)
        return own_copy(to_dense(cached_array(output)))

    def _run(self, graph: TaskGraph, use_cached: bool) -> list[Any]:
        """Run all tasks, then cache the computed values on the nodes."""

        def has_value(node: TensorNode) -> bool:
            return node._value is not None and (use_cached or not node.reads)

        check_fed(missing_ancestors(graph.output, has_value))
        start_tick = next(ticks)
        results, self.last_run = self._perform(graph)
        for node in ancestors([graph.output], predecessors=BACKWARD_SOURCES):
            number = graph.number.get(Key("F", node))
            if node.reads and (number is not None or not use_cached):
                cache_value(node, None if number is None else results[number], start_tick)
        return results

    def _perform(self, graph: TaskGraph) -> tuple[list[Any], TaskRun]:
        return run_tasks(graph, self.workers)

    def __repr__(self) -> str:
        return f"<{type(self).__name__}, {self.workers} worker{'s' if self.workers > 1 else ''}>"
