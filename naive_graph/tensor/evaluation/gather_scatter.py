"""Contractions with selections as gathers and scatter-adds on arrays, so that no 0/1 tensor is built.

Summing over the `axis` of a selection's index map gathers; summing over its `axes` scatters.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from ..base import size_of
from ..index import Shape
from ..selection import Picker
from .arrays import Array, like, namespace


def gather(x: Array, axis: int, picker: Picker, shape: Shape) -> Array:
    """Gather: replace one axis of x by the selection's `axes`; each of their positions reads one entry of x.

    shape: the selection's. Positions whose index is -1 are 0.
    """
    extents = [shape[each] for each in picker.axes]
    if picker.is_reshape(shape):
        return x.reshape((*x.shape[:axis], *extents, *x.shape[axis + 1 :]))
    if isinstance(x, np.ndarray) and picker.table is None:
        return _gather_strided(x, axis, picker, extents)
    picks = picker.picks(shape)
    taken = take(x, picks.clip(0).ravel(), axis).reshape((*x.shape[:axis], *extents, *x.shape[axis + 1 :]))
    if (picks >= 0).all():
        return taken
    mask = (picks >= 0).astype(np.float64).reshape(extents + [1] * (x.ndim - axis - 1))
    return namespace(x).where(like(x, mask) != 0, taken, 0.0)


def _gather_strided(x: np.ndarray, axis: int, picker: Picker, extents: list[int]) -> Array:
    """Gather as a strided view of x, or of x padded with zeros: no copy for each position of a sliding window."""
    reaches = [stride * (extent - 1) for stride, extent in zip(picker.strides, extents)]
    low = picker.offset + sum(reach for reach in reaches if reach < 0)
    high = picker.offset + sum(reach for reach in reaches if reach > 0)
    before, after = max(0, -low), max(0, high - (x.shape[axis] - 1))
    if before or after:
        x = np.pad(x, [(before, after) if each == axis else (0, 0) for each in range(x.ndim)])
    start = x[(slice(None),) * axis + (slice(picker.offset + before, None),)]
    steps = [stride * x.strides[axis] for stride in picker.strides]
    strides = (*x.strides[:axis], *steps, *x.strides[axis + 1 :])
    return np.lib.stride_tricks.as_strided(
        start, (*x.shape[:axis], *extents, *x.shape[axis + 1 :]), strides, writeable=False
    )


def take(x: Array, places: Array, axis: int) -> Array:
    """The entries at these indices along an axis (NumPy's take)."""
    xp = namespace(x)
    if xp.__name__ == "torch":
        return x.index_select(axis, xp.as_tensor(places, device=x.device))
    return xp.take(x, places, axis=axis)


def scatter(x: Array, axes: tuple[int, ...], picker: Picker, shape: Shape) -> Array:
    """Scatter-add: replace the picker's axes of x by the one axis that they index into, placed first.

    axes: those of x that are the picker's axes. shape: the selection's.
    """
    rest = [axis for axis in range(x.ndim) if axis not in axes]
    x = permute_axes(x, [*axes, *rest])
    others = tuple(x.shape[len(axes) :])
    size = shape[picker.axis]
    if picker.is_reshape(shape):
        return x.reshape((size, *others))
    picks = picker.picks(shape)
    if isinstance(x, np.ndarray) and picker.table is None and any(picker.strides):
        return _overlap_add(x, picker.strides, picks, size)
    return _scatter_add(x.reshape((size_of(x.shape[: len(axes)]), *others)), picks.ravel(), size)


def gather_along(x: Array, picker: Picker, shape: Shape, lead: Shape) -> Array:
    """A batched gather: the leading axes of x (of extents `lead`) are among the picker's axes; see Picker.along."""
    return gather(x.reshape((shape[-1], *x.shape[len(lead) + 1 :])), 0, picker, shape)


def scatter_along(x: Array, axes: tuple[int, ...], picker: Picker, shape: Shape, lead: Shape) -> Array:
    """A batched scatter: some of the picker's axes stay, as leading axes of the result; see Picker.along."""
    found = scatter(x, axes, picker, shape)
    return found.reshape((*lead, shape[-1] // size_of(lead), *found.shape[1:]))


def _overlap_add(x: np.ndarray, strides: tuple[int, ...], picks: Array, size: int) -> Array:
    """Overlap-add of strided windows, one slice assignment for each line along the longest axis.

    The entries of such a line go to different positions, so a slice can add them at once.
    """
    longest = max((axis for axis, stride in enumerate(strides) if stride), key=picks.shape.__getitem__)
    last = len(strides) - 1
    x, picks = np.moveaxis(x, longest, last), np.moveaxis(picks, longest, last)
    lines = list(np.ndindex(*picks.shape[:last]))
    total = np.zeros_like(x[lines[0]], shape=(size, *x.shape[len(strides) :]))  # same memory layout as x
    for line in reversed(lines) if longest == 0 else lines:  # keeps the order of the terms of each sum
        inside = np.flatnonzero(picks[line] >= 0)
        if inside.size:
            ends, step = picks[line][inside[[0, -1]]], strides[longest]
            places = slice(ends.min(), ends.max() + 1, abs(step))
            total[places] += x[line][inside[0] : inside[-1] + 1][:: np.sign(step)]
    return total


def _scatter_add(x: Array, picks: Array, size: int) -> Array:
    """Scatter-add along the first axis by an index array; gathers in rounds for libraries other than NumPy."""
    if isinstance(x, np.ndarray):
        return _scatter_add_numpy(x[picks >= 0], picks[picks >= 0], size)
    total: Any = None
    for present, places in scatter_rounds(picks, size):
        mask = like(x, present.astype(np.float64).reshape([size] + [1] * (x.ndim - 1)))
        taken = take(x, places, 0)
        term = namespace(x).where(mask != 0, taken, 0.0)
        total = term if total is None else total + term
    return total


def _scatter_add_numpy(x: np.ndarray, picks: Array, size: int) -> np.ndarray:
    """Scatter-add by np.add.at. Sums start from -0.0, which leaves the first term as it is even if that is -0.0."""
    total = np.zeros((size, *x.shape[1:]))
    total[picks] = -0.0
    np.add.at(total, picks, x)
    return total


def scatter_rounds(picks: Array, size: int) -> Iterator[tuple[Array, Array]]:
    """A scatter as rounds of gathers: round k yields, for each target, whether a k-th source exists, and its index."""
    order = np.argsort(picks, kind="stable")
    order = order[picks[order] >= 0]
    counts = np.bincount(picks[order], minlength=size)
    starts = np.concatenate([[0], np.cumsum(counts)[:-1]])
    for rank in range(max(1, counts.max(initial=0))):
        present = counts > rank
        places = np.zeros(size, dtype=np.int64)
        places[present] = order[starts[present] + rank]
        yield present, places


def permute_axes(x: Array, order: list[int]) -> Array:
    return x.permute(order) if hasattr(x, "permute") else x.transpose(order)
