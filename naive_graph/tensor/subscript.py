"""Subscripts of tensors, x[...], as in NumPy: integers, slices, `...`, None, index arrays and masks.

Integers, slices, `...`, None and a single index array, or mask of one axis, apply axis by axis. Several of these, and
masks of several axes, are applied jointly, by NumPy: it subscripts the entries' flat indices, and that is the table of
a gather. Subscripts are not an operator of the table: the operators slice, gather and expand_dims do the same, and
appear as such in drawings.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from operator import index
from types import EllipsisType
from typing import Any

import numpy as np

from ..core.number import is_endless, shortened
from ..core.rules import Arithmetic
from ..errors import NodeError, PlaceError, ShapeError
from .arithmetic import expand_dims, gather
from .base import TensorNode, method, size_of
from .evaluation.arrays import Array
from .index import Shape
from .slicing import gather_flat, index_axis, slice_axis

Part = None | EllipsisType | int | slice | Array  # a part of a normalized subscript


@method
def __getitem__(self: TensorNode, parts: Any) -> TensorNode:
    """Numbers, slices, `...`, None (a new axis), lists of places and masks, all as in NumPy. A text: `inner(name)`."""
    if isinstance(parts, str):
        return self.inner(parts)
    subscript = [_normalize_part(self, part) for part in (parts if isinstance(parts, tuple) else (parts,))]
    arrays = [part for part in subscript if isinstance(part, np.ndarray)]
    has_wide_mask = any(array.dtype == bool and array.ndim != 1 for array in arrays)
    if len(arrays) > 1 or has_wide_mask or (arrays and int in map(type, subscript)):
        return _index_jointly(self, subscript)
    axis_count = sum(1 for part in subscript if part is not None and part is not Ellipsis)
    if axis_count > self.rank:
        raise PlaceError(f"{self.label} was given {axis_count} indices, and has {self.rank} axes.")
    if sum(1 for part in subscript if part is Ellipsis) > 1:
        raise PlaceError(f"{self.label}[...] has `...` twice: nothing says for how many axes each stands.")
    node, axis = self, 0
    for part in subscript:
        if part is Ellipsis:
            axis += self.rank - axis_count
        elif isinstance(part, int):
            node = index_axis(node, axis, part)
        elif isinstance(part, np.ndarray):
            places = _find_places(node, part, axis) if part.dtype == bool else part
            node = gather(node, _require_entries(self, places), axis)
            axis += part.ndim
        else:
            node = expand_dims(node, axis) if part is None else slice_axis(node, axis, part)
            axis += 1
    return node


@method
def __iter__(self: TensorNode) -> Iterator[TensorNode]:
    return (index_axis(self, 0, position) for position in range(len(self)))


def _index_jointly(node: TensorNode, subscript: Sequence[Part]) -> TensorNode:
    """Index several axes jointly, `z[[0, 1], [2, 3]]` or by a mask (NumPy's advanced indexing)."""
    try:
        table = _flat_indices_at(node.shape, tuple(subscript))
    except IndexError as error:
        raise PlaceError(
            f"{node.label}[...]: {str(error).rstrip(' .')}. Indices of an axis run from 0 to its extent less 1, lists "
            "broadcast to one shape, and a mask has the extents of the axes that it stands for."
        ) from None
    return gather_flat(node, _require_entries(node, table))


def _flat_indices_at(shape: Shape, subscript: tuple[Any, ...]) -> Array:
    """The flat indices of what a subscript picks, found axis by axis: no array of the whole shape is made."""
    table = np.broadcast_to(0, shape)[subscript]
    for axis, extent in enumerate(shape):
        steps = np.arange(extent) * size_of(shape[axis + 1 :])
        along_axis = steps.reshape([-1 if other == axis else 1 for other in range(len(shape))])
        table = table + np.broadcast_to(along_axis, shape)[subscript]
    return table


def _find_places(node: TensorNode, mask: Array, axis: int) -> Array:
    """The indices along an axis that a mask keeps."""
    if len(mask) != node.shape[axis]:
        raise PlaceError(f"A mask of shape {mask.shape} does not cover axis {axis} of {node.label}, entry by entry.")
    return mask.nonzero()[0]


def _require_entries(node: TensorNode, table: Array) -> Array:
    if not table.size:
        raise ShapeError(f"The lists, masks and slices in {node.label}[...] pick no entry. A tensor has at least one.")
    return table


def _normalize_part(node: TensorNode, part: Any) -> Part:
    """Normalize a part of a subscript to None, a slice, `...`, an int, or an array of ints or bools."""
    if part is None or part is Ellipsis or isinstance(part, slice):
        return part
    if isinstance(part, Arithmetic):
        raise NodeError(
            f"{node.label}[...] takes whole numbers that are known now, not a {type(part).__name__.lstrip('_')}. "
            "Places that are computed: gather(x, places). The number it has now: int(i.value)."
        )
    if hasattr(part, "__index__") and not hasattr(part, "shape") and not isinstance(part, bool):
        return index(part)
    try:
        table = np.zeros(0) if is_endless(part) else np.asarray(part)
    except ValueError:  # a ragged list
        table = np.zeros(0)
    if isinstance(part, (list, tuple)) and not table.size and len(part) == len(table):
        table = table.astype(int)  # an empty list, which NumPy takes for an array of floats
    if table.dtype.kind not in "iub":
        raise ShapeError(f"{node.label} is indexed with whole numbers, slices and masks, not {shortened(part)}.")
    return table if table.ndim or table.dtype == bool else table.item()
