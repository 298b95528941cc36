"""Straight-line code for a whole sweep, in one function without jumps.

It was cut once, into parts that handed stored values to each other: of 4,000 rows
one function is compiled in less time, and runs in 0.93 of the parts'.
"""

from __future__ import annotations

from .emit import Emitted, InstructionWriter, Value
from .functions import Module

LONG = 400  # instructions after which what was loaded is forgotten
PARAMETERS = "ptr %values, ptr %adjoints"


class Straight(InstructionWriter):
    """The code of one sweep, as it is written: a function of arrays of floats."""

    def __init__(self, module: Module, name: str, parameters: str = PARAMETERS) -> None:
        super().__init__(module)
        self.name, self.parameters = name, parameters
        self._from = 0  # the first instruction that is known

    def fork(self, condition: str) -> bool:
        raise TypeError("it asks `if` about operands; write where(condition, a, b)")

    def breathe(self) -> None:
        """Forget what was loaded long ago: LLVM would keep it, and put it away. To load it again costs less."""
        if len(self.lines) - self._from >= LONG:
            self._from = len(self.lines)
            self.known.clear()

    def operand(self, value: Value) -> str:
        """A register with the value, loaded where it lies in an array."""
        if not isinstance(value, Emitted) or value.place is None:
            return super().operand(value)
        address = self.line(self._address(*value.place)).name
        return self.line(f"load {self.module.real}, ptr {address}, align 8").name

    def leaf(self, array: str, index: int) -> Emitted:
        """What the array holds there, loaded where it is needed."""
        return Emitted(self, "", (array, index))

    def store(self, array: str, index: int, value: Value) -> None:
        """Put a value into an array."""
        name, address = self.operand(value), self.written(self._address(array, index))
        self.lines.append(f"store {self.module.real} {name}, ptr {address}, align 8")

    def _address(self, array: str, index: int) -> str:
        """The instruction that finds a place of an array."""
        return f"getelementptr double, ptr %{array}, i64 {index}"

    def function(self) -> str:
        """LLVM's assembly."""
        head = f'define void @"{self.name}"({self.parameters}) {{'
        return "\n  ".join([head, *self.lines, "ret void"]) + "\n}"

    def __str__(self) -> str:
        """The function, and what it calls."""
        return f"{self.function()}\n\n{self.module}"
