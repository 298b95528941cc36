"""What a Program asks of code that has memory of its own, a `Tape` or a `StraightLine`."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ..llvm.precision import Precision
from .adjoint import Count
from .flat import Array, Flat


class Face:
    """Leaves to be set, results to be looked at, and a run."""

    flat: Flat
    precision: Precision
    samples: list[int]  # of each group
    scalars: Array
    fed: dict[int, list[int]]  # by group: the leaves that are fed,
    exported: dict[int, list[int]]  # the wanted rows,
    feeds: dict[int, Array]  # and a line of floats for each of both, one for each sample,
    outs: dict[int, Array]  # with room up to the stride
    arguments: Array  # of the code; the first is where leaves are loaded from
    packed: int  # their address
    _run: Callable[..., None]

    def place(self, row: int) -> int:
        """Where a scalar leaf is; negative if nobody reads it."""
        raise NotImplementedError

    def put(self, row: int, number: float) -> None:
        """Set a scalar leaf that is not loaded from the graph."""
        self.scalars[self.place(row)] = self.precision.rounded(number)

    def held(self, row: int) -> float:
        """What such a leaf holds."""
        return float(self.scalars[self.place(row)])

    def scalars_of(self, rows: Sequence[int]) -> tuple[Array, list[int]]:
        """Where such leaves are: an array, and the place of each."""
        return self.scalars, [self.place(row) for row in rows]

    def put_counts(self) -> None:
        """Set the leaves that say how many samples a group has."""
        for row, source in self.flat.sources.items():
            if isinstance(source, Count) and self.place(row) >= 0:
                self.put(row, float(self.samples[source.group]))

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
        if self.flat.starts[row] == self.flat.starts[row + 1]:  # a leaf: what was fed
            return self.feed(row)[: self.samples[group]]
        return self.out_lines(group)[self.exported[group].index(row)]

    def set_source(self, source: int) -> None:
        """Where the floats are that leaves are loaded from."""
        self.arguments[0] = source

    def run(self, source: int) -> None:
        """Run once. source: the address of the floats that leaves are loaded from."""
        self.set_source(source)
        self._run(self.packed)
