"""Python functions of floats as LLVM functions: of one number, or of eight at once.

A function is called with registers, once for each way through it. What it does
to one number may branch; of many numbers some would go one way and some the
other, so there all ways are gone and each number picks its own result.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from . import mathematics
from .emit import Emitted, InstructionWriter, NotCompilable, Value, literal

MOST_FORKS = 64  # decisions in a row, and
MOST_PATHS = 512  # ways through one function: beyond, it is a loop that never ends
SHORT = 16  # instructions of many numbers at once, for which a call, which empties all registers, is too long a way
PURE = "nounwind willreturn memory(none)"  # what C's functions of numbers are: they touch nothing else


# If a number is too large for the fast function, all go the slow way.
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
    """All functions of one text.

    width: how many floats a register holds. declared: shared by modules of one text.
    fast: whether our own exp, log, sin ... take the place of C's. Registers always
    have them; a single number has them where it must have a register's bits.
    """

    def __init__(self, width: int = 1, declared: dict[str, str] | None = None, fast: bool = False) -> None:
        self.width, self.fast = width, fast or width > 1
        self.real = many("double", width)
        self.truth = many("i1", width)
        self.whole = many("i64", width)
        self.suffix = f".{f'v{width}' if width > 1 else ''}f64"  # how LLVM's own functions end
        self.functions: dict[str, str] = {}
        self.declared: dict[str, str] = {} if declared is None else declared

    def __str__(self) -> str:
        return together(self)

    def define(self, name: str, function: Callable[..., Any], arity: int) -> str:
        """The full name of the function with that many parameters; traced when it is met first."""
        full = f"{name}/{arity}" if self.width == 1 else f"{name}/{arity}x{self.width}"
        if full not in self.functions:
            self.functions[full] = ""  # it may call itself
            self.functions[full] = trace(self, full, function, arity)
        return full

    def many(self, name: str, arity: int) -> str:
        """The full name of what stands for a function of C's."""
        if name not in mathematics.FUNCTIONS:
            return self.each_alone(name, arity)
        fast = self.define(f"{name}.many", mathematics.FUNCTIONS[name], arity)
        if name not in mathematics.LIMITS:
            return fast
        full = f"{name}.any{'.one' if self.width == 1 else ''}"  # a text may have the function for registers too
        return self.guarded(full, fast, self.each_alone(name, arity), mathematics.LIMITS[name])

    def guarded(self, full: str, fast: str, slow: str, limit: float) -> str:
        """The full name of a function that goes the fast way where all numbers are within a limit."""
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
        """The full name of a function that gives every double of a register to the C library's function."""
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
    """The text of modules that share what is declared."""
    functions = [text for module in modules for text in module.functions.values()]
    return "\n\n".join(["\n".join(modules[0].declared.values()), *functions]) + "\n"


class Way(InstructionWriter):
    """One way through a function, as far as the questions that it asked were answered: "1" for yes."""

    def __init__(self, module: Module, path: str, arity: int) -> None:
        super().__init__(module)
        self.path, self.here = path, ""  # answers to give, and those given
        self.untried: list[str] = []
        self.parameters = [Emitted(self, f"%x{index}") for index in range(arity)]

    def answer(self) -> tuple[bool, str]:
        """Whether the next question is asked for the first time, and the answer."""
        depth = len(self.here)
        if depth == MOST_FORKS:
            raise NotCompilable(f"it asks more than {MOST_FORKS} questions in a row")
        new = depth >= len(self.path)
        if new:
            self.path += "1"
            self.untried.append(self.here + "0")
        return new, self.path[depth]


class Tree(Way):
    """A function of one number: a block of instructions after each answer."""

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
    """A function of many numbers at once: all ways are gone, and each number picks its own result."""

    def __init__(self, module: Module, arity: int) -> None:
        super().__init__(module, "", arity)
        self.conditions: dict[str, str] = {}  # by the answers that led there

    def fork(self, condition: str) -> bool:
        new, answer = self.answer()
        if new:
            self.conditions[self.here] = condition
        self.here += answer
        return answer == "1"

    def through(self, function: Callable[..., Any]) -> Value:
        """What the function gives for the parameters."""
        results: dict[str, Value] = {}
        self.untried = [""]
        for path in self.untried:  # grows as ways are found
            _check_path_count(len(self.untried))
            self.path, self.here = path, ""
            result = function(*self.parameters)
            results[self.here] = result
        return self.select_result(results)

    def select_result(self, results: dict[str, Value], path: str = "") -> Value:
        """The result that fits, of those at the ends of all ways from `path` on."""
        if path in results:
            return results[path]
        return self.select(self.conditions[path], *(self.select_result(results, path + answer) for answer in "10"))


def trace(module: Module, name: str, function: Callable[..., Any], arity: int) -> str:
    """The text of a Python function of floats: call it with registers, once for each way through it.

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
    for path in waiting:  # grows as ways are found
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
    """A register of so many; one alone is what it is."""
    return kind if width == 1 else f"<{width} x {kind}>"


def _splat(kind: str, text: str, width: int) -> str:
    return text if width == 1 else "<" + ", ".join([f"{kind} {text}"] * width) + ">"
