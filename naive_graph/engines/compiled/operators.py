"""Vectorised kernels of the rules, for level runs: apply one rule to many rows at once.

A level run (runs.py) is the rows of a plan that have one rule and do not depend on each other. A rule's value
function is traced over vectors of eight numbers (`llvm.functions`), and put into a loop. The kernel `run` gathers the
operands of many rows from `scalars` by an index, and stores the results contiguously. The kernel `one` does a single
row, with the same bits.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache as once
from typing import Any

from ...core import ieee
from ...core.catalogue import BUILT_IN
from ...core.rules import BY_NUMBER, Rule
from ..llvm.compile import Library, compiled
from ..llvm.emit import compiling, traceable
from ..llvm.functions import LANES, VECTOR, FunctionWriter, Module, link_modules
from ..llvm.machine import sources
from ..passes.ir import LARGEST, name_of

PARAMETERS = "ptr noalias %scalars, ptr noalias %index, i64 %base, i64 %target, i64 %length"
GATHER = f"@llvm.masked.gather.v{LANES}f64.v{LANES}p0"
DECLARED = f"declare {VECTOR} {GATHER}(<{LANES} x ptr>, i32, <{LANES} x i1>, {VECTOR})"
EVERY_LANE = f"<{LANES} x i1> <{', '.join(['i1 true'] * LANES)}>"


@once
def kernels(kind: int, arity: int) -> Library:
    """The kernels `run` (many rows) and `one` (a single row) of a rule, given by its number, with so many operands.

    Raises NotCompilable if the rule cannot be compiled.
    """
    is_ours = kind < BUILT_IN or kind == LARGEST
    key = f"{sources()} {name_of(kind)}{arity}" if is_ours else None  # a learner's own rule may change
    return compiled(lambda: text(kind, arity), key=key, optimised=True)


def text(kind: int, arity: int) -> str:
    """The LLVM IR of these kernels."""
    module = Module(LANES)
    single = Module(1, module.declared, fast=True)
    with compiling(BY_NUMBER[kind : kind + 1]):
        of_vectors, of_numbers = (each.define("value", _value(kind), arity) for each in (module, single))
    kernels_text = _one(arity, of_numbers), _run(arity, of_vectors)
    return "\n".join([DECLARED, link_modules(module, single), *kernels_text])


def largest_of() -> Callable[..., Any]:
    """`ieee.largest` (the largest operand of a softmax), as a function of registers."""
    largest = traceable(ieee.largest)
    return lambda *xs: largest(xs)


def _value(kind: int) -> Any:
    """The function that is traced: a rule's value."""
    if kind == LARGEST:  # a kind of row of the plan alone: the catalogue has no such rule
        return lambda *xs: xs[0].writer.call(name_of(kind), largest_of(), xs)
    rule: Rule = BY_NUMBER[kind]
    return lambda *xs: xs[0].writer.apply(rule, xs)


def _operand_places(f: FunctionWriter, arity: int, first: str) -> list[str]:
    """Positions in the index of the operands of the row at `first`; those of one row lie `length` apart."""
    return [f.let(f"add i64 {first}, {f.let(f'mul i64 {place}, %length')}") for place in range(arity)]


def _emit_call(value: str, kind: str, xs: list[str]) -> str:
    return f'call {kind} @"{value}"({", ".join(f"{kind} {x}" for x in xs)})'


def _one(arity: int, value: str) -> str:
    """The kernel `one`, for one row. A loop would be slower: LLVM would load all constants before it."""
    f = FunctionWriter(f"define void @one({PARAMETERS})")
    xs = [f.load("%scalars", f.load_index("%index", place)) for place in _operand_places(f, arity, "%base")]
    f.store(f.let(_emit_call(value, "double", xs)), "%scalars", "%target")
    return str(f)


def _run(arity: int, value: str) -> str:
    """The kernel `run`, for many rows: eight at a time, and the remaining ones one by one."""
    f = FunctionWriter(f"define void @run({PARAMETERS})")
    whole = f.let(f"and i64 %length, -{LANES}")

    def gathered(place: str) -> str:
        rows = f.let(f"load <{LANES} x i32>, ptr {f.at('%index', place, 'i32')}, align 4")
        places = f.let(f"getelementptr double, ptr %scalars, <{LANES} x i32> {rows}")
        return f.let(f"call {VECTOR} {GATHER}(<{LANES} x ptr> {places}, i32 8, {EVERY_LANE}, {VECTOR} poison)")

    def eight(i: str, _: list[str]) -> None:
        xs = [gathered(place) for place in _operand_places(f, arity, f.let(f"add i64 %base, {i}"))]
        f.store(f.let(_emit_call(value, VECTOR, xs)), "%scalars", f.let(f"add i64 %target, {i}"), VECTOR)

    def single(i: str, _: list[str]) -> None:
        base, target = (f.let(f"add i64 {begin}, {i}") for begin in ("%base", "%target"))
        f.do(f"call void @one(ptr %scalars, ptr %index, i64 {base}, i64 {target}, i64 %length)")

    f.loop(0, whole, LANES, [], eight)
    f.loop(whole, "%length", 1, [], single)
    return str(f)
