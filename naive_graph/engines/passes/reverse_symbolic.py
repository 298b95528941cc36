"""Reverse-mode differentiation of a plan by source transformation: append the rows that compute the adjoints.

This repeats the sweep of core/sweep.py, step by step, for two reasons. It is compiled:
for a random graph of 90,762 rows it takes 0.16 us a row, where tracing
`sweep.reverse_sweep` takes 21.8, which is 2 s instead of 15 ms before a first answer. And
it differentiates what that sweep cannot: DOT rows, whose terms are no partials of a rule,
and rows that all samples share, whose adjoints are sums over the samples. Tests check
that both give the same bits.

>>> from naive_graph import Graph
>>> from naive_graph.engines.passes.build_ir import build_ir
>>> from naive_graph.engines.passes.cse import eliminate_common_subexpressions
>>> x, y = Graph.Variable(2.0), Graph.Variable(3.0)
>>> z = x.sin() * y
>>> ir, _ = build_ir(z.tables, [z.row])
>>> print(ir)
   0 leaf
   1 leaf
   2 sin 0
   3 mul 2 1
>>> grown, adjoints = adjoint(ir, seeds=[3], wanted=[0, 1])
>>> slopes, place = eliminate_common_subexpressions(grown, adjoints[[0, 1]])  # without the rows that they do not need
>>> print(slopes)
   0 leaf
   1 leaf
   2 sin 0
   3 cos 0
   4 dot 1*3
>>> place[adjoints[[0, 1]]].tolist()  # the slope with respect to x is y * cos x, to y it is sin x
[4, 2]

A row's adjoint is a dot product: the sum, over everything that uses the row, of
that consumer's adjoint times its partial. So nothing is scattered; the rows that
follow only ever look back. What many samples share gets a REDUCE over them.

A row that no wanted leaf feeds gets no adjoint. `where` works as in
core/sweep.py: a branch that was not taken passes nothing on.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ...core.tables import CONSTANT, PLACEHOLDER
from ..llvm.machine import machine
from ..llvm.values import Bytes, Ints
from .cotangents import (
    FIRST_NUMBER,
    NOTHING,
    PLAIN,
    CotangentTerms,
    GrowingIR,
    Templates,
    accumulate,
    build_template_table,
    emit_sum,
    emit_where,
    mask_sum,
    new_row,
    push_operand,
    wider_group,
)
from .ir import DOT, IR, NONE, Array, Lanes, PlanColumns, allocate_columns, mark_rows, with_columns


class Count(NamedTuple):
    """A source of a leaf's value: the number of samples of a group."""

    group: int


class AdjointRequest(NamedTuple):
    """What is asked of the reverse sweep.

    By row: needed: whether it depends on a wanted row (or is one); report: whether its adjoint is wanted; adjoints: the
    row of that adjoint, which the sweep fills in. seeds: the rows whose adjoint begins at 1, seed_count of them.
    """

    needed: Bytes
    report: Bytes
    adjoints: Ints
    seeds: Ints
    seed_count: int


def adjoint(ir: IR, seeds: list[int], wanted: Array) -> tuple[IR, Array]:
    """Append the derivatives of the sum of the seeded rows; returns the plan, and the row of each wanted row's adjoint.

    seeds: rows whose adjoint begins at 1. wanted: rows whose adjoints are requested. NONE in place of an adjoint: it
    is 0.
    """
    rows, samples = len(ir), len(ir.samples)
    template_columns, constants = build_template_table(ir.kinds, np.diff(ir.starts))
    adjoint_rows, initial = np.full(rows, NONE, np.int32), np.array(seeds, np.int32)
    requests = AdjointRequest(mark_rows(rows, wanted), mark_rows(rows, wanted), adjoint_rows, initial, len(initial))
    mark_dependent(rows, ir.columns, template_columns, requests)
    plan, terms = _room(ir, template_columns, len(constants), len(ir.operands) + len(seeds))
    sweep(
        rows,
        samples,
        template_columns,
        requests,
        terms,
        plan,
        np.empty(np.diff(template_columns.row_starts).max(initial=0) + 1, np.int32),
    )
    size, edges = plan.end.tolist()
    plan.starts[size] = edges
    numbers = {**ir.constants, **dict(zip(plan.numbers.tolist(), constants))}
    sources = {**ir.sources, **{row: Count(group) for group, row in enumerate(plan.counts.tolist())}}
    return with_columns(ir, PlanColumns(*plan[:4]), size, numbers, sources), requests.adjoints


def _finite_leaves(ir: IR) -> Array:
    """Whether each row is a leaf whose numbers are finite, so that 0 times them is 0.

    Numbers that are not in the plan are taken to be finite: if one is not, the results are not finite either, and the
    reference engine repeats the run. A batch that is fed is not repeated, so its leaves do not count as finite.
    """
    lanes = {row: source for row, source in ir.sources.items() if isinstance(source, Lanes)}
    numbers = ir.constants | {row: source.numbers for row, source in lanes.items()}
    one, calm = ir.groups == 0, np.zeros(len(ir), bool)
    for row in ir.leaves().tolist():
        calm[row] = np.isfinite(numbers.get(row, 0.0)).all() and (one[row] or row in lanes)
    return calm


def _room(ir: IR, template_columns: Templates, constants: int, most_terms: int) -> tuple[GrowingIR, CotangentTerms]:
    """Allocate columns that begin with the plan and the constants and have room for all new rows; and the term lists.

    A term needs at most seven rows with 23 operands: a mask and its sum over the samples, the union of two masks, a
    product, a `where`, and the term in two sums. Each row needs at most three more with five: a sum and a `where`.
    """
    rows, of_row = len(ir), template_columns.of_row
    first = rows + constants + len(ir.samples)
    operands = template_columns.operand_starts[template_columns.row_starts]
    most = first + int(np.diff(template_columns.row_starts)[of_row].sum()) + 7 * most_terms + 3 * rows
    edges = len(ir.operands) + int(np.diff(operands)[of_row].sum()) + 23 * most_terms + 5 * rows
    numbers = np.arange(rows, first, dtype=np.int32)
    end = np.array([first, len(ir.operands)], np.int64)
    calm = np.zeros(most, np.uint8)
    calm[:rows] = _finite_leaves(ir)
    plan = GrowingIR(*allocate_columns(most, edges), numbers[:constants].copy(), numbers[constants:].copy(), end, calm)
    for column, initial in zip(plan[:4], ir.columns, strict=True):
        column[: len(initial)] = initial
    plan.kinds[plan.numbers], plan.kinds[plan.counts] = CONSTANT, PLACEHOLDER
    plan.starts[numbers], plan.groups[numbers] = len(ir.operands), 0
    heads, tails = (np.full(rows, NONE, np.int32) for _ in range(2))
    nexts, xs, ys, masks, groups = (np.empty(most_terms, np.int32) for _ in range(5))
    return plan, CotangentTerms(heads, tails, nexts, xs, ys, masks, groups, np.zeros(1, np.int64))


@machine
def mark_dependent(rows: int, of: PlanColumns, templates: Templates, request: AdjointRequest) -> None:
    """Mark the rows that depend on a wanted one, through operands with a partial derivative."""
    for row in range(rows):
        for edge in range(of.starts[row], of.starts[row + 1]):
            if of.operands[edge] >= 0 and request.needed[of.operands[edge]] and request.needed[row] == 0:
                partial = templates.partial_starts[templates.of_row[row]] + edge - of.starts[row]
                if of.kinds[row] < 0 or templates.partials[partial] != NOTHING:
                    request.needed[row] = 1


@machine
def sweep(
    rows: int,
    samples: int,
    templates: Templates,
    request: AdjointRequest,
    terms: CotangentTerms,
    plan: GrowingIR,
    local: Ints,
) -> None:
    """The reverse sweep: emit the sum of each row's terms, then add terms to its operands. local: scratch space."""
    for index in range(request.seed_count):
        seed = request.seeds[index]
        accumulate(seed, plan.numbers[0], NONE, NONE, plan.groups[seed], terms, plan)
    for row in range(rows - 1, -1, -1):
        head = terms.heads[row]
        if head < 0 or request.needed[row] == 0:
            continue
        mask = terms.masks[head]
        same = 1
        term = head
        while term >= 0:
            if terms.masks[term] != mask or (mask >= 0 and plan.groups[row] == 0 and terms.groups[term] > 0):
                same = 0
            term = terms.nexts[term]
        if same == 0:
            mask = mask_sum(head, plan.groups[row] == 0, terms, plan)
        incoming = emit_sum(row, head, samples, terms, plan)
        if request.report[row]:
            request.adjoints[row] = incoming
            if mask >= 0 and same:  # if not, each term is in a `where` of its own: the sum is 0 where no mask holds
                request.adjoints[row] = emit_where(mask, incoming, plan.numbers[1], plan)
        if plan.kinds[row] <= DOT:
            accumulate_factors(row, incoming, mask, request, terms, plan)
        elif plan.kinds[row] >= 0:
            write_template(row, templates, plan, local)
            accumulate_operands(row, incoming, mask, templates, request, terms, plan, local)


def accumulate_factors(
    row: int, incoming: int, mask: int, request: AdjointRequest, terms: CotangentTerms, plan: GrowingIR
) -> None:
    """Add terms to the factors of a DOT, TOTAL or REDUCE row: adjoint times the other factor."""
    for edge in range(plan.starts[row], plan.starts[row + 1], 2):
        x, y = plan.operands[edge], plan.operands[edge + 1]
        group = wider_group(x, y, plan)
        if plan.groups[row] > group:
            group = plan.groups[row]
        if request.needed[x]:
            accumulate(x, incoming, y, mask, group, terms, plan)
        if y >= 0 and request.needed[y]:
            accumulate(y, incoming, x, mask, group, terms, plan)


def write_template(row: int, templates: Templates, plan: GrowingIR, local: Ints) -> None:
    """Append the rows of a row's template; local[i] becomes the row of template row i."""
    first = templates.row_starts[templates.of_row[row]]
    for made in range(first, templates.row_starts[templates.of_row[row] + 1]):
        group = 0
        new = new_row(templates.kinds[made], 0, plan)
        for edge in range(templates.operand_starts[made], templates.operand_starts[made + 1]):
            operand = resolve_reference(templates.operands[edge], row, plan, local)
            push_operand(operand, plan)
            if plan.groups[operand] > group:
                group = plan.groups[operand]
        plan.groups[new] = group
        local[made - first] = new


def accumulate_operands(
    row: int,
    incoming: int,
    mask: int,
    templates: Templates,
    request: AdjointRequest,
    terms: CotangentTerms,
    plan: GrowingIR,
    local: Ints,
) -> None:
    """Add a term, adjoint times local partial, to each operand that depends on a wanted row."""
    shape = templates.of_row[row]
    for position in range(plan.starts[row + 1] - plan.starts[row]):
        operand = plan.operands[plan.starts[row] + position]
        partial = templates.partials[templates.partial_starts[shape] + position]
        if request.needed[operand] and partial != NOTHING:
            below = resolve_reference(partial, row, plan, local) if partial != PLAIN else NONE
            under = mask
            if templates.selects[shape]:
                under = below
                below = NONE
                if mask >= 0:
                    under = emit_where(under, mask, plan.numbers[1], plan)
            accumulate(operand, incoming, below, under, plan.groups[row], terms, plan)


def resolve_reference(reference: int, row: int, plan: GrowingIR, local: Ints) -> int:
    """The row that a template's reference stands for."""
    degree = plan.starts[row + 1] - plan.starts[row]
    if reference <= FIRST_NUMBER:
        return plan.numbers[FIRST_NUMBER - reference]
    if reference < degree:
        return plan.operands[plan.starts[row] + reference]
    return row if reference == degree else local[reference - degree - 1]
