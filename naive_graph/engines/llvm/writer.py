"""Write the text of LLVM functions: with loops (`FunctionWriter`), or one without branches (`StraightLineFunction`).

Straight-line code is not split into smaller functions: for 4,000 rows one function compiles
faster than several that pass values through memory, and runs in 0.93 of their time.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from .emit import Emitted, InstructionWriter, Value
from .functions import Module

LANES = 8  # numbers in a vector register
VECTOR = f"<{LANES} x double>"
IOTA = f"<{', '.join(f'i64 {k}' for k in range(LANES))}>"
LONG = 400  # instructions after which all results are forgotten (values loaded again), to limit register spills
PARAMETERS = "ptr %values, ptr %adjoints"


class FunctionWriter:
    """Builds the text of one LLVM function: `let` emits an instruction with a result, `do` one without."""

    def __init__(self, head: str) -> None:
        self.lines, self.serial, self.block = [f"{head} {{", "entry:"], 0, "entry"

    def new(self, stem: str) -> str:
        self.serial += 1
        return f"{stem}{self.serial}"

    def let(self, instruction: str) -> str:
        name = self.new("%r")
        self.lines.append(f"{name} = {instruction}")
        return name

    def do(self, instruction: str) -> None:
        self.lines.append(instruction)

    def label(self, name: str) -> None:
        self.lines.append(f"{name}:")
        self.block = name

    def loop(
        self, start: Any, stop: Any, step: Any, begun: Sequence[tuple[str, str]], body: Callable[..., Any]
    ) -> list[str]:
        """for i in range(start, stop, step), with loop-carried values (phi nodes); returns their last values.

        begun: (type, initial value) of each. body: called with i and the carried values, returns their next values.
        """
        before, head, inside, after = self.block, self.new("head"), self.new("body"), self.new("done")
        i, following = self.new("%i"), self.new("%n")
        carried = [self.new("%c") for _ in begun]
        self.do(f"br label %{head}")
        phi_line = len(self.lines) + 1
        self.label(head)
        more = self.new("%m")
        self.lines += [f"{more} = icmp slt i64 {i}, {stop}", f"br i1 {more}, label %{inside}, label %{after}"]
        self.label(inside)
        results = body(i, carried) or []
        self.do(f"{following} = add i64 {i}, {step}")
        self.do(f"br label %{head}")
        last = self.block
        phis = [f"{i} = phi i64 [ {start}, %{before} ], [ {following}, %{last} ]"]
        for name, (kind, value), new in zip(carried, begun, results, strict=True):
            phis.append(f"{name} = phi {kind} [ {value}, %{before} ], [ {new}, %{last} ]")
        self.lines[phi_line:phi_line] = phis
        self.label(after)
        return carried

    # addresses and loads
    def at(self, pointer: str, index: Any, kind: str = "double") -> str:
        return self.let(f"getelementptr {kind}, ptr {pointer}, i64 {index}")

    def load(self, pointer: str, index: Any = 0, kind: str = "double", align: int = 8) -> str:
        return self.let(f"load {kind}, ptr {self.at(pointer, index)}, align {align}")

    def load_index(self, table: str, index: Any) -> str:
        """Load an entry of an i32 table, as an i64."""
        entry = self.let(f"load i32, ptr {self.at(table, index, 'i32')}")
        return self.let(f"sext i32 {entry} to i64")

    def splat(self, x: str, kind: str = "double") -> str:
        vector = f"<{LANES} x {kind}>"
        one = self.let(f"insertelement {vector} poison, {kind} {x}, i64 0")
        return self.let(f"shufflevector {vector} {one}, {vector} poison, <{LANES} x i32> zeroinitializer")

    def store(self, value: str, pointer: str, index: Any = 0, kind: str = "double") -> None:
        self.do(f"store {kind} {value}, ptr {self.at(pointer, index)}, align 8")

    def finish_with_return(self, kind: str, value: str) -> str:
        """The text of the function, ended by the return of a value."""
        return "\n  ".join([*self.lines, f"ret {kind} {value}"]) + "\n}\n"

    def __str__(self) -> str:
        return "\n  ".join([*self.lines, "ret void"]) + "\n}\n"


class StraightLineFunction(InstructionWriter):
    """Writes one function without branches; its parameters are arrays of doubles."""

    def __init__(self, module: Module, name: str, parameters: str = PARAMETERS) -> None:
        super().__init__(module)
        self.name, self.parameters = name, parameters
        self._from = 0  # the first instruction whose result may be reused

    def branch(self, condition: str) -> bool:
        raise TypeError("it asks `if` about operands; write where(condition, a, b)")

    def forget_old_results(self) -> None:
        """Forget all results, once every LONG instructions: to load a value again costs less than to spill it."""
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
