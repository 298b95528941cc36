"""How a node's index arrays turn into those of its derivative, in both modes.

H is the index tuple of the other tensor (the output in reverse mode, the input
in forward mode), always appended last. These functions are the whole calculus
of sums and products of tensors: arrays in, arrays out.
"""

from __future__ import annotations

from functools import lru_cache

from .index import Ids, LinearIndex, TransformIndex


@lru_cache(maxsize=4096)
def transform_adjoint(index: TransformIndex, h: Ids = ()) -> TransformIndex:
    """The adjoint of a transform: its index arrays change places, so sums become broadcasts and broadcasts sums.

    >>> transform_adjoint(TransformIndex((1, -1, 2), (2, 1)), (3,))
    TransformIndex(dst=(2, 1, 3), src=(1, -1, 2, 3))
    """
    return TransformIndex(index.src + h, index.dst + h)


@lru_cache(maxsize=4096)
def sum_adjoint(index: LinearIndex, side: int, h: Ids = ()) -> TransformIndex:
    """The adjoint of a sum or difference: spread over the source's summed indices, summed over those it lacks.

    >>> sum_adjoint(LinearIndex((1, 2), (1,), (1, 2)), 0)  # y[i,j] = b[i] + c[i,j], with respect to b
    TransformIndex(dst=(1,), src=(1, -2))
    """
    target = index[1 + side]
    return TransformIndex(target + h, tuple(each if each in target else -each for each in index.dst) + h)


@lru_cache(maxsize=4096)
def product_adjoint(index: LinearIndex, side: int, h: Ids = ()) -> LinearIndex:
    """The adjoint of a product: the adjoint times the other source, summed over all that the target lacks.

    >>> product_adjoint(LinearIndex((1, 2), (1, -3), (-3, 2)), 0)  # C = A B, with respect to A: Cbar B^T
    LinearIndex(dst=(1, 3), left=(1, -2), right=(3, -2))
    """
    target, other = index[1 + side], index[2 - side]
    inside = {abs(each) for each in target}

    def relabel(ids: Ids) -> Ids:
        return tuple(abs(each) if abs(each) in inside else -abs(each) for each in ids)

    return LinearIndex(relabel(target) + h, relabel(index.dst) + h, relabel(other))


@lru_cache(maxsize=4096)
def transform_tangent(index: TransformIndex, h: Ids = ()) -> TransformIndex:
    return TransformIndex(index.dst + h, index.src + h)


@lru_cache(maxsize=4096)
def sum_tangent(index: LinearIndex, h: Ids = ()) -> LinearIndex:
    return LinearIndex(*(ids + h for ids in index))


@lru_cache(maxsize=4096)
def one_sided_tangent(index: LinearIndex, side: int, h: Ids = ()) -> TransformIndex:
    """The tangent of a sum of which only one source moves, spread over the indices that it lacks."""
    source = index[1 + side]
    return TransformIndex(tuple(each if each in source else -each for each in index.dst) + h, source + h)


@lru_cache(maxsize=4096)
def product_tangent(index: LinearIndex, side: int, h: Ids = ()) -> LinearIndex:
    """The tangent of a product: the moving source has the indices H as well, the other stays as it is."""
    left, right = (ids + h if place == side else ids for place, ids in enumerate(index[1:]))
    return LinearIndex(index.dst + h, left, right)


@lru_cache(maxsize=4096)
def straight(rank: int) -> Ids:
    """The ids 1, 2, ..., rank: the axes in their order."""
    return tuple(range(1, rank + 1))
