"""Translate functions in a small subset of Python to LLVM IR (as Numba does), for the loops of the engines.

    def total(xs: Floats, size: int) -> float:
        sum = 0.0
        for i in range(size):
            sum += xs[i]
        return sum

Arguments are `int`, `float`, or arrays (`Floats`, `Ints`, `Longs`, `Shorts`, `Bytes`). A body may contain arithmetic,
comparisons, `if`, `while`, `for i in range(...)`, `continue`, and calls of other such functions. Records are translated
by `struct_params.py`. A function of the subset also runs as plain Python over NumPy arrays, and gives the same numbers,
if it keeps these rules: integers stay below 2**63, `//` and `%` have operands that are not negative, nothing is
divided by 0, an index is not negative, `and` and `or` are of truth values, the step of a `range` is written as a
number, a loop has no `else`, and an array that is written to does not overlap another argument.
"""

from __future__ import annotations

import ast
import textwrap
from collections.abc import Callable, Mapping
from typing import Any

from .expressions import ExpressionTranslator
from .struct_params import syntax
from .values import ELEMENTS, SCALARS, Callee, Typed, callee_of, result_type

NO_NAMES: Mapping[str, Any] = {}


class TranslatedModule:
    """A set of translated functions, with those that they call; str() is their LLVM IR.

    known: name -> LLVM function, for callees that are given as text (`add_source` adds its own) or as LLVM.
    """

    def __init__(self, known: dict[str, Callee] | None = None) -> None:
        self.known = known or {}
        self.functions: dict[str, Callable[..., Any]] = {}
        self.texts: dict[str, str] = {}
        self.outside: set[str] = set()  # names of functions that are exported: not `internal` in LLVM
        self.declared: set[str] = set()  # texts of known functions that are called

    def add(self, function: Callable[..., Any], outside: bool = True) -> Callee:
        """Translate a function, if that is not done yet. outside: whether Python calls it."""
        name = function.__name__
        assert self.functions.setdefault(name, function) is function, f"Two functions are called {name}."
        if outside:
            self.outside.add(name)
        if name not in self.texts:
            self.texts[name] = ""  # it may call itself
            self.texts[name] = _Translation(self, syntax(function), function.__globals__, name).text()
        return callee_of(syntax(function))

    def add_source(self, source: str, names: Mapping[str, Any] = NO_NAMES) -> None:
        """Translate a function given as source text; functions added later may call it. names: further globals."""
        tree = ast.parse(textwrap.dedent(source)).body[0]
        assert isinstance(tree, ast.FunctionDef)
        self.outside.add(tree.name)
        self.texts[tree.name] = _Translation(self, tree, {**globals(), **names}, tree.name).text()
        self.known[tree.name] = callee_of(tree)

    def __str__(self) -> str:
        texts = [f"define {'' if name in self.outside else 'internal '}{text}" for name, text in self.texts.items()]
        return "\n".join([*sorted(self.declared), *texts])


class _Translation(ExpressionTranslator):
    """Translates one function: its signature and statements; expressions are in the base class."""

    def __init__(self, program: TranslatedModule, tree: ast.FunctionDef, names: Mapping[str, Any], full: str) -> None:
        super().__init__(program, tree, names)
        self.full = full
        self.loops: list[str] = []  # of each enclosing loop, the label to which `continue` jumps

    def text(self) -> str:
        """The text of the function, without `define`."""
        arguments = ", ".join(self.argument(argument) for argument in self.tree.args.args)
        self.block(self.tree.body)
        result = result_type(self.tree)
        self.lines.append("ret void" if result == "void" else f"ret {result} zeroinitializer")
        # A function with a loop and calls is not inlined: LLVM would optimise it again in each caller.
        loops = self.calls and any(isinstance(node, (ast.For, ast.While)) for node in ast.walk(self.tree))
        attributes = "nounwind noinline" if loops else "nounwind"
        return "\n ".join([f"{result} @{self.full}({arguments}) {attributes} {{", *self.slots, *self.lines, "}\n"])

    def argument(self, argument: ast.arg) -> str:
        word, name = ast.unparse(argument.annotation), argument.arg  # type: ignore[arg-type]
        if word in ELEMENTS:
            self.arrays[name] = ELEMENTS[word]
            return f"ptr noalias %{name}"
        kind = SCALARS[word]
        self.write(name, Typed(f"%{name}", kind))
        return f"{kind} %{name}"

    def write(self, name: str, value: Typed) -> None:
        if name not in self.variables:
            kind = "i64" if value.type == "i1" else value.type
            self.variables[name] = (self.allocate(name, kind), kind)
        slot, kind = self.variables[name]
        self.lines.append(f"store {kind} {self.cast(value, kind).text}, ptr {slot}")

    # --- statements ---

    def block(self, statements: list[ast.stmt]) -> None:
        for statement in statements:
            getattr(self, f"on_{type(statement).__name__}")(statement)

    def on_Expr(self, node: ast.Expr) -> None:
        if isinstance(node.value, ast.Call):
            self.expression(node.value)

    def on_Assign(self, node: ast.Assign) -> None:
        values = node.value.elts if isinstance(node.value, ast.Tuple) else [node.value]
        computed = [self.expression(value) for value in values]
        for target in node.targets:
            places = target.elts if isinstance(target, ast.Tuple) else [target]
            for destination, value in zip(places, computed, strict=True):
                self.store(destination, value)

    def on_AugAssign(self, node: ast.AugAssign) -> None:
        self.store(node.target, self.expression(ast.BinOp(node.target, node.op, node.value)))

    def store(self, target: Any, value: Typed) -> None:
        if isinstance(target, ast.Name):
            return self.write(target.id, value)
        address, element = self.place(target.value, target.slice)
        text = self.cast(value, "double" if element == "double" else "i64").text
        if element in ("i32", "i16", "i8"):
            text = self.emit(f"trunc i64 {text} to {element}")
        self.lines.append(f"store {element} {text}, ptr {address}")
        return None

    def on_Return(self, node: ast.Return) -> None:
        result = result_type(self.tree)
        value = "" if node.value is None else f" {self.cast(self.expression(node.value), result).text}"
        self.lines.append(f"ret {result}{value}")
        self.lines.append(f"{self.name('after')}:")

    def on_Continue(self, node: ast.Continue) -> None:
        self.jump(self.loops[-1])
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

    def inside(self, node: ast.For | ast.While, further: str) -> None:
        """Translate the body of a loop. further: the label to which `continue` jumps."""
        self.loops.append(further)
        self.block(node.body)
        self.loops.pop()

    def on_While(self, node: ast.While) -> None:
        test, body, end = self.name("test"), self.name("body"), self.name("end")
        self.label(test)
        self.branch(node.test, body, end)
        self.lines.append(f"{body}:")
        self.inside(node, test)
        self.jump(test)
        self.lines.append(f"{end}:")

    def on_For(self, node: ast.For) -> None:
        call: Any = node.iter
        bounds = [self.cast(self.expression(argument), "i64").text for argument in call.args]
        start, stop, step = ("0", *bounds, "1") if len(bounds) == 1 else (*bounds, "1")[:3]
        test, body, further, end = (self.name(label) for label in ("test", "body", "next", "end"))
        counter = self.allocate("counter", "i64")
        self.lines.append(f"store i64 {start}, ptr {counter}")
        self.label(test)
        index = self.emit(f"load i64, ptr {counter}")
        going = self.emit(f"icmp {'sgt' if step.startswith('-') else 'slt'} i64 {index}, {stop}")
        self.lines.append(f"br i1 {going}, label %{body}, label %{end}\n{body}:")
        self.store(node.target, Typed(index, "i64"))
        self.inside(node, further)
        self.label(further)
        self.lines.append(f"store i64 {self.emit(f'add nsw i64 {index}, {step}')}, ptr {counter}")
        self.jump(test)
        self.lines.append(f"{end}:")
