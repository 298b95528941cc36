"""A small subset of Python becomes LLVM: the loops of the engines compile from their own source.

    def total(xs: Floats, size: int) -> float:
        sum = 0.0
        for i in range(size):
            sum += xs[i]
        return sum

Arguments are `int`, `float`, or arrays (`Floats`, `Ints`, `Longs`, `Bytes`). Inside there may be
arithmetic, comparisons, `if`, `while`, `for i in range(...)`, `break` and
`continue`, and calls of other such functions. A slice `xs[i : i + LANES]` is a
register of eight floats. Whatever runs here also runs as plain Python over
NumPy arrays, and gives the same numbers; whole numbers must stay below 2**63,
and `//` and `%` are for those that are not negative.
"""

from __future__ import annotations

import ast
import textwrap
from collections.abc import Callable
from typing import Any

from .expressions import Expressions
from .typed import ELEMENTS, LANES, SCALARS, VECTOR, Bytes, Floats, Ints, Longs, NotInSubset, Typed, result_type, syntax

__all__ = [
    "ELEMENTS", "LANES", "SCALARS", "VECTOR", "Bytes", "Floats", "Ints", "Longs", "NotInSubset", "Program",
    "result_type", "syntax",
]  # fmt: skip


class Program:
    """Functions translated so far, each once, with those that they call.

    known: names that stand for functions of LLVM's: name -> (its full name, the types of its operands, of its result).
    """

    def __init__(self, known: dict[str, tuple[str, list[str], str]] | None = None) -> None:
        self.known = known or {}
        self.texts: dict[str, str] = {}
        self.declared: set[str] = set()

    def add(self, function: Callable[..., Any], outside: bool = True) -> str:
        """The name of the translated function. outside: whether it is called from Python."""
        name = function.__name__
        if name not in self.texts:
            self.texts[name] = ""
            self.texts[name] = _Translation(self, syntax(function), function.__globals__).text(outside)
        return name

    def add_source(self, source: str) -> str:
        """The same for a function that is there as text."""
        tree = ast.parse(textwrap.dedent(source)).body[0]
        assert isinstance(tree, ast.FunctionDef)
        self.texts[tree.name] = _Translation(self, tree, globals()).text(True)
        return tree.name

    def __str__(self) -> str:
        return "\n".join([*sorted(self.declared), *self.texts.values()])


class _Translation(Expressions):
    """One function on its way to LLVM."""

    def __init__(self, program: Program, tree: ast.FunctionDef, names: dict[str, Any]) -> None:
        super().__init__(program, tree, names)
        self.loops: list[tuple[str, str]] = []  # where `continue` and `break` lead

    def text(self, outside: bool) -> str:
        arguments = ", ".join(self.argument(each) for each in self.tree.args.args)
        self.block(self.tree.body)
        result = result_type(self.tree)
        self.lines.append("ret void" if result == "void" else f"ret {result} zeroinitializer")
        linkage = "define" if outside else "define internal"
        return "\n ".join(
            [f"{linkage} {result} @{self.tree.name}({arguments}) nounwind {{", *self.slots, *self.lines, "}\n"]
        )

    def argument(self, argument: ast.arg) -> str:
        kind, name = ast.unparse(argument.annotation), argument.arg  # type: ignore[arg-type]
        if kind in ELEMENTS:
            self.arrays[name] = ELEMENTS[kind]
            return f"ptr noalias %{name}"
        self.write(name, Typed(f"%{name}", SCALARS[kind]))
        return f"{SCALARS[kind]} %{name}"

    def write(self, name: str, value: Typed) -> None:
        if name not in self.variables:
            kind = "i64" if value.type == "i1" else value.type
            self.variables[name] = (self.slot(name, kind), kind)
        slot, kind = self.variables[name]
        self.lines.append(f"store {kind} {self.cast(value, kind).text}, ptr {slot}")

    # --- statements ---

    def block(self, statements: list[ast.stmt]) -> None:
        for statement in statements:
            handle = getattr(self, f"on_{type(statement).__name__}", None)
            if handle is None:
                raise NotInSubset(f"{type(statement).__name__} in {self.tree.name}")
            handle(statement)

    def on_Expr(self, node: ast.Expr) -> None:
        if isinstance(node.value, ast.Call):
            self.expression(node.value)

    def on_Assign(self, node: ast.Assign) -> None:
        values = node.value.elts if isinstance(node.value, ast.Tuple) else [node.value]
        computed = [self.expression(value) for value in values]
        for target in node.targets:
            places = target.elts if isinstance(target, ast.Tuple) else [target]
            for place, value in zip(places, computed, strict=True):
                self.store(place, value)

    def on_AugAssign(self, node: ast.AugAssign) -> None:
        before = ast.parse(ast.unparse(node.target), mode="eval").body
        self.store(node.target, self.expression(ast.BinOp(before, node.op, node.value)))

    def store(self, target: ast.expr, value: Typed) -> None:
        if isinstance(target, ast.Name):
            return self.write(target.id, value)
        assert isinstance(target, ast.Subscript)
        place, element = self.place(target)
        if isinstance(target.slice, ast.Slice):
            self.lines.append(f"store {VECTOR} {self.cast(value, VECTOR).text}, ptr {place}, align 8")
            return None
        text = self.cast(value, "double" if element == "double" else "i64").text
        if element in ("i32", "i8"):
            text = self.emit(f"trunc i64 {text} to {element}")
        self.lines.append(f"store {element} {text}, ptr {place}")
        return None

    def on_Return(self, node: ast.Return) -> None:
        result = result_type(self.tree)
        value = "" if node.value is None else f" {self.cast(self.expression(node.value), result).text}"
        self.lines.append(f"ret {result}{value}")
        self.lines.append(f"{self.name('after')}:")

    def on_Break(self, node: ast.Break) -> None:
        self.jump(self.loops[-1][1])
        self.lines.append(f"{self.name('after')}:")

    def on_Continue(self, node: ast.Continue) -> None:
        self.jump(self.loops[-1][0])
        self.lines.append(f"{self.name('after')}:")

    def on_If(self, node: ast.If) -> None:
        yes, no, end = self.name("yes"), self.name("no"), self.name("end")
        self.branch(node.test, yes, no)
        self.lines.append(f"{yes}:")
        self.block(node.body)
        self.jump(end)
        self.lines.append(f"{no}:")
        self.block(node.orelse)
        self.label(end)

    def on_While(self, node: ast.While) -> None:
        test, body, end = self.name("test"), self.name("body"), self.name("end")
        self.label(test)
        self.branch(node.test, body, end)
        self.lines.append(f"{body}:")
        self.loops.append((test, end))
        self.block(node.body)
        self.loops.pop()
        self.jump(test)
        self.lines.append(f"{end}:")

    def on_For(self, node: ast.For) -> None:
        assert isinstance(node.target, ast.Name) and isinstance(node.iter, ast.Call)
        bounds = [self.cast(self.expression(each), "i64").text for each in node.iter.args]
        start, stop, step = ("0", *bounds, "1") if len(bounds) == 1 else (*bounds, "1")[:3]
        test, body, further, end = (self.name(each) for each in ("test", "body", "next", "end"))
        counter = self.slot("counter", "i64")
        self.lines.append(f"store i64 {start}, ptr {counter}")
        self.label(test)
        index = self.emit(f"load i64, ptr {counter}")
        going = self.emit(f"icmp {'sgt' if step.startswith('-') else 'slt'} i64 {index}, {stop}")
        self.lines.append(f"br i1 {going}, label %{body}, label %{end}\n{body}:")
        self.write(node.target.id, Typed(index, "i64"))
        self.loops.append((further, end))
        self.block(node.body)
        self.loops.pop()
        self.label(further)
        self.lines.append(f"store i64 {self.emit(f'add nsw i64 {index}, {step}')}, ptr {counter}")
        self.jump(test)
        self.lines.append(f"{end}:")
