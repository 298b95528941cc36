"""What a Program asks of code that has memory of its own, a `Tape` or a `StraightLine`.

A call has the memory to itself. Who calls while another call is under way, as a
signal's handler may, takes a twin: the same code with other memory.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from typing import Any, Self

import numpy as np

from ...errors import StaleNodeError
from .flat import Array, Flat


class Face:
    """Compiled code as a Program uses it: leaves to set, results to read, a run, and a twin for nested calls."""

    flat: Flat
    scalars: Array
    fed_rows: list[int]  # of the tables: the leaves that are fed a number,
    fed_at: Array  # and where among the scalars, or a slice
    out: Array
    reach: int  # how many of the floats that leaves are loaded from are read
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
        self._run(self.packed)


def address(view: Any, reach: int) -> int:
    """Where the floats of a view lie, for as long as it is held. reach: how many are read."""
    if len(view) < reach:
        raise StaleNodeError("This Program's graph was cut back while it ran. Build the Program again.")
    return int(np.frombuffer(view).ctypes.data) if reach else 0
