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


def sums(*xs: Any) -> Any:
    """The sums of eight registers, in one."""
    return np.array([np.sum(x) for x in xs])


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
