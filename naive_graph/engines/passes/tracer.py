"""Trace a function into rows of a plan: call it with `Tracer` operands, which record every operation.

rows = Rows(first=2)                    rows 0 and 1 are there already
x, y = Tracer(rows, 0), Tracer(rows, 1)
x.sin() * y                             row 2 is sin 0, row 3 is mul 2 1
"""

from __future__ import annotations

from typing import Any

from ...core.number import number
from ...core.rules import Arithmetic, Rule


class Rows:
    """The rows recorded so far, numbered from `first`: each a kind and its operands.

    numbers: constants in use -> their rows. Keys are written by `float.hex`, so that -0.0 and 0.0 differ.
    """

    who = "A node"  # the subject of the error message for an operand that is not a number

    def __init__(self, first: int, numbers: dict[str, int] | None = None) -> None:
        self.first, self.numbers = first, {} if numbers is None else numbers
        self.made: list[tuple[int, list[int]]] = []

    def add(self, kind: int, operands: list[int]) -> int:
        """Append a row, and return its number."""
        self.made.append((kind, operands))
        return self.first + len(self.made) - 1

    def place(self, value: Any) -> int:
        """The row of a tracer, or of a number, which becomes a constant."""
        if isinstance(value, Tracer):
            return value.row
        held = number(value, self.who)
        if held.hex() not in self.numbers:
            self.numbers[held.hex()] = self.constant(held)
        return self.numbers[held.hex()]

    def constant(self, value: float) -> int:
        """Make a constant that is not in use yet, and return its row or reference."""
        raise NotImplementedError


class Tracer(Arithmetic):
    """A value that stands for a row; operators applied to it append rows (as a JAX tracer does)."""

    __slots__ = ("row", "rows")

    def __init__(self, rows: Rows, row: int) -> None:
        self.rows, self.row = rows, row

    def apply(self, rule: Rule, *operands: Any) -> Any:
        rule.check_arity(len(operands))
        return type(self)(self.rows, self.rows.add(rule.number, [self.rows.place(operand) for operand in operands]))
