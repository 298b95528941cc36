"""Einsums of one or two arrays by plain NumPy calls: chosen once for each pattern of indices, then cached.

Sums over what both have are matrix products; opt_einsum does what is not here.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from math import prod

import numpy as np

from ..index import Ids, Shape
from .arrays import Array

Way = Callable[..., Array]


@lru_cache(maxsize=4096)
def way(ids: tuple[Ids, ...], dst: Ids) -> Way | None:
    """The function that computes this einsum of arrays; None if no plain NumPy call does."""
    return _alone(ids[0], dst) if len(ids) == 1 else _pair(ids[0], ids[1], dst)


def _alone(ids: Ids, dst: Ids) -> Way:
    """An einsum of one array: some axes are summed, the others come in a new order."""
    summed = [axis for axis, each in enumerate(ids) if each not in dst]
    rest = [each for each in ids if each in dst]
    order = [rest.index(each) for each in dst]
    leading = summed == list(range(len(summed)))
    if not summed:
        return lambda a: a.transpose(order)
    if leading and rest:  # a row of ones times a matrix: faster than adding up short rows

        def columns(a: Array) -> Array:
            lead = prod(a.shape[: len(summed)])
            return (np.ones(lead) @ a.reshape(lead, -1)).reshape(a.shape[len(summed) :]).transpose(order)

        return columns
    axes = tuple(summed)
    return lambda a: a.sum(axes).transpose(order)


def _pair(left: Ids, right: Ids, dst: Ids) -> Way | None:
    both = [each for each in left if each in right]
    if any(each not in dst and each not in both for each in (*left, *right)):
        return None
    summed = [each for each in both if each not in dst]
    if not summed:
        return _product(left, right, dst)
    batch = [each for each in dst if each in both]
    rows, columns = ([each for each in dst if each in own and each not in both] for own in (left, right))
    if batch:
        return _batched(left, right, dst, batch, rows, columns, summed) if rows or columns else None
    return _matrices(left, right, dst, rows, columns, summed)


def _product(left: Ids, right: Ids, dst: Ids) -> Way:
    """An einsum of two arrays that are multiplied entry by entry."""
    spreads = [_spread(own, dst) for own in (left, right)]
    return lambda a, b: spreads[0](a) * spreads[1](b)


def _spread(ids: Ids, dst: Ids) -> Callable[[Array], Array]:
    """The axes in the order of dst, of extent 1 where an index is missing."""
    if ids == dst:
        return lambda a: a
    order = [ids.index(each) for each in dst if each in ids]
    key = tuple(slice(None) if each in ids else None for each in dst)
    return lambda a: a.transpose(order)[key]


def _matrices(left: Ids, right: Ids, dst: Ids, rows: list[int], columns: list[int], summed: list[int]) -> Way:
    """An einsum of two arrays that is one matrix product."""
    straight, turned = [*rows, *columns] == [*dst], [*columns, *rows] == [*dst]

    def multiplied(a: Array, b: Array) -> Array:
        inner = _lying(summed, *((left, a) if a.size >= b.size else (right, b)))  # the larger one lies as it lies
        result = prod(a.shape[left.index(each)] for each in rows) * prod(b.shape[right.index(each)] for each in columns)
        over = _lying(rows, left, a) if a.size > result else rows
        across = _lying(columns, right, b) if b.size > result else columns
        first, lead = _matrix(a, _order(left, over), _order(left, inner))
        second, tail = _matrix(b, _order(right, across), _order(right, inner))
        if straight or (len(first) < len(second) and not turned):  # the longer side last, if it may be chosen
            return (first @ second.T).reshape(lead + tail).transpose(_order((*over, *across), dst))
        return (second @ first.T).reshape(tail + lead).transpose(_order((*across, *over), dst))

    return multiplied


def _lying(wanted: list[int], ids: Ids, array: Array) -> list[int]:
    """The indices in the order in which they lie in memory, so that nothing is moved."""
    return sorted(wanted, key=lambda each: -abs(array.strides[ids.index(each)]))


def _matrix(a: Array, rows: list[int], columns: list[int]) -> tuple[Array, Shape]:
    """The array as a matrix, laid down in whichever order moves longer runs of memory; and the extents of its rows."""
    lead, tail = tuple(a.shape[axis] for axis in rows), tuple(a.shape[axis] for axis in columns)
    if len(rows) == len(columns) == 1:
        return a.transpose(*rows, *columns), lead
    if _run(a, (*rows, *columns)) >= _run(a, (*columns, *rows)):
        return a.transpose(*rows, *columns).reshape(prod(lead), prod(tail)), lead
    return a.transpose(*columns, *rows).reshape(prod(tail), prod(lead)).T, lead


def _run(a: Array, order: Sequence[int]) -> int:
    """How many entries follow each other at one stride, in this order of the axes."""
    length, stride = 1, 0
    for axis in reversed(order):
        if a.shape[axis] > 1:
            if stride and a.strides[axis] != stride * length:
                break
            stride = stride or a.strides[axis]
            length *= a.shape[axis]
    return length


def _batched(
    left: Ids, right: Ids, dst: Ids, batch: list[int], rows: list[int], columns: list[int], summed: list[int]
) -> Way:
    """An einsum of two arrays that is a matrix product for each position of a batch."""
    first, second = _order(left, (*batch, *rows, *summed)), _order(right, (*batch, *summed, *columns))
    out = _order((*batch, *rows, *columns), dst)

    def multiplied(a: Array, b: Array) -> Array:
        a, b = a.transpose(first), b.transpose(second)
        many, lead = a.shape[: len(batch)], a.shape[len(batch) : len(batch) + len(rows)]
        tail = b.shape[len(batch) + len(summed) :]
        product = a.reshape(*many, prod(lead), -1) @ b.reshape(*many, -1, prod(tail))
        return product.reshape(many + lead + tail).transpose(out)

    return multiplied


def _order(ids: Sequence[int], wanted: Sequence[int]) -> list[int]:
    """Where each of the wanted indices stands."""
    return [ids.index(each) for each in wanted]
