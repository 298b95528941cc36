"""Selections: 0/1 constant tensors that gather or scatter entries when contracted; stored as index maps, not densely.

Slices, reshapes, padding, sliding windows (so convolution) and the identity are contractions with such
tensors. An `IndexMap` is one sparse factor: its entry is 1 where

    axis index = offset + sum of stride * (index of each of `axes`)

and 0 elsewhere. Contracting over `axis` is a gather; contracting over `axes` is a scatter-add. For example,
x[1:7:2] is y[i] = sum over j of S[i, j] * x[j], where S[i, j] is 1 if j = 1 + 2 * i: axes (0,), axis 1,
strides (2,), offset 1. No sum is computed: y[i] is x[1 + 2 * i], and the gradient goes back by a scatter-add.

A `SelectionNode` is the product of such factors, for a tensor of which several axes are sliced. The
zeros are structural: their products are skipped, both on arrays and on scalars, so 0 * inf never arises.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from .base import ArrayKernel, TensorNode, checked_shape, size_of
from .evaluation.arrays import Array
from .index import Shape
from .nodes import LeafNode, LeafType


class IndexMap(NamedTuple):
    """A map from positions along `axes` of a selection to an index along its `axis`; shape: the selection's."""

    axes: tuple[int, ...]
    axis: int
    strides: tuple[int, ...] = ()
    offset: int = 0
    table: Any = None  # instead of strides and offset: the index (or -1) for each position along `axes`

    def indices(self, shape: Shape) -> Array:
        """The index along `axis` for each position along `axes`; -1 where it is out of range (nothing picked)."""
        extents = [shape[axis] for axis in self.axes]
        if self.table is not None:
            return np.asarray(self.table).reshape(extents)
        indices = np.full(extents, self.offset)
        for stride, positions in zip(self.strides, np.indices(extents, sparse=True)):
            indices = indices + stride * positions
        return np.where((indices >= 0) & (indices < shape[self.axis]), indices, -1)

    def with_batch_axes(self, shared: Sequence[int], shape: Shape) -> tuple[IndexMap, Shape, Shape]:
        """A table map for a batched gather or scatter, of arrays whose leading axes are some of `axes`.

        Such an array x[b, j] is read as one flat axis of entries b * extent of j + j, and the table holds these
        flat indices. shared: the positions within `axes` of the leading axes. Returns the new factor, the shape of
        its selection, and the extents of the leading axes.
        """
        indices = self.indices(shape)
        positions = np.indices(indices.shape, sparse=True)
        batch_index: Any = 0  # the row-major number of the combination of shared indices
        for axis in shared:
            batch_index = batch_index * indices.shape[axis] + positions[axis]
        batch_shape = tuple(indices.shape[axis] for axis in shared)
        table = np.where(indices < 0, -1, batch_index * shape[self.axis] + indices)
        selection_shape = (*indices.shape, size_of(batch_shape) * shape[self.axis])
        return IndexMap(tuple(range(indices.ndim)), indices.ndim, table=table), selection_shape, batch_shape

    def dense(self, shape: Shape) -> Array:
        """The dense 0/1 array, of extent 1 along the axes of the selection's other factors."""
        table = (self.indices(shape)[..., None] == np.arange(shape[self.axis])).astype(np.float64)
        axes = (*self.axes, self.axis)
        ordered = table.transpose(np.argsort(axes))
        return ordered.reshape([extent if axis in axes else 1 for axis, extent in enumerate(shape)])

    def is_reshape(self, shape: Shape) -> bool:
        """Whether it is a pure reshape: `axes` flattened in row-major order are exactly `axis`."""
        extents = tuple(shape[axis] for axis in self.axes)
        return self.table is None and self.offset == 0 and _is_row_major(extents, self.strides, shape[self.axis])


@lru_cache(maxsize=4096)
def _is_row_major(extents: Shape, strides: tuple[int, ...], size: int) -> bool:
    """Whether these strides are the row-major strides of these extents, and the extents fill the size."""
    row_major = [size_of(extents[position + 1 :]) for position in range(len(extents))]
    is_equal = all(wanted == stride for wanted, stride, extent in zip(row_major, strides, extents) if extent > 1)
    return is_equal and size_of(extents) == size


class SelectionNode(LeafNode):
    """A constant tensor of 0 and 1: the product of IndexMaps (`index_maps`), each of which has some of its axes.

    >>> every_other = SelectionNode((2, 4), [IndexMap((0,), 1, (2,))])
    >>> every_other.dense().tolist()
    [[1.0, 0.0, 0.0, 0.0], [0.0, 0.0, 1.0, 0.0]]
    """

    kind = "selection"
    is_structural = True

    def __init__(self, shape: Shape, index_maps: Sequence[IndexMap], name: str | None = None) -> None:
        self.index_maps = tuple(index_maps)
        super().__init__(LeafType.CONSTANT, shape, None, name)
        self.letter = "S"

    @property  # type: ignore[misc]
    def value(self) -> Array:
        """The dense array of zeros and ones."""
        return self.dense()

    def dense(self) -> Array:
        """The dense array: the product of those of its index maps."""
        full = np.ones([1] * self.rank)
        for index_map in self.index_maps:
            full = full * index_map.dense(self.shape)
        return np.broadcast_to(full, self.shape)


def mark_run_time_gather(
    source: TensorNode, node: TensorNode, axis: int, find_indices: Callable[[Array], Array], checks: bool = False
) -> TensorNode:
    """Mark a one-hot node as a selection whose indices are known only at run time (a dynamic gather).

    The node's own composition stays the formula for scalars: 1 for the chosen entry of an axis, else 0. On arrays it is
    evaluated to a SelectionNode with a table instead, so entries that are not chosen cost nothing. find_indices:
    from the source's array, the index along `axis` for each position of the other axes, or -1 for none.
    checks: whether it raises for indices that do not exist; the scalar formula gives NaN there.
    """
    axes = tuple(dimension for dimension in range(node.rank) if dimension != axis)

    def selection(array: Array) -> SelectionNode:
        table = find_indices(np.asarray(getattr(array, "detach", lambda: array)()))  # torch tensors are detached
        return SelectionNode(node.shape, [IndexMap(axes, axis, table=table)])

    node.is_structural = node.flat = True
    node.direct = ArrayKernel((source,), selection, check=find_indices if checks else None)
    return node


def identity(shape: Shape, name: str | None = None) -> SelectionNode:
    """delta[I, J], which is 1 where I = J: the derivative of a tensor with respect to itself.

    >>> identity((2,)).dense().tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    """
    shape = checked_shape(shape)
    rank = len(shape)
    return SelectionNode((*shape, *shape), [IndexMap((axis,), rank + axis, (1,)) for axis in range(rank)], name)
