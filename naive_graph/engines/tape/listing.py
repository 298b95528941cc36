"""What becomes of each row of a graph on its way to the tape, for who reads along.

>>> from naive_graph import Graph
>>> x, y = Graph.Variable(2.0), Graph.Variable(3.0)
>>> z = (x * y + x).sin()
>>> found = listing(z.tables, [z.row])
>>> print(found.flat)
   0 leaf
   1 leaf
   2 dot 0*1 + 0
   3 sin 2
>>> found.place.tolist()  # the product went into the dot
[0, 1, -1, 2, 3]
>>> [(each.name, each.first, each.rows) for each in found.instructions]
[('dot', 4, 1), ('sin', 5, 1)]
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from ...core.tables import Tables
from .cse import share
from .dots import dots
from .flat import NONE, Array, Flat
from .kernels import SECTION
from .powers import powers
from .rows import flat_of_tables
from .scalars import ABREAST, ALONE, COPIES, DOTS, HOWS, MANY, SUM
from .tape import Tape

FIVE = 5  # numbers of an instruction of scalars
WAYS = {
    MANY: "a loop over its rows", ALONE: "one row",
    SUM: "a loop over the terms", DOTS: "a loop over the products",
    ABREAST: "one row in each lane of a register",
}  # fmt: skip
QUICK = "one row, without a call"


class TapeLine(NamedTuple):
    """One instruction of the tape: what its rows compute, the slot of the first result, how many, and how it goes."""

    name: str
    first: int
    rows: int
    way: str


class Listing(NamedTuple):
    """A graph's values on the tape.

    rows: of the tables. place: where each of them is in `flat`, the plan that is left (NONE: nowhere). slots: of the
    rows of `flat`, where each value lies in memory.
    """

    rows: Array
    place: Array
    flat: Flat
    slots: Array
    instructions: list[TapeLine]


def listing(tables: Tables, results: list[int]) -> Listing:
    """The passes that find dots and share rows, and the tape that they lead to. Raises MissingToolError, Opaque."""
    flat, rows = flat_of_tables(tables, results)
    place = np.arange(len(rows), dtype=np.int32)
    wanted = np.searchsorted(rows, results).astype(np.int32)
    for rearranged in (powers, dots, share):
        flat, now = rearranged(flat, wanted)
        wanted, place = now[wanted], np.where(place == NONE, NONE, now[place])
    tape = Tape(flat, wanted.tolist())
    return Listing(rows, place, flat, tape.slots[: len(flat)], list(_instructions(tape)))


def _instructions(tape: Tape) -> Iterator[TapeLine]:
    """Those that compute rows, in their order."""
    named = {int(slot): tape.flat.name(row) for row, slot in enumerate(tape.slots[: len(tape.flat)])}
    for what, first, size, base, _ in tape.code.reshape(-1, FIVE).tolist():
        for at in range(base, base + size, 3) if what == SECTION else ():
            code, rows = tape.index[at : at + 2].tolist()
            if code % HOWS != COPIES:
                yield TapeLine(named[first], first, rows, WAYS.get(code % HOWS, QUICK))
            first += rows
