"""Emit LLVM instructions by tracing: operators applied to registers write code instead of computing numbers.

An `Emitted` is a virtual register that holds a double when the code runs, or a vector of
eight. A rule applied to it emits its instructions:

    %1 = fmul double %x, %x
    %2 = call double @"sin"(double %1)

So the sweeps, the partials and an operator's own value function compile unchanged. A function
may branch on a comparison; `functions.trace` follows both branches.

The catalogue's value functions are rebound to be traced (`traceable`): `ieee.log` is plain Python
that tests `a > 0` and calls `math.log`. The same code object is given other globals, in which
`math.log` emits a call of log (the C library's, LLVM's or ours). So no function is implemented
twice. A learner's own function is called unchanged.
"""

from __future__ import annotations

import builtins
import math
import struct
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache as once
from types import BuiltinFunctionType, CellType, FunctionType, SimpleNamespace
from typing import Any

from ...core import catalogue, ieee
from ...core.number import number
from ...core.rules import Arithmetic, Rule

Value = Any  # an Emitted, or a float (a compile-time constant)


class NotCompilable(Exception):
    """A function does what registers cannot follow. The text says which and why."""


@contextmanager
def compiling(rules: Iterable[Any]) -> Iterator[None]:
    """Turn any error of a traced function into NotCompilable, with the name of its operator.

    rules: a list of the rule that is traced; or an iterator of rules, which the traced sweep advances: the next one
    is at fault.
    """
    try:
        yield
    except Exception as error:
        raise NotCompilable(
            f"The operator '{next(iter(rules)).name}' cannot be compiled: {error.__cause__ or error}. "
            "Write its value and partials with naive_graph's functions, and where() for a choice."
        ) from error


def _comparison(how: str) -> Any:
    return lambda self, other: self.writer.compare(how, self, other)


class Emitted(Arithmetic):
    """A virtual register; or, with `place`, an array element (array, index), loaded where it is used.

    The load of an element is reused too, like any other instruction: see `InstructionWriter.line`.
    """

    __slots__ = ("name", "place", "writer")

    def __init__(self, writer: InstructionWriter, name: str, place: tuple[str, int] | None = None) -> None:
        self.writer = writer
        self.name = name
        self.place = place

    def apply(self, rule: Rule, *operands: Any) -> Value:
        return self.writer.apply(
            rule, [operand if isinstance(operand, Emitted) else number(operand) for operand in operands]
        )

    def __abs__(self) -> Emitted:
        return self.writer.outside("llvm.fabs.f64", [self])

    __gt__, __lt__, __ge__, __le__ = map(_comparison, ("ogt", "olt", "oge", "ole"))
    __eq__, __ne__ = map(_comparison, ("oeq", "une"))

    def __bool__(self) -> bool:
        return bool(self.writer.compare("une", self, 0.0))

    __hash__ = None  # type: ignore[assignment]


class Truth(Arithmetic):
    """The result of a comparison (i1). In an `if`, both ways are traced, and one result is selected."""

    __slots__ = ("name", "writer")

    def __init__(self, writer: InstructionWriter, name: str) -> None:
        self.writer = writer
        self.name = name

    def apply(self, rule: Rule, *operands: Any) -> Value:
        return _emit_select(self.writer, *operands) if rule.selects and operands[0] is self else NotImplemented

    def __bool__(self) -> bool:
        return self.writer.branch(self.name)

    def __float__(self) -> float:
        return 1.0 if self else 0.0

    def __sub__(self, other: Any) -> float:
        return float(self) - float(other)

    def __eq__(self, other: object) -> bool:
        return float(self) == other  # and a Truth on the right is asked in turn

    __hash__ = None  # type: ignore[assignment]


class InstructionWriter:
    """Writes instructions; an instruction with the text of an earlier one reuses its result."""

    def __init__(self, module: Any) -> None:
        self.module = module
        self.lines: list[str] = []
        self.known: dict[str, Emitted] = {}

    def line(self, instruction: str) -> Emitted:
        """The register that holds what the instruction computes."""
        if instruction not in self.known:
            self.known[instruction] = Emitted(self, self.written(instruction))
        return self.known[instruction]

    def written(self, instruction: str) -> str:
        """Append the instruction, and return the name of its result."""
        self.lines.append(f"%v{len(self.lines)} = {instruction}")
        return self.lines[-1].partition(" ")[0]

    def branch(self, condition: str) -> bool:
        """The truth value to trace with, where Python code branches on a comparison."""
        raise NotImplementedError

    def operand(self, value: Value) -> str:
        """How the value is written in an instruction."""
        return value.name if isinstance(value, Emitted) else self.module.literal(number(value))

    # --- instructions ---

    def apply(self, rule: Rule, operands: Sequence[Value]) -> Value:
        """Emit the value of a rule: instructions for those in INSTRUCTIONS, else a call of its traced function.

        A square becomes one multiplication.
        """
        rule.check_arity(len(operands))
        if rule.name in INSTRUCTIONS:
            return INSTRUCTIONS[rule.name](self, *operands)
        if rule.name in SQUARES and _is_two(operands[1]) and isinstance(operands[0], Emitted):
            return self.binary("fmul", operands[0], operands[0] if rule.name == "pow" else 2.0)
        return self.call(rule.name, traceable(rule.value), operands)

    def binary(self, name: str, left: Value, right: Value) -> Emitted:
        return self.line(f"{name} {self.module.float_type} {self.operand(left)}, {self.operand(right)}")

    def compare(self, how: str, left: Value, right: Value) -> Truth:
        return Truth(
            self, self.line(f"fcmp {how} {self.module.float_type} {self.operand(left)}, {self.operand(right)}").name
        )

    def select(self, truth: str, a: Value, b: Value) -> Emitted:
        """a where it holds, else b."""
        real, one, other = self.module.float_type, self.operand(a), self.operand(b)
        return self.line(f"select {self.module.bool_type} {truth}, {real} {one}, {real} {other}")

    def call(self, name: str, function: Callable[..., Any], operands: Sequence[Value]) -> Emitted:
        """Call a function of the module, written when it is first called."""
        return self._call(self.module.define(name, function, len(operands)), operands)

    def outside(self, name: str, operands: Sequence[Value]) -> Emitted:
        """Call a function of the C library, or one that LLVM knows."""
        if self.module.fast and not name.startswith("llvm."):
            return self._call(self.module.math_function(name, len(operands)), operands)
        name = name.replace(".f64", self.module.suffix)
        kinds = ", ".join([self.module.float_type] * len(operands))
        self.module.declared[name] = f'declare {self.module.float_type} @"{name}"({kinds})'
        return self._call(name, operands)

    def _call(self, name: str, operands: Sequence[Value]) -> Emitted:
        inside = ", ".join(f"{self.module.float_type} {self.operand(operand)}" for operand in operands)
        return self.line(f'call {self.module.float_type} @"{name}"({inside})')


def literal(value: float) -> str:
    """A double in LLVM's notation: its bits, so that none is lost.

    >>> literal(1.0)
    '0x3FF0000000000000'
    """
    return f"0x{struct.unpack('>Q', struct.pack('>d', value))[0]:016X}"


# --- rules that are one instruction -------------------------------------------


def _make_fold(name: str) -> Callable[..., Value]:
    """An emitter for a left fold, `((a + b) + c) + ...`. Products with 1 or -1 are simplified: no bit changes."""

    def emitted(writer: InstructionWriter, first: Value, *rest: Value) -> Value:
        for value in rest:
            first = _product(writer, first, value) if name == "fmul" else writer.binary(name, first, value)
        return first

    return emitted


def _product(writer: InstructionWriter, left: Value, right: Value) -> Value:
    for one, other in ((left, right), (right, left)):
        if not isinstance(one, Emitted):
            if one == 1.0:
                return other
            if one == -1.0:
                return _emit_negation(writer, other)
    return writer.binary("fmul", left, right)


def _emit_negation(writer: InstructionWriter, x: Value) -> Value:
    return writer.line(f"fneg {writer.module.float_type} {writer.operand(x)}") if isinstance(x, Emitted) else -x


def _emit_select(writer: InstructionWriter, condition: Value, a: Value, b: Value) -> Value:
    if not isinstance(condition, Arithmetic):
        return a if condition != 0 else b
    holds = condition if isinstance(condition, Truth) else writer.compare("une", condition, 0.0)
    return writer.select(holds.name, a, b)


def _is_two(value: Value) -> bool:
    return isinstance(value, float) and value == 2.0


SQUARES = ("pow", "pow_slope")  # of exponent 2: a product rounds as well as the C library's pow, and is much faster
INSTRUCTIONS: dict[str, Callable[..., Value]] = {
    "add": _make_fold("fadd"),
    "sub": _make_fold("fsub"),
    "mul": _make_fold("fmul"),
    "div": _make_fold("fdiv"),
    "neg": _emit_negation,
    "where": _emit_select,
}


# --- functions of the catalogue, to be traced -----------------------------------

C_LIBRARY = (
    "acos", "acosh", "asin", "asinh", "atan", "atan2", "atanh", "cos", "cosh", "erf", "exp", "expm1", "fmod", "hypot",
    "log", "log1p", "pow", "sin", "sinh", "tan", "tanh",
)  # fmt: skip
KNOWN_TO_LLVM = {name: f"llvm.{name}.f64" for name in ("sqrt", "copysign", "fabs", "floor")}


def traceable(function: Callable[..., Any]) -> Callable[..., Any]:
    """A version of the function that can be called with registers (`Emitted`)."""
    if isinstance(function, BuiltinFunctionType):
        return function if function.__module__ == builtins.__name__ else _math_call(function)
    if isinstance(function, FunctionType) and function.__globals__ in (vars(ieee), vars(catalogue)):
        return _with_patched_globals(function)
    return function


def _with_patched_globals(function: FunctionType) -> FunctionType:
    """The same code object with patched globals; functions in its closure are converted too."""
    cells = tuple(CellType(traceable(cell.cell_contents)) for cell in function.__closure__ or ())
    return FunctionType(function.__code__, _patched_globals(function.__module__), function.__name__, None, cells)


@once
def _patched_globals(module: str) -> dict[str, Any]:
    """The globals of `ieee` with traceable functions in place of its own, or of `catalogue` with that `ieee`."""
    if module == catalogue.__name__:
        moved = SimpleNamespace(**_patched_globals(ieee.__name__))
        return {**vars(catalogue), "math": _mathematics(), "ieee": moved}
    world: dict[str, Any] = {**vars(ieee), "math": _mathematics()}
    for name, thing in vars(ieee).items():
        if isinstance(thing, FunctionType):
            world[name] = _function_call(name, thing)
        elif isinstance(thing, BuiltinFunctionType):
            world[name] = _math_call(thing)
    return world


def _function_call(name: str, function: FunctionType) -> Callable[..., Any]:
    """Wrap a function: emit an LLVM call if it is annotated to return a float, else trace it inline."""
    numeric = function.__annotations__.get("return") == "float"

    def call(*operands: Any) -> Any:
        writer = _writer(operands) if numeric else None
        moved = _with_patched_globals(function)
        return moved(*operands) if writer is None else writer.call(f"ieee.{name}", moved, operands)

    return call


@once
def _mathematics() -> SimpleNamespace:
    """A stand-in for the module `math` whose functions also take registers."""
    names = (*C_LIBRARY, *KNOWN_TO_LLVM, "isinf")
    return SimpleNamespace(**{**vars(math), **{name: _math_call(getattr(math, name)) for name in names}})


def _math_call(function: BuiltinFunctionType) -> Callable[..., Any]:
    """Wrap a function of `math`: computed at once for numbers; for registers, an emitted call.

    The call is of an LLVM intrinsic, of a function of ours (llvm/mathematics.py), or of the C library;
    isinf becomes a comparison.
    """
    name = function.__name__

    def call(*operands: Any) -> Any:
        writer = _writer(operands)
        if writer is None:
            return function(*operands)
        if name == "isinf":
            return abs(operands[0]) == math.inf
        return writer.outside(KNOWN_TO_LLVM.get(name, name), operands)

    return call


def _writer(operands: Iterable[Any]) -> Any:
    """The InstructionWriter of the first operand that is a register; None if all are numbers."""
    registers: list[Any] = [operand for operand in operands if isinstance(operand, Arithmetic)]
    return registers[0].writer if registers else None
