"""Expressions of the subset of Python, as LLVM's instructions."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any, Protocol

from .emit import literal
from .typed import LANES, MASK, SCALARS, VECTOR, NotInSubset, Typed, Writing, result_type, syntax

FLOAT_OPS = {ast.Add: "fadd", ast.Sub: "fsub", ast.Mult: "fmul", ast.Div: "fdiv"}
INT_OPS = {
    ast.Add: "add", ast.Sub: "sub", ast.Mult: "mul", ast.FloorDiv: "sdiv", ast.Mod: "srem", ast.BitAnd: "and",
    ast.BitOr: "or", ast.BitXor: "xor", ast.LShift: "shl", ast.RShift: "lshr",
}  # fmt: skip
FLOAT_TESTS = {ast.Lt: "olt", ast.LtE: "ole", ast.Gt: "ogt", ast.GtE: "oge", ast.Eq: "oeq", ast.NotEq: "une"}
INT_TESTS = {ast.Lt: "slt", ast.LtE: "sle", ast.Gt: "sgt", ast.GtE: "sge", ast.Eq: "eq", ast.NotEq: "ne"}


class Functions(Protocol):
    """What a program has that an expression may call: see `python.Program`."""

    known: dict[str, tuple[str, list[str], str]]
    declared: set[str]

    def add(self, function: Callable[..., Any], outside: bool = True) -> str:
        """The name of the translated function."""


class Expressions(Writing):
    """The expressions of one function: `expression` gives the value of any."""

    def __init__(self, program: Functions, tree: ast.FunctionDef, names: dict[str, Any]) -> None:
        super().__init__()
        self.program, self.tree, self.names = program, tree, names
        self.variables: dict[str, tuple[str, str]] = {}  # name -> its slot and type
        self.arrays: dict[str, str] = {}

    def branch(self, test: ast.expr, yes: str, no: str) -> None:
        """Go to `yes` if the test holds; `and` and `or` look no further than they must."""
        if isinstance(test, ast.BoolOp):
            for each in test.values[:-1]:
                further = self.name("further")
                self.branch(each, *((further, no) if isinstance(test.op, ast.And) else (yes, further)))
                self.lines.append(f"{further}:")
            return self.branch(test.values[-1], yes, no)
        self.lines.append(f"br i1 {self.condition(test)}, label %{yes}, label %{no}")
        return None

    def expression(self, node: ast.expr) -> Typed:
        handle = getattr(self, f"of_{type(node).__name__}", None)
        if handle is None:
            raise NotInSubset(f"{type(node).__name__} in {self.tree.name}")
        value: Typed = handle(node)
        return value

    def condition(self, node: ast.expr) -> str:
        value = self.expression(node)
        if value.type == "i1":
            return value.text
        test = "fcmp une double {}, 0.0" if value.type == "double" else "icmp ne i64 {}, 0"
        return self.emit(test.format(value.text))

    def of_Constant(self, node: ast.Constant) -> Typed:
        if isinstance(node.value, float):
            return Typed(literal(node.value), "double")
        return Typed(str(int(node.value)), "i64")  # type: ignore[arg-type]

    def of_Name(self, node: ast.Name) -> Typed:
        if node.id in self.variables:
            slot, kind = self.variables[node.id]
            return Typed(self.emit(f"load {kind}, ptr {slot}"), kind)
        value = self.names.get(node.id)
        if not isinstance(value, (int, float)):
            raise NotInSubset(f"the name {node.id} in {self.tree.name}")
        return self.of_Constant(ast.Constant(value))

    def of_BinOp(self, node: ast.BinOp) -> Typed:
        left, right = self.expression(node.left), self.expression(node.right)
        kind = "double" if isinstance(node.op, ast.Div) and VECTOR not in left + right else self.widest(left, right)
        kind = "i64" if kind == "i1" else kind
        left, right = self.cast(left, kind), self.cast(right, kind)
        word = INT_OPS[type(node.op)] if kind == "i64" else FLOAT_OPS[type(node.op)]
        return Typed(self.emit(f"{word} {kind} {left.text}, {right.text}"), kind)

    def of_UnaryOp(self, node: ast.UnaryOp) -> Typed:
        if isinstance(node.op, ast.Not):
            return Typed(self.emit(f"xor i1 {self.condition(node.operand)}, true"), "i1")
        value = self.expression(node.operand)
        if value.type in ("double", VECTOR):
            return Typed(self.emit(f"fneg {value.type} {value.text}"), value.type)
        return Typed(f"-{value.text}" if value.text.isdigit() else self.emit(f"sub i64 0, {value.text}"), "i64")

    def of_Compare(self, node: ast.Compare) -> Typed:
        (operator,), (other,) = node.ops, node.comparators
        left, right = self.expression(node.left), self.expression(other)
        kind = self.widest(left, right)
        kind = "i64" if kind == "i1" else kind
        left, right = self.cast(left, kind), self.cast(right, kind)
        if kind == "i64":
            return Typed(self.emit(f"icmp {INT_TESTS[type(operator)]} i64 {left.text}, {right.text}"), "i1")
        test = self.emit(f"fcmp {FLOAT_TESTS[type(operator)]} {kind} {left.text}, {right.text}")
        return Typed(test, MASK if kind == VECTOR else "i1")

    def of_BoolOp(self, node: ast.BoolOp) -> Typed:
        slot = self.slot("both", "i64")
        yes, no, end = self.name("yes"), self.name("no"), self.name("end")
        self.branch(node, yes, no)
        for label, answer in ((yes, 1), (no, 0)):
            self.lines += [f"{label}:", f"store i64 {answer}, ptr {slot}", f"br label %{end}"]
        self.lines.append(f"{end}:")
        return Typed(self.emit(f"load i64, ptr {slot}"), "i64")

    def of_IfExp(self, node: ast.IfExp) -> Typed:
        test = self.condition(node.test)
        one, two = self.expression(node.body), self.expression(node.orelse)
        kind = self.widest(one, two)
        one, two = self.cast(one, kind), self.cast(two, kind)
        return Typed(self.emit(f"select i1 {test}, {kind} {one.text}, {kind} {two.text}"), kind)

    def of_Subscript(self, node: ast.Subscript) -> Typed:
        place, element = self.place(node)
        if isinstance(node.slice, ast.Slice):
            return Typed(self.emit(f"load {VECTOR}, ptr {place}, align 8"), VECTOR)
        value = self.emit(f"load {element}, ptr {place}")
        if element in ("double", "i64"):
            return Typed(value, element)
        return Typed(self.emit(f"{'sext' if element == 'i32' else 'zext'} {element} {value} to i64"), "i64")

    def place(self, node: ast.Subscript) -> tuple[str, str]:
        assert isinstance(node.value, ast.Name)
        element = self.arrays[node.value.id]
        at: Any = node.slice.lower if isinstance(node.slice, ast.Slice) else node.slice
        index = self.cast(self.expression(at), "i64").text
        return self.emit(f"getelementptr {element}, ptr %{node.value.id}, i64 {index}"), element

    def of_Call(self, node: ast.Call) -> Typed:
        assert isinstance(node.func, ast.Name)
        name = node.func.id
        if name == "many":
            return self.cast(self.expression(node.args[0]), VECTOR)
        if name == "fma":
            values = [self.cast(self.expression(each), VECTOR).text for each in node.args]
            operands = ", ".join(f"{VECTOR} {each}" for each in values)
            self.program.declared.add(f"declare {VECTOR} @llvm.fma.v{LANES}f64({VECTOR}, {VECTOR}, {VECTOR})")
            return Typed(self.emit(f"call {VECTOR} @llvm.fma.v{LANES}f64({operands})"), VECTOR)
        if name in self.program.known:
            full, kinds, result = self.program.known[name]
            operands = ", ".join(self.passed(each, kind) for each, kind in zip(node.args, kinds, strict=True))
            if result == "void":
                self.lines.append(f'call void @"{full}"({operands})')
                return Typed("", "void")
            return Typed(self.emit(f'call {result} @"{full}"({operands})'), result)
        return self.called(self.names[name], node.args)

    def called(self, function: Any, arguments: list[ast.expr]) -> Typed:
        tree = syntax(function)
        kinds = [ast.unparse(each.annotation) for each in tree.args.args]  # type: ignore[arg-type]
        operands = ", ".join(
            self.passed(each, SCALARS.get(kind, "ptr")) for each, kind in zip(arguments, kinds, strict=True)
        )
        call, result = f"@{self.program.add(function, outside=False)}({operands})", result_type(tree)
        if result == "void":
            self.lines.append(f"call void {call}")
            return Typed("", "void")
        return Typed(self.emit(f"call {result} {call}"), result)

    def passed(self, argument: ast.expr, kind: str) -> str:
        if kind != "ptr":
            return f"{kind} {self.cast(self.expression(argument), kind).text}"
        if isinstance(argument, ast.Subscript):  # xs[i:], the rest of an array
            return f"ptr {self.place(argument)[0]}"
        assert isinstance(argument, ast.Name)
        return f"ptr %{argument.id}"
