"""Storage of a Program's weights: in the graph's Variables, or in an array that the caller provides.

    Program(loss, wrt=w)                    reads the Variables
    Program(loss, wrt=w, weights=array)     reads the array instead, in place

A Model keeps all its parameters in one array, so a Program over it copies nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy, deepcopy
from typing import Any

import numpy as np

from ..core.number import shortened
from ..core.tables import Tables
from ..errors import FeedError
from .inputs import Weights, slice_if_consecutive


class VariableWeights:
    """The weights are Variables of the graph. rows: theirs, in the order of wrt."""

    held: Weights | None = None

    def __init__(self, tables: Tables, rows: Sequence[int]) -> None:
        self.tables, self.rows, self._where = tables, rows, slice_if_consecutive(rows)

    def __deepcopy__(self, memo: dict[int, Any]) -> VariableWeights:
        return self  # Variables are not copied

    def source(self) -> Any:
        """The array that holds them. It stays where it is while there is a view of it."""
        return self.tables._values

    def before_moving(self) -> None:
        """What `minimize` checks before the first step: here nothing, every Variable can be moved."""

    def read(self) -> Any:
        """The values as a copy: as long as there is a view of the column, the column cannot grow."""
        return np.frombuffer(self.tables.values)[self._where].copy()

    def write(self, values: Any) -> None:
        self.tables.set_leaf_values(self._where, values)


class ArrayWeights:
    """The weights are elements of an array, which the Variables know nothing of."""

    def __init__(self, rows: Sequence[int], array: Any, places: Any) -> None:
        _check(array)
        where = np.arange(len(rows)) if places is None else np.asarray(places)
        if where.shape != (len(rows),) or (places is None and len(array) != len(rows)):
            raise FeedError(
                f"wrt has {len(rows)} weights, and weights= {len(array) if places is None else where.size} places. "
                "Give an element for each, or the array and the place of each: weights=(array, places)."
            )
        if where.size and (where.dtype.kind not in "iu" or where.min() < 0 or where.max() >= len(array)):
            raise FeedError(f"The places of weights are whole numbers from 0 to {len(array) - 1}.")
        self._rows, self._where = rows, slice_if_consecutive(where.tolist())
        self.held = Weights(array, dict(zip(rows, where.tolist(), strict=True)))

    def __deepcopy__(self, memo: dict[int, Any]) -> ArrayWeights:
        twin = copy(self)
        twin.hold(deepcopy(self.held.array, memo))
        return twin

    def source(self) -> Any:
        """The array that holds them."""
        return self.held.array

    def before_moving(self) -> None:
        """Raise FeedError unless every weight can be moved by itself."""
        if not self.held.array.flags.writeable:
            raise FeedError("These weights cannot be moved: the array of weights= is read-only. Give a copy.")
        if len(set(self.held.places.values())) < len(self.held.places):
            raise FeedError(
                "These weights cannot be moved: two lie at one place of the array, and minimize moves each by itself. "
                "Make them one Variable, or write program.weights yourself."
            )

    def hold(self, array: Any) -> None:
        """Read another array from now on, laid out as the last one was."""
        _check(array)
        needed = max(self.held.places.values(), default=-1) + 1
        if len(array) < needed:
            raise FeedError(
                f"The weights lie at places up to {needed - 1}, and this array has {len(array)}. "
                "Give one that is laid out as the one of weights=."
            )
        self.held = Weights(array, self.held.places)

    def read(self) -> Any:
        return self.held.array[self._where].copy()

    def write(self, values: Any) -> None:
        self.held.array[self._where] = values


def _check(array: Any) -> None:
    plain = isinstance(array, np.ndarray) and not isinstance(array, np.ma.MaskedArray)
    flat = plain and array.dtype == np.float64 and array.dtype.isnative and array.ndim == 1
    if not flat or not array.flags.c_contiguous or not array.flags.aligned:
        what = f"of kind {array.dtype} and shape {array.shape}" if plain else shortened(array)
        raise FeedError(
            f"weights= takes a flat array of float64 that is not masked, whose elements lie side by side and are read "
            f"where they lie, not {type(array).__name__} {what}. Make one, and keep it: "
            "w = np.array(weights, float).ravel()."
        )
