"""Registers cut to size, for functions that take smaller ones.

sixteen float32    two registers of eight float64, and back
eight float64      eight times one, for the C library
"""

from __future__ import annotations

from typing import Any, Protocol

from .precision import Precision


class Wide(Protocol):
    """Whose functions these are, as a `functions.Module`'s: how many floats a register has, and which."""

    width: int
    real: str
    precision: Precision
    exact: Any  # the same for float64, where the functions round


def each_alone(module: Wide, full: str, name: str, arity: int) -> str:
    lines, result = [], "poison"
    for place in range(module.width):
        taken = [f"%t{place}.{each}" for each in range(arity)]
        lines += [f"{each} = extractelement {module.real} %x{at}, i32 {place}" for at, each in enumerate(taken)]
        lines.append(f'%y{place} = call double @"{name}"({", ".join(f"double {each}" for each in taken)})')
        lines.append(f"%r{place} = insertelement {module.real} {result}, double %y{place}, i32 {place}")
        result = f"%r{place}"
    parameters = ", ".join(f"{module.real} %x{place}" for place in range(arity))
    head = f'define internal {module.real} @"{full}"({parameters}) {{'
    return "\n  ".join([head, *lines, f"ret {module.real} {result}"]) + "\n}"


def by_halves(module: Wide, full: str, exact: str, arity: int) -> str:
    """The text of a function of float32 that asks one of float64; registers are cut to size for it."""
    assert module.exact is not None
    width, real = module.exact.width, module.exact.real
    piece, lines, found = many(module.precision.type, width), [], []
    for first in range(0, module.width, width):
        taken = []
        for at in range(arity):
            part = f"%x{at}"
            if module.width > 1:
                part = f"%p{at}.{first}"
                lines.append(f"{part} = {_picked(module.real, f'%x{at}', 'poison', range(first, first + width))}")
            taken.append(f"{real} %d{at}.{first}")
            lines.append(f"%d{at}.{first} = fpext {piece} {part} to {real}")
        lines.append(f'%y.{first} = call {real} @"{exact}"({", ".join(taken)})')
        lines.append(f"%r.{first} = fptrunc {real} %y.{first} to {piece}")
        found.append(f"%r.{first}")
    if len(found) > 1:
        lines.append(f"%all = {_picked(piece, found[0], found[1], range(module.width))}")
        found = ["%all"]
    parameters = ", ".join(f"{module.real} %x{at}" for at in range(arity))
    head = f'define internal {module.real} @"{full}"({parameters}) {{'
    return "\n  ".join([head, *lines, f"ret {module.real} {found[0]}"]) + "\n}"


def _picked(kind: str, one: str, two: str, places: range) -> str:
    """A register of lanes at these places of two registers, one behind the other."""
    mask = ", ".join(f"i32 {place}" for place in places)
    return f"shufflevector {kind} {one}, {kind} {two}, <{len(places)} x i32> <{mask}>"


def many(kind: str, width: int) -> str:
    """A register of so many; one alone is what it is."""
    return kind if width == 1 else f"<{width} x {kind}>"
