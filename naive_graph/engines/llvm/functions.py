"""Trace Python functions of floats into LLVM functions: of one number, or of a vector of eight.

A function is called with registers, once for each control-flow path through it. Code for one
number may branch. In a vector, lanes may take different paths, so all paths are computed, and
each lane selects its own result (if-conversion).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from . import mathematics
from .emit import Emitted, InstructionWriter, NotCompilable, Value, literal

MOST_FORKS = 64  # branches along one path, and
MOST_PATHS = 512  # paths through one function: more are taken for a loop that never ends
SHORT = 16  # a vector function of at most so many instructions is inlined: a call would spill all registers
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
        self.real = many("double", width)
        self.truth = many("i1", width)
        self.whole = many("i64", width)
        self.suffix = f".{f'v{width}' if width > 1 else ''}f64"  # the suffix of LLVM's intrinsics
        self.functions: dict[str, str] = {}
        self.declared: dict[str, str] = {} if declared is None else declared

    def __str__(self) -> str:
        return together(self)

    def define(self, name: str, function: Callable[..., Any], arity: int) -> str:
        """The LLVM name of a function with that many parameters; traced on first use."""
        full = f"{name}/{arity}" if self.width == 1 else f"{name}/{arity}x{self.width}"
        if full not in self.functions:
            self.functions[full] = ""  # it may call itself
            self.functions[full] = trace(self, full, function, arity)
        return full

    def many(self, name: str, arity: int) -> str:
        """The LLVM name of the replacement of a C library function: our own vector version, if there is one."""
        if name not in mathematics.FUNCTIONS:
            return self.each_alone(name, arity)
        fast = self.define(f"{name}.many", mathematics.FUNCTIONS[name], arity)
        if name not in mathematics.LIMITS:
            return fast
        full = f"{name}.any{'.one' if self.width == 1 else ''}"  # a text may have the function for registers too
        return self.guarded(full, fast, self.each_alone(name, arity), mathematics.LIMITS[name])

    def guarded(self, full: str, fast: str, slow: str, limit: float) -> str:
        """The LLVM name of a function that calls `fast` if all lanes are within a limit, else `slow`."""
        if full not in self.functions:
            fabs, any_of = f"llvm.fabs{self.suffix}", f"llvm.vector.reduce.or.v{self.width}i1"
            reduced = f"\n  %any = call i1 @{any_of}({self.truth} %large)" if self.width > 1 else ""
            self.functions[full] = GUARDED.format(
                full=full, fast=fast, slow=slow, limit=self.literal(limit), real=self.real, fabs=fabs,
                reduced=reduced, any="%any" if reduced else "%large",
            )  # fmt: skip
            self.declared[fabs] = f'declare {self.real} @"{fabs}"({self.real})'
            if reduced:
                self.declared[any_of] = f"declare i1 @{any_of}({self.truth})"
        return full

    def each_alone(self, name: str, arity: int) -> str:
        """The LLVM name of a function that calls the C library's function once for each lane."""
        self.declared[name] = f'declare double @"{name}"({", ".join(["double"] * arity)}) {PURE}'
        full = f"{name}.each"
        if self.width > 1 and full not in self.functions:
            self.functions[full] = _each_alone(self, full, name, arity)
        return full if self.width > 1 else name

    def literal(self, value: float) -> str:
        return _splat("double", literal(value), self.width)

    def integer(self, value: int) -> str:
        return _splat("i64", str(value), self.width)


def together(*modules: Module) -> str:
    """One LLVM IR text of several modules that share their declarations."""
    functions = [text for module in modules for text in module.functions.values()]
    return "\n\n".join(["\n".join(modules[0].declared.values()), *functions]) + "\n"


class Way(InstructionWriter):
    """Traces one control-flow path through a function: a string of branch decisions, "1" for true, "0" for false."""

    def __init__(self, module: Module, path: str, arity: int) -> None:
        super().__init__(module)
        self.path, self.here = path, ""  # the decisions to take, and those taken so far
        self.untried: list[str] = []  # paths found that are still to be traced
        self.parameters = [Emitted(self, f"%x{index}") for index in range(arity)]

    def answer(self) -> tuple[bool, str]:
        """The decision at the next branch, and whether the branch is reached for the first time."""
        depth = len(self.here)
        if depth == MOST_FORKS:
            raise NotCompilable(f"it asks more than {MOST_FORKS} questions in a row")
        new = depth >= len(self.path)
        if new:
            self.path += "1"
            self.untried.append(self.here + "0")
        return new, self.path[depth]


class Tree(Way):
    """Traces a scalar function: a tree of basic blocks, one after each decision."""

    def __init__(self, module: Module, path: str, arity: int) -> None:
        super().__init__(module, path, arity)
        self.blocks: dict[str, list[str]] = {"": []}

    def written(self, instruction: str) -> str:
        block = self.blocks[self.here]
        block.append(f"%v{self.here}.{len(block)} = {instruction}")
        return block[-1].partition(" ")[0]

    def fork(self, condition: str) -> bool:
        _, answer = self.answer()
        self.blocks[self.here].append(f"br i1 {condition}, label %b{self.here}1, label %b{self.here}0")
        self.here += answer
        self.blocks[self.here] = []
        return answer == "1"


class Choices(Way):
    """Traces a vector function: all paths are computed, and each lane selects its own result."""

    def __init__(self, module: Module, arity: int) -> None:
        super().__init__(module, "", arity)
        self.conditions: dict[str, str] = {}  # the decisions that lead to a branch -> its condition

    def fork(self, condition: str) -> bool:
        new, answer = self.answer()
        if new:
            self.conditions[self.here] = condition
        self.here += answer
        return answer == "1"

    def through(self, function: Callable[..., Any]) -> Value:
        """Trace all paths of the function; returns its selected result."""
        results: dict[str, Value] = {}
        self.untried = [""]
        for path in self.untried:  # grows as paths are found
            _check_path_count(len(self.untried))
            self.path, self.here = path, ""
            result = function(*self.parameters)
            results[self.here] = result
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
    b:
      %v.0 = fcmp ogt double %x0, 0x0000000000000000
      br i1 %v.0, label %b1, label %b0
    b0:
      ret double 0x0000000000000000
    b1:
      ret double %x0
    }
    """
    blocks = _branches(module, function, arity) if module.width == 1 else _choices(module, function, arity)
    parameters = ", ".join(f"{module.real} %x{index}" for index in range(arity))
    short = module.width > 1 and sum(map(len, blocks.values())) <= SHORT
    lines = [f'define internal {module.real} @"{name}"({parameters}) {"alwaysinline " if short else ""}{{']
    for path in sorted(blocks):
        lines += [f"b{path}:", *(f"  {line}" for line in blocks[path])]
    return "\n".join([*lines, "}"])


def _branches(module: Module, function: Callable[..., Any], arity: int) -> dict[str, list[str]]:
    blocks: dict[str, list[str]] = {}
    waiting = [""]
    for path in waiting:  # grows as paths are found
        _check_path_count(len(waiting))
        tree = Tree(module, path, arity)
        result = function(*tree.parameters)
        tree.blocks[tree.here].append(f"ret {module.real} {tree.operand(result)}")
        blocks.update(tree.blocks)
        waiting.extend(tree.untried)
    return blocks


def _choices(module: Module, function: Callable[..., Any], arity: int) -> dict[str, list[str]]:
    writer = Choices(module, arity)
    result = writer.through(function)
    return {"": [*writer.lines, f"ret {module.real} {writer.operand(result)}"]}


def _check_path_count(ways: int) -> None:
    if ways > MOST_PATHS:
        raise NotCompilable(f"there are more than {MOST_PATHS} ways through it")


def _each_alone(module: Module, full: str, name: str, arity: int) -> str:
    lines, result = [], "poison"
    for lane in range(module.width):
        taken = [f"%t{lane}.{index}" for index in range(arity)]
        lines += [
            f"{register} = extractelement {module.real} %x{index}, i32 {lane}" for index, register in enumerate(taken)
        ]
        lines.append(f'%y{lane} = call double @"{name}"({", ".join(f"double {register}" for register in taken)})')
        lines.append(f"%r{lane} = insertelement {module.real} {result}, double %y{lane}, i32 {lane}")
        result = f"%r{lane}"
    parameters = ", ".join(f"{module.real} %x{index}" for index in range(arity))
    head = f'define internal {module.real} @"{full}"({parameters}) {{'
    return "\n  ".join([head, *lines, f"ret {module.real} {result}"]) + "\n}"


def many(kind: str, width: int) -> str:
    """The LLVM type of a vector of that width; a scalar type for width 1."""
    return kind if width == 1 else f"<{width} x {kind}>"


def _splat(kind: str, text: str, width: int) -> str:
    return text if width == 1 else "<" + ", ".join([f"{kind} {text}"] * width) + ">"
