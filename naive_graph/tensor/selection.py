"""Selections: constant tensors of 0 and 1 that pick entries, and are never stored.

A convolution is a contraction with such tensors, and so are slices, reshapes,
paddings and the identity. A `Picker` says where the ones are: the entry is 1
where

    axis index = offset + sum of stride * (index of each of `axes`)

and 0 elsewhere. Contracting over `axis` gathers; contracting over `axes`
scatters, and adds up what falls together. The zeros are structural: what they
multiply is not computed at all, neither on arrays nor on scalars.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from .base import Direct, TensorNode, checked_shape, size_of
from .evaluation.arrays import Array
from .index import Shape
from .nodes import LeafNode, LeafType


class Picker(NamedTuple):
    """Some axes of a selection, and the one axis whose index they determine."""

    axes: tuple[int, ...]
    axis: int
    strides: tuple[int, ...]
    offset: int = 0
    table: Any = None  # for picks that no strides describe: the index for each position of `axes`

    def picks(self, shape: Shape) -> Array:
        """The index along `axis` for each position of `axes`; -1 where there is none."""
        extents = [shape[axis] for axis in self.axes]
        if self.table is not None:
            return np.asarray(self.table).reshape(extents)
        picks = np.full(extents, self.offset)
        for position, stride in enumerate(self.strides):
            along = [1] * len(extents)
            along[position] = -1
            picks = picks + stride * np.arange(extents[position]).reshape(along)
        return np.where((picks >= 0) & (picks < shape[self.axis]), picks, -1)

    def along(self, shared: Sequence[int], shape: Shape) -> tuple[Picker, Shape, Shape]:
        """What it picks in the axis flattened behind some of its own axes, the shape of that, and their extents."""
        picks, start = self.picks(shape), 0
        for position in shared:
            steps = [-1 if position == axis else 1 for axis in range(picks.ndim)]
            start = start * picks.shape[position] + np.arange(picks.shape[position]).reshape(steps)
        lead, axes = tuple(picks.shape[each] for each in shared), tuple(range(picks.ndim))
        table = np.where(picks < 0, -1, start * shape[self.axis] + picks)
        picked_shape = (*picks.shape, size_of(lead) * shape[self.axis])
        return Picker(axes, picks.ndim, (0,) * picks.ndim, table=table), picked_shape, lead

    def dense(self, shape: Shape) -> Array:
        """Its zeros and ones, of extent 1 along the axes of other pickers."""
        table = (self.picks(shape)[..., None] == np.arange(shape[self.axis])).astype(np.float64)
        axes = (*self.axes, self.axis)
        ordered = table.transpose(np.argsort(axes))
        return ordered.reshape([extent if axis in axes else 1 for axis, extent in enumerate(shape)])

    def is_reshape(self, shape: Shape) -> bool:
        """Whether the axes, flattened row by row, are the axis."""
        extents = tuple(shape[axis] for axis in self.axes)
        return self.table is None and self.offset == 0 and _row_major(extents, self.strides, shape[self.axis])


@lru_cache(maxsize=4096)
def _row_major(extents: Shape, strides: tuple[int, ...], size: int) -> bool:
    """Whether the picker is a reshape: its axes, row by row, are the whole axis of this size."""
    steps = [size_of(extents[position + 1 :]) for position in range(len(extents))]
    steady = all(step == stride for step, stride, extent in zip(steps, strides, extents) if extent > 1)
    return steady and size_of(extents) == size


class SelectionNode(LeafNode):
    """A constant tensor of 0 and 1, the product of pickers; each of its axes belongs to one of them.

    >>> every_other = SelectionNode((2, 4), [Picker((0,), 1, (2,))])
    >>> every_other.dense().tolist()
    [[1.0, 0.0, 0.0, 0.0], [0.0, 0.0, 1.0, 0.0]]
    """

    kind = "selection"
    structural = True

    def __init__(self, shape: Shape, pickers: Sequence[Picker], name: str | None = None) -> None:
        self.pickers = tuple(pickers)
        super().__init__(LeafType.CONSTANT, shape, None, name)

    @property
    def letter(self) -> str:
        return "S"

    @property  # type: ignore[misc]
    def value(self) -> Array:
        """The tensor written out."""
        return self.dense()

    def dense(self, pickers: Sequence[Picker] | None = None) -> Array:
        """The tensor written out, or the part of it that some pickers make, over all axes."""
        full = np.ones([1] * self.rank)
        for picker in self.pickers if pickers is None else pickers:
            full = full * picker.dense(self.shape)
        return np.broadcast_to(full, self.shape) if pickers is None else full


def chosen_by(source: TensorNode, node: TensorNode, axis: int, picks: Callable[[Array], Array]) -> TensorNode:
    """The node as a selection that is known only when it is computed: 1 for what is chosen of an axis, else 0.

    The node says how single numbers find it. On arrays it is a table: `picks`
    gives, from the source's array, the index along `axis` for each position of the
    other axes, or -1 for none. So what is not chosen costs nothing.
    """
    axes = tuple(dimension for dimension in range(node.rank) if dimension != axis)

    def selection(array: Array) -> SelectionNode:
        table = picks(np.asarray(getattr(array, "detach", lambda: array)()))
        return SelectionNode(node.shape, [Picker(axes, axis, (0,) * len(axes), table=table)])

    node.structural = node.flat = True
    node.direct = Direct((source,), selection, check=picks)
    return node


def identity(shape: Shape, name: str | None = None) -> SelectionNode:
    """delta[I, J], which is 1 where I = J: the derivative of a tensor with respect to itself.

    >>> identity((2,)).dense().tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    """
    shape = checked_shape(shape)
    rank = len(shape)
    return SelectionNode((*shape, *shape), [Picker((axis,), rank + axis, (1,)) for axis in range(rank)], name)
