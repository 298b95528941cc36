"""A cell that is applied again and again along sequences: one node on arrays, however long they are.

Who looks inside finds every step: they are made once the node's sources are
asked for. On arrays the cell is written down once, with how it responds to
what it is given; both walks repeat that, and hold nothing but the states.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from ..errors import BudgetError
from ..graph.registry import CURRENT
from .base import ROOM, Direct, TensorNode, serials
from .calculus import Calculus, Nodes
from .differentiate import ancestors, reverse
from .evaluation.arrays import Array, namespace, together
from .evaluation.calculation import Calculation
from .evaluation.evaluate import written_out
from .index import TransformIndex, straight
from .nodes import LeafNode, TransformNode
from .operators.joins import stack
from .picks import entry

MOST_STEPS = 30_000  # that become nodes
Step = Callable[[Sequence[Any], Sequence[Any], Sequence[Any]], Sequence[Any]]  # of what is fed, states, what is shared


class Loop:
    """A cell's steps on arrays. order: the places along the sequences, in the order in which they are taken."""

    def __init__(self, step: Step, order: range, fed: Sequence[Any], states: Sequence[Any], shared: Sequence[Any]):
        self.order, self.counts = order, (len(fed), len(states))
        shapes = [*(sequence.shape[1:] for sequence in fed), *(tensor.shape for tensor in (*states, *shared))]
        self.given = [LeafNode.constant(np.zeros(shape)) for shape in shapes]
        self.after = step(*self.split_arguments(self.given))
        self.forward = _travelling(Calculation(self.given, self.after))

    def split_arguments(self, all_of_it: Sequence[Any]) -> list[Sequence[Any]]:
        """What is fed, the states, and what is shared."""
        fed, states = self.counts
        return [all_of_it[:fed], all_of_it[fed : fed + states], all_of_it[fed + states :]]

    @cached_property
    def backward(self) -> tuple[Calculation, list[bool]]:
        """How what is given moves what comes out, and which of it does."""
        with CURRENT.tables.lock:
            seeds = [LeafNode.constant(np.zeros(output.shape)) for output in self.after]
            derivatives = reverse(Calculus(Nodes(), (), lambda node: node), dict(zip(self.after, seeds)), self.given)
        moves = [derivatives[leaf] for leaf in self.given if leaf in derivatives]
        return _travelling(Calculation([*self.given, *seeds], moves)), [leaf in derivatives for leaf in self.given]

    def __getstate__(self) -> dict[str, Any]:
        self.backward  # noqa: B018 - another process has no graph to find it in
        return vars(self)

    def __call__(self, *arrays: Array) -> Array:
        fed, states, shared = self.split_arguments(together([*map(written_out, arrays)]))
        seen: list[Any] = [None] * len(self.order)
        for position in self.order:
            seen[position] = states = self.forward(*(sequence[position] for sequence in fed), *states, *shared)
        return _stack_arrays([_stack_arrays(history) for history in zip(*seen)])

    def back(
        self, node: TensorNode, value: Callable[[TensorNode], Any], adjoint: Array, asked: Collection[int]
    ) -> list[Any]:
        """The derivatives for what is fed, the first states, and what is shared; None for what has none."""
        fed, first, shared = self.split_arguments(together([written_out(value(source)) for source in node.behind]))
        history, (calculation, responds) = value(node), self.backward
        moved: list[Any] = [None] * len(self.order)
        carried: Sequence[Any] = [0.0] * len(first)
        totals, places = [0.0] * len(shared), [*self.order]
        for position, before in zip(reversed(places), [*reversed(places[:-1]), None]):
            states = first if before is None else [history[kind][before] for kind in range(len(first))]
            seeds = [adjoint[kind][position] + more for kind, more in enumerate(carried)]
            derivatives = iter(calculation(*(sequence[position] for sequence in fed), *states, *shared, *seeds))
            moved[position], carried, parts = self.split_arguments(
                [next(derivatives) if respond else 0.0 for respond in responds]
            )
            totals = [total + part for total, part in zip(totals, parts)]
        all_of_it = [
            *(
                contributions if type(contributions[0]) is float else _stack_arrays(contributions)
                for contributions in zip(*moved)
            ),
            *carried,
            *totals,
        ]
        return [derivative if some else None for derivative, some in zip(all_of_it, responds)]


def _stack_arrays(arrays: Sequence[Array]) -> Array:
    return namespace(arrays[0]).stack([*arrays])


def _travelling(calculation: Calculation) -> Calculation:
    """The same, its nodes marked as what another process needs whole."""
    for ancestor in ancestors(calculation.outputs):
        ancestor.travels = True
    return calculation


class RepeatedNode(TransformNode):
    """All states after each step of a cell, of shape (kinds of state, steps, ...): a transform of the steps.

    step: gives the states after a step, from what is fed to it, the states
    before it, and what all steps share.
    """

    def __init__(
        self, step: Step, order: range, fed: Sequence[TensorNode], states: Sequence[TensorNode],
        shared: Sequence[TensorNode],
    ) -> None:  # fmt: skip
        shape = (len(states), len(order), *states[0].shape)
        self.index, self.alpha = TransformIndex(straight(len(shape)), straight(len(shape))), 1.0
        self.step, self.loop = step, Loop(step, order, fed, states, shared)
        TensorNode.__init__(self, shape)
        del self.sources  # which are made when they are asked for
        self.direct = Direct((*fed, *states, *shared), self.loop, self.loop.back)
        if self._home.computes_at_once:
            self.compute_at_once()

    @cached_property
    def sources(self) -> tuple[TensorNode, ...]:  # type: ignore[override]
        """The steps, one after the other, as nodes that are as old as this one."""
        home, order = self.home, self.loop.order
        if len(order) > MOST_STEPS:
            raise BudgetError(
                f"{self.label} would unfold into {len(order):,} steps, and {MOST_STEPS:,} are the most. On arrays it "
                "is computed without that: t.eval(), t.backward()."
            )
        with home.lock:
            first, outer = next(serials), home.scope_now
            home.enter(self.scope)
            try:
                result = self._unfold_steps()
            finally:
                home.enter(outer)
            self._backdate(ancestors([result], first), first)
        return (result,)

    def _unfold_steps(self) -> TensorNode:
        fed, states, shared = self.loop.split_arguments(self.reads)
        seen: list[Any] = [None] * len(self.loop.order)
        for position in self.loop.order:
            seen[position] = states = self.step([entry(sequence, 0, position) for sequence in fed], states, shared)
        result: TensorNode = stack.function([stack.function([*history], 0) for history in zip(*seen)], 0)
        return result

    def _backdate(self, made: Sequence[TensorNode], first: int) -> None:
        """Make what was made since `first` seem made just before this node, where it was written."""
        calls = {id(each.call): each.call for each in made if each.call}
        for node in made:
            node.origin, node._checkpoint = self.origin, self._checkpoint
            node.serial = self.serial - ROOM + (node.serial - first) // ROOM
        for call in calls.values():
            call.first = self.serial - ROOM + (call.first - first) // ROOM
