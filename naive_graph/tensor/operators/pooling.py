"""Pooling operators over windows of images (max, average, Lp, global), and morphological dilation.

A window of each channel becomes one number. The windows side by side are a tensor of patches (sliding.py), which is
reduced over the positions within a window.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...core.catalogue import abs as magnitude
from ...core.catalogue import pow, where
from ...errors import ShapeError
from .. import reductions_api
from ..base import TensorNode
from ..nodes import LeafNode, LinearNode, OpType
from ..sliding import (
    WINDOW_AXES,
    SlidingWindow,
    channels_last,
    extract_patches,
    from_channels_last,
    image_extents,
    make_windows,
    max_pool_patches,
)
from .examples import example
from .families import map_entries
from .mapping import Attribute, Fixed, Onnx, TensorFlow, adapt_tf_padding, padded_by, spatial_pair, to_bool
from .moves import Extents
from .operator_def import check_size
from .properties import Layout, MaybePair, Padding, Pair, Positive, Tensor
from .table import tensor_operator

OF_ONNX: dict[str, Any] = {
    "pool": Attribute("kernel_shape"),
    "strides": Attribute("strides", (1, 1)),  # ONNX's default is 1, ours the pool size
    "padding": Attribute("pads", (0, 0, 0, 0), padded_by),
    "data_format": Fixed("NCHW"),
    "ceil_mode": Attribute("ceil_mode", 0, to_bool, since=10),
}
OF_TENSORFLOW: dict[str, Any] = {
    "pool": Attribute("ksize", adapt=spatial_pair),
    "strides": Attribute("strides", adapt=spatial_pair),
    "padding": Attribute("padding", adapt=adapt_tf_padding),
    "data_format": Attribute("data_format", "NHWC"),
    "harmless": ("explicit_paddings",),
}


def _windows(
    x: Extents, pool: Any, strides: Any, padding: Any, data_format: str, ceil_mode: bool, dilations: Any
) -> list[SlidingWindow]:
    strides = pool if strides is None else strides
    windows = make_windows(image_extents(x, data_format), pool, strides, padding, dilations, ceil_mode)
    extents = [extent for axis_window in windows for extent in (axis_window.out, axis_window.size)]
    check_size("pooling: all windows side by side", extents)
    return windows


@tensor_operator(
    kind="window", smooth=False,
    examples=[
        example((1, 4, 4, 1), pool=2), example((1, 1, 5, 4), pool=3, strides=2, padding="SAME", data_format="NCHW"),
        example((1, 5, 5, 1), pool=2, ceil_mode=True), example((4, 4, 1), pool=2, dilations=2, strides=1),
    ],
    onnx=Onnx("MaxPool", **OF_ONNX, dilations=Attribute("dilations", (1, 1), since=10),
              harmless=("auto_pad", "storage_order")),
    tensorflow=TensorFlow("MaxPool", **OF_TENSORFLOW),
)  # fmt: skip
def max_pool2d(
    x: Tensor,
    pool: Pair,
    strides: MaybePair = None,
    padding: Padding = "VALID",
    data_format: Layout = "NHWC",
    ceil_mode: bool = False,
    dilations: Pair = 1,
) -> Any:
    """The largest entry in each window; the first of equals takes the gradient, and NaN wins."""
    rows, columns = _windows(x.shape, pool, strides, padding, data_format, ceil_mode, dilations)
    image = channels_last(x, data_format)
    patches = extract_patches(image, rows, columns)
    return from_channels_last(max_pool_patches(patches, image, rows, columns), data_format)


@tensor_operator(
    kind="window",
    examples=[
        example((1, 4, 4, 1), pool=2), example((1, 1, 5, 4), pool=3, strides=2, padding="SAME", data_format="NCHW"),
        example((1, 5, 5, 1), pool=2, ceil_mode=True, count_include_pad=True, padding=1),
        example((3, 3, 1), pool=2, padding=[1, 0, 1, 1], strides=1),
    ],
    onnx=Onnx("AveragePool", **OF_ONNX, dilations=Attribute("dilations", (1, 1), since=19),
              count_include_pad=Attribute("count_include_pad", 0, to_bool), harmless=("auto_pad",)),
    tensorflow=TensorFlow("AvgPool", **OF_TENSORFLOW),
)  # fmt: skip
def avg_pool2d(
    x: Tensor,
    pool: Pair,
    strides: MaybePair = None,
    padding: Padding = "VALID",
    data_format: Layout = "NHWC",
    count_include_pad: bool = False,
    ceil_mode: bool = False,
    dilations: Pair = 1,
) -> Any:
    """The mean of each window; padding counts only if asked for."""
    rows, columns = _windows(x.shape, pool, strides, padding, data_format, ceil_mode, dilations)
    image = channels_last(x, data_format)
    in_rows = rows.count_entries(image.shape[-3], count_include_pad)
    in_columns = columns.count_entries(image.shape[-2], count_include_pad)
    counts = np.maximum(np.outer(in_rows, in_columns), 1)  # 0 of a window in the padding
    patches = extract_patches(image, rows, columns)
    if (counts == rows.size * columns.size).all():
        return from_channels_last(reductions_api.mean(patches, WINDOW_AXES), data_format)
    mean = reductions_api.sum(patches, WINDOW_AXES) * LeafNode.constant(1.0 / counts[:, :, None])
    return from_channels_last(mean, data_format)


@tensor_operator(
    kind="window", domain=(0.2, 1.5),
    examples=[example((1, 4, 4, 1), pool=2), example((1, 3, 3, 1), pool=2, p=3.0, strides=1, padding="SAME")],
    onnx=Onnx("LpPool", p=Attribute("p", 2), dilations=Attribute("dilations", (1, 1), since=18),
              harmless=("auto_pad",), **OF_ONNX | {"ceil_mode": Attribute("ceil_mode", 0, to_bool, since=18)}),
)  # fmt: skip
def lp_pool2d(
    x: Tensor,
    pool: Pair,
    strides: MaybePair = None,
    padding: Padding = "VALID",
    data_format: Layout = "NHWC",
    p: Positive = 2.0,
    ceil_mode: bool = False,
    dilations: Pair = 1,
) -> Any:
    """(sum of |x|**p)**(1/p) of each window."""
    rows, columns = _windows(x.shape, pool, strides, padding, data_format, ceil_mode, dilations)
    image = channels_last(x, data_format)
    powers = extract_patches(_power(image, p), rows, columns)
    return from_channels_last(_root(reductions_api.sum(powers, WINDOW_AXES), p), data_format)


def _power(x: TensorNode, p: float) -> TensorNode:
    return map_entries(lambda a: pow(a if p % 2 == 0 else magnitude(a), p), x)


def _root(x: TensorNode, p: float) -> TensorNode:
    return map_entries(lambda a: where(a, pow(a, 1.0 / p), 0.0), x)  # gradient 0 at 0, as of norms, instead of NaN


# --- global pooling -----------------------------------------------------------


def _spatial_axes(x: TensorNode, data_format: str) -> list[int]:
    image_extents(x.shape, data_format)  # raises ShapeError for too few axes
    return [x.rank - 3, x.rank - 2] if data_format == "NHWC" else [x.rank - 2, x.rank - 1]


# Examples of pooling over whole images.
WHOLE = [example((1, 2, 3, 2)), example((2, 2, 3), data_format="NCHW")]


@tensor_operator(kind="window", examples=WHOLE, onnx=Onnx("GlobalAveragePool", data_format=Fixed("NCHW")))
def global_avg_pool2d(x: Tensor, data_format: Layout = "NHWC") -> Any:
    """The mean of each channel."""
    return reductions_api.mean(x, _spatial_axes(x, data_format), True)


@tensor_operator(kind="window", smooth=False, examples=WHOLE, onnx=Onnx("GlobalMaxPool", data_format=Fixed("NCHW")))
def global_max_pool2d(x: Tensor, data_format: Layout = "NHWC") -> Any:
    """The largest entry of each channel."""
    return reductions_api.make_reduction(x, "maximum", _spatial_axes(x, data_format), True)


@tensor_operator(
    kind="window", domain=(0.2, 1.5), examples=[*WHOLE, example((1, 2, 2, 1), p=3.0)],
    onnx=Onnx("GlobalLpPool", p=Attribute("p", 2), data_format=Fixed("NCHW")),
)  # fmt: skip
def global_lp_pool2d(x: Tensor, data_format: Layout = "NHWC", p: Positive = 2.0) -> Any:
    """(sum of |x|**p)**(1/p) of each channel."""
    return _root(reductions_api.sum(_power(x, p), _spatial_axes(x, data_format), True), p)


# --- dilation -----------------------------------------------------------------


@tensor_operator(
    kind="window",
    smooth=False,
    examples=[example((1, 3, 3, 2), (2, 2, 2)), example((1, 5, 4, 1), (2, 2, 1), strides=2, rates=2, padding="SAME")],
    tensorflow=TensorFlow(
        "Dilation2D",
        strides=Attribute("strides", adapt=spatial_pair),
        rates=Attribute("rates", adapt=spatial_pair),
        padding=Attribute("padding", adapt=adapt_tf_padding),
    ),
)
def dilation2d(x: Tensor, w: Tensor, strides: Pair = 1, rates: Pair = 1, padding: Padding = "VALID") -> Any:
    """The largest of x + w in each window: a morphological dilation. w: (kh, kw, C)."""
    if w.rank != 3 or image_extents(x.shape, "NHWC")[2] != w.shape[2]:
        raise ShapeError(f"w has axes (kh, kw, channels of x), not shape {w.shape} beside {x.shape}.")
    rows, columns = make_windows(x.shape[-3:], w.shape, strides, padding, rates)
    patches = extract_patches(x, rows, columns)
    ids = range(1, patches.rank + 1)
    weighed = LinearNode(OpType.add, ids, ids, (x.rank - 1, x.rank + 1, x.rank + 2), patches, w)
    return max_pool_patches(weighed, x, rows, columns)
