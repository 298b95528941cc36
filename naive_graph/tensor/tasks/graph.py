"""The task graph (DAG) of a forward and a backward run, built before anything is computed.

    F(v)     value               needs the values that v is computed from
    B(v,k)   contribution        needs G(v), F(v) and those values of v's sources that have a task
    D(v,k)   custom derivative   needs G(v), F(v) and the values of the operands
    G(v)     total gradient      needs the B's and D's that reach v, youngest consumer first, then by position

"Needs" are dependencies: tasks whose results are a task's arguments. Sums have the order of the serial
engine (evaluation/), so results agree bit for bit. G of the output is the number 1 and needs nothing. A
product that is fused into another one (eval_plan.py) has an F only if its value is needed.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import NamedTuple

from ...core.sweep import Contribution, backward_pass
from ..base import Call, TensorNode, check_tensors
from ..calculus import branch, has_nonzero_derivative, values_read
from ..differentiate import BACKWARD_SOURCES, ContributionTargets, ancestors
from ..evaluation.backprop import check_single, nodes_with_gradients
from ..evaluation.eval_plan import missing_ancestors, plan_evaluation
from ..evaluation.evaluate import cached_array
from ..notation import unique_names
from ..sparse_selector import SelectionNode
from .work import Contribute, Evaluate, KnownValue, SumContributions, Work

Shares = tuple[list[int], bool]  # the B and D tasks that a G sums; whether all of them are masked by a `where`


class Key(NamedTuple):
    """The name of a task: its kind, its node, and for B and D the position of the source or operand."""

    kind: str  # F, G, B or D
    node: TensorNode
    position: int = -1  # -1 for F and G


class Task(NamedTuple):
    """A task: its name, its callable, and its dependencies."""

    key: Key
    work: Work
    needs: tuple[int, ...]  # dependencies: the numbers of the tasks whose results are the work's arguments
    level: int  # the length of the longest path that leads here


class TaskGraph:
    """All tasks of one run, in topological order. Printed, it shows which tasks can run at the same time.

    >>> from .. import LeafNode
    >>> a, b, c, d = (LeafNode.parameter(2.0, name) for name in "abcd")
    >>> p, q = a * b, c * d
    >>> p.name, q.name = "p", "q"
    >>> y = p + q
    >>> y.name = "y"
    >>> print(task_graph(y))
    20 tasks on 7 levels
    0: F(a) F(b) F(c) F(d) G(y)
    1: F(p) F(q)
    2: F(y)
    3: B(y,0) B(y,1)
    4: G(q) G(p)
    5: B(q,0) B(q,1) B(p,0) B(p,1)
    6: G(d) G(c) G(b) G(a)
    """

    def __init__(self, output: TensorNode, wanted: set[TensorNode]) -> None:
        self.output = output
        self.wanted = wanted  # the nodes whose gradients are asked for
        self.tasks: list[Task] = []
        self.number: dict[Key, int] = {}

    def add(self, key: Key, work: Work, needs: Sequence[int]) -> int:
        """Append a task; returns its number. needs: the numbers of its dependencies, which were added before."""
        level = 1 + max((self.tasks[need].level for need in needs), default=-1)
        self.number[key] = len(self.tasks)
        self.tasks.append(Task(key, work, tuple(needs), level))
        return self.number[key]

    def has_value(self, node: TensorNode) -> bool:
        """Whether a node has a task F."""
        return Key("F", node) in self.number

    def add_value(self, target: TensorNode) -> None:
        """Add the task F of a node and of all that it is computed from, where missing."""
        for step in plan_evaluation(missing_ancestors(target, self.has_value), target):
            needs = [self.number[Key("F", node)] for node in step.reads if not isinstance(node, SelectionNode)]
            self.add(Key("F", step.node), Evaluate(step), needs)

    def add_contribution(self, node: TensorNode, position: int, call: Call | None = None) -> int:
        """Add the task B of a source; or D of an operand, if a call with a custom derivative is given."""
        if call is None:
            nodes, read = [node, *node.backward_sources], values_read(node, position)
        else:
            nodes = read = [node, *(operand for operand in call.operands if operand is not None)]
        for operand in read:
            self.add_value(operand)
        known = tuple(filter(self.has_value, dict.fromkeys(nodes)))
        needs = [self.number[Key("G", node)], *(self.number[Key("F", operand)] for operand in known)]
        key = Key("B" if call is None else "D", node, position)
        return self.add(key, Contribute(node, position, call, known), needs)

    @property
    def edges(self) -> list[tuple[int, int]]:
        """The dependencies as pairs of task numbers (needed, dependent)."""
        return [(need, number) for number, task in enumerate(self.tasks) for need in task.needs]

    @cached_property
    def levels(self) -> list[list[int]]:
        """The numbers of the tasks of each level; those of one level can run at the same time."""
        levels: list[list[int]] = [[] for _ in range(1 + max((task.level for task in self.tasks), default=-1))]
        for number, task in enumerate(self.tasks):
            levels[task.level].append(number)
        return levels

    @property
    def widths(self) -> list[int]:
        """How many tasks each level has."""
        return list(map(len, self.levels))

    @cached_property
    def names(self) -> dict[TensorNode, str]:
        """The names of the tensors in labels."""
        return unique_names(ancestors([self.output], predecessors=BACKWARD_SOURCES))

    def label(self, number: int) -> str:
        """How a task is written: F(y), G(y), B(y,0) or D(y,0)."""
        kind, node, position = self.tasks[number].key
        return f"{kind}({self.names[node]})" if kind in "FG" else f"{kind}({self.names[node]},{position})"

    def __len__(self) -> int:
        return len(self.tasks)

    def __str__(self) -> str:
        lines = [f"{number}: {' '.join(map(self.label, level))}" for number, level in enumerate(self.levels)]
        return "\n".join([f"{len(self)} tasks on {len(self.levels)} levels", *lines])

    def __repr__(self) -> str:
        return f"<TaskGraph of {len(self)} tasks on {len(self.levels)} levels>"


def task_graph(
    output: TensorNode, full: bool = False, use_cached: bool = False, with_backward: bool = True
) -> TaskGraph:
    """The tasks of evaluating and differentiating a tensor of one entry. Computes nothing.

    full: all nodes get gradients, not only parameters and what depends on one.
    use_cached: what was evaluated before is not computed again. with_backward: False leaves
    the derivatives out; then the tensor may have any shape.
    """
    check_tensors("A DAGExecutionEngine", [output])
    if with_backward:
        check_single(output)
    nodes = ancestors([output], predecessors=BACKWARD_SOURCES)
    wanted = nodes_with_gradients(nodes, full) if with_backward else set()
    graph = TaskGraph(output, wanted)
    for node in nodes:  # leaves, and what was evaluated before; selections need no task
        is_cached = use_cached and node._value is not None
        if is_cached or not (node.reads or isinstance(node, SelectionNode)):
            graph.add(Key("F", node), KnownValue(cached_array(node)), ())
    graph.add_value(output)
    if with_backward:
        _add_backward(graph, nodes)
    return graph


def _add_backward(graph: TaskGraph, nodes: Sequence[TensorNode]) -> None:
    """Add the gradient tasks in reverse topological order, by the same traversal as the serial engine."""
    targets = ContributionTargets(nodes, graph.wanted)

    def contributions(node: TensorNode, adjoint: Shares) -> Iterator[Contribution[TensorNode]]:
        shares, masked = adjoint
        graph.add(Key("G", node), SumContributions(node), shares)
        call, operand_positions, positions = targets.of(node, masked)
        for position in operand_positions:
            assert call is not None
            yield call.operands[position], ([graph.add_contribution(node, position, call)], False), position, None
        for position in positions:
            if has_nonzero_derivative(node, position):
                mask = not (node.direct and node.direct.back) and (masked or bool(branch(node, position)))
                yield node.backward_sources[position], ([graph.add_contribution(node, position)], mask), position, None

    def add(node: TensorNode, first: Shares, second: Shares) -> Shares:
        return first[0] + second[0], first[1] and second[1]

    deque(backward_pass(nodes, {graph.output: ([], False)}, contributions, add), maxlen=0)
