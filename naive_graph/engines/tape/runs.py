"""Scalars in runs of one operator.

>>> from naive_graph import Graph
>>> from naive_graph.engines.tape.rows import flat_of_tables
>>> x, y = Graph.Variable(2.0), Graph.Variable(3.0)
>>> z = x.sin().exp() / y.sin().exp()
>>> flat, _ = flat_of_tables(z.tables, [z.row])
>>> rows = np.arange(2, 7, dtype=np.int32)
>>> [flat.name(row) for row in rows]
['sin', 'exp', 'sin', 'exp', 'div']
>>> [flat.name(row) for row in runs(flat, rows, Shapes()).order]
['sin', 'sin', 'exp', 'exp', 'div']

A machine that does one thing to many numbers in a row does it several times
faster than one that must look up what to do before each. So of all rows that are
ready, the operator that most of them apply goes next.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..llvm.emit import Opaque
from ..llvm.machine import machine
from ..llvm.typed import Ints
from .flat import ADD, DOT, NONE, Array, Flat, PlanColumns
from .operators import Shape
from .scalars import ANY_NUMBER

MOST_SHAPES = 1000


class Shapes:
    """The shapes that were met so far, by number."""

    def __init__(self) -> None:
        self.known, self.count = np.zeros(2 * MOST_SHAPES, np.int32), 0

    def of(self, flat: Flat, rows: Array) -> Array:
        """The number of each row's shape. Raises Opaque if they are too many."""
        of_row = np.empty(len(rows), np.int32)
        self.count = classes(len(rows), rows, flat.columns, self.known, self.count, of_row)
        if self.count > MOST_SHAPES:
            raise Opaque("Operators of so many kinds and sizes cannot be compiled.")
        return of_row

    def since(self, before: int = 0) -> list[Shape]:
        """Those that were met after the first so many."""
        return [Shape(*pair) for pair in self.known[2 * before : 2 * self.count].reshape(-1, 2).tolist()]


class Runs(NamedTuple):
    """Rows in the order in which they run, the number of each one's shape; run k is order[starts[k]:starts[k + 1]]."""

    order: Array
    shapes: Array
    starts: Array


def runs(flat: Flat, rows: Array, shapes: Shapes, position: Array | None = None) -> Runs:
    """Some rows, all of which have one value, in runs as long as can be. position: room, NONE for every row."""
    of_row, size = shapes.of(flat, rows), len(rows)
    edges = int(flat.starts[rows[-1] + 1] - flat.starts[rows[0]]) if size else 0
    position = np.full(len(flat), NONE, np.int32) if position is None else position
    position[rows] = np.arange(size, dtype=np.int32)
    order, starts = np.empty(size, np.int32), np.empty(size + 1, np.int32)
    nexts, heads, tails = (np.full(each, NONE, np.int32) for each in (size, shapes.count, shapes.count))
    queue = Queues(nexts, heads, tails, np.zeros(shapes.count, np.int32))
    wait = Waiting(np.zeros(size + 2, np.int32), np.empty(edges + 1, np.int32), np.zeros(size, np.int32))
    count = schedule(Some(rows, of_row, position, size), flat.columns, wait, queue, shapes.count, order, starts)
    position[rows] = NONE
    return Runs(rows[order], of_row[order], starts[: count + 1].copy())


@machine
def classes(size: int, rows: Ints, of: PlanColumns, known: Ints, count: int, of_row: Ints) -> int:
    """The place of each row's shape among the known ones, pairs of a kind and an arity; how many there are now."""
    for at in range(size):
        kind, arity = of.kinds[rows[at]], arity_of(rows[at], of)
        place = 0
        while place < count and (known[2 * place] != kind or known[2 * place + 1] != arity):
            place += 1
        if place == count and count < MOST_SHAPES:
            known[2 * count] = kind
            known[2 * count + 1] = arity
        if place == count:
            count += 1
        if count > MOST_SHAPES:
            return count
        of_row[at] = place
    return count


def arity_of(row: int, of: PlanColumns) -> int:
    """How many operands a row's shape has: ANY_NUMBER where a loop takes as many as there are."""
    kind, arity = of.kinds[row], of.starts[row + 1] - of.starts[row]
    return ANY_NUMBER if kind == DOT or (kind == ADD and arity != 2) else arity


class Some(NamedTuple):
    """Some rows of a plan, their shapes by number, and where each stands among them."""

    rows: Ints
    shapes: Ints
    position: Ints
    size: int


class Waiting(NamedTuple):
    """Who waits for each row, followers[begins[row] : begins[row + 1]]; and for how many operands each row waits."""

    begins: Ints
    followers: Ints
    missing: Ints


class Queues(NamedTuple):
    """Rows that are ready, a queue for each shape: the next one of each row, and the first, the last and how many."""

    nexts: Ints
    heads: Ints
    tails: Ints
    lengths: Ints


@machine
def schedule(
    some: Some, of: PlanColumns, wait: Waiting, queue: Queues, shapes: int, order: Ints, run_starts: Ints
) -> int:
    """Kahn's sort with a queue for each shape: drain the fullest, again and again. Returns how many runs there are."""
    find_followers(some, of, wait)
    for at in range(some.size):
        if wait.missing[at] == 0:
            enqueue(at, some.shapes[at], queue)
    done = 0
    count = 0
    while done < some.size:
        shape = 0
        for each in range(1, shapes):
            if queue.lengths[each] > queue.lengths[shape]:
                shape = each
        run_starts[count] = done
        count += 1
        at = queue.heads[shape]
        first = done
        while at >= 0:
            order[done] = at
            done += 1
            at = queue.nexts[at]
        queue.heads[shape] = NONE
        queue.tails[shape] = NONE
        queue.lengths[shape] = 0
        for place in range(first, done):
            for edge in range(wait.begins[order[place]], wait.begins[order[place] + 1]):
                follower = wait.followers[edge]
                wait.missing[follower] -= 1
                if wait.missing[follower] == 0:
                    enqueue(follower, some.shapes[follower], queue)
    run_starts[count] = some.size
    return count


def find_followers(some: Some, of: PlanColumns, wait: Waiting) -> None:
    """The edges among these rows, by the row that they lead from. begins, missing: full of 0."""
    for at in range(some.size):
        for edge in range(of.starts[some.rows[at]], of.starts[some.rows[at] + 1]):
            if of.operands[edge] >= 0 and some.position[of.operands[edge]] >= 0:
                wait.begins[some.position[of.operands[edge]] + 2] += 1
                wait.missing[at] += 1
    for at in range(some.size):
        wait.begins[at + 2] += wait.begins[at + 1]
    for at in range(some.size):
        for edge in range(of.starts[some.rows[at]], of.starts[some.rows[at] + 1]):
            if of.operands[edge] >= 0 and some.position[of.operands[edge]] >= 0:
                source = some.position[of.operands[edge]]
                wait.followers[wait.begins[source + 1]] = at
                wait.begins[source + 1] += 1


def enqueue(at: int, shape: int, queue: Queues) -> None:
    """Put a row at the end of its shape's queue."""
    queue.nexts[at] = NONE
    if queue.tails[shape] >= 0:
        queue.nexts[queue.tails[shape]] = at
    else:
        queue.heads[shape] = at
    queue.tails[shape] = at
    queue.lengths[shape] += 1
