"""Trace Python functions of floats into LLVM functions: of one number, or of a vector of eight.

A function is called with registers, once for each control-flow path through it. The lanes of a
vector may take different paths, so all paths are computed, and each lane selects its own result
(if-conversion).

Two classes write functions that do not come from Python: `FunctionWriter` writes those with loops,
`StraightLineFunction` writes one without branches for a whole sweep. Straight-line code is not
split into smaller functions: for 4,000 rows one function compiles faster than several that
pass values through memory, and runs in 0.93 of their time.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from . import mathematics
from .emit import Emitted, InstructionWriter, NotCompilable, Value, literal

MOST_BRANCHES = 64  # branches along one path, and
MOST_PATHS = 512  # paths through one function; if there are more, it is taken for a loop that never ends
MOST_INLINED = 16  # a vector function of at most so many instructions is inlined: a call would spill all registers
PURE = "nounwind willreturn memory(none)"  # LLVM attributes of C's mathematical functions: they touch no memory
LANES = 8  # numbers in a vector register
VECTOR = f"<{LANES} x double>"
IOTA = f"<{', '.join(f'i64 {k}' for k in range(LANES))}>"
LONG = 400  # instructions after which all results are forgotten (values loaded again), to limit register spills
PARAMETERS = "ptr %values, ptr %adjoints"

# If any lane is too large for the fast function, all lanes take the slow one.
GUARDED = """define internal {real} @"{full}"({real} %x) {{
  %size = call {real} @{fabs}({real} %x)
  %large = fcmp ugt {real} %size, {limit}{reduced}
  br i1 {any}, label %slow, label %fast
fast:
  %one = tail call {real} @"{fast}"({real} %x)
  ret {real} %one
slow:
  %two = tail call {real} @"{slow}"({real} %x)
  ret {real} %two
}}"""


class Module:
    """The traced functions of one LLVM IR text, all of the same vector width.

    width: how many floats a register holds. declared: declarations of outside functions, shared by modules of one text.
    fast: whether our own exp, log, sin ... replace the C library's. Vectors always use them; scalar code does where it
    must give the same bits as vector code.
    """

    def __init__(self, width: int = 1, declared: dict[str, str] | None = None, fast: bool = False) -> None:
        self.width, self.fast = width, fast or width > 1
        self.float_type = vector_type("double", width)
        self.bool_type = vector_type("i1", width)
        self.int_type = vector_type("i64", width)
        self.suffix = f".{f'v{width}' if width > 1 else ''}f64"  # the suffix of LLVM's intrinsics
        self.functions: dict[str, str] = {}
        self.declared: dict[str, str] = {} if declared is None else declared

    def __str__(self) -> str:
        return link_modules(self)

    def define(self, name: str, function: Callable[..., Any], arity: int) -> str:
        """The LLVM name of a function with that many parameters; traced on first use."""
        full = f"{name}/{arity}" if self.width == 1 else f"{name}/{arity}x{self.width}"
        if full not in self.functions:
            self.functions[full] = ""
            self.functions[full] = trace(self, full, function, arity)
        elif not self.functions[full]:
            raise NotCompilable("it calls itself")
        return full

    def math_function(self, name: str, arity: int) -> str:
        """The LLVM name of the replacement of a C library function: our own vector version, if there is one."""
        if name not in mathematics.FUNCTIONS:
            return self.scalarized(name, arity)
        fast = self.define(f"{name}.many", mathematics.FUNCTIONS[name], arity)
        if name not in mathematics.LIMITS:
            return fast
        full = f"{name}.any{'.one' if self.width == 1 else ''}"  # a text may have the function for registers too
        return self.guarded(full, fast, self.scalarized(name, arity), mathematics.LIMITS[name])

    def guarded(self, full: str, fast: str, slow: str, limit: float) -> str:
        """The LLVM name of a function that calls `fast` if all lanes are within a limit, else `slow`."""
        if full not in self.functions:
            fabs, any_of = f"llvm.fabs{self.suffix}", f"llvm.vector.reduce.or.v{self.width}i1"
            reduced = f"\n  %any = call i1 @{any_of}({self.bool_type} %large)" if self.width > 1 else ""
            self.functions[full] = GUARDED.format(
                full=full, fast=fast, slow=slow, limit=self.literal(limit), real=self.float_type, fabs=fabs,
                reduced=reduced, any="%any" if reduced else "%large",
            )  # fmt: skip
            self.declared[fabs] = f'declare {self.float_type} @"{fabs}"({self.float_type})'
            if reduced:
                self.declared[any_of] = f"declare i1 @{any_of}({self.bool_type})"
        return full

    def scalarized(self, name: str, arity: int) -> str:
        """The LLVM name of a function that calls the C library's function once for each lane."""
        self.declared[name] = f'declare double @"{name}"({", ".join(["double"] * arity)}) {PURE}'
        full = f"{name}.each"
        if self.width > 1 and full not in self.functions:
            self.functions[full] = _scalarized_text(self, full, name, arity)
        return full if self.width > 1 else name

    def literal(self, value: float) -> str:
        return _splat("double", literal(value), self.width)

    def integer(self, value: int) -> str:
        return _splat("i64", str(value), self.width)


def link_modules(*modules: Module) -> str:
    """One LLVM IR text of several modules that share their declarations."""
    functions = [text for module in modules for text in module.functions.values()]
    return "\n\n".join(["\n".join(modules[0].declared.values()), *functions]) + "\n"


class PathTracer(InstructionWriter):
    """Traces a function along all control-flow paths; what each gives is computed, and one is selected (if-conversion).

    A path is a string of branch decisions: "1" for true, "0" for false.
    """

    def __init__(self, module: Module, arity: int) -> None:
        super().__init__(module)
        self.path, self.decisions = "", ""  # the decisions to take, and those taken so far
        self.pending_paths = [""]  # all paths found, in the order in which they are traced
        self.conditions: dict[str, str] = {}  # the decisions that lead to a branch -> its condition
        self.parameters = [Emitted(self, f"%x{index}") for index in range(arity)]

    def branch(self, condition: str) -> bool:
        depth = len(self.decisions)
        if depth == MOST_BRANCHES:
            raise NotCompilable(f"it asks more than {MOST_BRANCHES} questions in a row")
        if depth == len(self.path):  # this branch is reached for the first time
            self.path += "1"
            self.pending_paths.append(self.decisions + "0")
            self.conditions[self.decisions] = condition
        self.decisions += self.path[depth]
        return self.decisions[-1] == "1"

    def trace_all_paths(self, function: Callable[..., Any]) -> Value:
        """Trace all paths of the function; returns its selected result."""
        results: dict[str, Value] = {}
        for path in self.pending_paths:  # grows as paths are found
            if len(self.pending_paths) > MOST_PATHS:
                raise NotCompilable(f"there are more than {MOST_PATHS} ways through it")
            self.path, self.decisions = path, ""
            result = function(*self.parameters)
            results[self.decisions] = result
        return self.select_result(results)

    def select_result(self, results: dict[str, Value], path: str = "") -> Value:
        """Emit the selects among the results of all paths that begin with `path`."""
        if path in results:
            return results[path]
        return self.select(self.conditions[path], *(self.select_result(results, path + answer) for answer in "10"))


def trace(module: Module, name: str, function: Callable[..., Any], arity: int) -> str:
    """Trace a Python function of floats into an LLVM function: call it with registers, once for each path.

    >>> print(trace(Module(), "relu", lambda x: x if x > 0 else 0.0, 1))
    define internal double @"relu"(double %x0) {
      %v0 = fcmp ogt double %x0, 0x0000000000000000
      %v1 = select i1 %v0, double %x0, double 0x0000000000000000
      ret double %v1
    }
    """
    writer = PathTracer(module, arity)
    result = writer.operand(writer.trace_all_paths(function))
    parameters = ", ".join(f"{module.float_type} %x{index}" for index in range(arity))
    short = module.width > 1 and len(writer.lines) < MOST_INLINED
    head = f'define internal {module.float_type} @"{name}"({parameters}) {"alwaysinline " if short else ""}{{'
    return "\n  ".join([head, *writer.lines, f"ret {module.float_type} {result}"]) + "\n}"


def _scalarized_text(module: Module, full: str, name: str, arity: int) -> str:
    lines, result = [], "poison"
    for lane in range(module.width):
        lane_operands = [f"%t{lane}.{index}" for index in range(arity)]
        lines += [
            f"{register} = extractelement {module.float_type} %x{index}, i32 {lane}"
            for index, register in enumerate(lane_operands)
        ]
        lines.append(
            f'%y{lane} = call double @"{name}"({", ".join(f"double {register}" for register in lane_operands)})'
        )
        lines.append(f"%r{lane} = insertelement {module.float_type} {result}, double %y{lane}, i32 {lane}")
        result = f"%r{lane}"
    parameters = ", ".join(f"{module.float_type} %x{index}" for index in range(arity))
    head = f'define internal {module.float_type} @"{full}"({parameters}) {{'
    return "\n  ".join([head, *lines, f"ret {module.float_type} {result}"]) + "\n}"


def vector_type(kind: str, width: int) -> str:
    """The LLVM type of a vector of that width; a scalar type for width 1."""
    return kind if width == 1 else f"<{width} x {kind}>"


def _splat(kind: str, text: str, width: int) -> str:
    return text if width == 1 else "<" + ", ".join([f"{kind} {text}"] * width) + ">"


# --- writers -----------------------------------------------------------------


class FunctionWriter:
    """Builds the text of one LLVM function: `let` emits an instruction with a result, `do` one without."""

    def __init__(self, head: str) -> None:
        self.lines, self.serial, self.block = [f"{head} {{", "entry:"], 0, "entry"

    def new(self, stem: str) -> str:
        self.serial += 1
        return f"{stem}{self.serial}"

    def let(self, instruction: str) -> str:
        name = self.new("%r")
        self.lines.append(f"{name} = {instruction}")
        return name

    def do(self, instruction: str) -> None:
        self.lines.append(instruction)

    def label(self, name: str) -> None:
        self.lines.append(f"{name}:")
        self.block = name

    def loop(
        self, start: Any, stop: Any, step: Any, begun: Sequence[tuple[str, str]], body: Callable[..., Any]
    ) -> list[str]:
        """for i in range(start, stop, step), with loop-carried values (phi nodes); returns their last values.

        begun: (type, initial value) of each. body: called with i and the carried values, returns their next values.
        """
        before, head, inside, after = self.block, self.new("head"), self.new("body"), self.new("done")
        i, following = self.new("%i"), self.new("%n")
        carried = [self.new("%c") for _ in begun]
        self.do(f"br label %{head}")
        phi_line = len(self.lines) + 1
        self.label(head)
        more = self.new("%m")
        self.lines += [f"{more} = icmp slt i64 {i}, {stop}", f"br i1 {more}, label %{inside}, label %{after}"]
        self.label(inside)
        results = body(i, carried) or []
        self.do(f"{following} = add i64 {i}, {step}")
        self.do(f"br label %{head}")
        last = self.block
        phis = [f"{i} = phi i64 [ {start}, %{before} ], [ {following}, %{last} ]"]
        for name, (kind, value), new in zip(carried, begun, results, strict=True):
            phis.append(f"{name} = phi {kind} [ {value}, %{before} ], [ {new}, %{last} ]")
        self.lines[phi_line:phi_line] = phis
        self.label(after)
        return carried

    # addresses and loads
    def at(self, pointer: str, index: Any, kind: str = "double") -> str:
        return self.let(f"getelementptr {kind}, ptr {pointer}, i64 {index}")

    def load(self, pointer: str, index: Any = 0, kind: str = "double", align: int = 8) -> str:
        return self.let(f"load {kind}, ptr {self.at(pointer, index)}, align {align}")

    def load_index(self, table: str, index: Any) -> str:
        """Load an entry of an i32 table, as an i64."""
        entry = self.let(f"load i32, ptr {self.at(table, index, 'i32')}")
        return self.let(f"sext i32 {entry} to i64")

    def splat(self, x: str, kind: str = "double") -> str:
        vector = f"<{LANES} x {kind}>"
        one = self.let(f"insertelement {vector} poison, {kind} {x}, i64 0")
        return self.let(f"shufflevector {vector} {one}, {vector} poison, <{LANES} x i32> zeroinitializer")

    def store(self, value: str, pointer: str, index: Any = 0, kind: str = "double") -> None:
        self.do(f"store {kind} {value}, ptr {self.at(pointer, index)}, align 8")

    def finish_with_return(self, kind: str, value: str) -> str:
        """The text of the function, ended by the return of a value."""
        return "\n  ".join([*self.lines, f"ret {kind} {value}"]) + "\n}\n"

    def __str__(self) -> str:
        return "\n  ".join([*self.lines, "ret void"]) + "\n}\n"


class StraightLineFunction(InstructionWriter):
    """Writes one function without branches; its parameters are arrays of doubles."""

    def __init__(self, module: Module, name: str, parameters: str = PARAMETERS) -> None:
        super().__init__(module)
        self.name, self.parameters = name, parameters
        self._from = 0  # the first instruction whose result may be reused

    def branch(self, condition: str) -> bool:
        raise TypeError("it asks `if` about operands; write where(condition, a, b)")

    def forget_old_results(self) -> None:
        """Forget all results, once every LONG instructions: to load a value again costs less than to spill it."""
        if len(self.lines) - self._from >= LONG:
            self._from = len(self.lines)
            self.known.clear()

    def operand(self, value: Value) -> str:
        """How the value is written in an instruction; a value in an array is loaded first."""
        if not isinstance(value, Emitted) or value.place is None:
            return super().operand(value)
        address = self.line(self._address(*value.place)).name
        return self.line(f"load {self.module.float_type}, ptr {address}, align 8").name

    def leaf(self, array: str, index: int) -> Emitted:
        """An element of an array as a value, loaded when it is used."""
        return Emitted(self, "", (array, index))

    def store(self, array: str, index: int, value: Value) -> None:
        """Emit the store of a value to an array."""
        name, address = self.operand(value), self.written(self._address(array, index))
        self.lines.append(f"store {self.module.float_type} {name}, ptr {address}, align 8")

    def _address(self, array: str, index: int) -> str:
        """The instruction that computes the address of an element."""
        return f"getelementptr double, ptr %{array}, i64 {index}"

    def function(self) -> str:
        """LLVM's assembly."""
        head = f'define void @"{self.name}"({self.parameters}) {{'
        return "\n  ".join([head, *self.lines, "ret void"]) + "\n}"

    def __str__(self) -> str:
        """The function, and what it calls."""
        return f"{self.function()}\n\n{self.module}"
