"""Syntax tree of the sequential language: statements, layers, arguments and expressions.

Names and expressions know their line and column. str() of a node is its source
text, laid out in one way.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

BINDS = {"plus": 1, "minus": 1, "times": 2, "divide": 2, "neg": 3}  # operator precedence; other kinds are atoms
SIGNS = {"plus": " + ", "minus": " - ", "times": "*", "divide": "/"}


class ParsedExpression:
    """An expression: a number, string, name, tuple or calculation, with its position. Equal if its text is equal.

    value: None until it is evaluated, or if that is impossible.
    """

    __slots__ = ("column", "kind", "line", "parts", "value")

    def __init__(self, kind: str, parts: tuple[Any, ...], value: Any, line: int, column: int) -> None:
        self.kind = kind
        self.parts = parts  # operands; of a number, string or name, its source text
        self.value = value
        self.line = line
        self.column = column

    def __str__(self) -> str:
        """The source text, with only the brackets needed. Not recursive, so deep nesting cannot overflow the stack."""
        pieces: list[str] = []
        waiting: list[Any] = [self]
        while waiting:
            node = waiting.pop()
            if isinstance(node, str):
                pieces.append(node)
            elif node.kind in ("number", "string", "name"):
                pieces.append(node.parts[0])
            elif node.kind == "tuple":
                commas = [piece for part in node.parts for piece in (part, ", ")][:-1]
                waiting += reversed(["(", *commas, *[","] * (len(node.parts) == 1), ")"])
            elif node.kind == "neg":
                waiting += reversed(["-", *node._bracket_operand(0, 0)])
            else:
                waiting += reversed([*node._bracket_operand(0, 0), SIGNS[node.kind], *node._bracket_operand(1, 1)])
        return "".join(pieces)

    def _bracket_operand(self, index: int, tighter: int) -> list[Any]:
        """Operand `index`, in brackets if its precedence is too low there: a - (b - c)."""
        part = self.parts[index]
        loose = BINDS.get(part.kind, 9) < BINDS[self.kind] + tighter
        return ["(", part, ")"] if loose else [part]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ParsedExpression) and str(other) == str(self)

    def __hash__(self) -> int:
        return hash(str(self))

    def __repr__(self) -> str:
        return f"<Expression {self}>"


@dataclass(frozen=True)
class LocatedName:
    """A name with its position; comparison ignores the position."""

    text: str
    line: int = field(compare=False)
    column: int = field(compare=False)

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True)
class Argument:
    """An argument of a layer or network, positional or named."""

    value: ParsedExpression
    name: LocatedName | None = None

    def __str__(self) -> str:
        return f"{self.name}={self.value}" if self.name else str(self.value)


@dataclass(frozen=True)
class LayerStatement:
    """`add Dense(3, 0);`"""

    name: LocatedName
    arguments: tuple[Argument, ...]

    def __str__(self) -> str:
        return f"  add {self.name}({', '.join(map(str, self.arguments))});"


@dataclass(frozen=True)
class StreamDeclaration:
    """`stream<double x> data, label;`"""

    fields: tuple[tuple[LocatedName, LocatedName], ...]  # type and name
    names: tuple[LocatedName, ...]

    def __str__(self) -> str:
        fields = ", ".join(f"{kind} {name}" for kind, name in self.fields)
        return f"stream<{fields}> {', '.join(map(str, self.names))};"


@dataclass(frozen=True)
class ConstantDeclaration:
    """`int units = 3, twice = 2*units;`"""

    type: LocatedName
    constants: tuple[tuple[LocatedName, ParsedExpression], ...]

    def __str__(self) -> str:
        return f"{self.type} {', '.join(f'{name} = {value}' for name, value in self.constants)};"


@dataclass(frozen=True)
class SequentialStatement:
    """`result = sequential (data, label) (arguments) { layers };`"""

    result: LocatedName
    data: LocatedName
    labels: LocatedName
    arguments: tuple[Argument, ...]
    layers: tuple[LayerStatement, ...]

    def __str__(self) -> str:
        head = f"{self.result} = sequential ({self.data}, {self.labels}) ({', '.join(map(str, self.arguments))}) {{"
        return "\n".join([head, *map(str, self.layers), "};"])


Statement = StreamDeclaration | ConstantDeclaration | SequentialStatement


@dataclass(frozen=True)
class CompositeStatement:
    """`composite Main() { statements }`"""

    name: LocatedName
    statements: tuple[Statement, ...]

    def __str__(self) -> str:
        inner = "\n".join(map(str, self.statements)).replace("\n", "\n  ")
        return f"composite {self.name}() {{\n  {inner}\n}}"


@dataclass(frozen=True)
class ProgramTree:
    """A whole program. Its str() parses to an equal tree."""

    items: tuple[Statement | CompositeStatement, ...]

    @property
    def statements(self) -> list[Statement]:
        """All statements in order, including those inside composites."""
        flattened: list[Statement] = []
        for item in self.items:
            flattened += item.statements if isinstance(item, CompositeStatement) else (item,)
        return flattened

    def __str__(self) -> str:
        return "\n".join(map(str, self.items)) + "\n"
