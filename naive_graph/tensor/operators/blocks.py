"""Operators that move blocks of an image to channels or the batch: space_to_depth, space_to_batch, and their inverses.

With block 2, space_to_depth makes of an image (4, 6, C) one of (2, 3, 4 C): each pixel holds a block of four. All are
rearrangements: NumPy rearranges an array of flat indices in the same way, and that is the table of a gather.
"""

from __future__ import annotations

from math import prod
from typing import Annotated, Any

import numpy as np

from ...errors import ShapeError
from ..slicing import flat_indices, gather_flat
from .examples import example
from .mapping import REQUIRED, Attribute, Fixed, Input, Onnx, TensorFlow, both_sides
from .moves import Extents, movement_operator
from .properties import Layout, Pairs, Size, Tensor, Wholes, one_of


def _channels_last_indices(x: Extents, block: int, data_format: str, to_depth: bool) -> Any:
    """Flat indices of the image's entries, as an array with channels last. Raises ShapeError if blocks do not fit."""
    if len(x) != 4:
        raise ShapeError(f"x has shape {x}. It takes images of four axes, in the order {data_format}.")
    table = flat_indices(x) if data_format == "NHWC" else flat_indices(x).transpose(0, 2, 3, 1)
    _, h, w, c = table.shape
    if (h % block or w % block) if to_depth else c % block**2:
        raise ShapeError(f"block={block} does not divide shape {x}. Choose one that does.")
    return table


def _from_channels_last(table: Any, data_format: str) -> Any:
    return table if data_format == "NHWC" else table.transpose(0, 3, 1, 2)


@movement_operator(
    example((1, 2, 1, 8), block=2), example((1, 8, 1, 2), block=2, data_format="NCHW"),
    example((1, 8, 1, 2), block=2, data_format="NCHW", mode="CRD"),
    onnx=Onnx("DepthToSpace", block=Attribute("blocksize"), data_format=Fixed("NCHW"),
              mode=(Fixed("DCR", until=10), Attribute("mode", "DCR", since=11))),
    tensorflow=TensorFlow("DepthToSpace", block=Attribute("block_size"), data_format=Attribute("data_format", "NHWC")),
)  # fmt: skip
def depth_to_space(
    x: Tensor, block: Size, data_format: Layout = "NHWC", mode: Annotated[str, one_of("DCR", "CRD")] = "DCR"
) -> Any:
    """Rearrange channels into spatial blocks; mode: whether the block index comes first (DCR) or last in a channel."""
    table = _channels_last_indices(x.shape, block, data_format, to_depth=False)
    n, h, w, c = table.shape
    if mode == "DCR":
        table = table.reshape(n, h, w, block, block, c // block**2).transpose(0, 1, 3, 2, 4, 5)
    else:
        table = table.reshape(n, h, w, c // block**2, block, block).transpose(0, 1, 4, 2, 5, 3)
    return gather_flat(x, _from_channels_last(table.reshape(n, h * block, w * block, c // block**2), data_format))


@movement_operator(
    example((1, 4, 2, 2), block=2), example((1, 2, 4, 2), block=2, data_format="NCHW"),
    onnx=Onnx("SpaceToDepth", block=Attribute("blocksize"), data_format=Fixed("NCHW"), required_values={"mode": "DCR"}),
    tensorflow=TensorFlow("SpaceToDepth", block=Attribute("block_size"), data_format=Attribute("data_format", "NHWC")),
)  # fmt: skip
def space_to_depth(x: Tensor, block: Size, data_format: Layout = "NHWC") -> Any:
    """Rearrange spatial blocks into channels: the inverse of depth_to_space in mode DCR."""
    table = _channels_last_indices(x.shape, block, data_format, to_depth=True)
    n, h, w, c = table.shape
    table = table.reshape(n, h // block, block, w // block, block, c).transpose(0, 1, 3, 2, 4, 5)
    return gather_flat(x, _from_channels_last(table.reshape(n, h // block, w // block, c * block * block), data_format))


@movement_operator(
    example((4, 1, 2, 1), block=[2, 2], crops=[[0, 0], [1, 0]]), example((4, 2), block=[2], crops=[[0, 1]]),
    also=["batch_to_space"], tensorflow=[
        TensorFlow("BatchToSpaceND", block=Input(1), crops=Input(2)),
        TensorFlow("BatchToSpace", block=Attribute("block_size", REQUIRED, both_sides), crops=Input(1)),
    ],
)  # fmt: skip
def batch_to_space_nd(x: Tensor, block: Wholes, crops: Pairs) -> Any:
    """Rearrange batch entries into spatial blocks, then crop."""
    m, shape = len(block), x.shape
    if len(crops) != m or len(shape) < m + 1 or shape[0] % prod(block):
        raise ShapeError(f"block={list(block)} and crops={crops} do not fit shape {shape}: a pair and a divisor each.")
    inner_extents = [extent * size - sum(crop) for extent, size, crop in zip(shape[1:], block, crops)]
    if min(inner_extents) < 1 or min(min(crop) for crop in crops) < 0:
        raise ShapeError(f"crops={crops} leave nothing of shape {shape}. Crop less.")
    table = flat_indices(shape).reshape(*block, shape[0] // prod(block), *shape[1:])
    inner = [axis for position in range(m) for axis in (m + 1 + position, position)]
    table = table.transpose([m, *inner, *range(2 * m + 1, m + len(shape))])
    extents = [extent * size for extent, size in zip(shape[1:], block)]
    images = table.reshape(shape[0] // prod(block), *extents, *shape[m + 1 :])
    crop_slices = [np.s_[before : images.shape[position + 1] - after] for position, (before, after) in enumerate(crops)]
    return gather_flat(x, images[(np.s_[:], *crop_slices)])


def _infer_batch_shape(x: Extents, block: Extents, paddings: Any) -> Extents:
    m = len(block)
    if len(paddings) != m or len(x) < m + 1 or min(block) < 1 or min(min(pair) for pair in paddings) < 0:
        raise ShapeError(f"block={list(block)} and paddings={paddings} do not fit shape {x}: a pair for each.")
    inner = [extent + sum(pair) for extent, pair in zip(x[1:], paddings)]
    if any(extent % b for extent, b in zip(inner, block)):
        raise ShapeError(f"block={list(block)} does not divide the padded extents {inner}. Pad more.")
    return (x[0] * prod(block), *(extent // b for extent, b in zip(inner, block)), *x[m + 1 :])


@movement_operator(
    example((1, 2, 3, 1), block=[2, 2], paddings=[[0, 0], [1, 0]]), example((2, 3), block=[2], paddings=[[0, 1]]),
    shape=_infer_batch_shape, also=["space_to_batch"],
    tensorflow=[
        TensorFlow("SpaceToBatchND", block=Input(1), paddings=Input(2)),
        TensorFlow("SpaceToBatch", block=Attribute("block_size", REQUIRED, both_sides), paddings=Input(1)),
    ],
)  # fmt: skip
def space_to_batch_nd(x: Tensor, block: Wholes, paddings: Pairs) -> Any:
    """Pad with zeros, then rearrange spatial blocks into the batch."""
    m, shape = len(block), x.shape
    pad_widths = [(0, 0), *paddings, *[(0, 0)] * (len(shape) - m - 1)]
    table = np.pad(flat_indices(shape), pad_widths, constant_values=-1)
    inner = [extent for position, b in enumerate(block) for extent in (table.shape[position + 1] // b, b)]
    table = table.reshape(shape[0], *inner, *shape[m + 1 :])
    order = [*range(2, 2 * m + 1, 2), 0, *range(1, 2 * m + 1, 2), *range(2 * m + 1, table.ndim)]
    return gather_flat(x, table.transpose(order).reshape(_infer_batch_shape(shape, block, paddings)))
