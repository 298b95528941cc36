"""The intermediate representation (IR) of the compiler passes: a plan, stored as columns in topological order.

    row  kind  operands                  the plan of x * y + x
     0   -2                 x            a leaf: its kind is the tables' number
     1   -2                 y
     2   mul   0 1                       an operator: its kind is the rule's number,
     3   add   2 0                       or one that only the passes know: DOT, TOTAL, REDUCE, LARGEST

A DOT is a sum of products. Its operands come in pairs: (x0, y0, x1, y1, ...) is x0*y0 + x1*y1 + ..., and a pair
(x, NONE) is x alone. It is added up from the left, in the written order. TOTAL sums such an expression over all
samples, in their order; REDUCE in any order. A row has one value (group 0), or one for each sample of its group.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from ...core.number import number
from ...core.rules import BY_NUMBER, RULES, Arithmetic, Rule
from ..llvm.values import Ints

Array = Any  # a NumPy array
NONE = -1  # no row, no operand, or no lane
DOT, TOTAL, REDUCE = -4, -5, -6  # kinds that only plans have; leaves are -1 to -3
LARGEST = 30_001  # the largest operand of a softmax, also only in plans; positive, as its operands are no pairs
NAMES = {DOT: "dot", TOTAL: "total", REDUCE: "reduce", LARGEST: "largest"}
ADD, SUB, MUL, NEG, WHERE = (RULES[name].number for name in ("add", "sub", "mul", "neg", "where"))


class PlanColumns(NamedTuple):
    """The columns of a plan, as `@machine` functions read and write them; see IR."""

    kinds: Ints
    starts: Ints
    operands: Ints
    groups: Ints


class FedInput(NamedTuple):
    """A source of a leaf's value: it is fed by the caller. row: the leaf's row in the tables."""

    row: int


class Lanes(NamedTuple):
    """A source of a leaf with a value for each sample: a number for each lane, or where to load it from (not None)."""

    numbers: list[float]
    sources: list[Any]

    @property
    def constant(self) -> bool:
        return all(source is None for source in self.sources)


class Sample(NamedTuple):
    """The place of a value after a pass: a row, and a lane if it became one sample of it (else NONE)."""

    row: int
    lane: int


@dataclass(repr=False)
class IR:
    """A plan: rows in topological order, every operand before its consumers.

    kinds: int32, one for each row. starts, operands: int32 (compressed rows); row i's operands are
    operands[starts[i]:starts[i + 1]]. groups: int32; 0 for a scalar row, else the number of the group of samples
    for which the row has a value each. constants: row -> the number that a Constant holds. sources: row -> where
    another leaf's value comes from: an index into the tables' values (or the array of weights), a FedInput, Lanes, or a
    Count (reverse_symbolic.py). samples: how many samples each group has.
    """

    kinds: Array
    starts: Array
    operands: Array
    groups: Array
    constants: dict[int, float] = field(default_factory=dict)
    sources: dict[int, Any] = field(default_factory=dict)
    samples: list[int] = field(default_factory=lambda: [1])

    def __len__(self) -> int:
        return len(self.kinds)

    @property
    def columns(self) -> PlanColumns:
        return PlanColumns(self.kinds, self.starts, self.operands, self.groups)

    @property
    def has_samples(self) -> bool:
        return len(self.samples) > 1

    def of(self, row: int) -> list[int]:
        """The operands of a row."""
        operands: list[int] = self.operands[self.starts[row] : self.starts[row + 1]].tolist()
        return operands

    def name(self, row: int) -> str:
        """The name of the row's operator, or "leaf"."""
        return name_of(int(self.kinds[row]))

    def leaves(self) -> Array:
        return np.flatnonzero((self.kinds < 0) & (self.kinds > DOT))

    def computed(self) -> Array:
        """All rows that are not leaves."""
        return np.flatnonzero((self.kinds >= 0) | (self.kinds <= DOT))

    def scalar_sources(self) -> list[Any]:
        """The sources of all single numbers: of scalar leaves, and of the lanes of hidden samples."""
        groups, lanes = self.groups.tolist(), [line for line in self.sources.values() if isinstance(line, Lanes)]
        scalars = [source for row, source in self.sources.items() if not groups[row]]
        return scalars + [source for line in lanes for source in line.sources]

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
    """The name of a kind's operator, or "leaf"."""
    return NAMES.get(kind) or (BY_NUMBER[kind].name if kind >= 0 else "leaf")


def mark_rows(rows: int, these: Any) -> Array:
    """A mask with a byte for each of `rows` rows: 1 for these."""
    marks = np.zeros(rows, np.uint8)
    marks[these] = 1
    return marks


def allocate_columns(rows: int, edges: int) -> PlanColumns:
    """Allocate uninitialised columns for so many rows and operands."""
    return PlanColumns(*(np.empty(size, np.int32) for size in (rows, rows + 1, edges, rows)))


def with_columns(ir: IR, made: PlanColumns, size: int, constants: Any, sources: Any) -> IR:
    """The plan of the first `size` rows of these columns, with these constants and sources of leaves."""
    sizes = PlanColumns(size, size + 1, made.starts[size], size)
    kinds, starts, operands, groups = (column[:end].copy() for column, end in zip(made, sizes, strict=True))
    return IR(kinds, starts, operands, groups, constants, sources, ir.samples)


def renumber_rows(ir: IR, place: Array, made: PlanColumns, size: int) -> IR:
    """The plan of the first `size` rows of these columns; leaves keep their values. place: old row -> new row."""
    constants = {int(place[row]): value for row, value in ir.constants.items() if place[row] >= 0}
    sources = {int(place[row]): source for row, source in ir.sources.items() if place[row] >= 0}
    return with_columns(ir, made, size, constants, sources)


def replace_rows(ir: IR, place: Array, rows: Sequence[tuple[int, Sequence[int], int]]) -> IR:
    """The plan with other rows: (kind, operands, group) each; leaves keep their values. place: old row -> new row."""
    kinds, operands, groups = zip(*rows, strict=True)
    columns = (kinds, np.cumsum([0, *map(len, operands)]), [operand for some in operands for operand in some], groups)
    return renumber_rows(ir, place, PlanColumns(*(np.array(column, np.int32) for column in columns)), len(rows))


# --- tracing a function into rows ------------------------------------------------


class Rows:
    """The rows that a traced function recorded so far, numbered from `first`: each a kind and its operands.

    rows = Rows(first=2)                    rows 0 and 1 are there already
    x, y = Tracer(rows, 0), Tracer(rows, 1)
    x.sin() * y                             row 2 is sin 0, row 3 is mul 2 1

    numbers: constants in use -> their rows. Keys are written by `float.hex`, so that -0.0 and 0.0 differ.
    """

    who = "A node"  # the subject of the error message for an operand that is not a number

    def __init__(self, first: int, numbers: dict[str, int] | None = None) -> None:
        self.first, self.numbers = first, {} if numbers is None else numbers
        self.made: list[tuple[int, list[int]]] = []

    def add(self, kind: int, operands: list[int]) -> int:
        """Append a row, and return its number."""
        self.made.append((kind, operands))
        return self.first + len(self.made) - 1

    def place(self, value: Any) -> int:
        """The row of a tracer, or of a number, which becomes a constant."""
        if isinstance(value, Tracer):
            return value.row
        held = number(value, self.who)
        if held.hex() not in self.numbers:
            self.numbers[held.hex()] = self.constant(held)
        return self.numbers[held.hex()]

    def constant(self, value: float) -> int:
        """Make a constant that is not in use yet, and return its row or reference."""
        raise NotImplementedError


class Tracer(Arithmetic):
    """A value that stands for a row; operators applied to it append rows (as a JAX tracer does)."""

    __slots__ = ("row", "rows")

    def __init__(self, rows: Rows, row: int) -> None:
        self.rows, self.row = rows, row

    def apply(self, rule: Rule, *operands: Any) -> Any:
        rule.check_arity(len(operands))
        return type(self)(self.rows, self.rows.add(rule.number, [self.rows.place(operand) for operand in operands]))
