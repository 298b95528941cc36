"""From the tables to columns, without a step in Python for each row.

The tables keep edges as they were drawn, and a merged sum as one edge from the
row that it absorbed. Here every row's operands are written out, for the rows
that some results depend on. Rows stand in the order of their making, in which
operands come before their consumers, unless an edge was drawn by hand.
"""

from __future__ import annotations

import numpy as np

from ...core.plan import check_complete, plan_for
from ...core.rules import BY_NUMBER
from ...core.tables import CONSTANT, Tables
from ..direct import kernel
from ..direct.kernel import ASKED, EDGES, FIRST_ASKED, ROWS
from ..llvm.machine import machine
from ..llvm.python import Ints, Longs
from .flat import Array, Flat

# Parts of the machine code here: so the kernel itself need not be compiled.
grouped, chosen, spread = (each.python for each in (kernel.grouped, kernel.chosen, kernel.spread))


def flat_of_tables(tables: Tables, targets: list[int]) -> tuple[Flat, Array]:
    """The rows that the targets depend on, as columns; and which rows of the tables they are."""
    kinds, starts, operands, rows = _columns(tables, targets)
    arities = np.array([rule.arity or 0 for rule in BY_NUMBER], np.int32)[kinds]  # of leaves it means nothing
    degrees = np.diff(starts)
    odd = (kinds >= 0) & ((degrees == 0) | ((arities > 0) & (degrees != arities)))
    check_complete(tables, rows[odd].tolist())
    flat = Flat(kinds, starts, operands, np.zeros(len(kinds), np.int32))
    constants = np.flatnonzero(kinds == CONSTANT)
    held = np.array(tables.values, np.float64)[rows[constants]] if len(constants) else constants
    flat.constants = dict(zip(constants.tolist(), held.tolist(), strict=True))
    others = np.flatnonzero((kinds < 0) & (kinds != CONSTANT))
    flat.sources = dict(zip(others.tolist(), rows[others].tolist(), strict=True))
    return flat, rows


def _columns(tables: Tables, targets: list[int]) -> tuple[Array, Array, Array, Array]:
    """Kinds, starts and operands of the rows, and which they are. A column goes as soon as it was read."""
    rows, edges = len(tables), len(tables.sources)
    own, begins, marks, room = (np.empty(size, np.int32) for size in (edges, rows + 1, rows, rows))
    columns = (np.array(column, np.int32) for column in (tables.targets, tables.sources))
    asked = np.array([rows, edges, 0, len(targets), *[0] * (FIRST_ASKED - ASKED - 1), *targets], np.int64)
    mark_needed(*columns, own, begins, marks, room, asked)
    starts = np.concatenate([[0], np.cumsum(np.array(tables.in_degrees, np.int32) * marks)]).astype(np.int32)
    operands = np.empty(starts[-1], np.int32)
    if not written_out(rows, marks, starts, operands, own, begins):
        return _by_plan(tables, targets)
    del own, begins
    these = np.flatnonzero(marks).astype(np.int32)
    place = np.cumsum(marks, dtype=np.int32) - 1
    kinds = np.array(tables.operators, np.int32)[these]
    return kinds, np.append(starts[these], starts[-1:]), place[operands], these


def _by_plan(tables: Tables, targets: list[int]) -> tuple[Array, Array, Array, Array]:
    """The same in Kahn's order, for graphs with edges that were drawn by hand."""
    plan = plan_for(tables, targets)
    columns = (plan.kinds, plan.starts, plan.operand_steps, plan.rows)
    kinds, starts, operands, rows = (np.array(column, np.int32) for column in columns)
    return kinds, starts, operands, rows


@machine
def mark_needed(targets: Ints, sources: Ints, own: Ints, begins: Ints, marks: Ints, room: Ints, asked: Longs) -> None:
    """Group the sources by the row drawn into, and mark the rows that are asked for and what they depend on."""
    grouped(targets, sources, asked[EDGES], asked[ROWS], own, begins, room)
    chosen(sources, asked[EDGES], own, begins, marks, room, asked)


@machine
def written_out(rows: int, marks: Ints, starts: Ints, operands: Ints, own: Ints, begins: Ints) -> int:
    """Write down all operands of the marked rows; 0 if they are not as many as they should be, or one comes later."""
    for row in range(rows):
        if marks[row]:
            if not spread(row, starts, operands, own, begins):
                return 0
            for at in range(starts[row], starts[row + 1]):
                if operands[at] >= row:
                    return 0
    return 1
