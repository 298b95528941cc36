"""Append scalar nodes in bulk: operators are applied to whole NumPy arrays of rows, without a Python object each.

A row is a scalar node's number in the graph's tables. Instead of a row, an array may hold the codes `ZERO`
and `ONE`, the structural entries of a selection: they have no node, and products with them are folded away.
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from typing import Any

import numpy as np

from ...core.origin import Origin
from ...core.rules import RULES, Rule
from ...core.tables import CONSTANT, Scope, Tables
from ...core.waiting import NewRows
from ..function import Function

Rows = Any  # a NumPy array of rows
ZERO, ONE = -1, -2  # codes of structural zeros and ones among rows
ADD, SUB, MUL, DIV, NEG, WHERE = (RULES[name] for name in ("add", "sub", "mul", "div", "neg", "where"))


class BulkWriter:
    """A buffer of new scalar nodes; `flush` appends all of them to the tables in one step.

    first: the row of the first new node, from `tables.numbering()`.
    """

    def __init__(self, tables: Tables, first: int) -> None:
        self.tables, self.first = tables, first
        self.end = self.first
        columns: list[Any] = [array(typecode) for typecode in "hiiidq"]  # NewRows: int16, three int32, float64, int64
        self.columns = NewRows(*columns)
        self.origins: list[tuple[int, Origin]] = []
        self.scopes: list[tuple[int, Scope | None]] = []

    def begin(self, origin: Origin, scope: Scope | None) -> None:
        """Begin the nodes of the next tensor; they get this origin and this scope."""
        self.constants: dict[str, int] = {}  # repr of the number -> row; by repr, as -0.0 == 0.0
        self.origins.append((self.end, origin))
        self.scopes.append((self.end, scope))

    def append(self, kind: int, counts: Rows | int, sources: Rows, size: int) -> Rows:
        """Add `size` nodes of one kind; returns their rows.

        kind: a rule's number, or a kind of leaf. counts: the number of operands of each node (or of all).
        sources: the rows of all operands, node by node.
        """
        rows = np.arange(self.end, self.end + size, dtype=np.int32)
        degrees = np.full(size, counts, dtype=np.int32) if isinstance(counts, int) else counts.astype(np.int32)
        kinds, sources = np.full(size, kind, dtype=np.int16), np.ascontiguousarray(sources, dtype=np.int32)
        columns: Sequence[Any] = self.columns
        for column, new in zip(columns, (kinds, degrees, sources, np.repeat(rows, degrees))):
            column.frombytes(_buffer(new))
        self.end += size
        return rows

    def append_leaves(self, kind: int, values: Rows | None, size: int) -> Rows:
        """Add `size` leaves of one kind, with values if they are known; returns their rows."""
        rows = self.append(kind, 0, np.empty(0, np.int32), size)
        if values is not None:
            self._zero_fill(int(rows[0]) if size else self.end)
            self.columns.values.frombytes(_buffer(np.ascontiguousarray(values, dtype=np.float64)))
            self.columns.stamps.frombytes(_buffer(np.full(size, self.tables.clock, dtype=np.int64)))
        return rows

    def _zero_fill(self, end: int) -> None:
        """Zero-fill the columns of values and stamps up to this row (stamp 0: no value)."""
        for column in (self.columns.values, self.columns.stamps):
            column.frombytes(bytes(8 * (end - self.first - len(column))))

    def flush(self) -> None:
        """Append all new nodes to the tables."""
        if self.columns.values:
            self._zero_fill(self.end)
        self.tables.add_rows(self.columns, self.origins)
        self.tables.mark_scopes(self.scopes, self.end)

    def constant(self, value: float) -> int:
        """The row of a Constant with this value, shared within the current tensor."""
        key = repr(value)
        if key not in self.constants:
            self.constants[key] = int(self.append_leaves(CONSTANT, np.array([value]), 1)[0])
        return self.constants[key]

    def replace_codes(self, rows: Rows) -> Rows:
        """The rows with structural zeros and ones replaced by Constants."""
        return self.replace_code(self.replace_code(rows, ZERO, 0.0), ONE, 1.0)

    def replace_code(self, rows: Rows, code: int, value: float) -> Rows:
        is_code = rows == code
        return np.where(is_code, self.constant(value), rows) if is_code.any() else rows

    def apply(self, rule: Rule, *operands: Rows) -> Rows:
        """Add one node of a rule for each entry. operands: arrays of rows of one length (or of length 1)."""
        size = max(len(rows) for rows in operands)
        table = np.empty((size, len(operands)), dtype=np.int32)
        for column, operand in enumerate(operands):
            table[:, column] = operand
        return self.append(rule.number, len(operands), table, size)

    def multiply(self, left: Rows, right: Rows) -> Rows:
        """left * right, entry by entry; structural zeros and ones are folded without a node."""
        result = np.where((left == ZERO) | (right == ZERO), ZERO, np.where(left == ONE, right, left))
        needs_node = (left >= 0) & (right >= 0)
        return self._apply_where(result, needs_node, MUL, left, right)

    def multiply_by_mask(self, mask: Rows, rows: Rows) -> Rows:
        """where(mask, rows, 0), entry by entry: the product with zeros and ones known only at run time."""
        result = np.where(rows == ONE, mask, ZERO)
        return self._apply_where(result, rows >= 0, WHERE, mask, rows, np.full_like(rows, self.constant(0.0)))

    def add_or_subtract(self, rule: Rule, left: Rows, right: Rows) -> Rows:
        """left + right or left - right, entry by entry; structural zeros are folded without a node."""
        left, right = (self.replace_code(rows, ONE, 1.0) for rows in (left, right))
        result = np.where(right == ZERO, left, right)
        if rule is SUB:
            result = self._apply_where(result, (left == ZERO) & (right != ZERO), NEG, right)
        return self._apply_where(result, (left != ZERO) & (right != ZERO), rule, left, right)

    def _apply_where(self, result: Rows, needs_node: Rows, rule: Rule, *operands: Rows) -> Rows:
        """The result, with nodes of the rule where they are needed."""
        if needs_node.all():
            return self.apply(rule, *operands)
        if needs_node.any():
            result = result.copy()
            result[needs_node] = self.apply(rule, *(operand[needs_node] for operand in operands))
        return result

    def sum_lines(self, table: Rows) -> Rows:
        """One n-ary sum for each line of a 2-D array of rows; structural zeros are left out."""
        if table.shape[1] == 1:
            return table[:, 0]
        table = self.replace_code(table, ONE, 1.0)
        present = table != ZERO
        counts = present.sum(1)
        if (counts == table.shape[1]).all():
            return self.append(ADD.number, table.shape[1], table, len(table))
        first = table[np.arange(len(table)), present.argmax(1)]
        result = np.where(counts == 0, ZERO, first)
        needs_sum = counts > 1
        if needs_sum.any():
            operands = table[needs_sum][present[needs_sum]]
            result[needs_sum] = self.append(ADD.number, counts[needs_sum], operands, int(needs_sum.sum()))
        return result

    def scale_by(self, rows: Rows, alpha: float) -> Rows:
        """alpha * rows."""
        if alpha == 1.0:
            return rows
        factor = np.full(len(rows), self.constant(alpha), dtype=np.int32)
        return self.multiply(factor, rows)

    def apply_function(self, function: Function, sources: Sequence[Rows]) -> Rows:
        """Inline an elementwise function's scalar graph once for each entry; its Constants are shared."""
        argument_rows = dict(zip(function.arguments, sources))
        plan = function.plan
        step_rows: dict[int, Rows] = {}
        for step, row in enumerate(plan.rows):
            rule = plan.rule(step)
            if rule is not None:
                step_rows[step] = self.apply(rule, *(step_rows[operand] for operand in plan.operands(step)))
            elif row in argument_rows:
                step_rows[step] = self.replace_codes(argument_rows[row])
            else:
                value = function.tables.value(row)
                assert value is not None  # a leaf that is no argument is a Constant
                step_rows[step] = np.array([self.constant(value)])
        result = step_rows[plan.targets[0]]
        return np.broadcast_to(result, (len(sources[0]),))


def _buffer(column: Rows) -> memoryview:
    return memoryview(column.reshape(-1).view(np.uint8))
