"""Straight-line code for a whole sweep: no jumps, and where it is long, cut into functions of bearable size.

LLVM's time grows faster than a function's length, so a very long sweep is
cut into parts that run one after the other. A register lives in its own part
only; what a later part needs is stored, and loaded again there. Up to some
thousand rows one function is the better way: it stores half as much, and LLVM
is done sooner with it than with twenty that hand so much to each other.
"""

from __future__ import annotations

from .emit import Emitted, Value, Writer
from .functions import Module
from .precision import SINGLE

LONGEST = 400  # instructions from which a part is ended: LLVM takes some 20 ms for that
MOST_WHOLE = 8_000  # operands of all rows of a plan that is not cut: LLVM takes some 0.1 to 0.4 s for them
PARAMETERS = "ptr %values, ptr %adjoints, ptr %scratch"
# With a pointer to its frame a function can align its stack to whole registers. Without it, LLVM puts away registers
# at any address, and half of them lie across two lines of the cache.
FRAME = '"frame-pointer"="all"'
LINE = 8  # doubles in a line of the cache; sixteen of float32. As many as a register has lanes


class Scratch:
    """Hands out the places of the scratch array; places for a register begin a line of the cache.

    line: how many floats are in one.
    """

    def __init__(self, line: int = LINE) -> None:
        self.line, self.size = line, 0
        self._open = 0  # the next place for one float, if its line is begun

    def place(self, count: int = 1) -> int:
        """The first of `count` places side by side."""
        if count == 1 and self._open % self.line:
            self._open += 1
            return self._open - 1
        first = self.size
        self.size += -(-count // self.line) * self.line
        if count == 1:
            self._open = first + 1
        return first


class Straight(Writer):
    """The code of one sweep, as it is written: a function of arrays of floats.

    They are of the module's precision; only the graph's values, from which
    leaves are loaded, are always float64, and rounded when they are read.

    scratch: where places for what a later part needs are taken from; shared by
    all code that runs over one scratch array. whole: whether it is one part, however long.
    """

    def __init__(
        self,
        module: Module,
        name: str,
        parameters: str = PARAMETERS,
        scratch: Scratch | None = None,
        whole: bool = False,
    ) -> None:
        super().__init__(module)
        self.name, self.parameters, self.whole = name, parameters, whole
        self.scratch = Scratch(module.precision.lanes) if scratch is None else scratch
        self.parts: list[list[str]] = [[]]
        self.known: dict[str, Emitted] = {}
        self._from = 0  # where in its part the first instruction is that is known

    @property
    def spilled(self) -> int:
        """How many places of the scratch array are in use."""
        return self.scratch.size

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
        if not isinstance(value, Emitted) or self._is_here(value):
            return super().operand(value)
        return self._loaded(value)

    def _loaded(self, value: Emitted) -> str:
        """A register with the value, loaded from where it lies."""
        array, index = self.settled(value)
        module, address = value.writer.module, self._address(array, index)
        if array == "values" and module.precision is SINGLE:
            exact = self.line(f"load double, ptr {address}, align 8").name
            return self.line(f"fptrunc double {exact} to float").name
        return self.line(f"load {module.real}, ptr {address}, align {module.precision.bytes}").name

    def _is_here(self, value: Emitted) -> bool:
        """Whether the value is in a register of this part."""
        return value.writer is self and value.chunk == len(self.parts) - 1 and value.name != ""

    def settled(self, value: Emitted) -> tuple[str, int]:
        """Where the value can be loaded from; it is stored there where that was not done yet."""
        if value.place is None:
            writer = value.writer
            assert isinstance(writer, Straight)
            value.place = ("scratch", self.scratch.place(writer.module.width))
            writer._store(value.chunk, *value.place, value.name)
        return value.place

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

    def _address(self, array: str, index: int) -> str:
        name = ""
        for each in self._address_lines(array, index):
            name = self.line(each.format(name)).name
        return name

    def _address_lines(self, array: str, index: int) -> list[str]:
        """The instructions that find a place of an array; each may name the one before as {0}."""
        real = "double" if array == "values" else self.module.precision.type
        return [f"getelementptr {real}, ptr %{array}, i64 {index}"]

    def _store(self, part: int, array: str, index: int, name: str) -> None:
        lines, address = self.parts[part], ""
        for each in self._address_lines(array, index):
            each, address = each.format(address), f"%v{len(lines)}"
            lines.append(f"{address} = {each}")
        lines.append(f"store {self.module.real} {name}, ptr {address}, align {self.module.precision.bytes}")

    def functions(self) -> str:
        """LLVM's assembly: the parts, and the function that calls them."""
        names = [self.name] if len(self.parts) == 1 else [f"{self.name}.{part}" for part in range(len(self.parts))]
        frame = f"{FRAME} " if self.module.width > 1 else ""
        texts = [
            "\n  ".join([f'define void @"{name}"({self.parameters}) {frame}{{', *lines, "ret void"]) + "\n}"
            for name, lines in zip(names, self.parts, strict=True)
        ]
        if len(names) > 1:
            texts.append(calling(self.name, self.parameters, names))
        return "\n\n".join(texts)

    def __str__(self) -> str:
        """The functions, and what they call."""
        return f"{self.functions()}\n\n{self.module}"


def calling(name: str, parameters: str, names: list[str]) -> str:
    """A function that calls these, which have the same parameters, one after the other."""
    calls = [f'call void @"{each}"({parameters})' for each in names]
    return "\n  ".join([f'define void @"{name}"({parameters}) {{', *calls, "ret void"]) + "\n}"
