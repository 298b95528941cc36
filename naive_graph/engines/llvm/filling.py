"""What is fed, copied to where compiled code reads it: a batch from rows into lines, single numbers to their places.

An array has a row for each sample; the code reads a line for each column, which
has the samples side by side:

    1 2 3               1 4 7
    4 5 6   becomes     2 5 8
    7 8 9               3 6 9

As many rows and columns as a register has lanes are turned at a time, in
registers. Number by number it would take a load and a store for each.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from . import registers
from .precision import DOUBLE, SINGLE, Precision
from .python import LANES, Doubles, Floats, Longs, Program

LINES_FROM = 4  # where a batch's lines, or the places of single numbers, begin among its words
ALONE = -1  # the stride of single numbers, which have places of their own
NOBODY = -1  # the line of a column that nobody reads

# Only machine code can do these, for it knows no types of what lies in memory. narrow: 1 where `xs` is of float32,
# else it is of float64.
poke: Callable[[int, float], None]  # write a float to an address
fetch: Callable[[Doubles, int, int], float]  # read a float of an array,
register: Callable[[Doubles, int, int], Any]  # or as many as a register has lanes
turn_double: Callable[[Longs, int, Floats, int, Doubles], None]  # see `_turn`
turn_float: Callable[[Longs, int, Floats, int, Doubles], None]


def scatter(words: Longs, xs: Doubles, narrow: int) -> None:
    """Write single numbers where each is read: (address, which number) for each place."""
    for pair in range(words[2]):
        at = LINES_FROM + 2 * pair
        poke(words[at], fetch(xs, words[at + 1], narrow))  # noqa: F821 - they are there once this is compiled


def fill(words: Longs, feeds: Floats, xs: Doubles, narrow: int) -> None:
    """Copy a batch, a row of it for each sample, into the lines of a tape; lanes beyond the last sample repeat it."""
    columns, stride = words[2], words[3]
    if columns == 1:
        fill_line(words, feeds, xs, narrow)
    else:
        for first in range(0, stride, LANES):
            for column in range(0, columns, LANES):
                if narrow:
                    turn_float(words, column, feeds, first, xs)  # noqa: F821
                else:
                    turn_double(words, column, feeds, first, xs)  # noqa: F821


def fill_line(words: Longs, feeds: Floats, xs: Doubles, narrow: int) -> None:
    """The same for a batch of one column, which lies as its line does."""
    samples, stride, line = words[1], words[3], words[LINES_FROM]
    if line >= 0:
        whole = samples - samples % LANES
        for first in range(0, whole, LANES):
            to = line * stride + first
            feeds[to : to + LANES] = register(xs, first, narrow)  # noqa: F821
        for lane in range(whole, stride):
            feeds[line * stride + lane] = fetch(xs, lane if lane < samples else samples - 1, narrow)  # noqa: F821


def batch(dimensions: int, samples: int, stride: int, lines: Sequence[int]) -> list[int]:
    """The words of an array of floats in C's order, with a row for each sample; each column's line.

    A register of lines is read at a time, so there are some more, which nobody reads.
    """
    return [dimensions, samples, len(lines), stride, *lines, *[NOBODY] * SINGLE.lanes]


def singles(numbers: int, places: Sequence[tuple[int, int]]) -> list[int]:
    """The words of an array of single numbers; (address, which number) for each place that reads one."""
    return [1, numbers, len(places), ALONE, *(word for place in places for word in place)]


def text(precision: Precision) -> str:
    """LLVM's assembly of `fill`, `scatter`, and what they call."""
    real, vector, lanes = precision.type, precision.vector, precision.lanes
    turns = [f"turn_{each.type}" for each in BOTH]
    known = {
        "poke": ("poke", ["i64", real], "void"),
        "fetch": ("fetch", ["ptr", "i64", "i64"], real),
        "register": ("register", ["ptr", "i64", "i64"], vector),
        **{name: (name, ["ptr", "i64", "ptr", "i64", "ptr"], "void") for name in turns},
    }
    program = Program(known, precision)
    program.add(fill, outside=False)
    program.add(scatter, outside=False)
    reading = [_read("fetch", 1, precision), _read("register", lanes, precision)]
    return "\n".join([_POKE.format(real=real), *reading, *(_turn(each, precision) for each in BOTH), str(program)])


BOTH = (DOUBLE, SINGLE)
_POKE = """
declare i64 @llvm.smin.i64(i64, i64)
define internal void @poke(i64 %address, {real} %x) alwaysinline {{
  %at = inttoptr i64 %address to ptr
  store {real} %x, ptr %at
  ret void
}}
"""


def _read(name: str, many: int, precision: Precision) -> str:
    """The function of that name: so many numbers of an array of either precision, from the k-th on."""
    target = _type(precision.type, many)
    lines = [
        f"define internal {target} @{name}(ptr %xs, i64 %k, i64 %narrow) alwaysinline {{",
        "%is.narrow = icmp ne i64 %narrow, 0",
        "br i1 %is.narrow, label %float, label %double",
    ]
    for each in BOTH:
        source = _type(each.type, many)
        lines += [
            f"{each.type}:",
            f"%{each.type}.at = getelementptr {each.type}, ptr %xs, i64 %k",
            f"%{each.type}.x = load {source}, ptr %{each.type}.at, align {each.bytes}",
            f"%{each.type}.y = {resized(f'%{each.type}.x', source, target)}",
            f"ret {target} %{each.type}.y",
        ]
    return "\n  ".join(lines) + "\n}"


def _turn(source: Precision, precision: Precision) -> str:
    """The function that copies a square of a batch: a register of samples from `first` on, of columns from `column` on.

    Beyond the last sample are the numbers of the last, beyond the last column none.
    """
    real, vector, lanes = precision.type, precision.vector, precision.lanes
    given, load = _type(source.type, lanes), f"@llvm.masked.load{source.suffix(lanes)}.p0"
    lines = [
        f"define internal void @turn_{source.type}"
        "(ptr %words, i64 %column, ptr %feeds, i64 %first, ptr %xs) alwaysinline {",
        f"%nowhere = alloca {vector}",
        *_words("samples", "columns", "stride"),
        "%last = sub i64 %samples, 1",
        "%left = sub i64 %columns, %column",
        *registers.first("%left", lanes),
    ]
    for k in range(lanes):
        lines += [
            f"%sample{k} = add i64 %first, {k}",
            f"%row{k} = call i64 @llvm.smin.i64(i64 %sample{k}, i64 %last)",
            f"%begin{k} = mul i64 %row{k}, %columns",
            f"%from{k} = add i64 %begin{k}, %column",
            f"%x{k}.at = getelementptr {source.type}, ptr %xs, i64 %from{k}",
            f"%x{k} = call {given} {load}(ptr %x{k}.at, i32 {source.bytes}, {precision.mask} %mask, {given} poison)",
            f"%r1.{k} = {resized(f'%x{k}', given, vector)}",
        ]
    lines += registers.turned(vector, lanes)
    for k in range(lanes):
        lines += [
            f"%word{k} = add i64 %column, {LINES_FROM + k}",
            f"%line{k}.at = getelementptr i64, ptr %words, i64 %word{k}",
            f"%line{k} = load i64, ptr %line{k}.at",
            f"%read{k} = icmp ne i64 %line{k}, {NOBODY}",
            f"%place{k} = mul i64 %line{k}, %stride",
            f"%lane{k} = add i64 %place{k}, %first",
            f"%there{k} = getelementptr {real}, ptr %feeds, i64 %lane{k}",
            f"%to{k} = select i1 %read{k}, ptr %there{k}, ptr %nowhere",
            f"store {vector} %r{lanes}.{k}, ptr %to{k}, align {precision.bytes}",
        ]
    declared = f"declare {given} {load}(ptr, i32, {precision.mask}, {given})\n"
    return declared + "\n  ".join([*lines, "ret void"]) + "\n}"


def _words(*names: str) -> list[str]:
    """A batch's words, of which the first says how many dimensions it has."""
    return [
        line
        for k, name in enumerate(names, 1)
        for line in (f"%{name}.at = getelementptr i64, ptr %words, i64 {k}", f"%{name} = load i64, ptr %{name}.at")
    ]


def _type(element: str, many: int) -> str:
    return element if many == 1 else f"<{many} x {element}>"


def resized(value: str, source: str, target: str) -> str:
    """The instruction that makes floats of one type from those of another; it keeps what is of that type."""
    if source == target:
        return f"select i1 true, {source} {value}, {source} {value}"
    return f"{'fptrunc' if 'double' in source else 'fpext'} {source} {value} to {target}"
