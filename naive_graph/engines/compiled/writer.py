"""Write the LLVM IR of a function with loops: a builder that numbers registers and basic blocks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

LANES = 8  # numbers in a vector register
VECTOR = f"<{LANES} x double>"


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

    def packed(self, numbers: Sequence[str]) -> str:
        """Pack numbers into the lanes of a vector."""
        register = "poison"
        for lane, number in enumerate(numbers):
            register = self.let(f"insertelement {VECTOR} {register}, double {number}, i64 {lane}")
        return register

    def finish_with_return(self, kind: str, value: str) -> str:
        """The text of the function, ended by the return of a value."""
        return "\n  ".join([*self.lines, f"ret {kind} {value}"]) + "\n}\n"

    def __str__(self) -> str:
        return "\n  ".join([*self.lines, "ret void"]) + "\n}\n"


IOTA = f"<{', '.join(f'i64 {k}' for k in range(LANES))}>"
