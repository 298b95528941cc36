"""Selections: 0/1 constant tensors that gather or scatter entries when contracted; stored as index maps, not densely.

Slices, reshapes, padding, sliding windows (so convolution) and the identity are contractions with such
tensors. An `AxisSelection` is one sparse factor: its entry is 1 where

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


class AxisSelection(NamedTuple):
    """A map from positions along `axes` of a selection to an index along its `axis`; shape: the selection's."""

    axes: tuple[int, ...]
    axis: int
    strides: tuple[int, ...]
    offset: int = 0
    table: Any = None  # instead of strides, which are 0 then: the index (or -1) for each position along `axes`

    def picks(self, shape: Shape) -> Array:
        """The index along `axis` for each position along `axes`; -1 where it is out of range (nothing picked)."""
        extents = [shape[axis] for axis in self.axes]
        if self.table is not None:
            return np.asarray(self.table).reshape(extents)
        picks = np.full(extents, self.offset)
        for position, stride in enumerate(self.strides):
            broadcast_shape = [1] * len(extents)
            broadcast_shape[position] = -1
            picks = picks + stride * np.arange(extents[position]).reshape(broadcast_shape)
        return np.where((picks >= 0) & (picks < shape[self.axis]), picks, -1)

    def with_batch_axes(self, shared: Sequence[int], shape: Shape) -> tuple[AxisSelection, Shape, Shape]:
        """A table map for a batched gather or scatter, of arrays whose leading axes are some of `axes`.

        Such an array x[b, j] is read as one flat axis of entries b * extent of j + j, and the table holds these
        flat indices. shared: the positions within `axes` of the leading axes. Returns the new factor, the shape of
        its selection, and the extents of the leading axes.
        """
        picks = self.picks(shape)
        batch_index: Any = 0  # the row-major number of the combination of shared indices
        for position in shared:
            broadcast_shape = [-1 if position == axis else 1 for axis in range(picks.ndim)]
            indices = np.arange(picks.shape[position]).reshape(broadcast_shape)
            batch_index = batch_index * picks.shape[position] + indices
        batch_shape = tuple(picks.shape[position] for position in shared)
        table = np.where(picks < 0, -1, batch_index * shape[self.axis] + picks)
        axes = tuple(range(picks.ndim))
        selection_shape = (*picks.shape, size_of(batch_shape) * shape[self.axis])
        return AxisSelection(axes, picks.ndim, (0,) * picks.ndim, table=table), selection_shape, batch_shape

    def dense(self, shape: Shape) -> Array:
        """The dense 0/1 array, of extent 1 along the axes of the selection's other factors."""
        table = (self.picks(shape)[..., None] == np.arange(shape[self.axis])).astype(np.float64)
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
    """A constant tensor of 0 and 1: the product of AxisSelections (`selections`), each of which has some of its axes.

    Where several tensors' selections are rewritten, one AxisSelection is called a picker.

    >>> every_other = SelectionNode((2, 4), [AxisSelection((0,), 1, (2,))])
    >>> every_other.dense().tolist()
    [[1.0, 0.0, 0.0, 0.0], [0.0, 0.0, 1.0, 0.0]]
    """

    kind = "selection"
    is_structural = True

    def __init__(self, shape: Shape, selections: Sequence[AxisSelection], name: str | None = None) -> None:
        self.selections = tuple(selections)
        super().__init__(LeafType.CONSTANT, shape, None, name)

    @property
    def letter(self) -> str:
        return "S"

    @property  # type: ignore[misc]
    def value(self) -> Array:
        """The dense array of zeros and ones."""
        return self.dense()

    def dense(self, selections: Sequence[AxisSelection] | None = None) -> Array:
        """The dense array; of some selections only, their product, of extent 1 along the axes of the others."""
        full = np.ones([1] * self.rank)
        for picker in self.selections if selections is None else selections:
            full = full * picker.dense(self.shape)
        return np.broadcast_to(full, self.shape) if selections is None else full


def mark_run_time_gather(
    source: TensorNode, node: TensorNode, axis: int, picks: Callable[[Array], Array], checks: bool = False
) -> TensorNode:
    """Mark a one-hot node as a selection whose indices are known only at run time (a dynamic gather).

    The node's own composition stays the formula for scalars: 1 for the chosen entry of an axis, else 0. On arrays it is
    evaluated to a SelectionNode with a table instead, so entries that are not chosen cost nothing. picks:
    from the source's array, the index along `axis` for each position of the other axes, or -1 for none.
    checks: whether `picks` raises for indices that do not exist; the scalar formula gives NaN there.
    """
    axes = tuple(dimension for dimension in range(node.rank) if dimension != axis)

    def selection(array: Array) -> SelectionNode:
        table = picks(np.asarray(getattr(array, "detach", lambda: array)()))  # torch tensors are detached
        return SelectionNode(node.shape, [AxisSelection(axes, axis, (0,) * len(axes), table=table)])

    node.is_structural = node.flat = True
    node.direct = ArrayKernel((source,), selection, check=picks if checks else None)
    return node


def identity(shape: Shape, name: str | None = None) -> SelectionNode:
    """delta[I, J], which is 1 where I = J: the derivative of a tensor with respect to itself.

    >>> identity((2,)).dense().tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    """
    shape = checked_shape(shape)
    rank = len(shape)
    return SelectionNode((*shape, *shape), [AxisSelection((axis,), rank + axis, (1,)) for axis in range(rank)], name)
