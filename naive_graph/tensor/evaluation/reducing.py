"""Reduce arrays along axes: the values of tensor/reduction_node.py's rules "maximum", "argmax", "logsumexp", ..."""

from __future__ import annotations

import math
from math import prod
from typing import Any

from .arrays import Array, namespace
from .entries import cast_like, where

MAXIMUM_RULES = ("maximum", "first_maximum", "peak")  # their value is the largest entry; they differ in the derivative


def reduce_array(rule: str, x: Array, count: int) -> Array:
    """Reduce an array over its last `count` axes."""
    if not count:
        x, count = x[..., None], 1
    axes = tuple(range(x.ndim - count, x.ndim))
    if rule in MAXIMUM_RULES:
        return _largest(x, axes)
    if rule == "minimum":
        return getattr(x, "amin", x.min)(axes)
    if rule == "logsumexp":
        return _logsumexp(x, axes)
    flat = x.reshape((*x.shape[:-count], prod(x.shape[-count:])))
    return flat.prod(-1) if rule == "mul" else cast_like(flat.argmax(-1), x)


def _largest(x: Array, axes: tuple[int, ...]) -> Array:
    return getattr(x, "amax", x.max)(axes)


def _logsumexp(x: Array, axes: tuple[int, ...]) -> Array:
    xp, top = namespace(x), _largest(x, axes)
    finite = where(xp, abs(top) < math.inf, top, 0.0)
    total = xp.exp(x - finite[(..., *[None] * len(axes))]).sum(axes)
    return where(xp, abs(top) < math.inf, finite + xp.log(total), top)


def product_of_others(xp: Any, x: Array) -> Array:
    """For each entry the product of all others along the last axis, from prefix and suffix products."""
    one = xp.full_like(x[..., :1], 1.0)
    prefix = xp.concatenate([one, x[..., :-1]], -1).cumprod(-1)
    suffix = xp.flip(xp.concatenate([one, xp.flip(x[..., 1:], (x.ndim - 1,))], -1).cumprod(-1), (x.ndim - 1,))
    return prefix * suffix
