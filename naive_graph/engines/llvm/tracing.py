"""Rebind the catalogue's value functions so that they can be traced: with a `math` that emits LLVM instructions.

`ieee.log` is plain Python: it tests `a > 0` and calls `math.log`. The same code object is given
other globals, in which `math.log` emits a call of log (the C library's, LLVM's or ours). Called with registers, it
then emits its own machine code, so no function is implemented twice. A learner's own function is
called unchanged.
"""

from __future__ import annotations

import builtins
import math
from collections.abc import Callable, Iterable
from functools import cache as once
from types import BuiltinFunctionType, CellType, FunctionType, SimpleNamespace
from typing import Any

from ...core import catalogue, ieee
from ...core.rules import Arithmetic

C_LIBRARY = (
    "acos", "acosh", "asin", "asinh", "atan", "atan2", "atanh", "cos", "cosh", "erf", "exp", "expm1", "fmod", "hypot",
    "log", "log1p", "pow", "sin", "sinh", "tan", "tanh",
)  # fmt: skip
KNOWN_TO_LLVM = {name: f"llvm.{name}.f64" for name in ("sqrt", "copysign", "fabs", "floor")}


def traceable(function: Callable[..., Any]) -> Callable[..., Any]:
    """A version of the function that can be called with registers (`emit.Emitted`)."""
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
    """Wrap a function of `math`: computed at once for numbers; for registers, an emitted call of the C library."""
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
