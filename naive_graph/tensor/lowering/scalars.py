"""Reductions lowered to scalar nodes: each line of a 2-D array of rows is reduced to one row.

`SCALARS` maps a reduction's rule to its lowering. A row is a scalar node's number in the graph's tables.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ...core.rules import RULES, Rule
from .bulk import ADD, SUB, BulkWriter, Rows

HELD, LESS, LESS_EQUAL, EQUAL, WHERE, DIV = (
    RULES[name] for name in ("held", "less", "less_equal", "equal", "where", "div")
)


def _n_ary(name: str) -> Callable[[BulkWriter, Rows], Rows]:
    return lambda writer, table: writer.append(RULES[name].number, table.shape[1], table, len(table))


def _detached_extremum(writer: BulkWriter, table: Rows, rule: Rule = RULES["maximum"]) -> Rows:
    """The maximum (or minimum) of each line as a fold, under stop_gradient (the rule "held")."""
    top = table[:, 0]
    for column in table.T[1:]:
        top = writer.apply(rule, top, column)
    return writer.apply(HELD, top)


def _share_extremum(writer: BulkWriter, table: Rows, rule: Rule) -> Rows:
    """The maximum (or minimum) as the sum of x / count over the tied entries, so that they share its gradient."""
    size, flat = table.shape[1], table.reshape(-1)
    top = _detached_extremum(writer, table, rule)
    pair = [flat, np.repeat(top, size)]
    is_not_extreme = writer.apply(LESS, *(pair if rule.name == "maximum" else pair[::-1]))
    zero, one = (np.full(len(flat), writer.constant(value), dtype=np.int32) for value in (0.0, 1.0))
    count = writer.append(ADD.number, size, writer.apply(SUB, one, is_not_extreme), len(table))
    count = writer.apply(WHERE, writer.apply(EQUAL, top, top), count, top)  # if top is NaN, so are all slopes
    shares = writer.apply(WHERE, is_not_extreme, zero, writer.apply(DIV, flat, np.repeat(count, size)))
    return writer.append(ADD.number, size, shares, len(table))


def _first_maximum(writer: BulkWriter, table: Rows, wants_index: bool = False) -> Rows:
    """The first maximum of each line (wants_index: its index instead), as a fold.

    The next entry replaces the current one if not (next <= current) and the current one is not NaN: so a larger
    entry does, and the first NaN.
    """
    top = table[:, 0]
    positions = np.full(len(table), writer.constant(0.0), dtype=np.int32)
    for index, column in enumerate(table.T[1:], 1):
        replaces = writer.apply(LESS, writer.apply(LESS_EQUAL, column, top), writer.apply(EQUAL, top, top))
        top = writer.apply(WHERE, replaces, column, top)
        if wants_index:
            candidate = np.full(len(table), writer.constant(float(index)), dtype=np.int32)
            positions = writer.apply(WHERE, replaces, candidate, positions)
    return positions if wants_index else top


SCALARS: dict[str, Callable[[BulkWriter, Rows], Rows]] = {
    "mul": _n_ary("mul"),
    "logsumexp": _n_ary("logsumexp"),
    "peak": _detached_extremum,
    "maximum": lambda writer, table: _share_extremum(writer, table, RULES["maximum"]),
    "minimum": lambda writer, table: _share_extremum(writer, table, RULES["minimum"]),
    "first_maximum": _first_maximum,
    "argmax": lambda writer, table: _first_maximum(writer, table, wants_index=True),
}
# The most nodes that a rule makes for each entry of the source, by which `estimate` counts.
MAX_NODES_PER_ENTRY = {"peak": 1, "maximum": 6, "minimum": 6, "first_maximum": 4, "argmax": 5}
