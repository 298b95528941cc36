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
import inspect
import textwrap
from collections.abc import Callable
from typing import Any, NamedTuple, TypeAlias

from .emit import literal

LANES = 8  # floats that a register holds
Floats: TypeAlias = Any  # arrays of float64,
Ints: TypeAlias = Any  # int32,
Longs: TypeAlias = Any  # int64,
Bytes: TypeAlias = Any  # uint8
ELEMENTS = {"Floats": "double", "Ints": "i32", "Longs": "i64", "Bytes": "i8"}
SCALARS = {"float": "double", "int": "i64", "None": "void"}
VECTOR, MASK = f"<{LANES} x double>", f"<{LANES} x i1>"
FLOAT_OPS = {ast.Add: "fadd", ast.Sub: "fsub", ast.Mult: "fmul", ast.Div: "fdiv"}
INT_OPS = {
    ast.Add: "add", ast.Sub: "sub", ast.Mult: "mul", ast.FloorDiv: "sdiv", ast.Mod: "srem", ast.BitAnd: "and",
    ast.BitOr: "or", ast.BitXor: "xor", ast.LShift: "shl", ast.RShift: "lshr",
}  # fmt: skip
FLOAT_TESTS = {ast.Lt: "olt", ast.LtE: "ole", ast.Gt: "ogt", ast.GtE: "oge", ast.Eq: "oeq", ast.NotEq: "une"}
INT_TESTS = {ast.Lt: "slt", ast.LtE: "sle", ast.Gt: "sgt", ast.GtE: "sge", ast.Eq: "eq", ast.NotEq: "ne"}


class Typed(NamedTuple):
    """A value in LLVM, and its type."""

    text: str
    type: str


class NotInSubset(Exception):
    """The function uses something that does not compile."""


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


def syntax(function: Callable[..., Any]) -> ast.FunctionDef:
    tree = ast.parse(textwrap.dedent(inspect.getsource(function))).body[0]
    assert isinstance(tree, ast.FunctionDef)
    return tree


def result_type(tree: ast.FunctionDef) -> str:
    return SCALARS[ast.unparse(tree.returns) if tree.returns is not None else "None"]


class _Writing:
    """The lines of one function; names, labels and conversions."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.slots: list[str] = []  # places of the variables on the stack; LLVM turns them into registers
        self.serial = 0

    def name(self, stem: str) -> str:
        self.serial += 1
        return f"{stem}{self.serial}"

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
        name = f"%{self.name(stem + '.')}"
        self.slots.append(f"{name} = alloca {kind}")
        return name

    def cast(self, value: Typed, wanted: str) -> Typed:
        if value.type == wanted:
            return value
        if wanted == VECTOR:
            return self.spread(self.cast(value, "double"))
        how = {
            ("i1", "i64"): "zext i1 {} to i64",
            ("i1", "double"): "uitofp i1 {} to double",
            ("i64", "double"): "sitofp i64 {} to double",
        }.get((value.type, wanted))
        if how is None:
            raise NotInSubset(f"a {value.type} where a {wanted} is due")
        return Typed(self.emit(how.format(value.text)), wanted)

    def spread(self, value: Typed) -> Typed:
        """The same float in every lane."""
        first = self.emit(f"insertelement {VECTOR} poison, double {value.text}, i64 0")
        zeros = f"<{LANES} x i32> zeroinitializer"
        return Typed(self.emit(f"shufflevector {VECTOR} {first}, {VECTOR} poison, {zeros}"), VECTOR)

    def widest(self, *values: Typed) -> str:
        kinds = {value.type for value in values}
        return next(kind for kind in (VECTOR, "double", "i64", "i1") if kind in kinds)


class _Translation(_Writing):
    """One function on its way to LLVM."""

    def __init__(self, program: Program, tree: ast.FunctionDef, names: dict[str, Any]) -> None:
        super().__init__()
        self.program, self.tree, self.names = program, tree, names
        self.variables: dict[str, tuple[str, str]] = {}  # name -> its slot and type
        self.arrays: dict[str, str] = {}
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
        word = INT_OPS[type(node.op)] if kind == "i64" else FLOAT_OPS[type(node.op)]  # type: ignore[index]
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
