"""Guess the samples hidden in an unrolled graph: subgraphs of one shape that repeat with other leaves.

Both loops below are recognised, though they write the rows of a sample in another order:

    for x, t in samples:                    h = [(w * x).tanh() for x in xs]
        for a in (w, v):                    loss = 0
            h = (a * x).tanh()              for each, t in zip(h, ts):
            loss = loss + (h - t)**2            loss = loss + (each - t)**2

Each row is hashed by the subgraph below it, without the numbers in its leaves; a row is repeated
if its hash occurs at least FEWEST times. Repeated rows that are connected form one sample, wherever
they are in the plan. A row that depends on a single sample belongs to that sample; a row that
depends on several must be a sum over them. The result is only a guess: `roll_samples` checks that
all samples have the same rows in the same positions.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import NamedTuple

import numpy as np

from ...core.rules import BY_NUMBER
from ...core.tables import VARIABLE
from ..llvm.machine import machine
from ..llvm.values import Bytes, Ints, Longs
from .ir import ADD, DOT, IR, NONE, SUB, Array, PlanColumns

FEWEST = 8  # samples: with fewer, vectorising gains nothing
MOST_TRIES = 8  # candidate partitions that are tried before giving up
MASK = 0x3FFFFFFFFFFF  # keeps hashes to 46 bits
SUM = -2  # in place of a sample's number: the row adds up several samples


class Components(NamedTuple):
    """Connected components of the repeated rows, as a union-find forest.

    heads: the parent of each row (in the end, the first row of its component). marks, sizes: by first row, a hash of
    the component and its number of rows and operands.
    """

    heads: Ints
    marks: Longs
    sizes: Longs


def candidate_partitions(ir: IR, by_identity: bool) -> Iterator[Array]:
    """Yield candidate partitions, those with most work first: for each row the number of its sample, or NONE.

    by_identity: whether different Variables in the same position make rows differ (Variables are shared weights);
    if False, Variables may hold the samples' data.
    """
    rows, own, any_leaf, sizes = len(ir), *(np.zeros(len(ir), np.int64) for _ in range(3))
    hash_rows(rows, ir.columns, own, sizes, int(by_identity))
    plain = ((ir.kinds >= 0) | (ir.kinds == DOT)) & (ir.groups == 0) & (np.diff(ir.starts) > 0)  # computed, in no group
    repeated = _are_frequent(own) & plain
    if not repeated.any():
        return
    if by_identity:
        hash_rows(rows, ir.columns, any_leaf, sizes, 0)
    unmark_partial_sums(rows, ir.columns, uses_of(ir), repeated)
    common = _is_common(ir, own)
    found: dict[bytes, tuple[int, Array, Array]] = {}
    for hashes, skipped in product(
        [any_leaf, own][not by_identity :], [np.zeros_like(common), common][: 1 + common.any()]
    ):
        groups = Components(np.empty(rows, np.int32), np.zeros(rows, np.int64), np.zeros(rows, np.int64))
        components(rows, ir.columns, repeated, skipped, hashes, groups)
        heads = np.flatnonzero((groups.heads == np.arange(rows)) & (repeated > 0))
        _, kind, count = np.unique(groups.marks[heads], return_inverse=True, return_counts=True)
        for each in np.flatnonzero(count >= FEWEST).tolist():
            same_shape = heads[kind == each]
            work = int(groups.sizes[same_shape[0]]) * len(same_shape)
            found.setdefault(same_shape.tobytes(), (work, same_shape, groups.heads))
    for _, same_shape, heads in sorted(found.values(), key=lambda each: -each[0])[:MOST_TRIES]:
        sample = np.full(rows, NONE, np.int32)
        sample[same_shape] = np.arange(len(same_shape))
        yield np.where(repeated > 0, sample[heads], NONE).astype(np.int32)


def outermost_sums(ir: IR, uses: Array, sample: Array) -> list[int]:
    """The sums over samples that are not partial sums of another one."""
    parts = np.zeros(len(ir), np.uint8)
    mark_partial_sums(len(ir), ir.columns, uses, sample, parts)
    tops: list[int] = np.flatnonzero((sample == SUM) & (parts == 0)).tolist()
    return tops


def _is_common(ir: IR, hashes: Array) -> Array:
    """Whether each operand (edge) is shared: many rows with the same hash use the same row in the same position."""
    degrees = np.diff(ir.starts)
    place = np.arange(len(ir.operands)) - np.repeat(ir.starts[:-1], degrees)
    return _are_frequent((np.repeat(hashes, degrees) * 1000003 + ir.operands) * 1000003 + place)


def uses_of(ir: IR) -> Array:
    """How often each row is used."""
    return np.bincount(ir.operands[ir.operands >= 0], minlength=len(ir)).astype(np.int32)


def _are_frequent(marks: Array) -> Array:
    """Whether each hash occurs at least FEWEST times, counted in two hash tables (as in a count-min sketch).

    A rare hash that shares a slot with a frequent one in both tables is taken for a frequent one. The guess is then
    wrong, and one sample is lost. With a single table that would happen often.
    """
    bits = max(16, (2 * len(marks)).bit_length())
    frequent = np.ones(len(marks), np.uint8)
    for factor in (0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F):
        slots = (marks.astype(np.uint64) * np.uint64(factor) >> np.uint64(64 - bits)).astype(np.int64)
        frequent &= np.bincount(slots)[slots] >= FEWEST
    return frequent


def is_compared(ir: IR, row: int) -> bool:
    """Whether a comparison, or a rule with a kink, depends on the row."""
    kinks = [rule.number for rule in BY_NUMBER if rule.kink is not None]
    marks = np.isin(ir.kinds, kinks).astype(np.uint8)
    marks[row] = 0
    descend(len(ir) - 1, ir.columns, marks)
    return bool(marks[row])


@machine
def descend(last: int, of: PlanColumns, found: Bytes) -> None:
    """Mark all ancestors of the marked rows: what they depend on. last: the row at which to begin."""
    for row in range(last, -1, -1):
        if found[row]:
            for edge in range(of.starts[row], of.starts[row + 1]):
                if of.operands[edge] >= 0:
                    found[of.operands[edge]] = 1


@machine
def hash_rows(rows: int, of: PlanColumns, hashes: Longs, sizes: Longs, by_identity: int) -> None:
    """Hash the subgraph below each row, without the numbers in its leaves, and estimate the subgraph's size."""
    for row in range(rows):
        mixed = of.kinds[row] + 1013
        size = 1
        if of.starts[row] == of.starts[row + 1] and ((by_identity and of.kinds[row] == VARIABLE) or of.groups[row]):
            mixed = row * 7919 + 104729
        for edge in range(of.starts[row], of.starts[row + 1]):
            below = of.operands[edge]
            mixed = ((mixed * 1000003) ^ (hashes[below] if below >= 0 else 12289)) & MASK
            mixed = mixed ^ (mixed >> 21)
            size += sizes[below] if below >= 0 else 0
        hashes[row] = mixed
        sizes[row] = size if size < 1000000 else 1000000


@machine
def unmark_partial_sums(rows: int, of: PlanColumns, uses: Ints, repeated: Bytes) -> None:
    """Unmark the partial sums of a sum that is not itself repeated: they belong to the sum, not to samples."""
    for row in range(rows - 1, -1, -1):
        if repeated[row] == 0:
            for edge in range(of.starts[row], of.starts[row + 1]):
                if is_part(row, edge, of, uses):
                    repeated[of.operands[edge]] = 0


@machine
def components(rows: int, of: PlanColumns, repeated: Bytes, common: Bytes, hashes: Longs, found: Components) -> None:
    """Find the components of repeated rows: joined where one uses another, or both are used by a row that is no sum.

    common: whether each operand is shared by the samples, and so joins nothing. found: its marks and sizes begin at 0.
    """
    for row in range(rows):
        found.heads[row] = row
        begin, end, before = of.starts[row], of.starts[row + 1], NONE
        if repeated[row]:
            before = row
        for edge in range(begin, end):
            below = of.operands[edge]
            if repeated[row] == 0 and is_sum(row, of) and (of.kinds[row] != DOT or (edge - begin) % 2 == 0):
                before = NONE  # terms of a sum are not joined to each other
            if below >= 0 and repeated[below] and common[edge] == 0:
                if before >= 0:
                    one, other = first_of(before, found), first_of(below, found)
                    found.heads[one if one > other else other] = other if one > other else one
                before = below
    for row in range(rows):
        if repeated[row]:
            head = first_of(row, found)
            found.marks[head] = (found.marks[head] + hashes[row] * (hashes[row] & 65535)) & MASK
            found.sizes[head] += 1 + of.starts[row + 1] - of.starts[row]
            found.heads[row] = head


def first_of(row: int, found: Components) -> int:
    """The root of a row's component (union-find with path halving)."""
    while found.heads[row] != row:
        found.heads[row] = found.heads[found.heads[row]]
        row = found.heads[row]
    return row


@machine
def propagate_samples(rows: int, of: PlanColumns, uses: Ints, sample: Ints) -> int:
    """Propagate samples to their consumers; a sum over several becomes SUM. Returns 0 if they meet in another row.

    uses: how often each row is used, counting requests by the caller.
    """
    nested = 0
    for row in range(rows):
        begin, end = of.starts[row], of.starts[row + 1]
        owner, sums, meets = sample[row], 0, 0
        for edge in range(begin, end):
            below = of.operands[edge]
            if below >= 0 and sample[below] >= 0:
                if owner >= 0 and owner != sample[below]:
                    meets = 1
                owner = sample[below]
            elif below >= 0 and sample[below] == SUM and is_part(row, edge, of, uses):
                sums += 1
                nested = 1
        if owner >= 0 and (
            of.groups[row] > 0 or of.kinds[row] < DOT or (meets and (is_sum(row, of) == 0 or sample[row] >= 0))
        ):
            return 0
        if begin < end and sample[row] == NONE:
            sample[row] = SUM if meets or sums > 0 else owner
    for row in range(rows - 1, -1, -1):
        if nested and sample[row] == SUM:  # a partial sum may add terms of one sample, or of two: all become SUM
            for edge in range(of.starts[row], of.starts[row + 1]):
                if is_part(row, edge, of, uses):
                    sample[of.operands[edge]] = SUM
    return 1


@machine
def mark_partial_sums(rows: int, of: PlanColumns, uses: Ints, sample: Ints, parts: Bytes) -> None:
    """Mark the sums over samples that are partial sums of another one."""
    for row in range(rows):
        if sample[row] == SUM:
            for edge in range(of.starts[row], of.starts[row + 1]):
                if of.operands[edge] >= 0 and sample[of.operands[edge]] == SUM and is_part(row, edge, of, uses):
                    parts[of.operands[edge]] = 1


def is_part(row: int, at: int, of: PlanColumns, uses: Ints) -> int:
    """Whether this operand (edge `at`) of a sum is a partial sum: added with coefficient 1, and used only here."""
    below, position = of.operands[at], at - of.starts[row]
    if below < 0 or uses[below] != 1 or is_sum(row, of) == 0 or is_sum(below, of) == 0:
        return 0
    if (of.kinds[row] == SUB and position == 1) or (
        of.kinds[row] == DOT and (position % 2 == 1 or of.operands[at + 1] >= 0)
    ):
        return 0
    return 1


def is_sum(row: int, of: PlanColumns) -> int:
    """Whether the row is a sum, or a difference, of numbers and products."""
    if of.groups[row] > 0:
        return 0
    return 1 if of.kinds[row] == DOT or of.kinds[row] == ADD or of.kinds[row] == SUB else 0
