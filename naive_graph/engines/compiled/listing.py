"""Show what becomes of each row of a graph when it is lowered to level runs.

A level run (runs.py) computes all rows that have one rule and do not depend on each other by one kernel call. Memory
holds the leaves, a 1, and then the runs' results: so slot 2 below is the 1.

>>> from naive_graph import Graph
>>> x, y = Graph.Variable(2.0), Graph.Variable(3.0)
>>> z = (x * y + x).sin()
>>> found = list_runs(z.tables, [z.row])
>>> print(found.ir)
   0 leaf
   1 leaf
   2 dot 0*1 + 0
   3 sin 2
>>> found.place.tolist()  # the product went into the dot
[0, 1, -1, 2, 3]
>>> [(each.name, each.first, each.rows) for each in found.instructions]
[('dot', 3, 1), ('sin', 4, 1)]
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ...core.tables import Tables
from ..passes.build_ir import build_ir
from ..passes.cse import eliminate_common_subexpressions
from ..passes.dots import dots
from ..passes.ir import DOT, IR, NONE, Array, name_of
from ..passes.strength_reduction import powers
from .runs import LevelRuns


class RunLine(NamedTuple):
    """One level run. name: the operator; first: the slot of the first result; rows: how many; way: in words."""

    name: str
    first: int
    rows: int
    way: str


class RunListing(NamedTuple):
    """A graph lowered to level runs.

    rows: rows of the tables. place: the row of each in `ir`, the plan after the passes (NONE: eliminated). slots: for
    each row of `ir`, the index of its value in memory. instructions: the runs.
    """

    rows: Array
    place: Array
    ir: IR
    slots: Array
    instructions: list[RunLine]


def list_runs(tables: Tables, results: list[int]) -> RunListing:
    """Run the passes that replace powers, find dots and share rows, and list the resulting level runs.

    Raises MissingToolError, NotCompilable.
    """
    ir, rows = build_ir(tables, results)
    position = np.arange(len(rows), dtype=np.int32)
    wanted = np.searchsorted(rows, results).astype(np.int32)
    for run_pass in (powers, dots, eliminate_common_subexpressions):
        ir, new_row = run_pass(ir, wanted)
        wanted, position = new_row[wanted], np.where(position == NONE, NONE, new_row[position])
    runs = LevelRuns(ir, wanted.tolist())
    instructions = []
    for shape, first, many, _ in runs.runs.reshape(-1, 4).tolist():  # four numbers a run
        kind, _ = runs.shapes[shape]
        way = "a loop over its rows" if many > 1 else "one row"
        instructions.append(RunLine(name_of(kind), first, many, "a loop over the products" if kind == DOT else way))
    return RunListing(rows, position, ir, runs.places[: len(ir)], instructions)
