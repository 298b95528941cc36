"""Sums of products over blocks of samples: layers, outer products, totals.

Most of a network's arithmetic is done here, so the sums stay in registers.
Plain Python over arrays, as in `kernels`, whose loops call these; the first
functions stand for what machines do with whole registers.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..llvm.python import LANES, Fixed, Floats, Ints, unrolled

SCALAR, SCALED, PRODUCT, LANE = 0, 1, 2, 3  # the terms of a DOT_MIXED: s, s*v, v*v, v
TALL = 4  # outputs, or lefts, of a tile; eight were no faster, and are too many where registers are short
NOTHING_YET = -0.0  # where a sum begins: adding it to any number, even to -0.0, leaves that number


def many(x: float) -> Any:
    """The same number in every lane."""
    return np.full(LANES, x)


def fma(a: Any, b: Any, c: Any) -> Any:
    """a * b + c; rounded once by machines, twice here."""
    return a * b + c


def sum_lanes(x: Any) -> float:
    return float(np.sum(x))


def crosswise(xs: Floats, code: Ints, slots: int, rows: int, width: int, i: int, to: int) -> None:
    """LANES samples of as many rows, sample by sample; where there are fewer rows, the last one fills up."""
    places = [code[slots + min(k, rows - 1)] * width + i for k in range(LANES)]
    xs[to : to + LANES * LANES] = np.array([xs[place : place + LANES] for place in places]).T.reshape(-1)


def add_first(xs: Floats, at: int, size: int, x: Any, begins: int) -> None:
    """Add a register to what lies there, or to nothing where that begins; only its first `size` numbers."""
    size = max(0, min(size, LANES))
    xs[at : at + size] = x[:size] + (NOTHING_YET if begins else xs[at : at + size])


def dense(code: Ints, at: int, scalars: Floats, lanes: Floats, width: int, count: int) -> None:
    """A layer, four outputs and sixteen samples at a time: eight sums that stay in registers.

    code: outputs, inputs, whether a product and its addition may be rounded as
    one, how far apart the weights of an output lie; for each output its slot,
    where its weights start, and its bias; then the inputs' slots.
    """
    whole = count // (2 * LANES) * (2 * LANES)
    for out in range(at + 4, at + 4 + 3 * code[at], 3 * TALL):
        for i in range(0, whole, 2 * LANES):
            tile(code, at, out, i, 2, scalars, lanes, width)
        for i in range(whole, count, LANES):
            tile(code, at, out, i, 1, scalars, lanes, width)


def tile(code: Ints, at: int, out: int, i: int, wide: Fixed, scalars: Floats, lanes: Floats, width: int) -> None:
    """Four outputs of a layer, for the samples of one register, or of two side by side."""
    inputs, fused, step, first = code[at + 1], code[at + 2], code[at + 3], at + 4 + 3 * code[at]
    weights = [code[out + 3 * j + 1] for j in range(TALL)]
    sums = [many(scalars[code[out + 3 * (n // wide) + 2]]) for n in range(TALL * wide)]
    for k in range(inputs):
        place, w = code[first + k] * width + i, k * step
        x = [lanes[place + r * LANES : place + r * LANES + LANES] for r in range(wide)]
        if fused:
            for n in unrolled(TALL * wide):
                sums[n] = fma(scalars[weights[n // wide] + w], x[n % wide], sums[n])
        else:
            for n in unrolled(TALL * wide):
                sums[n] += scalars[weights[n // wide] + w] * x[n % wide]
    for n in unrolled(TALL * wide):
        to = code[out + 3 * (n // wide)] * width + i + n % wide * LANES
        lanes[to : to + LANES] = sums[n]


def outer(code: Ints, at: int, scalars: Floats, lanes: Floats, width: int, real: int, count: int, begins: int) -> None:
    """The sums over the samples of every left times every right, sixteen rights at a time.

    Sixteen rights are laid sample by sample first. Then a register holds eight of
    one sample, and a left times a register adds to eight sums: they never have to
    be summed across a register. code: lefts, rights, the first of sixteen slots to
    lay them in, the lefts' slots, the rights' slots, then for each left the scalar
    that its first sum is added to; the others follow it. begins: whether these are the
    first samples, and the sums have no value yet.
    """
    lefts, rights, x = code[at], code[at + 1], code[at + 2] * width
    right, whole = at + 3 + lefts, lefts // TALL * TALL
    panel = LANES * count  # floats of eight rights
    for k in range(0, rights, 2 * LANES):
        for i in range(0, count, LANES):
            crosswise(lanes, code, right + k, rights - k, width, i, x + i * LANES)
        if rights - k > LANES:
            for i in range(0, count, LANES):
                crosswise(lanes, code, right + k + LANES, rights - k - LANES, width, i, x + panel + i * LANES)
        for j in range(0, whole, TALL):
            products(code, at, j, k, TALL, scalars, lanes, width, real, panel, begins)
        for j in range(whole, lefts):
            products(code, at, j, k, 1, scalars, lanes, width, real, panel, begins)


def products(
    code: Ints, at: int, j: int, k: int, tall: Fixed, scalars: Floats, lanes: Floats, width: int, real: int, panel: int,
    begins: int,
) -> None:  # fmt: skip
    """The sums of some lefts from the j-th on times the sixteen rights from the k-th on: a tile in registers."""
    lefts, size, x = code[at], code[at + 1] - k, code[at + 2] * width
    left = [code[at + 3 + j + n] * width for n in range(tall)]
    sums = [many(0.0) for n in range(2 * tall)]
    for i in range(real):
        one = x + i * LANES
        rights = [lanes[one + r * panel : one + r * panel + LANES] for r in range(2)]
        for n in unrolled(2 * tall):
            sums[n] = fma(lanes[left[n // 2] + i], rights[n % 2], sums[n])
    into = at + 3 + lefts + code[at + 1] + j
    for n in unrolled(2 * tall):
        add_first(scalars, code[into + n // 2] + k + n % 2 * LANES, size - n % 2 * LANES, sums[n], begins)


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
    """The sums over the samples of dots, in any order.

    code: rows, scalar, terms, the pairs' slots; then how far each goes on with the next row.
    """
    size = 2 + 2 * code[at + 2]
    for row in range(code[at]):
        to = code[at + 1] + row * code[at + 1 + size]
        for term in range(at + 3, at + 1 + size, 2):
            x = (code[term] + row * code[term + size]) * width
            y = (code[term + 1] + row * code[term + 1 + size]) * width
            clear(lanes, x, real, count)
            if y >= 0:
                clear(lanes, y, real, count)  # this one too: 0 times what log(0) left there would be NaN
                scalars[to] += product(lanes, x, y, count)
            else:
                sum = many(0.0)
                for i in range(0, count, LANES):
                    sum += lanes[x + i : x + i + LANES]
                scalars[to] += sum_lanes(sum)


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
