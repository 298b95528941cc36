"""Straight-line code for eight samples at a time, and the loops around it.

A section of lanes goes through its samples in chunks that stay in the cache:

    for each chunk:
        for each block of eight samples:    straight code; a register holds a row's eight values
        totals:                             sums in the written order, one sample after the other
        tiles:                              sums for gradients, eight at once, in registers

What the loops behind the blocks read is kept in the chunk's columns: a block's
columns lie side by side, eight samples of each.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from .emit import Emitted, Value
from .functions import Module
from .straight import LINE, Scratch, Straight

WIDTH = 8  # samples in a block
BLOCK = "ptr %values, ptr %adjoints, ptr %scratch, ptr %feeds, ptr %lanes, ptr %outs, i64 %stride, i64 %left"
REAL = f"<{WIDTH} x double>"
FMA = f"llvm.fma.v{WIDTH}f64"
# What the scratch array holds of each group, in words: how many samples, how many lie in a line of its feeds, how many
# make a chunk, and where its feeds, its columns and its results are.
HEAD = ("count", "stride", "most", "feeds", "lanes", "outs")
TALL, BROAD = 4, 4  # a tile's lefts and rights


class Block(Straight):
    """The code for eight samples; what has one value for all of them is spread over a register where it is needed."""

    def __init__(self, module: Module, name: str, scratch: Scratch) -> None:
        super().__init__(module, name, BLOCK, scratch)

    def operand(self, value: Value) -> str:
        if isinstance(value, Emitted) and value.writer.module.width == 1:
            one = self.line(f"load double, ptr {self._address(*self.settled(value))}, align 8").name
            first = self.line(f"insertelement {REAL} poison, double {one}, i64 0").name
            return self.line(f"shufflevector {REAL} {first}, {REAL} poison, <{WIDTH} x i32> zeroinitializer").name
        return super().operand(value)

    def fused(self, x: Value, y: Value, total: Value) -> Emitted:
        """x * y + total, rounded once."""
        return self.outside("llvm.fma.f64", [x, y, total])

    def real_only(self, value: Value, other: Value) -> Emitted:
        """The value in the lanes of samples, and the other one in lanes beyond the last."""
        left = self.line(f"insertelement <{WIDTH} x i64> poison, i64 %left, i64 0").name
        every = f"shufflevector <{WIDTH} x i64> {left}, <{WIDTH} x i64> poison, <{WIDTH} x i32> zeroinitializer"
        places = ", ".join(f"i64 {place}" for place in range(WIDTH))
        mask = self.line(f"icmp slt <{WIDTH} x i64> <{places}>, {self.line(every).name}").name
        return self.line(f"select <{WIDTH} x i1> {mask}, {REAL} {self.operand(value)}, {REAL} {self.operand(other)}")

    def _address_lines(self, array: str, index: int) -> list[str]:
        if array in ("feeds", "outs"):
            return [f"mul i64 %stride, {index}", f"getelementptr double, ptr %{array}, i64 {{0}}"]
        return super()._address_lines(array, index)


class Tile(NamedTuple):
    """Sums over the samples of every left times every right: their columns, and where in scratch the sums lie."""

    lefts: list[int]
    rights: list[int]
    place: int


class Total(NamedTuple):
    """A sum over the samples in their order: its column, and where in scratch it lies."""

    column: int
    place: int


class Sums(NamedTuple):
    """What a section's sums need in scratch: registers and tiles' sums that begin at 0, from `place` on `lines` lines.

    registers: for each eight sums the first of their registers, and where they go.
    """

    place: int
    lines: int
    registers: list[tuple[int, int]]


def section(
    name: str, group: int, columns: int, block: Block, totals: Sequence[Total], tiles: Sequence[Tile], sums: Sums
) -> str:
    """The functions of one section of lanes. columns: of its group, all told."""
    tile_names = [f"{name}.tile{place}" for place in range(len(tiles))]
    read = sorted({column for tile in tiles for column in (*tile.lefts, *tile.rights)})
    texts = [block.functions(), _clear(f"{name}.clear", read)]
    texts += [_tile(called, tile, columns) for called, tile in zip(tile_names, tiles, strict=True)]
    head = [
        line
        for place, word in enumerate(HEAD)
        for line in (
            f"%{word}.at = getelementptr i64, ptr %scratch, i64 {LINE * (group - 1) + place}",
            f"%{word} = load {'i64' if place < 3 else 'ptr'}, ptr %{word}.at",
        )
    ]
    begin = []
    for place, total in enumerate(totals):
        begin += [
            f"%to{place} = getelementptr double, ptr %scratch, i64 {total.place}",
            f"store double -0.0, ptr %to{place}",  # adding it to any number, even to -0.0, leaves that number
        ]
    lines = [
        f'define void @"{name}"(ptr %values, ptr %adjoints, ptr %scratch) {{',
        "begin:",
        *head,
        *begin,
        *_cleared(sums),
        "chunk:",
        "%first = phi i64 [0, %cleared], [%second, %chunked]",
        "%left = sub i64 %count, %first",
        "%few = icmp slt i64 %left, %most",
        "%here = select i1 %few, i64 %left, i64 %most",
        "%feeds.here = getelementptr double, ptr %feeds, i64 %first",
        "%outs.here = getelementptr double, ptr %outs, i64 %first",
        "br label %block",
        "block:",
        "%at = phi i64 [0, %chunk], [%then, %block]",
        "%rest = sub i64 %here, %at",
        "%f = getelementptr double, ptr %feeds.here, i64 %at",
        "%o = getelementptr double, ptr %outs.here, i64 %at",
        f"%offset = mul i64 %at, {columns}",
        "%l = getelementptr double, ptr %lanes, i64 %offset",
        f'call void @"{block.name}"(ptr %values, ptr %adjoints, ptr %scratch, ptr %f, ptr %l, ptr %o, '
        "i64 %stride, i64 %rest)",
        f"%then = add i64 %at, {WIDTH}",
        "%more = icmp slt i64 %then, %here",
        "br i1 %more, label %block, label %blocked",
        "blocked:",
        f"%beyond = and i64 %here, {WIDTH - 1}",
        "%whole.blocks = icmp eq i64 %beyond, 0",
        "br i1 %whole.blocks, label %summing, label %clear",
        "clear:",
        "%last = sub i64 %here, %beyond",
        f"%last.offset = mul i64 %last, {columns}",
        "%last.block = getelementptr double, ptr %lanes, i64 %last.offset",
        f'call void @"{name}.clear"(ptr %last.block, i64 %beyond)',
        "br label %summing",
        "summing:",
        *_totals(totals, columns),
        *(f'call void @"{called}"(ptr %scratch, ptr %lanes, i64 %here)' for called in tile_names),
        "br label %chunked",
        "chunked:",
        "%second = add i64 %first, %most",
        "%on = icmp slt i64 %second, %count",
        "br i1 %on, label %chunk, label %end",
        "end:",
        *[line for place, (first, to) in enumerate(sums.registers) for line in _summed(f"s{place}", first, to)],
        "ret void",
    ]  # fmt: skip
    texts.append("\n  ".join(lines) + "\n}")
    return "\n\n".join(texts)


def _cleared(sums: Sums) -> list[str]:
    """A loop that sets the places of sums to 0."""
    if not sums.lines:
        return ["br label %cleared", "cleared:", "br label %chunk"]
    return [
        f"%sums = getelementptr double, ptr %scratch, i64 {sums.place}",
        "br label %clearing",
        "clearing:",
        "%c = phi i64 [0, %begin], [%c.next, %clearing]",
        "%c.at = getelementptr double, ptr %sums, i64 %c",
        f"store {REAL} zeroinitializer, ptr %c.at, align 8",
        f"%c.next = add i64 %c, {WIDTH}",
        f"%c.more = icmp slt i64 %c.next, {WIDTH * sums.lines}",
        "br i1 %c.more, label %clearing, label %cleared",
        "cleared:",
        "br label %chunk",
    ]


def _clear(name: str, columns: Sequence[int]) -> str:
    """Set these columns' lanes beyond the last sample to 0, so that they add nothing to a tile."""
    places = ", ".join(f"i64 {place}" for place in range(WIDTH))
    lines = [
        f'define internal void @"{name}"(ptr %block, i64 %left) {{',
        f"%one = insertelement <{WIDTH} x i64> poison, i64 %left, i64 0",
        f"%all = shufflevector <{WIDTH} x i64> %one, <{WIDTH} x i64> poison, <{WIDTH} x i32> zeroinitializer",
        f"%mask = icmp slt <{WIDTH} x i64> <{places}>, %all",
    ]
    for each in columns:
        lines += [
            f"%at{each} = getelementptr double, ptr %block, i64 {WIDTH * each}",
            f"%x{each} = load {REAL}, ptr %at{each}, align 8",
            f"%y{each} = select <{WIDTH} x i1> %mask, {REAL} %x{each}, {REAL} zeroinitializer",
            f"store {REAL} %y{each}, ptr %at{each}, align 8",
        ]
    return "\n  ".join([*lines, "ret void"]) + "\n}"


def _totals(totals: Sequence[Total], columns: int) -> list[str]:
    """One loop for all sums in order; each waits for its last addition, so several cost no more than one."""
    if not totals:
        return []
    numbers = range(len(totals))
    return [
        *(f"%begun{k} = load double, ptr %to{k}" for k in numbers),
        "br label %total",
        "total:",
        "%i = phi i64 [0, %summing], [%i.next, %total]",
        *(f"%sum{k} = phi double [%begun{k}, %summing], [%sum{k}.next, %total]" for k in numbers),
        f"%lane = and i64 %i, {WIDTH - 1}",
        "%whole = sub i64 %i, %lane",
        f"%skipped = mul i64 %whole, {columns}",
        "%place = add i64 %skipped, %lane",
        "%column = getelementptr double, ptr %lanes, i64 %place",
        *(
            line
            for k, total in enumerate(totals)
            for line in (
                f"%x{k}.at = getelementptr double, ptr %column, i64 {WIDTH * total.column}",
                f"%x{k} = load double, ptr %x{k}.at",
                f"%sum{k}.next = fadd double %sum{k}, %x{k}",
            )
        ),
        "%i.next = add i64 %i, 1",
        "%i.more = icmp slt i64 %i.next, %here",
        "br i1 %i.more, label %total, label %totalled",
        "totalled:",
        *(f"store double %sum{k}.next, ptr %to{k}" for k in numbers),
    ]


def _tile(name: str, tile: Tile, columns: int) -> str:
    """The sums of a chunk, added to those of the chunks before."""
    pairs = [(j, k) for j in range(len(tile.lefts)) for k in range(len(tile.rights))]
    of_pair = {pair: f"%a{pair[0]}{pair[1]}" for pair in pairs}
    lines = [
        f'define internal void @"{name}"(ptr %scratch, ptr %lanes, i64 %here) {{',
        "begin:",
        "br label %loop",
        "loop:",
        "%i = phi i64 [0, %begin], [%next, %loop]",
        *(f"{a} = phi {REAL} [zeroinitializer, %begin], [{a}.next, %loop]" for a in of_pair.values()),
        f"%offset = mul i64 %i, {columns}",
        "%block = getelementptr double, ptr %lanes, i64 %offset",
    ]
    for side, places in (("l", tile.lefts), ("r", tile.rights)):
        for k, column in enumerate(places):
            lines.append(f"%{side}{k}.at = getelementptr double, ptr %block, i64 {WIDTH * column}")
            lines.append(f"%{side}{k} = load {REAL}, ptr %{side}{k}.at, align 8")
    for (j, k), a in of_pair.items():
        lines.append(f"{a}.next = call {REAL} @{FMA}({REAL} %l{j}, {REAL} %r{k}, {REAL} {a})")
    lines += [
        f"%next = add i64 %i, {WIDTH}",
        "%more = icmp slt i64 %next, %here",
        "br i1 %more, label %loop, label %end",
        "end:",
    ]
    names = [f"{a}.next" for a in of_pair.values()]
    for first in range(0, len(names), WIDTH):
        eight = [*names[first : first + WIDTH], *["zeroinitializer"] * WIDTH][:WIDTH]
        lines += [
            f"%sums{first} = call {REAL} @sums({', '.join(f'{REAL} {each}' for each in eight)})",
            f"%to{first} = getelementptr double, ptr %scratch, i64 {tile.place + first}",
            f"%before{first} = load {REAL}, ptr %to{first}, align 8",
            f"%after{first} = fadd {REAL} %before{first}, %sums{first}",
            f"store {REAL} %after{first}, ptr %to{first}, align 8",
        ]
    lines += [
        "ret void",
    ]
    return "\n  ".join(lines) + "\n}"


def _summed(name: str, first: int, to: int) -> list[str]:
    """The sums of eight registers, side by side."""
    lines = []
    for k in range(WIDTH):
        lines.append(f"%{name}.at{k} = getelementptr double, ptr %scratch, i64 {first + WIDTH * k}")
        lines.append(f"%{name}.{k} = load {REAL}, ptr %{name}.at{k}, align 8")
    given = ", ".join(f"{REAL} %{name}.{k}" for k in range(WIDTH))
    return [
        *lines,
        f"%{name} = call {REAL} @sums({given})",
        f"%{name}.to = getelementptr double, ptr %scratch, i64 {to}",
        f"store {REAL} %{name}, ptr %{name}.to, align 8",
    ]


DECLARED = {FMA: f'declare {REAL} @"{FMA}"({REAL}, {REAL}, {REAL})'}
