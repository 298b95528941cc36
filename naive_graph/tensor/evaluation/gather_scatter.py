"""Contractions with selections as gathers and scatter-adds on arrays, so that no 0/1 tensor is built.

Summing over the `axis` of a selection's index map gathers; summing over its `axes` scatters.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from ..base import size_of
from ..index import Shape
from ..sparse_selector import IndexMap
from .arrays import Array, convert_like, namespace


def gather(x: Array, axis: int, index_map: IndexMap, shape: Shape) -> Array:
    """Gather: replace one axis of x by the selection's `axes`; each of their positions reads one entry of x.

    shape: the selection's. Positions whose index is -1 are 0.
    """
    extents = [shape[each] for each in index_map.axes]
    if index_map.is_reshape(shape):
        return x.reshape((*x.shape[:axis], *extents, *x.shape[axis + 1 :]))
    if isinstance(x, np.ndarray) and index_map.table is None:
        return _gather_strided(x, axis, index_map, extents)
    indices = index_map.indices(shape)
    gathered = take(x, indices.clip(0).ravel(), axis).reshape((*x.shape[:axis], *extents, *x.shape[axis + 1 :]))
    if (indices >= 0).all():
        return gathered
    mask = (indices >= 0).astype(np.float64).reshape(extents + [1] * (x.ndim - axis - 1))
    return namespace(x).where(convert_like(x, mask) != 0, gathered, 0.0)


def _gather_strided(x: np.ndarray, axis: int, index_map: IndexMap, extents: list[int]) -> Array:
    """Gather as a strided view of x, or of x padded with zeros: no copy for each position of a sliding window."""
    reaches = [stride * (extent - 1) for stride, extent in zip(index_map.strides, extents)]
    low = index_map.offset + sum(reach for reach in reaches if reach < 0)
    high = index_map.offset + sum(reach for reach in reaches if reach > 0)
    before, after = max(0, -low), max(0, high - (x.shape[axis] - 1))
    if before or after:
        x = np.pad(x, [(before, after) if each == axis else (0, 0) for each in range(x.ndim)])
    start = x[(slice(None),) * axis + (slice(index_map.offset + before, None),)]
    steps = [stride * x.strides[axis] for stride in index_map.strides]
    strides = (*x.strides[:axis], *steps, *x.strides[axis + 1 :])
    shape = (*x.shape[:axis], *extents, *x.shape[axis + 1 :])
    return np.lib.stride_tricks.as_strided(start, shape, strides, writeable=False)


def take(x: Array, indices: Array, axis: int) -> Array:
    """The entries at these indices along an axis (NumPy's take)."""
    xp = namespace(x)
    if xp.__name__ == "torch":
        return x.index_select(axis, xp.as_tensor(indices, device=x.device))
    return xp.take(x, indices, axis=axis)


def scatter(x: Array, axes: tuple[int, ...], index_map: IndexMap, shape: Shape) -> Array:
    """Scatter-add: replace the index map's axes of x by the one axis that they index into, placed first.

    axes: those of x that are the index map's axes. shape: the selection's.
    """
    rest = [axis for axis in range(x.ndim) if axis not in axes]
    x = permute_axes(x, [*axes, *rest])
    others = tuple(x.shape[len(axes) :])
    size = shape[index_map.axis]
    if index_map.is_reshape(shape):
        return x.reshape((size, *others))
    indices = index_map.indices(shape)
    if isinstance(x, np.ndarray) and index_map.table is None and any(index_map.strides):
        return _overlap_add(x, index_map.strides, indices, size)
    return _scatter_add(x.reshape((size_of(x.shape[: len(axes)]), *others)), indices.ravel(), size)


def gather_batched(x: Array, index_map: IndexMap, shape: Shape, lead: Shape) -> Array:
    """A batched gather: the leading axes of x (of extents `lead`) are axes of the index map.

    See IndexMap.with_batch_axes.
    """
    return gather(x.reshape((shape[-1], *x.shape[len(lead) + 1 :])), 0, index_map, shape)


def scatter_batched(x: Array, axes: tuple[int, ...], index_map: IndexMap, shape: Shape, lead: Shape) -> Array:
    """A batched scatter: some of the index map's axes stay, as leading axes of the result (of extents `lead`).

    See IndexMap.with_batch_axes.
    """
    scattered = scatter(x, axes, index_map, shape)
    return scattered.reshape((*lead, shape[-1] // size_of(lead), *scattered.shape[1:]))


def _overlap_add(x: np.ndarray, strides: tuple[int, ...], indices: Array, size: int) -> Array:
    """Overlap-add of strided windows, one slice assignment for each line along the longest axis.

    The entries of such a line go to different positions, so a slice can add them at once.
    """
    longest = max((axis for axis, stride in enumerate(strides) if stride), key=indices.shape.__getitem__)
    last = len(strides) - 1
    x, indices = np.moveaxis(x, longest, last), np.moveaxis(indices, longest, last)
    lines = list(np.ndindex(*indices.shape[:last]))
    total = np.zeros_like(x[lines[0]], shape=(size, *x.shape[len(strides) :]))  # same memory layout as x
    for line in reversed(lines) if longest == 0 else lines:  # keeps the order of the terms of each sum
        inside = np.flatnonzero(indices[line] >= 0)
        if inside.size:
            ends, step = indices[line][inside[[0, -1]]], strides[longest]
            targets = slice(ends.min(), ends.max() + 1, abs(step))
            total[targets] += x[line][inside[0] : inside[-1] + 1][:: np.sign(step)]
    return total


def _scatter_add(x: Array, indices: Array, size: int) -> Array:
    """Scatter-add along the first axis by an index array (np.add.at); other libraries than NumPy gather in rounds."""
    if isinstance(x, np.ndarray):
        targets = indices[indices >= 0]
        sums = np.zeros((size, *x.shape[1:]))
        sums[targets] = -0.0  # a sum that starts from -0.0 leaves its first term as it is even if that is -0.0
        np.add.at(sums, targets, x[indices >= 0])
        return sums
    total: Any = None
    for present, sources in scatter_rounds(indices, size):
        mask = convert_like(x, present.astype(np.float64).reshape([size] + [1] * (x.ndim - 1)))
        gathered = take(x, sources, 0)
        term = namespace(x).where(mask != 0, gathered, 0.0)
        total = term if total is None else total + term
    return total


def scatter_rounds(indices: Array, size: int) -> Iterator[tuple[Array, Array]]:
    """A scatter as rounds of gathers: round k yields, for each target, whether a k-th source exists, and its index."""
    order = np.argsort(indices, kind="stable")
    order = order[indices[order] >= 0]
    counts = np.bincount(indices[order], minlength=size)
    starts = np.concatenate([[0], np.cumsum(counts)[:-1]])
    for rank in range(max(1, counts.max(initial=0))):
        present = counts > rank
        sources = np.zeros(size, dtype=np.int64)
        sources[present] = order[starts[present] + rank]
        yield present, sources


def permute_axes(x: Array, order: list[int]) -> Array:
    return x.permute(order) if hasattr(x, "permute") else x.transpose(order)
