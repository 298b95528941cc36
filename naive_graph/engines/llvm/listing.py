"""Straight-line code for a whole sweep: no jumps, and where it is long, cut into functions of bearable size.

LLVM's time grows faster than a function's length, so a very long sweep is
cut into parts that run one after the other. A register lives in its own part
only; what a later part needs is stored, and loaded again there. Up to some
thousand rows one function is the better way: it stores half as much, and LLVM
is done sooner with it than with twenty that hand so much to each other.
"""

from __future__ import annotations

from collections.abc import Iterable

from .emit import Emitted, InstructionWriter, Value
from .functions import Module

LONGEST = 400  # instructions from which a part is ended: LLVM takes some 20 ms for that
MOST_WHOLE = 8_000  # operands of all rows of a plan that is not cut: LLVM takes some 0.1 to 0.4 s for them
PARAMETERS = "ptr %values, ptr %adjoints, ptr %scratch"


class Straight(InstructionWriter):
    """The code of one sweep, as it is written: a function of arrays of floats.

    whole: whether it is one part, however long. spilled: how many places of the
    scratch array are in use.
    """

    def __init__(self, module: Module, name: str, parameters: str = PARAMETERS, whole: bool = False) -> None:
        super().__init__(module)
        self.name, self.parameters, self.whole, self.spilled = name, parameters, whole, 0
        self.parts: list[list[str]] = [[]]
        self.known: dict[str, Emitted] = {}
        self._from = 0  # where in its part the first instruction is that is known

    def room(self) -> int:
        """One more place of the scratch array."""
        self.spilled += 1
        return self.spilled - 1

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
        """Start the next part, if this one is long enough. Called between two steps.

        What is not cut forgets what it loaded: LLVM would keep it, and put it away. To load it again costs less.
        """
        if len(self.parts[-1]) - self._from >= LONGEST:
            if not self.whole:
                self.parts.append([])
            self._from = len(self.parts[-1])
            self.known.clear()

    def operand(self, value: Value) -> str:
        """A register with the value. In a later part it is loaded from where it lies, or stored first."""
        if not isinstance(value, Emitted) or (value.chunk == len(self.parts) - 1 and value.name):
            return super().operand(value)
        if value.place is None:
            value.place = ("scratch", self.room())
            self._store(value.chunk, *value.place, value.name)
        address = self.line(self._address(*value.place)).name
        return self.line(f"load {self.module.real}, ptr {address}, align 8").name

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

    def store_all(self, array: str, places: Iterable[int], values: Iterable[Value]) -> None:
        """Put values into places that some of them may come from."""
        for place, name in zip(places, [self.operand(each) for each in values]):
            self._store(len(self.parts) - 1, array, place, name)

    def _address(self, array: str, index: int) -> str:
        """The instruction that finds a place of an array."""
        return f"getelementptr double, ptr %{array}, i64 {index}"

    def _store(self, part: int, array: str, index: int, name: str) -> None:
        lines = self.parts[part]
        address = f"%v{len(lines)}"
        lines.append(f"{address} = {self._address(array, index)}")
        lines.append(f"store {self.module.real} {name}, ptr {address}, align 8")

    def functions(self) -> str:
        """LLVM's assembly: the parts, and the function that calls them."""
        names = [self.name] if len(self.parts) == 1 else [f"{self.name}.{part}" for part in range(len(self.parts))]
        texts = [
            "\n  ".join([f'define void @"{name}"({self.parameters}) {{', *lines, "ret void"]) + "\n}"
            for name, lines in zip(names, self.parts, strict=True)
        ]
        if len(names) > 1:
            texts.append(calling(self.name, names, self.parameters))
        return "\n\n".join(texts)

    def __str__(self) -> str:
        """The functions, and what they call."""
        return f"{self.functions()}\n\n{self.module}"


def calling(name: str, names: list[str], parameters: str = PARAMETERS) -> str:
    """A function that calls these, which have the same parameters, one after the other."""
    calls = [f'call void @"{each}"({parameters})' for each in names]
    return "\n  ".join([f'define void @"{name}"({parameters}) {{', *calls, "ret void"]) + "\n}"
