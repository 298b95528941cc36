"""Convolution and pooling: contractions with selections that slide a window over an image."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..core.catalogue import greater, sign, where
from ..errors import ShapeError
from ..graph.graph import scope
from .arithmetic import as_tensor, elementwise, transpose
from .base import TensorNode
from .function import function_of
from .nodes import LeafNode, LinearNode, NonlinearNode, OpType, TransformNode
from .picks import pick, reshape

LAYOUTS = {"NHWC": (-3, -2, -1), "NCHW": (-2, -1, -3)}


class Window(NamedTuple):
    """How a window of `size` slides along one axis: out positions, step, zeros before it."""

    out: int
    size: int
    stride: int
    dilation: int
    before: int

    def over(self, node: TensorNode, axis: int) -> TensorNode:
        """The axis replaced by two: where the window stands, and where in it."""
        return pick(node, axis, (self.out, self.size), (self.stride, self.dilation), -self.before)

    def at(self, node: TensorNode, axis: int, place: int) -> TensorNode:
        """The axis replaced by the entries at one place of the window."""
        return pick(node, axis, (self.out,), (self.stride,), place * self.dilation - self.before)

    def inside(self, extent: int) -> np.ndarray:
        """For each position and place, whether it lies within the axis."""
        spots = np.arange(self.out)[:, None] * self.stride + np.arange(self.size) * self.dilation - self.before
        found: np.ndarray = (spots >= 0) & (spots < extent)
        return found


def conv2d(
    x: TensorNode,
    w: TensorNode,
    strides: int | Sequence[int] = 1,
    padding: str | int | Sequence[int] = "VALID",
    dilations: int | Sequence[int] = 1,
    groups: int = 1,
    data_format: str = "NHWC",
) -> TensorNode:
    """y[n,p,q,f] = sum over i,j,c of x[n, p s + i d, q s + j d, c] w[i,j,c,f]: cross-correlation.

    x: (N, H, W, C), or (H, W, C); with data_format "NCHW" the channels stand
    before the space. w: (kh, kw, C / groups, F). padding: "VALID", "SAME" (the
    odd cell at the end), "SAME_LOWER", a number, or [top, left, bottom, right].

    >>> x = LeafNode.constant(np.arange(1.0, 17.0).reshape(4, 4, 1))
    >>> w = LeafNode.constant([[[[1.0]], [[2.0]]], [[[3.0]], [[4.0]]]])
    >>> conv2d(x, w, strides=2).eval().reshape(2, 2).tolist()
    [[44.0, 64.0], [124.0, 144.0]]
    """
    x, w = as_tensor(x), as_tensor(w)
    if w.rank != 4:
        raise ShapeError(f"conv2d's w has axes (kh, kw, channels, filters), not shape {w.shape}.")
    with scope("conv2d"):
        image = _channels_last(x, data_format, "conv2d")
        rows, columns = _windows("conv2d", image, w.shape[:2], strides, padding, dilations)
        channels = image.shape[-1]
        if channels != w.shape[2] * groups or w.shape[3] % groups:
            raise ShapeError(
                f"conv2d: {x.label} has {channels} channels; w of shape {w.shape} takes {w.shape[2]} in each of "
                f"{groups} groups."
            )
        patches = columns.over(rows.over(image, image.rank - 3), image.rank - 1)  # ..., p, i, q, j, c
        return _channels_back(_contracted(patches, w, groups), data_format)


def _contracted(patches: TensorNode, w: TensorNode, groups: int) -> TensorNode:
    """Sum patches (..., p, i, q, j, c) times w (i, j, c, f) over i, j and c."""
    lead = patches.rank - 5
    if groups > 1:
        patches = reshape(patches, (*patches.shape[:-1], groups, patches.shape[-1] // groups))
        w = reshape(w, (*w.shape[:3], groups, w.shape[3] // groups))
    batch = tuple(range(1, lead + 1))
    p, q, g, f = range(lead + 1, lead + 5)
    i, j, c = -(lead + 5), -(lead + 6), -(lead + 7)
    group = (g,) if groups > 1 else ()
    y = LinearNode(
        OpType.mul, (*batch, p, q, *group, f), (*batch, p, i, q, j, *group, c), (i, j, c, *group, f), patches, w
    )
    return reshape(y, (*y.shape[:-2], y.shape[-2] * y.shape[-1])) if groups > 1 else y


def max_pool2d(
    x: TensorNode,
    pool: int | Sequence[int],
    strides: int | Sequence[int] | None = None,
    padding: str | int | Sequence[int] = "VALID",
    data_format: str = "NHWC",
) -> TensorNode:
    """The largest entry in each window; the first of equals takes the gradient, and NaN wins."""
    return _pooled("max_pool2d", x, pool, strides, padding, data_format, _largest)


def _pooled(
    who: str, x: Any, pool: Any, strides: Any, padding: Any, data_format: str,
    taken: Callable[[TensorNode, Window, Window], TensorNode],
) -> TensorNode:  # fmt: skip
    """What is taken of each window of an image with channels last."""
    x = as_tensor(x)
    with scope(who):
        image, size = _channels_last(x, data_format, who), _pair("pool", pool)
        windows = _windows(who, image, size, size if strides is None else strides, padding, 1)
        return _channels_back(taken(image, *windows), data_format)


def _largest(image: TensorNode, rows: Window, columns: Window) -> TensorNode:
    places = [
        _or_lowest(columns.at(rows.at(image, image.rank - 3, i), image.rank - 2, j), image, rows, columns, i, j)
        for i in range(rows.size)
        for j in range(columns.size)
    ]
    return NonlinearNode(function_of(_first_largest, len(places)), *places)


def _first_largest(first: Any, *rest: Any) -> Any:
    """A fold of "the next one if it is larger, or NaN"; sign(b) - sign(b) is 0, but NaN for NaN."""
    for each in rest:
        takes = greater(each, first) + sign(each) - sign(each)
        first = where(takes, each, first)
    return first


def _or_lowest(part: TensorNode, image: TensorNode, rows: Window, columns: Window, i: int, j: int) -> TensorNode:
    """The entries at one place of the window; -inf where that lies in the padding."""
    inside = np.outer(rows.inside(image.shape[-3])[:, i], columns.inside(image.shape[-2])[:, j])
    if inside.all():
        return part
    lowest = LeafNode.constant(np.where(inside, 0.0, -math.inf)[:, :, None])
    return elementwise(OpType.add, part, lowest)


def avg_pool2d(
    x: TensorNode,
    pool: int | Sequence[int],
    strides: int | Sequence[int] | None = None,
    padding: str | int | Sequence[int] = "VALID",
    data_format: str = "NHWC",
    count_include_pad: bool = False,
) -> TensorNode:
    """The mean of each window; padding counts only if asked for."""

    def mean(image: TensorNode, rows: Window, columns: Window) -> TensorNode:
        patches = columns.over(rows.over(image, image.rank - 3), image.rank - 1)
        lead = tuple(range(1, image.rank - 2))
        p, q, c = range(image.rank - 2, image.rank + 1)
        counts = np.outer(rows.inside(image.shape[-3]).sum(1), columns.inside(image.shape[-2]).sum(1))
        whole = rows.size * columns.size
        even = count_include_pad or (counts == whole).all()
        total = TransformNode((*lead, p, q, c), (*lead, p, -1, q, -2, c), patches, 1.0 / whole if even else 1.0)
        return total if even else total * LeafNode.constant(1.0 / counts[:, :, None])

    return _pooled("avg_pool2d", x, pool, strides, padding, data_format, mean)


# --- shapes -------------------------------------------------------------------


def _windows(
    who: str, image: TensorNode, size: Sequence[int], strides: Any, padding: Any, dilations: Any
) -> tuple[Window, Window]:
    """How the window slides along the rows and the columns of an image with channels last."""
    steps, spreads = _pair("strides", strides), _pair("dilations", dilations)
    found = []
    for axis in (0, 1):
        extent, reach = image.shape[axis - 3], (size[axis] - 1) * spreads[axis] + 1
        before, after = _padding(who, padding, axis, extent, reach, steps[axis])
        out = (extent + before + after - reach) // steps[axis] + 1
        if out < 1:
            raise ShapeError(f"{who}: a window that reaches {reach} does not fit into {extent} of {image.label}.")
        found.append(Window(out, size[axis], steps[axis], spreads[axis], before))
    return found[0], found[1]


def _padding(who: str, padding: Any, axis: int, extent: int, reach: int, stride: int) -> tuple[int, int]:
    """Zeros before and after one axis (0: rows, 1: columns)."""
    if padding == "VALID":
        return 0, 0
    if padding in ("SAME", "SAME_UPPER", "SAME_LOWER"):
        total = max((math.ceil(extent / stride) - 1) * stride + reach - extent, 0)
        less = total // 2
        return (total - less, less) if padding == "SAME_LOWER" else (less, total - less)
    pads = [padding] * 4 if isinstance(padding, int) else padding
    if isinstance(pads, (list, tuple)) and len(pads) == 4 and all(isinstance(each, int) and each >= 0 for each in pads):
        return pads[axis], pads[axis + 2]
    raise ShapeError(f'{who}: padding is "VALID", "SAME", a number, or [top, left, bottom, right], not {padding!r}.')


def _pair(what: str, value: Any) -> tuple[int, int]:
    pair = (value, value) if isinstance(value, int) else tuple(value) if isinstance(value, (list, tuple)) else ()
    if len(pair) != 2 or not all(isinstance(each, int) and not isinstance(each, bool) and each > 0 for each in pair):
        raise ShapeError(f"{what} is a number of at least 1, or two of them, not {value!r}.")
    return pair[0], pair[1]


def _channels_last(x: TensorNode, data_format: str, who: str) -> TensorNode:
    if data_format not in LAYOUTS:
        raise ShapeError(f'{who}: data_format is "NHWC" or "NCHW", not {data_format!r}.')
    if x.rank < 3:
        raise ShapeError(
            f"{who} takes images (height, width, channels), with axes before them for a batch, not {x.label}."
        )
    if data_format == "NHWC":
        return x
    lead = range(x.rank - 3)
    return transpose(x, *lead, x.rank - 2, x.rank - 1, x.rank - 3)


def _channels_back(y: TensorNode, data_format: str) -> TensorNode:
    return y if data_format == "NHWC" else transpose(y, *range(y.rank - 3), y.rank - 1, y.rank - 3, y.rank - 2)
