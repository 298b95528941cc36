"""scatter_elements and scatter_nd: write updates at indices ("places") of a tensor, or combine them with its entries.

    x = [1, 2, 3, 4], updates = [10, 20], places = [3, 0]       ->  [20, 2, 3, 10]
    the same with reduction="add"                               ->  [21, 2, 3, 14]

With indices that are known, scatter becomes gathers, one after the other: in the k-th, each entry that has a k-th
update reads it (`scatter_rounds`). Additions are one scatter-add. Indices that are a tensor become a contraction with
their one-hot.
"""

from __future__ import annotations

from math import prod
from typing import Annotated, Any

import numpy as np

from ...core.catalogue import maximum, minimum, where
from ...errors import PropertyError, ShapeError
from .. import arithmetic, slicing
from ..base import TensorNode
from ..evaluation.gather_scatter import scatter_rounds
from ..index import canonicalize_axis
from ..nodes import LeafNode, LinearNode, NonlinearNode, OpType
from ..slicing import flat_indices, gather_flat
from ..sparse_selector import IndexMap, SelectionNode
from .examples import example
from .indexing import check_element_places, flatten_indexed_axes, index_array_nd, infer_nd_shape, make_one_hot
from .mapping import Attribute, Fixed, Input, Onnx, TensorFlow
from .moves import Extents
from .properties import Axis, Places, Tensor, one_of
from .table import composition

Reduction = Annotated[str, one_of("none", "add", "mul", "max", "min")]
NEUTRAL = {"mul": 1.0, "max": -np.inf, "min": np.inf}  # combined with an entry it changes nothing
COMBINE: dict[str, Any] = {"mul": lambda a, b: a * b, "max": maximum, "min": minimum}
TENSORFLOW_SCATTER: dict[str, Any] = {
    "operands": [0, 2], "places": Input(1), "required_values": {"bad_indices_policy": ""},
}  # fmt: skip


def _scatter_flat(x: TensorNode, updates: TensorNode, targets: Any, reduction: str) -> TensorNode:
    """Scatter updates at flat indices of x. reduction: how they are combined with x; "none": the last update wins."""
    targets = targets.reshape(-1)
    if reduction == "add":
        return arithmetic.elementwise(OpType.add, x, scatter_add_flat(updates, targets, x.shape))
    for has_update, update_indices in scatter_rounds(targets, x.size):
        table = np.where(has_update, update_indices, -1)
        if reduction == "none":
            kept_entries = np.where(table < 0, np.arange(x.size), -1)
            x = gather_flat(x, kept_entries.reshape(x.shape)) + gather_flat(updates, table.reshape(x.shape))
            continue
        neutral = LeafNode.constant(np.where(table < 0, NEUTRAL[reduction], 0.0).reshape(x.shape))
        x = NonlinearNode(COMBINE[reduction], x, gather_flat(updates, table.reshape(x.shape)) + neutral)
    return x


def scatter_add_flat(updates: TensorNode, targets: Any, shape: Extents) -> TensorNode:
    """Scatter-add into a tensor of zeros by flat indices: the transpose of a gather by flat indices."""
    flat = slicing.reshape(updates, (updates.size,))
    selection = SelectionNode((updates.size, prod(shape)), [IndexMap((0,), 1, table=targets)])
    return slicing.reshape(LinearNode("mul", (1,), (-2,), (-2, 1), flat, selection), shape)


@composition(
    example((3, 2), (2, 2), places=[[0, 1], [2, 0]]), example((4,), (3,), places=[1, 1, -1], reduction="add"),
    example((4,), (3,), places=[1, 1, 2], reduction="mul"), example((4,), (3,), places=[1, 1, 2]),
    onnx=[Onnx("ScatterElements", operands=[0, 2], places=Input(1), axis=Attribute("axis", 0),
               reduction=Attribute("reduction", "none", since=16), since=11),
          Onnx("Scatter", operands=[0, 2], places=Input(1), axis=Attribute("axis", 0), since=9, until=10)],
)  # fmt: skip
def scatter_elements(x: Tensor, updates: Tensor, places: Places, axis: Axis = 0, reduction: Reduction = "none") -> Any:
    """Write updates along an axis: y[places[i, j], j] = updates[i, j] for axis 0, and the other entries are those of x.

    reduction: how an update is combined with the entry. If places are a tensor, it is "none" or "add", and with "none"
    no place may occur twice.
    """
    axis_index, shape = canonicalize_axis(axis, x.rank), updates.shape
    if tuple(places.shape) != shape:
        raise ShapeError(f"updates of shape {shape} and places of shape {places.shape} differ. Each goes to a place.")
    check_element_places(x, places, axis_index)
    if isinstance(places, TensorNode):
        return _scatter_at_run_time(x, updates, places, axis_index, reduction)
    table = arithmetic.normalize_indices(x, places, axis_index)
    coordinates = list(np.indices(table.shape))
    coordinates[axis_index] = table
    return _scatter_flat(x, updates, flat_indices(x.shape)[tuple(coordinates)], reduction)


def _scatter_at_run_time(x: TensorNode, updates: TensorNode, places: TensorNode, axis: int, reduction: str) -> Any:
    """scatter_elements with indices that are a tensor: contractions with their one-hot."""
    if reduction not in ("none", "add"):
        raise PropertyError(f"reduction={reduction!r} needs places that are known. Take 'add'.")
    hot, new = make_one_hot(places, x.shape[axis]), x.rank + 1
    ids = [-axis_id if axis_id == axis + 1 else axis_id for axis_id in range(1, new)]
    dst = [new if axis_id < 0 else axis_id for axis_id in ids]

    def scatter_add(values: TensorNode) -> TensorNode:
        result: TensorNode = LinearNode("mul", dst, ids, (*ids, new), values, hot)
        for dimension, extent in enumerate(x.shape):
            if extent > result.shape[dimension]:
                result = slicing.pad_axis(result, dimension, 0, extent - result.shape[dimension])
        return result

    if reduction == "add":
        return arithmetic.elementwise(OpType.add, x, scatter_add(updates))
    is_written = scatter_add(LeafNode.constant(np.ones(updates.shape)))
    return NonlinearNode(where, is_written, scatter_add(updates), x)


@composition(
    example((4,), (2,), places=[[3], [0]]), example((2, 3), (2, 3), places=[[1], [1]], reduction="add"),
    example((3,), (2,), places=[[2], [2]], reduction="max"), smooth=False,
    onnx=Onnx("ScatterND", operands=[0, 2], places=Input(1), reduction=Attribute("reduction", "none", since=16),
              since=11),
    tensorflow=[TensorFlow("TensorScatterUpdate", **TENSORFLOW_SCATTER, reduction=Fixed("none")),
                TensorFlow("TensorScatterAdd", **TENSORFLOW_SCATTER, reduction=Fixed("add"))],
)  # fmt: skip
def scatter_nd(x: Tensor, updates: Tensor, places: Places, reduction: Reduction = "none") -> Any:
    """Write updates (entries or slices) at multi-axis indices: y[places[i, 0], places[i, 1]] = updates[i].

    reduction: how an update is combined with the entry. If places are a tensor, it is "none" or "add", and with "none"
    no place may occur twice.
    """
    due = infer_nd_shape(x.shape, places, 0)
    if updates.shape != due:
        raise ShapeError(f"updates of shape {updates.shape} do not fit: places of shape {places.shape} take {due}.")
    if isinstance(places, TensorNode):
        merged, flat = flatten_indexed_axes(x, places)
        merged_updates = slicing.reshape(updates, (flat.size, *merged.shape[1:]))
        column = slicing.reshape(flat, (flat.size, *[1] * (merged.rank - 1)))
        indices = arithmetic.broadcast(column, merged_updates.shape)
        return slicing.reshape(_scatter_at_run_time(merged, merged_updates, indices, 0, reduction), x.shape)
    return _scatter_flat(x, updates, index_array_nd(flat_indices(x.shape), places, 0), reduction)
