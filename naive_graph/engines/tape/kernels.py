"""The loops that run a tape.

A tape is a list of parts. A part of scalars is a list of instructions of five
numbers, each over a run of rows; a part of lanes is a list of instructions of
any length, gone through once for each block of samples, while the block's
values are warm in the cache. Everything here is plain Python over arrays, and
compiles from its own source; `many`, `fma` and slices of LANES floats stand for
registers.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..llvm.machine import machine
from ..llvm.python import LANES, Floats, Ints, Longs

# Instructions of scalars: (what, to, how many, from where in `index`, 0).
LOAD, COPY, PACK, STORE, BEGIN, LONG_DOT, FIRST_KERNEL = 0, 1, 2, 3, 4, 5, 16
# Instructions of lanes; from FIRST_KERNEL on: (what, to, operands...).
FEED, SPREAD, DOT_MIXED, DENSE, SUM, REDUCE_PAIRS, OUTER, EXPORT = 0, 1, 2, 3, 4, 5, 6, 7
SCALAR, SCALED, PRODUCT, LANE = 0, 1, 2, 3  # the terms of a DOT_MIXED: s, s*v, v*v, v
# What describes a part: its group, first and last instruction; then samples, the width of a block, the stride of feeds
# and exports, and where its lanes, feeds and exports start.
PART, GROUP, FROM, TO, SAMPLES, WIDTH, STRIDE, LANES_AT, FEEDS_AT, OUT_AT = 9, 0, 1, 2, 3, 4, 5, 6, 7, 8
NOTHING_YET = -0.0  # where a sum begins: adding it to any number, even to -0.0, leaves that number


def many(x: float) -> Any:
    """The same number in every lane."""
    return np.full(LANES, x)


def fma(a: Any, b: Any, c: Any) -> Any:
    """a * b + c; rounded once by machines, twice here."""
    return a * b + c


def sum_lanes(x: Any) -> float:
    return float(np.sum(x))


def sums(*xs: Any) -> Any:
    """The sums of eight registers, in one."""
    return np.array([np.sum(x) for x in xs])


def call_run(table: Longs, kernel: int, scalars: Floats, index: Ints, base: int, to: int, length: int) -> None:
    raise NotImplementedError("Only machine code can call a kernel by its address.")


def call_lanes(table: Longs, kernel: int, code: Ints, at: int, lanes: Floats, width: int, count: int) -> None:
    raise NotImplementedError("Only machine code can call a kernel by its address.")


@machine
def run(
    parts: Ints, part_count: int, code: Ints, index: Ints, table: Longs, scalars: Floats, lanes: Floats, feeds: Floats,
    weights: Floats, source: Floats, out: Floats, out_lanes: Floats, moves: Ints, move_count: int, steps: int,
    watched: int, history: Floats,
) -> None:  # fmt: skip
    """Run the tape `steps` times. After each run `moves` carry scalars over into the next one."""
    for step in range(steps):
        for part in range(0, part_count * PART, PART):
            if parts[part + GROUP] == 0:
                run_scalars(parts[part + FROM], parts[part + TO], code, index, table, scalars, weights, source, out)
            else:
                run_lanes(part, parts, code, table, scalars, lanes, feeds, weights, out_lanes)
        if move_count > 0:
            history[step] = scalars[watched]
            for at in range(move_count):
                weights[at] = scalars[moves[2 * at]]
            for at in range(move_count):
                scalars[moves[2 * at + 1]] = weights[at]


def run_scalars(
    begin: int, end: int, code: Ints, index: Ints, table: Longs, scalars: Floats, weights: Floats, source: Floats,
    out: Floats,
) -> None:  # fmt: skip
    """Run the instructions from `begin` to `end`."""
    for at in range(begin, end, 5):
        what, to, length, base = code[at], code[at + 1], code[at + 2], code[at + 3]
        if what >= FIRST_KERNEL:
            call_run(table, 2 * (what - FIRST_KERNEL), scalars, index, base, to, length)
        elif what == LOAD:
            for i in range(length):
                scalars[to + i] = source[index[base + i]]
        elif what == PACK:
            for i in range(length):
                weights[to + i] = scalars[index[base + i]]
        elif what == COPY:
            for i in range(length):
                scalars[to + i] = source[base + i]
        elif what == STORE:
            for i in range(length):
                out[to + i] = scalars[index[base + i]]
            out[to + length] = amiss(out, to, length)
        elif what == BEGIN:
            for i in range(length):
                scalars[index[base + i]] = NOTHING_YET
        elif what == LONG_DOT:
            long_dot(to, length, base, index, scalars)


def amiss(xs: Floats, first: int, length: int) -> float:
    """0.0 if all of the numbers are finite, else NaN: x - x is 0 unless x is infinite or NaN."""
    whole = length // LANES * LANES
    sum = many(0.0)
    for i in range(first, first + whole, LANES):
        sum += xs[i : i + LANES] - xs[i : i + LANES]
    rest = sum_lanes(sum)
    for i in range(first + whole, first + length):
        rest += xs[i] - xs[i]
    return rest


def long_dot(to: int, length: int, base: int, index: Ints, scalars: Floats) -> None:
    """Dots of many terms; index holds for each how many, then the pairs."""
    at = base
    for i in range(length):
        terms = index[at]
        at += 1
        sum = NOTHING_YET
        for _term in range(terms):
            x, y = index[at], index[at + 1]
            at += 2
            if y >= 0:
                sum += scalars[x] * scalars[y]
            else:
                sum += scalars[x]
        scalars[to + i] = sum


def run_lanes(
    part: int, parts: Ints, code: Ints, table: Longs, scalars: Floats, lanes: Floats, feeds: Floats, weights: Floats,
    out_lanes: Floats,
) -> None:  # fmt: skip
    """Run a part's instructions for one block of samples after the other."""
    samples, width = parts[part + SAMPLES], parts[part + WIDTH]
    for block in range(0, samples, width):
        real = samples - block if samples - block < width else width
        run_block(
            parts[part + FROM], parts[part + TO], block, real, width, parts[part + STRIDE], code, table, scalars,
            lanes[parts[part + LANES_AT] :], feeds[parts[part + FEEDS_AT] :], weights,
            out_lanes[parts[part + OUT_AT] :],
        )  # fmt: skip


def run_block(
    begin: int, end: int, block: int, real: int, width: int, stride: int, code: Ints, table: Longs, scalars: Floats,
    lanes: Floats, feeds: Floats, weights: Floats, out_lanes: Floats,
) -> None:  # fmt: skip
    """Run the instructions for `real` samples; lanes beyond, up to a whole register, compute what nobody reads."""
    count = (real + LANES - 1) // LANES * LANES
    at = begin
    while at < end:
        what, size = code[at], code[at + 1]
        if what >= FIRST_KERNEL:
            call_lanes(table, 2 * (what - FIRST_KERNEL) + 1, code, at + 2, lanes, width, count)
        elif what == DENSE:
            dense(code, at + 2, weights, lanes, width, count)
        elif what == OUTER:
            outer(code, at + 2, scalars, lanes, width, real, count)
        elif what == DOT_MIXED:
            dot_mixed(code, at + 2, scalars, lanes, width, count)
        elif what == REDUCE_PAIRS:
            reduce_pairs(code, at + 2, scalars, lanes, width, real, count)
        elif what == SPREAD:
            to, value = code[at + 2] * width, scalars[code[at + 3]]
            for i in range(0, count, LANES):
                lanes[to + i : to + i + LANES] = many(value)
        elif what == FEED:
            to, start = code[at + 2] * width, code[at + 3] * stride + block
            for i in range(0, count, LANES):
                lanes[to + i : to + i + LANES] = feeds[start + i : start + i + LANES]
        elif what == SUM:
            sum_in_order(code, at + 2, scalars, lanes, width, real)
        elif what == EXPORT:
            to, start = code[at + 3] * stride + block, code[at + 2] * width
            for i in range(real):
                out_lanes[to + i] = lanes[start + i]
        at += size


def dense(code: Ints, at: int, weights: Floats, lanes: Floats, width: int, count: int) -> None:
    """A layer, four outputs and sixteen samples at a time: eight sums that stay in registers.

    code: outputs (four by four), inputs, where the weights start, whether a
    product and its addition may be rounded as one, the outputs' slots, the
    inputs' slots. weights: for each four outputs their biases, then for each
    input the four weights.
    """
    outputs, inputs, weight, fused = code[at], code[at + 1], code[at + 2], code[at + 3]
    first = at + 4 + outputs
    for out in range(at + 4, first, 4):
        to0, to1, to2, to3 = code[out] * width, code[out + 1] * width, code[out + 2] * width, code[out + 3] * width
        i = 0
        while i + 2 * LANES <= count:
            w = weight
            a0, a1, a2, a3 = many(weights[w]), many(weights[w + 1]), many(weights[w + 2]), many(weights[w + 3])
            b0, b1, b2, b3 = many(weights[w]), many(weights[w + 1]), many(weights[w + 2]), many(weights[w + 3])
            for k in range(first, first + inputs):
                w += 4
                place = code[k] * width + i
                x, y = lanes[place : place + LANES], lanes[place + LANES : place + LANES + LANES]
                if fused:
                    a0, b0 = fma(weights[w], x, a0), fma(weights[w], y, b0)
                    a1, b1 = fma(weights[w + 1], x, a1), fma(weights[w + 1], y, b1)
                    a2, b2 = fma(weights[w + 2], x, a2), fma(weights[w + 2], y, b2)
                    a3, b3 = fma(weights[w + 3], x, a3), fma(weights[w + 3], y, b3)
                else:
                    a0, b0 = a0 + weights[w] * x, b0 + weights[w] * y
                    a1, b1 = a1 + weights[w + 1] * x, b1 + weights[w + 1] * y
                    a2, b2 = a2 + weights[w + 2] * x, b2 + weights[w + 2] * y
                    a3, b3 = a3 + weights[w + 3] * x, b3 + weights[w + 3] * y
            lanes[to0 + i : to0 + i + LANES] = a0
            lanes[to1 + i : to1 + i + LANES] = a1
            lanes[to2 + i : to2 + i + LANES] = a2
            lanes[to3 + i : to3 + i + LANES] = a3
            i += LANES
            lanes[to0 + i : to0 + i + LANES] = b0
            lanes[to1 + i : to1 + i + LANES] = b1
            lanes[to2 + i : to2 + i + LANES] = b2
            lanes[to3 + i : to3 + i + LANES] = b3
            i += LANES
        while i < count:
            w = weight
            a0, a1, a2, a3 = many(weights[w]), many(weights[w + 1]), many(weights[w + 2]), many(weights[w + 3])
            for k in range(first, first + inputs):
                w += 4
                place = code[k] * width + i
                x = lanes[place : place + LANES]
                a0 += weights[w] * x
                a1 += weights[w + 1] * x
                a2 += weights[w + 2] * x
                a3 += weights[w + 3] * x
            lanes[to0 + i : to0 + i + LANES] = a0
            lanes[to1 + i : to1 + i + LANES] = a1
            lanes[to2 + i : to2 + i + LANES] = a2
            lanes[to3 + i : to3 + i + LANES] = a3
            i += LANES
        weight += 4 + 4 * inputs


def outer(code: Ints, at: int, scalars: Floats, lanes: Floats, width: int, real: int, count: int) -> None:
    """The sums over the samples of every left times every right, four lefts and two rights at a time.

    code: lefts, rights, the lefts' slots, the rights' slots, then for each left
    and right the scalar that the sum is added to; those of a tile are neighbours.
    """
    lefts, rights = code[at], code[at + 1]
    left, right = at + 2, at + 2 + lefts
    into = right + rights
    for each in range(left, into):
        clear(lanes, code[each] * width, real, count)
    j = 0
    while j + 4 <= lefts:
        g0, g1 = code[left + j] * width, code[left + j + 1] * width
        g2, g3 = code[left + j + 2] * width, code[left + j + 3] * width
        k = 0
        while k + 2 <= rights:
            h0, h1 = code[right + k] * width, code[right + k + 1] * width
            a0, a1, a2, a3 = many(0.0), many(0.0), many(0.0), many(0.0)
            b0, b1, b2, b3 = many(0.0), many(0.0), many(0.0), many(0.0)
            for i in range(0, count, LANES):
                x, y = lanes[h0 + i : h0 + i + LANES], lanes[h1 + i : h1 + i + LANES]
                g = lanes[g0 + i : g0 + i + LANES]
                a0, b0 = fma(g, x, a0), fma(g, y, b0)
                g = lanes[g1 + i : g1 + i + LANES]
                a1, b1 = fma(g, x, a1), fma(g, y, b1)
                g = lanes[g2 + i : g2 + i + LANES]
                a2, b2 = fma(g, x, a2), fma(g, y, b2)
                g = lanes[g3 + i : g3 + i + LANES]
                a3, b3 = fma(g, x, a3), fma(g, y, b3)
            to = into + j * rights + k
            tile = code[to]  # its eight results lie side by side
            scalars[tile : tile + LANES] += sums(a0, b0, a1, b1, a2, b2, a3, b3)
            k += 2
        while k < rights:
            for each in range(4):
                scalars[code[into + (j + each) * rights + k]] += product(
                    lanes, code[left + j + each] * width, code[right + k] * width, count
                )
            k += 1
        j += 4
    while j < lefts:
        for k in range(rights):
            scalars[code[into + j * rights + k]] += product(
                lanes, code[left + j] * width, code[right + k] * width, count
            )
        j += 1


def product(lanes: Floats, left: int, right: int, count: int) -> float:
    """The sum over the samples of one product."""
    sum = many(0.0)
    for i in range(0, count, LANES):
        sum = fma(lanes[left + i : left + i + LANES], lanes[right + i : right + i + LANES], sum)
    return sum_lanes(sum)


def clear(lanes: Floats, place: int, real: int, count: int) -> None:
    """Set the lanes beyond the last sample to 0, so that they add nothing."""
    for i in range(real, count):
        lanes[place + i] = 0.0


def dot_mixed(code: Ints, at: int, scalars: Floats, lanes: Floats, width: int, count: int) -> None:
    """A dot of scalars and lanes, in the written order. code: slot, terms, then (what, x, y) for each."""
    to, terms = code[at] * width, code[at + 1]
    for i in range(0, count, LANES):
        sum = many(NOTHING_YET)
        for term in range(at + 2, at + 2 + 3 * terms, 3):
            what, x, y = code[term], code[term + 1], code[term + 2]
            if what == SCALED:
                sum += scalars[x] * lanes[y * width + i : y * width + i + LANES]
            elif what == PRODUCT:
                sum += lanes[x * width + i : x * width + i + LANES] * lanes[y * width + i : y * width + i + LANES]
            elif what == LANE:
                sum += lanes[x * width + i : x * width + i + LANES]
            else:
                sum += many(scalars[x])
        lanes[to + i : to + i + LANES] = sum


def reduce_pairs(code: Ints, at: int, scalars: Floats, lanes: Floats, width: int, real: int, count: int) -> None:
    """The sum over the samples of a dot, in any order. code: scalar, terms, then the pairs' slots."""
    terms = code[at + 1]
    for term in range(at + 2, at + 2 + 2 * terms, 2):
        x, y = code[term] * width, code[term + 1] * width
        clear(lanes, x, real, count)
        if y >= 0:
            clear(lanes, y, real, count)  # this one too: 0 times what log(0) left there would be NaN
            scalars[code[at]] += product(lanes, x, y, count)
        else:
            sum = many(0.0)
            for i in range(0, count, LANES):
                sum += lanes[x + i : x + i + LANES]
            scalars[code[at]] += sum_lanes(sum)


def sum_in_order(code: Ints, at: int, scalars: Floats, lanes: Floats, width: int, real: int) -> None:
    """The sum over the samples of x*y (x alone where y is negative), one after the other. code: scalar, x, y."""
    sum = scalars[code[at]]
    x, y = code[at + 1] * width, code[at + 2] * width
    for i in range(real):
        if y >= 0:
            sum += lanes[x + i] * lanes[y + i]
        else:
            sum += lanes[x + i]
    scalars[code[at]] = sum
