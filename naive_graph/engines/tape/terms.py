"""What a row's adjoint is made of, while the reverse sweep collects it.

    row 0:  x 5, y 4, mask -, group 0        the adjoint of row 0 is 5*4
            x 7, y -, mask 3, group 1        + the sum over group 1 of where(3, 7, 0)

A term is a product x * y (x alone where y is NONE), owed by one consumer in one
of its operand positions. The terms of a row are a list that grows at its tail,
so that they add up in the order of the sweep. A term has a mask where some
`where` took another branch for it, and a group where it has a value for every
sample: then a row that all samples share adds it up over them.
"""

from __future__ import annotations

from ..llvm.machine import machine
from ..llvm.python import Ints, Longs
from .flat import DOT, MUL, NONE, REDUCE, WHERE


@machine
def plant(
    row: int, one: int, group: int, heads: Ints, tails: Ints, nexts: Ints, xs: Ints, ys: Ints, masks: Ints,
    term_groups: Ints, end: Longs,
) -> None:  # fmt: skip
    """The adjoint of `row` begins at 1."""
    give(row, one, NONE, one, NONE, group, heads, tails, nexts, xs, ys, masks, term_groups, end)


def give(
    row: int, x: int, y: int, one: int, mask: int, group: int, heads: Ints, tails: Ints, nexts: Ints, xs: Ints,
    ys: Ints, masks: Ints, term_groups: Ints, end: Longs,
) -> None:  # fmt: skip
    """One more term of a row's adjoint: x * y (x alone if y is NONE), where `mask` holds. one: the row of 1."""
    if x == one and y >= 0:
        x, y = y, NONE
    term = end[2]
    end[2] += 1
    nexts[term] = NONE
    xs[term] = x
    ys[term] = y
    masks[term] = mask
    term_groups[term] = group
    if tails[row] >= 0:
        nexts[tails[row]] = term
    else:
        heads[row] = term
    tails[row] = term


def new_row(kind: int, group: int, kinds: Ints, starts: Ints, groups: Ints, end: Longs) -> int:
    """Begin a row; its operands are pushed next."""
    row = end[0]
    kinds[row] = kind
    groups[row] = group
    starts[row] = end[1]
    end[0] += 1
    return row


def push(operand: int, operands: Ints, end: Longs) -> None:
    operands[end[1]] = operand
    end[1] += 1


def chosen(
    mask: int, value: int, other: int, kinds: Ints, starts: Ints, operands: Ints, groups: Ints, end: Longs
) -> int:
    """where(mask, value, other) as a row."""
    group = groups[mask]
    if groups[value] > group:
        group = groups[value]
    if groups[other] > group:
        group = groups[other]
    row = new_row(WHERE, group, kinds, starts, groups, end)
    push(mask, operands, end)
    push(value, operands, end)
    push(other, operands, end)
    return row


def how_many(mask: int, kinds: Ints, starts: Ints, operands: Ints, groups: Ints, end: Longs) -> int:
    """In how many samples a mask holds: what they share is taken unless this is 0."""
    row = new_row(REDUCE, 0, kinds, starts, groups, end)
    push(mask, operands, end)
    push(NONE, operands, end)
    return row


def guard(
    head: int, alone: int, numbers: Ints, nexts: Ints, xs: Ints, ys: Ints, masks: Ints, kinds: Ints, starts: Ints,
    operands: Ints, groups: Ints, end: Longs,
) -> int:  # fmt: skip
    """Put each term under its own mask; the mask of their sum, NONE if one is certain. alone: the row has one value."""
    either = NONE
    term = head
    while term >= 0:
        mask = masks[term]
        taken = mask
        if alone and mask >= 0 and groups[mask] > 0:
            taken = how_many(mask, kinds, starts, operands, groups, end)
        if term == head:
            either = taken
        elif taken < 0 or either < 0:
            either = NONE
        elif taken != either:
            either = chosen(either, numbers[0], taken, kinds, starts, operands, groups, end)
        if mask >= 0:
            value = xs[term]
            if ys[term] >= 0:
                group = groups[xs[term]] if groups[xs[term]] > groups[ys[term]] else groups[ys[term]]
                value = new_row(MUL, group, kinds, starts, groups, end)
                push(xs[term], operands, end)
                push(ys[term], operands, end)
            xs[term] = chosen(mask, value, numbers[1], kinds, starts, operands, groups, end)
            ys[term] = NONE
            masks[term] = NONE
        term = nexts[term]
    return either


def summed(
    row: int, head: int, samples: int, counts: Ints, nexts: Ints, xs: Ints, ys: Ints, term_groups: Ints, kinds: Ints,
    starts: Ints, operands: Ints, groups: Ints, end: Longs,
) -> int:  # fmt: skip
    """The sum of a row's terms, as one row."""
    group = groups[row]
    if group == 0:
        term = head
        while term >= 0:
            times(term, counts, xs, ys, term_groups, kinds, starts, operands, groups, end)
            term = nexts[term]
    if nexts[head] < 0 and ys[head] < 0 and (group != 0 or term_groups[head] == 0):
        return xs[head]
    first = NONE
    second = 0
    if group == 0:
        for each in range(1, samples):
            made = NONE
            term = head
            while term >= 0:
                if term_groups[term] == each:
                    if made < 0:
                        made = new_row(REDUCE, 0, kinds, starts, groups, end)
                    push(xs[term], operands, end)
                    push(ys[term], operands, end)
                term = nexts[term]
            if made >= 0:
                if first >= 0:
                    made = with_first(made, first, kinds, starts, operands, groups, end)
                first = made
                second += 1
    made = first
    term = head
    while term >= 0:
        if group != 0 or term_groups[term] == 0:
            if made == first:
                made = new_row(DOT, group, kinds, starts, groups, end)
                if first >= 0:
                    push(first, operands, end)
                    push(NONE, operands, end)
            push(xs[term], operands, end)
            push(ys[term], operands, end)
        term = nexts[term]
    return made


def times(
    term: int, counts: Ints, xs: Ints, ys: Ints, term_groups: Ints, kinds: Ints, starts: Ints, operands: Ints,
    groups: Ints, end: Longs,
) -> None:  # fmt: skip
    """A term that is the same for all samples counts once for each."""
    group = term_groups[term]
    if group == 0 or groups[xs[term]] != 0 or (ys[term] >= 0 and groups[ys[term]] != 0):
        return
    if ys[term] >= 0:
        product = new_row(MUL, 0, kinds, starts, groups, end)
        push(xs[term], operands, end)
        push(ys[term], operands, end)
        xs[term] = product
    ys[term] = counts[group]
    term_groups[term] = 0


def with_first(made: int, first: int, kinds: Ints, starts: Ints, operands: Ints, groups: Ints, end: Longs) -> int:
    """first + made as a row."""
    row = new_row(DOT, 0, kinds, starts, groups, end)
    push(first, operands, end)
    push(NONE, operands, end)
    push(made, operands, end)
    push(NONE, operands, end)
    return row
