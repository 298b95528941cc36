"""Pooling operators over windows of images (max, average, Lp, global), and morphological dilation."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...core.catalogue import abs as magnitude
from ...core.catalogue import pow, where
from ...errors import ShapeError
from .. import reduce
from ..base import TensorNode
from ..nodes import LeafNode, LinearNode, OpType, TransformNode
from ..sliding import (
    SlidingWindow,
    channels_back,
    channels_last,
    extract_patches,
    largest,
    make_image_shape,
    sides,
    window,
)
from .examples import example
from .kinds import entry
from .mapping import Attribute, Fixed, Onnx, TensorFlow, padded_as, padded_by, spatial, truth
from .moves import Extents
from .properties import Layout, MaybePair, Padding, Pair, Positive, Tensor
from .row import check_size
from .table import tensor_operator

OF_ONNX: dict[str, Any] = {
    "pool": Attribute("kernel_shape"),
    "strides": Attribute("strides", (1, 1)),  # ONNX's default is 1, ours the pool size
    "padding": Attribute("pads", (0, 0, 0, 0), padded_by),
    "data_format": Fixed("NCHW"),
    "ceil_mode": Attribute("ceil_mode", 0, truth, since=10),
}
OF_TENSORFLOW: dict[str, Any] = {
    "pool": Attribute("ksize", adapt=spatial),
    "strides": Attribute("strides", adapt=spatial),
    "padding": Attribute("padding", adapt=padded_as),
    "data_format": Attribute("data_format", "NHWC"),
    "harmless": ("explicit_paddings",),
}


def _windows(
    x: Extents, pool: Any, strides: Any, padding: Any, data_format: str, ceil_mode: bool, dilations: Any
) -> list[SlidingWindow]:
    image, steps = sides(x, data_format), pool if strides is None else strides
    windows = [
        window(image[side], pool[side], steps[side], padding, dilations[side], side, ceil_mode) for side in (0, 1)
    ]
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
    return channels_back(largest(extract_patches(image, rows, columns), image, rows, columns), data_format)


def _total(image: TensorNode, rows: SlidingWindow, columns: SlidingWindow, alpha: float = 1.0) -> TensorNode:
    """Sum pooling, times alpha, of an image with channels last."""
    patches = extract_patches(image, rows, columns)
    lead = tuple(range(1, image.rank - 2))
    p, q, c = range(image.rank - 2, image.rank + 1)
    return TransformNode((*lead, p, q, c), (*lead, p, -1, q, -2, c), patches, alpha)


@tensor_operator(
    kind="window",
    examples=[
        example((1, 4, 4, 1), pool=2), example((1, 1, 5, 4), pool=3, strides=2, padding="SAME", data_format="NCHW"),
        example((1, 5, 5, 1), pool=2, ceil_mode=True, count_include_pad=True, padding=1),
        example((3, 3, 1), pool=2, padding=[1, 0, 1, 1], strides=1),
    ],
    onnx=Onnx("AveragePool", **OF_ONNX, dilations=Attribute("dilations", (1, 1), since=19),
              count_include_pad=Attribute("count_include_pad", 0, truth), harmless=("auto_pad",)),
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
    seen = [
        axis_window.counts(image.shape[axis], count_include_pad) for axis_window, axis in ((rows, -3), (columns, -2))
    ]
    counts, window_size = np.maximum(np.outer(*seen), 1), rows.size * columns.size  # mean of padding only: 0
    if (counts == window_size).all():
        return channels_back(_total(image, rows, columns, 1.0 / window_size), data_format)
    mean = _total(image, rows, columns) * LeafNode.constant(1.0 / counts[:, :, None])
    return channels_back(mean, data_format)


@tensor_operator(
    kind="window", domain=(0.2, 1.5),
    examples=[example((1, 4, 4, 1), pool=2), example((1, 3, 3, 1), pool=2, p=3.0, strides=1, padding="SAME")],
    onnx=Onnx("LpPool", p=Attribute("p", 2), dilations=Attribute("dilations", (1, 1), since=18),
              harmless=("auto_pad",), **OF_ONNX | {"ceil_mode": Attribute("ceil_mode", 0, truth, since=18)}),
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
    return channels_back(_root(_total(_power(image, p), rows, columns), p), data_format)


def _power(x: TensorNode, p: float) -> TensorNode:
    return entry(lambda a: pow(a if p % 2 == 0 else magnitude(a), p), x)


def _root(x: TensorNode, p: float) -> TensorNode:
    return entry(lambda a: where(a, pow(a, 1.0 / p), 0.0), x)  # gradient 0 at 0, as of norms, instead of NaN


# --- global pooling -----------------------------------------------------------


def _pooled_whole(x: Extents, data_format: str) -> Extents:
    return make_image_shape(x, 1, 1, sides(x, data_format)[2], data_format)


def _space(x: TensorNode, data_format: str) -> list[int]:
    return [x.rank - 3, x.rank - 2] if data_format == "NHWC" else [x.rank - 2, x.rank - 1]


WHOLE = [example((1, 2, 3, 2)), example((2, 2, 3), data_format="NCHW")]


@tensor_operator(
    kind="window", shape=_pooled_whole, examples=WHOLE, onnx=Onnx("GlobalAveragePool", data_format=Fixed("NCHW"))
)
def global_avg_pool2d(x: Tensor, data_format: Layout = "NHWC") -> Any:
    """The mean of each channel."""
    return reduce.mean(x, _space(x, data_format), True)


@tensor_operator(
    kind="window", shape=_pooled_whole, smooth=False, examples=WHOLE,
    onnx=Onnx("GlobalMaxPool", data_format=Fixed("NCHW")),
)  # fmt: skip
def global_max_pool2d(x: Tensor, data_format: Layout = "NHWC") -> Any:
    """The largest entry of each channel."""
    return reduce.over(x, "maximum", _space(x, data_format), True)


@tensor_operator(
    kind="window", shape=_pooled_whole, domain=(0.2, 1.5), examples=[*WHOLE, example((1, 2, 2, 1), p=3.0)],
    onnx=Onnx("GlobalLpPool", p=Attribute("p", 2), data_format=Fixed("NCHW")),
)  # fmt: skip
def global_lp_pool2d(x: Tensor, data_format: Layout = "NHWC", p: Positive = 2.0) -> Any:
    """(sum of |x|**p)**(1/p) of each channel."""
    return _root(reduce.sum(_power(x, p), _space(x, data_format), True), p)


# --- dilation -----------------------------------------------------------------


def _infer_dilation_shape(x: Extents, w: Extents, strides: Any, rates: Any, padding: Any) -> Extents:
    if len(w) != 3 or sides(x, "NHWC")[2] != w[2]:
        raise ShapeError(f"w has axes (kh, kw, channels of x), not shape {w} beside {x}.")
    rows, columns = (window(x[side - 3], w[side], strides[side], padding, rates[side], side) for side in (0, 1))
    return make_image_shape(x, rows.out, columns.out, w[2], "NHWC")


@tensor_operator(
    kind="window", shape=_infer_dilation_shape, smooth=False,
    examples=[example((1, 3, 3, 2), (2, 2, 2)), example((1, 5, 4, 1), (2, 2, 1), strides=2, rates=2, padding="SAME")],
    tensorflow=TensorFlow("Dilation2D", strides=Attribute("strides", adapt=spatial),
                          rates=Attribute("rates", adapt=spatial), padding=Attribute("padding", adapt=padded_as)),
)  # fmt: skip
def dilation2d(x: Tensor, w: Tensor, strides: Pair = 1, rates: Pair = 1, padding: Padding = "VALID") -> Any:
    """The largest of x + w in each window: a morphological dilation. w: (kh, kw, C)."""
    rows, columns = (
        window(x.shape[side - 3], w.shape[side], strides[side], padding, rates[side], side) for side in (0, 1)
    )
    patches = extract_patches(x, rows, columns)
    ids = range(1, patches.rank + 1)
    weighed = LinearNode(OpType.add, ids, ids, (x.rank - 1, x.rank + 1, x.rank + 2), patches, w)
    return largest(weighed, x, rows, columns)
