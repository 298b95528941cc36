"""Movement operators: reshape, flatten, transpose, squeeze, expand_dims and expand, without arithmetic."""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any

from ...errors import ShapeError
from .. import arithmetic, slicing
from ..index import canonicalize_axes
from .examples import Example, example
from .mapping import Attribute, Input, Onnx, TensorFlow, none_if_empty
from .operator_def import OperatorDef
from .properties import Axes, MaybeWholes, Shape, Tensor, Wholes
from .table import tensor_operator

Extents = tuple[int, ...]


def movement_operator(*examples: Example, **options: Any) -> Callable[[Callable[..., Any]], OperatorDef]:
    """Define a movement operator: each entry of the result is an entry of an operand, or constant."""
    return tensor_operator(kind="move", examples=examples, **options)


# --- shapes -------------------------------------------------------------------


@movement_operator(
    example((2, 3), shape=[3, 2]), example((2, 3, 2), shape=[-1, 4]), example((1,), shape=[]),
    onnx=Onnx("Reshape", shape=(Attribute("shape", until=4), Input(1, since=5)), required_values={"allowzero": 0}),
    tensorflow=TensorFlow("Reshape", shape=Input(1)), method=False,
)  # fmt: skip
def reshape(x: Tensor, shape: Shape) -> Any:
    """The same entries, row by row, in another shape; one extent may be -1."""
    return slicing.reshape(x, shape)


@movement_operator(
    example((2, 3, 2)), example((2, 3), axis=0), example((2, 3), axis=-1),
    onnx=Onnx("Flatten", axis=Attribute("axis", 1)),
)  # fmt: skip
def flatten_to_matrix(x: Tensor, axis: int = 1) -> Any:
    """The axes before `axis` as rows, the others as columns."""
    if not -x.rank <= axis <= x.rank:
        raise ShapeError(f"axis={axis} does not split {x.rank} axes. Take one from {-x.rank} to {x.rank}.")
    axis_index = axis if axis >= 0 else axis + x.rank
    return slicing.reshape(x, (prod(x.shape[:axis_index]), prod(x.shape[axis_index:])))


@movement_operator(
    example((2, 3)), example((2, 3, 4), axes=[1, 2, 0]), method=False,
    onnx=Onnx("Transpose", axes=Attribute("perm", None)), tensorflow=TensorFlow("Transpose", axes=Input(1)),
)  # fmt: skip
def transpose(x: Tensor, axes: MaybeWholes = None) -> Any:
    """The axes in another order; reversed if none is given."""
    order = range(x.rank)[::-1] if axes is None else canonicalize_axes(axes, x.rank, "axes")
    if len(order) != x.rank:
        raise ShapeError(f"axes={list(order)} names {len(order)} of {x.rank} axes. Name each once.")
    return arithmetic.transpose(x, *order)


@movement_operator(
    example((1, 2, 1)), example((1, 2, 1), axis=[-1]),
    onnx=Onnx("Squeeze", axis=(Attribute("axes", None, until=12), Input(1, None, since=13))),
    tensorflow=TensorFlow("Squeeze", axis=Attribute("squeeze_dims", (), none_if_empty)),
)  # fmt: skip
def squeeze(x: Tensor, axis: Axes = None) -> Any:
    """The tensor without axes of extent 1: these, or all."""
    singles = [position for position, extent in enumerate(x.shape) if extent == 1]
    dropped_axes = singles if axis is None else canonicalize_axes(axis, x.rank)
    for dropped in dropped_axes:
        if dropped not in singles:
            raise ShapeError(f"Axis {dropped} of {x.label} runs to {x.shape[dropped]}: only an axis of 1 can go.")
    return arithmetic.keep_axes(x, [position for position in range(x.rank) if position not in dropped_axes])


@movement_operator(
    example((2, 3), axis=[0]), example((2,), axis=[0, -1]),
    onnx=Onnx("Unsqueeze", axis=(Attribute("axes", until=12), Input(1, since=13))),
    tensorflow=TensorFlow("ExpandDims", axis=Input(1)),
)  # fmt: skip
def expand_dims(x: Tensor, axis: Wholes) -> Any:
    """Insert axes of extent 1 at the positions `axis` of the result."""
    for position in sorted(canonicalize_axes(axis, x.rank + len(axis))):
        x = arithmetic.expand_dims(x, position)
    return x


@movement_operator(
    example((3,), shape=[2, 3]), example((2, 1), shape=[1, 3]), method=False,  # tensors have `broadcast`
    onnx=Onnx("Expand", shape=Input(1), since=8), tensorflow=TensorFlow("BroadcastTo", shape=Input(1)),
)  # fmt: skip
def expand(x: Tensor, shape: Shape) -> Any:
    """Broadcast the tensor to the common shape of its own and `shape`."""
    common_shape = arithmetic.broadcast_or_none(x.shape, shape)
    if common_shape is None:
        raise ShapeError(f"shape={list(shape)} and {x.shape} do not broadcast. Aligned at the right, equal or 1.")
    return arithmetic.broadcast(x, common_shape)
