"""Terms of a sum that look alike: the samples that a loop unrolled.

    w*x0 + w*x1 + w*x2 + v      the first three: w is shared, x differs

A hash of what stands below each row finds them. Then they are walked in
lockstep, from their roots down to their leaves: in each the same rules must
stand in the same places, and only leaves may hold other numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ...core.rules import BY_NUMBER
from ...core.tables import VARIABLE
from ..llvm.machine import machine
from ..llvm.typed import Bytes, Ints, Longs
from .flat import DOT, NONE, Array, Flat, PlanColumns

FEWEST = 8  # samples: below, lanes gain nothing
MOST_TRIES = 8  # sums that are looked at in vain
MASK = 0x3FFFFFFFFFFF


class Alike(NamedTuple):
    """Terms of a dot that look alike, walked in lockstep."""

    dot: int
    places: Array  # which terms, by their place in the dot
    template: Array  # the rows below the first of them
    rows: Array  # [template row, lane]: the row that stands there
    shared: Array  # which template rows are the same in all


class LockstepWalk(NamedTuple):
    """A walk in lockstep. shared, inside: whether a template row is the same in all lanes; uses of it among them."""

    template: Ints
    position: Ints  # where a row stands in the template
    rows: Ints  # [template row, lane], full of NONE at first
    shared: Bytes
    inside: Ints


def alike(flat: Flat, wanted: Array, alone: Sequence[int], by_identity: bool) -> Alike | None:
    """The most work that is done alike for many samples; None if there is none.

    wanted: leaves that no other sample may use. alone: rows that may not vary.
    by_identity: whether two Variables at the same place tell samples apart, as
    weights do; else they may hold a sample's data.
    """
    rows = len(flat)
    hashes, sizes = np.zeros(rows, np.int64), np.zeros(rows, np.int64)
    hash_rows(rows, flat.columns, hashes, sizes, int(by_identity))
    best = np.zeros(3, np.int64)
    room = np.empty(4 * int(np.diff(flat.starts).max(initial=1)) + 16, np.int64)
    tried = np.zeros(rows, np.uint8)
    for _ in range(MOST_TRIES):
        if not best_class(rows, flat.columns, hashes, sizes, tried, best, room):
            break
        found = _in_lockstep(flat, int(best[0]), int(best[1]), hashes, wanted, alone)
        if found is not None:
            return found
        tried[best[0]] = 1
    return None


def _in_lockstep(flat: Flat, dot: int, first: int, hashes: Array, wanted: Array, alone: Sequence[int]) -> Alike | None:
    """Walk the terms of a dot that look like its `first` one."""
    pairs = np.array(flat.of(dot), np.int32).reshape(-1, 2)
    marks = np.array([term_hash(int(hashes[x]), int(hashes[y]) if y >= 0 else 0) for x, y in pairs.tolist()])
    places = np.flatnonzero(marks == marks[first])
    if not _begins(places) and _compared(flat, dot):
        return None
    roots = pairs[places]
    below = [_below(flat, roots[lane]) for lane in (0, 1, -1)]
    if _overlap(flat, *below):
        return None
    template = np.flatnonzero(below[0]).astype(np.int32)
    size, count = len(template), len(places)
    position, rows = np.full(len(flat), NONE, np.int32), np.full(size * count, NONE, np.int32)
    walk = LockstepWalk(template, position, rows, np.zeros(size, np.uint8), np.zeros(size, np.int32))
    walk.position[template] = np.arange(size)
    closed = (np.diff(flat.starts) > 0).astype(np.uint8)
    closed[wanted] = 1
    uses = np.bincount(flat.operands[flat.operands >= 0], minlength=len(flat)).astype(np.int32)
    closed[alone], uses[alone] = 1, len(flat.operands) + 1  # as if others used them
    if not lockstep(size, count, flat.columns, roots.reshape(-1), uses, closed, walk):
        return None
    if walk.shared.all():  # one term again and again: nothing varies
        return None
    return Alike(dot, places, template, walk.rows.reshape(size, count), walk.shared.astype(bool))


def _begins(places: Array) -> bool:
    return bool((places == np.arange(len(places))).all())


def _compared(flat: Flat, row: int) -> bool:
    """Whether a comparison, or a rule with a kink, depends on the row."""
    kinks = np.array([rule.kink is not None for rule in BY_NUMBER], np.uint8)
    return bool(meets(len(flat), row, flat.columns, kinks, len(kinks), np.zeros(len(flat), np.uint8)))


@machine
def meets(rows: int, row: int, of: PlanColumns, kinks: Bytes, kinds: int, reached: Bytes) -> int:
    """Whether a row of these kinds depends on the row. reached: full of 0."""
    reached[row] = 1
    for later in range(row + 1, rows):
        for at in range(of.starts[later], of.starts[later + 1]):
            if of.operands[at] >= 0 and reached[of.operands[at]]:
                reached[later] = 1
        if reached[later] and of.kinds[later] >= 0 and of.kinds[later] < kinds and kinks[of.kinds[later]]:
            return 1
    return 0


def _overlap(flat: Flat, first: Array, second: Array, last: Array) -> bool:
    """Whether two lanes share what the last one does not, as neighbours in a stencil do: then they are no samples."""
    inner = np.diff(flat.starts) > 0
    return bool((inner & first & (second != last)).any())


def _below(flat: Flat, roots: Array) -> Array:
    """Whether each row is among the roots and all that they depend on."""
    found = np.zeros(len(flat), np.uint8)
    found[roots[roots >= 0]] = 1
    descend(int(roots.max()), flat.columns, found)
    return found


@machine
def descend(last: int, of: PlanColumns, found: Bytes) -> None:
    """Mark all that the marked rows depend on."""
    for row in range(last, -1, -1):
        if found[row]:
            for at in range(of.starts[row], of.starts[row + 1]):
                if of.operands[at] >= 0:
                    found[of.operands[at]] = 1


def term_hash(x: int, y: int) -> int:
    return ((x * 1000003) ^ (y * 31)) & MASK


@machine
def hash_rows(rows: int, of: PlanColumns, hashes: Longs, sizes: Longs, by_identity: int) -> None:
    """A number for what stands below each row, whatever numbers its leaves hold; and how much stands there."""
    for row in range(rows):
        mixed = of.kinds[row] + 1013
        size = 1
        if of.starts[row] == of.starts[row + 1] and ((by_identity and of.kinds[row] == VARIABLE) or of.groups[row]):
            mixed = row * 7919 + 104729
        for at in range(of.starts[row], of.starts[row + 1]):
            below = of.operands[at]
            mixed = ((mixed * 1000003) ^ (hashes[below] if below >= 0 else 12289)) & MASK
            mixed = mixed ^ (mixed >> 21)
            size += sizes[below] if below >= 0 else 0
        hashes[row] = mixed
        sizes[row] = size if size < 1000000 else 1000000


@machine
def best_class(rows: int, of: PlanColumns, hashes: Longs, sizes: Longs, tried: Bytes, best: Longs, room: Longs) -> int:
    """The dot with the most work in terms that look alike, into best: (dot, first such term). 1 if there is one."""
    top = 0
    for row in range(rows):
        terms = (of.starts[row + 1] - of.starts[row]) // 2
        if of.kinds[row] == DOT and of.groups[row] == 0 and terms >= FEWEST and tried[row] == 0:
            slots = 2 * terms + 1
            for slot in range(slots):
                room[2 * slot] = NONE
            for term in range(terms):
                x, y = of.operands[of.starts[row] + 2 * term], of.operands[of.starts[row] + 2 * term + 1]
                mixed = ((hashes[x] * 1000003) ^ ((hashes[y] if y >= 0 else 0) * 31)) & MASK
                slot = mixed % slots
                while room[2 * slot] >= 0 and room[2 * slot] != mixed:
                    slot = (slot + 1) % slots
                if room[2 * slot] < 0:
                    room[2 * slot] = mixed
                    room[2 * slot + 1] = term * 1048576
                room[2 * slot + 1] += 1
                count = room[2 * slot + 1] % 1048576
                work = count * (sizes[x] + (sizes[y] if y >= 0 else 0))
                if count >= FEWEST and work > top and work > 3 * count:
                    top = work
                    best[0] = row
                    best[1] = room[2 * slot + 1] // 1048576
    return 1 if top > 0 else 0


@machine
def lockstep(size: int, count: int, of: PlanColumns, roots: Ints, uses: Ints, closed: Bytes, walk: LockstepWalk) -> int:
    """Walk all lanes along the template; 0 if they differ in more than leaves.

    closed: rows that nothing outside their own lane may use.
    """
    for lane in range(count):
        for side in range(2):
            root = roots[2 * lane + side]
            if root >= 0:
                walk.rows[walk.position[roots[side]] * count + lane] = root
        for step in range(size - 1, -1, -1):
            model, row = walk.template[step], walk.rows[step * count + lane]
            degree = of.starts[model + 1] - of.starts[model]
            if row < 0 or of.kinds[row] != of.kinds[model] or of.starts[row + 1] - of.starts[row] != degree:
                return 0
            if of.groups[row] != 0 and row != model:
                return 0
            for at in range(degree):
                below, there = of.operands[of.starts[model] + at], of.operands[of.starts[row] + at]
                if (below < 0) != (there < 0):
                    return 0
                if below >= 0:
                    place = walk.position[below] * count + lane
                    if walk.rows[place] >= 0 and walk.rows[place] != there:
                        return 0
                    walk.rows[place] = there
    for step in range(size):
        walk.shared[step] = 1
        for lane in range(1, count):
            if walk.rows[step * count + lane] != walk.template[step]:
                walk.shared[step] = 0
    for side in range(2):
        if roots[side] >= 0:
            walk.inside[walk.position[roots[side]]] += 1
    for step in range(size):
        if walk.shared[step] == 0:
            for at in range(of.starts[walk.template[step]], of.starts[walk.template[step] + 1]):
                if of.operands[at] >= 0:
                    walk.inside[walk.position[of.operands[at]]] += 1
    for step in range(size):
        if walk.shared[step] == 0:
            for lane in range(count):
                row = walk.rows[step * count + lane]
                if closed[row] and uses[row] != walk.inside[step]:
                    return 0
    return 1
