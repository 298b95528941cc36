"""Translate expressions of the Python subset (`python.py`) to LLVM instructions.

Every intermediate value gets a name of its own; variables are stack slots. For xs[i] + 1.0:

    %t.2 = load i64, ptr %i.1
    %t.3 = getelementptr double, ptr %xs, i64 %t.2
    %t.4 = load double, ptr %t.3
    %t.5 = fadd double %t.4, 0x3FF0000000000000
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from typing import Any

from .emit import literal
from .values import FunctionBuilder, Typed

FLOAT_OPS = {ast.Add: "fadd", ast.Sub: "fsub", ast.Mult: "fmul", ast.Div: "fdiv"}
INT_OPS = {
    ast.Add: "add", ast.Sub: "sub", ast.Mult: "mul", ast.FloorDiv: "sdiv", ast.Mod: "srem", ast.BitAnd: "and",
    ast.BitOr: "or", ast.BitXor: "xor", ast.LShift: "shl", ast.RShift: "ashr",
}  # fmt: skip
FLOAT_TESTS = {ast.Lt: "olt", ast.LtE: "ole", ast.Gt: "ogt", ast.GtE: "oge", ast.Eq: "oeq", ast.NotEq: "une"}
INT_TESTS = {ast.Lt: "slt", ast.LtE: "sle", ast.Gt: "sgt", ast.GtE: "sge", ast.Eq: "eq", ast.NotEq: "ne"}


class ExpressionTranslator(FunctionBuilder):
    """Translates the expressions of one function: `expression` dispatches on the node, to methods `of_<Node>`.

    program: the `TranslatedModule` (python.py) with the functions that it may call. names: the function's globals.
    """

    def __init__(self, program: Any, tree: ast.FunctionDef, names: Mapping[str, Any]) -> None:
        super().__init__(tree)
        self.program, self.names = program, names
        self.variables: dict[str, tuple[str, str]] = {}  # name -> its slot and type
        self.arrays: dict[str, str] = {}
        self.calls = False  # whether it calls other functions of Python's

    def branch(self, test: ast.expr, yes: str, no: str) -> None:
        """Emit a branch to `yes` if the test holds, else to `no`; `and` and `or` short-circuit."""
        if isinstance(test, ast.BoolOp):
            for value in test.values[:-1]:
                further = self.name("further")
                self.branch(value, *((further, no) if isinstance(test.op, ast.And) else (yes, further)))
                self.lines.append(f"{further}:")
            return self.branch(test.values[-1], yes, no)
        self.lines.append(f"br i1 {self.condition(test)}, label %{yes}, label %{no}")
        return None

    def expression(self, node: ast.expr) -> Typed:
        value: Typed = getattr(self, f"of_{type(node).__name__}")(node)
        return value

    def condition(self, node: ast.expr) -> str:
        value = self.expression(node)
        if value.type == "i1":
            return value.text
        test = "fcmp une double {}, 0.0" if value.type == "double" else "icmp ne i64 {}, 0"
        return self.emit(test.format(value.text))

    def of_Constant(self, node: Any) -> Typed:
        if isinstance(node.value, float):
            return Typed(literal(node.value), "double")
        return Typed(str(int(node.value)), "i64")

    def of_Name(self, node: ast.Name) -> Typed:
        if node.id in self.variables:
            slot, kind = self.variables[node.id]
            return Typed(self.emit(f"load {kind}, ptr {slot}"), kind)
        return self.of_Constant(ast.Constant(self.names[node.id]))

    def of_BinOp(self, node: ast.BinOp) -> Typed:
        kind, operands = self.cast_to_common_type(
            node.left, node.right, "double" if isinstance(node.op, ast.Div) else "i64"
        )
        words: dict[Any, str] = INT_OPS if kind == "i64" else FLOAT_OPS
        return Typed(self.emit(f"{words[type(node.op)]} {kind} {operands}"), kind)

    def of_UnaryOp(self, node: ast.UnaryOp) -> Typed:
        if isinstance(node.op, ast.Not):
            return Typed(self.emit(f"xor i1 {self.condition(node.operand)}, true"), "i1")
        value = self.expression(node.operand)
        if value.type != "double":
            value = self.cast(value, "i64")
        if isinstance(node.op, ast.UAdd):
            return value
        if isinstance(node.op, ast.Invert):
            return Typed(self.emit(f"xor i64 {value.text}, -1"), "i64")
        if value.type != "i64":
            return Typed(self.emit(f"fneg double {value.text}"), "double")
        return Typed(f"-{value.text}" if value.text.isdigit() else self.emit(f"sub i64 0, {value.text}"), "i64")

    def of_Compare(self, node: ast.Compare) -> Typed:
        (operator,), (other,) = node.ops, node.comparators
        kind, operands = self.cast_to_common_type(node.left, other, "i64")
        words: dict[Any, str] = INT_TESTS if kind == "i64" else FLOAT_TESTS
        test = f"{'icmp' if kind == 'i64' else 'fcmp'} {words[type(operator)]} {kind} {operands}"
        return Typed(self.emit(test), "i1")

    def cast_to_common_type(self, left: ast.expr, right: ast.expr, least: str) -> tuple[str, str]:
        """The common type of two operands, at least that wide, and both as they are written in an instruction."""
        values = self.expression(left), self.expression(right)
        kind = self.widest(*values, Typed("", least))
        return kind, ", ".join([self.cast(value, kind).text for value in values])

    def of_BoolOp(self, node: ast.BoolOp) -> Typed:
        """`and` and `or` as a value, 1 or 0. (Python would give the value of one operand.)"""
        return self.of_IfExp(ast.IfExp(node, ast.Constant(1), ast.Constant(0)))

    def of_IfExp(self, node: ast.IfExp) -> Typed:
        yes, no, end = self.name("yes"), self.name("no"), self.name("end")
        self.branch(node.test, yes, no)
        self.lines.append(f"{yes}:")
        one = self.expression(node.body)
        before, self.lines = self.lines, [f"{no}:"]
        two = self.expression(node.orelse)
        kind = self.widest(one, two)
        slot = self.allocate("either", kind)
        self.lines += [f"store {kind} {self.cast(two, kind).text}, ptr {slot}", f"br label %{end}"]
        after, self.lines = self.lines, before
        self.lines += [f"store {kind} {self.cast(one, kind).text}, ptr {slot}", f"br label %{end}", *after, f"{end}:"]
        return Typed(self.emit(f"load {kind}, ptr {slot}"), kind)

    def of_Subscript(self, node: ast.Subscript) -> Typed:
        address, element = self.place(node.value, node.slice)
        value = self.emit(f"load {element}, ptr {address}")
        if element in ("double", "i64"):
            return Typed(value, element)
        return Typed(self.emit(f"{'zext' if element == 'i8' else 'sext'} {element} {value} to i64"), "i64")

    def place(self, xs: Any, at: ast.expr) -> tuple[str, str]:
        """The address of an element of an array, and its type."""
        index, element = self.cast(self.expression(at), "i64").text, self.arrays[xs.id]
        assert not index.startswith("-"), "An index counts from the beginning."
        return self.emit(f"getelementptr {element}, ptr %{xs.id}, i64 {index}"), element

    def of_Call(self, node: ast.Call) -> Typed:
        name = ast.unparse(node.func)
        if name in self.program.known:
            callee = self.program.known[name]
            self.program.declared.add(callee.text)
        else:
            function = getattr(self.names[name], "python", self.names[name])  # what @machine holds
            self.calls, callee = True, self.program.add(function, outside=False)
        operands = [self.passed(argument, kind) for argument, kind in zip(node.args, callee.kinds, strict=True)]
        call = f'call {callee.result} @"{callee.name}"({", ".join(operands)})'
        if callee.result != "void":
            return Typed(self.emit(call), callee.result)
        self.lines.append(call)
        return Typed("", callee.result)

    def passed(self, argument: Any, kind: str) -> str:
        """An argument of a call, converted to the parameter's type."""
        if kind != "ptr":
            return f"{kind} {self.cast(self.expression(argument), kind).text}"
        if isinstance(argument, ast.Subscript):  # xs[i:]
            return f"ptr {self.place(argument.value, argument.slice.lower)[0]}"  # type: ignore[attr-defined]
        return f"ptr %{argument.id}"
