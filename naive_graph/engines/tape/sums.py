"""Sums of products over blocks of samples: layers, outer products, totals.

Most of a network's arithmetic is done here, so the sums stay in registers.
Plain Python over arrays, as in `kernels`, whose loops call these by their
addresses; the first functions stand for what machines do with whole registers.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ..llvm.typed import LANES, Fixed, Floats, Ints, unrolled

SCALAR, SCALED, PRODUCT, LANE = 0, 1, 2, 3  # the terms of a `dot_mixed`: s, s*v, v*v, v
TALL = 4  # outputs, or lefts, of a tile; eight were no faster, and are too many where registers are short
NOTHING_YET = -0.0  # where a sum begins: adding it to any number, even to -0.0, leaves that number


class Samples(NamedTuple):
    """A block of samples: numbers, and the lanes' slots, each `width` wide.

    sums: where the samples' sums are added up; the scalars themselves, or what lies behind them. real: how many samples
    there are; whole: the same, up to whole registers. begins: whether they are the first ones.
    """

    scalars: Floats
    sums: Floats
    lanes: Floats
    width: int
    real: int
    whole: int
    begins: int


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


def dense(code: Ints, at: int, on: Samples) -> None:
    """A layer, four outputs and sixteen samples at a time: eight sums that stay in registers.

    code: outputs, inputs, whether a product and its addition may be rounded as
    one, how far apart the weights of an output lie; for each output its slot,
    where its weights start, and its bias; then the inputs' slots.
    """
    whole = on.whole // (2 * LANES) * (2 * LANES)
    for out in range(at + 4, at + 4 + 3 * code[at], 3 * TALL):
        for i in range(0, whole, 2 * LANES):
            tile(code, at, out, i, 2, on)
        for i in range(whole, on.whole, LANES):
            tile(code, at, out, i, 1, on)


def tile(code: Ints, at: int, out: int, i: int, wide: Fixed, on: Samples) -> None:
    """Four outputs of a layer, for the samples of one register, or of two side by side."""
    inputs, fused, step, first = code[at + 1], code[at + 2], code[at + 3], at + 4 + 3 * code[at]
    weights = [code[out + 3 * j + 1] for j in range(TALL)]
    sums = [many(on.scalars[code[out + 3 * (n // wide) + 2]]) for n in range(TALL * wide)]
    for k in range(inputs):
        place, w = code[first + k] * on.width + i, k * step
        x = [on.lanes[place + r * LANES : place + r * LANES + LANES] for r in range(wide)]
        if fused:
            for n in unrolled(TALL * wide):
                sums[n] = fma(on.scalars[weights[n // wide] + w], x[n % wide], sums[n])
        else:
            for n in unrolled(TALL * wide):
                sums[n] += on.scalars[weights[n // wide] + w] * x[n % wide]
    for n in unrolled(TALL * wide):
        to = code[out + 3 * (n // wide)] * on.width + i + n % wide * LANES
        on.lanes[to : to + LANES] = sums[n]


def outer(code: Ints, at: int, on: Samples) -> None:
    """The sums over the samples of every left times every right, sixteen rights at a time.

    Sixteen rights are laid sample by sample first. Then a register holds eight of
    one sample, and a left times a register adds to eight sums: they never have to
    be summed across a register. code: lefts, rights, the first of sixteen slots to
    lay them in, the lefts' slots, the rights' slots, then for each left the scalar
    that its first sum is added to; the others follow it. The sums of the
    first samples have no value yet.
    """
    lefts, rights, x = code[at], code[at + 1], code[at + 2] * on.width
    right, whole = at + 3 + lefts, lefts // TALL * TALL
    panel = LANES * on.whole  # floats of eight rights
    for k in range(0, rights, 2 * LANES):
        for i in range(0, on.whole, LANES):
            crosswise(on.lanes, code, right + k, rights - k, on.width, i, x + i * LANES)
        if rights - k > LANES:
            for i in range(0, on.whole, LANES):
                crosswise(on.lanes, code, right + k + LANES, rights - k - LANES, on.width, i, x + panel + i * LANES)
        for j in range(0, whole, TALL):
            products(code, at, j, k, TALL, panel, on)
        for j in range(whole, lefts):
            products(code, at, j, k, 1, panel, on)


def products(code: Ints, at: int, j: int, k: int, tall: Fixed, panel: int, on: Samples) -> None:
    """The sums of some lefts from the j-th on times the sixteen rights from the k-th on: a tile in registers."""
    lefts, size, x = code[at], code[at + 1] - k, code[at + 2] * on.width
    left = [code[at + 3 + j + n] * on.width for n in range(tall)]
    sums = [many(0.0) for n in range(2 * tall)]
    for i in range(on.real):
        one = x + i * LANES
        rights = [on.lanes[one + r * panel : one + r * panel + LANES] for r in range(2)]
        for n in unrolled(2 * tall):
            sums[n] = fma(on.lanes[left[n // 2] + i], rights[n % 2], sums[n])
    into = at + 3 + lefts + code[at + 1] + j
    for n in unrolled(2 * tall):
        add_first(on.sums, code[into + n // 2] + k + n % 2 * LANES, size - n % 2 * LANES, sums[n], on.begins)


def product(left: int, right: int, on: Samples) -> float:
    """The sum over the samples of one product."""
    sum = many(0.0)
    for i in range(0, on.whole, LANES):
        sum = fma(on.lanes[left + i : left + i + LANES], on.lanes[right + i : right + i + LANES], sum)
    return sum_lanes(sum)


def clear(place: int, on: Samples) -> None:
    """Set the lanes beyond the last sample to 0, so that they add nothing."""
    for i in range(on.real, on.whole):
        on.lanes[place + i] = 0.0


def dot_mixed(code: Ints, at: int, on: Samples) -> None:
    """A dot of scalars and lanes, in the written order. code: slot, terms, then (what, x, y) for each."""
    to, terms = code[at] * on.width, code[at + 1]
    for i in range(0, on.whole, LANES):
        sum = many(NOTHING_YET)
        for term in range(at + 2, at + 2 + 3 * terms, 3):
            what, first, second = code[term], code[term + 1], code[term + 2]
            x, y = first * on.width + i, second * on.width + i
            if what == SCALED:
                sum += on.scalars[first] * on.lanes[y : y + LANES]
            elif what == PRODUCT:
                sum += on.lanes[x : x + LANES] * on.lanes[y : y + LANES]
            elif what == LANE:
                sum += on.lanes[x : x + LANES]
            else:
                sum += many(on.scalars[first])
        on.lanes[to + i : to + i + LANES] = sum


def reduce_pairs(code: Ints, at: int, on: Samples) -> None:
    """The sum over the samples of a dot, in any order. code: scalar, terms, the pairs' slots."""
    to, terms = code[at], code[at + 1]
    for term in range(at + 2, at + 2 + 2 * terms, 2):
        x, y = code[term] * on.width, code[term + 1] * on.width
        clear(x, on)
        if y >= 0:
            clear(y, on)  # this one too: 0 times what log(0) left there would be NaN
            on.sums[to] += product(x, y, on)
        else:
            sum = many(0.0)
            for i in range(0, on.whole, LANES):
                sum += on.lanes[x + i : x + i + LANES]
            on.sums[to] += sum_lanes(sum)
