"""The memory of a tape: where its numbers lie, and how much room a batch of samples needs."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..llvm.precision import DOUBLE, Precision
from .adjoint import Count
from .flat import Array, Flat
from .kernels import GROUP, SAMPLES
from .places import aligned

WARM = 262_144  # bytes of lanes that stay in the cache
WIDEST = 128  # samples in a block


class Memory:
    """The numbers of a plan: its scalars, and for each group of samples its lanes, feeds and results."""

    flat: Flat
    precision: Precision
    scalars: Array
    slots: Array  # where each row's scalar is
    fed: dict[int, list[int]]  # by group: the leaves that are fed,
    exported: dict[int, list[int]]  # the wanted rows,
    most_slots: dict[int, int]  # how many lines of lanes there are,
    kept: set[int]  # and in which groups they must all be there at once
    _parts: list[list[int]]

    def set_samples(self, samples: Sequence[int]) -> None:
        """Make room for so many samples of each group; what was fed must be fed again."""
        self.samples = list(samples)
        self.places: dict[int, list[int]] = {}
        sizes = [0, 0, 0]  # of lanes, feeds and exports
        for group, count in enumerate(samples[1:], 1):
            width = _width(count, self.most_slots[group], group in self.kept, self.precision)
            stride = -(-count // width) * width
            self.places[group] = [count, width, stride, *sizes]
            lines = self.most_slots[group] * width, len(self.fed[group]) * stride, len(self.exported[group]) * stride
            sizes = [size + more for size, more in zip(sizes, lines, strict=True)]
        for part in self._parts:
            if part[GROUP]:
                part[SAMPLES:] = self.places[part[GROUP]]
        self.parts = np.array(self._parts, np.int32).reshape(-1)
        room, held = self.precision.lanes, self.precision.name
        self.lanes, self.feeds, self.out_lanes = (aligned(size + room, held) for size in sizes)
        for row, source in self.flat.sources.items():
            if isinstance(source, Count) and self.slots[row] >= 0:
                self.scalars[self.slots[row]] = float(samples[source.group])

    def put(self, row: int, number: float) -> None:
        """Set a scalar leaf that is not loaded from the graph."""
        self.scalars[self.slots[row]] = self.precision.rounded(number)

    def held(self, row: int) -> float:
        """What such a leaf holds."""
        return float(self.scalars[self.slots[row]])

    def scalars_of(self, rows: Sequence[int]) -> tuple[Array, list[int]]:
        """Where such leaves are: an array, and the place of each."""
        return self.scalars, [int(self.slots[row]) for row in rows]

    def feed(self, row: int) -> Array:
        """Where a leaf's lanes are: a view, one float for each sample, and room up to the stride."""
        group = int(self.flat.groups[row])
        line: Array = self.feed_lines(group)[self.fed[group].index(row)]
        return line

    def feed_lines(self, group: int) -> Array:
        """All leaves' lanes of a group: a view with a line for each of `fed[group]`."""
        _, _, stride, _, start, _ = self.places[group]
        count = len(self.fed[group])
        return self.feeds[start : start + count * stride].reshape(count, stride)

    def out_lines(self, group: int) -> Array:
        """The values of a group's wanted rows: a view with a line for each of `exported[group]`."""
        count, _, stride, _, _, start = self.places[group]
        lines = len(self.exported[group])
        return self.out_lanes[start : start + lines * stride].reshape(lines, stride)[:, :count]

    def lanes_of(self, row: int) -> Array:
        """The values of a wanted row that has one for each sample: a view, good until the next run."""
        group = int(self.flat.groups[row])
        count, _, stride, _, _, start = self.places[group]
        if self.flat.starts[row] == self.flat.starts[row + 1]:  # a leaf: what was fed
            return self.feed(row)[:count]
        start += self.exported[group].index(row) * stride
        return self.out_lanes[start : start + count]


def _width(count: int, slots: int, whole: bool, precision: Precision = DOUBLE) -> int:
    """How many samples go through the tape together: as many as stay warm, shared out evenly."""
    lanes, warm = precision.lanes, WARM // precision.bytes // max(slots, 1)
    most = count if whole else min(WIDEST, max(lanes, warm // lanes * lanes))
    blocks = max(1, -(-count // most))
    share = -(-count // blocks)
    return -(-share // lanes) * lanes
