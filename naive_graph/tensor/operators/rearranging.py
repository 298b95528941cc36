"""Operators that repeat, pad, cut or reorder entries: tile, pad, trilu (triangles), reverse, roll, reverse_sequence.

Most read entries by a table of indices: `roll` by 1 of four entries reads the entries 3, 0, 1, 2. So a derivative is a
scatter-add by the same table, and nothing is computed but the sums.
"""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np

from ...errors import ShapeError
from .. import arithmetic, slicing
from ..index import canonicalize_axes, canonicalize_axis
from ..nodes import LeafNode, TransformNode
from ..slicing import flat_indices, gather_flat
from .examples import example
from .mapping import Attribute, Fixed, Input, Onnx, TensorFlow, TranslatedName, to_bool, to_scalar
from .moves import Extents, movement_operator
from .properties import Axes, Axis, Tensor, Wholes, one_of


@movement_operator(
    example((2, 3), repeats=[2, 1]), example((2,), repeats=[3]),
    onnx=Onnx("Tile", repeats=Input(1), since=6), tensorflow=TensorFlow("Tile", repeats=Input(1)),
)  # fmt: skip
def tile(x: Tensor, repeats: Wholes) -> Any:
    """Repeat the tensor `repeats` times along each axis."""
    if len(repeats) != x.rank or min(repeats, default=1) < 1:
        raise ShapeError(f"repeats={list(repeats)} needs a number from 1 on for each of {x.rank} axes.")
    # Broadcast along a new axis before each axis, then merge the two: (2, 3) tiled by (4, 1) is (4, 2, 1, 3) as (8, 3).
    dst = [axis_id for axis in range(x.rank) for axis_id in (-(axis + 1), axis + 1)]
    extents = [size for times, extent in zip(repeats, x.shape) for size in (times, extent)]
    broadcast = TransformNode(dst, range(1, x.rank + 1), x, shape=extents)
    return slicing.reshape(broadcast, [extent * times for extent, times in zip(x.shape, repeats)])


# --- paddings -----------------------------------------------------------------

ONNX_MODES = {mode: mode for mode in ("constant", "reflect", "edge", "wrap")}  # ONNX lacks "symmetric"


def _pad_amounts(x: Extents, pads: Extents, axis: Any) -> dict[int, tuple[int, int]]:
    """The padding (before, after) of each axis; pads lists all befores, then all afters."""
    chosen = list(range(len(x))) if axis is None else canonicalize_axes(axis, len(x))
    if len(pads) != 2 * len(chosen):
        raise ShapeError(f"pads={list(pads)} needs a before and an after for {len(chosen)} axes: all befores first.")
    return {axis_index: (pads[position], pads[position + len(chosen)]) for position, axis_index in enumerate(chosen)}


def _infer_padded_shape(x: Extents, pads: Extents, mode: str, axis: Any) -> Extents:
    extents = list(x)
    for axis_index, (before, after) in _pad_amounts(x, pads, axis).items():
        cropped = x[axis_index] + min(before, 0) + min(after, 0)
        extents[axis_index] += before + after
        largest_pad = {"reflect": cropped - 1, "symmetric": cropped}.get(mode)
        if cropped < 1 or (largest_pad is not None and max(before, after) > largest_pad):
            raise ShapeError(
                f"pads={list(pads)} do not fit axis {axis_index}, which runs to {x[axis_index]}, in mode {mode!r}."
            )
    return tuple(extents)


def _reorder_pads(value: Any, attributes: Any) -> Any:
    """TensorFlow's pairs (before, after) for each axis as all befores, then all afters."""
    return [pair[side] for side in (0, 1) for pair in value]


@movement_operator(
    example((2, 3), pads=[1, 0, 0, 2]), example((3,), pads=[2, 1], mode="reflect"),
    example((3,), pads=[1, 1], value=0.5),
    example((2, 3), pads=[2, 1], mode="edge", axis=[1]), example((3,), pads=[2, 4], mode="wrap"),
    example((3,), pads=[2, 3], mode="symmetric"), example((2, 4), pads=[0, -1, 1, -1]), shape=_infer_padded_shape,
    onnx=Onnx("Pad", pads=(Attribute("pads", until=10), Input(1, since=11)),
              value=(Attribute("value", 0.0, until=10), Input(2, 0.0, to_scalar, since=11)),
              mode=Attribute("mode", "constant", TranslatedName(ONNX_MODES)),
              axis=(Fixed(None, until=17), Input(3, None, since=18))),
    tensorflow=[TensorFlow("Pad", pads=Input(1, adapt=_reorder_pads)),
                TensorFlow("PadV2", pads=Input(1, adapt=_reorder_pads), value=Input(2)),
                TensorFlow("MirrorPad", pads=Input(1, adapt=_reorder_pads), mode=Attribute(
                    "mode", adapt=TranslatedName({"REFLECT": "reflect", "SYMMETRIC": "symmetric"})))],
)  # fmt: skip
def pad(
    x: Tensor,
    pads: Wholes,
    mode: Annotated[str, one_of("constant", "reflect", "symmetric", "edge", "wrap")] = "constant",
    value: float = 0.0,
    axis: Axes = None,
) -> Any:
    """Pad with a value or with the tensor's own entries (by mode); negative numbers crop first.

    pads: the befores of all axes (or of `axis`), then the afters.
    """
    amounts = _pad_amounts(x.shape, pads, axis)
    outside = np.zeros(())  # mode "constant": 1 for entries of the padding, of a shape that broadcasts to the result's
    for axis_index, (before, after) in amounts.items():
        positions = np.arange(-before, x.shape[axis_index] + after)
        if mode == "constant":
            beyond = ((positions < 0) | (positions >= x.shape[axis_index])).reshape(
                [-1 if dimension == axis_index else 1 for dimension in range(x.rank)]
            )
            outside = np.maximum(outside, beyond)
            x = slicing.pad_axis(x, axis_index, before, after) if before or after else x
        elif before or after:
            first, extent = max(0, -before), x.shape[axis_index] + min(before, 0) + min(after, 0)  # after cropping
            x = arithmetic.gather(x, _fold_positions(positions - first, extent, mode) + first, axis_index)
    if mode == "constant" and value != 0.0:
        x = x + LeafNode.constant(np.where(outside, value, 0.0))
    return x


def _fold_positions(positions: Any, extent: int, mode: str) -> Any:
    """For positions before, in and after an axis, the entry of the axis that each reads in this mode."""
    if mode == "edge":
        return np.clip(positions, 0, extent - 1)
    if mode == "wrap":
        return positions % extent
    edge = 1 if mode == "symmetric" else 0  # whether the outermost entry is repeated
    mirrored = np.where(positions < 0, -positions - edge, positions)
    return np.where(positions >= extent, 2 * extent - 2 + edge - positions, mirrored)


# --- triangles, reversals -----------------------------------------------------


@movement_operator(
    example((2, 3)), example((2, 3, 3), upper=False, k=-1),
    onnx=Onnx("Trilu", upper=Attribute("upper", 1, to_bool), k=Input(1, 0, to_scalar), since=14),
)  # fmt: skip
def trilu(x: Tensor, upper: bool = True, k: int = 0) -> Any:
    """The entries on and above (or below) the k-th diagonal of each matrix; 0 elsewhere."""
    if x.rank < 2:
        raise ShapeError(f"x has shape {x.shape}. It takes matrices: two axes at least.")
    mask = np.triu(np.ones(x.shape[-2:]), k) if upper else np.tril(np.ones(x.shape[-2:]), k)
    return gather_flat(x, np.where(np.broadcast_to(mask, x.shape), flat_indices(x.shape), -1))


@movement_operator(
    example((2, 3)), example((2, 3), axis=[1]),
    tensorflow=TensorFlow("ReverseV2", axis=Input(1)),
)  # fmt: skip
def reverse(x: Tensor, axis: Axes = None) -> Any:
    """The entries in reverse order along some axes, or all."""
    for axis_index in canonicalize_axes(axis, x.rank):
        x = slicing.gather_axis(x, axis_index, (x.shape[axis_index],), (-1,), x.shape[axis_index] - 1)
    return x


@movement_operator(
    example((4,), shift=[1]), example((2, 3), shift=[-1, 2], axis=[1, 0]),
    tensorflow=TensorFlow("Roll", shift=Input(1), axis=Input(2)),
)  # fmt: skip
def roll(x: Tensor, shift: Wholes, axis: Axes = None) -> Any:
    """Roll entries along axes; those that leave at the end re-enter at the start."""
    axes = canonicalize_axes(axis, x.rank)
    if len(axes) != len(shift):
        raise ShapeError(f"shift={list(shift)} needs a number for each of axis={axis}.")
    for distance, axis_index in zip(shift, axes):
        x = arithmetic.gather(x, (np.arange(x.shape[axis_index]) - distance) % x.shape[axis_index], axis_index)
    return x


@movement_operator(
    example((4, 2), lengths=[3, 1]), example((2, 3, 2), lengths=[1, 3], time_axis=1, batch_axis=0),
    onnx=Onnx("ReverseSequence", lengths=Input(1), time_axis=Attribute("time_axis", 0),
              batch_axis=Attribute("batch_axis", 1), since=10),
    tensorflow=TensorFlow("ReverseSequence", lengths=Input(1), time_axis=Attribute("seq_dim"),
                          batch_axis=Attribute("batch_dim", 0)),
)  # fmt: skip
def reverse_sequence(x: Tensor, lengths: Wholes, time_axis: Axis = 0, batch_axis: Axis = 1) -> Any:
    """The first entries of each sequence, as many as its length, in reverse order."""
    time, batch = canonicalize_axis(time_axis, x.rank, "time_axis"), canonicalize_axis(batch_axis, x.rank, "batch_axis")
    steps, sequences = x.shape[time], x.shape[batch]
    if time == batch or len(lengths) != sequences or not 0 <= min(lengths) <= max(lengths) <= steps:
        raise ShapeError(f"lengths={list(lengths)} needs a number up to {steps} for each of {sequences} sequences.")
    table = np.moveaxis(flat_indices(x.shape), (time, batch), (0, 1)).copy()
    for sequence, length in enumerate(lengths):
        table[:length, sequence] = table[:length, sequence][::-1].copy()
    return gather_flat(x, np.moveaxis(table, (0, 1), (time, batch)))
