"""Accumulate the terms of each row's adjoint (cotangent) while the reverse sweep runs, and emit their sum.

    row 0:  x 5, y 4, mask -, group 0        the adjoint of row 0 is 5*4
            x 7, y -, mask 3, group 1        + the sum over group 1 of where(3, 7, 0)

A term is a product x * y (x alone if y is NONE): the contribution of one consumer
through one of its operands. The terms of a row are a linked list that grows at its
tail, so that they are added in the order of the sweep. A term has a mask if it holds
only where a `where` took its branch, and a group if it has a value for every sample:
a row that all samples share sums it over the samples.

The local partials come from templates of vector-Jacobian products. The partials of a rule are
called with tracers for its operands and its result. The recorded rows form a template, which the
reverse sweep appends to the plan wherever the rule is applied:

    sin, one operand:    partial 0 is row 0 = cos(operand 0)
    mul, two operands:   partial 0 is operand 1, partial 1 is operand 0
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ...core.rules import BY_NUMBER, Rule
from ...core.tables import CONSTANT
from ..llvm.emit import NotCompilable, compiling
from ..llvm.values import Bytes, Ints, Longs
from .ir import ADD, DOT, MUL, NONE, REDUCE, WHERE, Array, Rows, Tracer

PLAIN, NOTHING = -1, -2  # references in place of a partial: it is 1; there is none, as of a comparison
MOST_SLOPES = 1_000  # partials of a row that are templated: each would be a row of as many operands
FIRST_NUMBER = -3  # references from here down are constants: FIRST_NUMBER - i is entry i of GrowingIR.numbers


class CotangentTerms(NamedTuple):
    """Linked lists of terms. heads, tails: by row, its first and last term. nexts, xs, ys, masks, groups: by term.

    count: an array of one number, how many terms there are.
    """

    heads: Ints
    tails: Ints
    nexts: Ints
    xs: Ints
    ys: Ints
    masks: Ints
    groups: Ints
    count: Longs


class GrowingIR(NamedTuple):
    """A plan to which the reverse sweep appends rows.

    numbers: the rows of the constants 1 and 0, then of other constants. counts: for each group of samples, the row of
    their number. end: how many rows and how many operands there are. calm: by row, whether it is a leaf whose numbers
    are all finite (see `reverse_symbolic`).
    """

    kinds: Ints
    starts: Ints
    operands: Ints
    groups: Ints
    numbers: Ints
    counts: Ints
    end: Longs
    calm: Bytes


def accumulate(row: int, x: int, y: int, mask: int, group: int, terms: CotangentTerms, plan: GrowingIR) -> None:
    """Append a term to the list of a row: x * y (x alone if y is NONE), where `mask` holds."""
    if x == plan.numbers[0] and y >= 0:
        x, y = y, NONE
    term = terms.count[0]
    terms.count[0] += 1
    terms.nexts[term] = NONE
    terms.xs[term] = x
    terms.ys[term] = y
    terms.masks[term] = mask
    terms.groups[term] = group
    if terms.tails[row] >= 0:
        terms.nexts[terms.tails[row]] = term
    else:
        terms.heads[row] = term
    terms.tails[row] = term


def new_row(kind: int, group: int, plan: GrowingIR) -> int:
    """Begin a row, and return its number; `push_operand` must follow for each operand."""
    row = plan.end[0]
    plan.kinds[row] = kind
    plan.groups[row] = group
    plan.starts[row] = plan.end[1]
    plan.end[0] += 1
    return row


def push_operand(operand: int, plan: GrowingIR) -> None:
    plan.operands[plan.end[1]] = operand
    plan.end[1] += 1


def emit_binary(kind: int, group: int, x: int, y: int, plan: GrowingIR) -> int:
    """Append a row of two operands (the second may be NONE)."""
    row = new_row(kind, group, plan)
    push_operand(x, plan)
    push_operand(y, plan)
    return row


def wider_group(one: int, two: int, plan: GrowingIR) -> int:
    """The group of what depends on both rows; the second may be NONE."""
    return plan.groups[two] if two >= 0 and plan.groups[two] > plan.groups[one] else plan.groups[one]


def emit_where(mask: int, value: int, other: int, plan: GrowingIR) -> int:
    """Append the row where(mask, value, other)."""
    group = wider_group(mask, value, plan)
    if plan.groups[other] > group:
        group = plan.groups[other]
    row = emit_binary(WHERE, group, mask, value, plan)
    push_operand(other, plan)
    return row


def mask_sum(head: int, alone: int, terms: CotangentTerms, plan: GrowingIR) -> int:
    """Wrap each term in a `where` with its own mask; returns the mask of their sum: whether any of the masks holds.

    NONE if some term has no mask: then the sum always counts. alone: whether the row is a scalar (one value for all
    samples).
    """
    either = NONE
    term = head
    while term >= 0:
        mask = terms.masks[term]
        taken = mask
        if alone and mask >= 0 and plan.groups[mask] > 0:
            # The sum of the mask over the samples is 0 only if it holds in none.
            taken = emit_binary(REDUCE, 0, mask, NONE, plan)
        if term == head:
            either = taken
        elif taken < 0 or either < 0:
            either = NONE
        elif taken != either:
            either = emit_where(either, plan.numbers[0], taken, plan)
        if mask >= 0:
            x, y = terms.xs[term], terms.ys[term]
            if y >= 0 and (terms.groups[term] == 0 or plan.calm[y] == 0):
                x, y = emit_binary(MUL, wider_group(x, y, plan), x, y, plan), NONE
            terms.xs[term] = emit_where(mask, x, plan.numbers[1], plan)
            terms.ys[term] = y  # 0 times a finite number is nothing
            terms.masks[term] = NONE
        term = terms.nexts[term]
    return either


def emit_sum(row: int, head: int, samples: int, terms: CotangentTerms, plan: GrowingIR) -> int:
    """Emit the sum of a row's terms, and return its row."""
    group = plan.groups[row]
    if group == 0:
        double_square(head, terms, plan)
        term = head
        while term >= 0:
            multiply_by_count(term, terms, plan)
            term = terms.nexts[term]
    if terms.nexts[head] < 0 and terms.ys[head] < 0 and (group != 0 or terms.groups[head] == 0):
        return terms.xs[head]
    first = emit_sample_sums(head, samples, terms, plan) if group == 0 else NONE
    made = first
    term = head
    while term >= 0:
        if group != 0 or terms.groups[term] == 0:
            if made == first:
                made = new_row(DOT, group, plan)
                if first >= 0:
                    push_operand(first, plan)
                    push_operand(NONE, plan)
            push_operand(terms.xs[term], plan)
            push_operand(terms.ys[term], plan)
        term = terms.nexts[term]
    return made


def double_square(head: int, terms: CotangentTerms, plan: GrowingIR) -> None:
    """If the terms begin with g*x + g*x, as those of a square do, make them one: g*(x + x).

    x + x can be computed before the adjoint g is known, so less work waits for g. (If g is a constant, g + g is
    computed.) Doubling is exact, so the bits stay, unless a number over- or underflows.
    """
    second, x, y = terms.nexts[head], terms.xs[head], terms.ys[head]
    if second < 0 or y < 0 or terms.groups[head] != 0 or terms.groups[second] != 0:
        return
    if terms.xs[second] == x and terms.ys[second] == y:
        if plan.kinds[x] == CONSTANT:
            terms.xs[head] = emit_binary(ADD, 0, x, x, plan)
        else:
            terms.ys[head] = emit_binary(ADD, 0, y, y, plan)
        terms.nexts[head] = terms.nexts[second]


def emit_sample_sums(head: int, samples: int, terms: CotangentTerms, plan: GrowingIR) -> int:
    """Emit the sum over the samples of all terms that have a value for each, group by group; NONE if there are none."""
    total = NONE
    for group in range(1, samples):
        made = NONE
        term = head
        while term >= 0:
            if terms.groups[term] == group:
                if made < 0:
                    made = new_row(REDUCE, 0, plan)
                push_operand(terms.xs[term], plan)
                push_operand(terms.ys[term], plan)
            term = terms.nexts[term]
        if made >= 0 and total >= 0:
            last = emit_binary(DOT, 0, total, NONE, plan)
            push_operand(made, plan)
            push_operand(NONE, plan)
            made = last
        if made >= 0:
            total = made
    return total


def multiply_by_count(term: int, terms: CotangentTerms, plan: GrowingIR) -> None:
    """Multiply a term that is the same for all samples of its group by their number."""
    group, x, y = terms.groups[term], terms.xs[term], terms.ys[term]
    if group == 0 or wider_group(x, y, plan) != 0:
        return
    if y >= 0:
        terms.xs[term] = emit_binary(MUL, 0, x, y, plan)
    terms.ys[term] = plan.counts[group]
    terms.groups[term] = 0


# --- templates of the local partials ----------------------------------------------


class Template(NamedTuple):
    """The rows and partials of a rule with n operands, by references.

    A reference is 0..n-1 for an operand, n for the result, n+1... for the template's rows, or PLAIN, NOTHING or a
    constant (FIRST_NUMBER and below).
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

    numbers: the constants so far, as `float.hex` writes them -> their references.

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
