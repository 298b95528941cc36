"""Fixed kernels in LLVM IR that the code of every plan calls. They are compiled once and cached on disk.

    dense          a dense layer over a block of samples
    outer          outer products summed over the samples: every left times every right
    fold           sum the lanes of vectors
    dot            a long sum of products of scalars, over tables of slots
    dots           many sums of products
    feed, export   copy samples from the caller's arrays to the block's lines, and back
    join, total    add the sums of two halves of the samples; add the terms of all samples in their order
    copy, clear    copy numbers by a table; zero the lanes beyond the last sample
    check          0 if all numbers are finite, else NaN

Sums are made in the written order, from the left. Only `outer` and `fold`, which add up samples, have an order of their
own. It is fixed, so results have the same bits wherever a plan runs.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache as once
from typing import Any

import numpy as np

from ..llvm.compile import compiled
from ..llvm.functions import IOTA, LANES, VECTOR, FunctionWriter
from ..llvm.machine import sources

Body = Callable[[FunctionWriter], Any]  # writes the instructions; returns the result's name, or None
KERNELS: dict[str, Callable[[], str]] = {}  # name -> what writes the text


def kernel(parameters: str, result: str = "void") -> Callable[[Body], Body]:
    """Make a kernel of the function that writes its body, under that function's name."""

    def add(body: Body) -> Body:
        def text() -> str:
            f = FunctionWriter(f"define {result} @{body.__name__}({parameters})")
            returned = body(f)
            return str(f) if returned is None else f.finish_with_return(result, returned)

        KERNELS[body.__name__] = text
        return body

    return add


@kernel(
    "ptr %w, ptr %wtab, ptr %scalars, i64 %begin, ptr %xtab, ptr %ytab, i64 %outputs, i64 %inputs, "
    "i64 %step, ptr %base, i64 %count"
)
def dense(f: FunctionWriter) -> None:
    """y[j] = bias[j] + sum over k of w[j][k] * x[k], in register tiles of four outputs and eight samples.

    So the sums stay in registers on every processor: with AVX2 these are 8 of 16 registers.

    begin: the slot of the first bias in `scalars`. wtab: where the weights of each output begin; their stride is
    `step`. xtab, ytab: offsets of the lines of inputs and outputs. outputs: a multiple of 4.
    """
    tall = 4
    bias = f.at("%scalars", "%begin")

    def outputs(j: str, _: list[str]) -> None:
        places = [f.let(f"add i64 {j}, {n}") for n in range(tall)]
        rows = [f.at("%w", f.load_index("%wtab", output)) for output in places]
        biases = [f.splat(f.load(bias, output)) for output in places]
        ys = [f.at("%base", f.load_index("%ytab", output)) for output in places]

        def samples(i: str, _: list[str]) -> None:
            def terms(k: str, sums: list[str]) -> list[str]:
                x = f.load(f.at("%base", f.load_index("%xtab", k)), i, VECTOR)
                off, made = f.let(f"mul i64 {k}, %step"), []
                for row, old in zip(rows, sums):
                    product = f.let(f"fmul {VECTOR} {f.splat(f.load(row, off))}, {x}")
                    made.append(f.let(f"fadd {VECTOR} {old}, {product}"))
                return made

            sums = f.loop(0, "%inputs", 1, [(VECTOR, value) for value in biases], terms)
            for y, value in zip(ys, sums):
                f.store(value, y, i, VECTOR)

        f.loop(0, "%count", LANES, [], samples)

    f.loop(0, "%outputs", tall, [], outputs)


@kernel(
    "ptr %ltab, ptr %rtab, ptr %to, i64 %lefts, i64 %rights, i64 %pairs, ptr %sums, ptr %base, i64 %done, i64 %count"
)
def outer(f: FunctionWriter) -> None:
    """sums[to[j] + k] (+)= the sum over the samples, and over some pairs of lines, of left[j] * right[k].

    rights: the table is padded to a multiple of 8. The lines must be 0 beyond the last sample.
    done: how many samples came before this block; if 0, the sums start from 0 (= instead of +=).
    """
    fresh = f.let("icmp eq i64 %done, 0")

    def lefts(j: str, _: list[str]) -> None:
        def rights(k: str, _: list[str]) -> None:
            def pairs(p: str, sums: list[str]) -> list[str]:
                def line(table: str, row: str, n: int) -> str:
                    offset = f.let(f"mul i64 {f.let(f'add i64 {row}, {n}')}, %pairs")
                    return f.at("%base", f.load_index(table, f.let(f"add i64 {offset}, {p}")))

                left, right = line("%ltab", j, 0), [line("%rtab", k, n) for n in range(LANES)]

                def samples(i: str, sums: list[str]) -> list[str]:
                    x, ys = f.load(left, i, VECTOR), [f.load(pointer, i, VECTOR) for pointer in right]
                    return [
                        f.let(f"call {VECTOR} @llvm.fma.v8f64({VECTOR} {x}, {VECTOR} {y}, {VECTOR} {old})")
                        for y, old in zip(ys, sums)
                    ]

                return f.loop(0, "%count", LANES, [(VECTOR, accumulator) for accumulator in sums], samples)

            sums = f.loop(0, "%pairs", 1, [(VECTOR, "zeroinitializer")] * LANES, pairs)
            total = f.let(f"call {VECTOR} @add_across({', '.join(f'{VECTOR} {accumulator}' for accumulator in sums)})")
            left_over = f.splat(f.let(f"sub i64 %rights, {k}"), "i64")
            mask = f.let(f"icmp slt <{LANES} x i64> {IOTA}, {left_over}")
            address = f.at("%sums", f.let(f"add i64 {k}, {f.load_index('%to', j)}"))
            old = f.load(address, 0, VECTOR)
            begun = f.let(f"select i1 {fresh}, {VECTOR} zeroinitializer, {VECTOR} {old}")
            new = f.let(f"fadd {VECTOR} {begun}, {total}")
            f.store(f.let(f"select <{LANES} x i1> {mask}, {VECTOR} {new}, {VECTOR} {old}"), address, 0, VECTOR)

        f.loop(0, "%rights", LANES, [], rights)

    f.loop(0, "%lefts", 1, [], lefts)


def add_across() -> str:
    """Reduce eight vectors to one: lane k of the result is the sum of the lanes of vector k."""
    f = FunctionWriter(
        f"define internal {VECTOR} @add_across({', '.join(f'{VECTOR} %x{k}' for k in range(LANES))}) alwaysinline"
    )
    xs = [f"%x{k}" for k in range(LANES)]
    for width in (1, 2, 4):
        made = []
        for a, b in zip(xs[::2], xs[1::2]):
            low = [k if not k & width else k - width + LANES for k in range(LANES)]
            high = [k + width if not k & width else k + LANES for k in range(LANES)]
            one, two = (
                f.let(f"shufflevector {VECTOR} {a}, {VECTOR} {b}, <8 x i32> <{', '.join(f'i32 {k}' for k in order)}>")
                for order in (low, high)
            )
            made.append(f.let(f"fadd {VECTOR} {one}, {two}"))
        xs = made
    return f.finish_with_return(VECTOR, xs[0])


@kernel("ptr %registers, ptr %to, i64 %many")
def fold(f: FunctionWriter) -> None:
    """to[k] = the sum of the lanes of the k-th vector at `registers`, for k < many (a multiple of 8)."""

    def eight(k: str, _: list[str]) -> None:
        offset = f.let(f"mul i64 {k}, {LANES}")
        xs = [f.load("%registers", f.let(f"add i64 {offset}, {n * LANES}"), VECTOR) for n in range(LANES)]
        f.store(f.let(f"call {VECTOR} @add_across({', '.join(f'{VECTOR} {x}' for x in xs)})"), "%to", k, VECTOR)

    f.loop(0, "%many", LANES, [], eight)


@kernel("ptr %table, i64 %many, ptr %base, i64 %count")
def clear(f: FunctionWriter) -> None:
    """Write 0 to the lanes of some lines beyond the last sample, so that they add nothing to sums."""
    end = f.let(f"and i64 {f.let(f'add i64 %count, {LANES - 1}')}, -{LANES}")

    def lines(k: str, _: list[str]) -> None:
        line = f.at("%base", f.load_index("%table", k))
        f.loop("%count", end, 1, [], lambda i, _: f.store("0.0", line, i))

    f.loop(0, "%many", 1, [], lines)


@kernel("ptr %from, ptr %to, ptr %table, i64 %many")
def copy(f: FunctionWriter) -> None:
    """to[table[2k]] = from[table[2k + 1]]."""

    def one(k: str, _: list[str]) -> None:
        offset = f.let(f"mul i64 {k}, 2")
        source = f.load_index("%table", f.let(f"add i64 {offset}, 1"))
        f.store(f.load("%from", source), "%to", f.load_index("%table", offset))

    f.loop(0, "%many", 1, [], one)


@kernel("ptr %table, i64 %many, ptr %fed, ptr %base, i64 %first, i64 %count")
def feed(f: FunctionWriter) -> None:
    """base[table[k]][i] = sample first + i of leaf k: copy the block's samples in; padding repeats the last sample.

    fed: for each leaf the address of its first sample in the caller's array, and the stride in bytes.
    """
    end = f.let(f"and i64 {f.let(f'add i64 %count, {LANES - 1}')}, -{LANES}")
    last = f.let("sub i64 %count, 1")

    def leaf(k: str, _: list[str]) -> None:
        line, entry = f.at("%base", f.load_index("%table", k)), f.at("%fed", f.let(f"mul i64 {k}, 2"), "i64")
        begin, apart = f.let(f"load ptr, ptr {entry}"), f.let(f"load i64, ptr {f.at(entry, 1, 'i64')}")
        mine = f.at(begin, f.let(f"mul i64 %first, {apart}"), "i8")

        def sample(i: str, _: list[str]) -> None:
            address = f.at(mine, f.let(f"mul i64 {i}, {apart}"), "i8")
            f.store(f.let(f"load double, ptr {address}, align 1"), line, i)

        f.loop(0, "%count", 1, [], sample)
        filler = f.load(line, last)
        f.loop("%count", end, 1, [], lambda i, _: f.store(filler, line, i))

    f.loop(0, "%many", 1, [], leaf)


@kernel("ptr %table, i64 %many, ptr %base, ptr %lines, i64 %width, i64 %first, i64 %count")
def export(f: FunctionWriter) -> None:
    """lines[k][first + i] = base[table[k]][i]: copy results with a value for every sample out of the block."""

    def line(k: str, _: list[str]) -> None:
        source = f.at("%base", f.load_index("%table", k))
        to = f.at("%lines", f.let(f"add i64 %first, {f.let(f'mul i64 {k}, %width')}"))
        f.loop(0, "%count", LANES, [], lambda i, _: f.store(f.load(source, i, VECTOR), to, i, VECTOR))

    f.loop(0, "%many", 1, [], line)


@kernel("ptr %others, ptr %to, ptr %table, i64 %many")
def join(f: FunctionWriter) -> None:
    """to[table[k]] += others[table[k]]."""

    def one(k: str, _: list[str]) -> None:
        slot = f.load_index("%table", k)
        f.store(f.let(f"fadd double {f.load('%to', slot)}, {f.load('%others', slot)}"), "%to", slot)

    f.loop(0, "%many", 1, [], one)


@kernel("ptr %terms, i64 %block, i64 %lines, i64 %samples, ptr %to")
def total(f: FunctionWriter) -> None:
    """to = the sum of the terms of all samples, in their order. terms: a line per block, `lines` lines apart."""

    def blocks(i: str, sums: list[str]) -> list[str]:
        line = f.at("%terms", f.let(f"mul i64 {i}, %lines"))
        left = f.let(f"sub i64 %samples, {i}")
        count = f.let(f"select i1 {f.let(f'icmp slt i64 {left}, %block')}, i64 {left}, i64 %block")
        return f.loop(
            0, count, 1, [("double", sums[0])], lambda k, sums: [f.let(f"fadd double {sums[0]}, {f.load(line, k)}")]
        )

    (total,) = f.loop(0, "%samples", "%block", [("double", "0x8000000000000000")], blocks)
    f.store(total, "%to")


@kernel("ptr %scalars, ptr %xs, ptr %ys, i64 %many", "double")
def dot(f: FunctionWriter) -> str:
    """The sum of x * y over two tables of slots."""

    def term(k: str, sums: list[str]) -> list[str]:
        x, y = (f.load("%scalars", f.load_index(table, k)) for table in ("%xs", "%ys"))
        return [f.let(f"fadd double {sums[0]}, {f.let(f'fmul double {x}, {y}')}")]

    (total,) = f.loop(0, "%many", 1, [("double", "0x8000000000000000")], term)
    return total


@kernel("ptr %scalars, ptr %index, i64 %base, i64 %to, i64 %many")
def dots(f: FunctionWriter) -> None:
    """Many dots with the same number of terms, each with the bits of `dot`.

    index: from `base` on, the number of factors of a dot, then for each factor the slots for all dots. to: the slot of
    the first sum.
    """
    factors, first = f.load_index("%index", "%base"), f.at("%index", f.let("add i64 %base, 1"), "i32")

    def dot(i: str, _: list[str]) -> None:
        def term(k: str, sums: list[str]) -> list[str]:
            offset = f.let(f"add i64 {i}, {f.let(f'mul i64 {k}, %many')}")
            x, y = (
                f.load("%scalars", f.load_index(first, index)) for index in (offset, f.let(f"add i64 {offset}, %many"))
            )
            return [f.let(f"fadd double {sums[0]}, {f.let(f'fmul double {x}, {y}')}")]

        (total,) = f.loop(0, factors, 2, [("double", "0x8000000000000000")], term)
        f.store(total, "%scalars", f.let(f"add i64 %to, {i}"))

    f.loop(0, "%many", 1, [], dot)


@kernel("ptr %numbers, i64 %many, ptr %nonfinite")
def check(f: FunctionWriter) -> None:
    """nonfinite = 0 if all numbers (a multiple of 8) are finite, else NaN: x - x is 0 for a finite x."""

    def eight(k: str, sums: list[str]) -> list[str]:
        x = f.load("%numbers", k, VECTOR)
        return [f.let(f"fadd {VECTOR} {sums[0]}, {f.let(f'fsub {VECTOR} {x}, {x}')}")]

    (sums,) = f.loop(0, "%many", LANES, [(VECTOR, "zeroinitializer")], eight)
    total = "0.0"
    for lane in range(LANES):
        total = f.let(f"fadd double {total}, {f.let(f'extractelement {VECTOR} {sums}, i64 {lane}')}")
    f.store(total, "%nonfinite")


PLACE = {name: index for index, name in enumerate(KERNELS)}
DECLARED = f"""
declare {VECTOR} @llvm.fma.v8f64({VECTOR}, {VECTOR}, {VECTOR})
"""


def text() -> str:
    """The LLVM IR of all kernels."""
    return "\n".join([DECLARED, add_across(), *(write() for write in KERNELS.values())])


@once
def addresses() -> Any:
    """The addresses of the kernels, in the order of KERNELS: the table from which compiled code calls them."""
    library = compiled(text, key=f"{sources()} kernels")
    table = np.array([library.address(name) for name in KERNELS], np.int64)
    LIBRARIES.append(library)
    return table


LIBRARIES: list[Any] = []  # kept alive: the addresses point into them
