"""gather, gather_nd, gather_elements, one_hot, dynamic_partition: indexing with integer arrays ("places").

Known indices become selections, which cost nothing. Indices that are a tensor,
known only at run time, become a contraction with a one-hot tensor: a sum over
all that it could be, of which the others count as nothing even where they are
infinite. A place beyond them is a PlaceError on arrays, in `lower`, and as an input
of a Program; scalars whose places are computed from what is fed are NaN there, as
`lower` adds 0 divided by the number of entries chosen. What has no such form (how
many there are) is refused by name: the sizes of dynamic_partition and of one_hot.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ...core.catalogue import equal, floor, less, where
from ...errors import PlaceError, ShapeError
from .. import arithmetic, slicing
from ..base import TensorNode
from ..index import canonicalize_axis
from ..nodes import LeafNode, LinearNode
from ..sparse_selector import mark_run_time_gather
from .examples import example
from .families import map_entries
from .mapping import Attribute, Input, ListElement, Onnx, TensorFlow, to_scalar
from .moves import Extents, flat_indices, gather_flat, movement_operator
from .properties import Axis, Count, KnownPlaces, Places, Size, Tensor
from .table import composition


def make_one_hot(places_: TensorNode, extent: int, structural: bool = True, spare: int | None = None) -> TensorNode:
    """One-hot along a new last axis (negative indices count from the end); in products it acts as a gather.

    spare: an out-of-range index that is allowed and selects nothing; any other raises PlaceError.
    """
    counted = LeafNode.constant(np.arange(float(extent)))
    shape = (*places_.shape, extent)

    def of_place(p: Any, k: Any) -> Any:
        p = where(less(p, 0.0), p + float(extent), p)
        return equal(p, k)

    spread = arithmetic.broadcast(arithmetic.expand_dims(places_, places_.rank), shape)
    hot = map_entries(of_place, spread, arithmetic.broadcast(counted, shape))
    if not structural:
        return hot

    def picks(table: Any) -> Any:
        is_valid = (table == np.floor(table)) & (table >= -extent) & (table < extent)
        for wrong in table[~is_valid & (table != spare)]:
            raise PlaceError(
                f"{places_.label} holds {wrong:g}, which is no place: an axis of {extent} has 0 to {extent - 1}, and "
                f"{-extent} to -1 from its end."
            )
        return np.where(is_valid, np.where(table < 0, table + extent, table), -1).astype(np.int64)

    return mark_run_time_gather(places_, hot, places_.rank, picks, checks=True)


def _infer_gather_shape(x: Extents, places: Any, axis: int, batch_dims: int) -> Extents:
    axis_index = canonicalize_axis(axis, len(x))
    if batch_dims > min(axis_index, len(places.shape)) or x[:batch_dims] != tuple(places.shape[:batch_dims]):
        raise ShapeError(f"batch_dims={batch_dims}: the first axes of {x} and of places {places.shape} must be equal.")
    return (*x[:axis_index], *places.shape[batch_dims:], *x[axis_index + 1 :])


@movement_operator(
    example((3, 2), places=[2, 0, 2]), example((2, 3), places=[[0, -1], [1, 1]], axis=1),
    example((2, 3), places=[[1, 0], [2, 2]], axis=1, batch_dims=1), shape=_infer_gather_shape,
    onnx=Onnx("Gather", places=Input(1), axis=Attribute("axis", 0)),
    tensorflow=[TensorFlow("GatherV2", places=Input(1), axis=Input(2), batch_dims=Attribute("batch_dims", 0)),
                TensorFlow("Gather", places=Input(1), harmless=("validate_indices",))],
)  # fmt: skip
def gather(x: Tensor, places: Places, axis: Axis = 0, batch_dims: Count = 0) -> Any:
    """The entries at these indices along an axis; the first `batch_dims` axes are a batch shared by x and places."""
    axis_index = canonicalize_axis(axis, x.rank)
    if isinstance(places, TensorNode):
        return _gather_at_run_time(x, places, axis_index, batch_dims)
    table = arithmetic.normalize_indices(x, places, axis_index)
    if not batch_dims:
        return slicing.gather_axis(x, axis_index, table.shape, (0,) * table.ndim, table=table)
    return gather_flat(x, take_batched(flat_indices(x.shape), table, axis_index, batch_dims))


def take_batched(numbers: Any, table: Any, axis: int, batch_dims: int) -> Any:
    """The entries at the indices `table` along an axis (0 or more); both arrays share their first `batch_dims` axes."""
    if not batch_dims:
        return np.take(numbers, table, axis)
    return np.stack([take_batched(number, places, axis - 1, batch_dims - 1) for number, places in zip(numbers, table)])


def _gather_at_run_time(x: TensorNode, places: TensorNode, axis_index: int, batch_dims: int) -> TensorNode:
    """gather with indices that are a tensor: a contraction with their one-hot."""
    hot = make_one_hot(places, x.shape[axis_index])
    new = [x.rank + 1 + offset for offset in range(places.rank - batch_dims)]
    source_ids = [axis + 1 if axis != axis_index else -(axis_index + 1) for axis in range(x.rank)]
    dst = [*source_ids[:axis_index], *new, *source_ids[axis_index + 1 :]]
    return LinearNode("mul", dst, source_ids, [*source_ids[:batch_dims], *new, -(axis_index + 1)], x, hot)


def infer_elements_shape(x: Extents, places: Any, axis: int) -> Extents:
    axis_index = canonicalize_axis(axis, len(x))
    shape = tuple(places.shape)
    if len(shape) != len(x) or any(p > e for dimension, (p, e) in enumerate(zip(shape, x)) if dimension != axis_index):
        raise ShapeError(f"places of shape {shape} go beyond {x}. Only along axis {axis_index} may they be longer.")
    return shape


@movement_operator(
    example((2, 3), places=[[0, 0], [2, -1]], axis=1), example((3,), places=[1, 1, 0, 2]), shape=infer_elements_shape,
    onnx=Onnx("GatherElements", places=Input(1), axis=Attribute("axis", 0), since=11),
)  # fmt: skip
def gather_elements(x: Tensor, places: Places, axis: Axis = 0) -> Any:
    """take_along_axis: for each index the entry of its own line along the axis."""
    axis_index = canonicalize_axis(axis, x.rank)
    if not isinstance(places, TensorNode):
        table = arithmetic.normalize_indices(x, places, axis_index)
        cut = tuple(np.s_[: None if position == axis_index else extent] for position, extent in enumerate(table.shape))
        return gather_flat(x, np.take_along_axis(flat_indices(x.shape)[cut], table, axis_index))
    for dimension, extent in enumerate(places.shape):
        if dimension != axis_index and extent < x.shape[dimension]:
            x = slicing.pad_axis(x, dimension, 0, extent - x.shape[dimension])
    hot, ids = make_one_hot(places, x.shape[axis_index]), list(range(1, x.rank + 1))
    line = [-(x.rank + 1) if position == axis_index else ids[position] for position in range(x.rank)]
    return LinearNode("mul", ids, line, [*ids, -(x.rank + 1)], x, hot)


def infer_nd_shape(x: Extents, places: Any, batch_dims: int) -> Extents:
    rank = len(places.shape)
    depth = places.shape[-1] if rank else 0
    if batch_dims >= rank or batch_dims + depth > len(x) or x[:batch_dims] != places.shape[:batch_dims]:
        raise ShapeError(f"places of shape {places.shape} name {depth} axes after {batch_dims} of shape {x}: too many.")
    for position in range(0 if isinstance(places, TensorNode) else depth):
        extent, table = x[batch_dims + position], places[..., position]
        if table.min() < -extent or table.max() >= extent:
            span = f"{table.min()} to {table.max()}"
            raise ShapeError(f"places go from {span}; axis {position} takes {-extent} to {extent - 1}.")
    return (*places.shape[:-1], *x[batch_dims + depth :])


@movement_operator(
    example((2, 3), places=[[0, 1], [1, 2]]), example((2, 3, 2), places=[[1, 0]]),
    example((2, 3), places=[[[1]], [[0]]], batch_dims=1), shape=infer_nd_shape,
    onnx=Onnx("GatherND", places=Input(1), batch_dims=Attribute("batch_dims", 0, since=12), since=11),
    tensorflow=TensorFlow("GatherNd", places=Input(1), required_values={"bad_indices_policy": ""}),
)  # fmt: skip
def gather_nd(x: Tensor, places: Places, batch_dims: Count = 0) -> Any:
    """The entries or slices at multi-axis indices: the last axis of `places` indexes several axes of x."""
    if isinstance(places, TensorNode):
        x, flat = flatten_indexed_axes(x, places, batch_dims)
        return gather.function(x, flat, batch_dims, batch_dims)
    return gather_flat(x, index_array_nd(flat_indices(x.shape), places, batch_dims))


def flatten_indexed_axes(x: TensorNode, places: TensorNode, batch_dims: int = 0) -> tuple[TensorNode, TensorNode]:
    """Merge the axes that multi-axis indices refer to into one; returns the tensor and the flat indices."""
    end = batch_dims + places.shape[-1]
    flat: Any = 0.0
    for position, extent in enumerate(map(float, x.shape[batch_dims:end])):
        column = slicing.index_axis(places, places.rank - 1, position)

        def from_start(p: Any, extent: float = extent) -> Any:  # out of range: NaN
            is_inside = where(less(p, -extent), 0.0, where(less(p, extent), equal(floor(p), p), 0.0))
            return where(is_inside, where(less(p, 0.0), p + extent, p), math.nan)

        flat = flat * extent + map_entries(from_start, column)
    return slicing.reshape(x, (*x.shape[:batch_dims], -1, *x.shape[end:])), flat


def index_array_nd(numbers: Any, places: Any, batch_dims: int) -> Any:
    if batch_dims:
        return np.stack([index_array_nd(number, place, batch_dims - 1) for number, place in zip(numbers, places)])
    return numbers[tuple(np.moveaxis(places, -1, 0))]


# --- one-hot and partition ------------------------------------------------------------------


def _infer_one_hot_shape(x: Extents, depth: int, axis: int) -> Extents:
    axis_index = canonicalize_axis(axis, len(x) + 1)
    return (*x[:axis_index], depth, *x[axis_index:])


@composition(
    example(np.array([0.0, 2.0, 1.0]), depth=3), example(np.array([[1.0, -1.0]]), depth=2, axis=0, on=2.0, off=-1.0),
    shape=_infer_one_hot_shape, smooth=False,
    onnx=Onnx("OneHot", depth=Input(1, adapt=to_scalar), off=Input(2, adapt=ListElement(0)),
              on=Input(2, adapt=ListElement(1)), axis=Attribute("axis", -1), since=9),
    tensorflow=TensorFlow("OneHot", depth=Input(1), on=Input(2), off=Input(3), axis=Attribute("axis", -1)),
)  # fmt: skip
def one_hot(x: Tensor, depth: Size, axis: Axis = -1, on: float = 1.0, off: float = 0.0) -> Any:
    """One-hot along a new axis: `on` at the index, `off` elsewhere; negative indices count from the end."""
    hot = make_one_hot(x, depth, structural=False)
    if (on, off) != (1.0, 0.0):
        hot = map_entries(lambda h: where(h, on, off), hot)
    axis_index = canonicalize_axis(axis, x.rank + 1)
    order = [*range(axis_index), x.rank, *range(axis_index, x.rank)]
    return arithmetic.transpose(hot, *order) if axis_index < x.rank else hot


def _infer_partition_shapes(x: Extents, partitions: Any, num_partitions: int) -> list[Extents]:
    if x[: partitions.ndim] != partitions.shape:
        raise ShapeError(f"partitions of shape {partitions.shape} are not the first axes of shape {x}.")
    if partitions.min() < 0 or partitions.max() >= num_partitions:
        span = f"{partitions.min()} to {partitions.max()}"
        raise ShapeError(f"partitions go from {span}; num_partitions={num_partitions} allows 0 to one less.")
    if num_partitions > partitions.size:
        raise ShapeError(f"num_partitions={num_partitions} is more than there are partitions. One would be empty.")
    counts = [int((partitions == part).sum()) for part in range(num_partitions)]
    if 0 in counts:
        raise ShapeError(f"partition {counts.index(0)} would be empty. Lower num_partitions, or number them anew.")
    return [(count, *x[partitions.ndim :]) for count in counts]


@movement_operator(
    example((4, 2), partitions=[0, 1, 1, 0], num_partitions=2),
    example((2, 2), partitions=[[1, 0], [2, 0]], num_partitions=3), shape=_infer_partition_shapes,
    tensorflow=TensorFlow("DynamicPartition", partitions=Input(1), num_partitions=Attribute("num_partitions")),
)  # fmt: skip
def dynamic_partition(x: Tensor, partitions: KnownPlaces, num_partitions: Size) -> Any:
    """Split entries (or slices) into groups, in order; partitions: the group number of each."""
    rest = x.shape[partitions.ndim :]
    rows = slicing.reshape(x, (partitions.size, *rest))
    flat = partitions.reshape(-1)
    return [arithmetic.gather(rows, np.flatnonzero(flat == part), 0) for part in range(num_partitions)]
