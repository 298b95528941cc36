"""The memory of compiled code: where a tape's numbers lie, and how much room a batch of samples needs.

A call of a Program has the memory to itself. Who calls while another call is under
way, as a signal's handler may, takes a twin: the same code with other memory.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from copy import copy
from typing import Any, Self

import numpy as np

from ...errors import StaleNodeError
from ..llvm.typed import LANES
from .adjoint import Count
from .flat import NONE, Array, FedLeaf, Flat, Lanes
from .halves import GroupPlaces, PlannedPart
from .tiles import Outer, Step


class Face:
    """A `Tape` or a `StraightLine` as a Program uses it: leaves to set, results to read, a run, and a twin."""

    flat: Flat
    scalars: Array
    fed_rows: list[int]  # of the tables: the leaves that are fed a number,
    fed_at: Array  # and where among the scalars, or a slice
    out: Array
    reach: int  # how many of the floats that leaves are loaded from are read
    arguments: Array  # of the code; the first is where leaves are loaded from
    packed: int  # their address
    call: Callable[..., None]

    def place(self, row: int) -> int:
        """Where a scalar leaf is; negative if nobody reads it."""
        raise NotImplementedError

    def put(self, row: int, number: float) -> None:
        """Set a scalar leaf that is not loaded from the graph."""
        self.scalars[self.place(row)] = number

    def held(self, row: int) -> float:
        """What such a leaf holds."""
        return float(self.scalars[self.place(row)])

    def begin(self) -> None:
        """Take memory of its own, in which nothing was computed yet."""
        raise NotImplementedError

    def twin(self) -> Self:
        """The same code with memory of its own."""
        twin = copy(self)
        twin.begin()
        return twin

    def set_source(self, source: Any) -> None:
        """Where the floats are that leaves are loaded from: see `address`."""
        self.arguments[0] = address(source, self.reach)

    def run(self, source: Any) -> None:
        """Run once. source: a view of the floats that leaves are loaded from."""
        self.set_source(source)
        self.call(self.packed)


def address(view: Any, reach: int) -> int:
    """Where the floats of a view lie, for as long as it is held. reach: how many are read."""
    if len(view) < reach:
        raise StaleNodeError("This Program's graph was cut back while it ran. Build the Program again.")
    return int(np.frombuffer(view).ctypes.data) if reach else 0


LINE = 64  # bytes of a line of the cache


def aligned(size: int) -> Array:
    """So many zeros, that begin where a line of the cache does: a register then never lies across two of them."""
    room = np.zeros(8 * size + LINE, np.uint8)
    start = -room.ctypes.data % LINE
    return room[start : start + 8 * size].view(np.float64)


def runs_of(places: Array) -> list[tuple[int, int]]:
    """Where runs of neighbours begin and end.

    >>> runs_of(np.array([5, 6, 7, 2, 3]))
    [(0, 3), (3, 5)]
    """
    breaks = (np.flatnonzero(np.diff(places) != 1) + 1).tolist()
    return [(first, last) for first, last in zip([0, *breaks], [*breaks, len(places)], strict=True) if last > first]


def side_by_side(rows: Iterable[int], steps: Iterable[Step], wanted: Sequence[int]) -> list[int]:
    """Sums over the samples in the order in which they are handed out; a line of an outer product stays whole.

    >>> side_by_side([5, 6, 7, 8], [Outer([1], [2, 3], [[8, 6]])], wanted=[7, 6, 5, 8])
    [7, 5, 8, 6]
    """
    order = {row: place for place, row in reversed(list(enumerate(wanted)))}
    lines = [line for step in steps if isinstance(step, Outer) for line in step.results]
    lines += [[row] for row in set(rows).difference(*lines)]
    lines.sort(key=lambda line: (order.get(line[0], len(order)), line[0]))
    return [row for line in lines for row in line]


class LeafPlaces:
    """The places of all numbers that leaves hold: first loaded ones, then fed ones, then those that lanes hold.

    alone: leaves of one value, and where each comes from. lines: leaves with a
    value for each sample of which some may change; a lane that is a constant has
    its number among the scalars too.
    """

    def __init__(self, flat: Flat) -> None:
        leaves = flat.leaves()
        self.alone = {row: flat.sources.get(row) for row in leaves[flat.groups[leaves] == 0].tolist()}
        self.lines = {row: each for row, each in flat.sources.items() if isinstance(each, Lanes) and not each.constant}
        every = [*self.alone.values(), *(source for line in self.lines.values() for source in line.sources)]
        self.loads = sorted({each for each in every if isinstance(each, int)})
        self.reach = self.loads[-1] + 1 if self.loads else 0
        self.fed = sorted({each.row for each in every if isinstance(each, FedLeaf)})
        numbers = {number.hex(): number for line in self.lines.values() for number in line.numbers}
        self.held, first = [*numbers.values()], len(self.loads)
        self.fed_at = slice(first, first + len(self.fed))
        self.held_at = slice(self.fed_at.stop, self.fed_at.stop + len(self.held))
        self.count = self.held_at.stop
        self._loaded = {source: place for place, source in enumerate(self.loads)}
        self._fed = {row: place for place, row in enumerate(self.fed, first)}
        self._held = {number: place for place, number in enumerate(numbers, self.held_at.start)}

    def place(self, source: Any, number: float | None = None) -> int:
        """The place of what comes from there, or of that number; NONE if it has none of these."""
        if isinstance(source, int):
            return self._loaded[source]
        if isinstance(source, FedLeaf):
            return self._fed[source.row]
        return NONE if number is None else self._held[number.hex()]


LEAST_HALVED = 24_000_000  # products of tiles that take some 1 ms: from there on samples go in two halves
WARM = 262_144  # bytes of lanes that stay in the cache
FLOAT = 8  # bytes of a number
WIDEST = 128  # samples in a block


class Memory(Face):
    """The numbers of a plan: its scalars, and for each group of samples its lanes, feeds and results."""

    fed: dict[int, list[int]]  # by group: leaves that are fed a number for each sample,
    exported: dict[int, dict[int, int]]  # the wanted rows, and which line is whose,
    feeds: dict[int, Array]  # and a line of floats for each of both, one for each sample,
    outs: dict[int, Array]  # with room up to the stride
    slots: Array  # where each row's scalar is
    results: slice  # where wanted scalars are handed out; behind them the lines, and whether all are finite
    most_slots: dict[int, int]  # by group: how many lines of lanes there are,
    work: dict[int, list[int]]  # and how long each section takes for one sample;
    kept: set[int]  # in which groups all lines must be there at once
    planned: list[PlannedPart]

    def set_samples(self, samples: Sequence[int]) -> None:
        """Make room for so many samples of each group; what was fed must be fed again."""
        self.samples = list(samples)
        self.places: dict[int, GroupPlaces] = {}
        sizes = [0, 0, self.results.stop]  # of lanes, feeds, and of all scalars with those that lanes hand out
        for group, count in enumerate(samples[1:], 1):
            slots, parts = self.most_slots[group], [part for part in self.planned if part.group == group]
            half = -(-count // 2) if count * _shared(self.work[group]) >= LEAST_HALVED else count
            width = _width(half, slots, group in self.kept)
            half, stride = min(-(-half // width) * width, count), -(-count // width) * width
            lines = len(self.exported[group]) + max((len(part.ordered) for part in parts), default=0)
            (lanes, feeds, outs), room = sizes, slots * width
            behind = outs + lines * stride
            self.places[group] = GroupPlaces(count, half, width, stride, lanes, lanes + room, feeds, outs, behind)
            sizes = [lanes + room, feeds + len(self.fed[group]) * stride, behind]
            if half < count:
                sizes = [lanes + 2 * room, sizes[1], behind + max(part.sums for part in parts)]
        self.lanes, self.feed_room = (aligned(size + LANES) for size in sizes[:2])
        self.scalars = np.concatenate([self.scalars[: self.results.stop], np.zeros(sizes[2] + 1 - self.results.stop)])
        self.out, self.feeds, self.outs = self.scalars[self.results.start :], {}, {}
        for group, at in self.places.items():
            self.feeds[group] = _lines(self.feed_room[at.feeds :], len(self.fed[group]), at.stride)
            self.outs[group] = _lines(self.scalars[at.outs :], len(self.exported[group]), at.stride)
        for row, source in self.flat.sources.items():
            if isinstance(source, Count) and self.place(row) >= 0:
                self.put(row, float(self.samples[source.group]))
            elif isinstance(source, Lanes) and source.constant:
                self.feed(row)[: len(source.numbers)] = source.numbers

    def place(self, row: int) -> int:
        return int(self.slots[row])

    def feed(self, row: int) -> Array:
        """Where a leaf's lanes are: a view, one float for each sample, and room up to the stride."""
        group = int(self.flat.groups[row])
        return self.feeds[group][self.fed[group].index(row)]

    def out_lines(self, group: int) -> Array:
        """The values of a group's wanted rows until the next run: a view with a line for each of `exported[group]`."""
        return self.outs[group][:, : self.samples[group]]

    def place_out(self, row: int, lane: int) -> int:
        """Where a lane of a wanted row is in `out`; without a lane, which line of its group the row has."""
        group = int(self.flat.groups[row])
        line, at = self.exported[group][row], self.places[group]
        return line if lane == NONE else at.outs - self.results.start + line * at.stride + lane


def _lines(room: Array, count: int, stride: int) -> Array:
    return room[: count * stride].reshape(count, stride)


def _shared(work: list[int]) -> float:
    """How much of the work for a sample counts: where it falls into many sections, each takes time to hand over."""
    return sum(work) * min(1.0, 4 / max(len(work), 1))


def _width(count: int, slots: int, whole: bool) -> int:
    """How many samples go through the tape together: as many as stay warm, shared out evenly."""
    warm = WARM // FLOAT // max(slots, 1)
    most = count if whole else min(WIDEST, max(LANES, warm // LANES * LANES))
    blocks = max(1, -(-count // most))
    share = -(-count // blocks)
    return -(-share // LANES) * LANES
