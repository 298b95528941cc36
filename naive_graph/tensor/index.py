"""Index arrays: einsum subscripts as integers, and the derivative rules of sums and products on them.

An index array has one nonzero integer for each dimension of a tensor, all different. A positive index
occurs on both sides (source and result) and is the same index there. A negative one occurs on one
side: in a source it is summed over (a dummy), in a result it is new (a broadcast axis). So matrix
multiplication, C[i,j] = sum over k of A[i,k] * B[k,j], einsum "ik,kj->ij", is

    dst 1,2    left 1,-3    right -3,2

The classes know nothing of tensors: they check index arrays, bring them into a canonical form, and
infer the result's shape. The functions `*_adjoint` (reverse mode) and `*_tangent` (forward mode) turn
a node's index arrays into those of its derivative. H is the index tuple of the other tensor (the
output in reverse mode, the input in forward mode), always appended last.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

from ..errors import IndexSpecError, ShapeError

Ids = tuple[int, ...]
Shape = tuple[int, ...]


class TransformIndex(NamedTuple):
    """dst[I1] = alpha * sum over the dummies of src[I2]. Negative ids are local to their array.

    >>> TransformIndex((1, 2), (1, -1, 2, -2)).counts  # a partial sum: two dummies, nothing new, two repeated
    (2, 0, 2)
    """

    dst: Ids
    src: Ids

    @property
    def counts(self) -> tuple[int, int, int]:
        """How many indices are dummy (summed), new (broadcast) and repeated (on both sides)."""
        dummy, new = _negatives(self.src), _negatives(self.dst)
        return dummy, new, len(self.src) - dummy

    def check(self) -> TransformIndex:
        """Raise IndexSpecError unless the index arrays are well formed; returns self."""
        for name, ids in zip(self._fields, self):
            _check_ids(f"A TransformNode's {name}", ids)
        alone = {index for index in self.dst if index > 0} ^ {index for index in self.src if index > 0}
        for index in sorted(alone):
            side, write = ("destination", "new") if index in self.dst else ("source", "summed")
            raise IndexSpecError(
                f"A TransformNode has index {index} in its {side} alone. Write {-index} if it is {write}, "
                "or put it into both arrays."
            )
        return self

    def canonical(self) -> TransformIndex:
        """Renumbered: positive ids 1, 2, ... in order of dst; dummies and new ids -1, -2, ... within each array.

        >>> TransformIndex((7, -5, 3), (3, 7)).canonical()
        TransformIndex(dst=(1, -1, 2), src=(2, 1))
        """
        number = {index: position for position, index in enumerate((index for index in self.dst if index > 0), 1)}
        return TransformIndex(renumber(self.dst, number), renumber(self.src, number))

    def shape(self, source: Shape, expected_shape: Sequence[int | None] | None = None) -> Shape:
        """The shape of the destination. expected_shape: its shape if known; required for new indices."""
        extents = IndexExtents().note(self.src, source, "the source")
        return extents.shape_of(self.dst, expected_shape)


class LinearIndex(NamedTuple):
    """dst[I1] = sum over the dummies of left[I2] op right[I3]. Absolute values name the indices of the whole node.

    >>> LinearIndex((1, 2), (1, -3), (-3, 2)).counts  # a matrix product: one dummy, nothing in all three
    (1, 0)
    """

    dst: Ids
    left: Ids
    right: Ids

    @property
    def counts(self) -> tuple[int, int]:
        """How many indices are dummy (summed), and how many are in all three arrays."""
        dummies = {index for index in (*self.left, *self.right) if index < 0}
        return len(dummies), len({*self.dst} & {*self.left} & {*self.right})

    @property
    def dummies(self) -> Ids:
        """The summed indices, in order of first occurrence."""
        return tuple(dict.fromkeys(index for index in (*self.left, *self.right) if index < 0))

    def check(self) -> LinearIndex:
        """Raise IndexSpecError unless well formed, with every dummy in both sources; returns self."""
        for name, ids in zip(self._fields, self):
            _check_ids(f"A LinearNode's {name}", ids, has_global_ids=True)
        for index in self.dst:
            if index < 0:
                raise IndexSpecError(f"A LinearNode's destination has {index}, but only a source sums. Write {-index}.")
            if index not in self.left and index not in self.right:
                raise IndexSpecError(
                    f"A LinearNode's destination has index {index}, which is in no source. "
                    "Broadcast first, with a TransformNode."
                )
        self._check_sources()
        return self

    def _check_sources(self) -> None:
        for ids, other, side in ((self.left, self.right, "left"), (self.right, self.left, "right")):
            for index in ids:
                if index > 0 and index not in self.dst:
                    raise IndexSpecError(
                        f"A LinearNode's {side} source has index {index}, which is not in the destination. "
                        f"Write {-index} in both sources to sum over it."
                    )
                if index < 0 and index not in other:
                    raise IndexSpecError(
                        f"A LinearNode sums over {index}, which is in the {side} source alone. Sum that source first "
                        "with a TransformNode, or use linear(...), which does so."
                    )
                if -index in (*self.dst, *self.left, *self.right) and index < 0:
                    raise IndexSpecError(f"A LinearNode uses {index} and {-index}, which are one index. Choose a sign.")

    def canonical(self) -> LinearIndex:
        """Renumbered: destination ids 1..n in order, dummies -(n+1), ... in order of first occurrence.

        >>> LinearIndex((4, 9), (-2, 4), (-2, 9)).canonical()
        LinearIndex(dst=(1, 2), left=(-3, 1), right=(-3, 2))
        """
        number = {index: position for position, index in enumerate(self.dst, 1)}
        number |= {index: -position for position, index in enumerate(self.dummies, len(self.dst) + 1)}
        return LinearIndex(*(tuple(number[index] for index in ids) for ids in self))

    def shape(self, left: Shape, right: Shape) -> Shape:
        """The shape of the destination. Raises ShapeError if the sources disagree on an index's extent."""
        extents = IndexExtents().note(self.left, left, "the left source").note(self.right, right, "the right source")
        return extents.shape_of(self.dst)


class IndexExtents:
    """The extent of each index, collected from operand shapes. Raises ShapeError if two shapes disagree."""

    def __init__(self, letters: Mapping[int, str] | None = None) -> None:
        self.known: dict[int, tuple[int, str]] = {}  # index -> its extent, and the tensor that it was first seen in
        self.letters = letters or {}  # index -> the learner's letter for it, for error messages

    def note(self, ids: Ids, shape: Shape, who: str) -> IndexExtents:
        """Record the extents of a tensor's indices; returns self."""
        if len(ids) != len(shape):
            raise ShapeError(f"{len(ids)} indices were given for {who}, which has {len(shape)} dimensions: {shape}.")
        for index, extent in zip(ids, shape):
            first_extent, first_tensor = self.known.setdefault(index, (extent, who))
            if first_extent != extent:
                letter = self.letters.get(abs(index), abs(index))
                raise ShapeError(f"Index {letter} runs to {first_extent} in {first_tensor} and to {extent} in {who}.")
        return self

    def shape_of(self, ids: Ids, expected_shape: Sequence[int | None] | None = None) -> Shape:
        """The shape of a tensor with these indices. expected_shape: gives new indices their extents."""
        if expected_shape is not None and len(expected_shape) != len(ids):
            shape_text = tuple(expected_shape)
            raise ShapeError(f"The destination has {len(ids)} indices, but its shape was given as {shape_text}.")
        shape = []
        for position, index in enumerate(ids):
            expected = None if expected_shape is None else expected_shape[position]
            extent = self.known[index][0] if index > 0 else expected
            if extent is None:
                letter = self.letters.get(abs(index), index)
                raise ShapeError(f"Index {letter} is new: nothing says how far it runs. Give the destination's shape.")
            if expected is not None and expected != extent:
                raise ShapeError(f"Index {self.letters.get(index, index)} runs to {extent}, not to {expected}.")
            shape.append(extent)
        return tuple(shape)


def canonicalize_axes(axes: Iterable[int] | None, rank: int, what: str = "axis") -> list[int]:
    """Normalize axes to nonnegative numbers; None means all. Raises ShapeError for an axis out of range or repeated."""
    if axes is None:
        return list(range(rank))
    numbers = [canonicalize_axis(axis, rank, what) for axis in axes]
    if len(set(numbers)) < len(numbers):
        raise ShapeError(f"{what}={tuple(axes)} names one axis twice. Name each once.")
    return numbers


def canonicalize_axis(axis: int, rank: int, what: str = "axis") -> int:
    """Normalize an axis to a nonnegative number. Raises ShapeError if it is out of range."""
    if not -rank <= axis < rank:
        has = f"axes from {-rank} to {rank - 1}"
        if not rank:
            has = "none: it is a single number. Of scalar nodes there are softmax([x, y]) and logsumexp([x, y])"
        raise ShapeError(f"{what}={axis}: there is no axis {axis}. The tensor has {has}.")
    return axis % rank


def unused_ids(count: int, *used: Iterable[int]) -> Ids:
    """`count` new positive ids that none of the `used` index arrays contains.

    >>> unused_ids(2, (1, -3), (2,))
    (4, 5)
    """
    top = max((abs(index) for ids in used for index in ids), default=0)
    return tuple(range(top + 1, top + 1 + count))


def _negatives(ids: Ids) -> int:
    return sum(1 for index in ids if index < 0)


def _check_ids(who: str, ids: Ids, has_global_ids: bool = False) -> None:
    """Raise IndexSpecError for ids that are no ints or 0, and for repeated ones. has_global_ids: i and -i are one."""
    for position, index in enumerate(ids):
        if not isinstance(index, int) or isinstance(index, bool) or index == 0:
            raise IndexSpecError(f"{who} has {index!r} at place {position}. An index is a whole number, not 0.")
    for index in ids:
        if ids.count(index) > 1 or (has_global_ids and -index in ids):
            raise IndexSpecError(
                f"{who} names index {abs(index)} twice: {ids}. A diagonal is taken by multiplying with "
                "the tensor identity((n,)) and summing."
            )


def renumber(labels: Iterable[Any], number: Mapping[Any, int]) -> Ids:
    """An id for each label: by the mapping `number`, and -1, -2, ... in order for those that it lacks."""
    count, ids = 0, []
    for label in labels:
        count -= label not in number
        ids.append(number.get(label, count))
    return tuple(ids)


def transform_adjoint(index: TransformIndex, h: Ids = ()) -> TransformIndex:
    """The vjp of a transform: its index arrays swapped, so sums become broadcasts and broadcasts become sums.

    >>> transform_adjoint(TransformIndex((1, -1, 2), (2, 1)), (3,))
    TransformIndex(dst=(2, 1, 3), src=(1, -1, 2, 3))
    """
    return TransformIndex(index.src + h, index.dst + h)


@lru_cache(maxsize=4096)
def sum_adjoint(index: LinearIndex, side: int, h: Ids = ()) -> TransformIndex:
    """The vjp of a sum or difference: broadcast over the source's summed indices, summed over those it lacks.

    >>> sum_adjoint(LinearIndex((1, 2), (1,), (1, 2)), 0)  # y[i,j] = b[i] + c[i,j], with respect to b
    TransformIndex(dst=(1,), src=(1, -2))
    """
    target = index[1 + side]
    return TransformIndex(target + h, tuple(label if label in target else -label for label in index.dst) + h)


@lru_cache(maxsize=4096)
def product_adjoint(index: LinearIndex, side: int, h: Ids = ()) -> LinearIndex:
    """The vjp of a product: adjoint * other source, summed over the indices that the target source lacks.

    >>> product_adjoint(LinearIndex((1, 2), (1, -3), (-3, 2)), 0)  # C = A B, with respect to A: Cbar B^T
    LinearIndex(dst=(1, 3), left=(1, -2), right=(3, -2))
    """
    target, other = index[1 + side], index[2 - side]
    inside = {abs(label) for label in target}

    def relabel(ids: Ids) -> Ids:
        return tuple(abs(label) if abs(label) in inside else -abs(label) for label in ids)

    return LinearIndex(relabel(target) + h, relabel(index.dst) + h, relabel(other))


def transform_tangent(index: TransformIndex, h: Ids = ()) -> TransformIndex:
    return TransformIndex(index.dst + h, index.src + h)


def sum_tangent(index: LinearIndex, h: Ids = ()) -> LinearIndex:
    return LinearIndex(*(ids + h for ids in index))


def one_sided_tangent(index: LinearIndex, side: int, h: Ids = ()) -> TransformIndex:
    """The jvp of a sum when only one source has a tangent: the vjp of that source's vjp."""
    return transform_adjoint(sum_adjoint(index, side, h))


def product_tangent(index: LinearIndex, side: int, h: Ids = ()) -> LinearIndex:
    """One term of a product's jvp: the source on `side` is replaced by its tangent, with indices H appended."""
    left, right = (ids + h if position == side else ids for position, ids in enumerate(index[1:]))
    return LinearIndex(index.dst + h, left, right)


@lru_cache(maxsize=4096)
def identity_ids(rank: int) -> Ids:
    """The identity index array 1, 2, ..., rank."""
    return tuple(range(1, rank + 1))
