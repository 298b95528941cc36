"""Two functions of one number as one, which does only once what both need.

A graph with its derivatives asks for the sine and the cosine of the same
angle, and for tanh and its slope, which are made from the same exponential.
Each of the two results has the bits that its own function gives: both are
written down with the same instructions, and equal instructions are written once.

>>> module = Module(8)
>>> name = pair(module, ("tanh", "sech_squared"))
>>> alone = [module.many("tanh", 1), module.many("exp", 1)]
>>> [module.functions[each].count("llvm.fma") for each in (name, *alone)]
[21, 21, 15]
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...core.rules import RULES
from . import mathematics
from .emit import Emitted, Value
from .functions import Choices, Module
from .listing import Straight
from .tracing import in_registers

PAIRS = (("sin", "cos"), ("tanh", "sech_squared"), ("sigmoid", "sigmoid_slope"))
PAIR_OF = {RULES[name].number: names for names in PAIRS for name in names}


class Inlined(Choices):
    """Writes our own functions down where they are called, so that two of them can share instructions."""

    def _many_outside(self, name: str, operands: Sequence[Value]) -> Any:
        if name in mathematics.FUNCTIONS:
            return mathematics.FUNCTIONS[name](*operands)
        return super()._many_outside(name, operands)


def partner(kind: int) -> tuple[str, str] | None:
    """The pair that a rule's number belongs to."""
    return PAIR_OF.get(kind)


def pair(module: Module, names: tuple[str, str]) -> str:
    """The full name of the function of a register that gives both results."""
    full, limit = "+".join(names), mathematics.LIMITS.get(names[0])
    if limit is None:
        return _written(full, names, Inlined(module, 1))
    # Where a number is too large for the fast functions, each of the two goes its own slow way.
    fast, slow = f"{full}.fast", f"{full}.slow"
    _written(fast, names, Inlined(module, 1))
    _written(slow, names, Choices(module, 1))
    return module.guarded(full, fast, slow, limit, _kind(module))


def both(code: Straight, module: Module, names: tuple[str, str], operand: Value) -> list[Emitted]:
    """The two results for an operand, in the order of the names."""
    found = code.line(f'call {_kind(module)} @"{pair(module, names)}"({module.real} {code.operand(operand)})').name
    return [code.line(f"extractvalue {_kind(module)} {found}, {place}") for place in (0, 1)]


def _written(full: str, names: tuple[str, str], writer: Choices) -> str:
    """The full name, under which both functions are written down one after the other."""
    module = writer.module
    if full in module.functions:
        return full
    real, kind = module.real, _kind(module)
    one, two = (writer.operand(writer.through(in_registers(RULES[name].value))) for name in names)
    half = writer.line(f"insertvalue {kind} poison, {real} {one}, 0").name
    whole = writer.line(f"insertvalue {kind} {half}, {real} {two}, 1").name
    head = f'define internal {kind} @"{full}"({real} %x0) {{'
    module.functions[full] = "\n  ".join([head, *writer.lines, f"ret {kind} {whole}"]) + "\n}"
    return full


def _kind(module: Module) -> str:
    """LLVM's type of two registers."""
    return f"{{{module.real}, {module.real}}}"
