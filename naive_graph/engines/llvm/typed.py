"""Values of LLVM that know their type, and the lines that are written with them.

A value is a bool, a whole number, a float, or a register of LANES floats. It is
cast only where nothing is lost: a whole number becomes a float, a float fills a register.
The same lines can be written for floats of either precision.
"""

from __future__ import annotations

import ast
from typing import Any, NamedTuple, TypeAlias

from .precision import DOUBLE, Precision

LANES = DOUBLE.lanes  # floats that a register holds; in a function that is compiled for float32, as many as there are
Floats: TypeAlias = Any  # arrays of floats of the precision that is compiled for,
Doubles: TypeAlias = Any  # float64, whatever it is: rounded where they are read,
Ints: TypeAlias = Any  # int32,
Longs: TypeAlias = Any  # int64,
Shorts: TypeAlias = Any  # int16,
Bytes: TypeAlias = Any  # uint8
Fixed: TypeAlias = int  # a parameter that a function is compiled for, once for each of its values
WHOLE = {"Ints": "i32", "Longs": "i64", "Shorts": "i16", "Bytes": "i8"}
WORDS = {"i64": "a whole number", "i1": "a bool", "void": "nothing"}


def elements(precision: Precision) -> dict[str, str]:
    """What the arrays hold, by the word for them."""
    return {"Floats": precision.type, "Doubles": "double", **WHOLE}


def scalars(precision: Precision) -> dict[str, str]:
    """LLVM's type for what is no array, by Python's."""
    return {"float": precision.type, "int": "i64", "None": "void"}


class Typed(NamedTuple):
    """A value in LLVM, and its type."""

    text: str
    type: str


class NotInSubset(Exception):
    """The function uses something that does not compile."""


def is_fixed(parameter: ast.arg) -> bool:
    return parameter.annotation is not None and ast.unparse(parameter.annotation) == "Fixed"


def unrolled(count: int) -> range:
    """A loop that is written out when it is compiled: see `unrolled.py`."""
    return range(count)


def result_type(tree: ast.FunctionDef, precision: Precision = DOUBLE) -> str:
    word, types = ast.unparse(tree.returns) if tree.returns is not None else "None", scalars(precision)
    if word not in types:
        raise NotInSubset(f"{tree.name}: the result {word} cannot be compiled. It is an int, a float or None.")
    return types[word]


class Writing:
    """The lines of one function; names, labels and conversions."""

    def __init__(self, tree: ast.FunctionDef, precision: Precision = DOUBLE) -> None:
        self.tree, self.precision = tree, precision
        self.real, self.vector = precision.type, precision.vector
        self.words = {self.vector: "a register", self.real: "a float", **WORDS}
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
        if wanted == self.vector:
            return self.spread(self.cast(value, self.real))
        how = {
            ("i1", "i64"): "zext i1 {} to i64",
            ("i1", self.real): f"uitofp i1 {{}} to {self.real}",
            ("i64", self.real): f"sitofp i64 {{}} to {self.real}",
        }.get((value.type, wanted))
        if how is None:
            given, due = (self.words.get(kind, kind) for kind in (value.type, wanted))
            raise self.refused(f"{given} where {due} is due")
        return Typed(self.emit(how.format(value.text)), wanted)

    def spread(self, value: Typed) -> Typed:
        """The same float in every lane."""
        vector, lanes = self.vector, self.precision.lanes
        first = self.emit(f"insertelement {vector} poison, {self.real} {value.text}, i64 0")
        zeros = f"<{lanes} x i32> zeroinitializer"
        return Typed(self.emit(f"shufflevector {vector} {first}, {vector} poison, {zeros}"), vector)

    def resized(self, value: str, source: str, target: str) -> str:
        """A float of one precision as one of the other; the same where they are alike."""
        if source == target:
            return value
        return self.emit(f"{'fptrunc' if source == 'double' else 'fpext'} {source} {value} to {target}")

    def widest(self, *values: Typed) -> str:
        kinds, widest_first = {value.type for value in values}, (self.vector, self.real, "i64", "i1")
        if not kinds <= set(widest_first):
            raise self.refused("a value that is not a number")
        return next(kind for kind in widest_first if kind in kinds)
