"""Subscripts of tensors, x[...], as in NumPy: integers, slices, `...`, None, index arrays and masks.

Integers, slices, `...` and None apply axis by axis. Index arrays and masks
are broadcast together and applied jointly: two arrays give one entry for each
pair. The resulting axes replace the indexed ones; if the index arrays are not
adjacent they come first. Subscripts are not an operator of the table: the
operators slice, gather and expand_dims do the same, and appear as such in drawings.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from operator import index
from types import EllipsisType
from typing import Any

import numpy as np

from ..core.number import shortened
from ..core.rules import Arithmetic
from ..errors import NodeError, PlaceError, ShapeError
from .arithmetic import expand_dims, normalize_indices, transpose
from .base import TensorNode, method, size_of
from .evaluation.arrays import Array, parse_indices
from .slicing import gather_table, index_axis, reshape, slice_axis

Part = None | EllipsisType | bool | int | slice | Array  # a part of a normalized subscript


@method
def __getitem__(self: TensorNode, parts: Any) -> TensorNode:
    """Numbers, slices, `...`, None (a new axis), lists of places and masks, all as in NumPy. A text: `inner(name)`."""
    if isinstance(parts, str):
        return self.inner(parts)
    expanded = _expand_subscript(self, parts if isinstance(parts, tuple) else (parts,))
    node, axis, tables = self, 0, dict[int, Array]()
    for part in expanded:
        if part is Ellipsis:
            continue
        if isinstance(part, int) and not isinstance(part, bool):
            node = index_axis(node, axis, part)
            continue
        if part is None or isinstance(part, bool):
            node = expand_dims(node, axis)
        if isinstance(part, slice):
            node = slice_axis(node, axis, part)
        elif part is not None:
            tables[axis] = np.zeros(int(part), int) if isinstance(part, bool) else normalize_indices(node, part, axis)
        axis += 1
    return _index_jointly(node, tables, _are_lists_separated(expanded)) if tables else node


@method
def __iter__(self: TensorNode) -> Iterator[TensorNode]:
    return (index_axis(self, 0, position) for position in range(len(self)))


# --- index arrays ----------------------------------------------------------


def _index_jointly(node: TensorNode, tables: Mapping[int, Array], separated: bool) -> TensorNode:
    """Index several axes jointly by broadcast index arrays, `z[[0, 1], [2, 3]]` (NumPy's advanced indexing)."""
    axes = list(tables)
    try:
        index_arrays = np.broadcast_arrays(*tables.values())
    except ValueError:
        shapes = " and ".join(str(table.shape) for table in tables.values())
        raise ShapeError(f"Lists of places of shapes {shapes} do not broadcast, as in {node.label}[...].") from None
    if not index_arrays[0].size:
        raise ShapeError(f"The lists and masks in {node.label}[...] pick no entry. A tensor has at least one.")
    rest, first = [axis for axis in range(node.rank) if axis not in axes], 0 if separated else axes[0]
    order = [*rest[:first], *axes, *rest[first:]]
    moved = node if order == sorted(order) else transpose(node, *order)
    extents = moved.shape[first : first + len(axes)]
    merged = reshape(moved, (*moved.shape[:first], size_of(extents), *moved.shape[first + len(axes) :]))
    table = np.ravel_multi_index(index_arrays, extents)
    return gather_table(merged, first, table)


def _are_lists_separated(parts: Sequence[Part]) -> bool:
    """Whether a slice, new axis or `...` stands between index arrays; an integer beside them counts as one."""
    basic = (slice, EllipsisType, type(None))
    positions = [position for position, part in enumerate(parts) if not isinstance(part, basic)]
    return positions[-1] - positions[0] >= len(positions)  # another part stands between them


# --- reading ------------------------------------------------------------------


def _expand_subscript(node: TensorNode, subscript: tuple[Any, ...]) -> list[Part]:
    """Expand a subscript: masks to index arrays, and full slices for the remaining axes, after a `...` if there is one.

    The `...` itself stays: it separates index arrays.
    """
    if sum(1 for part in subscript if part is Ellipsis) > 1:
        raise PlaceError(f"{node.label}[...] has `...` twice: nothing says for how many axes each stands.")
    parts = [part if part is Ellipsis else _normalize_part(node, part) for part in subscript]
    axis_count = sum(map(_count_axes, parts))
    if axis_count > node.rank:
        raise PlaceError(f"{node.label} was given {axis_count} indices, and has {node.rank} axes.")
    expanded, axis = list[Part](), 0
    for part in parts:
        expanded += _expand_part(node, part, axis, node.rank - axis_count)
        axis += node.rank - axis_count if part is Ellipsis else _count_axes(part)
    return [*expanded, *[slice(None)] * (node.rank - axis)]


def _count_axes(part: Any) -> int:
    """How many axes of the tensor a part stands for."""
    if part is None or part is Ellipsis or isinstance(part, bool):
        return 0
    return part.ndim if isinstance(part, np.ndarray) and part.dtype == bool else 1


def _expand_part(node: TensorNode, part: Any, axis: int, others: int) -> Sequence[Part]:
    if part is Ellipsis:
        return [part, *[slice(None)] * others]  # it separates index arrays even where it stands for no axis
    if not isinstance(part, np.ndarray) or part.dtype != bool:
        return [part]
    if part.shape != node.shape[axis : axis + part.ndim]:
        raise PlaceError(f"A mask of shape {part.shape} does not cover the axes of {node.label} from axis {axis} on.")
    return part.nonzero()


def _normalize_part(node: TensorNode, part: Any) -> Part:
    """Normalize a part of a subscript to None, a slice, a bool, an int, or an array of ints or bools."""
    if part is None or isinstance(part, (slice, bool)):
        return part
    if isinstance(part, Arithmetic):
        raise NodeError(
            f"{node.label}[...] takes whole numbers that are known now, not a {type(part).__name__.lstrip('_')}. "
            "Places that are computed: gather(x, places). The number it has now: int(i.value)."
        )
    if hasattr(part, "__index__") and not hasattr(part, "shape"):
        return index(part)
    table = parse_indices(part)
    if isinstance(part, (list, tuple)) and not table.size and len(part) == len(table):
        table = table.astype(int)  # an empty list, which NumPy takes for an array of floats
    if table.dtype.kind not in "iub":
        raise ShapeError(f"{node.label} is indexed with whole numbers, slices and masks, not {shortened(part)}.")
    return table if table.ndim else table.item()
