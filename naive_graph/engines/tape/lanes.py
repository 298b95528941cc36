"""The samples hidden in an unrolled graph become lanes of one graph.

>>> from naive_graph import Graph
>>> from naive_graph.engines.tape.dots import dots
>>> from naive_graph.engines.tape.rows import flat_of_tables
>>> w = Graph.Variable(2.0)
>>> loss = Graph.sum([(w * x).sin() for x in range(8)])
>>> flat, _ = flat_of_tables(loss.tables, [loss.row])
>>> for line in str(flat).splitlines()[:7]:
...     print(line)
   0 leaf
   1 leaf 0.0
   2 mul 0 1
   3 sin 2
   4 leaf 1.0
   5 mul 0 4
   6 sin 5
>>> flat, place = dots(flat, keep=[len(flat) - 1])
>>> flat, now = lanes(flat, wanted=[0], keep=[place[-1]])
>>> print(flat)
   0 leaf
   1 leaf  (group 1)
   2 mul 0 1  (group 1)
   3 sin 2  (group 1)
   4 total 3
   5 dot 4

A loop over samples writes the same expression again and again, with other
numbers in it. Where a sum has many terms that look alike (a hash of their
structure finds them), the terms are walked in lockstep. What is the same row in
every term stays one row with one value; what differs becomes a row with a value
for each sample. A sum that a comparison depends on keeps its order.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from .cse import needed
from .flat import NONE, TOTAL, Array, Flat, Lanes, Sample, rewritten
from .isomorphism import Alike, alike

MOST_GROUPS = 16


def lanes(flat: Flat, wanted: Array, keep: Array, alone: Sequence[int] = ()) -> tuple[Flat, dict[int, Sample]]:
    """The plan with its hidden samples as lanes, and where the rows of `wanted` and `keep` are now.

    wanted: leaves whose gradients are asked for; one that is not shared must
    not be used outside its own sample. keep: rows that somebody wants to see.
    alone: those of them that are to be differentiated, and so must not become
    one lane of many: an adjoint begins at 1 in every lane.
    """
    now = {int(row): Sample(int(row), NONE) for row in (*wanted, *keep)}
    for by_identity in (True, False):
        if len(flat.samples) > 1:
            break
        while len(flat.samples) <= MOST_GROUPS:
            closed = np.array([now[int(row)].row for row in wanted if now[int(row)].lane == NONE], np.int32)
            found = alike(flat, closed, [now[int(row)].row for row in alone], by_identity)
            if found is None:
                break
            flat, moved, sampled = rolled(flat, found)
            now = {row: sampled.get(at.row, Sample(int(moved[at.row]), at.lane)) for row, at in now.items()}
            flat, place = needed(flat, np.array([at.row for at in now.values()], np.int32))
            now = {row: Sample(int(place[at.row]), at.lane) for row, at in now.items()}
    return flat, now


def rolled(flat: Flat, found: Alike) -> tuple[Flat, Array, dict[int, Sample]]:
    """The plan with these terms as one group of lanes; where each row went, and which are lanes now."""
    group, count = len(flat.samples), len(found.places)
    own = found.template[~found.shared]
    lane_rows = found.rows[~found.shared]
    head, tail = np.arange(found.dot), np.arange(found.dot, len(flat))
    made = len(head) + np.arange(len(own))
    total = len(head) + len(own)
    moved = np.concatenate([head, tail + len(own) + 1]).astype(np.int32)
    inner = moved.copy()  # where the operands of the lanes' rows are
    inner[own] = made
    order = [*head.tolist(), *own.tolist(), NONE, *tail.tolist()]
    operands = [flat.of(row) if row != NONE else [] for row in order]
    for at, row in zip(made.tolist(), own.tolist(), strict=True):
        operands[at] = [_at(inner, each) for each in flat.of(row)]
    root = [_at(inner, each) for each in flat.of(found.dot)[2 * found.places[0] :][:2]]
    operands[total] = root
    for place, row in enumerate(tail.tolist(), total + 1):
        operands[place] = [_at(moved, each) for each in flat.of(row)]
    operands[total + 1] = _without(operands[total + 1], found.places, total)
    kinds = [flat.kinds[row] if row != NONE else TOTAL for row in order]
    groups = np.array([flat.groups[row] if row != NONE else 0 for row in order])
    groups[made] = group
    new = rewritten(flat, moved, kinds, operands, groups.tolist())
    new.samples = [*flat.samples, count]
    for at, rows in zip(made.tolist(), lane_rows.tolist(), strict=True):
        if not operands[at]:
            _fill(
                new, at, Lanes([flat.constants.get(row, 0.0) for row in rows], [flat.sources.get(row) for row in rows])
            )
    sampled = {
        row: Sample(at, lane)
        for at, rows in zip(made.tolist(), lane_rows.tolist(), strict=True)
        for lane, row in enumerate(rows)
    }
    return new, moved, sampled


def _fill(flat: Flat, row: int, lanes: Lanes) -> None:
    """Give a leaf its lanes; one Constant, written again for each sample, is one number."""
    if len({np.float64(number).tobytes() for number in lanes.numbers}) == 1 and not any(
        source is not None for source in lanes.sources
    ):
        flat.groups[row] = 0
        flat.constants[row] = lanes.numbers[0]
    else:
        flat.sources[row] = lanes


def _at(moved: Array, row: int) -> int:
    return int(moved[row]) if row >= 0 else NONE


def _without(pairs: list[int], places: Array, total: int) -> list[int]:
    """A dot's pairs, with the total instead of the first term that it stands for, and without the others."""
    gone, kept = set(places.tolist()), []
    for place in range(len(pairs) // 2):
        if place == places[0]:
            kept += [total, NONE]
        elif place not in gone:
            kept += pairs[2 * place : 2 * place + 2]
    return kept
