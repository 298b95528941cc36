"""The memory of a tape: where its numbers lie, and how much room a batch of samples needs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..llvm.typed import LANES
from .adjoint import Count
from .allocation import aligned
from .flat import Array, Lanes
from .kernels import GROUP, PART, SAMPLES
from .reentrancy import Face

WARM = 262_144  # bytes of lanes that stay in the cache
FLOAT = 8  # bytes of a number
WIDEST = 128  # samples in a block


class Memory(Face):
    """The numbers of a plan: its scalars, and for each group of samples its lanes, feeds and results."""

    samples: list[int]  # of each group
    index: Array
    gathered: dict[int, int]  # leaves whose lanes are scalars: from where on the index says which
    fed: dict[int, list[int]]  # by group: the other leaves, which are fed,
    exported: dict[int, list[int]]  # the wanted rows,
    feeds: dict[int, Array]  # and a line of floats for each of both, one for each sample,
    outs: dict[int, Array]  # with room up to the stride
    slots: Array  # where each row's scalar is
    most_slots: dict[int, int]  # by group: how many lines of lanes there are,
    kept: set[int]  # and in which groups they must all be there at once
    _parts: list[list[int]]

    def set_samples(self, samples: Sequence[int]) -> None:
        """Make room for so many samples of each group; what was fed must be fed again."""
        self.samples = list(samples)
        self.places: dict[int, list[int]] = {}
        sizes = [0, 0, 0]  # of lanes, feeds and exports
        for group, count in enumerate(samples[1:], 1):
            width = _width(count, self.most_slots[group], group in self.kept)
            stride = -(-count // width) * width
            self.places[group] = [count, width, stride, *sizes]
            lines = self.most_slots[group] * width, len(self.fed[group]) * stride, len(self.exported[group]) * stride
            sizes = [size + more for size, more in zip(sizes, lines, strict=True)]
        nothing = [0] * (PART - SAMPLES)
        parts = [[*part, *self.places.get(part[GROUP], nothing)] for part in self._parts]
        self.parts = np.array(parts, np.int32).reshape(-1)
        self.lanes, self.feed_room, self.out_room = (aligned(size + LANES) for size in sizes)
        self.feeds, self.outs = {}, {}
        for group, (_, _, stride, _, feeds, outs) in self.places.items():
            self.feeds[group] = _lines(self.feed_room[feeds:], len(self.fed[group]), stride)
            self.outs[group] = _lines(self.out_room[outs:], len(self.exported[group]), stride)
        for row, source in self.flat.sources.items():
            if isinstance(source, Count) and self.place(row) >= 0:
                self.put(row, float(self.samples[source.group]))
            elif isinstance(source, Lanes) and source.constant:
                fill(self.feed(row), source.numbers)

    def place(self, row: int) -> int:
        return int(self.slots[row])

    def feed(self, row: int) -> Array:
        """Where a leaf's lanes are: a view, one float for each sample, and room up to the stride."""
        group = int(self.flat.groups[row])
        return self.feeds[group][self.fed[group].index(row)]

    def out_lines(self, group: int) -> Array:
        """The values of a group's wanted rows: a view with a line for each of `exported[group]`."""
        return self.outs[group][:, : self.samples[group]]

    def lanes_of(self, row: int) -> Array:
        """The values of a wanted row that has one for each sample: a view, good until the next run."""
        group = int(self.flat.groups[row])
        if row in self.gathered:
            return self.scalars[self.index[self.gathered[row] :][: self.samples[group]]]
        if self.flat.starts[row] == self.flat.starts[row + 1]:  # a leaf: what was fed
            return self.feed(row)[: self.samples[group]]
        return self.out_lines(group)[self.exported[group].index(row)]


def fill(line: Array, numbers: Any) -> None:
    """Write a line; lanes beyond the last sample repeat it, so that no number of theirs is out of the ordinary."""
    line[: len(numbers)] = numbers
    line[len(numbers) :] = numbers[-1]


def _lines(room: Array, count: int, stride: int) -> Array:
    return room[: count * stride].reshape(count, stride)


def _width(count: int, slots: int, whole: bool) -> int:
    """How many samples go through the tape together: as many as stay warm, shared out evenly."""
    warm = WARM // FLOAT // max(slots, 1)
    most = count if whole else min(WIDEST, max(LANES, warm // LANES * LANES))
    blocks = max(1, -(-count // most))
    share = -(-count // blocks)
    return -(-share // LANES) * LANES
