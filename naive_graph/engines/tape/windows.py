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
...     print(made.shapes[what // HOWS].name, "x", rows)
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

`WindowTape` is what `Tape` is for plans that went through the passes. Forwards
every run writes its values (`scalars`); backwards every run takes its adjoints,
and adds them, times a partial, to its operands' (why: see `backward`).
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ...core.progress import progress
from ...core.rules import BY_NUMBER
from ...core.tables import CONSTANT, VARIABLE
from ..llvm.machine import library_of, machine, packed
from ..llvm.typed import Floats, Ints, call_back
from .backward import backward, suits
from .beside import nothing_written
from .flat import NONE, Array, Flat, arrays
from .instructions import write
from .kernels import amiss
from .memory import Face
from .operators import Shape
from .runs import Shapes, runs
from .scalars import ANY_NUMBER, BACK, BACK_ONE, ENTRIES, HOWS, MANY, SUM, InstructionLine, along

WINDOW = 16_384  # rows: their values and adjoints stay in the cache


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
    turn = np.where(flat.kinds[leaves] == VARIABLE, 0, np.where(flat.kinds[leaves] == CONSTANT, 2, 1))
    leaves = leaves[np.argsort(turn, kind="stable")]  # Variables go first: they are loaded; then what is fed
    slots, position = np.full(size, NONE, np.int32), np.full(size, NONE, np.int32)
    shapes, inner = Shapes(), size - len(leaves)
    slots[leaves] = np.arange(len(leaves), dtype=np.int32)
    # Room that nothing is written into takes no memory.
    index, code = np.empty(len(flat.operands) + inner, np.int32), np.empty(3 * inner, np.int32)
    made = nothing_written(slots, len(leaves))._replace(index=index, code=code)
    for begin in progress(range(0, size, window), label="windows"):
        rows = begin + np.flatnonzero(flat.kinds[begin : begin + window] >= 0).astype(np.int32)
        before, found = shapes.count, runs(flat, rows, shapes, position)
        if not all(suits(BY_NUMBER[each.kind], each.arity) for each in shapes.since(before)):
            return None
        write(len(found.starts) - 1, found.starts, found.shapes, flat.columns, made._replace(order=found.order))
    return Windows(leaves, code[: made.end[1]], index[: made.end[0]], slots, shapes.since())


class WindowTape(Face):
    """A plan's windows over arrays. It must not run in two threads at once.

    output: the row whose value is wanted, and whose derivatives with respect to
    the leaves `wrt`. `out` holds the value, then the derivatives, then 0.0 if
    all of them are finite. fed_rows: PlaceHolders' rows of the tables; fed_at:
    where their numbers go among the scalars.
    """

    def __init__(self, flat: Flat, made: Windows, output: int, wrt: Sequence[int]) -> None:
        self.rows, self.code, self.index = len(flat), made.code, made.index
        leaves, sources = arrays(flat.sources, np.int32)
        variable = flat.kinds[leaves] == VARIABLE
        loaded = self.loaded = int(variable.sum())
        self.loads = np.zeros(loaded + 1, np.int32)
        self.loads[made.slots[leaves[variable]]] = sources[variable]
        self.fed_rows = sources[~variable].tolist()
        self.fed_at = slice(loaded, loaded + len(self.fed_rows))
        self.shapes = made.shapes
        self.wanted = np.array([made.slots[output], *made.slots[list(wrt)]], np.int32)
        found = [address for shape in progress(made.shapes, label="kernels") for address in _addresses(shape)]
        self.table = np.array(found or [0], np.int64)
        self.scalars = np.zeros(len(flat) + 1)
        constants, values = arrays(flat.constants, np.float64)
        self.scalars[made.slots[constants]] = values
        self.leaf_count, self.reach = len(made.leaves), int(self.loads.max()) + 1
        self.call = library_of(__name__, packed=True).function("there_and_back.packed", None, [ctypes.c_void_p])
        self.begin()

    def begin(self) -> None:
        """Take memory of its own, in which nothing was computed yet."""
        self.scalars, self.adjoints = self.scalars.copy(), np.zeros(len(self.scalars))
        self.out = np.zeros(len(self.wanted) + 1)
        extent = WalkExtent(0, self.loads, self.loaded, self.leaf_count, len(self.code), len(self.index), self.rows)
        line = InstructionLine(self.code, self.index, self.table, self.scalars)
        self.arguments = packed(extent, line, self.adjoints, self.wanted, len(self.wanted), self.out)
        self.packed = self.arguments.ctypes.data


def _addresses(shape: Shape) -> tuple[int, ...]:
    found = shape.addresses()
    if shape.arity == ANY_NUMBER:
        return found
    back = backward(shape).address
    return (*found[:BACK], back("back"), back("back_one"))


class WalkExtent(NamedTuple):
    """Where leaves' values come from: source[loads[k]] is the k-th one's; those behind are there already.

    And how much there is of leaves, of the code, of the index, and of the scalars.
    """

    source: Floats
    loads: Ints
    load_count: int
    leaves: int
    code: int
    entries: int
    scalars: int


@machine
def there_and_back(
    of: WalkExtent, line: InstructionLine, adjoints: Floats, wanted: Ints, wanted_count: int, out: Floats
) -> None:
    """Every value; then, from the output back, every adjoint."""
    for at in range(of.load_count):
        line.scalars[at] = of.source[of.loads[at]]
    along(of.code, of.leaves, line)
    out[0] = line.scalars[wanted[0]]
    if wanted_count > 1:
        for at in range(of.leaves):
            adjoints[at] = 0.0
        adjoints[wanted[0]] = 1.0
        to, base = of.scalars, of.entries
        for at in range(of.code - 3, -3, -3):
            what, length = line.code[at], line.code[at + 1]
            to -= length
            base -= line.code[at + 2]
            back(what // HOWS, to, length, base, what % HOWS, line, adjoints)
        for at in range(1, wanted_count):
            out[at] = adjoints[wanted[at]]
    out[wanted_count] = amiss(out, 0, wanted_count)


def back(shape: int, first: int, length: int, base: int, how: int, line: InstructionLine, adjoints: Floats) -> None:
    """One run backwards: each row hands its adjoint on, and leaves 0 for the next time."""
    if how == SUM:
        spread(first, length, base, line, adjoints)
    else:
        way = BACK if how == MANY else BACK_ONE
        call_back(line.table, ENTRIES * shape + way, line.scalars, adjoints, line.index, base, first, length)


def spread(first: int, length: int, base: int, line: InstructionLine, adjoints: Floats) -> None:
    """Each term of a sum gets the sum's adjoint."""
    at = base
    for i in range(length):
        end = at + 1 + line.index[at]
        incoming = adjoints[first + i]
        adjoints[first + i] = 0.0
        for term in range(at + 1, end):
            adjoints[line.index[term]] += incoming
        at = end
