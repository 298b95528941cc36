"""Strength reduction: replace squares, pow(x, 2), by products, x * x.

>>> from naive_graph import Graph
>>> from naive_graph.engines.passes.build_ir import build_ir
>>> y = Graph.Variable(3.0) ** 2
>>> ir, _ = build_ir(y.tables, [y.row])
>>> print(ir)
   0 leaf
   1 leaf 2.0
   2 pow 0 1
>>> print(powers(ir, wanted=[2])[0])
   0 leaf
   1 leaf 2.0
   2 mul 0 0

A product takes a nanosecond where the C library's pow takes twenty; both round
the exact square once, or nearly so: at most the last bit differs.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ...core.rules import RULES
from .ir import IR, MUL, Array

POW = RULES["pow"].number


def powers(ir: IR, wanted: Array) -> tuple[IR, Array]:
    """The plan with products for squares, and where each row went: it stays where it is."""
    stay, rows = np.arange(len(ir), dtype=np.int32), np.flatnonzero(ir.kinds == POW)
    twos = [row for row, value in ir.constants.items() if value == 2.0]
    rows = rows[np.isin(ir.operands[ir.starts[rows] + 1], twos)]
    if not len(rows):
        return ir, stay
    kinds, operands = ir.kinds.copy(), ir.operands.copy()
    kinds[rows] = MUL
    operands[ir.starts[rows] + 1] = operands[ir.starts[rows]]
    return replace(ir, kinds=kinds, operands=operands), stay
