"""Scan: a recurrent cell applied along sequences, as one node (JAX's `lax.scan`, ONNX's Scan).

On arrays the cell's step and its vjp are traced once; forward and backward loop over them and store
only the states (backpropagation through time). The unrolled steps are built lazily, as nodes, only when
`sources` is read: for pictures, lowering or derivatives as nodes.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from ..errors import BudgetError
from ..graph.node_factory import CURRENT
from .base import SERIAL_GAP, ArrayKernel, TensorNode, serials
from .calculus import Calculus, NodeAlgebra
from .differentiate import ancestors, reverse
from .evaluation.arrays import Array, namespace, to_common_library
from .evaluation.cached_function import PlannedFunction
from .evaluation.evaluate import to_dense
from .index import TransformIndex, identity_ids
from .nodes import LeafNode, TransformNode
from .operators.joins import stack
from .slicing import index_axis

MOST_STEPS = 30_000  # the most steps that are unrolled into nodes
Step = Callable[[Sequence[Any], Sequence[Any], Sequence[Any]], Sequence[Any]]  # (inputs, states, weights) -> states


class ScanKernel:
    """The array kernel of a scan: calls the traced step at each position, forward and backward.

    order: the positions along the sequences, in the order of the steps. fed: the input sequences. states: the
    initial states. shared: tensors that every step reads, such as weights.
    """

    def __init__(self, step: Step, order: range, fed: Sequence[Any], states: Sequence[Any], shared: Sequence[Any]):
        self.order, self.counts = order, (len(fed), len(states))
        shapes = [*(sequence.shape[1:] for sequence in fed), *(tensor.shape for tensor in (*states, *shared))]
        self.given = [LeafNode.constant(np.zeros(shape)) for shape in shapes]
        self.after = step(*self.split_arguments(self.given))
        self.forward = _pickle_in_full(PlannedFunction(self.given, self.after))

    def split_arguments(self, all_of_it: Sequence[Any]) -> list[Sequence[Any]]:
        """Split a flat argument list into the inputs, the states, and the shared tensors."""
        fed, states = self.counts
        return [all_of_it[:fed], all_of_it[fed : fed + states], all_of_it[fed + states :]]

    @cached_property
    def backward(self) -> tuple[PlannedFunction, list[bool]]:
        """The vjp of one step, and for each argument whether it has a derivative at all."""
        with CURRENT.tables.lock:
            seeds = [LeafNode.constant(np.zeros(output.shape)) for output in self.after]
            calculus = Calculus(NodeAlgebra(), (), lambda node: node)
            derivatives = reverse(calculus, dict(zip(self.after, seeds)), self.given)
        responds = [leaf in derivatives for leaf in self.given]
        moves = [derivatives[leaf] for leaf in self.given if leaf in derivatives]
        return _pickle_in_full(PlannedFunction([*self.given, *seeds], moves)), responds

    def __getstate__(self) -> dict[str, Any]:
        self.backward  # noqa: B018 - trace it before pickling: the other process has no graph
        return vars(self)

    def __call__(self, *arrays: Array) -> Array:
        fed, states, shared = self.split_arguments(to_common_library([*map(to_dense, arrays)]))
        seen: list[Any] = [None] * len(self.order)
        for position in self.order:
            seen[position] = states = self.forward(*(sequence[position] for sequence in fed), *states, *shared)
        return _stack_arrays([_stack_arrays(history) for history in zip(*seen)])

    def back(
        self, node: TensorNode, value: Callable[[TensorNode], Any], adjoint: Array, asked: Collection[int]
    ) -> list[Any]:
        """The derivatives for the inputs, the initial states and the shared tensors; None where there is none."""
        arrays = to_common_library([to_dense(value(source)) for source in node.backward_sources])
        fed, first, shared = self.split_arguments(arrays)
        history, (calculation, responds) = value(node), self.backward
        moved: list[Any] = [None] * len(self.order)
        carried: Sequence[Any] = [0.0] * len(first)
        totals, places = [0.0] * len(shared), [*self.order]
        for position, before in zip(reversed(places), [*reversed(places[:-1]), None]):
            states = first if before is None else [history[kind][before] for kind in range(len(first))]
            seeds = [adjoint[kind][position] + more for kind, more in enumerate(carried)]
            derivatives = iter(calculation(*(sequence[position] for sequence in fed), *states, *shared, *seeds))
            all_moves = [next(derivatives) if respond else 0.0 for respond in responds]
            moved[position], carried, parts = self.split_arguments(all_moves)
            totals = [total + part for total, part in zip(totals, parts)]
        by_input = zip(*moved)
        of_inputs = [moves if type(moves[0]) is float else _stack_arrays(moves) for moves in by_input]
        every = zip([*of_inputs, *carried, *totals], responds)
        return [derivative if respond else None for derivative, respond in every]


def _stack_arrays(arrays: Sequence[Array]) -> Array:
    return namespace(arrays[0]).stack([*arrays])


def _pickle_in_full(calculation: PlannedFunction) -> PlannedFunction:
    """Mark all nodes of a calculation as serialized in full when sent to another process; returns it."""
    for ancestor in ancestors(calculation.outputs):
        ancestor.pickle_in_full = True
    return calculation


class ScanNode(TransformNode):
    """A scan: the states after every step of a cell, stacked to shape (kinds of state, steps, ...).

    Formally an identity transform of the unrolled steps, which are its lazily built source.
    step: gives the states after a step, from its inputs, the states before it,
    and what all steps share.
    """

    def __init__(
        self, step: Step, order: range, fed: Sequence[TensorNode], states: Sequence[TensorNode],
        shared: Sequence[TensorNode],
    ) -> None:  # fmt: skip
        shape = (len(states), len(order), *states[0].shape)
        self.index, self.alpha = TransformIndex(identity_ids(len(shape)), identity_ids(len(shape))), 1.0
        self.step, self.loop = step, ScanKernel(step, order, fed, states, shared)
        TensorNode.__init__(self, shape)
        del self.sources  # built lazily by the cached property below
        self.direct = ArrayKernel((*fed, *states, *shared), self.loop, self.loop.back)
        if self._home.computes_at_once:
            self.compute_at_once()

    @cached_property
    def sources(self) -> tuple[TensorNode, ...]:  # type: ignore[override]
        """The unrolled steps as nodes, with serials just before this node's. Raises BudgetError if too many."""
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
                result = self._unroll_steps()
            finally:
                home.enter(outer)
            self._renumber(ancestors([result], first), first)
        return (result,)

    def _unroll_steps(self) -> TensorNode:
        fed, states, shared = self.loop.split_arguments(self.reads)
        seen: list[Any] = [None] * len(self.loop.order)
        for position in self.loop.order:
            seen[position] = states = self.step([index_axis(sequence, 0, position) for sequence in fed], states, shared)
        result: TensorNode = stack.function([stack.function([*history], 0) for history in zip(*seen)], 0)
        return result

    def _renumber(self, made: Sequence[TensorNode], first: int) -> None:
        """Renumber nodes made since serial `first` to just before this node, and give them its origin."""
        calls = {id(each.call): each.call for each in made if each.call}
        for node in made:
            node.origin, node._checkpoint = self.origin, self._checkpoint
            node.serial = self.serial - SERIAL_GAP + (node.serial - first) // SERIAL_GAP
        for call in calls.values():
            call.first = self.serial - SERIAL_GAP + (call.first - first) // SERIAL_GAP
