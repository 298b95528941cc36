"""Translate expressions of the Python subset (`python.py`) to LLVM instructions."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from types import FunctionType
from typing import Any, Protocol

from .emit import literal
from .fields import syntax
from .typed import SCALARS, Callee, FunctionText, Typed, result_type

FLOAT_OPS = {ast.Add: "fadd", ast.Sub: "fsub", ast.Mult: "fmul", ast.Div: "fdiv"}
INT_OPS = {
    ast.Add: "add", ast.Sub: "sub", ast.Mult: "mul", ast.FloorDiv: "sdiv", ast.Mod: "srem", ast.BitAnd: "and",
    ast.BitOr: "or", ast.BitXor: "xor", ast.LShift: "shl", ast.RShift: "ashr",
}  # fmt: skip
FLOAT_TESTS = {ast.Lt: "olt", ast.LtE: "ole", ast.Gt: "ogt", ast.GtE: "oge", ast.Eq: "oeq", ast.NotEq: "une"}
INT_TESTS = {ast.Lt: "slt", ast.LtE: "sle", ast.Gt: "sgt", ast.GtE: "sge", ast.Eq: "eq", ast.NotEq: "ne"}


class Functions(Protocol):
    """The functions that an expression of the subset may call: see `python.TranslatedModule`."""

    known: dict[str, Callee]
    declared: set[str]

    def add(self, function: Callable[..., Any], outside: bool = True) -> str:
        """The name of the translated function."""


class ExpressionTranslator(FunctionText):
    """Translates the expressions of one function: `expression` dispatches on the node, to methods `of_<Node>`."""

    def __init__(self, program: Functions, tree: ast.FunctionDef, names: Mapping[str, Any]) -> None:
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
        handle = getattr(self, f"of_{type(node).__name__}", None)
        if handle is None:
            raise self.refused(type(node).__name__)
        value: Typed = handle(node)
        return value

    def condition(self, node: ast.expr) -> str:
        value = self.expression(node)
        if value.type == "i1":
            return value.text
        if value.type not in ("double", "i64"):
            raise self.refused("nothing as a question")
        test = "fcmp une double {}, 0.0" if value.type == "double" else "icmp ne i64 {}, 0"
        return self.emit(test.format(value.text))

    def of_Constant(self, node: ast.Constant) -> Typed:
        if isinstance(node.value, float):
            return Typed(literal(node.value), "double")
        if not isinstance(node.value, int) or not -(2**63) <= node.value < 2**63:
            raise self.refused(f"the constant {node.value!r}")
        return Typed(str(int(node.value)), "i64")

    def of_Name(self, node: ast.Name) -> Typed:
        if node.id in self.variables:
            slot, kind = self.variables[node.id]
            return Typed(self.emit(f"load {kind}, ptr {slot}"), kind)
        value = self.names.get(node.id)
        if not isinstance(value, (int, float)):
            raise self.refused(f"the name {node.id}")
        return self.of_Constant(ast.Constant(value))

    def of_BinOp(self, node: ast.BinOp) -> Typed:
        left, right = self.expression(node.left), self.expression(node.right)
        kind = "double" if isinstance(node.op, ast.Div) else self.widest(left, right)
        kind = "i64" if kind == "i1" else kind
        left, right = self.cast(left, kind), self.cast(right, kind)
        words: dict[Any, str] = INT_OPS if kind == "i64" else FLOAT_OPS
        if type(node.op) not in words:
            raise self.refused(f"{type(node.op).__name__} of {'whole numbers' if kind == 'i64' else 'floats'}")
        return Typed(self.emit(f"{words[type(node.op)]} {kind} {left.text}, {right.text}"), kind)

    def of_UnaryOp(self, node: ast.UnaryOp) -> Typed:
        if isinstance(node.op, ast.Not):
            return Typed(self.emit(f"xor i1 {self.condition(node.operand)}, true"), "i1")
        value = self.expression(node.operand)
        if value.type != "double":
            value = self.cast(value, "i64")
        elif isinstance(node.op, ast.Invert):
            raise self.refused("Invert of a float")
        if isinstance(node.op, ast.UAdd):
            return value
        if isinstance(node.op, ast.Invert):
            return Typed(self.emit(f"xor i64 {value.text}, -1"), "i64")
        if value.type != "i64":
            return Typed(self.emit(f"fneg double {value.text}"), "double")
        return Typed(f"-{value.text}" if value.text.isdigit() else self.emit(f"sub i64 0, {value.text}"), "i64")

    def of_Compare(self, node: ast.Compare) -> Typed:
        if len(node.ops) > 1:
            raise self.refused("a chain of comparisons")
        operator, other = node.ops[0], node.comparators[0]
        left, right = self.expression(node.left), self.expression(other)
        kind = self.widest(left, right)
        kind = "i64" if kind == "i1" else kind
        left, right = self.cast(left, kind), self.cast(right, kind)
        words: dict[Any, str] = INT_TESTS if kind == "i64" else FLOAT_TESTS
        if type(operator) not in words:
            raise self.refused(type(operator).__name__)
        test = self.emit(
            f"{'icmp' if kind == 'i64' else 'fcmp'} {words[type(operator)]} {kind} {left.text}, {right.text}"
        )
        return Typed(test, "i1")

    def of_BoolOp(self, node: ast.BoolOp) -> Typed:
        if not _asks(node):  # Python would give the number itself
            raise self.refused("`and` of what is not a question")
        return self.of_IfExp(ast.IfExp(node, ast.Constant(1), ast.Constant(0)))

    def of_IfExp(self, node: ast.IfExp) -> Typed:
        yes, no, end = self.name("yes"), self.name("no"), self.name("end")
        self.branch(node.test, yes, no)
        self.lines.append(f"{yes}:")
        one = self.expression(node.body)
        before, self.lines = self.lines, [f"{no}:"]
        two = self.expression(node.orelse)
        kind = self.widest(one, two)
        slot = self.slot("either", kind)
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

    def place(self, xs: ast.expr, at: ast.expr) -> tuple[str, str]:
        """The address of an element of an array, and its type."""
        array, index = self.array(xs), self.cast(self.expression(at), "i64").text
        if index.startswith("-"):
            raise self.refused("an index from the end")
        element = self.arrays[array]
        return self.emit(f"getelementptr {element}, ptr %{array}, i64 {index}"), element

    def array(self, node: ast.expr) -> str:
        """The name of the array that this expression is."""
        if not isinstance(node, ast.Name) or node.id not in self.arrays:
            raise self.refused(f"{ast.unparse(node)} as an array")
        return node.id

    def of_Call(self, node: ast.Call) -> Typed:
        name = ast.unparse(node.func)
        if node.keywords:
            raise self.refused("a keyword")
        if name in self.program.known:
            callee = self.program.known[name]
            self.program.declared.add(callee.text)
            return self.call(callee.name, self.operands(name, node.args, callee.kinds), callee.result)
        function = self.names.get(name)
        function = getattr(function, "python", function)  # what @machine holds
        if not isinstance(function, FunctionType):
            raise self.refused(f"the function {name}")
        return self.called(function, node.args)

    def called(self, function: FunctionType, arguments: list[ast.expr]) -> Typed:
        self.calls, tree = True, syntax(function)
        name = self.program.add(function, outside=False)
        parameters = tree.args.args
        kinds = [
            SCALARS.get(ast.unparse(parameter.annotation), "ptr") for parameter in parameters if parameter.annotation
        ]
        return self.call(name, self.operands(name, arguments, kinds), result_type(tree))

    def call(self, full: str, operands: str, result: str) -> Typed:
        call = f'call {result} @"{full}"({operands})'
        if result != "void":
            return Typed(self.emit(call), result)
        self.lines.append(call)
        return Typed("", result)

    def operands(self, name: str, arguments: list[ast.expr], kinds: list[str]) -> str:
        """The arguments of a call, each converted to the parameter's type."""
        if len(arguments) != len(kinds):
            raise self.refused(f"a call with {len(arguments)} arguments for {name}, which takes {len(kinds)},")
        return ", ".join(self.passed(argument, kind) for argument, kind in zip(arguments, kinds, strict=True))

    def passed(self, argument: ast.expr, kind: str) -> str:
        if kind != "ptr":
            return f"{kind} {self.cast(self.expression(argument), kind).text}"
        if isinstance(argument, ast.Subscript):
            rest = argument.slice
            if not isinstance(rest, ast.Slice) or rest.lower is None or rest.upper or rest.step:
                raise self.refused("an array that is not xs or xs[i:]")
            return f"ptr {self.place(argument.value, rest.lower)[0]}"
        return f"ptr %{self.array(argument)}"


def _asks(node: ast.expr) -> bool:
    """Whether the expression is a bool: a comparison, `not`, or `and`/`or` of these."""
    if isinstance(node, ast.BoolOp):
        return all(map(_asks, node.values))
    return isinstance(node, ast.Compare) or (isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not))
