"""Typed values for the translator from Python to LLVM (`python`), and a builder for the lines of a function.

A value is a bool (i1), an integer (i64) or a float (double). It is converted implicitly only to a wider type: a bool
to an integer or a float, an integer to a float.
"""

from __future__ import annotations

import ast
from typing import Any, NamedTuple, TypeAlias

Floats: TypeAlias = Any  # arrays of float64,
Ints: TypeAlias = Any  # int32,
Longs: TypeAlias = Any  # int64,
Shorts: TypeAlias = Any  # int16,
Bytes: TypeAlias = Any  # uint8
ELEMENTS = {"Floats": "double", "list[float]": "double", "Ints": "i32", "Longs": "i64", "Shorts": "i16", "Bytes": "i8"}
SCALARS = {"float": "double", "int": "i64", "None": "void"}  # Python annotation -> LLVM type
WORDS = {"double": "a float", "i64": "a whole number", "i1": "a bool", "void": "nothing"}


class Typed(NamedTuple):
    """An LLVM value: its text in an instruction, and its type."""

    text: str
    type: str


class Callee(NamedTuple):
    """An LLVM function: its name, the types of its operands and result, and its text (if it must be declared)."""

    name: str
    kinds: list[str]
    result: str
    text: str = ""


class NotInSubset(Exception):
    """The function uses something that does not compile."""


def by_address(*given: Any) -> Any:
    """Placeholder for a call through a table of addresses: call_x(table, index, *arguments of the kernel)."""
    raise NotImplementedError("Only machine code can call a kernel by its address.")


call_run = call_rule = call_partials = by_address  # their types are in `machine.KERNELS`


def result_type(tree: ast.FunctionDef) -> str:
    word = ast.unparse(tree.returns) if tree.returns is not None else "None"
    if word not in SCALARS:
        raise NotInSubset(f"{tree.name}: the result {word} cannot be compiled. It is an int, a float or None.")
    return SCALARS[word]


class FunctionText:
    """Builds the lines of one LLVM function: names, labels and conversions."""

    def __init__(self, tree: ast.FunctionDef) -> None:
        self.tree = tree
        self.at: ast.stmt = tree  # the statement that is being translated
        self.lines: list[str] = []
        self.slots: list[str] = []  # stack slots (alloca) of the variables; LLVM turns them into registers
        self.serial = 0

    def refused(self, what: str) -> NotInSubset:
        """The error for a construct that does not compile, with its statement."""
        line = ast.unparse(self.at).split("\n")[0]
        return NotInSubset(
            f"{self.tree.name}: {what} cannot be compiled, in `{line}`. See naive_graph/engines/llvm/python.py."
        )

    def name(self, stem: str) -> str:
        self.serial += 1
        return f"{stem}.{self.serial}"  # no name of Python's has a dot

    def emit(self, right: str) -> str:
        name = f"%{self.name('t')}"
        self.lines.append(f"{name} = {right}")
        return name

    def jump(self, label: str) -> None:
        self.lines.append(f"br label %{label}")

    def label(self, label: str) -> None:
        self.jump(label)
        self.lines.append(f"{label}:")

    def slot(self, stem: str, kind: str) -> str:
        name = f"%{self.name(stem)}"
        self.slots.append(f"{name} = alloca {kind}")
        return name

    def cast(self, value: Typed, wanted: str) -> Typed:
        if value.type == wanted:
            return value
        how = {
            ("i1", "i64"): "zext i1 {} to i64",
            ("i1", "double"): "uitofp i1 {} to double",
            ("i64", "double"): "sitofp i64 {} to double",
        }.get((value.type, wanted))
        if how is None:
            actual, due = (WORDS.get(kind, kind) for kind in (value.type, wanted))
            raise self.refused(f"{actual} where {due} is due")
        return Typed(self.emit(how.format(value.text)), wanted)

    def widest(self, *values: Typed) -> str:
        kinds, widest_first = {value.type for value in values}, ("double", "i64", "i1")
        if not kinds <= set(widest_first):
            raise self.refused("a value that is not a number")
        return next(kind for kind in widest_first if kind in kinds)
