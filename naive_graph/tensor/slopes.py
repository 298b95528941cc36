"""The derivative of a reduction with respect to each entry of its source, as arrays or as nodes.

maximum, minimum    1 / count for those that tie, else 0
first_maximum       1 for the first that is largest, else 0
logsumexp           the softmax
mul                 the product of all other entries, by a tree of products: zeros are harmless
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
from .index import Ids, LinearIndex, Shape, TransformIndex, transform_adjoint
from .nodes import OpType
from .reduction import Places, ReductionNode
from .selection import Picker, SelectionNode

FINITE = sys.float_info.max
_NOT_BELOW = function_of(lambda a, top: where(equal(top, top), 1.0 - less(a, top), top), 2)  # beside NaN: NaN
_NOT_ABOVE = function_of(lambda a, low: where(equal(low, low), 1.0 - less(low, a), low), 2)
_ONE = function_of(lambda a: 1.0, 1)
_SHARE = function_of(div, 2)
_PART = function_of(lambda weight, total: div(weight, total), 2)  # of an entry that is beaten: none
_SAME = function_of(lambda place, own: less(magnitude(place - own), 0.5), 2)
# At an infinite top those that reach it share, where a difference would be NaN.
_WEIGHT = function_of(
    lambda a, top: where(less(FINITE, magnitude(held(top))), 1.0 - less(a, held(top)), exp(a - held(top))), 2
)
CHOICES = (_PART, _SAME)  # where an entry that is not chosen is 0 by structure


class Slope:
    """The derivative of one reduction, from its source x and its result y in some algebra."""

    def __init__(self, algebra: Any, node: ReductionNode, x: Any, y: Callable[[], Any]) -> None:
        self.algebra, self.node, self.x, self.y = algebra, node, x, y
        self.shape = node.sources[0].shape

    def tensor(self) -> Any:
        if self.node.size == size_of(self.shape):  # nothing is reduced: also NaN is only handed on
            return self.algebra.nonlinear(_ONE, [self.x])
        return SLOPES[self.node.rule](self)

    def spread(self, value: Any) -> Any:
        """A tensor of the result's shape, over the source's."""
        return self.algebra.transform(transform_adjoint(self.node.index), value, 1.0, self.shape)

    def along(self, function: Any, value: Any) -> Any:
        """A function of each entry of the source, and of what its row has in common."""
        return self.algebra.nonlinear(function, [self.x, self.spread(value)])

    def shared(self, weights: Any) -> Any:
        """Each weight, 1 or 0, divided by their sum."""
        total = self.algebra.transform(self.node.index, weights, 1.0, self.node.shape)
        return self.algebra.nonlinear(_PART, [weights, self.spread(total)])

    def others(self) -> Any:
        """Axis by axis: the product of the others along it, times that of what was reduced before."""
        places = Places.of(self.node.index)
        extents = dict(zip(places.own, self.shape))
        x, ids, found = self.x, places.own, None if places.dropped else self.algebra.nonlinear(_ONE, [self.x])
        for axis in reversed(places.dropped):
            one = _Tree(self.algebra, ids, axis, extents[axis]).others(x)
            index = LinearIndex(places.own, places.own, ids)
            found = one if found is None else self.algebra.linear(OpType.mul, index, found, one)
            x = self.algebra.reduction("mul", _without(ids, axis), x)
            ids = tuple(each for each in ids if each != axis)
        return found


def softmax(algebra: Any, index: TransformIndex, x: Any, shape: Shape) -> Any:
    """exp(x) over the sum of exp(x) along what the index reduces."""

    def spread(value: Any) -> Any:
        return algebra.transform(transform_adjoint(index), value, 1.0, shape)

    places = Places.of(index)
    weights = algebra.nonlinear(_WEIGHT, [x, spread(algebra.reduction("peak", index, x))])
    total = algebra.transform(index, weights, 1.0, tuple(shape[each - 1] for each in places.kept))
    return algebra.nonlinear(_SHARE, [weights, spread(total)])


def first_by_place(algebra: Any, index: TransformIndex, x: Any, shape: Shape) -> Any:
    """1 for the first largest entry, else 0: found by comparing places."""
    places = Places.of(index)
    extents = [shape[each - 1] for each in places.dropped]
    own = algebra.constant(np.arange(float(size_of(extents))).reshape(extents))
    along = TransformIndex(tuple(each if each in places.dropped else -each for each in places.own), places.dropped)
    place = algebra.transform(transform_adjoint(index), algebra.reduction("argmax", index, x), 1.0, shape)
    return algebra.nonlinear(_SAME, [place, algebra.transform(along, own, 1.0, shape)])


def _without(ids: Ids, axis: int) -> TransformIndex:
    return TransformIndex(tuple(each for each in ids if each != axis), tuple(-e if e == axis else e for e in ids))


class _Tree:
    """Products of all but one entry along an axis: up a tree of pairs, and down again beside the siblings."""

    def __init__(self, algebra: Any, ids: Ids, axis: int, extent: int) -> None:
        self.algebra, self.ids, self.place, self.extent = algebra, ids, ids.index(axis), extent
        self.inner, self.side = max(ids) + 1, max(ids) + 2  # a pair, and which of the two

    def others(self, x: Any) -> Any:
        if self.extent == 1:
            return self.algebra.nonlinear(_ONE, [x])
        depth = (self.extent - 1).bit_length()
        levels = [self.paired(self.padded(x, 2**depth), 2**depth)]
        for level in range(depth - 1, 0, -1):
            pairs = self.algebra.reduction("mul", _without(self.split, self.side), levels[-1])
            levels.append(self.paired(pairs, 2**level))
        found = self.swapped(levels.pop())
        for level, each in enumerate(reversed(levels), 1):
            above = self.joined(found, 2**level)
            index = LinearIndex(self.split, _without(self.split, self.side).dst, self.split)
            found = self.algebra.linear(OpType.mul, index, above, self.swapped(each))
        return self.cut(self.joined(found, 2**depth), 2**depth)

    @property
    def split(self) -> Ids:
        """The ids with the axis as two: pairs, and sides."""
        return (*self.ids[: self.place], self.inner, self.side, *self.ids[self.place + 1 :])

    def moved(self, x: Any, out: Ids, ids: Ids, picked: Ids, selection: SelectionNode) -> Any:
        """x, of these ids, contracted with a selection of the ids `picked`."""
        gone = {*ids} - {*out}
        signed = (tuple(-each if each in gone else each for each in one) for one in (ids, picked))
        return self.algebra.linear(OpType.mul, LinearIndex(out, *signed), x, selection)

    def _resized(self, x: Any, before: int, after: int) -> Any:
        """The array with an axis cut to an extent, or filled up with zeros."""
        axis, new = self.ids[self.place], self.inner
        out = tuple(new if each == axis else each for each in self.ids)
        return self.moved(x, out, self.ids, (new, axis), SelectionNode((after, before), [Picker((0,), 1, (1,))]))

    def padded(self, x: Any, size: int) -> Any:
        if size == self.extent:
            return x
        ones = self.algebra.constant((np.arange(size) >= self.extent).astype(float), structural=True)
        index = LinearIndex(self.ids, self.ids, (self.ids[self.place],))
        return self.algebra.linear(OpType.add, index, self._resized(x, self.extent, size), ones)

    def cut(self, x: Any, size: int) -> Any:
        return x if size == self.extent else self._resized(x, size, self.extent)

    def paired(self, x: Any, size: int) -> Any:
        return self.moved(x, self.split, self.ids, (self.inner, self.side, self.ids[self.place]), _pairs(size))

    def joined(self, x: Any, size: int) -> Any:
        return self.moved(x, self.ids, self.split, (self.inner, self.side, self.ids[self.place]), _pairs(size))

    def swapped(self, x: Any) -> Any:
        """Each of a pair replaced by the other."""
        new = self.side + 1
        out = tuple(new if each == self.side else each for each in self.split)
        return self.moved(x, out, self.split, (new, self.side), SelectionNode((2, 2), [Picker((0,), 1, (-1,), 1)]))


def _pairs(size: int) -> SelectionNode:
    """A selection that turns an axis into pairs, and pairs into the axis."""
    return SelectionNode((size // 2, 2, size), [Picker((0, 1), 2, (2, 1))])


SLOPES: dict[str, Callable[[Slope], Any]] = {
    "maximum": lambda slope: slope.shared(slope.along(_NOT_BELOW, slope.y())),
    "minimum": lambda slope: slope.shared(slope.along(_NOT_ABOVE, slope.y())),
    "mul": Slope.others,
    "logsumexp": lambda slope: slope.algebra.softmax(slope.node.index, slope.x),
    "first_maximum": lambda slope: first_by_place(slope.algebra, slope.node.index, slope.x, slope.shape),
}
