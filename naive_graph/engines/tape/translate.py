"""A small subset of Python becomes LLVM, so that the catalogue compiles from its own source.

A function of the subset has annotated arguments: `float`, `int`, or the arrays
`Floats`, `Ints` and `Bytes`. It may use arithmetic, comparisons, conditions,
`for i in range(...)`, `while`, other such functions, and those of `math`. It also
runs as plain Python. Floats keep Python's order of operations to the bit.

An argument `*xs` stands for operands that lie scattered in an array: a span of
row numbers, to be looked up one by one.
"""

from __future__ import annotations

import ast
import builtins
import inspect
import math
import struct
import textwrap
from collections.abc import Callable
from functools import cache as once
from typing import Any, NamedTuple

from ... import ieee

Floats = Any  # an array of float64
Ints = Any  # an array of int32
Bytes = Any  # an array of uint8

ELEMENT = {"Floats": ("double", 8), "Ints": ("i32", 4), "Bytes": ("i8", 1)}
SCALAR = {"float": "double", "int": "i64"}
# What C does by itself, Python's `try` only imitates.
NATIVE: dict[Any, str] = {ieee.pow: "pow", ieee.sinh: "sinh", ieee.atanh: "atanh"}
FLOAT_OPS = {ast.Add: "fadd", ast.Sub: "fsub", ast.Mult: "fmul", ast.Div: "fdiv"}
INT_OPS = {ast.Add: "add", ast.Sub: "sub", ast.Mult: "mul", ast.FloorDiv: "sdiv", ast.Mod: "srem"}
FLOAT_TESTS = {ast.Lt: "olt", ast.LtE: "ole", ast.Gt: "ogt", ast.GtE: "oge", ast.Eq: "oeq", ast.NotEq: "une"}
INT_TESTS = {ast.Lt: "slt", ast.LtE: "sle", ast.Gt: "sgt", ast.GtE: "sge", ast.Eq: "eq", ast.NotEq: "ne"}


class Typed(NamedTuple):
    """A value in LLVM, and its type: double, i64, i1, or {double, double} for a pair."""

    text: str
    type: str


class Span(NamedTuple):
    """Operands that are looked up: base[rows[k] * stride] for k below count. `first` may be a name for operand -1."""

    base: str
    rows: str
    count: str
    stride: str
    before: str | None = None


class NotInSubset(Exception):
    """The function uses something that does not compile."""


class Module:
    """Functions translated so far, each once, with the ones that they call."""

    def __init__(self) -> None:
        self.texts: list[str] = []
        self.names: dict[Any, str] = {}
        self.library: set[str] = set()  # functions of C, "double (double)" each

    def add(self, function: Callable[..., Any], exported: bool = False) -> str:
        """The name of the translated function."""
        if function not in self.names:
            name = f"{function.__module__.rsplit('.', 1)[-1]}_{function.__name__}".replace("<lambda>", "f")
            self.names[function] = f"{name}_{len(self.names)}" if not exported else function.__name__
            tree = syntax(function)
            text = Translation(self, tree, function.__globals__).text(self.names[function], exported)
            self.texts.append(text)
        return self.names[function]

    def math(self, name: str, arity: int) -> str:
        self.library.add(f"declare double @{name}({', '.join(['double'] * arity)}) #0")
        return name

    def text(self) -> str:
        """The whole module. C's functions of numbers touch nothing else."""
        return "\n".join(
            [
                *sorted(self.library),
                "declare double @llvm.fabs.f64(double)",
                "declare double @llvm.copysign.f64(double, double)",
                "declare double @llvm.sqrt.f64(double)",
                *self.texts,
                "attributes #0 = { nounwind willreturn memory(none) }",
            ]
        )


def syntax(function: Callable[..., Any]) -> ast.FunctionDef:
    tree = ast.parse(textwrap.dedent(inspect.getsource(function))).body[0]
    if not isinstance(tree, ast.FunctionDef):
        raise NotInSubset(f"{function} is not written with def")
    return tree


class Translation:
    """One function on its way to LLVM."""

    def __init__(self, module: Module, tree: ast.FunctionDef, names: dict[str, Any]) -> None:
        self.module, self.tree, self.names = module, tree, names
        self.lines: list[str] = []
        self.slots: list[str] = []  # stack slots of the variables; LLVM turns them into registers
        self.variables: dict[str, str] = {}
        self.arrays: dict[str, str] = {}
        self.spans: dict[str, Span] = {}
        self.serial = 0

    def text(self, name: str, exported: bool) -> str:
        arguments = self.arguments()
        for statement in self.tree.body:
            self.statement(statement)
        result = self.result()
        self.lines.append("ret void" if result == "void" else f"ret {result} zeroinitializer")
        linkage = "define" if exported else "define internal"
        attribute = "nounwind" if exported else "alwaysinline nounwind"
        body = "\n ".join([*self.slots, *self.lines])
        return f"{linkage} {result} @{name}({arguments}) {attribute} {{\n {body}\n}}\n"

    def result(self) -> str:
        returned = self.tree.returns
        written = ast.unparse(returned) if returned is not None else "None"
        return {"None": "void", "int": "i64", "tuple[float, float]": "{double, double}"}.get(written, "double")

    def arguments(self) -> str:
        arguments = []
        for argument in self.tree.args.args:
            kind = ast.unparse(argument.annotation) if argument.annotation else "float"
            name = argument.arg
            if kind in ELEMENT:
                self.arrays[name] = kind
                arguments.append(f"ptr noalias %{name}")
            else:
                arguments.append(f"{SCALAR[kind]} %{name}")
                self.write(name, Typed(f"%{name}", SCALAR[kind]))
        spread = self.tree.args.vararg or self._tuple_argument()
        if spread is not None:
            before = self.tree.args.args[-1].arg if self.tree.args.args and self.tree.args.vararg else None
            self.spans[spread.arg] = Span("%base", "%rows", "%count", "%stride", before)
            arguments.append("ptr %base, ptr %rows, i64 %count, i64 %stride")
        return ", ".join(arguments)

    def _tuple_argument(self) -> ast.arg | None:
        """An argument annotated as a tuple of floats is a span too."""
        last = self.tree.args.args[-1] if self.tree.args.args else None
        if last is None or last.annotation is None or "tuple" not in ast.unparse(last.annotation):
            return None
        return last

    # --- writing ---

    def name(self, stem: str) -> str:
        self.serial += 1
        return f"{stem}{self.serial}"

    def emit(self, right: str) -> str:
        name = f"%{self.name('t')}"
        self.lines.append(f"{name} = {right}")
        return name

    def label(self, name: str) -> None:
        self.lines.append(f"br label %{name}\n{name}:")

    def write(self, name: str, value: Typed) -> None:
        if name not in self.variables:
            self.variables[name] = "i64" if value.type == "i1" else value.type
            self.slots.append(f"%slot.{name} = alloca {self.variables[name]}")
        value = self.cast(value, self.variables[name])
        self.lines.append(f"store {value.type} {value.text}, ptr %slot.{name}")

    def cast(self, value: Typed, wanted: str) -> Typed:
        if value.type == wanted:
            return value
        how = {
            ("i1", "i64"): "zext i1 {} to i64",
            ("i1", "double"): "uitofp i1 {} to double",
            ("i64", "double"): "sitofp i64 {} to double",
        }.get((value.type, wanted))
        if how is None:
            raise NotInSubset(f"a {value.type} where a {wanted} is due")
        return Typed(self.emit(how.format(value.text)), wanted)

    # --- statements ---

    def statement(self, node: ast.stmt) -> None:
        handle = getattr(self, f"on_{type(node).__name__}", None)
        if handle is None:
            raise NotInSubset(f"{type(node).__name__} in {self.tree.name}")
        handle(node)

    def block(self, statements: list[ast.stmt]) -> None:
        for statement in statements:
            self.statement(statement)

    def on_Expr(self, node: ast.Expr) -> None:
        if isinstance(node.value, ast.Call):
            self.expression(node.value)

    def on_Assign(self, node: ast.Assign) -> None:
        (target,) = node.targets
        if isinstance(target, ast.Tuple) and isinstance(node.value, ast.Call):
            pair = self.expression(node.value)
            for place, each in enumerate(target.elts):
                self.store(each, Typed(self.emit(f"extractvalue {pair.type} {pair.text}, {place}"), "double"))
        elif isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple):
            values = [self.expression(each) for each in node.value.elts]
            for each, value in zip(target.elts, values, strict=True):
                self.store(each, value)
        else:
            self.store(target, self.expression(node.value))

    def on_AugAssign(self, node: ast.AugAssign) -> None:
        before = ast.parse(ast.unparse(node.target), mode="eval").body
        self.store(node.target, self.expression(ast.BinOp(before, node.op, node.value)))

    def store(self, target: ast.expr, value: Typed) -> None:
        if isinstance(target, ast.Name):
            return self.write(target.id, value)
        assert isinstance(target, ast.Subscript)
        place, kind = self.place(target)
        element, size = ELEMENT[kind]
        if element == "double":
            text = self.cast(value, "double").text
        else:
            text = self.emit(f"trunc i64 {self.cast(value, 'i64').text} to {element}")
        self.lines.append(f"store {element} {text}, ptr {place}, align {size}")

    def on_Return(self, node: ast.Return) -> None:
        result = self.result()
        if node.value is None:
            self.lines.append("ret void")
        elif isinstance(node.value, ast.Tuple):
            one, two = (self.cast(self.expression(each), "double").text for each in node.value.elts)
            half = self.emit(f"insertvalue {result} undef, double {one}, 0")
            self.lines.append(f"ret {result} {self.emit(f'insertvalue {result} {half}, double {two}, 1')}")
        else:
            self.lines.append(f"ret {result} {self.cast(self.expression(node.value), result).text}")
        self.lines.append(f"{self.name('after')}:")

    def on_If(self, node: ast.If) -> None:
        yes, no, end = self.name("yes"), self.name("no"), self.name("end")
        self.lines.append(f"br i1 {self.condition(node.test)}, label %{yes}, label %{no}\n{yes}:")
        self.block(node.body)
        self.lines.append(f"br label %{end}\n{no}:")
        self.block(node.orelse)
        self.label(end)

    def on_While(self, node: ast.While) -> None:
        test, body, end = self.name("test"), self.name("body"), self.name("end")
        self.label(test)
        self.lines.append(f"br i1 {self.condition(node.test)}, label %{body}, label %{end}\n{body}:")
        self.block(node.body)
        self.lines.append(f"br label %{test}\n{end}:")

    def on_For(self, node: ast.For) -> None:
        assert isinstance(node.target, ast.Name)
        span, first = self._span(node.iter)
        if span is not None:
            return self._for_operands(node, span, first)
        assert isinstance(node.iter, ast.Call)
        bounds = [self.cast(self.expression(each), "i64").text for each in node.iter.args]
        start, stop, step = ("0", *bounds, "1") if len(bounds) == 1 else (*bounds, "1")[:3]
        self._loop(start, stop, step, lambda index: self._body(node, Typed(index, "i64")))

    def _body(self, node: ast.For, value: Typed) -> None:
        assert isinstance(node.target, ast.Name)
        self.write(node.target.id, value)
        self.block(node.body)

    def _for_operands(self, node: ast.For, span: Span, first: int) -> None:
        self._loop(str(first), span.count, "1", lambda index: self._body(node, self._operand(span, index)))

    def _loop(self, start: str, stop: str, step: str, body: Callable[[str], None]) -> None:
        test, inside, end = self.name("test"), self.name("body"), self.name("end")
        counter = f"%{self.name('counter')}"
        self.slots.append(f"{counter} = alloca i64")
        self.lines.append(f"store i64 {start}, ptr {counter}")
        self.label(test)
        index = self.emit(f"load i64, ptr {counter}")
        going = self.emit(f"icmp {'sgt' if step.startswith('-') else 'slt'} i64 {index}, {stop}")
        self.lines.append(f"br i1 {going}, label %{inside}, label %{end}\n{inside}:")
        body(index)
        self.lines.append(f"store i64 {self.emit(f'add nsw i64 {index}, {step}')}, ptr {counter}")
        self.lines.append(f"br label %{test}\n{end}:")

    # --- expressions ---

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
        zero, test = ("0.0", "fcmp une") if value.type == "double" else ("0", "icmp ne")
        return self.emit(f"{test} {value.type} {value.text}, {zero}")

    def of_Constant(self, node: ast.Constant) -> Typed:
        if isinstance(node.value, float):
            return literal(node.value)
        return Typed(str(int(node.value)), "i64")  # type: ignore[arg-type]

    def of_Name(self, node: ast.Name) -> Typed:
        if node.id in self.variables:
            kind = self.variables[node.id]
            return Typed(self.emit(f"load {kind}, ptr %slot.{node.id}"), kind)
        value = self.names.get(node.id)
        if isinstance(value, float):
            return literal(value)
        if isinstance(value, int):
            return Typed(str(value), "i64")
        raise NotInSubset(f"the name {node.id} in {self.tree.name}")

    def of_Attribute(self, node: ast.Attribute) -> Typed:
        value = self.outside(node)
        if isinstance(value, float):
            return literal(value)
        raise NotInSubset(ast.unparse(node))

    def outside(self, node: ast.expr) -> Any:
        """What a name means outside the function: a function, a module, a number."""
        if isinstance(node, ast.Name):
            return self.names.get(node.id, getattr(builtins, node.id, None))
        if isinstance(node, ast.Attribute):
            return getattr(self.outside(node.value), node.attr, None)
        raise NotInSubset(ast.unparse(node))

    def of_BinOp(self, node: ast.BinOp) -> Typed:
        left, right = self.expression(node.left), self.expression(node.right)
        if "double" in (left.type, right.type) or isinstance(node.op, ast.Div):
            left, right = self.cast(left, "double"), self.cast(right, "double")
            return Typed(self.emit(f"{FLOAT_OPS[type(node.op)]} double {left.text}, {right.text}"), "double")
        left, right = self.cast(left, "i64"), self.cast(right, "i64")
        return Typed(self.emit(f"{INT_OPS[type(node.op)]} i64 {left.text}, {right.text}"), "i64")

    def of_UnaryOp(self, node: ast.UnaryOp) -> Typed:
        if isinstance(node.op, ast.Not):
            return Typed(self.emit(f"xor i1 {self.condition(node.operand)}, true"), "i1")
        value = self.expression(node.operand)
        if value.type == "double":
            return Typed(self.emit(f"fneg double {value.text}"), "double")
        if value.text.isdigit():
            return Typed(f"-{value.text}", "i64")
        return Typed(self.emit(f"sub i64 0, {self.cast(value, 'i64').text}"), "i64")

    def of_BoolOp(self, node: ast.BoolOp) -> Typed:
        """Both sides are evaluated: here nothing raises and nothing is changed."""
        word = "and" if isinstance(node.op, ast.And) else "or"
        tests = [self.condition(each) for each in node.values]
        found = tests[0]
        for test in tests[1:]:
            found = self.emit(f"{word} i1 {found}, {test}")
        return Typed(found, "i1")

    def of_Compare(self, node: ast.Compare) -> Typed:
        sides = [self.expression(each) for each in (node.left, *node.comparators)]
        found = ""
        for one, operator, two in zip(sides, node.ops, sides[1:]):
            test = self.test(one, type(operator), two)
            found = self.emit(f"and i1 {found}, {test}") if found else test
        return Typed(found, "i1")

    def test(self, one: Typed, operator: type[ast.cmpop], two: Typed) -> str:
        kind, words, test = ("i64", INT_TESTS, "icmp")
        if "double" in (one.type, two.type):
            kind, words, test = ("double", FLOAT_TESTS, "fcmp")
        one, two = self.cast(one, kind), self.cast(two, kind)
        return self.emit(f"{test} {words[operator]} {kind} {one.text}, {two.text}")

    def of_IfExp(self, node: ast.IfExp) -> Typed:
        test, one, two = self.condition(node.test), self.expression(node.body), self.expression(node.orelse)
        kind = "double" if "double" in (one.type, two.type) else "i64"
        one, two = self.cast(one, kind), self.cast(two, kind)
        return Typed(self.emit(f"select i1 {test}, {kind} {one.text}, {kind} {two.text}"), kind)

    def of_Subscript(self, node: ast.Subscript) -> Typed:
        if isinstance(node.value, ast.Name) and node.value.id in self.spans:
            return self._operand(self.spans[node.value.id], self.expression(node.slice).text)
        place, kind = self.place(node)
        element, size = ELEMENT[kind]
        value = self.emit(f"load {element}, ptr {place}, align {size}")
        if element == "double":
            return Typed(value, "double")
        return Typed(self.emit(f"{'sext' if element == 'i32' else 'zext'} {element} {value} to i64"), "i64")

    def place(self, node: ast.Subscript) -> tuple[str, str]:
        assert isinstance(node.value, ast.Name)
        kind = self.arrays[node.value.id]
        index = self.cast(self.expression(node.slice), "i64").text
        return self.emit(f"getelementptr {ELEMENT[kind][0]}, ptr %{node.value.id}, i64 {index}"), kind

    # --- spans ---

    def _operand(self, span: Span, index: str) -> Typed:
        row = self.emit(f"load i32, ptr {self.emit(f'getelementptr i32, ptr {span.rows}, i64 {index}')}, align 4")
        offset = self.emit(f"mul nsw i64 {self.emit(f'sext i32 {row} to i64')}, {span.stride}")
        place = self.emit(f"getelementptr double, ptr {span.base}, i64 {offset}")
        return Typed(self.emit(f"load double, ptr {place}, align 8"), "double")

    def _span(self, node: ast.expr) -> tuple[Span | None, int]:
        """The span that an expression means, and from which operand on: xs, xs[1:], (a, *xs)."""
        if isinstance(node, ast.Name) and node.id in self.spans:
            return self.spans[node.id], 0
        if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Slice):
            span, _ = self._span(node.value)
            assert isinstance(node.slice.lower, ast.Constant)
            return span, int(node.slice.lower.value)  # type: ignore[arg-type]
        if isinstance(node, ast.Tuple) and isinstance(node.elts[-1], ast.Starred):
            span, _ = self._span(node.elts[-1].value)
            if span is not None and [ast.unparse(each) for each in node.elts[:-1]] == [span.before]:
                rows = self.emit(f"getelementptr i32, ptr {span.rows}, i64 -1")  # the operand before the span
                return Span(span.base, rows, self.emit(f"add i64 {span.count}, 1"), span.stride), 0
        return None, 0

    # --- calls ---

    def of_Call(self, node: ast.Call) -> Typed:
        function = self.outside(node.func)
        if function is float:
            return self.cast(self.expression(node.args[0]), "double")
        arguments, spread = [], ""
        for argument in node.args:
            span, _ = self._span(argument.value if isinstance(argument, ast.Starred) else argument)
            if span is not None:
                spread = f"ptr {span.base}, ptr {span.rows}, i64 {span.count}, i64 {span.stride}"
            else:
                arguments.append(self.expression(argument))
        return apply(self, function, arguments, spread)


def apply(into: Translation, function: Any, arguments: list[Typed], spread: str = "") -> Typed:
    """A call of `function`: one of C's, an instruction, or a function that is translated as well."""
    doubles = [into.cast(each, "double").text for each in arguments]
    listed = ", ".join([*(f"double {each}" for each in doubles), *([spread] if spread else [])])
    if function is ieee.div:
        return Typed(into.emit(f"fdiv double {doubles[0]}, {doubles[1]}"), "double")
    if function is math.isinf:
        return Typed(into.emit(f"fcmp oeq double {apply(into, abs, arguments).text}, {literal(math.inf).text}"), "i1")
    name = counterpart(function)
    if name is not None:
        known = name if name.startswith("llvm.") else into.module.math(name, len(doubles))
        return Typed(into.emit(f"call double @{known}({listed})"), "double")
    if not inspect.isfunction(function):
        raise NotInSubset(f"a call of {function} in {into.tree.name}")
    returned = {"tuple[float, float]": "{double, double}"}.get(str(function.__annotations__.get("return")), "double")
    return Typed(into.emit(f"call {returned} @{into.module.add(function)}({listed})"), returned)


def counterpart(function: Any) -> str | None:
    """The function of C, or the instruction, that is the same as one of Python's `math`, guarded or not."""
    wrapped = [cell.cell_contents for cell in getattr(function, "__closure__", None) or ()]
    if len(wrapped) == 1 and inspect.isbuiltin(wrapped[0]):  # ieee's own guards make Python's like C's
        function = wrapped[0]
    if function in (abs, math.fabs):
        return "llvm.fabs.f64"
    if function is math.copysign:
        return "llvm.copysign.f64"
    if function is math.sqrt:
        return "llvm.sqrt.f64"
    if function in NATIVE:
        return NATIVE[function]
    return str(function.__name__) if inspect.isbuiltin(function) and function.__module__ == "math" else None


@once
def _bits(value: float) -> str:
    return "0x" + struct.pack(">d", value).hex().upper()


def literal(value: float) -> Typed:
    """The float, to the bit."""
    return Typed(_bits(value), "double")
