"""A large plan, cut into windows: runs of one operator inside each, and no column that nobody needs.

    rows        0 ... 16383     16384 ... 32767     ...
    window 0    add add add add | mul mul mul | sin sin
    window 1                    add add | mul mul ...

>>> from naive_graph import Graph
>>> from naive_graph.engines.tape.rows import flat_of_tables
>>> x, y = Graph.Variable(2.0), Graph.Variable(3.0)
>>> z = x.sin().exp() / y.sin().exp()
>>> flat, _ = flat_of_tables(z.tables, [z.row])
>>> print(flat)
   0 leaf
   1 leaf
   2 sin 0
   3 exp 2
   4 sin 1
   5 exp 4
   6 div 3 5
>>> made = windows(flat, window=5)  # rows 0 to 4, then 5 and 6
>>> for what, rows, entries in made.code.reshape(-1, 3).tolist():
...     print(made.shapes[what // 32].name, "x", rows)
sin1 x 1
sin1 x 1
exp1 x 1
exp1 x 1
div2 x 1
>>> made.slots.tolist()  # where each row's value went: both sines lie side by side
[0, 1, 2, 4, 3, 5, 6]

The passes of a tape rearrange the whole plan, and write its derivatives down as
rows: that takes 200 bytes a row while it lasts. Here only the rows of one
window change places, and the reverse sweep goes back over the same runs
(`backward`). What stays of a row is its value, its adjoint, and four bytes for
each operand; and a window's values stay warm in the cache.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ...core.progress import progress
from ...core.rules import BY_NUMBER
from ...core.tables import VARIABLE
from .backward import suits
from .flat import NONE, Array, Flat
from .operators import Shape
from .runs import Shapes, runs
from .scalars import InstructionTables, write

WINDOW = 16_384  # rows: their values and adjoints stay in the cache
MOST_ARITY = 4  # of a rule that is differentiated in place


class Windows(NamedTuple):
    """Instructions, as `scalars` has them.

    slots: where each row's value is: first the leaves, then the windows. shapes:
    what the first number stands for.
    """

    leaves: Array
    code: Array
    index: Array
    slots: Array
    shapes: list[Shape]


def windows(flat: Flat, window: int = WINDOW) -> Windows | None:
    """The plan in runs, window by window; None if it has a rule whose derivatives need more than that.

    Raises Opaque as `Shapes.of` does.
    """
    size, leaves = len(flat), flat.leaves()
    leaves = leaves[np.argsort(flat.kinds[leaves] != VARIABLE, kind="stable")]  # Variables go first: they are loaded
    slots, position = np.full(size, NONE, np.int32), np.full(size, NONE, np.int32)
    shapes, inner = Shapes(), size - len(leaves)
    slots[leaves] = np.arange(len(leaves), dtype=np.int32)
    # Room that nothing is written into takes no memory.
    index, code = np.empty(len(flat.operands) + inner, np.int32), np.empty(3 * inner, np.int32)
    made = InstructionTables(slots, index, code, np.array([0, 0, len(leaves)], np.int64))
    for begin in progress(range(0, size, window), label="windows"):
        rows = begin + np.flatnonzero(flat.kinds[begin : begin + window] >= 0).astype(np.int32)
        before, found = shapes.count, runs(flat, rows, shapes, position)
        if not all(map(_suits, shapes.since(before))):
            return None
        write(len(found.starts) - 1, found.starts, found.order, found.shapes, flat.columns, made)
    return Windows(leaves, code[: made.end[1]], index[: made.end[0]], slots, shapes.since())


def _suits(shape: Shape) -> bool:
    return shape.arity <= MOST_ARITY and suits(BY_NUMBER[shape.kind], shape.arity)
