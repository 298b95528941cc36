"""Scalars in runs of one operator.

>>> from naive_graph import Graph
>>> from naive_graph.engines.tape.rows import flat_of_tables
>>> x, y = Graph.Variable(2.0), Graph.Variable(3.0)
>>> z = x.sin().exp() / y.sin().exp()
>>> flat, _ = flat_of_tables(z.tables, [z.row])
>>> rows = np.arange(2, 7, dtype=np.int32)
>>> [flat.name(row) for row in rows]
['sin', 'exp', 'sin', 'exp', 'div']
>>> [flat.name(row) for row in runs(flat, rows).order]
['sin', 'sin', 'exp', 'exp', 'div']

A machine that does one thing to many numbers in a row does it several times
faster than one that must look up what to do before each. So of all rows that are
ready, the operator that most of them apply goes next.

Runs are longer if there are fewer operators. A sum, a difference, a product and
a short dot all are dots of two, four or six products, some of them by 1 or -1,
and some adding -0.0; that changes no bit, not even of a zero's sign.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..llvm.machine import machine
from ..llvm.python import Ints, Longs
from .flat import ADD, DOT, MUL, NEG, NONE, SUB, Array, Columns, Flat
from .operators import Shape

MOST_TERMS = 6  # of a dot that has a kernel of its own; longer ones have one that counts; even
LONG = Shape(DOT, ())  # those


class Runs(NamedTuple):
    """Rows in the order in which they run; run k is order[starts[k]:starts[k + 1]], of shape shapes[k]."""

    order: Array
    starts: Array
    shapes: list[Shape]


def shapes_of(flat: Flat, rows: Array) -> tuple[Array, list[Shape]]:
    """For each of the rows the place of its shape in the list that follows."""
    codes = np.zeros(len(rows), np.int64)
    code_rows(len(rows), rows, flat.columns, codes)
    unique, first, of_row = np.unique(codes, return_index=True, return_inverse=True)
    return of_row.astype(np.int32), [_shape(flat, int(rows[at]), int(code)) for at, code in zip(first, unique)]


def _shape(flat: Flat, row: int, code: int) -> Shape:
    if code < 0:
        return LONG if code == -1 else Shape(DOT, (1,) * -code)
    return Shape(int(flat.kinds[row]), (0,) * len(flat.of(row)))


def runs(flat: Flat, rows: Array) -> Runs:
    """The rows of a section of scalars, in runs."""
    of_row, shapes = shapes_of(flat, rows)
    position = np.full(len(flat), NONE, np.int32)
    order, starts = in_runs(flat, rows, of_row, len(shapes), position)
    return Runs(order, starts.copy(), [shapes[int(of_row[at])] for at in position[order[starts[:-1]]].tolist()])


def in_runs(flat: Flat, rows: Array, of_row: Array, shapes: int, position: Array) -> tuple[Array, Array]:
    """The rows in an order of long runs, and where the runs start. position: room for where each row stands."""
    size = len(rows)
    position[rows] = np.arange(size, dtype=np.int32)
    edges = int(flat.starts[rows[-1] + 1] - flat.starts[rows[0]]) if size else 0
    order, starts = np.empty(size, np.int32), np.empty(size + 1, np.int32)
    nexts, heads, tails = (np.full(each, NONE, np.int32) for each in (size, shapes, shapes))
    queue = Queues(nexts, heads, tails, np.zeros(shapes, np.int32))
    wait = Waiting(np.zeros(size + 2, np.int32), np.empty(edges + 1, np.int32), np.zeros(size, np.int32))
    count = schedule(Some(rows, of_row, position, size), flat.columns, wait, queue, shapes, order, starts)
    return rows[order], starts[: count + 1]


@machine
def code_rows(size: int, rows: Ints, of: Columns, codes: Longs) -> None:
    """A number for each row's shape; of dots, minus the even number of terms that they are filled up to, or -1."""
    for at in range(size):
        row = rows[at]
        degree = of.starts[row + 1] - of.starts[row]
        kind = of.kinds[row]
        codes[at] = kind * 1048576 + degree
        if kind == NEG or (degree == 2 and (kind == ADD or kind == SUB or kind == MUL)):  # noqa: SIM109
            codes[at] = -2
        if kind == DOT:
            codes[at] = -1 if degree > 2 * MOST_TERMS else -((degree // 2 + 1) // 2 * 2)


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
def schedule(some: Some, of: Columns, wait: Waiting, queue: Queues, shapes: int, order: Ints, run_starts: Ints) -> int:
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


def find_followers(some: Some, of: Columns, wait: Waiting) -> None:
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
