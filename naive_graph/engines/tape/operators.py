"""One kernel for each rule: over many rows at once, and over many samples at once.

A rule's value is written over registers of eight numbers (`llvm.functions`), and
two loops are put around it, each compiled where it is called. `run` takes the
operands of many rows from wherever they lie among the scalars, and leaves the
results side by side. `sampled` goes along the samples of one row. Over one number,
with the same bits, the value is written too: `one` is a single row.
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
from ..llvm.machine import kernel_of, sources
from ..llvm.python import TranslatedModule
from ..llvm.typed import LANES, VECTOR, Callee, Floats, Ints
from .flat import DOT, LARGEST, name_of
from .scalars import ANY_NUMBER, ENTRIES, one_address
from .sums import NOTHING_YET, many


class Shape(NamedTuple):
    """What a kernel computes: a rule's number, and how many operands it has."""

    kind: int
    arity: int

    @property
    def name(self) -> str:
        return f"{name_of(self.kind)}{self.arity}"

    def addresses(self) -> tuple[int, ...]:
        """Its line in a table of kernels; shapes of any number of operands have loops instead, and no kernel."""
        if self.kind == DOT:
            return summing(abreast).addresses()
        if self.arity == ANY_NUMBER:
            return (0,) * ENTRIES
        at = kernels(self).address
        return at("run"), at("one"), 0, 0


class LoneKernel(NamedTuple):
    """A kernel of one address: the library that has it, made from this when it is asked for; and its name there."""

    library: Callable[..., Library]
    made_from: tuple[Any, ...]
    name: str

    def addresses(self) -> tuple[int, ...]:
        """Its line in a table of kernels."""
        return one_address(self.library(*self.made_from).address(self.name))


def summing(function: Callable[..., Any]) -> LoneKernel:
    """A function of `sums` as a kernel."""
    return LoneKernel(kernel_of, (function,), function.__name__)


@once
def kernels(shape: Shape, sampled: bool = False) -> Library:
    """The machine code of a shape. Raises Opaque if its rule cannot be compiled."""
    ours = shape.kind < BUILT_IN or shape.kind == LARGEST  # a learner's own may change
    key = f"{sources()} {shape.name} {sampled}" if ours else None
    return compiled(lambda: text(shape, sampled), key=key, optimised=True)


def abreast(scalars: Floats, index: Ints, base: int, to: int, length: int) -> None:
    """As many dots as a register has lanes. Where there are fewer, what lies behind them is computed later.

    index: the terms; where the first factors of each lie side by side; its second factor, as -1 - slot, or where
    there is one for each dot.
    """
    terms = index[base]
    sum = many(NOTHING_YET)
    for at in range(base + 1, base + 1 + terms):
        x, y = index[at], index[at + terms]
        if y < 0:
            sum += scalars[x : x + LANES] * many(scalars[-1 - y])
        else:
            sum += scalars[x : x + LANES] * scalars[y : y + LANES]
    scalars[to : to + LANES] = sum


def text(shape: Shape, sampled: bool) -> str:
    """The kernels of a shape, in LLVM's language."""
    arity = shape.arity
    sources = [_lanes_source(arity)] if sampled else [_one_source(arity), _run_source(arity)]
    return loops(shape, {"value": (_value(shape), arity)}, sources)


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
            if i + LANES <= length or index[base + i] < 0:
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


def _lanes_source(arity: int) -> str:
    """One row of samples: code holds its slot, and its operands'."""
    operands = ", ".join(f"lanes[a{place} + i : a{place} + i + LANES]" for place in range(1, arity + 1))
    places = "\n        ".join(f"a{place} = code[at + {place}] * width" for place in range(arity + 1))
    return f"""
    def sampled(
        code: Ints, at: int, scalars: Floats, sums: Floats, lanes: Floats,
        width: int, real: int, whole: int, begins: int,
    ) -> None:
        {places}
        for i in range(0, whole, LANES):
            lanes[a0 + i : a0 + i + LANES] = value({operands})
    """
