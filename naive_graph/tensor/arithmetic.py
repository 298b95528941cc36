"""Operators of tensor nodes, with the broadcasting of NumPy arrays: a + b, a @ b, transpose, squeeze, gather.

Each is a composition of the kinds of node in nodes.py: sums and products are LinearNodes, transposes, broadcasts and
multiples TransformNodes, functions of entries NonlinearNodes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..core.number import number, shortened
from ..core.rules import Rule
from ..errors import PlaceError, ShapeError
from ..graph.nodes import Node
from .base import Call, TensorNode, check_tensors, checked_shape, method
from .evaluation.arrays import Array
from .function import trace
from .index import Ids, Shape, canonicalize_axes, canonicalize_axis
from .nodes import LeafNode, LinearNode, NonlinearNode, OpType, TransformNode
from .slicing import gather_table

LINEAR = {"add": OpType.add, "sub": OpType.sub, "mul": OpType.mul}


# --- rules --------------------------------------------------------------------


@method
def apply(self: TensorNode, rule: Rule, *operands: Any) -> TensorNode:
    """Apply a rule entry by entry to tensors, scalar nodes, arrays and numbers, broadcast as NumPy does."""
    node = _apply_rule(self, rule, operands)
    if node.call is None and not any(node is operand for operand in operands):
        node.call = Call(rule, operands)
    return node


def _apply_rule(self: TensorNode, rule: Rule, operands: Sequence[Any]) -> TensorNode:
    rule.check_arity(len(operands))
    if rule.name in LINEAR and len(operands) > 2:
        total = apply(self, rule, *operands[:2])
        for next_operand in operands[2:]:
            total = apply(total, rule, total, next_operand)
        return total
    if rule.name == "neg":
        return scale_by(self, -1.0)
    if rule.name in ("total", "mean"):  # of a tensor: reduce over its entries
        tensor: Any = self
        return tensor.sum() if rule.name == "total" else tensor.mean()  # type: ignore[no-any-return]
    if rule.name == "mul" and len(operands) == 2:
        for tensor, factor in (operands, operands[::-1]):
            if isinstance(tensor, TensorNode) and not isinstance(factor, (TensorNode, Node)) and not is_array(factor):
                return scale_by(tensor, number(factor, "'mul'"))
    if rule.name in LINEAR and len(operands) == 2:
        return elementwise(LINEAR[rule.name], *(as_tensor(operand, rule) for operand in operands))
    return _nonlinear(rule, operands)


def _nonlinear(rule: Rule, operands: Sequence[Any]) -> TensorNode:
    """Apply a rule that is not linear, as one node. Plain numbers become part of its function."""
    are_tensors = [_is_tensor(operand) for operand in operands]
    tensors = [as_tensor(operand, rule) for operand, tensor in zip(operands, are_tensors) if tensor]
    numbers = [None if tensor else number(operand, f"'{rule.name}'") for operand, tensor in zip(operands, are_tensors)]
    shape = broadcast_shape(*tensors)
    sources = [broadcast(tensor, shape) for tensor in tensors]
    if len(sources) < len(operands):

        def function(*xs: Any) -> Any:
            arguments = iter(xs)
            return rule(*(next(arguments) if constant is None else constant for constant in numbers))

        return NonlinearNode(trace(function, len(sources)), *sources)
    return NonlinearNode(rule, *sources)


def as_tensor(value: Any, rule: Rule | None = None) -> TensorNode:
    """The tensor that an operand stands for: itself, scalar nodes, an array or a number."""
    if isinstance(value, TensorNode):
        check_tensors("An expression" if rule is None else f"'{rule.name}'", [value])
        return value
    if isinstance(value, Node):
        return LeafNode.of(value)
    if is_array(value):
        return LeafNode.constant(value)
    return LeafNode.constant(number(value, "A tensor" if rule is None else f"'{rule.name}'"))


def is_array(value: object) -> bool:
    return isinstance(value, (list, tuple)) or (hasattr(value, "shape") and np.ndim(value) > 0)  # type: ignore[arg-type]


def _is_tensor(value: object) -> bool:
    return isinstance(value, (TensorNode, Node)) or is_array(value)


def scale_by(node: TensorNode, alpha: float) -> TransformNode:
    """alpha times the tensor."""
    same = range(1, node.rank + 1)
    return TransformNode(same, same, node, alpha)


def elementwise(op: OpType, left: TensorNode, right: TensorNode) -> LinearNode:
    """left op right with broadcasting: an axis that is missing or has extent 1 is left out of the index array."""
    shape = broadcast_shape(left, right)
    (left, l_ids), (right, r_ids) = (_align_axes(node, shape) for node in (left, right))
    return LinearNode(op, range(1, len(shape) + 1), l_ids, r_ids, left, right)


def apply_along_axis(op: OpType, node: TensorNode, vector: TensorNode | None, axis: int) -> TensorNode:
    """node op vector, with the vector along one axis and broadcast over the others; without one the node itself."""
    ids = range(1, node.rank + 1)
    return node if vector is None else LinearNode(op, ids, ids, (axis + 1,), node, vector)


def _align_axes(node: TensorNode, shape: Shape, tail: Ids = ()) -> tuple[TensorNode, Ids]:
    """The node without its axes of extent 1 that are broadcast, and the index ids of the other axes.

    shape: the common shape, without the last axes of the node, which have the ids `tail`.
    """
    lead = node.rank - len(tail)
    ids = (*range(len(shape) - lead + 1, len(shape) + 1), *tail)
    if not tail and node.shape == shape:
        return node, ids
    kept_axes = [axis for axis, index in enumerate(ids) if axis >= lead or node.shape[axis] == shape[index - 1]]
    return keep_axes(node, kept_axes), tuple(ids[axis] for axis in kept_axes)


def keep_axes(node: TensorNode, kept_axes: Sequence[int]) -> TensorNode:
    """The sum over all other axes; where these have extent 1, the tensor without them."""
    if len(kept_axes) == node.rank:
        return node
    src = [axis + 1 if axis in kept_axes else -(axis + 1) for axis in range(node.rank)]
    return TransformNode([axis + 1 for axis in kept_axes], src, node)


def broadcast_shape(*nodes: TensorNode) -> Shape:
    """The common shape by NumPy's rules. Raises ShapeError."""
    if all(node.shape == nodes[0].shape for node in nodes):
        return nodes[0].shape
    shape = broadcast_or_none(*(node.shape for node in nodes))
    if shape is None:
        shapes = " and ".join(str(node.shape) for node in nodes)
        raise ShapeError(
            f"Tensors of shapes {shapes} do not broadcast. Aligned at the right, each pair of extents must be equal, "
            "or one of them 1."
        )
    return shape


def broadcast_or_none(*shapes: Shape) -> Shape | None:
    """The common shape of these by NumPy's rules; None if they have none."""
    try:
        return tuple(np.broadcast_shapes(*shapes))
    except ValueError:
        return None


@method
def broadcast(node: TensorNode, shape: Sequence[int]) -> TensorNode:
    """Broadcast the tensor to a larger shape, by NumPy's rules.

    >>> from naive_graph.tensor import LeafNode, broadcast
    >>> broadcast(LeafNode.constant([1.0, 2.0]), (2, 2)).eval().tolist()
    [[1.0, 2.0], [1.0, 2.0]]
    """
    shape = checked_shape(shape)
    if shape == node.shape:
        return node
    if broadcast_or_none(node.shape, shape) != shape:
        raise ShapeError(f"{node.label} cannot be spread to shape {shortened(shape)}.")
    source, ids = _align_axes(node, shape)
    dst = [index if index in ids else -index for index in range(1, len(shape) + 1)]
    return TransformNode(dst, ids, source, shape=shape)


# --- matrices and axes --------------------------------------------------------


def matmul(self: TensorNode, other: Any) -> TensorNode:
    """Matrix product, as NumPy's: over the last axis of the first and the last but one of the second."""
    left, right = self, as_tensor(other)
    if not left.rank or not right.rank:
        raise ShapeError("@ multiplies vectors and matrices. Multiply by a number with *.")
    batch = broadcast_or_none(left.shape[:-2], right.shape[:-2])
    if batch is None:
        raise ShapeError(f"{left.label} @ {right.label}: the leading axes do not broadcast.")
    inner = right.shape[-2] if right.rank > 1 else right.shape[-1]
    if left.shape[-1] != inner:
        raise ShapeError(f"{left.label} @ {right.label}: the inner extents {left.shape[-1]} and {inner} differ.")
    rows, columns, summed = len(batch) + 1, len(batch) + 2, -(len(batch) + 3)
    l_tail = (rows, summed) if left.rank > 1 else (summed,)
    r_tail = (summed, columns) if right.rank > 1 else (summed,)
    left, l_ids = _align_axes(left, batch, l_tail)
    right, r_ids = _align_axes(right, batch, r_tail)
    dst = [index for index in range(1, len(batch) + 3) if index in (*l_ids, *r_ids)]
    return LinearNode(OpType.mul, dst, l_ids, r_ids, left, right)


def transpose(self: TensorNode, *axes: int) -> TensorNode:
    """The axes in another order; reversed if none is given."""
    order = canonicalize_axes(axes, self.rank) or range(self.rank)[::-1]
    return TransformNode([axis + 1 for axis in order], range(1, self.rank + 1), self)


def axes_of(node: TensorNode, axis: Any) -> list[int]:
    """Normalize `axis` (an int, several, or None for all) to a list of axes."""
    return canonicalize_axes([axis] if isinstance(axis, int) else axis, node.rank)


# --- axes of extent 1, gather ----------------------------------------------------


def expand_dims(self: TensorNode, axis: int) -> TensorNode:
    """Insert an axis of extent 1 at position `axis` of the result."""
    position = canonicalize_axis(axis, self.rank + 1)
    dst = [*range(1, position + 1), -1, *range(position + 1, self.rank + 1)]
    return TransformNode(dst, range(1, self.rank + 1), self, shape=(*self.shape[:position], 1, *self.shape[position:]))


def gather(self: TensorNode, indices: Any, axis: int) -> TensorNode:
    """The entries at these indices (an integer array) along an axis, as numpy.take."""
    return gather_table(self, axis, normalize_indices(self, np.asarray(indices), axis))


def normalize_indices(node: TensorNode, indices: Array, axis: int) -> Array:
    """Indices along an axis; negative ones count from its end. Raises PlaceError if one is out of range."""
    extent = node.shape[axis]
    if indices.size and (indices.min() < -extent or indices.max() >= extent):
        span = f"{indices.min()} to {indices.max()}"
        raise PlaceError(f"Axis {axis} of {node.label} runs from 0 to {extent - 1}; the places go from {span}.")
    return indices.astype(np.int64) % extent
