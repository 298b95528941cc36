"""What all code of a plan shares while it is written: where every row's value is, and how a row is written down."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...core.rules import BY_NUMBER, RULES
from ..llvm.block import Block
from ..llvm.emit import Emitted, Writer, opaque
from ..llvm.functions import Module
from ..llvm.listing import MOST_WHOLE, Scratch, Straight
from ..llvm.loops import HEAD, WORDS
from ..llvm.narrow import Neighbours
from ..llvm.precision import DOUBLE, SINGLE, Precision
from ..tape.flat import DOT, NONE, PIECES, Flat, name_of
from ..tape.operators import piece
from ..tape.places import runs_of
from ..tape.sections import sections

ADD, MUL = RULES["add"], RULES["mul"]


class Sheet:
    """Where the rows of a plan are: `registers[row]` is a register, what can be loaded, or a float.

    given: the places in scratch of leaves that are put in. fed, exported: of
    each group, the rows that lie in the lines of its feeds and of its results.
    results: the scalars that are yet to be handed out, and their places there.
    columns: how many each group has. precision: of all floats but the graph's
    values. whole: whether code is not cut into parts. checks: whether it finds out if
    exported lanes are finite. narrowed: of these, what blocks read as float32. alone, many: the
    functions of one number, and of a register.
    """

    def __init__(self, flat: Flat, wanted: Sequence[int], precision: Precision = DOUBLE, checks: bool = False) -> None:
        self.flat, self.sections, self.precision = flat, sections(flat), precision
        groups, leaves = range(1, len(flat.samples)), flat.leaves()
        self.fed = {g: leaves[flat.groups[leaves] == g].tolist() for g in groups}
        self.exported = {g: list(dict.fromkeys(r for r in wanted if flat.groups[r] == g)) for g in groups}
        self.results: dict[int, list[int]] = {}
        for place, row in enumerate(row for row in wanted if flat.groups[row] == 0):
            self.results.setdefault(row, []).append(place)
        self.columns = dict.fromkeys(groups, 0)
        self.scratch = Scratch(precision.lanes)
        self.whole, self.checks = len(flat.operands) <= MOST_WHOLE, checks
        assert len(HEAD) <= WORDS
        self.scratch.place(precision.lanes * len(groups))  # every group's head is a line, and the first ones are theirs
        declared: dict[str, str] = {}
        self.alone, self.many = (Module(width, precision, declared) for width in (1, precision.lanes))
        self.given: dict[int, int] = {}
        self.narrowed = self._narrowed() if precision is SINGLE and groups else []
        self._narrow_of = {each.source + k: each.place + k for each in self.narrowed for k in range(each.many)}
        self.registers: list[Any] = [None] * len(flat)
        for row in leaves.tolist():
            self.registers[row] = self._leaf(row)

    def _leaf(self, row: int) -> Any:
        source, group = self.flat.sources.get(row), int(self.flat.groups[row])
        if group:
            return self.lying(self.many, "feeds", self.fed[group].index(row))
        if row in self.flat.constants:
            return self.precision.rounded(self.flat.constants[row])
        if source in self._narrow_of:
            return self.lying(self.alone, "scratch", self._narrow_of[source])
        if isinstance(source, int):
            return self.lying(self.alone, "values", source)
        self.given[row] = self.scratch.place()
        return self.lying(self.alone, "scratch", self.given[row])

    def _narrowed(self) -> list[Neighbours]:
        """A place in scratch for every value of the graph that is read; neighbours stay neighbours."""
        read = np.unique([source for source in self.flat.sources.values() if isinstance(source, int)]).astype(np.int64)
        return [
            Neighbours(int(read[first]), self.scratch.place(last - first), last - first)
            for first, last in runs_of(read)
        ]

    def lying(self, module: Module, array: str, index: int) -> Emitted:
        """What the array holds there, one number or as many as the module's, loaded where it is needed."""
        waiting = Emitted(Writer(module), "")
        waiting.place = (array, index)
        return waiting

    def column(self, group: int) -> int:
        """One more column."""
        self.columns[group] += 1
        return self.columns[group] - 1


def applied(sheet: Sheet, code: Straight, row: int) -> Any:
    """What a row computes, written down."""
    kind = int(sheet.flat.kinds[row])
    if kind == DOT:
        return _dot(sheet, code, row)
    operands = [sheet.registers[x] for x in sheet.flat.of(row)]
    if kind in PIECES:
        return code.rounded(name_of(kind), piece(kind), operands)
    rule = BY_NUMBER[kind]
    try:
        if all(isinstance(each, float) for each in operands):
            return float(rule(*map(sheet.precision.number, operands)))
        return code.apply(rule, operands)
    except Exception as error:  # whatever a learner's function does when it meets registers
        raise opaque(rule, error) from error


def _dot(sheet: Sheet, code: Straight, row: int) -> Any:
    """A dot's sum, from the left. What serves gradients alone is rounded once a term."""
    operands = [sheet.registers[x] if x != NONE else None for x in sheet.flat.of(row)]
    fused = isinstance(code, Block) and bool(sheet.flat.loose[row])
    total = None
    for x, y in zip(operands[::2], operands[1::2], strict=True):
        if y is None:
            total = x if total is None else code.apply(ADD, [total, x])
        elif total is not None and fused:
            assert isinstance(code, Block)
            total = code.fused(x, y, total)
        else:
            term = code.apply(MUL, [x, y])
            total = term if total is None else code.apply(ADD, [total, term])
    return total
