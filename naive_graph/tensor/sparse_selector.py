"""Selections: sparse 0/1 constant tensors that gather or scatter entries when contracted; never stored densely.

Slices, reshapes, padding, sliding windows (so convolution) and the identity are contractions with such
tensors. A `AxisSelection` is one sparse factor: its entry is 1 where

    axis index = offset + sum of stride * (index of each of `axes`)

and 0 elsewhere. Contracting over `axis` is a gather; contracting over `axes` is a scatter-add. The
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
    table: Any = None  # instead of strides: an explicit array, the index (or -1) for each position along `axes`

    def picks(self, shape: Shape) -> Array:
        """The index along `axis` for each position along `axes`; -1 where it is out of range (nothing picked)."""
        extents = [shape[axis] for axis in self.axes]
        if self.table is not None:
            return np.asarray(self.table).reshape(extents)
        picks = np.full(extents, self.offset)
        for position, stride in enumerate(self.strides):
            along = [1] * len(extents)
            along[position] = -1
            picks = picks + stride * np.arange(extents[position]).reshape(along)
        return np.where((picks >= 0) & (picks < shape[self.axis]), picks, -1)

    def along(self, shared: Sequence[int], shape: Shape) -> tuple[AxisSelection, Shape, Shape]:
        """An equivalent index map for arrays that keep some of `axes` as leading axes (a batched gather or scatter).

        The shared axes and `axis` are flattened into one axis, into which the new picker's table points.
        shared: positions within `axes`. Returns the picker, its selection's shape, and the shared axes' extents.
        """
        picks, start = self.picks(shape), 0
        for position in shared:
            steps = [-1 if position == axis else 1 for axis in range(picks.ndim)]
            start = start * picks.shape[position] + np.arange(picks.shape[position]).reshape(steps)
        lead, axes = tuple(picks.shape[each] for each in shared), tuple(range(picks.ndim))
        table = np.where(picks < 0, -1, start * shape[self.axis] + picks)
        picked_shape = (*picks.shape, size_of(lead) * shape[self.axis])
        return AxisSelection(axes, picks.ndim, (0,) * picks.ndim, table=table), picked_shape, lead

    def dense(self, shape: Shape) -> Array:
        """The dense 0/1 array, of extent 1 along the axes of other pickers."""
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
    steps = [size_of(extents[position + 1 :]) for position in range(len(extents))]
    steady = all(step == stride for step, stride, extent in zip(steps, strides, extents) if extent > 1)
    return steady and size_of(extents) == size


class SelectionNode(LeafNode):
    """A constant tensor of 0 and 1, the product of pickers; each of its axes belongs to one of them.

    >>> every_other = SelectionNode((2, 4), [AxisSelection((0,), 1, (2,))])
    >>> every_other.dense().tolist()
    [[1.0, 0.0, 0.0, 0.0], [0.0, 0.0, 1.0, 0.0]]
    """

    kind = "selection"
    is_structural = True

    def __init__(self, shape: Shape, pickers: Sequence[AxisSelection], name: str | None = None) -> None:
        self.pickers = tuple(pickers)
        super().__init__(LeafType.CONSTANT, shape, None, name)

    @property
    def letter(self) -> str:
        return "S"

    @property  # type: ignore[misc]
    def value(self) -> Array:
        """The dense array of zeros and ones."""
        return self.dense()

    def dense(self, pickers: Sequence[AxisSelection] | None = None) -> Array:
        """The dense array; of some pickers only, their product, of extent 1 along the axes of the others."""
        full = np.ones([1] * self.rank)
        for picker in self.pickers if pickers is None else pickers:
            full = full * picker.dense(self.shape)
        return np.broadcast_to(full, self.shape) if pickers is None else full


def mark_run_time_gather(
    source: TensorNode, node: TensorNode, axis: int, picks: Callable[[Array], Array], checks: bool = False
) -> TensorNode:
    """Mark a one-hot node as a selection whose indices are known only at run time (a dynamic gather).

    The node itself is the formula for scalars: 1 for the chosen entry of an axis, else 0. On arrays it is
    evaluated to a SelectionNode with a table instead, so entries that are not chosen cost nothing. picks:
    from the source's array, the index along `axis` for each position of the other axes, or -1 for none.
    checks: whether `picks` raises for numbers that are no place; scalars are NaN there.
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
