"""Trace Python functions of floats into LLVM functions: of one number, or of a vector of eight.

A function is called with registers, once for each control-flow path through it. The lanes of a
vector may take different paths, so all paths are computed, and each lane selects its own result
(if-conversion).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from . import mathematics
from .emit import Emitted, InstructionWriter, NotCompilable, Value, literal

MOST_BRANCHES = 64  # branches along one path, and
MOST_PATHS = 512  # paths through one function: more are taken for a loop that never ends
MOST_INLINED = 16  # a vector function of at most so many instructions is inlined: a call would spill all registers
PURE = "nounwind willreturn memory(none)"  # LLVM attributes of C's mathematical functions: they touch no memory


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
