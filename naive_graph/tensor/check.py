"""Gradient check of tensors: reverse mode, forward mode and graph derivatives against finite differences.

For an entry x of a leaf, d loss / dx is compared with differences such as (loss(x + eps) - loss(x - eps)) / (2 eps).
Entries near a kink, where the derivative jumps, are recognised. All arrays are computed apart from the nodes: no
tensor's cached value or gradient changes.
"""

from __future__ import annotations

import random
from collections.abc import Collection, Iterator, Sequence
from functools import partial, reduce
from typing import Any

import numpy as np

from ..core.sweep import evaluate
from ..errors import GradientCheckError, NumberError
from ..graph.report import KINK_REACH, CheckOptions, Report, require_finite
from .base import TensorNode, check_tensors, entry_name, method
from .calculus import Calculus
from .differentiate import BACKWARD_SOURCES, ancestors, forward, gradients, reverse
from .evaluation.arrays import Array
from .evaluation.entries import OverloadedArray
from .evaluation.evaluate import ArrayAlgebra, PlannedFunction, check_fed, to_dense
from .nodes import LeafNode, LeafType, NonlinearNode
from .notation import unique_names
from .reduction_node import ReductionNode
from .reduction_vjp import first_maximum_mask
from .reductions_api import sum
from .sparse_selector import SelectionNode

# Reductions with kinks: derivatives jump where another entry becomes the largest of x (1.0) or of -x (-1.0).
KINKED_REDUCTIONS = {"maximum": 1.0, "first_maximum": 1.0, "argmax": 1.0, "minimum": -1.0}


@method
def gradients_checked(loss: TensorNode, losses: Sequence[TensorNode], wishes: CheckOptions) -> Report:
    """Run `gradcheck` on tensors; the checked loss is the sum of all entries of `losses`."""
    check_tensors("gradcheck", losses)
    with np.errstate(all="ignore"):
        tensor_loss = _TensorLoss(
            reduce(lambda a, b: a + b, (sum(term) if term.rank else term for term in losses)), wishes
        )
        report, generator, skipped = Report(), random.Random(wishes.seed), list(wishes.skip)
        for leaf in tensor_loss.leaves:
            parameter = getattr(leaf, "source", leaf)  # of a Model; either may be named in `skip`
            if not any(other is leaf or other is parameter for other in skipped):
                tensor_loss.check(leaf, report, wishes.sample(range(leaf.size), generator))
    return report


class _TensorLoss:
    """A tensor loss as a function of its leaves, for finite differences. wishes: the options of gradcheck."""

    def __init__(self, loss: TensorNode, wishes: CheckOptions) -> None:
        self.loss, self.wishes = loss, wishes
        self.nodes = ancestors([loss])
        self.names = unique_names(self.nodes)
        inputs = [node for node in self.nodes if isinstance(node, LeafNode) and not isinstance(node, SelectionNode)]
        check_fed(leaf for leaf in inputs if leaf.held is None)
        self.start: dict[TensorNode, Array] = {leaf: _float64_values(leaf) for leaf in inputs}
        self.leaves = [leaf for leaf in inputs if leaf.leaf_type != LeafType.CONSTANT]
        self.loss_function = PlannedFunction(inputs, [loss])
        self.kinked = [node for node in self.nodes if _has_kink(node)]
        self.kink_sources = PlannedFunction(inputs, [source for node in self.kinked for source in node.sources])
        self.signs = self._signs(self.start.values())
        self.values = self.start.copy()
        needed = ancestors([loss], predecessors=BACKWARD_SOURCES)
        self.values |= zip(needed, self.evaluate(needed))
        require_finite("The loss", float(self.values[loss]))
        self.calculus = Calculus(ArrayAlgebra(), (), self.value)
        self.adjoints = reverse(self.calculus, {loss: np.ones(())}, self.leaves)

    def evaluate(self, nodes: Sequence[TensorNode]) -> list[Any]:
        """The nodes' arrays, from those that are known; a selection stands for its own array."""
        return PlannedFunction(list(self.values), nodes)(*self.values.values())

    def value(self, node: TensorNode) -> Any:
        """A node's array at the leaves' own values."""
        if node not in self.values:  # an array kernel skips the nodes inside it
            self.values |= zip([node], self.evaluate([node]))
        return self.values[node]

    def check(self, leaf: LeafNode, report: Report, flat_indices: Sequence[int]) -> None:
        """Compare the derivatives along some entries of a leaf."""
        derivatives = {"reverse": self.adjoints.get(leaf), "graph": self._graph_gradient(leaf)}
        for mode, array in derivatives.items():
            if array is not None and tuple(array.shape) != leaf.shape:
                raise GradientCheckError(
                    f"The {mode} derivative along {leaf.label} has the shape {tuple(array.shape)}."
                )
        for position in flat_indices:
            index = tuple(int(coordinate) for coordinate in np.unravel_index(position, leaf.shape))
            if self.wishes.mask is not None and self.wishes.mask(leaf, index):
                report.leave_out(self.names[leaf])
                continue
            label = entry_name(self.names[leaf], leaf.shape, position)
            by_mode = {mode: 0.0 if array is None else float(array[index]) for mode, array in derivatives.items()}
            by_mode["forward"] = self._tangent(leaf, index)
            loss = partial(self._loss, leaf, index)
            report.check(self.names[leaf], label, by_mode, loss, self._near_kink(leaf, index), self.wishes)

    def _graph_gradient(self, leaf: LeafNode) -> Array:
        """The derivative as a graph of new nodes, evaluated."""
        [gradient] = self.evaluate([gradients(self.loss, leaf)])
        return to_dense(gradient)

    def _tangent(self, leaf: LeafNode, index: tuple[int, ...]) -> float:
        seed = np.zeros(leaf.shape)
        seed[index] = 1.0
        loss_tangent = forward(self.calculus, self.nodes, {leaf: seed}).get(self.loss)
        return 0.0 if loss_tangent is None else float(loss_tangent)

    def _move_entry(self, leaf: LeafNode, index: tuple[int, ...], distance: float) -> Collection[Array]:
        """The leaves' arrays after one entry moved by a distance."""
        array = self.start[leaf].copy()
        array[index] += distance
        return (self.start | {leaf: array}).values()

    def _loss(self, leaf: LeafNode, index: tuple[int, ...], distance: float) -> float:
        [loss] = self.loss_function(*self._move_entry(leaf, index, distance))
        return float(loss)

    # --- kinks ---

    def _near_kink(self, leaf: LeafNode, index: tuple[int, ...]) -> bool:
        """Whether a kink indicator changes its sign, or is 0, within the distance of the differences."""
        reach = KINK_REACH * self.wishes.eps
        for distance in (-reach, reach) if self.kinked else ():
            moved_signs = self._signs(self._move_entry(leaf, index, distance))
            for before, after in zip(self.signs, moved_signs):
                if ((before != after) & ~(before * after > 0.0)).any():
                    return True
        return False

    def _signs(self, arrays: Collection[Array]) -> list[Array]:
        """The kink indicators: arrays that change their sign where a rule's derivative jumps. arrays: the leaves'."""
        sources = map(to_dense, self.kink_sources(*arrays))
        return [kink for node in self.kinked for kink in _kink_indicators(node, [next(sources) for _ in node.sources])]


def _float64_values(leaf: LeafNode) -> Array:
    array = np.asarray(leaf.held)
    if array.dtype != np.float64:
        raise NumberError(f"gradcheck needs float64, and {leaf.label} holds {array.dtype}. Give it float64 numbers.")
    return array


def _has_kink(node: TensorNode) -> bool:
    if isinstance(node, ReductionNode):
        return node.rule in KINKED_REDUCTIONS and node.DummyIndex > 0
    return isinstance(node, NonlinearNode) and any(rule is not None and rule.kink for rule in node.function.plan.rules)


def _kink_indicators(node: TensorNode, sources: Sequence[Array]) -> Iterator[Array]:
    """Arrays for one node that change their sign where its slope jumps."""
    if isinstance(node, ReductionNode):
        x = KINKED_REDUCTIONS[node.rule] * sources[0]
        yield 2.0 * first_maximum_mask(ArrayAlgebra(), node.index, x, x.shape) - 1.0
        return
    assert isinstance(node, NonlinearNode)
    plan, values = node.function.plan, node.function.columns(map(OverloadedArray, sources))
    evaluate(plan, values)
    for step, rule in enumerate(plan.rules):
        if rule is not None and rule.kink:
            kink_value = rule.kink(*(values[operand] for operand in plan.operands(step)))
            if isinstance(kink_value, OverloadedArray):
                yield kink_value.array
