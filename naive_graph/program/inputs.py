"""Inputs and weights of a run (checked by feeding.py), and how machine code gets them: copied, or batches in place."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ..core.tables import Tables


class InputSlot(NamedTuple):
    """One input of a Program: the rows of its PlaceHolders, an array's shape for one sample, and the tensor, if any.

    A PlaceHolder by itself has the shape (), and a list of n of them the shape (n,).
    """

    rows: tuple[int, ...]
    shape: tuple[int, ...]
    leaf: Any = None

    def label(self, tables: Tables) -> str:
        """How messages speak of it."""
        if self.leaf is not None:
            return str(self.leaf.label)
        return f"an input of {len(self.rows)} PlaceHolders" if self.shape else tables.label(self.rows[0])


class Batch(NamedTuple):
    """Many samples for some PlaceHolders: their rows in the tables, and an array with a line for each of them."""

    rows: tuple[int, ...]
    columns: Any


class Inputs(NamedTuple):
    """All leaves' values for a run: numbers by row and batches for PlaceHolders, and the tables for the Variables."""

    tables: Tables
    numbers: dict[int, float]
    batches: list[Batch]

    @property
    def samples(self) -> int:
        return self.batches[0].columns.shape[1] if self.batches else 1

    def number(self, row: int) -> float:
        """The value of a leaf: the number that was given for its row, or the one in the tables."""
        return self.numbers[row] if row in self.numbers else self.tables.values[row]

    def sample(self, place: int) -> dict[int, float]:
        """The numbers of one sample, by row."""
        fed = {row: float(line[place]) for rows, lines in self.batches for row, line in zip(rows, lines, strict=True)}
        return {**self.numbers, **fed}


class Weights(NamedTuple):
    """A contiguous float64 array that holds Variables' values instead of the tables. places: row -> index in it."""

    array: Any
    places: dict[int, int]


def feed(code: Any, inputs: Inputs) -> None:
    """Pass inputs to the code: copy numbers, and give it pointers to batches, which must be kept alive for the run."""
    if inputs.batches and code.samples[1] != inputs.samples:
        code.set_samples([1, inputs.samples])
    for batch in inputs.batches:
        read, leaves = places_of(code, batch.rows, of_samples=True)
        code.read_samples(leaves, batch.columns, read)
    if code.fed_rows:
        code.scalars[code.fed_at] = [inputs.number(row) for row in code.fed_rows]


def places_of(code: Any, rows: Sequence[int], of_samples: bool) -> tuple[Any, Any]:
    """The indices of those rows that the code reads; and their slots in its scalars, or their lines of samples."""
    fed = [code.ir.sources[leaf].row for leaf in code.fed[1]] if of_samples else code.fed_rows
    place_of = {row: offset for offset, row in enumerate(fed, 0 if of_samples else code.fed_at.start)}
    read = [index for index, row in enumerate(rows) if row in place_of]
    return slice_if_consecutive(read), slice_if_consecutive([place_of[rows[index]] for index in read])


def slice_if_consecutive(places: Sequence[int]) -> Any:
    """The indices as a slice if they are consecutive (which copies several times faster), else as an array."""
    first = places[0] if places else 0
    neighbours = list(places) == list(range(first, first + len(places)))
    return slice(first, first + len(places)) if neighbours else np.array(places, np.intp)
