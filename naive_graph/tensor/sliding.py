"""Sliding windows for convolution and pooling: output size, stride, dilation, padding, and patch extraction.

Window p of size 3 with stride s and dilation d reads the entries p s, p s + d, p s + 2 d of the padded axis.
Images have axes (..., rows, columns, channels), "NHWC", unless said otherwise.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ..errors import ShapeError
from .arithmetic import elementwise, transpose
from .base import TensorNode
from .nodes import LeafNode, OpType
from .reductions_api import make_reduction
from .slicing import gather_axis

MAX_SAME_PADDING = 2**24  # the most zeros along an axis that the padding SAME may need
SAME = ("SAME", "SAME_UPPER", "SAME_LOWER")
WINDOW_AXES = (-4, -2)  # of patches: the rows and the columns within a window


class SlidingWindow(NamedTuple):
    """How a window slides along one axis.

    out: the number of positions. size: entries in the window. before, after: padding with zeros.
    """

    out: int
    size: int
    stride: int
    dilation: int
    before: int
    after: int = 0

    def needed_padding(self, extent: int) -> tuple[int, int]:
        """How many entries the windows read before the axis, and after it."""
        last = (self.out - 1) * self.stride + (self.size - 1) * self.dilation + 1 - self.before
        return max(0, self.before), max(0, last - extent)

    def extract(self, node: TensorNode, axis: int) -> TensorNode:
        """Replace the axis by two: the window, and the position within it (im2col along one axis)."""
        return gather_axis(node, axis, (self.out, self.size), (self.stride, self.dilation), -self.before)

    def inside_mask(self, extent: int) -> np.ndarray:
        """A mask of shape (out, size): whether the entry lies within the axis, not in the padding."""
        positions = np.arange(self.out)[:, None] * self.stride + np.arange(self.size) * self.dilation - self.before
        mask: np.ndarray = (positions >= 0) & (positions < extent)
        return mask

    def count_entries(self, extent: int, include_padding: bool) -> np.ndarray:
        """For each window, how many of its entries lie within the axis, or within the padded axis."""
        starts = np.arange(self.out) * self.stride - self.before
        ends = (-self.before, extent + self.after) if include_padding else (0, extent)
        # The entries start + k * dilation of a window that lie before an end: k < ceil((end - start) / dilation).
        below, beyond = (np.clip(-((starts - end) // self.dilation), 0, self.size) for end in ends)
        return beyond - below


def make_windows(
    image: Sequence[int], sizes: Any, strides: Any, padding: Any, dilations: Any, ceil_mode: bool = False
) -> list[SlidingWindow]:
    """The windows along rows and columns. image: the extents of rows and columns, and perhaps more that are ignored."""
    return [
        make_window(image[side], sizes[side], strides[side], padding, dilations[side], side, ceil_mode)
        for side in (0, 1)
    ]


def make_window(
    extent: int, size: int, stride: int, padding: Any, dilation: int = 1, axis: int = 0, ceil_mode: bool = False
) -> SlidingWindow:
    """The window along one axis (0: rows, 1: columns). Raises ShapeError where it does not fit."""
    reach = (size - 1) * dilation + 1
    before, after = _padding_amounts(padding, axis, extent, reach, stride)
    last_start = extent + before + after - reach  # the last position at which a window fits
    out = last_start // stride + 1
    if ceil_mode and last_start % stride and out * stride < extent + before and last_start >= 0:
        out += 1  # one window more, which begins before the end and is cut off there
    if out < 1:
        raise ShapeError(f"a window that reaches {reach} does not fit into {extent} and padding={padding!r}.")
    return SlidingWindow(out, size, stride, dilation, before, after)


def _padding_amounts(padding: Any, axis: int, extent: int, reach: int, stride: int) -> tuple[int, int]:
    """The numbers of zeros before and after one axis. reach: the window's extent with dilation."""
    if padding == "VALID":
        return 0, 0
    if padding in SAME:
        total = max((math.ceil(extent / stride) - 1) * stride + reach - extent, 0)
        if total > MAX_SAME_PADDING:
            raise ShapeError(f"a window of reach {reach:,} needs {total:,} zeros around {extent}. Let it reach less.")
        less = total // 2
        return (total - less, less) if padding == "SAME_LOWER" else (less, total - less)
    return padding[axis], padding[axis + 2]


def max_pool_patches(patches: TensorNode, image: TensorNode, rows: SlidingWindow, columns: SlidingWindow) -> TensorNode:
    """Max pooling of patches (..., p, i, q, j, c) to (..., p, q, c); padding counts as -inf."""
    is_inside = rows.inside_mask(image.shape[-3])[:, :, None, None] & columns.inside_mask(image.shape[-2])
    if not is_inside.all():
        offsets = LeafNode.constant(np.where(is_inside, 0.0, -math.inf)[..., None])
        patches = elementwise(OpType.add, patches, offsets)
    return make_reduction(patches, "first_maximum", WINDOW_AXES)


def extract_patches(image: TensorNode, rows: SlidingWindow, columns: SlidingWindow) -> TensorNode:
    """The patches of an image (im2col), axes ..., p, i, q, j, c: window (p, q), position (i, j) in it, channel c."""
    return columns.extract(rows.extract(image, image.rank - 3), image.rank - 1)


def image_extents(shape: tuple[int, ...], data_format: str) -> tuple[int, int, int]:
    """The numbers of rows, columns and channels of an image. Raises ShapeError if it has fewer than 3 axes."""
    if len(shape) < 3:
        raise ShapeError(f"x has shape {shape}. It takes images: rows, columns, channels, after axes of a batch.")
    return shape[-3:] if data_format == "NHWC" else (*shape[-2:], shape[-3])  # type: ignore[return-value]


def channels_last(x: TensorNode, data_format: str) -> TensorNode:
    return x if data_format == "NHWC" else transpose(x, *range(x.rank - 3), x.rank - 2, x.rank - 1, x.rank - 3)


def from_channels_last(y: TensorNode, data_format: str) -> TensorNode:
    return y if data_format == "NHWC" else transpose(y, *range(y.rank - 3), y.rank - 1, y.rank - 3, y.rank - 2)


def find_channel_axis(x: TensorNode, data_format: str, least: int, **vectors: TensorNode | None) -> int:
    """The channel axis: the last (NHWC), or the one after the batch (NCHW).

    Raises ShapeError if x has fewer axes than `least`, or if one of the vectors has not a number for each channel.
    """
    if x.rank < least:
        raise ShapeError(f"x has shape {x.shape}. It takes {least} axes at least: a batch, and channels.")
    axis = x.rank - 1 if data_format == "NHWC" else 1
    for name, vector in vectors.items():
        if vector is not None and vector.shape != (x.shape[axis],):
            channels = f"{x.shape[axis]} channels (axis {axis} of {x.shape})"
            raise ShapeError(f"{name} of shape {vector.shape} needs a number for each of {channels}.")
    return axis
