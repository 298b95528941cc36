"""Operators that join tensors along an axis, or take parts of one: concat, stack, split, unstack, slice.

A part is a gather. A join is a sum of the tensors, each padded with zeros to the whole length:
concat([a, b], [c]) = [a, b, 0] + [0, 0, c], where the zeros are structural: no sum with them is computed.
"""

from __future__ import annotations

import builtins
from collections.abc import Sequence
from typing import Any

from ...errors import ShapeError
from .. import arithmetic, slicing
from ..base import ArrayKernel, TensorNode
from ..evaluation.arrays import namespace, to_common_library
from ..evaluation.evaluate import to_dense
from ..index import canonicalize_axes, canonicalize_axis
from .examples import example
from .mapping import ALL, Attribute, Fixed, Input, Onnx, TensorFlow
from .moves import movement_operator
from .properties import Axes, Axis, MaybeSize, MaybeWholes, Tensor, Tensors, Wholes

MAX_SUMMANDS = 64  # tensors per padded sum; more are joined as a tree


@movement_operator(
    example([(2, 3), (2, 1)], axis=1), example([(2,), (3,), (1,)]),
    onnx=Onnx("Concat", operands=[ALL], axis=Attribute("axis")),
    tensorflow=[TensorFlow("ConcatV2", operands=[ALL], axis=Input(-1), harmless=("N",)),
                TensorFlow("Concat", operands=[ALL], axis=Input(0), harmless=("N",))],
)  # fmt: skip
def concat(tensors: Tensors, axis: Axis = 0) -> Any:
    """Concatenate tensors along an axis."""
    axis_index, sources, first = canonicalize_axis(axis, tensors[0].rank), tuple(tensors), tensors[0].shape
    for shape in [tensor.shape for tensor in tensors]:
        if len(shape) != len(first) or shape != (*first[:axis_index], shape[axis_index], *first[axis_index + 1 :]):
            raise ShapeError(f"shapes {first} and {shape} differ in more than axis {axis_index}. Only that one may.")
    while len(tensors) > MAX_SUMMANDS:  # a balanced tree: each entry is moved O(log n) times
        starts = range(0, len(tensors), MAX_SUMMANDS)
        tensors = [_add_padded(tensors[start : start + MAX_SUMMANDS], axis_index) for start in starts]
    result = _add_padded(tensors, axis_index)
    # Arrays are joined by the library's concatenate instead.
    result.direct = ArrayKernel(sources, lambda *arrays: _concatenate_arrays(arrays, axis_index))
    return result


def _concatenate_arrays(arrays: Sequence[Any], axis: int) -> Any:
    arrays = to_common_library([*map(to_dense, arrays)])
    return namespace(arrays[0]).concatenate(arrays, axis)


def _add_padded(tensors: Sequence[TensorNode], axis: int) -> TensorNode:
    """The sum of the tensors, each with zeros where the others lie."""
    total, start = sum(tensor.shape[axis] for tensor in tensors), 0
    result: TensorNode | None = None
    for source in tensors:
        part = slicing.gather_axis(source, axis, (total,), (1,), -start)
        result = part if result is None else result + part
        start += source.shape[axis]
    return result  # type: ignore[return-value]


@movement_operator(
    example([(2, 3), (2, 3)], axis=1), example([(), ()]),
    tensorflow=TensorFlow("Pack", operands=[ALL], axis=Attribute("axis", 0), harmless=("N",)),
)  # fmt: skip
def stack(tensors: Tensors, axis: Axis = 0) -> Any:
    """Stack tensors of equal shape along a new axis."""
    shapes = dict.fromkeys(tensor.shape for tensor in tensors)
    if len(shapes) > 1:
        raise ShapeError(f"shapes {', '.join(map(str, shapes))} differ. Stacked tensors have one.")
    axis_index = canonicalize_axis(axis, tensors[0].rank + 1)
    return concat.function([arithmetic.expand_dims(tensor, axis_index) for tensor in tensors], axis_index)


def _split_sizes(extent: int, sizes: Any, parts: Any) -> list[int]:
    """The extents of the parts; with a number of parts the last may be shorter."""
    if (sizes is None) == (parts is None):
        raise ShapeError(f"sizes={sizes} and parts={parts}: give one of them.")
    if sizes is not None:
        if min(sizes) < 1 or sum(sizes) != extent:
            raise ShapeError(f"sizes={list(sizes)} are not parts of at least 1 that add up to {extent}.")
        return list(sizes)
    part_size = -(-extent // parts)
    if part_size * (parts - 1) >= extent:
        raise ShapeError(f"parts={parts} is too many for {extent} entries.")
    return [min(part_size, extent - part_size * position) for position in range(parts)]


@movement_operator(
    example((5,), parts=2), example((2, 4), axis=1, sizes=[1, 3]),
    onnx=Onnx("Split", axis=Attribute("axis", 0), parts=Attribute("num_outputs", None, since=18),
              sizes=(Attribute("split", None, until=12), Input(1, None, since=13))),
    tensorflow=[TensorFlow("Split", operands=[1], axis=Input(0), parts=Attribute("num_split")),
                TensorFlow("SplitV", sizes=Input(1), axis=Input(2), harmless=("num_split",))],
)  # fmt: skip
def split(x: Tensor, axis: Axis = 0, sizes: MaybeWholes = None, parts: MaybeSize = None) -> Any:
    """Split along an axis into parts of these sizes, or into a number of equal parts (the last may be shorter)."""
    axis_index, pieces, start = canonicalize_axis(axis, x.rank), [], 0
    for size in _split_sizes(x.shape[axis_index], sizes, parts):
        pieces.append(slicing.gather_axis(x, axis_index, (size,), (1,), start))
        start += size
    return pieces


@movement_operator(
    example((2, 3)), example((2, 3), axis=-1),
    tensorflow=TensorFlow("Unpack", axis=Attribute("axis", 0), harmless=("num",)),
)  # fmt: skip
def unstack(x: Tensor, axis: Axis = 0) -> Any:
    """The slices along an axis as separate tensors, without that axis."""
    axis_index = canonicalize_axis(axis, x.rank)
    return [slicing.index_axis(x, axis_index, position) for position in range(x.shape[axis_index])]


STRIDED_SLICE_MASKS = ("begin_mask", "end_mask", "ellipsis_mask", "new_axis_mask", "shrink_axis_mask")


@movement_operator(
    example((5,), begin=[1], end=[4]), example((3, 4), begin=[-2, 3], end=[9, 0], steps=[1, -2]),
    example((2, 4), begin=[1], end=[3], axis=[1]), example((3, 4), begin=[1, 0], sizes=[-1, 2]),
    method=False,
    onnx=Onnx("Slice", begin=(Attribute("starts", until=9), Input(1, since=10)),
              end=(Attribute("ends", until=9), Input(2, since=10)),
              axis=(Attribute("axes", None, until=9), Input(3, None, since=10)),
              steps=(Fixed(None, until=9), Input(4, None, since=10))),
    tensorflow=[TensorFlow("Slice", begin=Input(1), sizes=Input(2)),
                TensorFlow("StridedSlice", begin=Input(1), end=Input(2), steps=Input(3), prepared=STRIDED_SLICE_MASKS)],
)  # fmt: skip
def slice(
    x: Tensor,
    begin: Wholes,
    end: MaybeWholes = None,
    axis: Axes = None,
    steps: MaybeWholes = None,
    sizes: MaybeWholes = None,
) -> Any:
    """Slice axes from begin to end (exclusive) by steps; negative numbers count from the end.

    sizes: in place of `end`, the number of entries along each axis; -1 for all up to the axis's end.
    """
    axes = list(range(len(begin))) if axis is None else canonicalize_axes(axis, x.rank)
    strides = (1,) * len(begin) if steps is None else steps
    if (end is None) == (sizes is None):
        raise ShapeError(f"end={end} and sizes={sizes}: give one of them.")
    counts = {len(begin), len(sizes if end is None else end), len(axes), len(strides)}
    if len(counts) > 1 or 0 in strides or len(begin) > x.rank:
        raise ShapeError(f"begin, end, axis and steps need a number for each of {len(axes)} axes, and no step is 0.")
    if end is None:
        end = [x.shape[position] if size == -1 else b + size for position, b, size in zip(axes, begin, sizes)]
    for axis_index, part in zip(axes, map(builtins.slice, begin, end, strides)):
        extent = x.shape[axis_index]
        if not range(extent)[part]:
            ends = f"begin={list(begin)}, end={list(end)}"
            raise ShapeError(f"{ends} leave nothing of axis {axis_index}, which runs to {extent}.")
        x = slicing.slice_axis(x, axis_index, part)
    return x
