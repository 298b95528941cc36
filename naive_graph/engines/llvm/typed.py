"""Values of LLVM that know their type, and the lines that are written with them.

A value is a bool, a whole number, or a float. It is cast only where nothing is lost:
a whole number becomes a float.
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
SCALARS = {"float": "double", "int": "i64", "None": "void"}  # LLVM's type for what is no array, by Python's
WORDS = {"double": "a float", "i64": "a whole number", "i1": "a bool", "void": "nothing"}


class Typed(NamedTuple):
    """A value in LLVM, and its type."""

    text: str
    type: str


class Callee(NamedTuple):
    """A function of LLVM's language: its full name, the types of its operands and of its result, and its text."""

    name: str
    kinds: list[str]
    result: str
    text: str = ""


class NotInSubset(Exception):
    """The function uses something that does not compile."""


def by_address(*given: Any) -> Any:
    """Stands for a call of the kernel at a place of a table: the table, the place, and what the kernel takes."""
    raise NotImplementedError("Only machine code can call a kernel by its address.")


call_run = call_rule = call_partials = by_address  # their types are in `machine.KERNELS`


def result_type(tree: ast.FunctionDef) -> str:
    word = ast.unparse(tree.returns) if tree.returns is not None else "None"
    if word not in SCALARS:
        raise NotInSubset(f"{tree.name}: the result {word} cannot be compiled. It is an int, a float or None.")
    return SCALARS[word]


class FunctionText:
    """The lines of one function; names, labels and conversions."""

    def __init__(self, tree: ast.FunctionDef) -> None:
        self.tree = tree
        self.at: ast.stmt = tree  # the statement that is being translated
        self.lines: list[str] = []
        self.slots: list[str] = []  # places of the variables on the stack; LLVM turns them into registers
        self.serial = 0

    def refused(self, what: str) -> NotInSubset:
        """The error that says what does not compile, and where."""
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
