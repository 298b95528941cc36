"""A plan as columns: what the passes read and write.

    row  kind  operands                  of x * y + x, with z fed for every sample: x * y * z
     0   -2                 x            a leaf's kind, as in the tables,
     1   -2                 y
     2   mul   0 1                       or a rule's number,
     3   add   2 0                       or a kind of this room: DOT, TOTAL, REDUCE

A DOT's operands come in pairs: (x0, y0, x1, y1, ...) is x0*y0 + x1*y1 + ..., and
a pair (x, NONE) is x alone. It adds up from the left, as the written sum did.
TOTAL adds such a sum up over all samples, in their order; REDUCE in any order.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from ...core.rules import BY_NUMBER, RULES
from ..llvm.typed import Ints

Array = Any  # of NumPy's
NONE = -1
DOT, TOTAL, REDUCE = -4, -5, -6
LARGEST = 30_001  # a softmax's largest operand
NAMES = {DOT: "dot", TOTAL: "total", REDUCE: "reduce", LARGEST: "largest"}
ADD, SUB, MUL, NEG, WHERE = (RULES[name].number for name in ("add", "sub", "mul", "neg", "where"))


class PlanColumns(NamedTuple):
    """What kernels read of a plan, and write of a new one."""

    kinds: Ints
    starts: Ints
    operands: Ints
    groups: Ints


class FedInput(NamedTuple):
    """Where a leaf's value comes from: it is fed, for the leaf of that row of the tables."""

    row: int


class Lanes(NamedTuple):
    """What a leaf's lanes hold: a number each, and where it comes from (None: it is that number)."""

    numbers: list[float]
    sources: list[Any]

    @property
    def constant(self) -> bool:
        return all(source is None for source in self.sources)


class Sample(NamedTuple):
    """Where to find a row that became one of many lanes, or that only moved (lane NONE)."""

    row: int
    lane: int


@dataclass(repr=False)
class IR:
    """Rows in an order in which every operand comes before its consumers.

    kinds: int32, one for each row. starts, operands: int32; row i's operands are
    operands[starts[i]:starts[i + 1]]. groups: int32; 0 where a row has one
    value, else the number of the group of samples that it has a value for each
    of. leaves: row -> the number that a Constant holds, or where a leaf's value
    comes from. samples: how many samples each group has. loose: whether in a row
    a product and its addition may be rounded as one, as in those that serve
    derivatives only; without it none is.
    """

    kinds: Array
    starts: Array
    operands: Array
    groups: Array
    constants: dict[int, float] = field(default_factory=dict)
    sources: dict[int, Any] = field(default_factory=dict)
    samples: list[int] = field(default_factory=lambda: [1])
    loose: Array = None

    def __post_init__(self) -> None:
        if self.loose is None or len(self.loose) != len(self.kinds):
            self.loose = np.zeros(len(self.kinds), np.uint8)

    def __len__(self) -> int:
        return len(self.kinds)

    @property
    def columns(self) -> PlanColumns:
        return PlanColumns(self.kinds, self.starts, self.operands, self.groups)

    def of(self, row: int) -> list[int]:
        """The operands of a row."""
        operands: list[int] = self.operands[self.starts[row] : self.starts[row + 1]].tolist()
        return operands

    def name(self, row: int) -> str:
        """What the row computes, in a word."""
        kind = int(self.kinds[row])
        return name_of(kind)

    def leaves(self) -> Array:
        return np.flatnonzero((self.kinds < 0) & (self.kinds > DOT))

    def computed(self) -> Array:
        """All other rows."""
        return np.flatnonzero((self.kinds >= 0) | (self.kinds <= DOT))

    def __repr__(self) -> str:
        return f"<plan of {len(self)} rows>"

    def __str__(self) -> str:
        return "\n".join(self._line(row) for row in range(len(self)))

    def _line(self, row: int) -> str:
        held = f" {self.constants[row]!r}" if row in self.constants else ""
        mark = f"  (group {self.groups[row]})" if self.groups[row] else ""
        name = self.name(row)
        if self.kinds[row] <= DOT:
            pairs = self.of(row)
            text = " + ".join(f"{x}" if y == NONE else f"{x}*{y}" for x, y in zip(pairs[::2], pairs[1::2], strict=True))
        else:
            text = " ".join(map(str, self.of(row)))
        return f"{row:>4} {name} {text}".rstrip() + held + mark


def name_of(kind: int) -> str:
    """What rows of a kind compute, in a word."""
    return NAMES.get(kind) or (BY_NUMBER[kind].name if kind >= 0 else "leaf")


def mark_rows(rows: int, these: Any) -> Array:
    """A byte for each row: 1 for these."""
    marks = np.zeros(rows, np.uint8)
    marks[these] = 1
    return marks


def room(rows: int, edges: int) -> PlanColumns:
    """Columns for so many rows and operands, with nothing in them yet."""
    return PlanColumns(*(np.empty(size, np.int32) for size in (rows, rows + 1, edges, rows)))


def with_columns(ir: IR, made: PlanColumns, size: int, constants: Any, sources: Any) -> IR:
    """The plan of the first rows of these columns, and what its leaves hold now."""
    sizes = PlanColumns(size, size + 1, made.starts[size], size)
    kinds, starts, operands, groups = (column[:end].copy() for column, end in zip(made, sizes, strict=True))
    return IR(kinds, starts, operands, groups, constants, sources, ir.samples)


def moved(ir: IR, place: Array, made: PlanColumns, size: int) -> IR:
    """The plan of the first rows of these columns. place: where each old row went, and its leaf with it."""
    constants = {int(place[row]): value for row, value in ir.constants.items() if place[row] >= 0}
    sources = {int(place[row]): source for row, source in ir.sources.items() if place[row] >= 0}
    return with_columns(ir, made, size, constants, sources)


def replace_rows(ir: IR, place: Array, rows: Sequence[tuple[int, Sequence[int], int]]) -> IR:
    """The plan with these rows instead: of each its kind, its operands and its group."""
    kinds, operands, groups = zip(*rows, strict=True)
    columns = (kinds, np.cumsum([0, *map(len, operands)]), [operand for some in operands for operand in some], groups)
    return moved(ir, place, PlanColumns(*(np.array(column, np.int32) for column in columns)), len(rows))
