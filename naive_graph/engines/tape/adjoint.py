"""The reverse sweep over columns: it appends the rows of the derivatives.

>>> from naive_graph import Graph
>>> from naive_graph.engines.tape.rows import flat_of_tables
>>> from naive_graph.engines.tape.share import share
>>> x, y = Graph.Variable(2.0), Graph.Variable(3.0)
>>> z = x.sin() * y
>>> flat, _ = flat_of_tables(z.tables, [z.row])
>>> print(flat)
   0 leaf
   1 leaf
   2 sin 0
   3 mul 2 1
>>> grown, adjoints = adjoint(flat, seeds=[3], wanted=[0, 1])
>>> slopes, place = share(grown, adjoints[[0, 1]])  # without the rows that they do not need
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

This is the sweep of sweep.py, step by step, for plans of millions of rows;
tests hold the two to the same numbers. A row that no wanted leaf feeds gets no
adjoint. `where` works as there: a branch that was not taken passes nothing on.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from ...core.tables import CONSTANT, PLACEHOLDER
from ..llvm.machine import machine
from ..llvm.python import Bytes, Ints, Longs
from .flat import DOT, NONE, Array, Flat
from .templates import FIRST_NUMBER, NOTHING, PLAIN, Templates, templates
from .terms import chosen, give, guard, new_row, plant, push, summed


class Count(NamedTuple):
    """Where a leaf's value comes from: it is how many samples the group has."""

    group: int


def adjoint(flat: Flat, seeds: list[int], wanted: Array) -> tuple[Flat, Array]:
    """The plan with the derivatives of the seeded rows' sum behind it, and the row of each row's adjoint.

    seeds: rows whose adjoint begins at 1. wanted: rows whose adjoints are asked
    for. The adjoint of a row that has none is NONE: it is 0.
    """
    rows, samples = len(flat), len(flat.samples)
    known = templates(flat.kinds, np.diff(flat.starts))
    needed, report = (_marked(rows, wanted) for _ in range(2))
    lead(rows, flat.kinds, flat.starts, flat.operands, known.of_row, known.partial_starts, known.partials, needed)
    terms, made = len(flat.operands) + len(seeds), np.diff(known.row_starts)
    numbers = rows + np.arange(len(known.numbers) + samples, dtype=np.int32)  # then how many samples each group has
    counts = numbers[len(known.numbers) :].copy()
    kinds, starts, operands, groups = _room(flat, known, numbers, terms)
    kinds[counts] = PLACEHOLDER
    end = np.array([rows + len(numbers), len(flat.operands), 0], np.int64)
    adjoints, heads, tails = (np.full(rows, NONE, np.int32) for _ in range(3))
    columns = [np.empty(terms, np.int32) for _ in range(5)]
    for seed in seeds:
        plant(seed, int(numbers[0]), int(flat.groups[seed]), heads, tails, *columns, end)
    sweep(
        rows, samples, known.of_row, known.selects, known.row_starts, known.kinds, known.operand_starts, known.operands,
        known.partial_starts, known.partials, numbers, counts, needed, report, heads, tails, *columns, kinds, starts,
        operands, groups, adjoints, np.empty(made.max(initial=0) + 1, np.int32), end,
    )  # fmt: skip
    size, edges = int(end[0]), int(end[1])
    starts[size] = edges
    grown = replace(
        flat,
        kinds=kinds[:size].copy(),
        starts=starts[: size + 1].copy(),
        operands=operands[:edges].copy(),
        groups=groups[:size].copy(),
        constants={**flat.constants, **dict(zip(numbers.tolist(), known.numbers))},
        sources={**flat.sources, **{row: Count(group) for group, row in enumerate(counts.tolist())}},
    )
    return grown, adjoints


def _marked(rows: int, these: Array) -> Array:
    marks = np.zeros(rows, np.uint8)
    marks[these] = 1
    return marks


def _room(flat: Flat, known: Templates, numbers: Array, terms: int) -> tuple[Array, Array, Array, Array]:
    """Kinds, starts, operands and groups, begun with the plan and the numbers, with room for all that may follow.

    A term may need seven rows with 23 operands: a condition and its sum over
    the samples, the either-or of two of them, a product, a choice and its share
    in two sums. A row may need three with five: a sum and a choice.
    """
    rows, made = len(flat), np.diff(known.row_starts)
    per_template = known.operand_starts[known.row_starts[1:]] - known.operand_starts[known.row_starts[:-1]]
    most = rows + len(numbers) + int(made[known.of_row].sum()) + 7 * terms + 3 * rows
    edges = len(flat.operands) + int(per_template[known.of_row].sum()) + 23 * terms + 5 * rows
    kinds, starts, operands, groups = (np.empty(size, np.int32) for size in (most, most + 1, edges, most))
    kinds[:rows], starts[:rows], groups[:rows] = flat.kinds, flat.starts[:rows], flat.groups
    operands[: len(flat.operands)] = flat.operands
    after = slice(rows, rows + len(numbers))
    kinds[after], starts[after], groups[after] = CONSTANT, len(flat.operands), 0
    return kinds, starts, operands, groups


@machine
def lead(
    rows: int, kinds: Ints, starts: Ints, operands: Ints, of_row: Ints, partial_starts: Ints, partials: Ints,
    needed: Bytes,
) -> None:  # fmt: skip
    """Mark every row that a wanted one leads to, through operands that it responds to."""
    for row in range(rows):
        for at in range(starts[row], starts[row + 1]):
            if operands[at] >= 0 and needed[operands[at]] and needed[row] == 0:
                if kinds[row] < 0 or partials[partial_starts[of_row[row]] + at - starts[row]] != NOTHING:
                    needed[row] = 1


@machine
def sweep(
    rows: int, samples: int, of_row: Ints, selects: Bytes, row_starts: Ints, made_kinds: Ints, made_starts: Ints,
    made_operands: Ints, partial_starts: Ints, partials: Ints, numbers: Ints, counts: Ints, needed: Bytes,
    report: Bytes, heads: Ints, tails: Ints, nexts: Ints, xs: Ints, ys: Ints, masks: Ints, term_groups: Ints,
    kinds: Ints, starts: Ints, operands: Ints, groups: Ints, adjoints: Ints, local: Ints, end: Longs,
) -> None:  # fmt: skip
    """Walk backwards: sum up each row's terms, and hand every operand its own."""
    for row in range(rows - 1, -1, -1):
        head = heads[row]
        if head < 0 or needed[row] == 0:
            continue
        mask = masks[head]
        same = 1
        term = head
        while term >= 0:
            if masks[term] != mask or (mask >= 0 and groups[row] == 0 and term_groups[term] > 0):
                same = 0
            term = nexts[term]
        if same == 0:
            mask = guard(head, groups[row] == 0, numbers, nexts, xs, ys, masks, kinds, starts, operands, groups, end)
        incoming = summed(row, head, samples, counts, nexts, xs, ys, term_groups, kinds, starts, operands, groups, end)
        if report[row]:
            adjoints[row] = incoming
            if mask >= 0 and same:  # terms that stand under masks of their own add up to 0 where none holds
                adjoints[row] = chosen(mask, incoming, numbers[1], kinds, starts, operands, groups, end)
        if kinds[row] <= DOT:
            for at in range(starts[row], starts[row + 1], 2):
                x, y = operands[at], operands[at + 1]
                group = groups[row] if groups[row] > groups[x] else groups[x]
                if y >= 0 and groups[y] > group:
                    group = groups[y]
                if needed[x]:
                    give(x, incoming, y, numbers[0], mask, group, heads, tails, nexts, xs, ys, masks, term_groups, end)
                if y >= 0 and needed[y]:
                    give(y, incoming, x, numbers[0], mask, group, heads, tails, nexts, xs, ys, masks, term_groups, end)
            continue
        if kinds[row] < 0:
            continue
        shape = of_row[row]
        degree = starts[row + 1] - starts[row]
        first = row_starts[shape]
        for made in range(first, row_starts[shape + 1]):
            group = 0
            new = new_row(made_kinds[made], 0, kinds, starts, groups, end)
            for at in range(made_starts[made], made_starts[made + 1]):
                operand = resolved(made_operands[at], row, degree, starts, operands, numbers, local)
                push(operand, operands, end)
                if groups[operand] > group:
                    group = groups[operand]
            groups[new] = group
            local[made - first] = new
        for place in range(degree):
            operand = operands[starts[row] + place]
            partial = partials[partial_starts[shape] + place]
            if needed[operand] and partial != NOTHING:
                below = NONE
                if partial != PLAIN:
                    below = resolved(partial, row, degree, starts, operands, numbers, local)
                under = mask
                if selects[shape]:
                    under = below
                    below = NONE
                    if mask >= 0:
                        under = chosen(under, mask, numbers[1], kinds, starts, operands, groups, end)
                give(
                    operand, incoming, below, numbers[0], under, groups[row], heads, tails, nexts, xs, ys, masks,
                    term_groups, end,
                )  # fmt: skip


def resolved(reference: int, row: int, degree: int, starts: Ints, operands: Ints, numbers: Ints, local: Ints) -> int:
    """The row that a template's reference stands for."""
    if reference <= FIRST_NUMBER:
        return numbers[FIRST_NUMBER - reference]
    if reference < degree:
        return operands[starts[row] + reference]
    return row if reference == degree else local[reference - degree - 1]
