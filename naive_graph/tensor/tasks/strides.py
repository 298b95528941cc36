"""Arrays that travel to another process and keep their layout in memory.

A sum's order, and so its last bits, depend on how an array lies in memory:
transposed, spread with stride 0, a window on something larger. A pickle forgets
that. Here the stretch of memory is sent, and looked at in the same way there.
"""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import as_strided

from ..arrays import Array
from ..differentiate import Adjoint


def sent_result(result: Any) -> Any:
    """What a work found, ready to be pickled: an array or an Adjoint."""
    if isinstance(result, Adjoint):
        return sent_result(result.sum), sent_result(result.taken)
    return _stretch(result) if isinstance(result, np.ndarray) and not _is_plain(result) else result


def received_result(given: Any) -> Any:
    """What the work found, lying in memory as it did.

    >>> import pickle
    >>> spread = np.broadcast_to(np.array([[1.0], [2.0]]), (2, 3)).T
    >>> there = received_result(pickle.loads(pickle.dumps(sent_result(spread))))
    >>> there.strides == spread.strides, there.tolist() == spread.tolist()
    (True, True)
    """
    if isinstance(given, tuple):
        return Adjoint(*map(received_result, given))
    return given.array() if isinstance(given, Stretch) else given


class Stretch:
    """The memory from an array's lowest entry to its highest, and how to look at it."""

    def __init__(self, flat: Array, start: int, shape: tuple[int, ...], strides: tuple[int, ...]) -> None:
        self.flat, self.start, self.shape, self.strides = flat, start, shape, strides

    def array(self) -> Array:
        return as_strided(self.flat[self.start :], self.shape, self.strides, writeable=False)


def _stretch(array: np.ndarray[Any, Any]) -> Any:
    steps = [stride // array.itemsize for stride in array.strides]
    if not array.size or any(stride % array.itemsize for stride in array.strides):
        return array
    reaches = [step * (extent - 1) for step, extent in zip(steps, array.shape)]
    below = -sum(reach for reach in reaches if reach < 0)
    lowest = array[(*(-1 if reach < 0 else 0 for reach in reaches), ...)]
    flat = as_strided(lowest, (below + 1 + sum(reach for reach in reaches if reach > 0),), (array.itemsize,))
    return Stretch(flat.copy(), below, array.shape, array.strides)


def _is_plain(array: np.ndarray[Any, Any]) -> bool:
    """Whether it lies row by row, as a pickle would lay it."""
    rows = [prod(array.shape[axis + 1 :]) * array.itemsize for axis in range(array.ndim)]
    return list(array.strides) == rows
