"""Rules applied to registers write machine code: one more arithmetic.

An `Emitted` stands for a register that will hold a double when the code runs.
Apply a rule to it, and the instructions are written down:

    %1 = fmul double %x, %x
    %2 = call double @"sin"(double %1)

So the sweeps, the partials and an operator's own value function compile as they
stand. What a function does may depend on a comparison; `trace` follows both ways.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from typing import Any

from ...number import number
from ...rules import Arithmetic, Rule
from . import meaning

Value = Any  # an Emitted, or a float that is known already
MOST_FORKS = 64  # decisions in a row, and
MOST_PATHS = 512  # ways through one function: beyond, it is a loop that never ends


class Opaque(Exception):
    """A function does what registers cannot follow. The text says which and why."""


class Emitted(Arithmetic):
    """A register, and where its value can be loaded from again (`place`), if it was stored."""

    __slots__ = ("chunk", "name", "place", "writer")

    def __init__(self, writer: Writer, name: str, chunk: int = 0) -> None:
        self.writer = writer
        self.name = name
        self.chunk = chunk
        self.place: tuple[str, int] | None = None

    def apply(self, rule: Rule, *operands: Any) -> Value:
        return self.writer.apply(rule, [each if isinstance(each, Emitted) else number(each) for each in operands])

    def __abs__(self) -> Emitted:
        return self.writer.outside("llvm.fabs.f64", [self])

    def __gt__(self, other: Any) -> Any:
        return self.writer.compare("ogt", self, other)

    def __lt__(self, other: Any) -> Any:
        return self.writer.compare("olt", self, other)

    def __ge__(self, other: Any) -> Any:
        return self.writer.compare("oge", self, other)

    def __le__(self, other: Any) -> Any:
        return self.writer.compare("ole", self, other)

    def __eq__(self, other: Any) -> Any:
        return self.writer.compare("oeq", self, other)

    def __ne__(self, other: Any) -> Any:
        return self.writer.compare("une", self, other)

    __hash__ = None  # type: ignore[assignment]


class Truth:
    """What a comparison will say. Python asks for it in an `if`; then the code forks."""

    __slots__ = ("name", "writer")

    def __init__(self, writer: Writer, name: str) -> None:
        self.writer = writer
        self.name = name

    def __bool__(self) -> bool:
        return self.writer.fork(self.name)

    def __float__(self) -> float:
        return 1.0 if self else 0.0

    def __sub__(self, other: Any) -> float:
        return float(self) - float(other)


class Module:
    """All functions of one text."""

    def __init__(self) -> None:
        self.functions: dict[str, str] = {}
        self.declared: dict[str, str] = {}

    def __str__(self) -> str:
        return "\n\n".join(["\n".join(self.declared.values()), *self.functions.values()]) + "\n"

    def define(self, name: str, function: Callable[..., Any], arity: int) -> str:
        """The full name of the function with that many parameters; traced when it is met first."""
        full = f"{name}/{arity}"
        if full not in self.functions:
            self.functions[full] = ""  # it may call itself
            self.functions[full] = trace(self, full, function, arity)
        return full


class Writer:
    """Writes instructions, each only once: equal texts have equal results."""

    def __init__(self, module: Module) -> None:
        self.module = module

    # --- what a kind of function answers by itself ---

    def line(self, instruction: str) -> Emitted:
        """The register that holds what the instruction computes."""
        raise NotImplementedError

    def fork(self, condition: str) -> bool:
        """Which way to go on, where Python asks whether a comparison holds."""
        raise NotImplementedError

    def operand(self, value: Value) -> str:
        """How the value is written in an instruction."""
        return value.name if isinstance(value, Emitted) else literal(number(value))

    # --- instructions ---

    def apply(self, rule: Rule, operands: Sequence[Value]) -> Value:
        """The rule over these operands."""
        rule.check_arity(len(operands))
        if rule.name in INSTRUCTIONS:
            return INSTRUCTIONS[rule.name](self, *operands)
        return self.call(f"{rule.name}", meaning.in_registers(rule.value), operands)

    def binary(self, name: str, left: Value, right: Value) -> Emitted:
        return self.line(f"{name} double {self.operand(left)}, {self.operand(right)}")

    def compare(self, how: str, left: Value, right: Value) -> Truth:
        return Truth(self, self.line(f"fcmp {how} double {self.operand(left)}, {self.operand(right)}").name)

    def call(self, name: str, function: Callable[..., Any], operands: Sequence[Value]) -> Emitted:
        """Call a function of the module, written when it is first called."""
        return self._call(self.module.define(name, function, len(operands)), operands)

    def outside(self, name: str, operands: Sequence[Value]) -> Emitted:
        """Call a function of the C library, or one that LLVM knows."""
        kinds = ", ".join(["double"] * len(operands))
        self.module.declared[name] = f'declare double @"{name}"({kinds})'
        return self._call(name, operands)

    def _call(self, name: str, operands: Sequence[Value]) -> Emitted:
        inside = ", ".join(f"double {self.operand(each)}" for each in operands)
        return self.line(f'call double @"{name}"({inside})')


class Tree(Writer):
    """One way through a function: the decisions made so far, and a block of instructions after each."""

    def __init__(self, module: Module, path: str, arity: int) -> None:
        super().__init__(module)
        self.path, self.here = path, ""  # decisions to follow, and those taken: "1" for true
        self.blocks: dict[str, list[str]] = {"": []}
        self.untried: list[str] = []
        self.known: dict[str, Emitted] = {}
        self.parameters = [Emitted(self, f"%x{place}") for place in range(arity)]

    def line(self, instruction: str) -> Emitted:
        if instruction not in self.known:
            block = self.blocks[self.here]
            name = f"%v{self.here}.{len(block)}"
            block.append(f"{name} = {instruction}")
            self.known[instruction] = Emitted(self, name)
        return self.known[instruction]

    def fork(self, condition: str) -> bool:
        depth = len(self.here)
        if depth == MOST_FORKS:
            raise Opaque(f"it asks more than {MOST_FORKS} questions in a row")
        answer = self.path[depth] if depth < len(self.path) else "1"
        if depth >= len(self.path):
            self.untried.append(self.here + "0")
        self.blocks[self.here].append(f"br i1 {condition}, label %b{self.here}1, label %b{self.here}0")
        self.here += answer
        self.blocks[self.here] = []
        return answer == "1"


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
    blocks: dict[str, list[str]] = {}
    waiting = [""]
    for path in waiting:  # grows as ways are found
        if len(waiting) > MOST_PATHS:
            raise Opaque(f"there are more than {MOST_PATHS} ways through it")
        tree = Tree(module, path, arity)
        result = function(*tree.parameters)
        tree.blocks[tree.here].append(f"ret double {tree.operand(result)}")
        blocks.update(tree.blocks)
        waiting.extend(tree.untried)
    parameters = ", ".join(f"double %x{place}" for place in range(arity))
    lines = [f'define internal double @"{name}"({parameters}) {{']
    for path in sorted(blocks):
        lines += [f"b{path}:", *(f"  {line}" for line in blocks[path])]
    return "\n".join([*lines, "}"])


def literal(value: float) -> str:
    """A double in LLVM's notation: its bits, so that none is lost.

    >>> literal(1.0)
    '0x3FF0000000000000'
    """
    return f"0x{struct.unpack('>Q', struct.pack('>d', value))[0]:016X}"


# --- rules that are one instruction -------------------------------------------


def _folded(name: str) -> Callable[..., Value]:
    """`((a + b) + c) + ...`, in the written order. What multiplies by 1 or -1 is left out: no bit changes."""

    def emitted(writer: Writer, first: Value, *rest: Value) -> Value:
        for each in rest:
            first = _product(writer, first, each) if name == "fmul" else writer.binary(name, first, each)
        return first

    return emitted


def _product(writer: Writer, left: Value, right: Value) -> Value:
    for one, other in ((left, right), (right, left)):
        if not isinstance(one, Emitted):
            if one == 1.0:
                return other
            if one == -1.0:
                return _negated(writer, other)
    return writer.binary("fmul", left, right)


def _negated(writer: Writer, x: Value) -> Value:
    return writer.line(f"fneg double {writer.operand(x)}") if isinstance(x, Emitted) else -x


def _selected(writer: Writer, condition: Value, a: Value, b: Value) -> Value:
    if not isinstance(condition, Emitted):
        return a if condition != 0 else b
    holds = writer.compare("une", condition, 0.0).name
    return writer.line(f"select i1 {holds}, double {writer.operand(a)}, double {writer.operand(b)}")


INSTRUCTIONS: dict[str, Callable[..., Value]] = {
    "add": _folded("fadd"),
    "sub": _folded("fsub"),
    "mul": _folded("fmul"),
    "div": _folded("fdiv"),
    "neg": _negated,
    "where": _selected,
}
