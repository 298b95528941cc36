"""Syntax tree of the sequential language: statements, layers, arguments and expressions.

Names are tokens, which know their line and column, as expressions do. str() of a node is its source text, laid out in
one way. The parser makes a node of each rule of the grammar that has the name of its class.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ..core.optional_deps import door

with door("The sequential language needs", "sequential"):
    from lark.ast_utils import AsList, Ast

Name = Any  # lark's Token: a text that knows its line and column
BINDS = {"plus": 1, "minus": 1, "times": 2, "divide": 2, "neg": 3}  # operator precedence; other kinds are atoms
SIGNS = {"plus": " + ", "minus": " - ", "times": "*", "divide": "/"}


@dataclass(eq=False, repr=False)
class ParsedExpression:
    """An expression: a number, string, name, tuple or calculation, with its position. Equal if its text is equal.

    value: None until it is evaluated, or if that is impossible.
    """

    kind: str
    parts: tuple[Any, ...]  # operands; of a number, string or name, its token
    line: int
    column: int
    value: Any = None

    def __str__(self) -> str:
        """The source text, with only the brackets needed. Not recursive, so deep nesting cannot overflow the stack."""
        pieces: list[str] = []
        waiting: list[Any] = [self]
        while waiting:
            node = waiting.pop()
            if isinstance(node, str):
                pieces.append(node)
            elif node.kind in ("number", "string", "name"):
                waiting += node.parts
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
class Argument(Ast):
    """An argument of a layer or network, positional or named."""

    name: Name | None
    value: ParsedExpression

    def __str__(self) -> str:
        return f"{self.name}={self.value}" if self.name else str(self.value)


@dataclass(frozen=True)
class LayerStatement(Ast):
    """`add Dense(3, 0);`"""

    name: Name
    arguments: tuple[Argument, ...]

    def __str__(self) -> str:
        return f"  add {self.name}({', '.join(map(str, self.arguments))});"


@dataclass(frozen=True)
class StreamDeclaration(Ast):
    """`stream<double x> data, label;`"""

    fields: tuple[tuple[Name, Name], ...]  # type and name
    names: tuple[Name, ...]

    def __str__(self) -> str:
        fields = ", ".join(f"{kind} {name}" for kind, name in self.fields)
        return f"stream<{fields}> {', '.join(self.names)};"


@dataclass(frozen=True)
class ConstantDeclaration(Ast):
    """`int units = 3, twice = 2*units;`"""

    type: Name
    constants: tuple[tuple[Name, ParsedExpression], ...]

    def __str__(self) -> str:
        return f"{self.type} {', '.join(f'{name} = {value}' for name, value in self.constants)};"


@dataclass(frozen=True)
class SequentialStatement(Ast):
    """`result = sequential (data, label) (arguments) { layers };`"""

    result: Name
    data: Name
    labels: Name
    arguments: tuple[Argument, ...]
    layers: tuple[LayerStatement, ...]

    def __str__(self) -> str:
        head = f"{self.result} = sequential ({self.data}, {self.labels}) ({', '.join(map(str, self.arguments))}) {{"
        return "\n".join([head, *map(str, self.layers), "};"])


Statement = StreamDeclaration | ConstantDeclaration | SequentialStatement


@dataclass(frozen=True)
class CompositeStatement(Ast):
    """`composite Main() { statements }`"""

    name: Name
    statements: tuple[Statement, ...]

    def __str__(self) -> str:
        inner = "\n".join(map(str, self.statements)).replace("\n", "\n  ")
        return f"composite {self.name}() {{\n  {inner}\n}}"


@dataclass(frozen=True)
class ProgramTree(Ast, AsList):
    """A whole program. Its str() parses to an equal tree."""

    items: list[Statement | CompositeStatement]

    @property
    def statements(self) -> list[Statement]:
        """All statements in order, including those inside composites."""
        flattened: list[Statement] = []
        for item in self.items:
            flattened += item.statements if isinstance(item, CompositeStatement) else (item,)
        return flattened

    def __str__(self) -> str:
        return "\n".join(map(str, self.items)) + "\n"
