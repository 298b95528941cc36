"""What is given to a question, and how it comes to where machine code reads it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ..core.tables import Tables
from ..engines.tape.flat import Flat, Lanes
from ..engines.tape.lowering import Fed


class Batch(NamedTuple):
    """Many samples for some PlaceHolders: their rows in the tables, and an array with a line for each of them."""

    rows: tuple[int, ...]
    columns: Any


class Inputs(NamedTuple):
    """The tables that hold the Variables' values; numbers by row, and batches, for PlaceHolders."""

    tables: Tables
    numbers: dict[int, float]
    batches: list[Batch]

    @property
    def samples(self) -> int:
        return self.batches[0].columns.shape[1] if self.batches else 1

    def number(self, row: int) -> float:
        """What a single leaf holds: what it is given, or what it has."""
        return self.numbers[row] if row in self.numbers else self.tables.values[row]

    def sample(self, place: int) -> dict[int, float]:
        """The numbers of one sample, by row."""
        fed = {row: float(line[place]) for rows, lines in self.batches for row, line in zip(rows, lines, strict=True)}
        return {**self.numbers, **fed}


class Weights(NamedTuple):
    """An array of float64, side by side, that holds Variables' values in the tables' stead; where, by their rows."""

    array: Any
    places: dict[int, int]


class Feeds:
    """What must be put into a tape before it runs."""

    def __init__(self, flat: Flat, tape: Any) -> None:
        self.flat, self.tape = flat, tape
        fed = [(row, source.row) for row, source in flat.sources.items() if isinstance(source, Fed)]
        self.line_of = {source: tape.fed[1].index(row) for row, source in fed if flat.groups[row] > 0}
        self.lines: dict[tuple[int, ...], Any] = {}  # for each batch's rows: which there are, and their lines
        self.numbers = [(row, source) for row, source in fed if flat.groups[row] == 0]
        self.moving: list[tuple[int, Any, list[Any]]] = []  # lanes of leaves that may change, and their sources
        for row, source in flat.sources.items():
            if isinstance(source, Lanes):
                _fill(tape.feed(row), np.array(source.numbers))
                known = [each for each in source.sources if each is not None]
                places = np.array([lane for lane, each in enumerate(source.sources) if each is not None], np.int32)
                if known:
                    self.moving.append((row, places, known))
        self.any = bool(fed or self.moving)

    def __call__(self, inputs: Inputs, source: Any = None) -> None:
        """Feed the tape. source: where leaves are loaded from, if not from the tables."""
        source, tape = inputs.tables.values if source is None else source, self.tape
        if inputs.batches and tape.samples[1] != inputs.samples:
            tape.set_samples([1, inputs.samples])
        for batch in inputs.batches:
            self.feed_batch(batch)
        for row, fed in self.numbers:
            tape.put(row, inputs.number(fed))
        for row, places, sources in self.moving:
            held = [inputs.number(each.row) if isinstance(each, Fed) else source[each] for each in sources]
            numbers = tape.feed(row)[: tape.samples[self.flat.groups[row]]].copy()
            numbers[places] = held
            _fill(tape.feed(row), numbers)

    def feed_batch(self, batch: Batch) -> None:
        """Copy a batch into its lines; lanes beyond the last sample repeat it."""
        if batch.rows not in self.lines:
            known = [place for place, row in enumerate(batch.rows) if row in self.line_of]
            lines = [self.line_of[batch.rows[place]] for place in known]
            self.lines[batch.rows] = as_slice(known), as_slice(lines)
        known, lines = self.lines[batch.rows]
        feeds = self.tape.feeds[1]
        columns = batch.columns[known]
        feeds[lines, : columns.shape[1]] = columns
        if feeds.shape[1] > columns.shape[1]:
            feeds[lines, columns.shape[1] :] = columns[:, -1:]


def as_slice(places: Sequence[int]) -> Any:
    """The places as an array, or as a slice if they follow one another: it is copied several times faster."""
    first = places[0] if places else 0
    neighbours = list(places) == list(range(first, first + len(places)))
    return slice(first, first + len(places)) if neighbours else np.array(places, np.intp)


def _fill(feed: Any, numbers: Any) -> None:
    """Write the lanes; those beyond the last sample repeat it, so that no number of theirs is out of the ordinary."""
    feed[: len(numbers)] = numbers
    feed[len(numbers) :] = numbers[-1]
