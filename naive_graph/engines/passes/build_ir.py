"""From the tables to columns, without a step in Python for each row.

The tables keep edges as they were drawn, and a merged sum as one edge from the
row that it absorbed. Here every row's operands are written out, for the rows
that some results depend on. Rows stand in the order of their making, in which
operands come before their consumers, unless an edge was drawn by hand.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ...core.plan import check_complete, plan_for
from ...core.rules import BY_NUMBER
from ...core.tables import CONSTANT, Tables
from ..llvm.machine import machine
from ..llvm.typed import Bytes, Ints
from .ir import IR, Array, PlanColumns, mark_rows, room


def build_ir(tables: Tables, targets: list[int]) -> tuple[IR, Array]:
    """The rows that the targets depend on, as columns; and which rows of the tables they are."""
    kinds, starts, operands, chosen = _columns(tables, targets)
    arities = np.array([rule.arity or 0 for rule in BY_NUMBER], np.int32)[kinds]  # of leaves it means nothing
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
    """Kinds, starts and operands of the rows, and which they are. A column goes as soon as it was read."""
    drawn_now, _held = tables.held()  # of one moment, whatever is built meanwhile
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
    made = room(rows, reach(rows, drawn))._replace(kinds=kinds)
    chosen, position, chain = (np.empty(rows, np.int32) for _ in range(3))
    count = write(rows, drawn, chain, position, chosen, made)
    if count == rows:
        return made.kinds, made.starts, made.operands, chosen
    return made.kinds[:count].copy(), made.starts[: count + 1].copy(), made.operands, chosen[:count].copy()


def _by_plan(tables: Tables, targets: list[int]) -> tuple[Array, Array, Array, Array]:
    """The same in Kahn's order, for graphs with edges that were drawn by hand."""
    plan = plan_for(tables, targets)
    columns = (plan.kinds, plan.starts, plan.operand_steps, plan.rows)
    kinds, starts, operands, rows = (np.array(column, np.int32) for column in columns)
    return kinds, starts, operands, rows


class ConsumerEdges(NamedTuple):
    """Edges by consumer; and which rows are live (1), or only absorbed by a live one (2), so that its operands are."""

    begins: Ints
    edges: Ints
    live: Bytes


@machine
def reach(rows: int, of: ConsumerEdges) -> int:
    """Mark what the live rows depend on; how many operands they have, all told."""
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
            while takes_over(link, of):
                size += of.begins[link + 1] - of.begins[link] - 1
                link = -1 - of.edges[of.begins[link]]
            size += of.begins[link + 1] - of.begins[link]
    return size


def takes_over(row: int, of: ConsumerEdges) -> int:
    """Whether the first edge into a row stands for all operands of a row that it absorbed.

    An absorbed row that is live has a value of its own, with which the fold goes on: then it is an operand.
    """
    if of.begins[row] == of.begins[row + 1] or of.edges[of.begins[row]] >= 0:
        return 0
    return 1 if of.live[-1 - of.edges[of.begins[row]]] != 1 else 0


@machine
def write(rows: int, of: ConsumerEdges, chain: Ints, place: Ints, chosen: Ints, made: PlanColumns) -> int:
    """Write the live rows, their kinds in place. chain: room for rows that absorbed one another, the last first."""
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
            while takes_over(chain[length - 1], of):
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
