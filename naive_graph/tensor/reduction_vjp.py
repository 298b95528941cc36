"""The local partials of reductions: d result / d entry for each source entry, as arrays or as nodes.

maximum, minimum    1 / count for the tied entries, else 0
first_maximum       1 for the first largest entry, else 0
logsumexp           the softmax
mul                 the product of all other entries
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

FINITE = sys.float_info.max
_NOT_BELOW = function_of(lambda a, top: where(equal(top, top), 1.0 - less(a, top), top), 2)  # beside NaN: NaN
_NOT_ABOVE = function_of(lambda a, low: where(equal(low, low), 1.0 - less(low, a), low), 2)
_ONE = function_of(lambda a: 1.0, 1)
_SHARE = function_of(div, 2)
_ELSE = function_of(lambda own, a: where(own, 1.0, a), 2)
_PART = function_of(lambda weight, total: div(weight, total), 2)  # 0 for entries that are beaten (weight 0)
_SAME = function_of(lambda place, own: less(magnitude(place - own), 0.5), 2)
# exp(a - top); if top is infinite, 1 for the entries equal to it, as inf - inf would be NaN.
_WEIGHT = function_of(
    lambda a, top: where(less(FINITE, magnitude(held(top))), 1.0 - less(a, held(top)), exp(a - held(top))), 2
)
CHOICES = (_PART, _SAME)  # functions whose zeros (entries not chosen) are structural


class ReductionPartial:
    """The derivative of one reduction, from its source x and its result y in some algebra."""

    def __init__(self, algebra: Any, node: ReductionNode, x: Any, y: Callable[[], Any]) -> None:
        self.algebra, self.node, self.x, self.y = algebra, node, x, y
        self.shape = node.sources[0].shape

    def tensor(self) -> Any:
        if self.node.size == size_of(self.shape):  # nothing is reduced: also NaN is only handed on
            return self.algebra.nonlinear(_ONE, [self.x])
        return SLOPES[self.node.rule](self)

    def spread(self, value: Any) -> Any:
        """Broadcast a tensor of the result's shape to the source's shape."""
        return self.algebra.transform(transform_adjoint(self.node.index), value, 1.0, self.shape)

    def along(self, function: Any, value: Any) -> Any:
        """f(entry, value) for each source entry; value: of the result's shape, broadcast."""
        return self.algebra.nonlinear(function, [self.x, self.spread(value)])

    def shared(self, weights: Any) -> Any:
        """Weights of 1 or 0 divided by their sum along the reduced axes."""
        total = self.algebra.transform(self.node.index, weights, 1.0, self.node.shape)
        return self.algebra.nonlinear(_PART, [weights, self.spread(total)])

    def others(self) -> Any:
        """For each entry the product of all others; without division, so zeros are harmless.

        As nodes: one copy of the entries for each of them, with that one replaced by 1, then reduced by "mul".
        """
        if self.algebra.at_once:
            return self.algebra.product_of_others(self.node.index, self.x)
        places = ReductionAxes.of(self.node.index)
        copies = {each: len(places.own) + at for at, each in enumerate(places.dropped, 1)}  # the indices within a row
        rows = (*places.own, *copies.values())
        extents = [self.shape[each - 1] for each in places.dropped]

        def spread(value: Any, ids: Ids) -> Any:
            dst = tuple(row if row in ids else -row for row in rows)
            return self.algebra.transform(TransformIndex(dst, ids), value, 1.0, (*self.shape, *extents))

        own = self.algebra.constant(np.eye(size_of(extents)).reshape(extents * 2))
        x = spread(self.x, tuple(copies.get(each, each) for each in places.own))
        table = self.algebra.nonlinear(_ELSE, [spread(own, (*places.dropped, *copies.values())), x])
        index = TransformIndex(places.own, tuple(row if row in places.own else -row for row in rows))
        return self.algebra.reduction("mul", index, table)


def softmax(algebra: Any, index: TransformIndex, x: Any, shape: Shape) -> Any:
    """softmax(x) along the axes that the index reduces."""

    def spread(value: Any) -> Any:
        return algebra.transform(transform_adjoint(index), value, 1.0, shape)

    axes = ReductionAxes.of(index)
    weights = algebra.nonlinear(_WEIGHT, [x, spread(algebra.reduction("peak", index, x))])
    total = algebra.transform(index, weights, 1.0, tuple(shape[each - 1] for each in axes.kept))
    return algebra.nonlinear(_SHARE, [weights, spread(total)])


def first_maximum_mask(algebra: Any, index: TransformIndex, x: Any, shape: Shape) -> Any:
    """One-hot of the argmax: 1 for the first largest entry, else 0, by comparing each entry's index with it."""
    places = ReductionAxes.of(index)
    extents = [shape[each - 1] for each in places.dropped]
    own = algebra.constant(np.arange(float(size_of(extents))).reshape(extents))
    along = TransformIndex(tuple(each if each in places.dropped else -each for each in places.own), places.dropped)
    place = algebra.transform(transform_adjoint(index), algebra.reduction("argmax", index, x), 1.0, shape)
    return algebra.nonlinear(_SAME, [place, algebra.transform(along, own, 1.0, shape)])


SLOPES: dict[str, Callable[[ReductionPartial], Any]] = {
    "maximum": lambda slope: slope.shared(slope.along(_NOT_BELOW, slope.y())),
    "minimum": lambda slope: slope.shared(slope.along(_NOT_ABOVE, slope.y())),
    "mul": ReductionPartial.others,
    "logsumexp": lambda slope: softmax(slope.algebra, slope.node.index, slope.x, slope.shape),
    "first_maximum": lambda slope: first_maximum_mask(slope.algebra, slope.node.index, slope.x, slope.shape),
}
