"""A flat plan, written down as straight-line code, row after row; functions of scalars a register at once.

A sine of one number takes as long as the sines of eight. So rows are written
down in an order in which functions gather: a row of `+ - * /` as soon as its
operands are there, and a function only when nothing else can go on; then as many
rows of that function as a register has lanes go together. Functions that make a
pair (`llvm.pairs`), such as sin and cos, gather in one place, and both functions of one
operand are one row of it. No value depends on the order.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from heapq import heapify, heappop, heappush
from typing import Any

from ...core.rules import BY_NUMBER, RULES
from ..llvm.emit import INSTRUCTIONS, SQUARES, Emitted, compiling
from ..llvm.functions import Module, together
from ..llvm.listing import Straight
from ..llvm.pairs import both, partner
from ..llvm.tracing import in_registers
from ..llvm.typed import LANES
from ..tape.flat import DOT, LARGEST, NONE, FedLeaf, Flat, name_of
from ..tape.operators import largest_of

ADD, SUB, MUL = RULES["add"], RULES["sub"], RULES["mul"]
BESIDE = 8  # sums of results' differences from themselves, none of which waits for another


class StraightCode:
    """The code of a plan without lanes: `run(values, results, scratch)`.

    wanted: rows to hand out; the k-th result is the k-th of them, and behind
    the last one is 0.0 if all are finite. wide: whether functions are computed a
    register at once, as in lanes, else by the C library. carried: leaves that
    are given the wanted rows behind the first at the end.
    Where the rows are: `registers[row]` is a register, what can be loaded, or a
    float. given: the places in scratch of leaves that are put in; fed: of those that
    are fed, which come first, by their rows of the tables. alone, many:
    the functions of one number, and of a register.
    """

    writer, name, checked = Straight, "run", True  # checked: whether there is that last place

    def __init__(self, flat: Flat, wanted: Sequence[int], wide: bool, carried: Sequence[int] = ()) -> None:
        self.flat, self.count = flat, len(wanted)
        declared: dict[str, str] = {}
        self.alone, self.many = (Module(width, declared) for width in (1, LANES))
        self.code = self.writer(self.alone, self.name)
        self.results: dict[int, list[int]] = {}  # rows that are yet to be handed out, and their places there
        for place, row in enumerate(wanted):
            self.results.setdefault(row, []).append(place)
        self.given: dict[int, int] = {}
        fed = sorted({each.row for each in flat.sources.values() if isinstance(each, FedLeaf)})
        self.fed = {row: self.code.room() for row in fed}
        self.registers: list[Any] = [None] * len(flat)
        for row in flat.leaves().tolist():
            self.registers[row] = self._leaf(row)
        self._functions: dict[tuple[int, int], str | None] = {}
        self._amiss: dict[int, Any] = {}
        self._rows(flat.computed().tolist(), wide)
        for row in list(self.results):  # leaves
            self._hand_out(row)
            self.code.breathe()
        if self.checked:
            self.code.store("adjoints", self.count, self.code.apply(ADD, [0.0, *self._amiss.values()]))
        self.code.store_all("scratch", [self.given[leaf] for leaf in carried], [self.registers[x] for x in wanted[1:]])

    @property
    def instructions(self) -> int:
        """How many there are of LLVM's language."""
        return len(self.code.lines)

    def _leaf(self, row: int) -> Any:
        source = self.flat.sources.get(row)
        if row in self.flat.constants:
            return self.flat.constants[row]
        if isinstance(source, int):
            return self.code.leaf("values", source)
        self.given[row] = self.fed[source.row] if isinstance(source, FedLeaf) else self.code.room()
        return self.code.leaf("scratch", self.given[row])

    def _rows(self, rows: list[int], wide: bool) -> None:
        names = {row: name for row in rows if wide and (name := self._function(row)) is not None}
        alone = ([row] for row in rows)
        for some in gathered(self.flat, rows, names.keys(), LANES) if wide else alone:
            made = self._gathered(some, names) if some[0] in names else map(self._applied, some)
            for row, value in zip(some, made, strict=True):
                self.registers[row] = value
                self._hand_out(row)
            self.code.breathe()

    def _applied(self, row: int) -> Any:
        """What a row computes, written down."""
        kind = int(self.flat.kinds[row])
        if kind == DOT:
            return self._dot(row)
        operands = [self.registers[x] for x in self.flat.of(row)]
        if kind == LARGEST:
            return self.code.call(name_of(kind), largest_of(), operands)
        rule = BY_NUMBER[kind]
        with compiling([rule]):
            known = all(isinstance(each, float) for each in operands)
            return float(rule(*operands)) if known else self.code.apply(rule, operands)

    def _dot(self, row: int) -> Any:
        """A dot's sum, from the left."""
        operands = [self.registers[x] if x != NONE else None for x in self.flat.of(row)]
        total = None
        for x, y in zip(operands[::2], operands[1::2], strict=True):
            term = x if y is None else self.code.apply(MUL, [x, y])
            total = term if total is None else self.code.apply(ADD, [total, term])
        return total

    def _gathered(self, rows: Sequence[int], names: dict[int, str]) -> list[Emitted]:
        """What functions of one kind compute for these rows, or two kinds that make a pair."""
        lane_of = {each: lane for lane, each in enumerate(dict.fromkeys(tuple(self.flat.of(row)) for row in rows))}
        lanes = [lane_of[tuple(self.flat.of(row))] for row in rows]
        calls = [[self.registers[x] for x in operands] for operands in lane_of]
        kinds = [int(self.flat.kinds[row]) for row in rows]
        two = partner(kinds[0])
        if two is None or len(set(kinds)) == 1:
            found = side_by_side(self.code, self.many, names[rows[0]], calls)
            return [found[lane] for lane in lanes]
        operands = [operand for (operand,) in calls]
        return both_together(self.code, self.many, two, operands, zip(lanes, map(name_of, kinds), strict=True))

    def _function(self, row: int) -> str | None:
        """The function of a register that computes the row, if it is one that takes as long for a single number."""
        kind, arity = int(self.flat.kinds[row]), len(self.flat.of(row))
        if kind == DOT or (kind != LARGEST and BY_NUMBER[kind].name in (*INSTRUCTIONS, *SQUARES)):
            return None
        if (kind, arity) not in self._functions:
            with compiling(BY_NUMBER[kind : kind + 1]):
                value = largest_of() if kind == LARGEST else in_registers(BY_NUMBER[kind].value)
                name = self.many.define(name_of(kind), value, arity)
            self._functions[kind, arity] = name if self.many.is_fast(name) else None
        return self._functions[kind, arity]

    def _hand_out(self, row: int) -> None:
        for place in self.results.pop(row, ()):
            self.code.store("adjoints", place, self.registers[row])
            if self.checked:
                difference = self.code.apply(SUB, [self.registers[row], self.registers[row]])
                before = self._amiss.get(place % BESIDE, 0.0)
                self._amiss[place % BESIDE] = self.code.apply(ADD, [before, difference])

    # --- text ---

    def __str__(self) -> str:
        return f"{self.code.function()}\n\n{together(self.alone, self.many)}"


Shape = tuple[Any, int]  # a rule's number, or the names of a pair of rules; and how many operands


def gathered(flat: Flat, rows: Sequence[int], waits: AbstractSet[int], lanes: int = 8) -> Iterator[list[int]]:
    """The rows in an order in which operands come first; those of `waits` together where they are of one kind.

    lanes: of how many operands at most.

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


def side_by_side(code: Straight, many: Module, name: str, calls: Sequence[Sequence[Any]]) -> list[Emitted]:
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
