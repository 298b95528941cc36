"""Rows that are written down by calling a function: with stand-ins instead of numbers, it says what it would do.

rows = Rows(first=2)                    rows 0 and 1 are there already
x, y = Tracer(rows, 0), Tracer(rows, 1)
x.sin() * y                             row 2 is sin 0, row 3 is mul 2 1
"""

from __future__ import annotations

from typing import Any

from ...core.number import number
from ...core.rules import Arithmetic, Rule


class Rows:
    """The rows so far, behind the `first` ones: each a kind and its operands.

    numbers: those in use, as `float.hex` writes them, for -0.0 is not 0.0; and where each is.
    """

    who = "A node"  # who takes numbers, for an error about something that is none

    def __init__(self, first: int, numbers: dict[str, int] | None = None) -> None:
        self.first, self.numbers = first, {} if numbers is None else numbers
        self.made: list[tuple[int, list[int]]] = []

    def add(self, kind: int, operands: list[int]) -> int:
        """The number of one more row."""
        self.made.append((kind, operands))
        return self.first + len(self.made) - 1

    def place(self, value: Any) -> int:
        """Where a value is."""
        if isinstance(value, Tracer):
            return value.row
        held = number(value, self.who)
        if held.hex() not in self.numbers:
            self.numbers[held.hex()] = self.constant(held)
        return self.numbers[held.hex()]

    def constant(self, value: float) -> int:
        """The place of a number that was not in use."""
        raise NotImplementedError


class Tracer(Arithmetic):
    """An operand that writes down what is done to it: it stands for a row."""

    __slots__ = ("row", "rows")

    def __init__(self, rows: Rows, row: int) -> None:
        self.rows, self.row = rows, row

    def apply(self, rule: Rule, *operands: Any) -> Any:
        rule.check_arity(len(operands))
        return type(self)(self.rows, self.rows.add(rule.number, [self.rows.place(operand) for operand in operands]))
