"""Slices, reshapes, sliding windows and padding, each built as a contraction with a 0/1 selection tensor."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from numbers import Integral
from typing import Any

import numpy as np

from ..core.number import shortened
from ..errors import PlaceError, ShapeError
from .base import TensorNode, size_of
from .index import Shape
from .nodes import LinearNode, TransformNode
from .sparse_selector import IndexMap, SelectionNode


def gather_axis(
    node: TensorNode, axis: int, extents: Sequence[int], strides: Sequence[int], offset: int = 0, table: Any = None
) -> LinearNode:
    """A strided gather: replace one axis by new axes, whose position (p, q) reads entry offset + p * s + q * t.

    extents: the new axes' extents. strides: s, t, ... Positions that fall outside the axis are 0.
    table: the entry that each position reads, where strides cannot describe it.

    >>> from .nodes import LeafNode
    >>> x = LeafNode.parameter([1.0, 2.0, 3.0, 4.0])
    >>> gather_axis(x, 0, (3, 2), (1, 1)).eval().tolist()  # windows of two
    [[1.0, 2.0], [2.0, 3.0], [3.0, 4.0]]
    """
    new = tuple(range(node.rank + 1, node.rank + 1 + len(extents)))
    ids = tuple(range(1, node.rank + 1))
    dst = (*ids[:axis], *new, *ids[axis + 1 :])
    left = (*ids[:axis], -(axis + 1), *ids[axis + 1 :])
    index_map = IndexMap(tuple(range(len(extents))), len(extents), tuple(strides), offset, table)
    selection = SelectionNode((*extents, node.shape[axis]), [index_map])
    return LinearNode("mul", dst, left, (*new, -(axis + 1)), node, selection)


def gather_table(node: TensorNode, axis: int, table: Any) -> LinearNode:
    """A gather by a table: replace one axis by the table's axes, whose position reads the entry table[position]."""
    return gather_axis(node, axis, table.shape, (), table=table)


def reshape(node: TensorNode, shape: Sequence[int]) -> TensorNode:
    """The same entries in another shape, in row-major order; one extent may be -1 (inferred)."""
    wanted = _resolve_shape(node, shape)
    if wanted == node.shape:
        return node
    flat = node if node.rank == 1 else _flatten_entries(node)
    return flat if len(wanted) == 1 else _unflatten_entries(flat, wanted)


def _resolve_shape(node: TensorNode, shape: Sequence[int]) -> Shape:
    if not all(isinstance(extent, Integral) for extent in shape):
        raise ShapeError(f"A shape is made of whole numbers, not {shortened(shape)}.")
    known_size = size_of(extent for extent in shape if extent != -1)
    wanted = tuple(node.size // known_size if extent == -1 and known_size else extent for extent in shape)
    if list(shape).count(-1) > 1 or size_of(wanted) != node.size or min(wanted, default=1) < 1:
        raise ShapeError(f"{node.label} has {node.size} entries and cannot be reshaped to {tuple(shape)}.")
    return wanted


def _flatten_entries(node: TensorNode) -> TensorNode:
    if node.rank == 0:
        return TransformNode((-1,), (), node, shape=(1,))
    axes = tuple(range(node.rank))
    index_map = IndexMap(axes, node.rank, tuple(size_of(node.shape[axis + 1 :]) for axis in axes))
    ids = tuple(-axis - 2 for axis in axes)
    selection = SelectionNode((*node.shape, node.size), [index_map])
    return LinearNode("mul", (1,), ids, (*ids, 1), node, selection)


def _unflatten_entries(flat: TensorNode, shape: Shape) -> TensorNode:
    if not shape:
        return TransformNode((), (-1,), flat)
    return gather_axis(flat, 0, shape, [size_of(shape[axis + 1 :]) for axis in range(len(shape))])


def gather_flat(x: TensorNode, table: Any) -> TensorNode:
    """Gather by flat indices: entry p of the result is x.flat[table[p]], or 0 if table[p] is -1."""
    return gather_table(reshape(x, (x.size,)), 0, np.asarray(table))


def flat_indices(shape: Sequence[int]) -> Any:
    """An array of this shape with each entry's flat index; rearranged by NumPy, it becomes a gather table."""
    return np.arange(prod(shape)).reshape(shape)


def slice_axis(node: TensorNode, axis: int, slice_: slice) -> TensorNode:
    """Slice one axis; the slice may have a step, also a negative one."""
    try:
        positions = range(*slice_.indices(node.shape[axis]))
    except (TypeError, ValueError) as error:
        raise ShapeError(f"The slice {shortened(slice_)} of axis {axis} of {node.label}: {error}.") from None
    if not positions:
        last = node.shape[axis] - 1
        raise ShapeError(f"The slice {slice_} of axis {axis} of {node.label} is empty: the axis runs from 0 to {last}.")
    if positions == range(node.shape[axis]):
        return node
    return gather_axis(node, axis, (len(positions),), (positions.step,), positions.start)


def index_axis(node: TensorNode, axis: int, index: int) -> TensorNode:
    """Index one axis by an integer; the axis is removed. Raises PlaceError if it is out of range."""
    extent = node.shape[axis]
    if not -extent <= index < extent:
        raise PlaceError(f"Axis {axis} of {node.label} has no place {index}: it runs from 0 to {extent - 1}.")
    return gather_axis(node, axis, (), (), index % extent)


def pad_axis(node: TensorNode, axis: int, before: int, after: int) -> TensorNode:
    """Pad one axis with zeros before and after; negative numbers crop it."""
    return gather_axis(node, axis, (node.shape[axis] + before + after,), (1,), -before)
