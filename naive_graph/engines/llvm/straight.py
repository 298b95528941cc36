"""Straight-line code for a whole sweep: no jumps, cut into functions of bearable size.

LLVM's time grows with the square of a function's length, so a long sweep is
cut into parts that run one after the other. A register lives in its own part
only; what a later part needs is stored, and loaded again there.
"""

from __future__ import annotations

from .emit import Emitted, Value, Writer
from .functions import Module

LONGEST = 400  # instructions from which a part is ended: LLVM takes some 20 ms for that
PARAMETERS = "ptr %values, ptr %adjoints, ptr %scratch"


class Straight(Writer):
    """The code of one sweep, as it is written: a function of arrays of floats. `values` are float64 always."""

    def __init__(self, module: Module, name: str, parameters: str = PARAMETERS) -> None:
        super().__init__(module)
        self.real = module.precision.type
        self.name, self.parameters = name, parameters
        self.parts: list[list[str]] = [[]]
        self.known: dict[str, Emitted] = {}
        self.spilled = 0  # places in the scratch array

    def line(self, instruction: str) -> Emitted:
        if instruction not in self.known:
            part = self.parts[-1]
            name = f"%v{len(part)}"
            part.append(f"{name} = {instruction}")
            self.known[instruction] = Emitted(self, name, len(self.parts) - 1)
        return self.known[instruction]

    def fork(self, condition: str) -> bool:
        raise TypeError("it asks `if` about operands; write where(condition, a, b)")

    def breathe(self) -> None:
        """Start the next part, if this one is long enough. Called between two steps."""
        if len(self.parts[-1]) >= LONGEST:
            self.parts.append([])
            self.known.clear()

    def operand(self, value: Value) -> str:
        here = len(self.parts) - 1
        if not isinstance(value, Emitted) or (value.chunk == here and value.name):
            return super().operand(value)
        if value.place is None:
            value.place = ("scratch", self.spilled)
            self.spilled += 1
            self._store(value.chunk, *value.place, value.name)
        return self._load(*value.place)

    def leaf(self, array: str, index: int) -> Emitted:
        """What the array holds there, loaded where it is needed."""
        waiting = Emitted(self, "")
        waiting.place = (array, index)
        return waiting

    def store(self, array: str, index: int, value: Value) -> None:
        """Put a value into an array."""
        self._store(len(self.parts) - 1, array, index, self.operand(value))
        if isinstance(value, Emitted) and value.place is None:
            value.place = (array, index)

    def _load(self, array: str, index: int) -> str:
        held = "double" if array == "values" else self.real
        found = self.line(f"load {held}, ptr {self._address(held, array, index)}").name
        return found if held == self.real else self.line(f"fptrunc {held} {found} to {self.real}").name

    def _address(self, held: str, array: str, index: int) -> str:
        return self.line(f"getelementptr {held}, ptr %{array}, i64 {index}").name

    def _store(self, part: int, array: str, index: int, name: str) -> None:
        lines = self.parts[part]
        address = f"%v{len(lines)}"
        lines.append(f"{address} = getelementptr {self.real}, ptr %{array}, i64 {index}")
        lines.append(f"store {self.real} {name}, ptr {address}")

    def __str__(self) -> str:
        """LLVM's assembly: the parts, the function that calls them, and what they call."""
        names = [self.name] if len(self.parts) == 1 else [f"{self.name}.{part}" for part in range(len(self.parts))]
        texts = [
            "\n  ".join([f'define void @"{name}"({self.parameters}) {{', *lines, "ret void"]) + "\n}"
            for name, lines in zip(names, self.parts, strict=True)
        ]
        if len(names) > 1:
            calls = [f'call void @"{name}"({self.parameters})' for name in names]
            texts.append("\n  ".join([f'define void @"{self.name}"({self.parameters}) {{', *calls, "ret void"]) + "\n}")
        return "\n\n".join(texts) + f"\n\n{self.module}"
