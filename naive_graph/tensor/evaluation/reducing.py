"""Reduce arrays along axes (max, argmax, logsumexp, ...): a left fold for few entries, else one library call.

The rules are those of tensor/reduction_node.py: "maximum", "argmax", "logsumexp", ...
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import reduce
from math import prod
from typing import Any

import numpy as np

from .arrays import Array, namespace
from .entries import VALUES, fill_like, logsumexp, mask_to_floats, where
from .gather_scatter import permute_axes

FEW = 16  # up to so many entries along the reduced axes, an array is reduced by a fold
SMALL = 4096  # arrays of at most so many entries are reduced in one library call (except by "mul")


def reduce_array(rule: str, x: Array, count: int) -> Array:
    """Reduce an array over its last `count` axes."""
    xp, lead, extents = namespace(x), x.shape[: x.ndim - count], x.shape[x.ndim - count :]
    if prod(extents) <= FEW and (rule == "mul" or prod(x.shape) > SMALL):
        return FOLDS[rule](xp, *(x[(..., *index)] for index in np.ndindex(*extents)))
    return WHOLE[rule](xp, x.reshape((*lead, prod(extents))))


def _argmax_fold(xp: Any, *xs: Array) -> Array:
    """Argmax over several arrays: the index of the first largest; NaN counts as the largest."""
    top, position = VALUES["top"](xp, *xs), fill_like(xp, xs[0], 0.0)
    for index, array in reversed(list(enumerate(xs))):
        position = xp.where((array == top) | (array != array), float(index), position)
    return position


def softmax(xp: Any, x: Array, axes: tuple[int, ...]) -> Array:
    """exp(x) over the sum of exp(x) along these axes; if the maximum is infinite, the entries equal to it share 1."""
    order = [axis for axis in range(x.ndim) if axis not in axes]
    lead = [1 if axis in axes else extent for axis, extent in enumerate(x.shape)]
    top = reduce_array("peak", permute_axes(x, [*order, *axes]), len(axes)).reshape(lead)
    weights = xp.where(abs(top) == math.inf, mask_to_floats(x == top, x), xp.exp(x - top))
    return weights / weights.sum(axes).reshape(lead)


def product_of_others(xp: Any, x: Array) -> Array:
    """For each entry the product of all others along the last axis, from prefix and suffix products."""
    one = fill_like(xp, x[..., :1], 1.0)
    prefix = xp.concatenate([one, x[..., :-1]], -1).cumprod(-1)
    suffix = xp.flip(xp.concatenate([one, xp.flip(x[..., 1:], (x.ndim - 1,))], -1).cumprod(-1), (x.ndim - 1,))
    return prefix * suffix


def _logsumexp_axis(xp: Any, x: Array) -> Array:
    top = WHOLE["maximum"](xp, x)
    finite = where(xp, abs(top) < math.inf, top, 0.0)
    return where(xp, abs(top) < math.inf, finite + xp.log(xp.exp(x - finite[..., None]).sum(-1)), top)


FOLDS: dict[str, Callable[..., Array]] = {
    "minimum": lambda xp, *xs: reduce(lambda a, b: VALUES["minimum"](xp, a, b), xs),
    "mul": VALUES["mul"],
    "logsumexp": logsumexp,
    "argmax": _argmax_fold,
    **dict.fromkeys(("maximum", "first_maximum", "peak"), VALUES["top"]),
}
WHOLE: dict[str, Callable[..., Array]] = {  # along the last axis of one array
    "minimum": lambda xp, x: getattr(x, "amin", x.min)(-1),
    "mul": lambda xp, x: x.prod(-1),
    "logsumexp": _logsumexp_axis,
    "argmax": lambda xp, x: mask_to_floats(x.argmax(-1), x),
    **dict.fromkeys(("maximum", "first_maximum", "peak"), lambda xp, x: getattr(x, "amax", x.max)(-1)),
}
