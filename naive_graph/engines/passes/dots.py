"""Fuse sums of products into dot products: one DOT row instead of many mul and add rows.

>>> from naive_graph import Graph
>>> from naive_graph.engines.passes.build_ir import build_ir
>>> x, y = Graph.Variable(2.0), Graph.Variable(3.0)
>>> z = x * y + x
>>> ir, _ = build_ir(z.tables, [z.row])
>>> print(ir)
   0 leaf
   1 leaf
   2 mul 0 1
   3 add 2 0
>>> print(dots(ir, keep=[3])[0])
   0 leaf
   1 leaf
   2 dot 0*1 + 0

A product that only one sum uses needs no row of its own, and neither does a sum
that only begins a longer one. The terms keep their written order, so no bit
changes: (a*b + c) + d is the dot a*b + c + d.
"""

from __future__ import annotations

import numpy as np

from ..llvm.machine import machine
from ..llvm.values import Bytes, Ints
from .ir import ADD, DOT, IR, MUL, NONE, Array, PlanColumns, allocate_columns, mark_rows, renumber_rows


def dots(ir: IR, keep: Array) -> tuple[IR, Array]:
    """The plan with its sums of products as DOT rows, and where each row went (NONE: into a dot).

    keep: the numbers of rows that must stay rows of their own.
    """
    rows, made = len(ir), allocate_columns(len(ir), 2 * len(ir.operands))
    keep_marks, fused = mark_rows(rows, keep), np.zeros(rows, np.uint8)
    new_row, chain = np.empty(rows, np.int32), np.empty(rows, np.int32)
    uses = np.bincount(ir.operands[ir.operands != NONE], minlength=rows).astype(np.int32)
    mark(rows, ir.columns, keep_marks, uses, fused)
    size = gather(rows, ir.columns, fused, chain, new_row, made)
    return renumber_rows(ir, new_row, made, size), new_row


@machine
def mark(rows: int, of: PlanColumns, keep: Bytes, uses: Ints, fused: Bytes) -> None:
    """Mark the products and sums that are fused into the sum that uses them."""
    for row in range(rows):
        if of.kinds[row] == ADD:
            for edge in range(of.starts[row], of.starts[row + 1]):
                operand = of.operands[edge]
                if uses[operand] == 1 and keep[operand] == 0:
                    if of.kinds[operand] == MUL and of.starts[operand + 1] - of.starts[operand] == 2:
                        fused[operand] = 1
                    if of.kinds[operand] == ADD and edge == of.starts[row]:
                        fused[operand] = 1


@machine
def gather(rows: int, of: PlanColumns, fused: Bytes, chain: Ints, place: Ints, made: PlanColumns) -> int:
    """Write the rows that stay. chain: scratch for the nested sums of a dot, the outermost first."""
    size = 0
    edge = 0
    for row in range(rows):
        place[row] = NONE
        if fused[row]:
            continue
        made.starts[size] = edge
        made.groups[size] = of.groups[row]
        made.kinds[size] = of.kinds[row]
        if of.kinds[row] == ADD and is_dot(row, of, fused):
            made.kinds[size] = DOT
            chain[0] = row
            length = 1
            first = of.operands[of.starts[row]]
            while fused[first] and of.kinds[first] == ADD:
                chain[length] = first
                length += 1
                first = of.operands[of.starts[first]]
            for link in range(length - 1, -1, -1):
                first = of.starts[chain[link]] + (0 if link == length - 1 else 1)
                for term_edge in range(first, of.starts[chain[link] + 1]):
                    term = of.operands[term_edge]
                    made.operands[edge] = place[of.operands[of.starts[term]]] if fused[term] else place[term]
                    made.operands[edge + 1] = place[of.operands[of.starts[term] + 1]] if fused[term] else NONE
                    edge += 2
        else:
            for source_edge in range(of.starts[row], of.starts[row + 1]):
                made.operands[edge] = place[of.operands[source_edge]] if of.operands[source_edge] >= 0 else NONE
                edge += 1
        place[row] = size
        size += 1
    made.starts[size] = edge
    return size


def is_dot(row: int, of: PlanColumns, fused: Bytes) -> int:
    """Whether a sum has more than two terms, or takes up another row."""
    if of.starts[row + 1] - of.starts[row] > 2:
        return 1
    for edge in range(of.starts[row], of.starts[row + 1]):
        if fused[of.operands[edge]]:
            return 1
    return 0
