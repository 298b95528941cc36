"""Indexing with integer arrays ("places"): gather, gather_nd, gather_elements, one_hot, dynamic_partition.

Indices that are known become selections (sparse_selector.py), which are gathers. Indices that are a tensor, known only
at run time, become a contraction with a one-hot tensor, and entries that are not chosen do not count even where they
are infinite:

    gather(x, i) = sum over k of onehot(i)[k] * x[k]

An index out of range raises PlaceError on arrays, in `lower`, and as an input of a Program. Scalar nodes whose indices
are computed from a feed become NaN instead: lowering adds 0 / (the number of entries chosen).
Properties that decide the result's shape must be known: the depth of one_hot, the partitions of dynamic_partition.
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
from ..slicing import flat_indices, gather_flat
from ..sparse_selector import mark_run_time_gather
from .examples import example
from .families import map_entries
from .mapping import Attribute, Input, ListElement, Onnx, TensorFlow, to_scalar
from .moves import Extents, movement_operator
from .properties import Axis, Count, KnownPlaces, Places, Size, Tensor
from .table import composition


def make_one_hot(
    indices: TensorNode, extent: int, structural: bool = True, ignored_index: int | None = None
) -> TensorNode:
    """One-hot along a new last axis (negative indices count from the end): onehot[i, k] = 1 where k = indices[i].

    structural: whether its zeros are structural, so that in products it acts as a gather.
    ignored_index: an out-of-range index that is allowed and selects nothing; any other raises PlaceError.
    """
    shape = (*indices.shape, extent)

    def is_index(i: Any, k: Any) -> Any:
        i = where(less(i, 0.0), i + float(extent), i)
        return equal(i, k)

    column = arithmetic.broadcast(arithmetic.expand_dims(indices, indices.rank), shape)
    positions = arithmetic.broadcast(LeafNode.constant(np.arange(float(extent))), shape)
    hot = map_entries(is_index, column, positions)
    if not structural:
        return hot

    def find_indices(table: Any) -> Any:
        is_valid = (table == np.floor(table)) & (table >= -extent) & (table < extent)
        for invalid_index in table[~is_valid & (table != ignored_index)]:
            raise PlaceError(
                f"{indices.label} holds {invalid_index:g}, which is no place: an axis of {extent} has 0 to "
                f"{extent - 1}, and {-extent} to -1 from its end."
            )
        return np.where(is_valid, np.where(table < 0, table + extent, table), -1).astype(np.int64)

    return mark_run_time_gather(indices, hot, indices.rank, find_indices, checks=True)


@movement_operator(
    example((3, 2), places=[2, 0, 2]), example((2, 3), places=[[0, -1], [1, 1]], axis=1),
    example((2, 3), places=[[1, 0], [2, 2]], axis=1, batch_dims=1),
    onnx=Onnx("Gather", places=Input(1), axis=Attribute("axis", 0)),
    tensorflow=[TensorFlow("GatherV2", places=Input(1), axis=Input(2), batch_dims=Attribute("batch_dims", 0)),
                TensorFlow("Gather", places=Input(1), harmless=("validate_indices",))],
)  # fmt: skip
def gather(x: Tensor, places: Places, axis: Axis = 0, batch_dims: Count = 0) -> Any:
    """The entries at these indices along an axis; the first `batch_dims` axes are a batch shared by x and places."""
    axis_index, shape = canonicalize_axis(axis, x.rank), tuple(places.shape)
    if batch_dims > min(axis_index, len(shape)) or x.shape[:batch_dims] != shape[:batch_dims]:
        raise ShapeError(f"batch_dims={batch_dims}: the first axes of {x.shape} and of places {shape} must be equal.")
    if isinstance(places, TensorNode):
        return _gather_at_run_time(x, places, axis_index, batch_dims)
    if not batch_dims:
        return arithmetic.gather(x, places, axis_index)
    table = arithmetic.normalize_indices(x, places, axis_index)
    return gather_flat(x, take_batched(flat_indices(x.shape), table, axis_index, batch_dims))


def take_batched(array: Any, table: Any, axis: int, batch_dims: int) -> Any:
    """The entries at the indices `table` along an axis (0 or more); both arrays share their first `batch_dims` axes."""
    if not batch_dims:
        return np.take(array, table, axis)
    return np.stack([take_batched(part, indices, axis - 1, batch_dims - 1) for part, indices in zip(array, table)])


def _gather_at_run_time(x: TensorNode, places: TensorNode, axis_index: int, batch_dims: int) -> TensorNode:
    """gather with indices that are a tensor: a contraction with their one-hot."""
    hot = make_one_hot(places, x.shape[axis_index])
    new = [x.rank + 1 + offset for offset in range(places.rank - batch_dims)]
    source_ids = [axis + 1 if axis != axis_index else -(axis_index + 1) for axis in range(x.rank)]
    dst = [*source_ids[:axis_index], *new, *source_ids[axis_index + 1 :]]
    return LinearNode("mul", dst, source_ids, [*source_ids[:batch_dims], *new, -(axis_index + 1)], x, hot)


def check_element_places(x: TensorNode, places: Any, axis: int) -> None:
    """Raise ShapeError unless `places` has an index along an axis (0 or more) for entries of x along the others."""
    shape = tuple(places.shape)
    if len(shape) != x.rank or any(p > e for other, (p, e) in enumerate(zip(shape, x.shape)) if other != axis):
        raise ShapeError(f"places of shape {shape} go beyond {x.shape}. Only along axis {axis} may they be longer.")


@movement_operator(
    example((2, 3), places=[[0, 0], [2, -1]], axis=1), example((3,), places=[1, 1, 0, 2]),
    onnx=Onnx("GatherElements", places=Input(1), axis=Attribute("axis", 0), since=11),
)  # fmt: skip
def gather_elements(x: Tensor, places: Places, axis: Axis = 0) -> Any:
    """NumPy's take_along_axis: y[i, j] = x[places[i, j], j] for axis 0."""
    axis_index = canonicalize_axis(axis, x.rank)
    check_element_places(x, places, axis_index)
    if not isinstance(places, TensorNode):
        table = arithmetic.normalize_indices(x, places, axis_index)
        # NumPy demands that x and the table agree along the other axes, so x is cropped (below: padded) to the table.
        crop = tuple(np.s_[: None if position == axis_index else extent] for position, extent in enumerate(table.shape))
        return gather_flat(x, np.take_along_axis(flat_indices(x.shape)[crop], table, axis_index))
    for dimension, extent in enumerate(places.shape):
        if dimension != axis_index and extent < x.shape[dimension]:
            x = slicing.pad_axis(x, dimension, 0, extent - x.shape[dimension])
    hot, ids = make_one_hot(places, x.shape[axis_index]), list(range(1, x.rank + 1))
    source_ids = [-(x.rank + 1) if position == axis_index else ids[position] for position in range(x.rank)]
    return LinearNode("mul", ids, source_ids, [*ids, -(x.rank + 1)], x, hot)


def infer_nd_shape(x: Extents, places: Any, batch_dims: int) -> Extents:
    """The shape rule of gather_nd; also checks the range of indices that are known."""
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

        def count_from_start(i: Any, extent: float = extent) -> Any:  # out of range: NaN, which make_one_hot refuses
            is_inside = where(less(i, -extent), 0.0, where(less(i, extent), equal(floor(i), i), 0.0))
            return where(is_inside, where(less(i, 0.0), i + extent, i), math.nan)

        flat = flat * extent + map_entries(count_from_start, column)
    return slicing.reshape(x, (*x.shape[:batch_dims], -1, *x.shape[end:])), flat


def index_array_nd(array: Any, places: Any, batch_dims: int) -> Any:
    """gather_nd of NumPy arrays: the last axis of `places` indexes several axes of the array."""
    if batch_dims:
        return np.stack([index_array_nd(part, indices, batch_dims - 1) for part, indices in zip(array, places)])
    return array[tuple(np.moveaxis(places, -1, 0))]


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


@movement_operator(
    example((4, 2), partitions=[0, 1, 1, 0], num_partitions=2),
    example((2, 2), partitions=[[1, 0], [2, 0]], num_partitions=3),
    tensorflow=TensorFlow("DynamicPartition", partitions=Input(1), num_partitions=Attribute("num_partitions")),
)  # fmt: skip
def dynamic_partition(x: Tensor, partitions: KnownPlaces, num_partitions: Size) -> Any:
    """Split entries (or slices) into groups, in order; partitions: the group number of each."""
    if x.shape[: partitions.ndim] != partitions.shape:
        raise ShapeError(f"partitions of shape {partitions.shape} are not the first axes of shape {x.shape}.")
    if partitions.min() < 0 or partitions.max() >= num_partitions:
        span = f"{partitions.min()} to {partitions.max()}"
        raise ShapeError(f"partitions go from {span}; num_partitions={num_partitions} allows 0 to one less.")
    if num_partitions > partitions.size:
        raise ShapeError(f"num_partitions={num_partitions} is more than there are partitions. One would be empty.")
    members = [np.flatnonzero(partitions == part) for part in range(num_partitions)]
    for part, indices in enumerate(members):
        if not indices.size:
            raise ShapeError(f"partition {part} would be empty. Lower num_partitions, or number them anew.")
    rows = slicing.reshape(x, (partitions.size, *x.shape[partitions.ndim :]))
    return [arithmetic.gather(rows, indices, 0) for indices in members]
