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
from .flat import ADD, DOT, MUL, NEG, NONE, SUB, Array, Flat
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
    code_rows(len(rows), rows, flat.kinds, flat.starts, flat.operands, codes)
    unique, first, of_row = np.unique(codes, return_index=True, return_inverse=True)
    return of_row.astype(np.int32), [_shape(flat, int(rows[at]), int(code)) for at, code in zip(first, unique)]


def _shape(flat: Flat, row: int, code: int) -> Shape:
    if code < 0:
        return LONG if code == -1 else Shape(DOT, (1,) * -code)
    return Shape(int(flat.kinds[row]), (0,) * len(flat.of(row)))


def runs(flat: Flat, rows: Array) -> Runs:
    """The rows of a section of scalars, in runs."""
    of_row, shapes = shapes_of(flat, rows)
    size, kinds = len(rows), len(shapes)
    position = np.full(len(flat), NONE, np.int32)
    position[rows] = np.arange(size)
    order, starts = np.empty(size, np.int32), np.empty(size + 1, np.int32)
    count = schedule(
        size, kinds, rows, of_row, position, flat.starts, flat.operands, np.zeros(size + 2, np.int32),
        np.empty(int(flat.starts[-1]) + 1, np.int32), np.zeros(size, np.int32), np.full(size, NONE, np.int32),
        np.full(3 * kinds, NONE, np.int32), order, starts,
    )  # fmt: skip
    chosen = [shapes[int(of_row[position[int(row)]])] for row in rows[order[starts[:count]]].tolist()]
    return Runs(rows[order], starts[: count + 1].copy(), chosen)


@machine
def code_rows(size: int, rows: Ints, kinds: Ints, starts: Ints, operands: Ints, codes: Longs) -> None:
    """A number for each row's shape; of dots, minus the even number of terms that they are filled up to, or -1."""
    for at in range(size):
        row = rows[at]
        degree = starts[row + 1] - starts[row]
        kind = kinds[row]
        codes[at] = kind * 1048576 + degree
        if kind == NEG or (degree == 2 and (kind == ADD or kind == SUB or kind == MUL)):  # noqa: SIM109
            codes[at] = -2
        if kind == DOT:
            codes[at] = -1 if degree > 2 * MOST_TERMS else -((degree // 2 + 1) // 2 * 2)


@machine
def schedule(
    size: int, shapes: int, rows: Ints, of_row: Ints, position: Ints, starts: Ints, operands: Ints, begins: Ints,
    followers: Ints, waiting: Ints, nexts: Ints, queues: Ints, order: Ints, run_starts: Ints,
) -> int:  # fmt: skip
    """Kahn's sort with a queue for each shape: drain the fullest, again and again. Returns how many runs there are.

    queues: the head, the tail and the length of each, in three parts.
    """
    for at in range(size):
        for edge in range(starts[rows[at]], starts[rows[at] + 1]):
            if operands[edge] >= 0 and position[operands[edge]] >= 0:
                begins[position[operands[edge]] + 2] += 1
                waiting[at] += 1
    for at in range(size):
        begins[at + 2] += begins[at + 1]
    for at in range(size):
        for edge in range(starts[rows[at]], starts[rows[at] + 1]):
            if operands[edge] >= 0 and position[operands[edge]] >= 0:
                source = position[operands[edge]]
                followers[begins[source + 1]] = at
                begins[source + 1] += 1
    for shape in range(shapes):
        queues[2 * shapes + shape] = 0
    for at in range(size):
        if waiting[at] == 0:
            enqueue(at, of_row[at], shapes, nexts, queues)
    done = 0
    count = 0
    while done < size:
        shape = 0
        for each in range(1, shapes):
            if queues[2 * shapes + each] > queues[2 * shapes + shape]:
                shape = each
        run_starts[count] = done
        count += 1
        at = queues[shape]
        first = done
        while at >= 0:
            order[done] = at
            done += 1
            at = nexts[at]
        queues[shape] = NONE
        queues[shapes + shape] = NONE
        queues[2 * shapes + shape] = 0
        for place in range(first, done):
            source = order[place]
            for edge in range(begins[source], begins[source + 1]):
                follower = followers[edge]
                waiting[follower] -= 1
                if waiting[follower] == 0:
                    enqueue(follower, of_row[follower], shapes, nexts, queues)
    run_starts[count] = size
    return count


def enqueue(at: int, shape: int, shapes: int, nexts: Ints, queues: Ints) -> None:
    """Put a row at the end of its shape's queue."""
    nexts[at] = NONE
    if queues[shapes + shape] >= 0:
        nexts[queues[shapes + shape]] = at
    else:
        queues[shape] = at
    queues[shapes + shape] = at
    queues[2 * shapes + shape] += 1
