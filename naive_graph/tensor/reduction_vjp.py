"""The local partials of reductions: d result / d entry for each source entry, as arrays or as nodes.

maximum, minimum    1 / count for the tied entries, else 0        [2, 5, 5] -> [0, 1/2, 1/2]
first_maximum       1 for the first largest entry, else 0         [2, 5, 5] -> [0, 1, 0]
logsumexp           the softmax
mul                 the product of all other entries              [2, 5, 5] -> [25, 10, 10]

The rules are written once, on an algebra (calculus.py), which computes arrays or builds nodes.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from ..core.catalogue import abs as magnitude
from ..core.catalogue import div, equal, exp, held, less, where
from .base import size_of
from .function import function_of
from .index import Ids, Shape, TransformIndex, transform_adjoint
from .reduction_node import ReductionAxes, ReductionNode

MAX_FINITE = sys.float_info.max
# Elementwise functions of entries. Beside a NaN maximum (top != top) the first two give NaN.
_IS_MAXIMUM = function_of(lambda a, top: where(equal(top, top), 1.0 - less(a, top), top), 2)
_IS_MINIMUM = function_of(lambda a, low: where(equal(low, low), 1.0 - less(low, a), low), 2)
_ONE = function_of(lambda a: 1.0, 1)
_DIVIDE = function_of(div, 2)
_ONE_OR_ENTRY = function_of(lambda is_left_out, a: where(is_left_out, 1.0, a), 2)
_SHARE_OF_TIE = function_of(lambda weight, total: div(weight, total), 2)  # 0 for entries that are beaten (weight 0)
_IS_SAME_INDEX = function_of(lambda i, j: less(magnitude(i - j), 0.5), 2)
# exp(a - top); if top is infinite, 1 for the entries equal to it, as inf - inf would be NaN.
_EXP_BELOW_TOP = function_of(
    lambda a, top: where(less(MAX_FINITE, magnitude(held(top))), 1.0 - less(a, held(top)), exp(a - held(top))), 2
)
CHOOSING_FUNCTIONS = (_SHARE_OF_TIE, _IS_SAME_INDEX)  # their zeros (entries not chosen) are structural


class ReductionPartial:
    """The derivative of one reduction, from its source x and its result y in some algebra (calculus.py)."""

    def __init__(self, algebra: Any, node: ReductionNode, x: Any, y: Callable[[], Any]) -> None:
        self.algebra, self.node, self.x, self.y = algebra, node, x, y
        self.shape = node.sources[0].shape

    def tensor(self) -> Any:
        """The local partials, a tensor of the source's shape."""
        if self.node.size == size_of(self.shape):  # nothing is reduced: the derivative is 1 even of NaN
            return self.algebra.nonlinear(_ONE, [self.x])
        return PARTIALS[self.node.rule](self)

    def broadcast(self, value: Any) -> Any:
        """Broadcast a tensor of the result's shape to the source's shape."""
        return self.algebra.transform(transform_adjoint(self.node.index), value, 1.0, self.shape)

    def share_among_ties(self, is_extremum: Any) -> Any:
        """1 / count for the entries that equal the extremum, else 0. is_extremum: f(entry, extremum), 1 or 0."""
        weights = self.algebra.nonlinear(is_extremum, [self.x, self.broadcast(self.y())])
        count = self.algebra.transform(self.node.index, weights, 1.0, self.node.shape)
        return self.algebra.nonlinear(_SHARE_OF_TIE, [weights, self.broadcast(count)])

    def softmax(self) -> Any:
        top = self.algebra.reduction("peak", self.node.index, self.x)
        weights = self.algebra.nonlinear(_EXP_BELOW_TOP, [self.x, self.broadcast(top)])
        total = self.algebra.transform(self.node.index, weights, 1.0, self.node.shape)
        return self.algebra.nonlinear(_DIVIDE, [weights, self.broadcast(total)])

    def product_of_others(self) -> Any:
        """For each entry the product of all others; without division, so zeros are harmless.

        As nodes: one copy of the entries for each of them, with that one replaced by 1, then reduced by "mul".
        """
        if self.algebra.at_once:
            return self.algebra.product_of_others(self.node.index, self.x)
        axes = ReductionAxes.of(self.node.index)
        # If the axes i, j of x[a, i, j] are reduced, copies have new axes k, l: copies[a, i, j, k, l] is x[a, k, l], in
        # the copy that belongs to the entry [a, i, j].
        copy_ids = {axis_id: len(axes.own) + number for number, axis_id in enumerate(axes.dropped, 1)}
        all_ids = (*axes.own, *copy_ids.values())
        extents = [self.shape[axis_id - 1] for axis_id in axes.dropped]

        def broadcast(value: Any, ids: Ids) -> Any:
            dst = tuple(axis_id if axis_id in ids else -axis_id for axis_id in all_ids)
            return self.algebra.transform(TransformIndex(dst, ids), value, 1.0, (*self.shape, *extents))

        is_left_out = self.algebra.constant(np.eye(size_of(extents)).reshape(extents * 2))
        copies = broadcast(self.x, tuple(copy_ids.get(axis_id, axis_id) for axis_id in axes.own))
        is_left_out = broadcast(is_left_out, (*axes.dropped, *copy_ids.values()))
        factors = self.algebra.nonlinear(_ONE_OR_ENTRY, [is_left_out, copies])
        index = TransformIndex(axes.own, tuple(axis_id if axis_id in axes.own else -axis_id for axis_id in all_ids))
        return self.algebra.reduction("mul", index, factors)


def first_maximum_mask(algebra: Any, index: TransformIndex, x: Any, shape: Shape) -> Any:
    """One-hot of the argmax: 1 for the first largest entry, else 0, by comparing each entry's index with it."""
    axes = ReductionAxes.of(index)
    extents = [shape[axis_id - 1] for axis_id in axes.dropped]
    flat_indices = algebra.constant(np.arange(float(size_of(extents))).reshape(extents))  # of the reduced entries
    dst = tuple(axis_id if axis_id in axes.dropped else -axis_id for axis_id in axes.own)
    argmax = algebra.transform(transform_adjoint(index), algebra.reduction("argmax", index, x), 1.0, shape)
    entry_index = algebra.transform(TransformIndex(dst, axes.dropped), flat_indices, 1.0, shape)
    return algebra.nonlinear(_IS_SAME_INDEX, [argmax, entry_index])


PARTIALS: dict[str, Callable[[ReductionPartial], Any]] = {  # rule of a ReductionNode -> its local partials
    "maximum": lambda partial: partial.share_among_ties(_IS_MAXIMUM),
    "minimum": lambda partial: partial.share_among_ties(_IS_MINIMUM),
    "mul": ReductionPartial.product_of_others,
    "logsumexp": ReductionPartial.softmax,
    "first_maximum": lambda partial: first_maximum_mask(partial.algebra, partial.node.index, partial.x, partial.shape),
}
