"""One kernel for each rule: over many rows at once, and over many samples at once.

A rule's value is written over registers of eight numbers (`llvm.functions`), and
two loops are put around it. `run` takes the operands of many rows from wherever
they lie among the scalars, and leaves the results side by side. `lanes` goes
along the samples of one row. Over one number, with the same bits, the value is
written too: `one` is a single row, and `of_one` what it computes.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache as once
from typing import Any, NamedTuple

from ...core import ieee
from ...core.catalogue import BUILT_IN
from ...core.rules import BY_NUMBER, Rule
from ..llvm import tracing
from ..llvm.compile import Library, compiled
from ..llvm.emit import opaque
from ..llvm.functions import Module, together
from ..llvm.machine import sources
from ..llvm.python import TranslatedModule
from ..llvm.typed import LANES, MASK, VECTOR, Callee
from .flat import LARGEST, name_of
from .scalars import ANY_NUMBER, ENTRIES

# A register of scalars from anywhere, and one to one place; of the last ones, only as many as there are.
SCATTERED = """
declare <{n} x i32> @llvm.masked.load.v{n}i32.p0(ptr, i32, {mask}, <{n} x i32>)
declare {vector} @llvm.masked.gather.v{n}f64.v{n}p0(<{n} x ptr>, i32, {mask}, {vector})
declare void @llvm.masked.store.v{n}f64.p0({vector}, ptr, i32, {mask})
define internal {mask} @first(i64 %left) alwaysinline {{
  %one = insertelement <{n} x i64> poison, i64 %left, i64 0
  %all = shufflevector <{n} x i64> %one, <{n} x i64> poison, <{n} x i32> zeroinitializer
  %mask = icmp slt <{n} x i64> <{counted}>, %all
  ret {mask} %mask
}}
define internal {vector} @gathered(ptr %scalars, ptr %index, i64 %at, i64 %left) alwaysinline {{
  %mask = call {mask} @first(i64 %left)
  %where = getelementptr i32, ptr %index, i64 %at
  %rows = call <{n} x i32> @llvm.masked.load.v{n}i32.p0(ptr %where, i32 4, {mask} %mask, <{n} x i32> zeroinitializer)
  %places = getelementptr double, ptr %scalars, <{n} x i32> %rows
  %ones = insertelement {vector} poison, double 1.0, i64 0
  %rest = shufflevector {vector} %ones, {vector} poison, <{n} x i32> zeroinitializer
  %all = call {vector} @llvm.masked.gather.v{n}f64.v{n}p0({ptrs} %places, i32 8, {mask} %mask, {vector} %rest)
  ret {vector} %all
}}
define internal void @stored(ptr %scalars, i64 %at, i64 %left, {vector} %values) alwaysinline {{
  %mask = call {mask} @first(i64 %left)
  %place = getelementptr double, ptr %scalars, i64 %at
  call void @llvm.masked.store.v{n}f64.p0({vector} %values, ptr %place, i32 8, {mask} %mask)
  ret void
}}
"""


def scattered() -> str:
    """The loads and stores, in LLVM's language."""
    counted = ", ".join(f"i64 {k}" for k in range(LANES))
    return SCATTERED.format(n=LANES, vector=VECTOR, mask=MASK, ptrs=f"<{LANES} x ptr>", counted=counted)


KNOWN = {  # what a kernel may call them
    "gathered": Callee("gathered", ["ptr", "ptr", "i64", "i64"], VECTOR),
    "stored": Callee("stored", ["ptr", "i64", "i64", VECTOR], "void"),
}


class Shape(NamedTuple):
    """What a kernel computes: a rule's number, and how many operands it has."""

    kind: int
    arity: int

    @property
    def name(self) -> str:
        return f"{name_of(self.kind)}{self.arity}"

    def addresses(self) -> tuple[int, ...]:
        """Its line in a table of kernels; shapes of any number of operands have loops instead, and no kernel."""
        if self.arity == ANY_NUMBER:
            return (0,) * ENTRIES
        at = kernels(self).address
        return at("run"), at("one"), at("of_one") if self.arity == 1 else 0, at("lanes"), 0, 0


@once
def kernels(shape: Shape) -> Library:
    """The machine code of a shape. Raises Opaque if its rule cannot be compiled."""
    ours = shape.kind < BUILT_IN or shape.kind == LARGEST  # a learner's own may change
    return compiled(lambda: text(shape), key=f"{sources()} {shape.name}" if ours else None, optimised=True)


def text(shape: Shape) -> str:
    """Both kernels of a shape, in LLVM's language."""
    module = Module(LANES)
    single = Module(1, module.declared, fast=True)  # one number, with a register's bits
    try:
        value = module.define(shape.name, _value(shape), shape.arity)
        alone = single.define(shape.name, _value(shape), shape.arity)
    except Exception as error:  # whatever a learner's function does when it meets registers
        raise opaque(BY_NUMBER[shape.kind], error) from error
    values = {
        "value": Callee(value, [VECTOR] * shape.arity, VECTOR),
        "value_alone": Callee(alone, ["double"] * shape.arity, "double"),
    }
    program = TranslatedModule({**KNOWN, **values})
    program.add_source(_run_source(shape.arity))
    program.add_source(_one_source(shape.arity))
    if shape.arity == 1:
        program.add_source("def of_one(x: float) -> float:\n    return value_alone(x)")
    program.add_source(_lanes_source(shape.arity))
    return f"{together(module, single)}\n{scattered()}\n{program}"


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
    operands = ", ".join(f"gathered(scalars, index, base + {place} * length + i, length - i)" for place in range(arity))
    return f"""
    def run(scalars: Floats, index: Ints, base: int, target: int, length: int) -> None:
        for i in range(0, length, LANES):
            stored(scalars, target + i, length - i, value({operands}))
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
    operands = ", ".join(f"values[a{place} + i : a{place} + i + LANES]" for place in range(1, arity + 1))
    places = "\n        ".join(f"a{place} = code[at + {place}] * width" for place in range(arity + 1))
    return f"""
    def lanes(code: Ints, at: int, values: Floats, width: int, count: int) -> None:
        {places}
        for i in range(0, count, LANES):
            values[a0 + i : a0 + i + LANES] = value({operands})
    """
