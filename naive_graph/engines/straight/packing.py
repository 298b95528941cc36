"""Scalars' functions, a register at once: which rows wait for one another, and how they share a register.

A sine of one number takes as long as the sines of eight. So rows are written
down in an order in which functions gather: a row of `+ - * /` as soon as its
operands are there, and a function only when nothing else can go on; then as many
rows of that function as a register has lanes go together. Functions that make a
pair (`llvm.pairs`), such as sin and cos, gather in one place, and both functions of one
operand are one row of it. No value depends on the order.

>>> from naive_graph import Graph
>>> from naive_graph.engines.tape.rows import flat_of_tables
>>> x, y = Graph.Variable(2.0), Graph.Variable(3.0)
>>> z = x.sin() + (x * y).sin()
>>> flat, _ = flat_of_tables(z.tables, [z.row])
>>> print(flat)
   0 leaf
   1 leaf
   2 sin 0
   3 mul 0 1
   4 sin 3
   5 add 2 4
>>> list(gathered(flat, [2, 3, 4, 5], frozenset([2, 4])))
[[3], [2, 4], [5]]
>>> z = x.sin() * y + x.cos()
>>> flat, _ = flat_of_tables(z.tables, [z.row])
>>> list(gathered(flat, [2, 3, 4, 5], frozenset([2, 4])))
[[2, 4], [3], [5]]
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from heapq import heapify, heappop, heappush
from typing import Any

from ..llvm.emit import Emitted
from ..llvm.functions import Module
from ..llvm.listing import Straight
from ..llvm.pairs import both, partner
from ..tape.flat import Flat

Shape = tuple[Any, int]  # a rule's number, or the names of a pair of rules; and how many operands


def gathered(flat: Flat, rows: Sequence[int], waits: AbstractSet[int], lanes: int = 8) -> Iterator[list[int]]:
    """The rows in an order in which operands come first; those of `waits` together where they are of one kind.

    lanes: of how many operands at most.
    """
    here = set(rows)
    missing = {row: len(here.intersection(flat.of(row))) for row in rows}
    consumers: dict[int, list[int]] = defaultdict(list)
    for row in rows:
        for operand in here.intersection(flat.of(row)):
            consumers[operand].append(row)
    ready = [row for row in rows if not missing[row] and row not in waits]
    heapify(ready)
    waiting: dict[Shape, list[int]] = defaultdict(list)
    for row in rows:
        if not missing[row] and row in waits:
            waiting[_shape(flat, row)].append(row)
    while ready or waiting:
        if ready:
            some = [heappop(ready)]
        else:
            shape = max(waiting, key=lambda each: (min(len(waiting[each]), lanes), -waiting[each][0]))
            some, rest = _first(flat, waiting.pop(shape), lanes)
            if rest:
                waiting[shape] = rest
        yield some
        for row in some:
            for consumer in consumers[row]:
                missing[consumer] -= 1
                if missing[consumer] == 0 and consumer in waits:
                    waiting[_shape(flat, consumer)].append(consumer)
                elif missing[consumer] == 0:
                    heappush(ready, consumer)


def _shape(flat: Flat, row: int) -> Shape:
    kind = int(flat.kinds[row])
    return partner(kind) or kind, int(flat.starts[row + 1] - flat.starts[row])


def _first(flat: Flat, rows: Sequence[int], lanes: int) -> tuple[list[int], list[int]]:
    """The rows over the first so many operands, and the rest."""
    chosen = set(list(dict.fromkeys(tuple(flat.of(row)) for row in rows))[:lanes])
    some = [row for row in rows if tuple(flat.of(row)) in chosen]
    return some, [row for row in rows if tuple(flat.of(row)) not in chosen]


def together(code: Straight, many: Module, name: str, calls: Sequence[Sequence[Any]]) -> list[Emitted]:
    """Calls of a function of `many`, up to as many as it has lanes, as one: the result of each."""
    real = many.real
    arguments = ", ".join(f"{real} {_packed(code, many, each).name}" for each in zip(*calls, strict=True))
    result = code.line(f'call {real} @"{name}"({arguments})').name
    return [code.line(f"extractelement {real} {result}, i64 {lane}") for lane in range(len(calls))]


def both_together(
    code: Straight, many: Module, names: tuple[str, str], operands: Sequence[Any], asked: Iterable[tuple[int, str]]
) -> list[Emitted]:
    """Two functions of up to as many operands as there are lanes. asked: which operand, and which of the functions."""
    found = dict(zip(names, both(code, many, names, _packed(code, many, operands)), strict=True))
    return [code.line(f"extractelement {many.real} {found[name].name}, i64 {lane}") for lane, name in asked]


def _packed(code: Straight, many: Module, operands: Sequence[Any]) -> Emitted:
    """These scalars in a register; lanes that are left repeat the last."""
    real, alone = many.real, code.module.real
    names = [code.operand(each) for each in operands]
    names += names[-1:] * (many.width - len(names))
    if len(set(names)) == 1:
        first = code.line(f"insertelement {real} poison, {alone} {names[0]}, i64 0").name
        return code.line(f"shufflevector {real} {first}, {real} poison, <{len(names)} x i32> zeroinitializer")
    register = "poison"
    for lane, name in enumerate(names):
        register = (packed := code.line(f"insertelement {real} {register}, {alone} {name}, i64 {lane}")).name
    return packed
