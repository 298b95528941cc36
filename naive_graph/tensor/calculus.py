"""The derivative rules (vjp and jvp) of every kind of tensor node, generic over what computes them.

`Calculus` holds the rules; an algebra carries out their operations: `NodeAlgebra` builds derivative nodes,
`ArrayAlgebra` (evaluation/evaluate.py) computes arrays at once. The walk over the graph that calls the rules is in
differentiate.py.

For y = a * b (entry by entry) the rules give: vjp(y, 0, adjoint) = adjoint * b, the contribution to the adjoint of a;
and tangent(y, [da, db]) = da * b + a * db.

H stands for the axes of a second tensor, which come last in every derivative. For the Jacobian of an output y they
are y's axes in reverse mode (the adjoint of a has shape a.shape + y.shape), and the input's axes in forward mode.
For the gradient of a scalar H is empty, and the adjoint of a has a's shape.

A branch mask is 1 for the entries that the taken branch of a `where` reads, else 0 (None: all 1). In reverse mode an
adjoint comes with one: `where(c, log(x), 0.0)` must not multiply 0 by the infinite slope of log at x = 0.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from functools import reduce
from typing import Any

from ..core.catalogue import where
from .base import Call, TensorNode
from .evaluation.arrays import Array
from .function import Function, function_of
from .index import (
    Ids,
    LinearIndex,
    Shape,
    TransformIndex,
    identity_ids,
    one_sided_tangent,
    product_adjoint,
    product_tangent,
    sum_adjoint,
    sum_tangent,
    transform_adjoint,
    transform_tangent,
    unused_ids,
)
from .nodes import LeafNode, LinearNode, NonlinearNode, OpType, TransformNode, is_product
from .reduction_node import FLAT, ReductionAxes, ReductionNode
from .reduction_vjp import ReductionPartial


class NodeAlgebra:
    """The operations that derivative rules use. Here each builds a node, so derivatives can be differentiated again."""

    at_once = False  # True: use a node's own backward kernel (`direct.back`) if it has one; False: the rules only

    def transform(self, index: TransformIndex, source: TensorNode, alpha: float, shape: Shape) -> TensorNode:
        if alpha == 1.0 and index.dst == index.src and all(axis_id > 0 for axis_id in index.dst):
            return source
        return TransformNode(index.dst, index.src, source, alpha, shape)

    def linear(self, op: OpType, index: LinearIndex, left: TensorNode, right: TensorNode) -> TensorNode:
        return LinearNode(op, *index, left, right)

    def nonlinear(self, function: Function, sources: Sequence[TensorNode]) -> TensorNode:
        return NonlinearNode(function, *sources)

    def entries(self, source: TensorNode) -> TensorNode:
        """The source as a reduction reads it: there a structural zero is an ordinary 0."""
        return source

    def expression(
        self, call: Call, arguments: Sequence[Any], operand_positions: Sequence[int]
    ) -> list[TensorNode | None]:
        """The custom vjp of a call's operator, for the operands at these positions.

        arguments: the adjoint, the result, then the operands (None for one that was left out).
        """
        gradients = call.operator.slopes(*arguments, **call.properties)
        return [gradients[position] for position in operand_positions]

    def reduction(self, rule: str, index: TransformIndex, source: TensorNode) -> TensorNode:
        return ReductionNode(rule, *index, source)

    def constant(self, array: Array, structural: bool = False) -> TensorNode:
        leaf = LeafNode.constant(array)
        leaf.is_structural = structural
        return leaf


# Elementwise functions for derivatives of `where`; branches are numbered 1 and 2. Masking by `where` instead of
# multiplying keeps NaN and infinity of the branch that is not taken out.
GUARD = function_of(lambda mask, value: where(mask, value, 0.0), 2)
_WHERE = function_of(where, 3)
_BRANCH_MASK = {1: function_of(lambda c: where(c, 1.0, 0.0), 1), 2: function_of(lambda c: where(c, 0.0, 1.0), 1)}
_IN_BRANCH = {  # x for the entries that take the branch, else 0
    1: function_of(lambda c, x: where(c, x, 0.0), 2),
    2: function_of(lambda c, x: where(c, 0.0, x), 2),
}
_UNION = function_of(lambda a, b: where(a, 1.0, b), 2)


class Calculus:
    """The derivative rules of the kinds of node, in one algebra. h_shape: the trailing axes H of all derivatives."""

    def __init__(self, algebra: Any, h_shape: Shape, value: Callable[[TensorNode], Any]) -> None:
        self.algebra = algebra  # a NodeAlgebra or an ArrayAlgebra
        self.trailing_shape = h_shape
        self.value = value  # maps a node to its value in the algebra: itself, or its array

    def trailing_ids(self, *used: Iterable[int]) -> Ids:
        """Index numbers for H that none of these arrays uses."""
        return unused_ids(len(self.trailing_shape), *used) if self.trailing_shape else ()

    def add(self, a: Any, b: Any, rank: int) -> Any:
        """The sum of two derivatives of a tensor of this rank."""
        same = identity_ids(rank + len(self.trailing_shape))
        return self.algebra.linear(OpType.add, LinearIndex(same, same, same), a, b)

    def sum_terms(self, terms: Iterable[Any], rank: int) -> Any:
        """The sum of several derivatives of a tensor of this rank; None stands for zero, which is never stored."""
        known = [term for term in terms if term is not None]
        return reduce(lambda a, b: self.add(a, b, rank), known) if known else None

    def scale_by(self, a: Any, alpha: float, shape: Shape) -> Any:
        same = identity_ids(len(shape) + len(self.trailing_shape))
        return self.algebra.transform(TransformIndex(same, same), a, alpha, shape + self.trailing_shape)

    def multiply_over_h(self, a: Any, b: Any, rank: int) -> Any:
        """a[I,H] * b[I], entry by entry; b is broadcast over H."""
        ids = identity_ids(rank)
        h = self.trailing_ids(ids)
        return self.algebra.linear(OpType.mul, LinearIndex(ids + h, ids + h, ids), a, b)

    def broadcast_over_h(self, a: Any, shape: Shape) -> Any:
        """a[I] repeated for each index in H: the result has shape I + H."""
        ids = identity_ids(len(shape))
        new = tuple(-axis_id for axis_id in identity_ids(len(self.trailing_shape)))
        index = TransformIndex(ids + new, ids)
        return self.algebra.transform(index, a, 1.0, shape + self.trailing_shape) if new else a

    def chain_nonlinear(self, node: NonlinearNode, position: int, incoming: Any) -> Any:
        """The chain rule of a nonlinear node: `incoming` times df/d(source); None if that is 0 everywhere.

        incoming: the adjoint in reverse mode, the source's tangent in forward mode.
        """
        derivative = node.function.derivative(position)
        if isinstance(derivative, float):
            return self.scale_by(incoming, derivative, node.shape) if derivative != 0.0 else None
        partials = self.algebra.nonlinear(derivative, self.values(node))
        return self.multiply_over_h(incoming, partials, node.rank)

    def chain_reduction(self, node: ReductionNode, index: LinearIndex, incoming: Any) -> Any:
        """The chain rule of a reduction: `incoming` (adjoint or tangent) times its derivative; None if it has none."""
        if node.rule in FLAT:
            return None
        x = self.algebra.entries(self.value(node.sources[0]))
        partial = ReductionPartial(self.algebra, node, x, lambda: self.value(node))
        return self.algebra.linear(OpType.mul, index, incoming, partial.tensor())

    def vjp_kernel(self, node: TensorNode) -> Callable[..., Sequence[Any] | None] | None:
        """The node's own backward kernel; None if it has none or derivatives are nodes."""
        return node.direct.back if self.algebra.at_once and node.direct else None

    def apply_vjp_kernel(self, node: TensorNode, adjoint: Any, wanted_positions: Collection[int]) -> Sequence[Any]:
        """Run a node's backward kernel for some source positions; fall back to its composition if it declines."""
        back = self.vjp_kernel(node)
        derivatives = back(node, self.value, adjoint, wanted_positions) if back else None
        if derivatives is None:
            return list(self.algebra.vjp_through_composition(node, self.value, adjoint))
        return derivatives

    def sources(self, node: TensorNode) -> tuple[TensorNode, ...]:
        """The tensors that a node contributes derivatives to: a kernel's inputs, or the node's sources."""
        return node.backward_sources if self.algebra.at_once else node.sources

    def values(self, node: TensorNode) -> list[Any]:
        return [self.value(source) for source in node.sources]

    # --- reverse ---

    def vjp(self, node: TensorNode, position: int, adjoint: Any) -> Any:
        """The vjp for one source: the node's contribution to that source's adjoint; None if it is 0 everywhere.

        Not for a branch of a `where`: there the contribution is the adjoint itself, with the mask of `branch_mask`
        (differentiate.contribution).
        """
        if self.vjp_kernel(node):
            return self.apply_vjp_kernel(node, adjoint, [position])[position]
        target = node.sources[position]
        shape = target.shape + self.trailing_shape
        if isinstance(node, TransformNode):
            index = transform_adjoint(node.index, self.trailing_ids(*node.index))
            return self.algebra.transform(index, adjoint, node.alpha, shape)
        if is_product(node):
            product = product_adjoint(node.index, position, self.trailing_ids(*node.index))
            return self.algebra.linear(OpType.mul, product, adjoint, self.value(node.sources[1 - position]))
        if isinstance(node, LinearNode):
            sign = -1.0 if node.op == OpType.sub and position == 1 else 1.0
            index = sum_adjoint(node.index, position, self.trailing_ids(*node.index))
            return self.algebra.transform(index, adjoint, sign, shape)
        if isinstance(node, ReductionNode):
            h = self.trailing_ids(identity_ids(target.rank))
            return self.chain_reduction(node, ReductionAxes.of(node.index).adjoint(h), adjoint)
        assert isinstance(node, NonlinearNode)
        return self.chain_nonlinear(node, position, adjoint)

    def branch_mask(self, node: TensorNode, position: int, mask: Any) -> Any:
        """The branch mask of a source's entries, from the mask of the node's entries; None stands for all entries.

        The source is reached where a reached entry of the node reads it. At a branch of a `where` only the entries
        for which the condition chooses this branch are reached.
        """
        branch_number = branch(node, position)
        if branch_number:
            condition = self.value(condition_of(node))
            if mask is None:
                return self.algebra.nonlinear(_BRANCH_MASK[branch_number], [condition])
            return self.algebra.nonlinear(_IN_BRANCH[branch_number], [condition, mask])
        if mask is None or self.vjp_kernel(node):
            return None
        if isinstance(node, NonlinearNode):
            return mask
        if isinstance(node, (TransformNode, ReductionNode)):
            index = transform_adjoint(node.index)
        else:
            assert isinstance(node, LinearNode)
            index = sum_adjoint(node.index, position)
        return self.algebra.transform(index, mask, 1.0, node.sources[position].shape)

    def merge_masks(self, a: Any, b: Any) -> Any:
        """The union of two branch masks; None for all entries."""
        if a is None or b is None:
            return None
        return a if a is b else self.algebra.nonlinear(_UNION, [a, b])

    def mask_adjoint(self, adjoint: Any, mask: Any, shape: Shape) -> Any:
        """The adjoint where the mask is set, else 0."""
        if mask is None:
            return adjoint
        return self.algebra.nonlinear(GUARD, [self.broadcast_over_h(mask, shape), adjoint])

    # --- forward ---

    def tangent(self, node: TensorNode, source_tangents: Sequence[Any]) -> Any:
        """The jvp: the node's tangent from its sources' tangents; None stands for zero, which is never stored."""
        varying = [position for position, tangent in enumerate(source_tangents) if tangent is not None]
        if not varying:
            return None
        if isinstance(node, TransformNode):
            index = transform_tangent(node.index, self.trailing_ids(*node.index))
            return self.algebra.transform(index, source_tangents[0], node.alpha, node.shape + self.trailing_shape)
        if isinstance(node, LinearNode):
            return self._linear_tangent(node, source_tangents, varying)
        if isinstance(node, ReductionNode):
            h = self.trailing_ids(identity_ids(node.sources[0].rank))
            return self.chain_reduction(node, ReductionAxes.of(node.index).tangent(h), source_tangents[0])
        assert isinstance(node, NonlinearNode)
        return self._nonlinear_tangent(node, source_tangents, varying)

    def _linear_tangent(self, node: LinearNode, source_tangents: Sequence[Any], varying: list[int]) -> Any:
        h = self.trailing_ids(*node.index)
        if node.op == OpType.mul:
            terms = []
            for position in varying:
                pair = self.values(node)
                pair[position] = source_tangents[position]
                terms.append(self.algebra.linear(OpType.mul, product_tangent(node.index, position, h), *pair))
            return self.sum_terms(terms, node.rank)
        if len(varying) == 2:
            return self.algebra.linear(node.op, sum_tangent(node.index, h), *source_tangents)
        sign = -1.0 if node.op == OpType.sub and varying == [1] else 1.0
        index = one_sided_tangent(node.index, varying[0], h)
        return self.algebra.transform(index, source_tangents[varying[0]], sign, node.shape + self.trailing_shape)

    def _nonlinear_tangent(self, node: NonlinearNode, source_tangents: Sequence[Any], varying: list[int]) -> Any:
        if node.function.branches:
            return self._where_tangent(node, source_tangents)
        terms = (self.chain_nonlinear(node, position, source_tangents[position]) for position in varying)
        return self.sum_terms(terms, node.rank)

    def _where_tangent(self, node: NonlinearNode, source_tangents: Sequence[Any]) -> Any:
        """The tangent of a `where`: that of the taken branch only, as the other's derivative may be infinite."""
        condition = self.broadcast_over_h(self.value(condition_of(node)), node.shape)
        by_branch = {number: source_tangents[position] for position, number in node.function.branches.items()}
        a, b = by_branch.get(1), by_branch.get(2)
        if a is not None and b is not None:
            return self.algebra.nonlinear(_WHERE, [condition, a, b])
        if a is not None:
            return self.algebra.nonlinear(_IN_BRANCH[1], [condition, a])
        if b is not None:
            return self.algebra.nonlinear(_IN_BRANCH[2], [condition, b])
        return None


def branch(node: TensorNode, position: int) -> int:
    """Which branch of a `where` the source at this position is: the first (1), the second (2), or none (0)."""
    return node.function.branches.get(position, 0) if isinstance(node, NonlinearNode) else 0


def condition_of(node: TensorNode) -> TensorNode:
    """The condition of a `where`: the source that decides."""
    assert isinstance(node, NonlinearNode)
    return next(node.sources[position] for position, number in node.function.branches.items() if number == 0)


def has_nonzero_derivative(node: TensorNode, position: int) -> bool:
    """Whether a node's derivative with respect to a source can be nonzero: that of heaviside cannot."""
    if isinstance(node, ReductionNode):
        return node.rule not in FLAT
    if not isinstance(node, NonlinearNode) or branch(node, position):
        return True
    return node.function.derivative(position) != 0.0


def values_read(node: TensorNode, position: int) -> Sequence[TensorNode]:
    """The tensors whose arrays the vjp for one source reads (besides the adjoint)."""
    if node.direct and node.direct.back:
        return [node, *node.backward_sources]
    if branch(node, position):
        return [condition_of(node)]
    if is_product(node):
        return [node.sources[1 - position]]
    if isinstance(node, ReductionNode):
        return [node, *node.sources]
    if isinstance(node, NonlinearNode):
        return [] if isinstance(node.function.derivative(position), float) else node.sources
    return []
