"""Joining tensors along an axis, and cutting them."""

from __future__ import annotations

import builtins
from collections.abc import Sequence
from typing import Any

from ...errors import ShapeError
from .. import arithmetic, picks
from ..base import Direct, TensorNode
from ..evaluation.arrays import namespace, together
from ..evaluation.evaluate import written_out
from ..index import place, places
from .examples import example
from .mapping import ALL, Attribute, Fixed, Input, Onnx, TensorFlow
from .moves import Extents, move
from .properties import Axes, Axis, MaybeSize, MaybeWholes, Tensor, Tensors, Wholes

TOGETHER = 64  # tensors that are joined at once


def _joined(tensors: list[Extents], axis: int) -> Extents:
    xs = tensors
    at = place(axis, len(xs[0]))
    for each in xs[1:]:
        if len(each) != len(xs[0]) or each[:at] + each[at + 1 :] != xs[0][:at] + xs[0][at + 1 :]:
            raise ShapeError(f"shapes {xs[0]} and {each} differ in more than axis {at}. Only that one may.")
    return (*xs[0][:at], sum(each[at] for each in xs), *xs[0][at + 1 :])


@move(
    example([(2, 3), (2, 1)], axis=1), example([(2,), (3,), (1,)]), shape=_joined,
    onnx=Onnx("Concat", operands=[ALL], axis=Attribute("axis")),
    tensorflow=[TensorFlow("ConcatV2", operands=[ALL], axis=Input(-1), harmless=("N",)),
                TensorFlow("Concat", operands=[ALL], axis=Input(0), harmless=("N",))],
)  # fmt: skip
def concat(tensors: Tensors, axis: Axis = 0) -> Any:
    """Tensors one after the other along an axis."""
    at, given = place(axis, tensors[0].rank), tuple(tensors)
    while len(tensors) > TOGETHER:  # so that no number is moved as often as there are tensors
        tensors = [_added(tensors[first : first + TOGETHER], at) for first in range(0, len(tensors), TOGETHER)]
    whole = _added(tensors, at)
    whole.direct = Direct(given, lambda *arrays: _side_by_side(arrays, at))
    return whole


def _side_by_side(arrays: Sequence[Any], at: int) -> Any:
    arrays = together([*map(written_out, arrays)])
    return namespace(arrays[0]).concatenate(arrays, at)


def _added(tensors: Sequence[TensorNode], at: int) -> TensorNode:
    """The sum of the tensors, each with zeros where the others lie."""
    total, start = sum(each.shape[at] for each in tensors), 0
    result: TensorNode | None = None
    for each in tensors:
        part = picks.pick(each, at, (total,), (1,), -start)
        result = part if result is None else result + part
        start += each.shape[at]
    return result  # type: ignore[return-value]


def _stacked(tensors: list[Extents], axis: int) -> Extents:
    if any(each != tensors[0] for each in tensors):
        raise ShapeError(f"shapes {', '.join(map(str, dict.fromkeys(tensors)))} differ. Stacked tensors have one.")
    at = place(axis, len(tensors[0]) + 1)
    return (*tensors[0][:at], len(tensors), *tensors[0][at:])


@move(
    example([(2, 3), (2, 3)], axis=1), example([(), ()]), shape=_stacked,
    tensorflow=TensorFlow("Pack", operands=[ALL], axis=Attribute("axis", 0), harmless=("N",)),
)  # fmt: skip
def stack(tensors: Tensors, axis: Axis = 0) -> Any:
    """Tensors of one shape along a new axis."""
    at = place(axis, tensors[0].rank + 1)
    return concat.function([arithmetic.expand_dims(each, at) for each in tensors], at)


def _sizes(extent: int, sizes: Any, parts: Any) -> list[int]:
    """How long each part is; the last of a number of parts may be shorter."""
    if (sizes is None) == (parts is None):
        raise ShapeError(f"sizes={sizes} and parts={parts}: give one of them.")
    if sizes is not None:
        if min(sizes) < 1 or sum(sizes) != extent:
            raise ShapeError(f"sizes={list(sizes)} are not parts of at least 1 that add up to {extent}.")
        return list(sizes)
    each = -(-extent // parts)
    if each * (parts - 1) >= extent:
        raise ShapeError(f"parts={parts} is too many for {extent} entries.")
    return [min(each, extent - each * at) for at in range(parts)]


@move(
    example((5,), parts=2), example((2, 4), axis=1, sizes=[1, 3]),
    onnx=Onnx("Split", axis=Attribute("axis", 0), parts=Attribute("num_outputs", None, since=18),
              sizes=(Attribute("split", None, until=12), Input(1, None, since=13))),
    tensorflow=[TensorFlow("Split", operands=[1], axis=Input(0), parts=Attribute("num_split")),
                TensorFlow("SplitV", sizes=Input(1), axis=Input(2), harmless=("num_split",))],
)  # fmt: skip
def split(x: Tensor, axis: Axis = 0, sizes: MaybeWholes = None, parts: MaybeSize = None) -> Any:
    """The tensor cut along an axis into parts of these sizes, or into so many equal ones (the last may be shorter)."""
    at, found, start = place(axis, x.rank), [], 0
    for each in _sizes(x.shape[at], sizes, parts):
        found.append(picks.pick(x, at, (each,), (1,), start))
        start += each
    return found


@move(
    example((2, 3)), example((2, 3), axis=-1),
    tensorflow=TensorFlow("Unpack", axis=Attribute("axis", 0), harmless=("num",)),
)  # fmt: skip
def unstack(x: Tensor, axis: Axis = 0) -> Any:
    """The entries along an axis, each a tensor without it."""
    at = place(axis, x.rank)
    return [picks.entry(x, at, each) for each in range(x.shape[at])]


def _ranges(x: Extents, begin: Any, end: Any, axis: Any, steps: Any, sizes: Any) -> list[tuple[int, range]]:
    chosen = list(range(len(begin))) if axis is None else places(axis, len(x))
    by = (1,) * len(begin) if steps is None else steps
    if (end is None) == (sizes is None):
        raise ShapeError(f"end={end} and sizes={sizes}: give one of them.")
    counts = {len(begin), len(sizes if end is None else end), len(chosen), len(by)}
    if len(counts) > 1 or 0 in by or len(begin) > len(x):
        raise ShapeError(f"begin, end, axis and steps need a number for each of {len(chosen)} axes, and no step is 0.")
    if end is None:
        end = [x[at] if size == -1 else b + size for at, b, size in zip(chosen, begin, sizes)]
    found = [(at, range(*builtins.slice(b, e, s).indices(x[at]))) for at, b, e, s in zip(chosen, begin, end, by)]
    for at, each in found:
        if not each:
            raise ShapeError(f"begin={list(begin)}, end={list(end)} leave nothing of axis {at}, which runs to {x[at]}.")
    return found


MASKS = ("begin_mask", "end_mask", "ellipsis_mask", "new_axis_mask", "shrink_axis_mask")


@move(
    example((5,), begin=[1], end=[4]), example((3, 4), begin=[-2, 3], end=[9, 0], steps=[1, -2]),
    example((2, 4), begin=[1], end=[3], axis=[1]), example((3, 4), begin=[1, 0], sizes=[-1, 2]),
    method=False,
    onnx=Onnx("Slice", begin=(Attribute("starts", until=9), Input(1, since=10)),
              end=(Attribute("ends", until=9), Input(2, since=10)),
              axis=(Attribute("axes", None, until=9), Input(3, None, since=10)),
              steps=(Fixed(None, until=9), Input(4, None, since=10))),
    tensorflow=[TensorFlow("Slice", begin=Input(1), sizes=Input(2)),
                TensorFlow("StridedSlice", begin=Input(1), end=Input(2), steps=Input(3), prepared=MASKS)],
)  # fmt: skip
def slice(
    x: Tensor,
    begin: Wholes,
    end: MaybeWholes = None,
    axis: Axes = None,
    steps: MaybeWholes = None,
    sizes: MaybeWholes = None,
) -> Any:
    """The entries from begin to before end (or so many; -1 for all), by steps; numbers below 0 count from the end."""
    for at, each in _ranges(x.shape, begin, end, axis, steps, sizes):
        x = picks.pick(x, at, (len(each),), (each.step,), each.start)
    return x
