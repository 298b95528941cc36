"""Normalisation layers (batch, layer, RMS, instance, group, local response, Lp), and dropout.

Most are (x - mean) / sqrt(variance + epsilon), and differ in the axes of mean and variance: `standardize`.
"""

from __future__ import annotations

from typing import Annotated, Any

from ...core.catalogue import abs as magnitude
from ...core.catalogue import pow, reciprocal, sqrt, square, where
from ...errors import ShapeError
from .. import reductions_api
from ..arithmetic import apply_along_axis, broadcast, broadcast_or_none
from ..base import TensorNode
from ..index import canonicalize_axes, canonicalize_axis
from ..nodes import OpType
from ..slicing import gather_axis, reshape
from ..sliding import find_channel_axis
from .examples import example
from .families import map_entries
from .mapping import Attribute, Fixed, Input, Onnx, TensorFlow, to_bool, to_scalar
from .properties import Axes, Axis, Layout, Least0, Maybe, Rate, Size, Tensor, one_of
from .table import tensor_operator

EPSILON = Attribute("epsilon", 1e-5)


def scale_and_shift(x: TensorNode, scale: TensorNode | None, bias: TensorNode | None, axis: int) -> TensorNode:
    return apply_along_axis(OpType.add, apply_along_axis(OpType.mul, x, scale, axis), bias, axis)


def standardize(x: TensorNode, axes: list[int], epsilon: float) -> TensorNode:
    """(x - mean) / sqrt(variance + epsilon), over some axes."""
    centred: TensorNode = x - reductions_api.mean(x, axes, True)
    return centred * _inverse_std(reductions_api.mean(square(centred), axes, True), epsilon)


def _inverse_std(variance: TensorNode, epsilon: float) -> TensorNode:
    return map_entries(lambda v: reciprocal(sqrt(v + epsilon)), variance)


@tensor_operator(
    domain=(0.2, 1.8),
    examples=[
        example((2, 3), (3,), (3,), (3,), (3,)), example((2, 2, 2, 1), (2,), (2,), (2,), (2,), data_format="NCHW"),
        example((3, 2), (2,), (2,), training=True, epsilon=0.01),
    ],
    onnx=Onnx("BatchNormalization", epsilon=EPSILON, training=Attribute("training_mode", 0, to_bool, since=14),
              data_format=Fixed("NCHW"), harmless=("momentum",), required_values={"spatial": 1}),
    tensorflow=[TensorFlow(operator_name, epsilon=Attribute("epsilon", 1e-4), training=Attribute("is_training", True),
                           data_format=Attribute("data_format", "NHWC"), harmless=("exponential_avg_factor",))
                for operator_name in ("FusedBatchNorm", "FusedBatchNormV2", "FusedBatchNormV3")],
)  # fmt: skip
def batch_norm(
    x: Tensor,
    scale: Tensor,
    bias: Tensor,
    mean: Maybe = None,
    variance: Maybe = None,
    epsilon: Least0 = 1e-5,
    training: bool = False,
    data_format: Layout = "NHWC",
) -> Any:
    """scale * (x - mean) / sqrt(variance + epsilon) + bias, channel by channel. Source: Ioffe & Szegedy, 2015.

    training: mean and variance are those of the batch (the variance over N, not N - 1).
    """
    axis = find_channel_axis(x, data_format, 2, scale=scale, bias=bias, mean=mean, variance=variance)
    if training:
        y = standardize(x, [other for other in range(x.rank) if other != axis], epsilon)
    elif mean is None or variance is None:
        raise ShapeError("mean and variance are needed but for training=True, which takes those of the batch.")
    else:
        centred = apply_along_axis(OpType.sub, x, mean, axis)
        y = apply_along_axis(OpType.mul, centred, _inverse_std(variance, epsilon), axis)
    return scale_and_shift(y, scale, bias, axis)


def _find_normalised_axes(x: TensorNode, axis: int, scale: TensorNode | None, bias: TensorNode | None) -> list[int]:
    """The axes from `axis` on. Raises ShapeError unless scale and bias fit them."""
    first = canonicalize_axis(axis, x.rank)
    shape = x.shape[first:]
    for name, vector in (("scale", scale), ("bias", bias)):
        if vector is not None and broadcast_or_none(vector.shape, shape) != shape:
            raise ShapeError(f"{name} of shape {vector.shape} does not fit the normalised axes, {shape}.")
    return list(range(first, x.rank))


@tensor_operator(
    examples=[example((2, 3), (3,), (3,)), example((2, 2, 2), (2, 2), axis=1, epsilon=0.1), example((2, 3))],
    onnx=Onnx("LayerNormalization", axis=Attribute("axis", -1), epsilon=EPSILON, harmless=("stash_type",), since=17),
)  # fmt: skip
def layer_norm(x: Tensor, scale: Maybe = None, bias: Maybe = None, axis: Axis = -1, epsilon: Least0 = 1e-5) -> Any:
    """scale * (x - mean) / sqrt(variance + epsilon) + bias, over the axes from `axis` on. Source: Ba et al., 2016."""
    y = standardize(x, _find_normalised_axes(x, axis, scale, bias), epsilon)
    y = y if scale is None else y * scale
    return y if bias is None else y + bias


@tensor_operator(
    examples=[example((2, 3), (3,)), example((2, 2, 2), axis=1, epsilon=0.1)],
    onnx=Onnx("RMSNormalization", axis=Attribute("axis", -1), epsilon=EPSILON, harmless=("stash_type",), since=23),
)  # fmt: skip
def rms_norm(x: Tensor, scale: Maybe = None, bias: Maybe = None, axis: Axis = -1, epsilon: Least0 = 1e-5) -> Any:
    """scale * x / sqrt(mean of squares + epsilon), over the axes from `axis` on. Source: Zhang & Sennrich, 2019."""
    axes = _find_normalised_axes(x, axis, scale, bias)
    y = x * _inverse_std(reductions_api.mean(square(x), axes, True), epsilon)
    y = y if scale is None else y * scale
    return y if bias is None else y + bias


@tensor_operator(
    examples=[example((2, 3, 2), (2,), (2,)), example((1, 2, 3), (2,), (2,), data_format="NCHW")],
    onnx=Onnx("InstanceNormalization", epsilon=EPSILON, data_format=Fixed("NCHW")),
)
def instance_norm(
    x: Tensor, scale: Maybe = None, bias: Maybe = None, epsilon: Least0 = 1e-5, data_format: Layout = "NHWC"
) -> Any:
    """Each channel of each sample normalised by itself. Source: Ulyanov et al., 2016."""
    channel_axis = find_channel_axis(x, data_format, 3, scale=scale, bias=bias)
    y = standardize(x, [axis for axis in range(1, x.rank) if axis != channel_axis], epsilon)
    return scale_and_shift(y, scale, bias, channel_axis)


@tensor_operator(
    examples=[example((1, 3, 4), (4,), (4,), groups=2), example((2, 4, 2), (4,), (4,), groups=4, data_format="NCHW")],
    onnx=Onnx("GroupNormalization", groups=Attribute("num_groups"), epsilon=EPSILON, data_format=Fixed("NCHW"),
              harmless=("stash_type",), since=21),
)  # fmt: skip
def group_norm(
    x: Tensor,
    scale: Maybe = None,
    bias: Maybe = None,
    groups: Size = 1,
    epsilon: Least0 = 1e-5,
    data_format: Layout = "NHWC",
) -> Any:
    """Channels normalised together in groups, sample by sample. Source: Wu & He, 2018."""
    channel_axis = find_channel_axis(x, data_format, 3, scale=scale, bias=bias)
    before, channels, after = x.shape[:channel_axis], x.shape[channel_axis], x.shape[channel_axis + 1 :]
    if channels % groups:
        raise ShapeError(f"groups={groups} does not divide {channels} channels.")
    grouped = reshape(x, (*before, groups, channels // groups, *after))
    y = standardize(grouped, [axis for axis in range(1, grouped.rank) if axis != channel_axis], epsilon)
    return scale_and_shift(reshape(y, x.shape), scale, bias, channel_axis)


# --- without parameters -------------------------------------------------------


@tensor_operator(
    examples=[example((2, 3), axis=[0]), example((2, 2, 2), axis=[0, 2])],
    onnx=Onnx("MeanVarianceNormalization", axis=Attribute("axes", (0, 2, 3)), epsilon=Fixed(1e-9), since=9),
)  # fmt: skip
def mean_variance_norm(x: Tensor, axis: Axes = None, epsilon: Least0 = 1e-9) -> Any:
    """(x - mean) / sqrt(variance + epsilon), over some axes, or all."""
    return standardize(x, canonicalize_axes(axis, x.rank), epsilon)


@tensor_operator(
    domain=(0.2, 1.8), examples=[example((2, 3)), example((3, 2), axis=0, p=1)],
    onnx=Onnx("LpNormalization", axis=Attribute("axis", -1), p=Attribute("p", 2)),
)  # fmt: skip
def lp_norm(x: Tensor, axis: Axis = -1, p: Annotated[int, one_of(1, 2)] = 2) -> Any:
    """x over its norm along an axis: the sum of magnitudes, or the root of the sum of squares; 0 where that is 0."""
    axes = [canonicalize_axis(axis, x.rank)]
    total = broadcast(reductions_api.sum(magnitude(x) if p == 1 else square(x), axes, True), x.shape)
    return map_entries(lambda x, t: where(t, x / (t if p == 1 else sqrt(t)), 0.0), x, total)


@tensor_operator(
    examples=[example((1, 2, 5), size=3), example((1, 4, 2), size=2, data_format="NCHW", alpha=0.5)],
    onnx=Onnx("LRN", size=Attribute("size"), alpha=Attribute("alpha", 1e-4), beta=Attribute("beta", 0.75),
              bias=Attribute("bias", 1.0), data_format=Fixed("NCHW")),
)  # fmt: skip
def local_response_norm(
    x: Tensor, size: Size, alpha: float = 1e-4, beta: float = 0.75, bias: float = 1.0, data_format: Layout = "NHWC"
) -> Any:
    """x / (bias + alpha / size * sum of squares over the neighbouring channels)**beta. Source: Krizhevsky, 2012."""
    channel_axis = find_channel_axis(x, data_format, 2)
    neighbours = gather_axis(square(x), channel_axis, (x.shape[channel_axis], size), (1, 1), -((size - 1) // 2))
    squares = reductions_api.sum(neighbours, channel_axis + 1)
    return map_entries(lambda x, s: x * pow(bias + alpha / size * s, -beta), x, squares)


@tensor_operator(
    examples=[example((2, 3), (2, 3), rate=0.25), example((3,)), example((2,), (2,), rate=1.0)],
    onnx=Onnx("Dropout", operands=[0], rate=(Attribute("ratio", 0.5, until=11), Input(1, 0.5, to_scalar, since=12)),
              harmless=("seed",)),
)  # fmt: skip
def dropout(x: Tensor, mask: Maybe = None, rate: Rate = 0.5) -> Any:
    """x * mask / (1 - rate): what a mask of 0 and 1 keeps, scaled so that the mean stays; without a mask, x.

    The mask is given, so the result is a function of its operands. Rate 1 keeps nothing. Source: Srivastava, 2014.
    """
    if mask is None:
        return x
    if mask.shape != x.shape:
        raise ShapeError(f"mask of shape {mask.shape} needs a 0 or 1 for each entry of {x.shape}.")
    return x * mask * (1.0 / (1.0 - rate) if rate < 1.0 else 0.0)
