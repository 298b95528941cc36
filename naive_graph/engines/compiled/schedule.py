"""In what order a section runs: layers and outer products as kernels, and what lies between them as straight code.

samples   layers, regions of straight vector code, and outer products
scalars   dots that share a factor in packs; functions of one kind a register at once; all else as soon as it can
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Container, Iterable, Sequence
from heapq import heapify, heappop, heappush
from typing import Any, NamedTuple

from ..llvm.pairs import partner
from ..passes.ir import DOT, IR, NONE, REDUCE
from ..passes.stages import Section
from ..passes.tiles import ONE, dense_tiles
from .writer import LANES

SHORTEST = 4  # terms of dots that are packed
LONGEST = 1_000  # rows of a region: the time that LLVM takes for one grows with the square of its length
DENSE_LEAST, OUTER_LEAST = 32, 24  # products of a layer, results of an outer product: smaller ones are written out


class Outer(NamedTuple):
    """results[j][k] = the sum over the samples, and over pairs p, of lefts[j][p] * rights[k][p]."""

    lefts: list[tuple[int, ...]]
    rights: list[tuple[int, ...]]
    results: list[list[int]]


def outers(ir: IR, rows: Sequence[int], rank: dict[int, int]) -> list[Outer]:
    """The outer products among a section's sums over samples. rank: the order in which results are handed out."""
    by_left: dict[tuple[int, ...], dict[tuple[int, ...], int]] = defaultdict(dict)
    for row in rows:
        of = ir.of(row)
        if ir.kinds[row] == REDUCE and all(each >= 0 and ir.groups[each] for each in of):
            by_left[tuple(of[::2])].setdefault(tuple(of[1::2]), row)
    grids = defaultdict(list)
    for left, rights in by_left.items():
        grids[tuple(sorted(rights))].append(left)
    found = []
    for columns, lefts in grids.items():
        if len(lefts) * len(columns) >= OUTER_LEAST and len(columns) > 2:
            order = sorted(columns, key=lambda right: rank.get(by_left[lefts[0]][right], 0))
            found.append(Outer(lefts, order, [[by_left[left][right] for right in order] for left in lefts]))
    return found


Step = Any  # a DenseTile, an Outer, or a list of rows: a region


def steps_of(ir: IR, section: Section, rank: dict[int, int]) -> list[Step]:
    """A section of samples as layers, outer products, and regions of straight-line code, in an order that can run."""
    dense = [each for each in dense_tiles(ir, section) if len(each.outputs) * len(each.inputs) >= DENSE_LEAST]
    outer = outers(ir, section.rows.tolist(), rank)
    first = {min(each.outputs): each for each in dense}
    last = {max(row for line in each.results for row in line): each for each in outer}
    taken = {row for each in dense for row in each.outputs} | {row for e in outer for line in e.results for row in line}
    found: list[Step] = []
    for row in section.rows.tolist():
        found += [each[row] for each in (first, last) if row in each]
        if row not in taken:
            if not found or not isinstance(found[-1], list):
                found.append([])
            found[-1].append(row)
    return merged(ir, found)


def merged(ir: IR, steps: list[Step]) -> list[Step]:
    """Layers as early, and the rows between them as late as their operands and their consumers allow: fewer regions."""
    level: dict[int, int] = {}
    layers: dict[int, list[Step]] = defaultdict(list)
    regions: dict[int, list[int]] = defaultdict(list)
    for step in steps:
        if isinstance(step, list):
            for row in step:
                level[row] = max((level.get(each, 0) for each in ir.of(row)), default=0)
                regions[level[row]].append(row)
        else:
            made, of = operands_of(step)
            at = 1 + max((level.get(each, 0) for each in of), default=0)
            layers[at].append(step)
            level |= dict.fromkeys(made, at)
    found: list[Step] = []
    for at in range(max([0, *layers, *regions]) + 1):
        found += sorted(layers[at], key=lambda each: isinstance(each, Outer))
        found += [regions[at][first : first + LONGEST] for first in range(0, len(regions[at]), LONGEST)]
    return found


def operands_of(step: Step) -> tuple[list[int], list[int]]:
    """What a layer or an outer product computes, and the lines that it reads."""
    if isinstance(step, Outer):
        read = [row for side in (step.lefts, step.rights) for line in side for row in line]
        return [row for line in step.results for row in line], read
    return step.outputs, [each for each in step.inputs if each != ONE]


def packs_of(ir: IR, rows: Sequence[int]) -> list[tuple[list[int], int]]:
    """Scalar dots that share one factor of every term, as many as a register has lanes; and which factor it is.

    All rows of a pack are as far from the leaves, so that no pack waits for itself.
    """
    level: dict[int, int] = {}
    groups: dict[Any, list[int]] = defaultdict(list)
    kinds = ir.kinds
    for row in rows:
        of = ir.of(row)
        level[row] = 1 + max((level.get(each, 0) for each in of), default=0)
        if kinds[row] == DOT and len(of) >= 2 * SHORTEST:
            for side in (0, 1):
                groups[side, level[row], bool(ir.loose[row]), tuple(of[side::2])].append(row)
    found, taken = [], set()
    for (side, *_, _shared), members in sorted(groups.items(), key=lambda each: -len(each[1])):
        members = [row for row in members if row not in taken and NONE not in ir.of(row)[1 - side :: 2]]
        if len(members) < LANES // 2:
            continue
        for at in range(0, len(members), LANES):
            if len(members[at : at + LANES]) >= LANES // 2:
                found.append((members[at : at + LANES], side))
                taken.update(members[at : at + LANES])
    return found


def scheduled(
    ir: IR, rows: Sequence[int], waits: Container[int], packs: Sequence[Sequence[int]]
) -> Iterable[list[int]]:
    """The rows in units, operands first: a pack at once, functions of one kind together, all else as soon as it can."""
    unit_of = {row: row for row in rows}
    for pack in packs:
        unit_of |= dict.fromkeys(pack, pack[0])
    members = defaultdict(list)
    for row in rows:
        members[unit_of[row]].append(row)
    missing, consumers = dict.fromkeys(members, 0), defaultdict(list)
    for row in rows:
        for operand in {each for each in ir.of(row) if each in unit_of}:
            missing[unit_of[row]] += 1
            consumers[operand].append(unit_of[row])
    ready = [unit for unit in members if not missing[unit] and unit not in waits]
    heapify(ready)
    waiting: dict[Any, list[int]] = defaultdict(list)

    def shape(row: int) -> Any:
        kind = int(ir.kinds[row])
        return partner(kind) or kind, int(ir.starts[row + 1] - ir.starts[row])

    for unit in members:
        if not missing[unit] and unit in waits:
            waiting[shape(unit)].append(unit)
    while ready or waiting:
        if ready:
            some = members[heappop(ready)]
        else:
            kind = max(waiting, key=lambda each: (min(len(waiting[each]), LANES), -waiting[each][0]))
            every = waiting.pop(kind)
            operands = set(list(dict.fromkeys(tuple(ir.of(row)) for row in every))[:LANES])
            some = [row for row in every if tuple(ir.of(row)) in operands]
            if rest := [row for row in every if tuple(ir.of(row)) not in operands]:
                waiting[kind] = rest
        yield some
        for row in some:
            for unit in consumers[row]:
                missing[unit] -= 1
                if missing[unit] == 0:
                    if unit in waits:
                        waiting[shape(unit)].append(unit)
                    else:
                        heappush(ready, unit)
