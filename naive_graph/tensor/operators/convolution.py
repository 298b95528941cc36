"""Operators conv2d, depthwise_conv2d and conv2d_transpose, as contractions with sliding windows.

Axes: n image, (p, q) window, (i, j) position within the window, c channel, f filter; p s + i d is the row that
window p reads at i (stride s, dilation d).
"""

from __future__ import annotations

from typing import Annotated, Any

from ...errors import ShapeError
from ..arithmetic import elementwise
from ..base import ArrayKernel, TensorNode
from ..evaluation.convolve import Convolution, DepthwiseConvolution
from ..index import identity_ids
from ..nodes import LinearNode, OpType
from ..slicing import reshape
from ..sliding import SAME, channels_last, extract_patches, from_channels_last, image_extents, make_windows
from ..sparse_selector import IndexMap, SelectionNode
from .examples import example
from .mapping import (
    Attribute,
    Fixed,
    Input,
    Onnx,
    Permuted,
    TensorFlow,
    adapt_tf_padding,
    padded_by,
    rows_and_columns,
    spatial_pair,
)
from .moves import Extents
from .properties import Layout, Maybe, MaybePair, Padding, Pair, Size, Tensor, int_tuple
from .table import tensor_operator

OF_ONNX: dict[str, Any] = {
    "strides": Attribute("strides", (1, 1)),
    "padding": Attribute("pads", (0, 0, 0, 0), padded_by),
    "dilations": Attribute("dilations", (1, 1)),
    "groups": Attribute("group", 1),
    "data_format": Fixed("NCHW"),
    "harmless": ("kernel_shape", "auto_pad"),
}
OF_TENSORFLOW: dict[str, Any] = {
    "strides": Attribute("strides", adapt=spatial_pair),
    "padding": Attribute("padding", adapt=adapt_tf_padding),
    "dilations": Attribute("dilations", (1, 1, 1, 1), spatial_pair),
    "data_format": Attribute("data_format", "NHWC"),
    "harmless": ("use_cudnn_on_gpu", "explicit_paddings"),
}


def _check_bias(bias: TensorNode | None, filters: int) -> None:
    if bias is not None and bias.shape != (filters,):
        raise ShapeError(f"bias of shape {bias.shape} needs a number for each of {filters} filters.")


@tensor_operator(
    kind="window",
    examples=[
        example((1, 4, 4, 1), (2, 2, 1, 2)), example((1, 5, 4, 2), (3, 2, 1, 4), strides=2, padding="SAME", groups=2),
        example((1, 2, 5, 4), (2, 3, 2, 1), (1,), data_format="NCHW", dilations=(2, 1), padding=[1, 0, 0, 2]),
    ],
    onnx=Onnx("Conv", operands=[0, Permuted(1, (2, 3, 1, 0)), 2], **OF_ONNX),
    tensorflow=TensorFlow("Conv2D", groups=Fixed(1), **OF_TENSORFLOW),
)  # fmt: skip
def conv2d(
    x: Tensor,
    w: Tensor,
    strides: Pair = 1,
    padding: Padding = "VALID",
    dilations: Pair = 1,
    groups: Size = 1,
    data_format: Layout = "NHWC",
    bias: Maybe = None,
) -> Any:
    """y[n,p,q,f] = sum over i,j,c of x[n, p s + i d, q s + j d, c] w[i,j,c,f] (+ bias[f]): cross-correlation.

    x: (N, H, W, C), or (H, W, C); with data_format "NCHW" the channels stand
    before the space. w: (kh, kw, C / groups, F). padding: "VALID", "SAME" (the
    odd cell at the end), "SAME_LOWER", a number, or [top, left, bottom, right].

    >>> import numpy as np
    >>> from naive_graph.tensor import conv2d
    >>> x = np.arange(1.0, 17.0).reshape(4, 4, 1)
    >>> conv2d(x, [[[[1.0]], [[2.0]]], [[[3.0]], [[4.0]]]], strides=2).eval().reshape(2, 2).tolist()
    [[44.0, 64.0], [124.0, 144.0]]
    """
    if w.rank != 4:
        raise ShapeError(f"w has axes (kh, kw, channels, filters), not shape {w.shape}.")
    extents = image_extents(x.shape, data_format)
    if extents[2] != w.shape[2] * groups or w.shape[3] % groups:
        raise ShapeError(
            f"x has {extents[2]} channels; w of shape {w.shape} takes {w.shape[2]} in each of {groups} groups, whose "
            "number divides channels and filters."
        )
    _check_bias(bias, w.shape[3])
    rows, columns = make_windows(extents, w.shape, strides, padding, dilations)
    image = channels_last(x, data_format)
    y = _grouped_einsum(extract_patches(image, rows, columns), w, groups, "piqjc", "ijcf", "pqf")
    if w.shape[2] == 1 or groups == 1:
        kernel = (DepthwiseConvolution if groups > 1 else Convolution)(rows, columns, groups)
        y.direct = ArrayKernel((image, w), kernel.forward, kernel.back)
    return from_channels_last(y if bias is None else elementwise(OpType.add, y, bias), data_format)


def _grouped_einsum(x: TensorNode, w: TensorNode, groups: int, of_x: str, of_w: str, of_y: str) -> TensorNode:
    """A grouped einsum of x and w: the letters name their last axes (of_y those of the result).

    With groups > 1 each group of channels is contracted with its own filters.
    """
    if groups > 1:
        x, w = (reshape(node, (*node.shape[:-1], groups, node.shape[-1] // groups)) for node in (x, w))
        of_x, of_w, of_y = (f"{letters[:-1]}g{letters[-1]}" for letters in (of_x, of_w, of_y))
    batch = identity_ids(x.rank - len(of_x))
    ids = {letter: len(batch) + place for place, letter in enumerate(of_y, 1)}
    for letter in of_x:
        ids.setdefault(letter, -(len(batch) + len(ids) + 1))
    dst, left, right = ([ids[letter] for letter in letters] for letters in (of_y, of_x, of_w))
    y = LinearNode(OpType.mul, (*batch, *dst), (*batch, *left), right, x, w)
    return reshape(y, (*y.shape[:-2], y.shape[-2] * y.shape[-1])) if groups > 1 else y


# --- depthwise ----------------------------------------------------------------


@tensor_operator(
    kind="window",
    examples=[example((1, 3, 3, 2), (2, 2, 2, 2)), example((3, 2, 2), (2, 1, 2, 1), strides=2)],
    tensorflow=TensorFlow("DepthwiseConv2dNative", **OF_TENSORFLOW),
)  # fmt: skip
def depthwise_conv2d(
    x: Tensor, w: Tensor, strides: Pair = 1, padding: Padding = "VALID", dilations: Pair = 1,
    data_format: Layout = "NHWC",
) -> Any:  # fmt: skip
    """Depthwise convolution: each channel has its own filters. w: (kh, kw, C, multiplier)."""
    channels = image_extents(x.shape, data_format)[2]
    if w.rank != 4 or w.shape[2] != channels:
        raise ShapeError(f"w has axes (kh, kw, channels of x, multiplier), not shape {w.shape} beside {x.shape}.")
    filters = reshape(w, (*w.shape[:2], 1, channels * w.shape[3]))
    return conv2d.function(x, filters, strides, padding, dilations, channels, data_format)


# --- transposed ---------------------------------------------------------------


def find_crops_and_extents(
    x: Extents, w: Extents, strides: Any, padding: Any, dilations: Any, groups: int, data_format: str, *,
    output_padding: Any, output_shape: Any,
) -> list[tuple[int, int]]:  # fmt: skip
    """For rows and columns of a transposed convolution: how much is cropped before, and the result's extent.

    Raises ShapeError if something does not fit.
    """
    if len(w) != 4 or image_extents(x, data_format)[2] != w[3] or w[3] % groups:
        raise ShapeError(
            f"w has axes (kh, kw, filters / groups, channels of x), not shape {w} beside {x} in {groups} groups."
        )
    crops_and_extents = []
    for side in (0, 1):
        extent, reach = image_extents(x, data_format)[side], (w[side] - 1) * dilations[side] + 1
        full_extent = (extent - 1) * strides[side] + reach + output_padding[side]
        if output_shape is not None or padding in SAME:
            out = extent * strides[side] if output_shape is None else output_shape[side]
            total = max(full_extent - out, 0) if padding in SAME or output_shape is not None else 0
            before = total - total // 2 if padding == "SAME_LOWER" else total // 2
        else:
            before, after = (0, 0) if padding == "VALID" else (padding[side], padding[side + 2])
            out = full_extent - before - after
        if out < 1:
            raise ShapeError(f"padding={padding!r} leaves nothing of an extent of {full_extent}. Cut less.")
        crops_and_extents.append((before, out))
    return crops_and_extents


@tensor_operator(
    kind="window",
    examples=[
        example((1, 2, 2, 1), (2, 2, 2, 1), strides=2),
        example((1, 2, 3, 2), (3, 2, 1, 2), (2,), groups=2, strides=(2, 1)),
        example((1, 2, 2, 3), (3, 3, 2, 2), data_format="NCHW", padding=[1, 1, 1, 1], output_padding=1, strides=2),
        example((2, 2, 1), (3, 3, 1, 1), padding="SAME", strides=2), example((2, 2, 1), (2, 2, 1, 1), dilations=2),
    ],
    onnx=Onnx("ConvTranspose", operands=[0, Permuted(1, (2, 3, 1, 0)), 2], **OF_ONNX,
              output_padding=Attribute("output_padding", (0, 0)), output_shape=Attribute("output_shape", None)),
    tensorflow=TensorFlow("Conv2DBackpropInput", operands=[2, 1], output_shape=Input(0, adapt=rows_and_columns),
                          groups=Fixed(1), **OF_TENSORFLOW),
)  # fmt: skip
def conv2d_transpose(
    x: Tensor,
    w: Tensor,
    strides: Pair = 1,
    padding: Padding = "VALID",
    dilations: Pair = 1,
    groups: Size = 1,
    data_format: Layout = "NHWC",
    bias: Maybe = None,
    *,
    output_padding: Annotated[Any, int_tuple(2, 0)] = 0,
    output_shape: MaybePair = None,
) -> Any:
    """Transposed convolution: scatter each entry over its window (the adjoint of conv2d).

    y[n, p s + i d, q s + j d, f] sums x[n,p,q,c] w[i,j,f,c]. w: (kh, kw, F / groups, C).
    padding is cut off; output_padding is added at the end.
    """
    crops = find_crops_and_extents(
        x.shape, w.shape, strides, padding, dilations, groups, data_format,
        output_padding=output_padding, output_shape=output_shape,
    )  # fmt: skip
    _check_bias(bias, w.shape[2] * groups)
    image = channels_last(x, data_format)
    y = _grouped_einsum(image, w, groups, "pqc", "ijfc", "piqjf")
    for axis, side in ((y.rank - 5, 0), (y.rank - 4, 1)):
        before, out = crops[side]
        y = add_overlapping_windows(y, axis, IndexMap((0, 1), 2, (strides[side], dilations[side]), -before), out)
    return from_channels_last(y if bias is None else elementwise(OpType.add, y, bias), data_format)


def add_overlapping_windows(y: TensorNode, axis: int, index_map: IndexMap, out: int) -> TensorNode:
    """Overlap-add of windows: two axes (window, position within it) become the axis that the window slides along.

    axis: the first of the two. out: the extent of the new axis.
    """
    ids = [*range(1, axis + 1), -(axis + 1), -(axis + 2), *range(axis + 3, y.rank + 1)]
    new = y.rank + 1
    selection = SelectionNode((y.shape[axis], y.shape[axis + 1], out), [index_map])
    dst = [*ids[:axis], new, *ids[axis + 2 :]]
    return LinearNode(OpType.mul, dst, ids, (-(axis + 1), -(axis + 2), new), y, selection)
