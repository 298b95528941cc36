"""Templates of vector-Jacobian products: the local partials of each rule as rows, traced once for all uses.

The partials of a rule are called with tracers for its operands and its result. The
recorded rows form a template, which the reverse sweep appends to the plan wherever the
rule is applied:

    sin, one operand:    partial 0 is row 0 = cos(operand 0)
    mul, two operands:   partial 0 is operand 1, partial 1 is operand 0
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ...core.rules import BY_NUMBER, Rule
from ..llvm.emit import NotCompilable, compiling
from ..llvm.values import Bytes, Ints
from .ir import Array
from .tracer import Rows, Tracer

PLAIN, NOTHING = -1, -2  # references for a partial of 1, and for no partial
MOST_SLOPES = 1_000  # partials of a row that are templated: each would be a row of as many operands
FIRST_NUMBER = -3  # references from here down are constants: FIRST_NUMBER - i is number i of a list


class Template(NamedTuple):
    """The rows and partials of a rule with n operands, by references.

    A reference is 0..n-1 for an operand, n for the result, n+1... for the template's rows, or a negative one as above.
    """

    rows: list[tuple[int, list[int]]]
    partials: list[int]


class _TemplateRecorder(Rows):
    """Collects the rows of a template; they are numbered behind its operands and its result."""

    def constant(self, value: float) -> int:
        return FIRST_NUMBER - len(self.numbers)

    def encode_partial(self, partial: Any) -> int:
        if partial is None:
            return NOTHING
        return PLAIN if isinstance(partial, float) and partial == 1.0 else self.place(partial)


def trace_template(rule: Rule, arity: int, numbers: dict[str, int]) -> Template:
    """The template of a rule over so many operands.

    numbers: constants so far, as `float.hex` writes them, and what refers to each.

    >>> from ...core.rules import RULES
    >>> sin, cos = RULES["sin"], RULES["cos"]
    >>> trace_template(sin, 1, {}) == Template([(cos.number, [0])], [2])
    True
    """
    if rule.arity is None and not rule.associative and arity > MOST_SLOPES:  # each would have all the operands
        raise NotCompilable(f"The slopes of '{rule.name}' over {arity} operands are too many to be compiled.")
    rows = _TemplateRecorder(arity + 1, numbers)
    operands = [Tracer(rows, index) for index in range(arity)]
    with compiling([rule]):
        partials = rule.partials_at(operands, Tracer(rows, arity), [True] * arity)
    return Template(rows.made, [rows.encode_partial(partial) for partial in partials])


class Templates(NamedTuple):
    """The templates of a plan as columns."""

    of_row: Ints  # which template each row follows
    selects: Bytes  # whether its rule is differentiated along the branch taken only
    row_starts: Ints  # per template, into kinds
    kinds: Ints
    operand_starts: Ints  # per template row, into operands
    operands: Ints
    partial_starts: Ints  # per template, into partials
    partials: Ints


def build_template_table(kinds: Array, degrees: Array) -> tuple[Templates, list[float]]:
    """The templates for rows of these kinds, with so many operands each; and the constants that they refer to."""
    keys = np.where(kinds >= 0, kinds.astype(np.int64) * 2**32 + degrees, -1)
    unique, of_row = np.unique(keys, return_inverse=True)
    numbers = {(1.0).hex(): FIRST_NUMBER, (0.0).hex(): FIRST_NUMBER - 1}
    entries = [
        Template([], []) if key < 0 else trace_template(BY_NUMBER[key >> 32], key & 0xFFFFFFFF, numbers)
        for key in unique.tolist()
    ]
    rows = [row for entry in entries for row in entry.rows]
    made = Templates(
        of_row.astype(np.int32),
        np.array([key >= 0 and BY_NUMBER[key >> 32].selects for key in unique.tolist()], np.uint8),
        _csr_offsets([entry.rows for entry in entries]),
        _int32_array([kind for kind, _ in rows]),
        _csr_offsets([operands for _, operands in rows]),
        _int32_array([operand for _, operands in rows for operand in operands]),
        _csr_offsets([entry.partials for entry in entries]),
        _int32_array([partial for entry in entries for partial in entry.partials]),
    )
    return made, list(map(float.fromhex, numbers))


def _int32_array(entries: list[int]) -> Array:
    return np.array(entries, np.int32)


def _csr_offsets(lists: Sequence[Sequence[Any]]) -> Array:
    return np.cumsum([0, *map(len, lists)]).astype(np.int32)
