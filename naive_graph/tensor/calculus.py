"""The derivative rules of the four kinds of tensor node, in any algebra.

With `Nodes` they build derivative nodes; with `Arrays` (evaluation/) they
compute numbers. Nothing else knows a derivative of a tensor.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Any, Protocol

from ..core.catalogue import where
from .base import Call, TensorNode
from .evaluation.arrays import Array
from .function import Function, function_of
from .index import (
    Ids,
    LinearIndex,
    Shape,
    TransformIndex,
    fresh,
    one_sided_tangent,
    product_adjoint,
    product_tangent,
    straight,
    sum_adjoint,
    sum_tangent,
    transform_adjoint,
    transform_tangent,
)
from .nodes import LeafNode, LinearNode, NonlinearNode, OpType, TransformNode, multiplies
from .reduction import FLAT, Places, ReductionNode
from .reduction_vjp import Slope, softmax


class Algebra(Protocol):
    """What derivatives are computed with: nodes, which build a graph, or arrays."""

    at_once: bool  # whether what knows how derivatives go back through it is asked, or else its sources

    def transform(self, index: TransformIndex, source: Any, alpha: float, shape: Shape) -> Any: ...

    def linear(self, op: OpType, index: LinearIndex, left: Any, right: Any) -> Any: ...

    def nonlinear(self, function: Function, sources: Sequence[Any]) -> Any: ...

    def reduction(self, rule: str, index: TransformIndex, source: Any) -> Any: ...

    def softmax(self, index: TransformIndex, source: Any) -> Any: ...

    def product_of_others(self, index: TransformIndex, source: Any) -> Any:
        """For each entry the product of the others that are reduced with it; of arrays alone."""
        return None  # of nodes these products are written out, a row for each

    def entries(self, source: Any) -> Any:
        """The source as a reduction reads it: a zero by structure is a number among the others."""
        return source

    def constant(self, array: Array, structural: bool = False) -> Any: ...

    def expression(self, call: Call, given: Sequence[Any], places: Sequence[int]) -> list[Any]:
        """The derivatives that a call's operator defines itself, for the operands at some places."""

    def as_written(self, node: TensorNode, value: Callable[[TensorNode], Any], adjoint: Any) -> list[Any]:
        """The derivatives through all that a node is made of, for what knows how they go back through it at once."""
        return []


class Nodes(Algebra):
    """Derivatives as new nodes: each operation builds one."""

    at_once = False

    def transform(self, index: TransformIndex, source: TensorNode, alpha: float, shape: Shape) -> TensorNode:
        if alpha == 1.0 and index.dst == index.src and all(axis_id > 0 for axis_id in index.dst):
            return source
        return TransformNode(index.dst, index.src, source, alpha, shape)

    def linear(self, op: OpType, index: LinearIndex, left: TensorNode, right: TensorNode) -> TensorNode:
        return LinearNode(op, *index, left, right)

    def nonlinear(self, function: Function, sources: Sequence[TensorNode]) -> TensorNode:
        return NonlinearNode(function, *sources)

    def expression(self, call: Call, given: Sequence[Any], places: Sequence[int]) -> list[TensorNode | None]:
        slopes = call.operator.slopes(*given, **call.properties)
        return [slopes[position] for position in places]

    def reduction(self, rule: str, index: TransformIndex, source: TensorNode) -> TensorNode:
        return ReductionNode(rule, *index, source)

    def softmax(self, index: TransformIndex, source: TensorNode) -> TensorNode:
        node: TensorNode = softmax(self, index, source, source.shape)
        return node

    def constant(self, array: Array, structural: bool = False) -> TensorNode:
        leaf = LeafNode.constant(array)
        leaf.structural = structural
        return leaf


GUARD = function_of(lambda taken, value: where(taken, value, 0.0), 2)
_CHOICE = function_of(where, 3)
_BRANCH = {1: function_of(lambda c: where(c, 1.0, 0.0), 1), 2: function_of(lambda c: where(c, 0.0, 1.0), 1)}
_BRANCH_IF = {
    1: function_of(lambda c, taken: where(c, taken, 0.0), 2),
    2: function_of(lambda c, taken: where(c, 0.0, taken), 2),
}
_EITHER = function_of(lambda a, b: where(a, 1.0, b), 2)


class Calculus:
    """The derivative rules of the four kinds of node, in one algebra, beside one other tensor of shape `h_shape`."""

    def __init__(self, algebra: Algebra, h_shape: Shape, value: Callable[[TensorNode], Any]) -> None:
        self.algebra = algebra
        self.h_shape = h_shape
        self.value = value  # what a node is in the algebra

    def h(self, *used: Iterable[int]) -> Ids:
        return fresh(len(self.h_shape), *used) if self.h_shape else ()

    def add(self, a: Any, b: Any, rank: int) -> Any:
        """The sum of two derivatives of a tensor of this rank."""
        same = straight(rank + len(self.h_shape))
        return self.algebra.linear(OpType.add, LinearIndex(same, same, same), a, b)

    def scale_by(self, a: Any, alpha: float, shape: Shape) -> Any:
        same = straight(len(shape) + len(self.h_shape))
        return self.algebra.transform(TransformIndex(same, same), a, alpha, shape + self.h_shape)

    def along(self, a: Any, b: Any, rank: int) -> Any:
        """a[I,H] * b[I], entry by entry."""
        ids = straight(rank)
        h = self.h(ids)
        return self.algebra.linear(OpType.mul, LinearIndex(ids + h, ids + h, ids), a, b)

    def beside(self, a: Any, shape: Shape) -> Any:
        """a[I] spread over H."""
        ids = straight(len(shape))
        new = tuple(-axis_id for axis_id in straight(len(self.h_shape)))
        index = TransformIndex(ids + new, ids)
        return self.algebra.transform(index, a, 1.0, shape + self.h_shape) if new else a

    def along_slope(self, node: NonlinearNode, position: int, move: Any) -> Any:
        """A derivative times f' with respect to one source (the chain rule); None if f' is 0 everywhere."""
        slope = node.function.derivative(position)
        if isinstance(slope, float):
            return self.scale_by(move, slope, node.shape) if slope != 0.0 else None
        return self.along(move, self.algebra.nonlinear(slope, self.values(node)), node.rank)

    def through(self, node: ReductionNode, index: LinearIndex, move: Any) -> Any:
        """A derivative times that of a reduction (the chain rule); None if the reduction has none."""
        if node.rule in FLAT:
            return None
        x = self.algebra.entries(self.value(node.sources[0]))
        slope = Slope(self.algebra, node, x, lambda: self.value(node))
        return self.algebra.linear(OpType.mul, index, move, slope.tensor())

    def back(self, node: TensorNode) -> Callable[..., Sequence[Any] | None] | None:
        """How derivatives go back through a node at once, if it knows that and they are arrays."""
        return node.direct.back if self.algebra.at_once and node.direct else None

    def handed_back(self, node: TensorNode, adjoint: Any, asked: Collection[int]) -> Sequence[Any]:
        """The derivatives that go back through such a node, at the positions that are asked for."""
        back = self.back(node)
        derivatives = back(node, self.value, adjoint, asked) if back else None
        return self.algebra.as_written(node, self.value, adjoint) if derivatives is None else derivatives

    def sources(self, node: TensorNode) -> tuple[TensorNode, ...]:
        """The tensors that a node hands its derivative on to."""
        return node.behind if self.algebra.at_once else node.sources

    def values(self, node: TensorNode) -> list[Any]:
        return [self.value(source) for source in node.sources]

    # --- reverse ---

    def share(self, node: TensorNode, position: int, adjoint: Any) -> Any:
        """A node's contribution to the derivative of one of its sources; None if that is 0 everywhere."""
        if self.back(node):
            return self.handed_back(node, adjoint, [position])[position]
        target = node.sources[position]
        shape = target.shape + self.h_shape
        if isinstance(node, TransformNode):
            index = transform_adjoint(node.index, self.h(*node.index))
            return self.algebra.transform(index, adjoint, node.alpha, shape)
        if multiplies(node):
            product = product_adjoint(node.index, position, self.h(*node.index))
            return self.algebra.linear(OpType.mul, product, adjoint, self.value(node.sources[1 - position]))
        if isinstance(node, LinearNode):
            sign = -1.0 if node.op == OpType.sub and position == 1 else 1.0
            index = sum_adjoint(node.index, position, self.h(*node.index))
            return self.algebra.transform(index, adjoint, sign, shape)
        if isinstance(node, ReductionNode):
            return self.through(node, Places.of(node.index).adjoint(self.h(straight(target.rank))), adjoint)
        assert isinstance(node, NonlinearNode)
        return self.along_slope(node, position, adjoint)

    def taken(self, node: TensorNode, position: int, taken: Any) -> Any:
        """Which entries of a source are reached by a branch that some `where` took; None for all."""
        branch_number = branch(node, position)
        if branch_number:
            condition = self.value(condition_of(node))
            if taken is None:
                return self.algebra.nonlinear(_BRANCH[branch_number], [condition])
            return self.algebra.nonlinear(_BRANCH_IF[branch_number], [condition, taken])
        if taken is None or self.back(node):
            return None
        if isinstance(node, NonlinearNode):
            return taken
        if isinstance(node, (TransformNode, ReductionNode)):
            index = transform_adjoint(node.index)
        else:
            assert isinstance(node, LinearNode)
            index = sum_adjoint(node.index, position)
        return self.algebra.transform(index, taken, 1.0, node.sources[position].shape)

    def either(self, a: Any, b: Any) -> Any:
        """Which entries one branch or another reaches; None for all."""
        if a is None or b is None or a is b:
            return None if a is None or b is None else a
        return self.algebra.nonlinear(_EITHER, [a, b])

    def guarded(self, adjoint: Any, taken: Any, shape: Shape) -> Any:
        """The adjoint where the branch was taken, else a plain 0."""
        return adjoint if taken is None else self.algebra.nonlinear(GUARD, [self.beside(taken, shape), adjoint])

    # --- forward ---

    def tangent(self, node: TensorNode, moves: Sequence[Any]) -> Any:
        """How a node moves when its sources do; None stands for a zero, which is never stored."""
        moving = [position for position, move in enumerate(moves) if move is not None]
        if not moving:
            return None
        if isinstance(node, TransformNode):
            index = transform_tangent(node.index, self.h(*node.index))
            return self.algebra.transform(index, moves[0], node.alpha, node.shape + self.h_shape)
        if isinstance(node, LinearNode):
            return self._linear_tangent(node, moves, moving)
        if isinstance(node, ReductionNode):
            h = self.h(straight(node.sources[0].rank))
            return self.through(node, Places.of(node.index).tangent(h), moves[0])
        assert isinstance(node, NonlinearNode)
        return self._nonlinear_tangent(node, moves, moving)

    def _linear_tangent(self, node: LinearNode, moves: Sequence[Any], moving: list[int]) -> Any:
        h = self.h(*node.index)
        if node.op == OpType.mul:
            terms = []
            for position in moving:
                pair = self.values(node)
                pair[position] = moves[position]
                terms.append(self.algebra.linear(OpType.mul, product_tangent(node.index, position, h), *pair))
            return terms[0] if len(terms) == 1 else self.add(terms[0], terms[1], node.rank)
        if len(moving) == 2:
            return self.algebra.linear(node.op, sum_tangent(node.index, h), *moves)
        sign = -1.0 if node.op == OpType.sub and moving == [1] else 1.0
        index = one_sided_tangent(node.index, moving[0], h)
        return self.algebra.transform(index, moves[moving[0]], sign, node.shape + self.h_shape)

    def _nonlinear_tangent(self, node: NonlinearNode, moves: Sequence[Any], moving: list[int]) -> Any:
        if node.function.branches:
            return self._chosen(node, moves)
        total = None
        for position in moving:
            term = self.along_slope(node, position, moves[position])
            if term is not None:
                total = term if total is None else self.add(total, term, node.rank)
        return total

    def _chosen(self, node: NonlinearNode, moves: Sequence[Any]) -> Any:
        """How the branch that was taken moves; the other's slope may be infinite and does not matter."""
        condition = self.beside(self.value(condition_of(node)), node.shape)
        by_place = {branch_number: moves[position] for position, branch_number in node.function.branches.items()}
        a, b = by_place.get(1), by_place.get(2)
        if a is not None and b is not None:
            return self.algebra.nonlinear(_CHOICE, [condition, a, b])
        choice = function_of(lambda c, x: where(c, x, 0.0) if b is None else where(c, 0.0, x), 2)
        return None if a is None and b is None else self.algebra.nonlinear(choice, [condition, a if b is None else b])


def branch(node: TensorNode, position: int) -> int:
    """Whether a source is a branch of a `where`: the first (1), the second (2), or none (0)."""
    return node.function.branches.get(position, 0) if isinstance(node, NonlinearNode) else 0


def condition_of(node: TensorNode) -> TensorNode:
    """The condition of a `where`: the source that decides."""
    assert isinstance(node, NonlinearNode)
    return next(
        node.sources[position] for position, branch_number in node.function.branches.items() if branch_number == 0
    )


def responds(node: TensorNode, position: int) -> bool:
    """Whether a node has a derivative other than 0 with respect to a source: a heaviside has none."""
    if isinstance(node, ReductionNode):
        return node.rule not in FLAT
    if not isinstance(node, NonlinearNode) or branch(node, position):
        return True
    return node.function.derivative(position) != 0.0


def values_read(node: TensorNode, position: int) -> Sequence[TensorNode]:
    """The sources whose values a node's contribution to one of them, as an array, is made of."""
    if node.direct and node.direct.back:
        return [node, *node.behind]
    if branch(node, position):
        return [condition_of(node)]
    if multiplies(node):
        return [node.sources[1 - position]]
    if isinstance(node, ReductionNode):
        return [node, *node.sources]
    if isinstance(node, NonlinearNode):
        return [] if isinstance(node.function.derivative(position), float) else node.sources
    return []
