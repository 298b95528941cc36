"""New nodes wait in a list before they get rows; this file converts that list into columns.

To build a node is one step: its operator, operands, value and origin (WIDTH items) are appended
to a list. So it needs no lock, may be done in any thread at any time, and a Ctrl-C comes before
or after that step, never within it. Before a column is read, the waiting nodes are written
behind its last row (`Storage.flush`). The list keeps new nodes alive until the next nodes are
written or a handle is asked for; after that, only the references that others hold do.

    x + 2.0     two nodes: (CONSTANT, no operands, 2.0, ...), (add, x, BEFORE, ...)

Merging `(a + b) + c` into one sum of three makes a new row that *absorbs* the
row of `a + b`: the source of its first edge is ~row, which stands for "every operand
of that row", so that no edge is stored twice and the absorbed row stays as it
was.
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from itertools import chain, compress, count
from operator import is_not
from struct import error as StructError
from struct import pack
from types import CodeType
from typing import Any, NamedTuple

from .rules import BY_NUMBER

# Leaf kinds, as negative numbers: in the operator column, numbers from 0 on are rules.
CONSTANT, VARIABLE, PLACEHOLDER = -1, -2, -3
MOST_MERGED = 32  # most operands that a node made by merging, such as (a + b) + c, may have
WIDTH = 7  # list items per waiting node: the fields of WaitingNodes, in order
FULL = 1000 * WIDTH  # list items that may wait; at so many, `append` of graph/node_factory.py flushes
# In place of an operand's row: no operand; the row just before this one; a row that was truncated.
NO_ROW, ROW_BEFORE, CUT = -1, -2, -3


class WaitingNodes(NamedTuple):
    """Waiting nodes by column, one sequence per field.

    operators: a rule's number, or a leaf kind. lefts, rights: up to two operands (nodes); NOTHING if there is none,
    BEFORE for the entry before this one, a Constant. values: a leaf's float, or None if it has no value; for an
    operator 0.0, or a tuple of its operands if `lefts` and `rights` do not hold them: nodes, rows (int), or a float k
    for the row k before. codes, instructions: where the node was made (origin.py). nodes: the Node objects; None for
    a Constant made from a float.
    """

    operators: Sequence[int]
    lefts: Sequence[Any]
    rights: Sequence[Any]
    values: Sequence[Any]
    codes: Sequence[CodeType]
    instructions: Sequence[int]
    nodes: Sequence[Any]


class NoOperand:
    """Sentinel operand: its `_row` is NO_ROW or ROW_BEFORE."""

    __slots__ = ("_row",)

    def __init__(self, row: int) -> None:
        self._row = row


NOTHING, BEFORE = NoOperand(NO_ROW), NoOperand(ROW_BEFORE)


def operator_entries(
    operator: int, operands: Sequence[Any], code: CodeType, instruction: int, node: Any, merges: bool = True
) -> list[Any]:
    """List entries of an operator over nodes and floats: a Constant for each float, then the operator.

    merges: whether the operator may absorb its left operand.
    """
    numbers = [operand for operand in operands if type(operand) is float]
    left: Any = NOTHING
    right: Any = NOTHING
    value: Any = 0.0  # or a tuple of the operands
    if len(operands) <= 2 and len(numbers) < 2 and merges:
        left, right = [*(BEFORE if type(operand) is float else operand for operand in operands), NOTHING][:2]
    else:
        distances = iter(range(len(numbers), 0, -1))  # from the operator back to each Constant
        value = tuple([float(next(distances)) if type(operand) is float else operand for operand in operands])
    entries: list[Any] = []
    for constant in numbers:
        entries += (CONSTANT, NOTHING, NOTHING, constant, code, instruction, None)
    entries += (operator, left, right, value, code, instruction, node)
    return entries


class NewRows(NamedTuple):
    """New rows as columns; values and stamps are empty if no row is a leaf with a value."""

    operators: array[int]
    in_degrees: array[int]
    sources: array[int]
    targets: array[int]
    values: array[float]
    stamps: array[int]


def array_of(code: str, numbers: Sequence[Any]) -> array[Any]:
    """Pack numbers into an array. code: of the type; struct takes half the time of array's own constructor."""
    return array(code, pack(f"{len(numbers)}{code}", *numbers))


def columns_of(tables: Any, new: WaitingNodes) -> NewRows | None:
    """Convert waiting nodes to columns and set each node's row; None if an operand was truncated meanwhile.

    tables: the Storage that the columns will be appended to.
    """
    first = tables.size[0]
    for row, node in enumerate(new.nodes, first):
        if node is not None:
            node._row = row
    operand_lists: dict[int, Sequence[Any]] = {}
    unset: set[int] = set()
    try:
        values: array[float] = array_of("d", new.values)
    except StructError:  # some value is None (a leaf without one) or a tuple (operands)
        values = array("d", bytes(8 * len(new.values)))
        for row, value in enumerate(new.values, first):
            if type(value) is float:
                values[row - first] = value
            elif value is None:
                unset.add(row)
            else:
                operand_lists[row] = [operand if type(operand) in (int, float) else operand._row for operand in value]
    tables.unset.update([row for row in unset if new.operators[row - first] == VARIABLE])
    lefts, rights = array_of("i", [node._row for node in new.lefts]), array_of("i", [node._row for node in new.rights])
    operators = array_of("h", new.operators)
    columns = None
    if tables.write_quickly is not None and not operand_lists and not unset:
        columns = tables.write_quickly(tables, operators, lefts, rights, values)
    return columns or write_rows(tables, operators, lefts, rights, values, operand_lists, unset)


def write_rows(
    tables: Any, operators: array[int], lefts: array[int], rights: array[int], values: array[float],
    many: dict[int, Sequence[Any]], unset: set[int],
) -> NewRows | None:  # fmt: skip
    """The columns of new rows, with nested sums and products merged.

    many: row -> its operands, where a float k means the row k before. unset: leaves without a value.
    """
    first, now, earlier, degrees = tables.size[0], tables.clock, tables._operators, tables._in_degrees
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
            operand_rows = [row - int(operand) if type(operand) is float else operand for operand in many[row]]
            if CUT in operand_rows:
                return None
            degree = len(operand_rows)
            sources += operand_rows
            targets += [row] * degree
        else:
            if left == CUT or right == CUT:
                return None
            degree = 1
            if left == ROW_BEFORE:
                left = row - 1
            if right != NO_ROW:
                degree = 2
                if right == ROW_BEFORE:
                    right = row - 1
                if BY_NUMBER[operator].associative and left != right:  # left only: a + (b + c) rounds differently
                    if left < first:
                        kind, left_degree = earlier[left], degrees[left]
                    else:
                        kind, left_degree = operators[left - first], counts[left - first]
                    if kind == operator and 2 <= left_degree < MOST_MERGED:
                        left, degree = ~left, left_degree + 1  # absorb the left operand
            sources.append(left)
            targets.append(row)
            if right != NO_ROW:
                sources.append(right)
                targets.append(row)
        counts.append(degree)
    return NewRows(operators, array("i", counts), array("i", sources), array("i", targets), values, stamps)


def codes_of(codes: Sequence[CodeType], last: CodeType | None, first: int) -> list[tuple[int, CodeType]]:
    """Pairs (row, code): from that row on, `code` made the new rows. last: what made the row before `first`."""
    changes = map(is_not, codes, chain([last], codes))
    return [(row, codes[row - first]) for row in compress(count(first), changes)]
