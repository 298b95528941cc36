"""What a Program asks of code that has memory of its own, a `Tape` or a `StraightLine`."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from .flat import Array, Flat


class Face:
    """Leaves to be set, results to be looked at, and a run."""

    flat: Flat
    scalars: Array
    arguments: Array  # of the code; the first is where leaves are loaded from
    packed: int  # their address
    _run: Callable[..., None]

    def place(self, row: int) -> int:
        """Where a scalar leaf is; negative if nobody reads it."""
        raise NotImplementedError

    def put(self, row: int, number: float) -> None:
        """Set a scalar leaf that is not loaded from the graph."""
        self.scalars[self.place(row)] = number

    def held(self, row: int) -> float:
        """What such a leaf holds."""
        return float(self.scalars[self.place(row)])

    def scalars_of(self, rows: Sequence[int]) -> tuple[Array, list[int]]:
        """Where such leaves are: an array, and the place of each."""
        return self.scalars, [self.place(row) for row in rows]

    def set_source(self, source: int) -> None:
        """Where the floats are that leaves are loaded from."""
        self.arguments[0] = source

    def run(self, source: int) -> None:
        """Run once. source: the address of the floats that leaves are loaded from."""
        self.set_source(source)
        self._run(self.packed)
