"""A flat plan, written down as straight-line code: section after section, row after row.

Scalars are written once. What has a value for every sample is written for as many
samples as a register has lanes, and a loop is put around it (`sampled`, `llvm.loops`).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from ...core.rules import BY_NUMBER, RULES
from ..llvm import registers
from ..llvm.emit import INSTRUCTIONS, SQUARES, opaque
from ..llvm.functions import together
from ..llvm.listing import PARAMETERS, Straight, calling
from ..llvm.loops import declared
from ..llvm.meaning import in_registers
from ..llvm.narrow import narrowing
from ..llvm.pairs import partner
from ..llvm.precision import DOUBLE, Precision
from ..tape.flat import DOT, PIECES, Flat, name_of
from ..tape.operators import piece
from ..tape.sections import Section
from .packing import both_together, gathered
from .packing import together as side_by_side
from .sampled import Sampled
from .sheet import ADD, Sheet, applied

SUB = RULES["sub"]
FEW = 16  # results whose differences from themselves are added up one by one


class Written:
    """The code of a plan: `run(values, results, scratch)`.

    wanted: rows to hand out; the k-th result is the k-th of those that are
    scalars, and the last one is 0.0 if all are finite. wide: whether functions
    of scalars are computed a register at once, as in lanes, else by the C
    library. precision: of all floats but the values. checks: whether the last
    result tells of the lanes too that are handed out.
    """

    def __init__(
        self, flat: Flat, wanted: Sequence[int], wide: bool, precision: Precision = DOUBLE, checks: bool = False
    ) -> None:
        self.sheet, self.wide, self.precision = Sheet(flat, wanted, precision, checks), wide, precision
        self.units: list[Straight | Sampled] = []  # which run one after the other
        self._functions: dict[tuple[int, int], str | None] = {}
        self._amiss: Any = 0.0
        self.scalars = sum(map(len, self.sheet.results.values()))
        for part in self.sheet.sections:
            if part.group:
                self.units.append(Sampled(self.sheet, part, self._next()))
            else:
                self._scalars(part)
        self._end()

    @property
    def instructions(self) -> int:
        """How many there are of LLVM's language, without the loops around blocks."""
        codes = [each.block if isinstance(each, Sampled) else each for each in self.units]
        return sum(len(part) for code in codes for part in code.parts)

    def explain(self) -> dict[tuple[int, int], str]:
        """How the sums over samples are computed, by the section's stage and group."""
        return {(each.part.stage, each.group): each.explain() for each in self.units if isinstance(each, Sampled)}

    def _next(self) -> str:
        """The name of the next unit."""
        return f"run.{len(self.units)}"

    # --- scalars ---

    def _code(self) -> Straight:
        """The code of scalars that goes on, or a new one."""
        last = self.units[-1] if self.units else None
        if isinstance(last, Straight):
            return last
        code = Straight(self.sheet.alone, self._next(), scratch=self.sheet.scratch, whole=self.sheet.whole)
        self.units.append(code)
        return code

    def _scalars(self, part: Section) -> None:
        code, rows = self._code(), part.rows.tolist()
        if not self.wide:
            self._written(code, [[row] for row in rows], {})
            return
        names = {row: name for row in rows if (name := self._function(row)) is not None}
        self._written(code, gathered(self.sheet.flat, rows, names.keys(), self.precision.lanes), names)

    def _written(self, code: Straight, order: Iterable[list[int]], names: dict[int, str]) -> None:
        """Write the rows down. names: functions that take rows by the register."""
        for rows in order:
            if rows[0] in names:
                made = self._gathered(code, rows, names)
            else:
                made = [applied(self.sheet, code, row) for row in rows]
            for row, value in zip(rows, made, strict=True):
                self.sheet.registers[row] = value
                self._hand_out(code, row)
            code.breathe()

    def _gathered(self, code: Straight, rows: Sequence[int], names: dict[int, str]) -> list[Any]:
        """What functions of one kind compute for these rows, or two kinds that make a pair."""
        sheet = self.sheet
        lane_of = {each: lane for lane, each in enumerate(dict.fromkeys(tuple(sheet.flat.of(row)) for row in rows))}
        lanes = [lane_of[tuple(sheet.flat.of(row))] for row in rows]
        calls = [[sheet.registers[x] for x in operands] for operands in lane_of]
        kinds = [int(sheet.flat.kinds[row]) for row in rows]
        two = partner(kinds[0])
        if two is None or len(set(kinds)) == 1:
            found = side_by_side(code, sheet.many, names[rows[0]], calls)
            return [found[lane] for lane in lanes]
        operands = [operand for (operand,) in calls]
        return both_together(code, sheet.many, two, operands, zip(lanes, map(name_of, kinds), strict=True))

    def _function(self, row: int) -> str | None:
        """The function of a register that computes the row, if it is one that takes as long for a single number."""
        kind, arity = int(self.sheet.flat.kinds[row]), len(self.sheet.flat.of(row))
        if kind == DOT or (kind not in PIECES and BY_NUMBER[kind].name in (*INSTRUCTIONS, *SQUARES)):
            return None
        if (kind, arity) not in self._functions:
            self._functions[kind, arity] = self._traced(kind, arity)
        return self._functions[kind, arity]

    def _traced(self, kind: int, arity: int) -> str | None:
        try:
            value = piece(kind) if kind in PIECES else in_registers(BY_NUMBER[kind].value)
            name = self.sheet.many.rounded(name_of(kind), value, arity)
        except Exception as error:  # whatever a learner's function does when it meets registers
            raise opaque(BY_NUMBER[kind], error) from error
        return name if self.sheet.many.is_fast(name) else None

    def _hand_out(self, code: Straight, row: int) -> None:
        for place in self.sheet.results.pop(row, ()):
            code.store("adjoints", place, self.sheet.registers[row])
            if self.scalars <= FEW:
                difference = code.apply(SUB, [self.sheet.registers[row], self.sheet.registers[row]])
                self._amiss = code.apply(ADD, [self._amiss, difference])

    def _end(self) -> None:
        """Hand out what is left: leaves, and sums over the samples."""
        code = self._code()
        for row in list(self.sheet.results):
            self._hand_out(code, row)
            code.breathe()
        for each in self.units:
            if isinstance(each, Sampled) and each.checked:
                for lane in range(each.width):
                    found = self.sheet.lying(self.sheet.alone, "scratch", each.begin + lane)
                    self._amiss = code.apply(ADD, [self._amiss, found])
        code.store("adjoints", self.scalars, self._amiss)

    # --- text ---

    def __str__(self) -> str:
        texts, known = [each.functions() for each in self.units], self.sheet.alone.declared
        precision, lanes = self.precision, self.precision.lanes
        if self.sheet.fed:
            texts.append(registers.sums(precision.type, lanes))
            known |= declared(precision)
        names = [each.name for each in self.units]
        if self.sheet.narrowed:
            texts.append(narrowing("run.narrowed", self.sheet.narrowed))
            names.insert(0, "run.narrowed")
        text = calling("run", PARAMETERS, names)
        if self.scalars > FEW:
            texts.append(registers.unusual(precision.type, lanes))
            text = text.replace("ret void", self._checked())
        return "\n\n".join([*texts, text, together(self.sheet.alone, self.sheet.many)])

    def _checked(self) -> str:
        """The end of a run: behind the results is what is known to be amiss; to that goes NaN unless all are finite."""
        real, count = self.precision.type, self.scalars
        return f"""%last = getelementptr {real}, ptr %adjoints, i64 {count}
  %known = load {real}, ptr %last
  store {real} 0.0, ptr %last  ; it may be read with them
  %amiss = call {real} @unusual(ptr %adjoints, i64 {count})
  %all = fadd {real} %known, %amiss
  store {real} %all, ptr %last
  ret void"""
