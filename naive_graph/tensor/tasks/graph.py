"""Forward and backward as a graph of tasks: who needs whose result, before anything is computed.

    F(v)     value               needs the values that v is computed from
    B(v,k)   contribution        needs G(v), F(v) and the values of v's sources
    G(v)     total gradient      needs the B's that reach v, youngest consumer first, then by position

The order of the sums is that of the simple engine, so the bits are too. G of
the result is the number 1 and needs nothing. A product that is folded into
another one has an F only if its value is asked for.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import NamedTuple

from ..base import TensorNode, check_tensors
from ..calculus import responds, values_read
from ..differentiate import ancestors, leading
from ..equation import names_among
from ..evaluate import check_single, wanted_among
from ..recipes import Recipe, missing, recipes
from ..selection import SelectionNode
from .work import Contribute, Evaluate, Kept, Total, Work


class Key(NamedTuple):
    """What a task is called: its kind, its node, and for B the position of the source."""

    kind: str  # F, G or B
    node: TensorNode
    position: int = -1


class Task(NamedTuple):
    """One step of a run."""

    key: Key
    work: Work
    needs: tuple[int, ...]  # the numbers of the tasks whose results the work is called with
    level: int  # the length of the longest path that leads here


class TaskGraph:
    """All tasks of one run, each after those that it needs.

    >>> from .. import LeafNode
    >>> a, b, c, d = (LeafNode.parameter(2.0, name) for name in "abcd")
    >>> y = a * b + c * d
    >>> y.name = "y"
    >>> print(task_graph(y))
    20 tasks on 7 levels
    0: F(a) F(b) F(c) F(d) G(y)
    1: F(t1) F(t2)
    2: F(y)
    3: B(y,0) B(y,1)
    4: G(t2) G(t1)
    5: B(t2,0) B(t2,1) B(t1,0) B(t1,1)
    6: G(d) G(c) G(b) G(a)
    """

    def __init__(self, output: TensorNode, tasks: Sequence[Task], wanted: set[TensorNode]) -> None:
        self.output = output
        self.tasks = list(tasks)
        self.wanted = wanted  # the nodes whose gradients are asked for
        self.number = {task.key: number for number, task in enumerate(tasks)}

    @property
    def edges(self) -> list[tuple[int, int]]:
        """(needed, needing), by number."""
        return [(need, number) for number, task in enumerate(self.tasks) for need in task.needs]

    @cached_property
    def levels(self) -> list[list[int]]:
        """The numbers of the tasks of each level; those of one level can run at the same time."""
        found: list[list[int]] = [[] for _ in range(1 + max((task.level for task in self.tasks), default=-1))]
        for number, task in enumerate(self.tasks):
            found[task.level].append(number)
        return found

    @property
    def widths(self) -> list[int]:
        """How many tasks each level has."""
        return list(map(len, self.levels))

    @cached_property
    def names(self) -> dict[TensorNode, str]:
        """What the tensors are called here."""
        return names_among(ancestors([self.output]))

    def label(self, number: int) -> str:
        """How a task is written: F(y), G(y) or B(y,0)."""
        kind, node, position = self.tasks[number].key
        return f"{kind}({self.names[node]})" if kind != "B" else f"B({self.names[node]},{position})"

    def __len__(self) -> int:
        return len(self.tasks)

    def __str__(self) -> str:
        lines = [f"{len(self)} tasks on {len(self.levels)} levels"]
        lines += [f"{at}: {' '.join(map(self.label, level))}" for at, level in enumerate(self.levels)]
        return "\n".join(lines)

    def __repr__(self) -> str:
        return f"<TaskGraph of {len(self)} tasks on {len(self.levels)} levels>"


def task_graph(output: TensorNode, full: bool = False, kept: bool = False, back: bool = True) -> TaskGraph:
    """The tasks of evaluating and differentiating a tensor of one entry. Computes nothing.

    full: all nodes get gradients, not only parameters and what depends on one.
    kept: what was evaluated before is not computed again. back: False leaves
    the derivatives out; then the tensor may have any shape.
    """
    check_tensors("A DAGExecutionEngine", [output])
    if back:
        check_single(output)
    nodes = ancestors([output])
    wanted = wanted_among(nodes, full) if back else set()
    book = _Book(kept)
    book.write_known(nodes)
    book.ask(output)
    if back:
        _write_backward(book, output, nodes, wanted)
    return TaskGraph(output, book.tasks, wanted)


class _Book:
    """The tasks so far. It asks for values when the simple engine would, and computes none."""

    def __init__(self, kept: bool) -> None:
        self.kept = kept
        self.tasks: list[Task] = []
        self.number: dict[Key, int] = {}

    def write(self, key: Key, work: Work, needs: Sequence[int]) -> int:
        level = 1 + max((self.tasks[need].level for need in needs), default=-1)
        self.number[key] = len(self.tasks)
        self.tasks.append(Task(key, work, tuple(needs), level))
        return self.number[key]

    def write_known(self, nodes: Sequence[TensorNode]) -> None:
        """F of leaves, and of what was evaluated before; selections need none."""
        for node in nodes:
            is_kept = self.kept and node._value is not None
            if is_kept or not (node.sources or isinstance(node, SelectionNode)):
                self.write(Key("F", node), Kept(node), ())

    def ask(self, target: TensorNode) -> None:
        """F of a node, and of all that it needs, unless it is there."""
        for recipe in recipes(missing(target, self._has), target):
            self.write(Key("F", recipe.node), Evaluate(recipe), self._values(recipe))

    def _has(self, node: TensorNode) -> bool:
        return Key("F", node) in self.number

    def _values(self, recipe: Recipe) -> list[int]:
        return [self.number[Key("F", node)] for node in recipe.reads if not isinstance(node, SelectionNode)]

    def write_contribution(self, node: TensorNode, position: int) -> int:
        for source in values_read(node, position):
            self.ask(source)
        known = tuple(each for each in dict.fromkeys((node, *node.sources)) if self._has(each))
        needs = [self.number[Key("G", node)], *(self.number[Key("F", each)] for each in known)]
        return self.write(Key("B", node, position), Contribute(node, position, known), needs)


def _write_backward(book: _Book, output: TensorNode, nodes: Sequence[TensorNode], wanted: set[TensorNode]) -> None:
    """G and B tasks, consumers first, as the simple engine's walk back goes."""
    varying = leading(nodes, wanted)
    shares: dict[TensorNode, list[int]] = {output: []}
    for node in reversed(nodes):
        if node not in shares:
            continue
        book.write(Key("G", node), Total(node), shares[node])
        for position, source in enumerate(node.sources):
            if source in varying and responds(node, position):
                shares.setdefault(source, []).append(book.write_contribution(node, position))
