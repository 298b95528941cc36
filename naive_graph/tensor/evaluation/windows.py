"""Windows that slide over NumPy's arrays, at once: a product with filters, or the largest entry.

What windows see lies side by side for some positions at a time, so that it
stays in the cache and takes no room. Arrays of other libraries go the way that
the nodes are written; so does what is not finite, beside a zero by structure.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.lib.stride_tricks import as_strided

from ..base import TensorNode, size_of
from ..index import Shape
from ..sliding import SlidingWindow
from .arrays import Array
from .evaluate import written_out

POSITIONS = 512  # of windows, whose patches lie side by side at once
Read = Callable[[TensorNode], Any]


class SlidingWindows(NamedTuple):
    """How windows slide over images with axes n, rows, columns, channels."""

    rows: SlidingWindow
    columns: SlidingWindow

    def framed(self, x: np.ndarray, around: float = 0.0) -> np.ndarray:
        """The images, with what windows find around them."""
        x = x.reshape((-1, *x.shape[-3:]))
        shape = self.reached(x.shape)
        if shape == x.shape:
            return x
        frame = np.full(shape, around)
        self.inside(frame, x.shape)[...] = x
        return frame

    def reached(self, shape: Shape) -> Shape:
        """The shape of images with what windows find around them."""
        ends = (extent + sum(each.reach(extent)) for each, extent in zip(self, shape[-3:]))
        return size_of(shape[:-3]), *ends, shape[-1]

    def inside(self, frame: np.ndarray, shape: Shape) -> np.ndarray:
        """The images of a shape without what is around them."""
        (top, rows), (left, columns) = ((each.before, extent) for each, extent in zip(self, shape[-3:]))
        return frame[:, top : top + rows, left : left + columns].reshape(shape)

    def seen(self, frame: np.ndarray) -> np.ndarray:
        """A view of axes n, p, q, i, j, c: image, window (p, q), place (i, j) in it, and channel."""
        (n, p, q, c), (rows, columns) = frame.strides, self
        shape = len(frame), rows.out, columns.out, rows.size, columns.size, frame.shape[3]
        strides = n, p * rows.stride, q * columns.stride, p * rows.dilation, q * columns.dilation, c
        return as_strided(frame, shape, strides)


class Convolution(NamedTuple):
    """Each window's entries times filters (i, j, channels / groups, filters), summed over i, j and channels."""

    windows: SlidingWindows
    groups: int

    def forward(self, x: Any, w: Any) -> Array | None:
        x, w = written_out(x), written_out(w)
        return self.summed(x, w) if type(x) is type(w) is np.ndarray else None

    def back(self, node: TensorNode, value: Read, adjoint: Array, asked: Collection[int]) -> Sequence[Any] | None:
        """The derivatives for the images and the filters, where they are asked for."""
        x, w = (written_out(value(each)) for each in node.behind)
        if not type(x) is type(w) is type(adjoint) is np.ndarray:
            return None
        return [self.spread(adjoint, w, x.shape) if 0 in asked else None,
                self.weighed(x, w, adjoint) if 1 in asked else None]  # fmt: skip

    def summed(self, x: np.ndarray, w: np.ndarray) -> Array:
        """The convolution itself."""
        seen = self.windows.seen(self.windows.framed(x))
        y = np.empty((*seen.shape[:3], w.shape[3]))
        for channels, filters in self._groups(w):
            own, onto = w[..., filters], y[..., filters]
            if self._deep(w):
                np.einsum("npqijc,ijc->npqc", seen, own[:, :, 0], out=onto)
                continue
            order = _order(own, y.size // y.shape[3])
            matrix = own.transpose(*order, 3).reshape(-1, own.shape[3])
            for at, patches in _side_by_side(seen[..., channels], order):
                np.matmul(patches, matrix, out=onto[at].reshape(len(patches), -1))
        return y.reshape((*x.shape[:-3], *y.shape[1:]))

    def spread(self, y: np.ndarray, w: np.ndarray, shape: Shape) -> Array:
        """What each window hands to its places in images of a shape, added up."""
        y, frame = y.reshape((-1, *y.shape[-3:])), np.zeros(self.windows.reached(shape))
        seen, deep = self.windows.seen(frame), self._deep(w)
        for channels, filters in self._groups(w):
            shares = (_scaled if deep else _shared)(w[..., filters], y.size // y.shape[3])
            for at in _blocks(*y.shape[:3]):
                onto = seen[at][..., channels]
                for (i, j), share in shares(y[at][..., filters]):
                    onto[:, :, :, i, j] += share
        return self.windows.inside(frame, shape)

    def weighed(self, x: np.ndarray, w: np.ndarray, y: np.ndarray) -> Array:
        """The patches times what came back for their windows, laid down as the filters lie."""
        y = y.reshape((-1, *y.shape[-3:]))
        seen, found = self.windows.seen(self.windows.framed(x)), np.empty_like(w)
        for channels, filters in self._groups(w):
            part, onto = y[..., filters], found[..., filters]
            if self._deep(w):
                np.einsum("npqijc,npqc->ijc", seen, part, out=onto[:, :, 0])
            else:
                _weigh(seen[..., channels], part, onto)
        return found

    def _deep(self, w: np.ndarray) -> bool:
        """Whether each channel has filters of its own."""
        return self.groups > 1 and w.shape[2] == 1

    def _groups(self, w: np.ndarray) -> Iterator[tuple[slice, slice]]:
        """Channels that are computed together, and their filters."""
        many = w.shape[3] // self.groups
        if self._deep(w):
            yield from ((slice(None), slice(first, None, many)) for first in range(many))
        else:
            for at in range(self.groups):
                yield slice(at * w.shape[2], (at + 1) * w.shape[2]), slice(at * many, (at + 1) * many)


class Spreading(NamedTuple):
    """A convolution turned round: each entry is spread over its window, in images of `extents`."""

    turned: Convolution
    extents: Shape

    def forward(self, x: Any, w: Any) -> Array | None:
        x, w = written_out(x), written_out(w)
        shape = *x.shape[:-3], *self.extents
        return self.turned.spread(x, w, shape) if type(x) is type(w) is np.ndarray else None

    def back(self, node: TensorNode, value: Read, adjoint: Array, asked: Collection[int]) -> Sequence[Any] | None:
        x, w = (written_out(value(each)) for each in node.behind)
        if not type(x) is type(w) is type(adjoint) is np.ndarray:
            return None
        return [self.turned.summed(adjoint, w) if 0 in asked else None,
                self.turned.weighed(adjoint, w, x) if 1 in asked else None]  # fmt: skip


class Largest(NamedTuple):
    """The largest entry of each window; the first of equals takes the derivative, and NaN is the largest."""

    windows: SlidingWindows

    def forward(self, x: Any) -> Array | None:
        x = written_out(x)
        if type(x) is not np.ndarray:
            return None
        seen = self.windows.seen(self.windows.framed(x, -math.inf))
        y = np.empty((*seen.shape[:3], seen.shape[5]))
        for at in _blocks(*y.shape[:3]):
            part, places = y[at], seen[at]
            part[...] = places[:, :, :, 0, 0]
            for i, j in np.ndindex(places.shape[3:5]):
                np.maximum(part, places[:, :, :, i, j], out=part)
        return y.reshape((*x.shape[:-3], *y.shape[1:]))

    def back(self, node: TensorNode, value: Read, adjoint: Array, asked: Collection[int]) -> Sequence[Any] | None:
        x, y = (written_out(value(each)) for each in (*node.behind, node))
        if not type(x) is type(adjoint) is np.ndarray:
            return None
        frame = self.windows.framed(x, -math.inf)
        total = np.zeros_like(frame)
        seen, onto = self.windows.seen(frame), self.windows.seen(total)
        y, adjoint = (each.reshape((-1, *each.shape[-3:])) for each in (y, adjoint))
        for at in _blocks(*y.shape[:3]):
            top, free = y[at], np.ones(y[at].shape, dtype=bool)
            for i, j in np.ndindex(seen.shape[3:5]):
                part = seen[at][:, :, :, i, j]
                hit = free & ((part == top) | (part != part))
                onto[at][:, :, :, i, j] += adjoint[at] * hit
                free ^= hit
        return [self.windows.inside(total, x.shape)]


def _blocks(n: int, p: int, q: int) -> Iterator[tuple[slice, slice]]:
    """Some images and rows of windows after the other."""
    rows = max(1, min(p, POSITIONS // q))
    images = max(1, POSITIONS // (p * q)) if rows == p else 1
    for first in range(0, n, images):
        for row in range(0, p, rows):
            yield slice(first, first + images), slice(row, row + rows)


def _order(w: np.ndarray, positions: int) -> list[int]:
    """Axes i, j, c in which to lay out patches: as the filters lie, if they are more than the patches are."""
    return sorted(range(3), key=lambda axis: -w.strides[axis]) if w.shape[3] > positions else [0, 1, 2]


def _side_by_side(seen: np.ndarray, order: list[int]) -> Iterator[tuple[tuple[slice, slice], np.ndarray]]:
    """Some positions after the other, with a row of a matrix for each: its patch, whose axes come in this order."""
    room: np.ndarray | None = None
    for at in _blocks(*seen.shape[:3]):
        part = seen[at].transpose(0, 1, 2, *(3 + axis for axis in order))
        room = np.empty(part.size) if room is None else room
        patches = room[: part.size].reshape(part.shape)
        patches[...] = part
        yield at, patches.reshape(-1, math.prod(part.shape[3:]))


def _weigh(seen: np.ndarray, y: np.ndarray, onto: np.ndarray) -> None:
    order, across = _order(onto, y.size // y.shape[3]), onto.strides[3] == max(onto.strides)
    parts = ((patches, y[at].reshape(len(patches), -1)) for at, patches in _side_by_side(seen, order))
    shares = (beside.T @ patches if across else patches.T @ beside for patches, beside in parts)
    total = next(shares)
    for share in shares:
        total += share
    lying = onto.transpose(3, *order) if across else onto.transpose(*order, 3)
    lying[...] = total.reshape(lying.shape)


def _scaled(w: np.ndarray, positions: int) -> Callable[[np.ndarray], Iterator[Any]]:
    """What windows of one filter for each channel hand to each place."""
    return lambda part: ((at, part * w[at][0]) for at in np.ndindex(w.shape[:2]))


def _shared(w: np.ndarray, positions: int) -> Callable[[np.ndarray], Iterator[Any]]:
    """What some windows hand to each place: by a product for each, or by one for all where filters are many."""
    order, places = _order(w, positions), [*np.ndindex(w.shape[:2])]
    if order == [0, 1, 2]:
        turned = np.ascontiguousarray(w.swapaxes(2, 3))
        return lambda part: ((at, (_rows(part) @ turned[at]).reshape((*part.shape[:3], -1))) for at in places)
    matrix, extents = w.transpose(*order, 3).reshape(-1, w.shape[3]).T, [w.shape[axis] for axis in order]
    back = [3 + order.index(axis) for axis in range(3)]

    def shares(part: np.ndarray) -> Iterator[Any]:
        whole = (_rows(part) @ matrix).reshape((*part.shape[:3], *extents)).transpose(0, 1, 2, *back)
        return ((at, whole[:, :, :, *at]) for at in places)

    return shares


def _rows(y: np.ndarray) -> np.ndarray:
    return y.reshape(-1, y.shape[-1])
