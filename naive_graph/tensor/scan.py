"""Scan: a recurrent cell applied along sequences, as one node (JAX's `lax.scan`, ONNX's Scan).

    h[t] = step(x[t], h[t-1], weights)

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
from .evaluation.evaluate import PlannedFunction, to_dense
from .index import TransformIndex, identity_ids
from .nodes import LeafNode, TransformNode
from .operators.joins import stack
from .slicing import index_axis

MOST_STEPS = 30_000  # the most steps that are unrolled into nodes
# (inputs at this step, states before it, shared tensors) -> states after it
Step = Callable[[Sequence[Any], Sequence[Any], Sequence[Any]], Sequence[Any]]


class ScanKernel:
    """The array kernel of a scan: calls the traced step at each position, forward and backward.

    order: the positions along the sequences, in the order of the steps. inputs: the input sequences. states: the
    initial states. shared: tensors that every step reads, such as weights.
    """

    def __init__(self, step: Step, order: range, inputs: Sequence[Any], states: Sequence[Any], shared: Sequence[Any]):
        self.order, self.input_count, self.state_count = order, len(inputs), len(states)
        shapes = [*(sequence.shape[1:] for sequence in inputs), *(tensor.shape for tensor in (*states, *shared))]
        self.arguments = [LeafNode.constant(np.zeros(shape)) for shape in shapes]
        self.next_states = step(*self.split_arguments(self.arguments))
        self.forward = _pickle_in_full(PlannedFunction(self.arguments, self.next_states))

    def split_arguments(self, arguments: Sequence[Any]) -> list[Sequence[Any]]:
        """Split a flat argument list into the inputs, the states, and the shared tensors."""
        end_of_states = self.input_count + self.state_count
        return [arguments[: self.input_count], arguments[self.input_count : end_of_states], arguments[end_of_states:]]

    @cached_property
    def backward(self) -> tuple[PlannedFunction, list[bool]]:
        """The vjp of one step, and for each argument whether it has a derivative at all."""
        with CURRENT.tables.lock:
            seeds = [LeafNode.constant(np.zeros(output.shape)) for output in self.next_states]
            calculus = Calculus(NodeAlgebra(), (), lambda node: node)
            derivatives = reverse(calculus, dict(zip(self.next_states, seeds)), self.arguments)
        has_derivative = [leaf in derivatives for leaf in self.arguments]
        outputs = [derivatives[leaf] for leaf in self.arguments if leaf in derivatives]
        return _pickle_in_full(PlannedFunction([*self.arguments, *seeds], outputs)), has_derivative

    def __getstate__(self) -> dict[str, Any]:
        self.backward  # noqa: B018 - trace it before pickling: the other process has no graph
        return vars(self)

    def __call__(self, *arrays: Array) -> Array:
        inputs, states, shared = self.split_arguments(to_common_library([*map(to_dense, arrays)]))
        history: list[Any] = [None] * len(self.order)  # position -> the states after its step
        for position in self.order:
            history[position] = states = self.forward(*(sequence[position] for sequence in inputs), *states, *shared)
        return _stack_arrays([_stack_arrays(kind) for kind in zip(*history)])

    def back(
        self, node: TensorNode, value: Callable[[TensorNode], Any], adjoint: Array, wanted_positions: Collection[int]
    ) -> list[Any]:
        """Backpropagation through time: derivatives for the inputs, the initial states and the shared tensors.

        None for those that have no derivative; those that are not wanted are computed all the same. adjoint: of the
        stacked states. From step to step, last one first, the adjoints of the states before it are carried on.
        """
        arrays = to_common_library([to_dense(value(source)) for source in node.backward_sources])
        inputs, initial_states, shared = self.split_arguments(arrays)
        history, (vjp, has_derivative) = value(node), self.backward
        input_adjoints: list[Any] = [None] * len(self.order)
        state_adjoints: Sequence[Any] = [0.0] * len(initial_states)
        shared_adjoints, positions = [0.0] * len(shared), [*self.order]
        for position, previous in zip(reversed(positions), [*reversed(positions[:-1]), None]):
            states = initial_states if previous is None else [kind[previous] for kind in history]
            seeds = [adjoint[kind][position] + carried for kind, carried in enumerate(state_adjoints)]
            derivatives = iter(vjp(*(sequence[position] for sequence in inputs), *states, *shared, *seeds))
            all_derivatives = [next(derivatives) if has_one else 0.0 for has_one in has_derivative]
            input_adjoints[position], state_adjoints, contributions = self.split_arguments(all_derivatives)
            shared_adjoints = [total + contribution for total, contribution in zip(shared_adjoints, contributions)]
        by_input = zip(*input_adjoints)
        stacked = [steps if type(steps[0]) is float else _stack_arrays(steps) for steps in by_input]
        results = zip([*stacked, *state_adjoints, *shared_adjoints], has_derivative)
        return [derivative if has_one else None for derivative, has_one in results]


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
    The other parameters are those of ScanKernel.
    """

    def __init__(
        self, step: Step, order: range, inputs: Sequence[TensorNode], states: Sequence[TensorNode],
        shared: Sequence[TensorNode],
    ) -> None:  # fmt: skip
        shape = (len(states), len(order), *states[0].shape)
        self.index, self.alpha = TransformIndex(identity_ids(len(shape)), identity_ids(len(shape))), 1.0
        self.step, self.loop = step, ScanKernel(step, order, inputs, states, shared)
        TensorNode.__init__(self, shape)
        del self.sources  # built lazily by the cached property below
        self.direct = ArrayKernel((*inputs, *states, *shared), self.loop, self.loop.back)
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
            self._renumber(ancestors([result], is_known=lambda node: node.serial <= first), first)
        return (result,)

    def _unroll_steps(self) -> TensorNode:
        inputs, states, shared = self.loop.split_arguments(self.reads)
        history: list[Any] = [None] * len(self.loop.order)  # position -> the states after its step
        for position in self.loop.order:
            states = self.step([index_axis(sequence, 0, position) for sequence in inputs], states, shared)
            history[position] = states
        result: TensorNode = stack.function([stack.function([*kind], 0) for kind in zip(*history)], 0)
        return result

    def _renumber(self, new_nodes: Sequence[TensorNode], first: int) -> None:
        """Renumber nodes made since serial `first` to just before this node, and give them its origin."""
        calls = {id(node.call): node.call for node in new_nodes if node.call}
        for node in new_nodes:
            node.origin, node._checkpoint = self.origin, self._checkpoint
            node.serial = self.serial - SERIAL_GAP + (node.serial - first) // SERIAL_GAP
        for call in calls.values():
            call.first = self.serial - SERIAL_GAP + (call.first - first) // SERIAL_GAP
