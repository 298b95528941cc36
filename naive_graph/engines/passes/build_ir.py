"""Build the IR of the rows that some results depend on, from the graph's tables, in compiled loops.

The tables keep edges in the order of drawing. An edge whose source is the complement ~row
stands for all operands of that row, which a merged sum absorbed. Here the operands of every
row are written out. Rows keep the order in which they were made, which is topological, unless an edge
drawn by hand leads from a later row to an earlier one: then they are in the order of Kahn's sort.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ...core.plan import check_complete, plan_for
from ...core.rules import BY_NUMBER
from ...core.tables import CONSTANT, Tables
from ..llvm.machine import machine
from ..llvm.values import Bytes, Ints
from .ir import IR, Array, PlanColumns, allocate_columns, mark_rows


def build_ir(tables: Tables, targets: list[int]) -> tuple[IR, Array]:
    """The plan of the rows that the targets depend on, and for each of its rows the row of the tables."""
    kinds, starts, operands, chosen = _columns(tables, targets)
    arities = np.array([rule.arity or 0 for rule in BY_NUMBER], np.int32)[kinds]  # meaningless for leaves
    degrees = np.diff(starts)
    odd = (kinds >= 0) & ((degrees == 0) | ((arities > 0) & (degrees != arities)))
    check_complete(tables, np.asarray(chosen)[odd].tolist())
    ir = IR(kinds, starts, operands, np.zeros(len(kinds), np.int32))
    constants = np.flatnonzero(kinds == CONSTANT)
    values = np.array(tables.values, np.float64)[chosen[constants]] if len(constants) else constants
    ir.constants = dict(zip(constants.tolist(), values.tolist(), strict=True))
    others = np.flatnonzero((kinds < 0) & (kinds != CONSTANT))
    ir.sources = dict(zip(others.tolist(), chosen[others].tolist(), strict=True))
    return ir, chosen


def _columns(tables: Tables, targets: list[int]) -> tuple[Array, Array, Array, Array]:
    """Kinds, starts and operands of the plan's rows, and their rows in the tables. Columns are freed once read."""
    drawn_now, _held = tables.snapshot()  # a snapshot, whatever other threads build meanwhile
    kinds, _, sources, consumers = (np.array(column, np.int32) for column in drawn_now)
    rows = len(kinds)
    if max(targets) >= rows:
        raise IndexError(f"The graph has {rows} rows, and {max(targets)} was asked for.")  # it was cut back meanwhile
    if (np.maximum(sources, ~sources) >= consumers).any():  # an edge leads from a later row to an earlier
        return _by_plan(tables, targets)
    edges = sources if (consumers[1:] >= consumers[:-1]).all() else sources[np.argsort(consumers, kind="stable")]
    begins = np.zeros(rows + 1, np.int32)
    np.cumsum(np.bincount(consumers, minlength=rows), out=begins[1:])
    del sources, consumers
    drawn = ConsumerEdges(begins, edges, mark_rows(rows, targets))
    made = allocate_columns(rows, reach(rows, drawn))._replace(kinds=kinds)
    chosen, position, chain = (np.empty(rows, np.int32) for _ in range(3))
    count = write(rows, drawn, chain, position, chosen, made)
    if count == rows:
        return made.kinds, made.starts, made.operands, chosen
    return made.kinds[:count].copy(), made.starts[: count + 1].copy(), made.operands, chosen[:count].copy()


def _by_plan(tables: Tables, targets: list[int]) -> tuple[Array, Array, Array, Array]:
    """As `_columns`, in the order of Kahn's sort: for graphs in which a later row leads to an earlier one."""
    plan = plan_for(tables, targets)
    columns = (plan.kinds, plan.starts, plan.operand_steps, plan.rows)
    kinds, starts, operands, rows = (np.array(column, np.int32) for column in columns)
    return kinds, starts, operands, rows


class ConsumerEdges(NamedTuple):
    """Edges grouped by consumer, and a mark for each row.

    edges[begins[i]:begins[i + 1]]: the sources of row i's edges. live: 1 if a target depends on the row's value, 2 if
    only on its operands, because a live row absorbed it, else 0.
    """

    begins: Ints
    edges: Ints
    live: Bytes


@machine
def reach(rows: int, of: ConsumerEdges) -> int:
    """Mark the ancestors of the live rows; returns the total number of operands of all live rows."""
    for row in range(rows - 1, -1, -1):
        if of.live[row]:
            for edge in range(of.begins[row], of.begins[row + 1]):
                source = of.edges[edge]
                if source >= 0:
                    of.live[source] = 1
                elif of.live[-1 - source] == 0:
                    of.live[-1 - source] = 2
    size = 0
    for row in range(rows):
        if of.live[row] == 1:
            link = row
            while is_absorbed_edge(link, of):
                size += of.begins[link + 1] - of.begins[link] - 1
                link = -1 - of.edges[of.begins[link]]
            size += of.begins[link + 1] - of.begins[link]
    return size


def is_absorbed_edge(row: int, of: ConsumerEdges) -> int:
    """Whether the first edge into a row stands for all operands of a row that it absorbed.

    Not if the absorbed row is live: its value is computed anyway, so it is itself the first operand.
    """
    if of.begins[row] == of.begins[row + 1] or of.edges[of.begins[row]] >= 0:
        return 0
    return 1 if of.live[-1 - of.edges[of.begins[row]]] != 1 else 0


@machine
def write(rows: int, of: ConsumerEdges, chain: Ints, place: Ints, chosen: Ints, made: PlanColumns) -> int:
    """Write the rows with live == 1 to `made`, and return their number; made.kinds holds the tables' kinds at first.

    place: table row -> plan row; chosen: the reverse. chain: scratch for rows that absorbed one another, last first.
    """
    size = 0
    edge = 0
    for row in range(rows):
        if of.live[row] == 1:
            place[row] = size
            chosen[size] = row
            made.kinds[size] = made.kinds[row]
            made.starts[size] = edge
            chain[0] = row
            length = 1
            while is_absorbed_edge(chain[length - 1], of):
                chain[length] = -1 - of.edges[of.begins[chain[length - 1]]]
                length += 1
            for link in range(length - 1, -1, -1):
                first = of.begins[chain[link]] + (0 if link == length - 1 else 1)
                for source_edge in range(first, of.begins[chain[link] + 1]):
                    source = of.edges[source_edge]
                    made.operands[edge] = place[source if source >= 0 else -1 - source]
                    edge += 1
            size += 1
    made.starts[size] = edge
    return size
