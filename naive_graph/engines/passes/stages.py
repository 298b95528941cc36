"""Split a plan into sections: rows that are computed once (scalars) and rows computed for every sample (lanes).

    stage 0    scalars    rows that depend on no sample: learning rates, norms of weights
    stage 1    lanes      values and derivatives of every sample
    stage 2    scalars    rows that depend on sums over the samples

A section depends only on sections before it. Most plans have the three above; one
whose samples need a sum over all samples (batch normalisation, say) has more.

>>> from naive_graph import Graph, mean
>>> from naive_graph.engines.passes.lowering import Lowering
>>> x = Graph.PlaceHolder()
>>> centred = x - mean(x)
>>> loss = mean(centred * centred)
>>> ir = Lowering(loss.tables, [loss.row], [], frozenset([x.row])).ir
>>> print(ir)
   0 leaf
   1 leaf  (group 1)
   2 total 1
   3 div 2 0
   4 sub 1 3  (group 1)
   5 mul 4 4  (group 1)
   6 total 5
   7 div 6 0
>>> [(part.stage, part.rows.tolist()) for part in sections(ir)]
[(1, [2]), (2, [3]), (3, [4, 5, 6]), (4, [7])]
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from ..llvm.machine import machine
from ..llvm.values import Ints
from .ir import DOT, IR, REDUCE, TOTAL, Array, PlanColumns


class Section(NamedTuple):
    """Rows that run together, in topological order. group: 0 for scalars, else the number of their sample group."""

    stage: int
    group: int
    rows: Array


def sections(ir: IR, wanted: Iterable[int] = ()) -> list[Section]:
    """The plan's sections, in the order in which they run; leaves belong to none.

    wanted: rows of results. A sample group of which only leaves are wanted gets an empty section, which exports them.
    """
    stages = np.zeros(len(ir), np.int32)
    stage_rows(len(ir), ir.columns, stages)
    computed = (ir.kinds >= 0) | (ir.kinds <= DOT)
    collecting = (ir.kinds == TOTAL) | (ir.kinds == REDUCE)
    runs_in = np.where(collecting, stages - 1, stages)
    groups = ir.groups.copy()
    for row in np.flatnonzero(collecting).tolist():
        groups[row] = max(ir.groups[operand] for operand in ir.of(row) if operand >= 0)
    parts = []
    for stage in range(int(runs_in.max(initial=0)) + 1):
        in_stage = computed & (runs_in == stage)
        parts += [
            Section(stage, group, np.flatnonzero(in_stage & (groups == group)).astype(np.int32))
            for group in sorted(set(groups[in_stage].tolist()))
        ]
    fed = {int(ir.groups[row]) for row in wanted}.difference([0], (part.group for part in parts))
    return parts + [Section(1, group, np.zeros(0, np.int32)) for group in sorted(fed)]


@machine
def stage_rows(rows: int, of: PlanColumns, stages: Ints) -> None:
    """Number the stage of each row: even for scalars, odd for lanes; a sum over lanes has the stage after theirs."""
    for row in range(rows):
        collects = 1 if of.kinds[row] == TOTAL or of.kinds[row] == REDUCE else 0
        stage = 1 if of.groups[row] > 0 else 0
        for edge in range(of.starts[row], of.starts[row + 1]):
            operand = of.operands[edge]
            if operand >= 0:
                before = stages[operand]
                if of.groups[operand] == 0 and (of.groups[row] > 0 or collects):
                    before += 1
                if before > stage:
                    stage = before
        stages[row] = stage + 1 if collects else stage
