"""A body that comes again and again becomes a loop over it: a step of Runge and Kutta's, of a long sequence.

    rows    x sin add | x sin add | x sin add | ...      a body of three rows, so many times

>>> from naive_graph import Graph
>>> from naive_graph.engines.tape.rows import flat_of_tables
>>> x = Graph.Variable(2.0)
>>> y = x
>>> for _ in range(200):
...     y = y.sin() * x + y
>>> flat, _ = flat_of_tables(y.tables, [y.row])
>>> loops(flat, flat.computed())
[RowLoop(first=0, size=24, times=25)]

Eight steps are one body here, for three rows alone are too few. A body is compiled
once, as straight-line code (`straight.code`), so neither compiling nor the code
grows with the steps, and what a body computes for itself stays in registers. What
it takes from elsewhere, from the step before say, it finds among the scalars, by
an index; what others need of it goes there. So bodies need only be alike in their
operators; a step may look back as far as it likes.

Which rows are a body is seen from the operators alone: where they are the same as
some rows before, for long enough, the distance is the body's size, or a part of it.
Where so much could go side by side instead (`runs`), as in a stencil, it does.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from functools import cache as once
from typing import NamedTuple

import numpy as np

from ...core.tables import VARIABLE
from ..llvm.compile import Library, compiled
from ..llvm.functions import together
from ..llvm.listing import Straight
from ..straight.code import StraightCode
from .flat import NONE, Array, Flat
from .operators import LoneKernel
from .runs import Runs, Shapes, runs

LEAST = 8  # times that a body comes
SHORT, LARGE = 16, 600  # rows of a body: of a shorter one, some are taken together
MOST_TAKEN = 600  # operands of a body: LLVM takes some 0.1 s for as many
WINDOW = 8  # rows whose operators are looked for again
ASIDE = 64  # operands of what runs side by side, by which a loop over bodies is beaten
MOST = 100_000  # rows of a plan that goes through the passes for its loops
MOST_TOGETHER = 7  # bodies of which one is made
SAMPLED = 64  # places at which one begins to look


class RowLoop(NamedTuple):
    """So many bodies of so many rows, from the first of a section's rows on."""

    first: int
    size: int
    times: int

    @property
    def end(self) -> int:
        return self.first + self.size * self.times


def loops(flat: Flat, rows: Array) -> list[RowLoop]:
    """The bodies that come again and again among some scalars, in their order."""
    seen = flat.kinds[rows] * np.int64(1 << 32) + np.diff(flat.starts)[rows]
    return [*_found(seen, 0, len(rows))]


def looped(flat: Flat) -> bool:
    """Whether most of a plan is bodies that come again and again: then the passes are worth their time."""
    rows = flat.computed()
    return len(rows) <= MOST and 2 * sum(map(_rows, loops(flat, rows))) > len(rows)


def _found(seen: Array, first: int, last: int) -> Iterator[RowLoop]:
    """The longest between two places, and those before and behind it."""
    best = max((_longest(seen, size, first, last) for size in _sizes(seen[first:last])), key=_rows, default=None)
    if best is None or best.times < LEAST or best.end - best.first < 0.02 * len(seen):
        return
    yield from _found(seen, first, best.first)
    yield best
    yield from _found(seen, best.end, last)


def _rows(loop: RowLoop) -> int:
    return loop.end - loop.first


def _sizes(seen: Array) -> list[int]:
    """What a body's size may be: after how many rows operators are met again."""
    if len(seen) < LEAST * WINDOW:
        return []
    windows = np.lib.stride_tricks.sliding_window_view(seen, WINDOW)
    many: Counter[int] = Counter()
    for at in np.linspace(0, len(windows) - 1, SAMPLED).astype(int).tolist():
        near = windows[at + 1 : at + 1 + LARGE]
        many.update((1 + np.flatnonzero((near == windows[at]).all(1))[:16]).tolist())
    return sorted(size for size, _ in many.most_common(16))


def _longest(seen: Array, size: int, first: int, last: int) -> RowLoop:
    """The longest stretch in which operators come again after so many rows."""
    ends = np.flatnonzero(seen[first + size : last] != seen[first : last - size])
    edges = np.concatenate([[-1], ends, [last - first - size]])
    longest = int(np.diff(edges).argmax())
    many = int(edges[longest + 1] - edges[longest] - 1) + size
    size *= -(-SHORT // size)
    return RowLoop(first + int(edges[longest]) + 1, size, many // size)


def along(flat: Flat, rows: Array, shapes: Shapes, wanted: Sequence[int]) -> list[Runs | Bodies]:
    """Some scalars in an order in which they can run: loops, and what is left between them in runs."""
    found: list[Runs | Bodies] = []
    done = 0
    for seen in loops(flat, rows):
        loop, made = _in_step(flat, rows, seen, np.array(wanted, np.int32))
        some = rows[loop.first : loop.end]
        if made is not None and len(runs(flat, some, shapes).starts) * ASIDE > np.diff(flat.starts)[some].sum():
            found += [runs(flat, rows[done : loop.first], shapes)] if loop.first > done else []
            found.append(made)
            done = loop.end
    return found if found and done == len(rows) else [*found, runs(flat, rows[done:], shapes)]


def _in_step(flat: Flat, rows: Array, loop: RowLoop, wanted: Array) -> tuple[RowLoop, Bodies | None]:
    """These bodies, or several at once as one: operators may come again sooner than what they take."""
    for many in range(1, MOST_TOGETHER + 1):
        each = loop._replace(size=many * loop.size, times=loop.times // many)
        if each.times >= LEAST and (made := bodies(flat, rows, each, wanted)) is not None:
            return each, made
    return loop, None


# --- the code --------------------------------------------------------------------

RUN = """
define void @run(ptr %scalars, ptr %index, i64 %base, i64 %to, i64 %length) {{
begin:
  %line0 = getelementptr i32, ptr %index, i64 %base
  %out0 = getelementptr double, ptr %scalars, i64 %to
  %end = getelementptr double, ptr %out0, i64 %length
  br label %body
body:
  %line = phi ptr [ %line0, %begin ], [ %line1, %body ]
  %out = phi ptr [ %out0, %begin ], [ %out1, %body ]
  call void @"run.all"(ptr %scalars, ptr %out, ptr %line)
  %line1 = getelementptr i32, ptr %line, i64 {taken}
  %out1 = getelementptr double, ptr %out, i64 {given}
  %goes.on = icmp ult ptr %out1, %end
  br i1 %goes.on, label %body, label %done
done:
  ret void
}}
"""


class Indexed(Straight):
    """A body's code: what it takes lies among the scalars, wherever its line of the index says."""

    def _address(self, array: str, index: int) -> str:
        if array == "adjoints":
            return super()._address(array, index)
        entry = self.line(f"getelementptr i32, ptr %scratch, i64 {index}").name
        return f"getelementptr double, ptr %values, i32 {self.line(f'load i32, ptr {entry}').name}"


class BodyCode(StraightCode):
    """A body as straight-line code, and the loop over it, which is called as a kernel of many rows is."""

    writer, name, checked = Indexed, "run.all", False

    def __str__(self) -> str:
        loop = RUN.format(taken=len(self.flat.leaves()), given=self.count)
        return "\n\n".join([self.code.function(), loop, together(self.alone, self.many)])


@once
def code(text: str) -> Library:
    """A body's machine code, kept as other kernels are."""
    return compiled(text)


class Bodies(NamedTuple):
    """A loop, ready to be written down.

    kernel: its code. order: the rows that stay, body after body. taken: a line for each body, the rows that it takes.
    """

    kernel: LoneKernel
    order: Array
    taken: Array
    size: int


def bodies(flat: Flat, rows: Array, loop: RowLoop, wanted: Array) -> Bodies | None:
    """The loop over these bodies; None if they are wide, or more different than their operators say."""
    of_body = rows[loop.first : loop.end].reshape(loop.times, loop.size)
    degrees = np.diff(flat.starts)[of_body[0]]
    if degrees.sum() > MOST_TAKEN:
        return None
    row_of = np.repeat(np.arange(loop.size), degrees)  # of each operand of a body
    edges = flat.starts[of_body][:, row_of] + np.arange(len(row_of)) - np.repeat(np.cumsum(degrees) - degrees, degrees)
    operands, place = flat.operands[edges], np.full(len(flat) + 1, -loop.size, np.int32)
    place[of_body.ravel()] = np.arange(of_body.size)
    place = place[operands] - loop.size * np.arange(loop.times)[:, None]  # seen from the body's first row
    own = (place >= 0) & (operands != NONE)
    inner, absent = own.all(0) & (place == place[0]).all(0), (operands == NONE).all(0)
    if own[:, ~inner].any() or (operands == NONE)[:, ~absent].any():
        return None
    outer = ~inner & ~absent
    taken, column = np.unique(operands[:, outer], axis=1, return_inverse=True)
    many = taken.shape[1]
    inside = np.full(len(row_of), NONE, np.int32)
    inside[inner], inside[outer] = many + place[0, inner], column.ravel()
    elsewhere = np.ones(len(flat.operands), bool)
    elsewhere[edges[:, inner]] = False
    needed = np.zeros(len(flat) + 1, bool)
    needed[flat.operands[elsewhere]] = needed[wanted] = True
    kept = np.flatnonzero(needed[of_body].any(0))
    kinds = np.concatenate([np.full(many, VARIABLE), flat.kinds[of_body[0]]]).astype(np.int32)
    starts = np.concatenate([np.zeros(many + 1), np.cumsum(degrees)]).astype(np.int32)
    body = Flat(kinds, starts, inside, np.zeros(len(kinds), np.int32), {}, {leaf: leaf for leaf in range(many)})
    kernel = LoneKernel(code, (str(BodyCode(body, (many + kept).tolist(), True)),), "run")
    return Bodies(kernel, of_body[:, kept].ravel(), taken, loop.size)
