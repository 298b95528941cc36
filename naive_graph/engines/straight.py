"""A small plan as straight-line machine code: every row once, in order, without a table to look anything up in.

It is what `tape.Tape` is for large plans: `run` computes the wanted rows,
`repeat` goes on from where a run left.
"""

from __future__ import annotations

import ctypes
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ..rules import BY_NUMBER, RULES
from .llvm.compile import compiled
from .llvm.emit import opaque
from .llvm.functions import Module
from .llvm.repeat import loop
from .llvm.straight import Straight
from .tape.flat import DOT, NONE, PIECES, Array, Flat, name_of
from .tape.operators import piece

MOST_ROWS = 400  # LLVM takes some 0.1 s for as many
ADD, MUL, SUB = RULES["add"], RULES["mul"], RULES["sub"]

# All arguments in one array: one is quicker to pass than many.
PACKED = """
define void @"run.packed"(ptr %packed) {
  %values = load ptr, ptr %packed
  %results.at = getelementptr ptr, ptr %packed, i64 1
  %results = load ptr, ptr %results.at
  %scratch.at = getelementptr ptr, ptr %packed, i64 2
  %scratch = load ptr, ptr %scratch.at
  call void @run(ptr %values, ptr %results, ptr %scratch)
  ret void
}
"""


class StraightLine:
    """The wanted rows of a plan without lanes, as one piece of code.

    A leaf's value lies at its source's place among the values that `run` is
    given; results lie in `out`, in the order wanted. moves: (from, to), wanted
    rows that a run hands to the next one, where they are leaves: those lie in
    the code's own memory, see `put`. watched: the row whose history is kept.
    """

    def __init__(
        self, flat: Flat, wanted: Sequence[int], moves: Sequence[tuple[int, int]] = (), watched: int = NONE
    ) -> None:
        self.carried = {row: place for place, (_, row) in enumerate(moves)}
        code = written(flat, wanted, self.carried)
        self.text, texts = str(code), [PACKED]
        self.out = np.zeros(len(wanted) + 1)
        self._scratch = np.zeros(code.spilled + 1)
        if moves:
            places = [(wanted.index(result), self.carried[row]) for result, row in moves]
            texts.append(loop(places, wanted.index(watched), len(self.out), len(self._scratch)))
        self.library = compiled("\n".join([self.text, *texts]), optimised=len(flat) <= 100)
        if moves:
            kinds = [*[ctypes.c_void_p] * 3, ctypes.c_int64, ctypes.c_void_p]
            self._again = self.library.function("again", None, kinds)
        self._run = self.library.function("run.packed", None, [ctypes.c_void_p])
        self._places = (self.out.ctypes.data, self._scratch.ctypes.data)
        self._arguments = np.array([0, *self._places], np.int64)
        self.packed: int = self._arguments.ctypes.data

    def put(self, row: int, number: float) -> None:
        """Set a leaf that is carried over."""
        self._scratch[self.carried[row]] = number

    def held(self, row: int) -> float:
        """What such a leaf holds."""
        return float(self._scratch[self.carried[row]])

    def set_source(self, source: int) -> None:
        """Where the leaves' values are."""
        self._arguments[0] = source

    def run(self, source: int) -> None:
        """Run once. source: the address of the leaves' values."""
        self.set_source(source)
        self._run(self.packed)

    def repeat(self, source: int, history: Array) -> None:
        """Run as often as the history has places, each run going on where the last one left; fill it in."""
        self._again(source, *self._places, len(history), history.ctypes.data)


def fits(flat: Flat) -> bool:
    """Whether straight-line code is worth it: few rows, and no lanes."""
    return len(flat.samples) == 1 and len(flat) <= MOST_ROWS + len(flat.leaves())


def written(flat: Flat, wanted: Sequence[int], carried: Mapping[int, int]) -> Straight:
    """The code, as a function of the leaves' values, the array for the results, and its memory.

    The last result is 0 if all are finite. carried: leaves that lie in the memory, and where.
    """
    code = Straight(Module(), "run")
    code.spilled = len(carried)
    registers: list[Any] = [
        code.leaf("scratch", carried[row]) if row in carried else _leaf(flat, code, row) for row in range(len(flat))
    ]
    for row in range(len(flat)):
        if flat.starts[row] < flat.starts[row + 1]:
            registers[row] = _row(
                code, int(flat.kinds[row]), [registers[x] if x != NONE else None for x in flat.of(row)]
            )
            code.breathe()
    amiss: Any = 0.0
    for place, row in enumerate(wanted):
        code.store("adjoints", place, registers[row])
        amiss = code.apply(ADD, [amiss, code.apply(SUB, [registers[row], registers[row]])])
        code.breathe()
    code.store("adjoints", len(wanted), amiss)
    return code


def _leaf(flat: Flat, code: Straight, row: int) -> Any:
    if row in flat.constants:
        return flat.constants[row]
    source = flat.sources.get(row)
    return None if source is None else code.leaf("values", getattr(source, "row", source))


def _row(code: Straight, kind: int, operands: list[Any]) -> Any:
    if kind == DOT:
        total = None
        for x, y in zip(operands[::2], operands[1::2], strict=True):
            term = x if y is None else code.apply(MUL, [x, y])
            total = term if total is None else code.apply(ADD, [total, term])
        return total
    if kind in PIECES:
        return code.call(name_of(kind), piece(kind), operands)
    try:
        return _applied(code, kind, operands)
    except Exception as error:  # whatever a learner's function does when it meets registers
        raise opaque(BY_NUMBER[kind], error) from error


def _applied(code: Straight, kind: int, operands: list[Any]) -> Any:
    rule = BY_NUMBER[kind]
    if all(isinstance(each, float) for each in operands):
        return rule.value(*operands)
    return code.apply(rule, operands)
