"""The scene of a task graph: each task (F forward, B backward, G gradient sum) in its level, and what it depends on."""

from __future__ import annotations

from ...errors import DrawingError
from ...tensor.tasks.graph import TaskGraph
from .scene import READABLE, Arrow, Box, DrawOptions, Scene
from .text_metrics import visible


def task_scene(graph: TaskGraph, options: DrawOptions) -> Scene:
    """Describe the tasks of a run, those of the first levels if there are too many."""
    if options.fold not in (None, False):
        raise DrawingError("Tasks have no scopes to fold. Leave fold out, and show fewer with most=...")
    shown_tasks = [number for level in graph.levels for number in level][
        : options.most or READABLE
    ]  # and what they need
    edges = [(need, number) for need, number in graph.edges if number in {*shown_tasks}]
    arrows = [Arrow(f"need-{need}-{number}", f"task-{need}", f"task-{number}") for need, number in edges]
    notice = f"{len(graph) - len(shown_tasks):,} tasks of higher levels are left out. See more with most=..."
    return Scene(
        [_task_box(graph, number) for number in shown_tasks],
        arrows,
        caption=notice if len(shown_tasks) < len(graph) else "",
    )


def _task_box(graph: TaskGraph, number: int) -> Box:
    task = graph.tasks[number]
    node = task.key.node if task.key.kind != "B" else task.key.node.sources[task.key.position]
    lines = [visible(graph.label(number))]
    if node.rank:
        lines.append(f"({' × '.join(map(str, node.shape))})")
    return Box(f"task-{number}", f"task {task.key.kind}", [*lines, f"level {task.level}"], layer=task.level)
