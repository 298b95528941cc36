"""Common-subexpression elimination (hash consing), and dead-code elimination.

>>> from naive_graph import Graph
>>> from naive_graph.engines.passes.build_ir import build_ir
>>> x = Graph.Variable(2.0)
>>> z = Graph.sum([x.sin(), x.sin()])
>>> ir, _ = build_ir(z.tables, [z.row])
>>> print(ir)
   0 leaf
   1 sin 0
   2 sin 0
   3 add 1 2
>>> print(eliminate_common_subexpressions(ir, wanted=[3])[0])
   0 leaf
   1 sin 0
   2 add 1 1

Rows of the same kind with the same operands have the same value, so one of them is kept.
Rows that no result depends on are removed.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from ..llvm.machine import machine
from ..llvm.values import Ints
from .ir import IR, NONE, Array, Lanes, PlanColumns, mark_rows, renumber_rows
from .repeats import descend

LEAST_KIND = 16  # added to kinds, so that they are positive in a hash
# Rows of a plan in which equal rows are searched; in a larger one the search takes longer than it saves.
MOST_COMPARED = 750_000


def eliminate_common_subexpressions(ir: IR, wanted: Array) -> tuple[IR, Array]:
    """Eliminate common subexpressions and dead rows; returns the plan, and the new row of each old one (NONE: gone)."""
    if len(ir) > MOST_COMPARED:
        return eliminate_dead_code(ir, wanted)
    same, slots = _find_equal_rows(ir), 1 << (2 * len(ir) + 1).bit_length()
    table = np.full(slots, NONE, np.int32)
    unify(len(ir), ir.columns, same, table, slots)
    ir = replace(ir, operands=np.where(ir.operands >= 0, same[ir.operands], NONE))
    ir, new_row = eliminate_dead_code(ir, same[wanted])
    return ir, new_row[same]


def eliminate_dead_code(ir: IR, wanted: Array) -> tuple[IR, Array]:
    """Remove the rows that no wanted row depends on; returns the plan, and the new row of each old one (NONE: gone)."""
    live, degrees = mark_rows(len(ir), wanted), np.diff(ir.starts)
    descend(len(ir) - 1, ir.columns, live)
    rows = np.flatnonzero(live)
    new_row = np.where(live, np.cumsum(live, dtype=np.int32) - 1, NONE).astype(np.int32)
    operands = ir.operands[np.repeat(live, degrees).view(bool)]
    starts = np.concatenate([[0], np.cumsum(degrees[rows])]).astype(np.int32)
    operands = np.where(operands >= 0, new_row[operands], NONE).astype(np.int32)
    return renumber_rows(
        ir, new_row, PlanColumns(ir.kinds[rows], starts, operands, ir.groups[rows]), len(rows)
    ), new_row


def _find_equal_rows(ir: IR) -> Array:
    """The representative of each row: itself, or, for a leaf, the first leaf that holds the same numbers."""
    same = np.arange(len(ir), dtype=np.int32)
    seen: dict[Any, int] = {}
    for row, value in ir.constants.items():
        same[row] = seen.setdefault((np.float64(value).tobytes(), int(ir.groups[row])), row)
    for row, source in ir.sources.items():
        if isinstance(source, Lanes):
            held = np.array(source.numbers).tobytes(), tuple(source.sources), int(ir.groups[row])
            same[row] = seen.setdefault(held, row)
    return same


@machine
def unify(rows: int, of: PlanColumns, same: Ints, table: Ints, slots: int) -> None:
    """Write the representative of each row to `same`. table: an empty open-addressing hash table, filled with NONE.

    The factors of the hash are arbitrary odd numbers. It is cut to 46 bits, which are the same in plain Python (whose
    integers never wrap around) and in machine code.
    """
    for row in range(rows):
        if of.starts[row + 1] == of.starts[row]:
            continue
        hash_value = of.kinds[row] + LEAST_KIND + of.groups[row] * 977
        for edge in range(of.starts[row], of.starts[row + 1]):
            operand = of.operands[edge]
            hash_value = ((hash_value * 1000003) ^ (same[operand] if operand >= 0 else 7919)) & 0x3FFFFFFFFFFF
        slot = ((hash_value * 40503) >> 7) % slots
        while table[slot] >= 0 and equal(row, table[slot], of, same) == 0:
            slot = (slot + 1) % slots
        if table[slot] >= 0:
            same[row] = table[slot]
        else:
            table[slot] = row


def equal(row_a: int, row_b: int, of: PlanColumns, same: Ints) -> int:
    """Whether two rows have the same kind and group, and operands with the same representatives."""
    size = of.starts[row_a + 1] - of.starts[row_a]
    if of.kinds[row_a] != of.kinds[row_b] or of.groups[row_a] != of.groups[row_b]:
        return 0
    if of.starts[row_b + 1] - of.starts[row_b] != size:
        return 0
    for index in range(size):
        a, b = of.operands[of.starts[row_a] + index], of.operands[of.starts[row_b] + index]
        if (same[a] if a >= 0 else a) != (same[b] if b >= 0 else b):
            return 0
    return 1
