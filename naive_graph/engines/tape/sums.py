"""Sums of products over blocks of samples: layers, outer products, totals.

Most of a network's arithmetic is done here, so the sums stay in registers.
Plain Python over arrays, as in `kernels`, whose loops call these; the first
functions stand for what machines do with whole registers.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..llvm.python import LANES, Floats, Ints

SCALAR, SCALED, PRODUCT, LANE = 0, 1, 2, 3  # the terms of a DOT_MIXED: s, s*v, v*v, v
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


def add_first(xs: Floats, at: int, size: int, x: Any) -> None:
    """Add a register to what lies there; only its first `size` numbers."""
    size = max(0, min(size, LANES))
    xs[at : at + size] += x[:size]


def dense(code: Ints, at: int, scalars: Floats, lanes: Floats, width: int, count: int) -> None:
    """A layer, four outputs and sixteen samples at a time: eight sums that stay in registers.

    code: outputs (four by four), inputs, whether a product and its addition may be
    rounded as one, how far apart the weights of an output lie; for each output its
    slot, where its weights start, and its bias; then the inputs' slots.
    """
    outputs, inputs, fused, step = code[at], code[at + 1], code[at + 2], code[at + 3]
    first = at + 4 + 3 * outputs
    for out in range(at + 4, first, 12):
        to0, to1, to2, to3 = code[out] * width, code[out + 3] * width, code[out + 6] * width, code[out + 9] * width
        w0, w1, w2, w3 = code[out + 1], code[out + 4], code[out + 7], code[out + 10]
        c0, c1 = scalars[code[out + 2]], scalars[code[out + 5]]
        c2, c3 = scalars[code[out + 8]], scalars[code[out + 11]]
        i = 0
        while i + 2 * LANES <= count:
            a0, a1, a2, a3 = many(c0), many(c1), many(c2), many(c3)
            b0, b1, b2, b3 = many(c0), many(c1), many(c2), many(c3)
            for k in range(inputs):
                place, w = code[first + k] * width + i, k * step
                x, y = lanes[place : place + LANES], lanes[place + LANES : place + LANES + LANES]
                if fused:
                    a0, b0 = fma(scalars[w0 + w], x, a0), fma(scalars[w0 + w], y, b0)
                    a1, b1 = fma(scalars[w1 + w], x, a1), fma(scalars[w1 + w], y, b1)
                    a2, b2 = fma(scalars[w2 + w], x, a2), fma(scalars[w2 + w], y, b2)
                    a3, b3 = fma(scalars[w3 + w], x, a3), fma(scalars[w3 + w], y, b3)
                else:
                    a0, b0 = a0 + scalars[w0 + w] * x, b0 + scalars[w0 + w] * y
                    a1, b1 = a1 + scalars[w1 + w] * x, b1 + scalars[w1 + w] * y
                    a2, b2 = a2 + scalars[w2 + w] * x, b2 + scalars[w2 + w] * y
                    a3, b3 = a3 + scalars[w3 + w] * x, b3 + scalars[w3 + w] * y
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
            a0, a1, a2, a3 = many(c0), many(c1), many(c2), many(c3)
            for k in range(inputs):
                place, w = code[first + k] * width + i, k * step
                x = lanes[place : place + LANES]
                if fused:
                    a0, a1 = fma(scalars[w0 + w], x, a0), fma(scalars[w1 + w], x, a1)
                    a2, a3 = fma(scalars[w2 + w], x, a2), fma(scalars[w3 + w], x, a3)
                else:
                    a0, a1 = a0 + scalars[w0 + w] * x, a1 + scalars[w1 + w] * x
                    a2, a3 = a2 + scalars[w2 + w] * x, a3 + scalars[w3 + w] * x
            lanes[to0 + i : to0 + i + LANES] = a0
            lanes[to1 + i : to1 + i + LANES] = a1
            lanes[to2 + i : to2 + i + LANES] = a2
            lanes[to3 + i : to3 + i + LANES] = a3
            i += LANES


def outer(code: Ints, at: int, scalars: Floats, lanes: Floats, width: int, real: int, count: int) -> None:
    """The sums over the samples of every left times every right; a tile is four lefts and sixteen rights.

    Sixteen rights are laid sample by sample first. Then a register holds eight of
    one sample, and a left times a register adds to eight sums: they never have to
    be summed across a register. code: lefts, rights, the first of sixteen slots to
    lay them in, the lefts' slots, the rights' slots, then for each left the scalar
    that its first sum is added to; the others follow it.
    """
    lefts, rights, x = code[at], code[at + 1], code[at + 2] * width
    left, right = at + 3, at + 3 + lefts
    into = right + rights
    panel = LANES * count  # floats of eight rights
    for k in range(0, rights, 2 * LANES):
        for i in range(0, count, LANES):
            crosswise(lanes, code, right + k, rights - k, width, i, x + i * LANES)
        if rights - k > LANES:
            for i in range(0, count, LANES):
                crosswise(lanes, code, right + k + LANES, rights - k - LANES, width, i, x + panel + i * LANES)
        j = 0
        while j + 4 <= lefts:
            g0, g1 = code[left + j] * width, code[left + j + 1] * width
            g2, g3 = code[left + j + 2] * width, code[left + j + 3] * width
            a0, a1, a2, a3 = many(0.0), many(0.0), many(0.0), many(0.0)
            b0, b1, b2, b3 = many(0.0), many(0.0), many(0.0), many(0.0)
            for i in range(real):
                one = x + i * LANES
                two = one + panel
                p, q = lanes[one : one + LANES], lanes[two : two + LANES]
                a0, b0 = fma(lanes[g0 + i], p, a0), fma(lanes[g0 + i], q, b0)
                a1, b1 = fma(lanes[g1 + i], p, a1), fma(lanes[g1 + i], q, b1)
                a2, b2 = fma(lanes[g2 + i], p, a2), fma(lanes[g2 + i], q, b2)
                a3, b3 = fma(lanes[g3 + i], p, a3), fma(lanes[g3 + i], q, b3)
            to = into + j
            to0, to1, to2, to3 = code[to] + k, code[to + 1] + k, code[to + 2] + k, code[to + 3] + k
            add_first(scalars, to0, rights - k, a0)
            add_first(scalars, to1, rights - k, a1)
            add_first(scalars, to2, rights - k, a2)
            add_first(scalars, to3, rights - k, a3)
            add_first(scalars, to0 + LANES, rights - k - LANES, b0)
            add_first(scalars, to1 + LANES, rights - k - LANES, b1)
            add_first(scalars, to2 + LANES, rights - k - LANES, b2)
            add_first(scalars, to3 + LANES, rights - k - LANES, b3)
            j += 4
        while j < lefts:
            g0 = code[left + j] * width
            a0, b0 = many(0.0), many(0.0)
            for i in range(real):
                one = x + i * LANES
                two = one + panel
                g = many(lanes[g0 + i])
                a0, b0 = fma(g, lanes[one : one + LANES], a0), fma(g, lanes[two : two + LANES], b0)
            to0 = code[into + j] + k
            add_first(scalars, to0, rights - k, a0)
            add_first(scalars, to0 + LANES, rights - k - LANES, b0)
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
