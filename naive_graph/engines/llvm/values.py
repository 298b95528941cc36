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


def native_only(*given: Any) -> Any:
    """Placeholder for a call through a table of addresses: call_x(table, index, *arguments of the kernel)."""
    raise NotImplementedError("Only machine code can call a kernel by its address.")


call_run = call_rule = call_partials = native_only  # their types are in `machine.KERNELS`


def result_type(tree: ast.FunctionDef) -> str:
    return SCALARS[ast.unparse(tree.returns) if tree.returns is not None else "None"]


def callee_of(tree: ast.FunctionDef) -> Callee:
    """The LLVM function that becomes of a function of the subset, without records."""
    words = [ast.unparse(argument.annotation) for argument in tree.args.args if argument.annotation]
    return Callee(tree.name, [SCALARS.get(word, "ptr") for word in words], result_type(tree))


class FunctionBuilder:
    """Builds the lines of one LLVM function: names, labels and conversions."""

    def __init__(self, tree: ast.FunctionDef) -> None:
        self.tree = tree
        self.lines: list[str] = []
        self.slots: list[str] = []  # stack slots (alloca) of the variables; LLVM turns them into registers
        self.serial = 0

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

    def allocate(self, stem: str, kind: str) -> str:
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
        }[value.type, wanted]
        return Typed(self.emit(how.format(value.text)), wanted)

    def widest(self, *values: Typed) -> str:
        kinds = [value.type for value in values]
        return next(kind for kind in ("double", "i64", "i1") if kind in kinds)
