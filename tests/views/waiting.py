"""New nodes that wait for their rows, and how they become columns.

To build is one step: a new node joins the list of those that wait, with its operands.
So it needs no lock, may be done anywhere at any time, and a Ctrl-C comes before that step
or after it. Whoever looks at a column first writes those that wait behind the last row.
The list keeps new nodes alive until they have rows, and from there on whoever holds them.

Merging `(a + b) + c` into one sum of three makes a new row that *absorbs* the
row of `a + b`: its first edge comes from ~row, which stands for "every operand
of that row", so that no edge is stored twice and the absorbed row stays as it
was.
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from itertools import count
from operator import attrgetter
from types import CodeType
from typing import TYPE_CHECKING, Any, NamedTuple

from .rules import BY_NUMBER

if TYPE_CHECKING:
    from .storage import Storage

# Leaf kinds stand in the column of operators, below the numbers of the rules.
CONSTANT, VARIABLE, PLACEHOLDER = -1, -2, -3
MOST_MERGED = 32  # operands that (a + b) + c and the like may gather in one node
WIDTH = 7  # items of a node that waits
FULL = 1000 * WIDTH  # items that may wait for their rows
# In place of an operand's row: there is none; the row before this one; it was cut away.
NO_ROW, ROW_BEFORE, CUT = -1, -2, -3
ROW = attrgetter("_row")


class WaitingNodes(NamedTuple):
    """Nodes that wait for their rows: a sequence for each of these.

    lefts, rights: operands, or NOTHING, or BEFORE for the entry before, a number. values: of leaves; None of a
    Variable without one; 0.0 of operators, or a tuple of many operands (nodes, rows, or how many rows before, a float).
    nodes: None for a number.
    """

    operators: Sequence[int]
    lefts: Sequence[Any]
    rights: Sequence[Any]
    values: Sequence[Any]
    codes: Sequence[CodeType]
    instructions: Sequence[int]
    nodes: Sequence[Any]


class NoOperand:
    """Stands where a waiting node has no operand, or one that is no node."""

    def __init__(self, row: int) -> None:
        self._row = row


NOTHING, BEFORE = NoOperand(NO_ROW), NoOperand(ROW_BEFORE)


class NewRows(NamedTuple):
    """New rows as columns; values and stamps are empty where none is a leaf with a value."""

    operators: array[int]
    in_degrees: array[int]
    sources: array[int]
    targets: array[int]
    values: array[float]
    stamps: array[int]


def columns_of(tables: Storage, new: WaitingNodes) -> NewRows | None:
    """New nodes as columns; None if an operand was cut away meanwhile. Each gets its row."""
    first = tables.size[0]
    for row, node in enumerate(new.nodes, first):
        if node is not None:
            node._row = row
    many: dict[int, Sequence[Any]] = {}
    unset: set[int] = set()
    try:
        values = array("d", new.values)
    except TypeError:
        values = array("d", bytes(8 * len(new.values)))
        for row, value in enumerate(new.values, first):
            if type(value) is float:
                values[row - first] = value
            elif value is None:
                unset.add(row)
            else:
                many[row] = [each if type(each) in (int, float) else each._row for each in value]
    tables.unset.update([row for row in unset if new.operators[row - first] == VARIABLE])
    lefts, rights = array("i", map(ROW, new.lefts)), array("i", map(ROW, new.rights))
    operators = array("h", new.operators)
    columns = None
    if tables.write_quickly is not None and not many and not unset:
        columns = tables.write_quickly(tables, operators, lefts, rights, values)
    return columns or write_rows(tables, operators, lefts, rights, values, many, unset)


def write_rows(
    tables: Storage, operators: array[int], lefts: array[int], rights: array[int], values: array[float],
    many: dict[int, Sequence[Any]], unset: set[int],
) -> NewRows | None:  # fmt: skip
    """The columns of new rows. many: operands of some; a float says how many rows before the row one is."""
    first, now, known, degrees = tables.size[0], tables.clock, tables._operators, tables._in_degrees
    counts: list[int] = []
    sources: list[int] = []
    targets: list[int] = []
    stamps = array("q", bytes(8 * len(operators)))
    for row, operator, left, right in zip(count(first), operators, lefts, rights):
        degree = 0
        if operator < 0:
            if operator != PLACEHOLDER and row not in unset:
                stamps[row - first] = now
        elif row in many:
            own = [row - int(each) if type(each) is float else each for each in many[row]]
            if CUT in own:
                return None
            degree = len(own)
            sources += own
            targets += [row] * degree
        else:
            if left == CUT or right == CUT:
                return None
            degree = 1
            if right != NO_ROW:
                degree = 2
                if right == ROW_BEFORE:
                    right = row - 1
                if BY_NUMBER[operator].associative and left != right:  # only the left: a + (b + c) has other bits
                    if left < first:
                        kind, below = known[left], degrees[left]
                    else:
                        kind, below = operators[left - first], counts[left - first]
                    if kind == operator and 2 <= below < MOST_MERGED:
                        left, degree = ~left, below + 1
            sources.append(left)
            targets.append(row)
            if right != NO_ROW:
                sources.append(right)
                targets.append(row)
        counts.append(degree)
    return NewRows(operators, array("i", counts), array("i", sources), array("i", targets), values, stamps)


def codes_of(codes: Sequence[CodeType], last: CodeType | None, first: int) -> list[tuple[int, CodeType]]:
    """From which row on each code object made the new rows. last: what made the row before the first."""
    starts = []
    for row, code in enumerate(codes, first):
        if code is not last:
            starts.append((row, code))
            last = code
    return starts
