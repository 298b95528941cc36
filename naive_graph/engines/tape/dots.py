"""Sums of products become dot products.

>>> from naive_graph import Graph
>>> from naive_graph.engines.tape.rows import flat_of_tables
>>> x, y = Graph.Variable(2.0), Graph.Variable(3.0)
>>> z = x * y + x
>>> flat, _ = flat_of_tables(z.tables, [z.row])
>>> print(flat)
   0 leaf
   1 leaf
   2 mul 0 1
   3 add 2 0
>>> print(dots(flat, keep=[3])[0])
   0 leaf
   1 leaf
   2 dot 0*1 + 0

A product that only one sum uses needs no row of its own, and neither does a sum
that only begins a longer one. The terms keep their written order, so no bit
changes: (a*b + c) + d is the dot a*b + c + d.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ..llvm.machine import machine
from ..llvm.python import Bytes, Ints
from .flat import ADD, DOT, MUL, NONE, Array, Flat


def dots(flat: Flat, keep: Array) -> tuple[Flat, Array]:
    """The plan with its sums of products as DOT rows, and where each row went (NONE: into a dot).

    keep: rows that somebody wants to see, by number.
    """
    rows, edges = len(flat), len(flat.operands)
    kept = np.zeros(rows, np.uint8)
    kept[keep] = 1
    place = np.empty(rows, np.int32)
    kinds, starts = np.empty(rows, np.int32), np.empty(rows + 1, np.int32)
    used = flat.operands[flat.operands != NONE]
    operands, uses = np.empty(2 * edges, np.int32), np.bincount(used, minlength=rows).astype(np.int32)
    fused, chain = np.zeros(rows, np.uint8), np.empty(rows, np.int32)
    mark(rows, flat.kinds, flat.starts, flat.operands, kept, uses, fused)
    size = gather(rows, flat.kinds, flat.starts, flat.operands, fused, chain, place, kinds, starts, operands)
    return moved(flat, place, kinds[:size], starts[: size + 1], operands[: starts[size]]), place


def with_dots(flat: Flat) -> Flat:
    """The plan with every sum of more than two as a DOT, where it stands: a loop adds up any number of terms."""
    degrees = np.diff(flat.starts)
    apart = np.where((flat.kinds == ADD) & (degrees > 2), 2, 1)
    starts = np.cumsum([0, *(degrees * apart)]).astype(np.int32)
    operands = np.full(starts[-1], NONE, np.int32)
    place = np.arange(len(flat.operands)) - np.repeat(flat.starts[:-1], degrees)
    operands[np.repeat(starts[:-1], degrees) + place * np.repeat(apart, degrees)] = flat.operands
    return replace(flat, kinds=np.where(apart == 2, DOT, flat.kinds).astype(np.int32), starts=starts, operands=operands)


def moved(flat: Flat, place: Array, kinds: Array, starts: Array, operands: Array) -> Flat:
    """The plan after its rows went to new places; what belonged to a row goes with it."""
    stay = place >= 0
    groups = np.zeros(len(kinds), np.int32)
    groups[place[stay]] = flat.groups[stay]
    return replace(
        flat,
        kinds=kinds.copy(),
        starts=starts.copy(),
        operands=operands.copy(),
        groups=groups,
        constants={int(place[row]): value for row, value in flat.constants.items() if stay[row]},
        sources={int(place[row]): source for row, source in flat.sources.items() if stay[row]},
    )


@machine
def mark(rows: int, kinds: Ints, starts: Ints, operands: Ints, keep: Bytes, uses: Ints, fused: Bytes) -> None:
    """Mark the rows that dissolve in the sum that uses them."""
    for row in range(rows):
        if kinds[row] == ADD:
            for place in range(starts[row], starts[row + 1]):
                operand = operands[place]
                if uses[operand] == 1 and keep[operand] == 0:
                    if kinds[operand] == MUL and starts[operand + 1] - starts[operand] == 2:
                        fused[operand] = 1
                    if kinds[operand] == ADD and place == starts[row]:
                        fused[operand] = 1


@machine
def gather(
    rows: int, kinds: Ints, starts: Ints, operands: Ints, fused: Bytes, chain: Ints, place: Ints, new_kinds: Ints,
    new_starts: Ints, new_operands: Ints,
) -> int:  # fmt: skip
    """Write the rows that stay. chain: room for the sums that begin one another, the longest first."""
    size = 0
    edge = 0
    for row in range(rows):
        place[row] = NONE
        if fused[row]:
            continue
        new_starts[size] = edge
        new_kinds[size] = kinds[row]
        if kinds[row] == ADD and is_dot(row, starts, operands, fused):
            new_kinds[size] = DOT
            chain[0] = row
            length = 1
            while fused[operands[starts[chain[length - 1]]]] and kinds[operands[starts[chain[length - 1]]]] == ADD:
                chain[length] = operands[starts[chain[length - 1]]]
                length += 1
            for link in range(length - 1, -1, -1):
                first = starts[chain[link]] + (0 if link == length - 1 else 1)
                for at in range(first, starts[chain[link] + 1]):
                    term = operands[at]
                    new_operands[edge] = place[operands[starts[term]]] if fused[term] else place[term]
                    new_operands[edge + 1] = place[operands[starts[term] + 1]] if fused[term] else NONE
                    edge += 2
        else:
            for at in range(starts[row], starts[row + 1]):
                new_operands[edge] = place[operands[at]] if operands[at] >= 0 else NONE
                edge += 1
        place[row] = size
        size += 1
    new_starts[size] = edge
    return size


def is_dot(row: int, starts: Ints, operands: Ints, fused: Bytes) -> int:
    """Whether a sum has more than two terms, or takes up another row."""
    if starts[row + 1] - starts[row] > 2:
        return 1
    for at in range(starts[row], starts[row + 1]):
        if fused[operands[at]]:
            return 1
    return 0
