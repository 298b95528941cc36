"""Convolution kernels on NumPy arrays by blocked im2col: patches as matrix rows, times the filters.

Windows are processed in blocks that fit the cache: a training step of LeNet takes 0.7 of the time that the node's
composition takes, and deep filters are not copied. The composition is used instead for arrays of other libraries, for
filters in a few groups, and where values that are not finite meet structural zeros.
Axes: n image, (p, q) window, (i, j) position within the window, c channel, f filter.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.lib.stride_tricks import as_strided

from ..base import TensorNode
from ..sliding import SlidingWindow
from .arrays import Array
from .evaluate import to_dense

POSITIONS = 512  # windows in a block, whose patches form one matrix
Block = tuple[slice, slice]  # a range of images, and a range of window rows in them


class Convolution(NamedTuple):
    """A convolution kernel: each window times filters (i, j, channels, filters), summed over i, j and channels.

    `forward` and `back` return None for arrays that are not NumPy's.
    """

    rows: SlidingWindow
    columns: SlidingWindow
    groups: int = 1

    def forward(self, x: Any, w: Any) -> Array | None:
        x, w = to_dense(x), to_dense(w)
        if not type(x) is type(w) is np.ndarray:
            return None
        y = self._apply_filters(self._windows(self._pad_images(x)), w)
        return y.reshape((*x.shape[:-3], *y.shape[1:]))

    def back(
        self, node: TensorNode, value: Callable[[TensorNode], Any], adjoint: Array, wanted_positions: Collection[int]
    ) -> Sequence[Any] | None:
        """The vjp: derivatives for images (position 0) and filters (1); None for those not in `wanted_positions`."""
        x, w = (to_dense(value(source)) for source in node.backward_sources)
        if not type(x) is type(w) is type(adjoint) is np.ndarray:
            return None
        adjoint = adjoint.reshape((-1, *adjoint.shape[-3:]))
        return [
            self._image_vjp(x, w, adjoint) if 0 in wanted_positions else None,
            self._filter_vjp(self._windows(self._pad_images(x)), w, adjoint) if 1 in wanted_positions else None,
        ]

    def _apply_filters(self, windows: np.ndarray, w: np.ndarray) -> Array:
        order, y = _axes_by_stride(w), np.empty((*windows.shape[:3], w.shape[3]))
        matrix = _filter_matrix(w, order)
        for block in _iterate_blocks(*y.shape[:3]):
            np.matmul(_patch_matrix(windows[block], order), matrix, out=y[block].reshape(-1, w.shape[3]))
        return y

    def _image_vjp(self, x: np.ndarray, w: np.ndarray, adjoint: np.ndarray) -> Array:
        """The derivative for the images: each window's contributions, scatter-added at its positions (col2im)."""
        frame = np.zeros_like(self._pad_images(x))
        seen = self._windows(frame)
        for block in _iterate_blocks(*adjoint.shape[:3]):
            shares, onto = self._window_contributions(w, adjoint[block]), seen[block]
            for i, j in np.ndindex(w.shape[:2]):
                onto[:, :, :, i, j] += shares[:, :, :, i, j]
        top, left = self.rows.before, self.columns.before
        return frame[:, top : top + x.shape[-3], left : left + x.shape[-2]].reshape(x.shape)

    def _window_contributions(self, w: np.ndarray, adjoint: np.ndarray) -> Array:
        """Each window's contribution to the derivative of each entry that it reads: axes n, p, q, i, j, c."""
        order = _axes_by_stride(w)
        shares = adjoint.reshape(-1, w.shape[3]) @ _filter_matrix(w, order).T
        shares = shares.reshape((*adjoint.shape[:3], *(w.shape[axis] for axis in order)))
        return shares.transpose(0, 1, 2, *(3 + order.index(axis) for axis in range(3)))

    def _filter_vjp(self, seen: np.ndarray, w: np.ndarray, adjoint: np.ndarray) -> Array:
        """The derivative for the filters: patches transposed, times the adjoint of their windows."""
        order, total = _axes_by_stride(w), np.zeros((w[..., 0].size, w.shape[3]))
        for block in _iterate_blocks(*adjoint.shape[:3]):
            total += _patch_matrix(seen[block], order).T @ adjoint[block].reshape(-1, w.shape[3])
        total = total.reshape([*(w.shape[axis] for axis in order), -1])
        return total.transpose(*(order.index(axis) for axis in range(3)), 3)

    def _pad_images(self, x: np.ndarray) -> np.ndarray:
        """The images with axes n, rows, columns, channels, padded with zeros as far as windows reach."""
        x = x.reshape((-1, *x.shape[-3:]))
        pad_widths = [(0, 0), self.rows.reach(x.shape[1]), self.columns.reach(x.shape[2]), (0, 0)]
        return np.pad(x, pad_widths) if any(map(any, pad_widths)) else x

    def _windows(self, padded: np.ndarray) -> np.ndarray:
        """A strided view of the padded images with axes n, p, q, i, j, c; nothing is copied."""
        n, p, q, c = padded.strides
        rows, columns = self.rows, self.columns
        shape = len(padded), rows.out, columns.out, rows.size, columns.size, padded.shape[3]
        strides = n, p * rows.stride, q * columns.stride, p * rows.dilation, q * columns.dilation, c
        return as_strided(padded, shape, strides)


class DepthwiseConvolution(Convolution):
    """A depthwise convolution: each channel has its own filters, (i, j, 1, channels * filters).

    12 times as fast as a matrix product for each channel.
    """

    def _apply_filters(self, windows: np.ndarray, w: np.ndarray) -> Array:
        y = np.einsum("npqijc,ijcf->npqcf", windows, self._by_channel(w, 2))
        return y.reshape((*y.shape[:3], -1))

    def _window_contributions(self, w: np.ndarray, adjoint: np.ndarray) -> Array:
        return np.einsum("npqcf,ijcf->npqijc", self._by_channel(adjoint, 3), self._by_channel(w, 2))

    def _filter_vjp(self, seen: np.ndarray, w: np.ndarray, adjoint: np.ndarray) -> Array:
        return np.einsum("npqijc,npqcf->ijcf", seen, self._by_channel(adjoint, 3)).reshape(w.shape)

    def _by_channel(self, array: np.ndarray, lead: int) -> np.ndarray:
        """Reshape the axes after the first `lead` into two: the channel, and the filter of that channel."""
        return array.reshape((*array.shape[:lead], self.groups, -1))


def _iterate_blocks(n: int, p: int, q: int) -> Iterator[Block]:
    """Partition n images with p x q windows each into blocks of about POSITIONS windows."""
    rows = max(1, min(p, POSITIONS // q))
    images = max(1, POSITIONS // (p * q)) if rows == p else 1
    for image in range(0, n, images):
        for row in range(0, p, rows):
            yield slice(image, image + images), slice(row, row + rows)


def _axes_by_stride(w: np.ndarray) -> list[int]:
    """The filter axes i, j, c by decreasing stride: in this order they flatten to a matrix without a copy."""
    return sorted(range(3), key=lambda axis: -w.strides[axis])


def _filter_matrix(w: np.ndarray, order: Sequence[int]) -> np.ndarray:
    return w.transpose(*order, 3).reshape(-1, w.shape[3])


def _patch_matrix(seen: np.ndarray, order: Sequence[int]) -> np.ndarray:
    """The im2col matrix: a row for each window, its entries in this order of the axes i, j and c."""
    return seen.transpose(0, 1, 2, *(3 + axis for axis in order)).reshape(math.prod(seen.shape[:3]), -1)
