"""One kernel for each rule: over many rows at once.

A rule's value is written over registers of eight numbers (`llvm.functions`), and a
loop is put around it. `run` takes the operands of many rows from wherever they lie
among the scalars, and leaves the results side by side. Over one number, with the
same bits, the value is written too: `one` is a single row.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache as once
from typing import Any, NamedTuple

from ...core import ieee
from ...core.catalogue import BUILT_IN
from ...core.rules import BY_NUMBER, Rule
from ..llvm import registers, tracing
from ..llvm.compile import Library, compiled
from ..llvm.emit import compiling
from ..llvm.functions import Module, together
from ..llvm.machine import sources
from ..llvm.python import TranslatedModule
from ..llvm.typed import LANES, VECTOR, Callee
from .ir import LARGEST, name_of


class Shape(NamedTuple):
    """What a kernel computes: a rule's number, and how many operands it has."""

    kind: int
    arity: int

    @property
    def name(self) -> str:
        return f"{name_of(self.kind)}{self.arity}"

    def addresses(self) -> tuple[int, int]:
        """Where its loop over many rows is, and its function of one."""
        at = kernels(self).address
        return at("run"), at("one")


@once
def kernels(shape: Shape) -> Library:
    """The machine code of a shape. Raises Opaque if its rule cannot be compiled."""
    ours = shape.kind < BUILT_IN or shape.kind == LARGEST  # a learner's own may change
    key = f"{sources()} {shape.name}" if ours else None
    return compiled(lambda: text(shape), key=key, optimised=True)


def text(shape: Shape) -> str:
    """The kernels of a shape, in LLVM's language."""
    sources = [_one_source(shape.arity), _run_source(shape.arity)]
    return loops(shape, {"value": (_value(shape), shape.arity)}, sources)


def loops(shape: Shape, functions: Mapping[str, tuple[Callable[..., Any], int]], sources: Sequence[str]) -> str:
    """Loops of a shape, in LLVM's language.

    functions: what they call, with how many operands: as NAME it takes registers, as NAME_alone numbers, with the same
    bits. A source may call those before it.
    """
    module = Module(LANES)
    single, known = Module(1, module.declared, fast=True), registers.known()
    with compiling(BY_NUMBER[shape.kind : shape.kind + 1]):
        for name, (function, arity) in functions.items():
            known[name] = Callee(module.define(name, function, arity), [VECTOR] * arity, VECTOR)
            if any(f"{name}_alone" in source for source in sources):
                known[f"{name}_alone"] = Callee(single.define(name, function, arity), ["double"] * arity, "double")
    program = TranslatedModule(known)
    for source in sources:
        program.add_source(source)
    return f"{together(module, single)}\n{program}"


def largest_of() -> Callable[..., Any]:
    """The largest of a softmax's operands, ready for registers."""
    largest = tracing.in_registers(ieee.largest)
    return lambda *xs: largest(xs)


def _value(shape: Shape) -> Any:
    """The function that is traced: a rule's value."""
    if shape.kind == LARGEST:
        return lambda *xs: xs[0].writer.call(name_of(shape.kind), largest_of(), xs)
    rule: Rule = BY_NUMBER[shape.kind]
    return lambda *xs: xs[0].writer.apply(rule, xs)


def _run_source(arity: int) -> str:
    operands = ", ".join(f"gathered(scalars, index, base + {place} * length + i)" for place in range(arity))
    return f"""
    def run(scalars: Floats, index: Ints, base: int, target: int, length: int) -> None:
        for i in range(0, length, LANES):
            if i + LANES <= length:
                scalars[target + i : target + i + LANES] = value({operands})
            else:
                for rest in range(i, length):
                    one(scalars, index, base + rest, target + rest, length)
    """


def _one_source(arity: int) -> str:
    """One row. There is no loop: before it, all constants would be fetched into registers, which takes longer."""
    operands = ", ".join(f"scalars[index[base + {place} * stride]]" for place in range(arity))
    return f"""
    def one(scalars: Floats, index: Ints, base: int, target: int, stride: int) -> None:
        scalars[target] = value_alone({operands})
    """
