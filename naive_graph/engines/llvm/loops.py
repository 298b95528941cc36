"""Straight-line code for a register of samples at a time, and the loops around it.

A section of lanes goes through its samples in chunks that stay in the cache:

    for each chunk:
        for each block of samples:          straight code; a register holds a row's values
        totals:                             sums in the written order, one sample after the other
        tiles:                              sums for gradients, many at once, in registers

A block has as many samples as a register has lanes: eight in float64, sixteen
in float32. What the loops behind the blocks read is kept in the chunk's
columns: a block's columns lie side by side, a register of each.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from . import registers
from .block import Block
from .precision import Precision

WORDS = 8  # of 64 bits, in a line of the cache
# What the scratch array holds of each group, in such words, a line for each: how many samples, how many lie in a line
# of its feeds, how many make a chunk, and where its feeds, its columns and its results are.
HEAD = ("count", "stride", "most", "feeds", "lanes", "outs")
TALL, BROAD = 4, 4  # a tile's lefts and rights
TILE = "ptr %scratch, ptr %lanes, i64 %first, i64 %here"


class Tile(NamedTuple):
    """Sums over the samples of every left times every right: their columns, and where in scratch they lie.

    Each left's sums take BROAD places there, some of them idle.
    """

    lefts: list[int]
    rights: list[int]
    place: int


class Total(NamedTuple):
    """A sum over the samples in their order: its column, and where in scratch it lies."""

    column: int
    place: int


class Sums(NamedTuple):
    """What a section's sums need in scratch: registers that begin at 0, from `place` on `lines` lines.

    registers: for each line of sums the first of their registers, and where they go.
    """

    place: int
    lines: int
    registers: list[tuple[int, int]]


def section(
    name: str, group: int, columns: int, block: Block, totals: Sequence[Total], tiles: Sequence[Tile], sums: Sums
) -> str:
    """The functions of one section of lanes. columns: of its group, all told."""
    precision = block.module.precision
    real, lanes = precision.type, precision.lanes
    tile_names = [f"{name}.tile{place}" for place in range(len(tiles))]
    read = sorted({column for tile in tiles for column in (*tile.lefts, *tile.rights)})
    texts = [block.functions(), _clear(f"{name}.clear", read, precision)]
    texts += [_tile(called, tile, columns, precision) for called, tile in zip(tile_names, tiles, strict=True)]
    head = [
        line
        for place, word in enumerate(HEAD)
        for line in (
            f"%{word}.at = getelementptr i64, ptr %scratch, i64 {WORDS * (group - 1) + place}",
            f"%{word} = load {'i64' if place < 3 else 'ptr'}, ptr %{word}.at",
        )
    ]
    begin = []
    for place, total in enumerate(totals):
        begin += [
            f"%to{place} = getelementptr {real}, ptr %scratch, i64 {total.place}",
            f"store {real} -0.0, ptr %to{place}",  # adding it to any number, even to -0.0, leaves that number
        ]
    lines = [
        f'define void @"{name}"(ptr %values, ptr %adjoints, ptr %scratch) {{',
        "begin:",
        *head,
        *begin,
        *_cleared(sums, precision),
        "chunk:",
        "%first = phi i64 [0, %cleared], [%second, %chunked]",
        "%left = sub i64 %count, %first",
        "%few = icmp slt i64 %left, %most",
        "%here = select i1 %few, i64 %left, i64 %most",
        f"%feeds.here = getelementptr {real}, ptr %feeds, i64 %first",
        f"%outs.here = getelementptr {real}, ptr %outs, i64 %first",
        "br label %block",
        "block:",
        "%at = phi i64 [0, %chunk], [%then, %block]",
        "%rest = sub i64 %here, %at",
        f"%f = getelementptr {real}, ptr %feeds.here, i64 %at",
        f"%o = getelementptr {real}, ptr %outs.here, i64 %at",
        f"%offset = mul i64 %at, {columns}",
        f"%l = getelementptr {real}, ptr %lanes, i64 %offset",
        f'call void @"{block.name}"(ptr %values, ptr %adjoints, ptr %scratch, ptr %f, ptr %l, ptr %o, '
        "i64 %stride, i64 %rest)",
        f"%then = add i64 %at, {lanes}",
        "%more = icmp slt i64 %then, %here",
        "br i1 %more, label %block, label %blocked",
        "blocked:",
        f"%beyond = and i64 %here, {lanes - 1}",
        "%whole.blocks = icmp eq i64 %beyond, 0",
        "br i1 %whole.blocks, label %summing, label %clear",
        "clear:",
        "%last = sub i64 %here, %beyond",
        f"%last.offset = mul i64 %last, {columns}",
        f"%last.block = getelementptr {real}, ptr %lanes, i64 %last.offset",
        f'call void @"{name}.clear"(ptr %last.block, i64 %beyond)',
        "br label %summing",
        "summing:",
        *_totals(totals, columns, precision),
        *(f'call void @"{called}"({TILE})' for called in tile_names),
        "br label %chunked",
        "chunked:",
        "%second = add i64 %first, %most",
        "%on = icmp slt i64 %second, %count",
        "br i1 %on, label %chunk, label %end",
        "end:",
        *[line for k, (first, to) in enumerate(sums.registers) for line in _summed(f"s{k}", first, to, precision)],
        "ret void",
    ]  # fmt: skip
    texts.append("\n  ".join(lines) + "\n}")
    return "\n\n".join(texts)


def declared(precision: Precision) -> dict[str, str]:
    """What the loops ask of LLVM, by name."""
    fma, vector = _fma(precision), precision.vector
    return {fma: f'declare {vector} @"{fma}"({vector}, {vector}, {vector})'}


def _fma(precision: Precision) -> str:
    return f"llvm.fma{precision.suffix(precision.lanes)}"


def _cleared(sums: Sums, precision: Precision) -> list[str]:
    """A loop that sets the places of sums to 0."""
    if not sums.lines:
        return ["br label %cleared", "cleared:", "br label %chunk"]
    real, lanes = precision.type, precision.lanes
    return [
        f"%sums = getelementptr {real}, ptr %scratch, i64 {sums.place}",
        "br label %clearing",
        "clearing:",
        "%c = phi i64 [0, %begin], [%c.next, %clearing]",
        f"%c.at = getelementptr {real}, ptr %sums, i64 %c",
        f"store {precision.vector} zeroinitializer, ptr %c.at, align {precision.bytes}",
        f"%c.next = add i64 %c, {lanes}",
        f"%c.more = icmp slt i64 %c.next, {lanes * sums.lines}",
        "br i1 %c.more, label %clearing, label %cleared",
        "cleared:",
        "br label %chunk",
    ]


def _clear(name: str, columns: Sequence[int], precision: Precision) -> str:
    """Set these columns' lanes beyond the last sample to 0, so that they add nothing to a tile."""
    lanes, vector, align = precision.lanes, precision.vector, precision.bytes
    lines = [
        f'define internal void @"{name}"(ptr %block, i64 %left) {{',
        *registers.first("%left", lanes),
    ]
    for each in columns:
        lines += [
            f"%at{each} = getelementptr {precision.type}, ptr %block, i64 {lanes * each}",
            f"%x{each} = load {vector}, ptr %at{each}, align {align}",
            f"%y{each} = select {precision.mask} %mask, {vector} %x{each}, {vector} zeroinitializer",
            f"store {vector} %y{each}, ptr %at{each}, align {align}",
        ]
    return "\n  ".join([*lines, "ret void"]) + "\n}"


def _totals(totals: Sequence[Total], columns: int, precision: Precision) -> list[str]:
    """One loop for all sums in order; each waits for its last addition, so several cost no more than one."""
    if not totals:
        return []
    every, real, lanes = range(len(totals)), precision.type, precision.lanes
    return [
        *(f"%begun{k} = load {real}, ptr %to{k}" for k in every),
        "br label %total",
        "total:",
        "%i = phi i64 [0, %summing], [%i.next, %total]",
        *(f"%sum{k} = phi {real} [%begun{k}, %summing], [%sum{k}.next, %total]" for k in every),
        f"%lane = and i64 %i, {lanes - 1}",
        "%whole = sub i64 %i, %lane",
        f"%skipped = mul i64 %whole, {columns}",
        "%place = add i64 %skipped, %lane",
        f"%column = getelementptr {real}, ptr %lanes, i64 %place",
        *(
            line
            for k, total in enumerate(totals)
            for line in (
                f"%x{k}.at = getelementptr {real}, ptr %column, i64 {lanes * total.column}",
                f"%x{k} = load {real}, ptr %x{k}.at",
                f"%sum{k}.next = fadd {real} %sum{k}, %x{k}",
            )
        ),
        "%i.next = add i64 %i, 1",
        "%i.more = icmp slt i64 %i.next, %here",
        "br i1 %i.more, label %total, label %totalled",
        "totalled:",
        *(f"store {real} %sum{k}.next, ptr %to{k}" for k in every),
    ]


def _tile(name: str, tile: Tile, columns: int, precision: Precision) -> str:
    """The sums of a chunk, added to those of the chunks before. Those of a left take BROAD lanes, some of them idle."""
    real, lanes, vector, align = precision.type, precision.lanes, precision.vector, precision.bytes
    many = len(tile.rights)
    pairs = [(j, k) for j in range(len(tile.lefts)) for k in range(many)]
    of_pair = {pair: f"%a{pair[0]}{pair[1]}" for pair in pairs}
    lines = [
        f'define internal void @"{name}"({TILE}) {{',
        "begin:",
        "%is.first = icmp eq i64 %first, 0",
        "br label %loop",
        "loop:",
        "%i = phi i64 [0, %begin], [%next, %loop]",
        *(f"{a} = phi {vector} [zeroinitializer, %begin], [{a}.next, %loop]" for a in of_pair.values()),
        f"%offset = mul i64 %i, {columns}",
        f"%block = getelementptr {real}, ptr %lanes, i64 %offset",
    ]
    for side, places in (("l", tile.lefts), ("r", tile.rights)):
        for k, column in enumerate(places):
            lines.append(f"%{side}{k}.at = getelementptr {real}, ptr %block, i64 {lanes * column}")
            lines.append(f"%{side}{k} = load {vector}, ptr %{side}{k}.at, align {align}")
    for (j, k), a in of_pair.items():
        lines.append(f"{a}.next = call {vector} @{_fma(precision)}({vector} %l{j}, {vector} %r{k}, {vector} {a})")
    lines += [
        f"%next = add i64 %i, {lanes}",
        "%more = icmp slt i64 %next, %here",
        "br i1 %more, label %loop, label %end",
        "end:",
    ]
    every = [of_pair.get((j, k)) for j in range(len(tile.lefts)) for k in range(BROAD)]
    names = ["zeroinitializer" if a is None else f"{a}.next" for a in every]
    for first in range(0, len(names), lanes):
        some = [*names[first : first + lanes], *["zeroinitializer"] * lanes][:lanes]
        lines.append(f"%sums{first} = call {vector} @sums({', '.join(f'{vector} {each}' for each in some)})")
        lines += [
            f"%to{first} = getelementptr {real}, ptr %scratch, i64 {tile.place + first}",
            f"%held{first} = load {vector}, ptr %to{first}, align {align}",
            f"%before{first} = select i1 %is.first, {vector} zeroinitializer, {vector} %held{first}",
            f"%after{first} = fadd {vector} %before{first}, %sums{first}",
            f"store {vector} %after{first}, ptr %to{first}, align {align}",
        ]
    return "\n  ".join([*lines, "ret void"]) + "\n}"


def _summed(name: str, first: int, to: int, precision: Precision) -> list[str]:
    """The sums of as many registers as one has lanes, side by side."""
    real, lanes, vector, align = precision.type, precision.lanes, precision.vector, precision.bytes
    lines = []
    for k in range(lanes):
        lines.append(f"%{name}.at{k} = getelementptr {real}, ptr %scratch, i64 {first + lanes * k}")
        lines.append(f"%{name}.{k} = load {vector}, ptr %{name}.at{k}, align {align}")
    given = ", ".join(f"{vector} %{name}.{k}" for k in range(lanes))
    return [
        *lines,
        f"%{name} = call {vector} @sums({given})",
        f"%{name}.to = getelementptr {real}, ptr %scratch, i64 {to}",
        f"store {vector} %{name}, ptr %{name}.to, align {align}",
    ]
