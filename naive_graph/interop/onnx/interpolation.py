"""Import of the ONNX operators Resize, Upsample and GridSample: each new entry is a weighted sum of old entries.

A new entry has a position in the old image, which need not be a whole number. At position 2.3 of an axis,
linear interpolation takes 0.7 times entry 2 plus 0.3 times entry 3; each such pair (indices, weights) is a *tap*.
The mode "nearest" has a single tap without a weight.

Resize and Upsample treat one axis after the other; positions, indices and weights are constants. For GridSample
the positions are a tensor that the network computes, so indices and weights are tensors too.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import reduce
from itertools import product
from operator import add, mul
from typing import Any, NamedTuple

import numpy as np

from ...core.catalogue import floor, less, maximum, minimum, mod, where
from ...core.compositions import round
from ...errors import ImportAttributeError
from ...tensor import arithmetic, slicing
from ...tensor.base import TensorNode
from ...tensor.operators.families import map_entries
from ...tensor.operators.table import TABLE
from .import_graph import OnnxBuilder, attributes_of, import_rule
from .steps import OnnxStep

# --- Resize and Upsample ---

DEFAULTS = {  # attributes of Resize that a step leaves out
    "mode": "nearest", "coordinate_transformation_mode": "half_pixel", "nearest_mode": "round_prefer_floor",
    "cubic_coeff_a": -0.75, "exclude_outside": 0, "extrapolation_value": 0.0, "antialias": 0, "axes": None,
    "keep_aspect_ratio_policy": "stretch",
}  # fmt: skip
# Other defaults of Upsample, and of Resize before opset 11.
OLD_DEFAULTS = {"coordinate_transformation_mode": "asymmetric", "nearest_mode": "floor"}


class Axis(NamedTuple):
    """One resized axis. crop: the part of it that tf_crop_and_resize takes, (0, 1) being all."""

    old_extent: int
    new_extent: int
    scale: float
    crop: tuple[float, float]


# Coordinate transformations: from the index of a new entry to its position in the old axis.
TO_OLD_POSITION: dict[str, Callable[[Any, Axis], Any]] = {
    "half_pixel": lambda index, axis: (index + 0.5) / axis.scale - 0.5,
    "pytorch_half_pixel": lambda index, axis: (
        (index + 0.5) / axis.scale - 0.5 if axis.new_extent > 1 else index * 0.0 - 0.5
    ),
    "asymmetric": lambda index, axis: index / axis.scale,
    "align_corners": lambda index, axis: index * _aligned_step(axis),
    "half_pixel_symmetric": lambda index, axis: (
        axis.old_extent / 2 * (1.0 - axis.new_extent / (axis.scale * axis.old_extent))
        + (index + 0.5) / axis.scale - 0.5
    ),
    "tf_crop_and_resize": lambda index, axis: (
        axis.crop[0] * (axis.old_extent - 1) + index * (axis.crop[1] - axis.crop[0]) * _aligned_step(axis)
        if axis.new_extent > 1
        else index + sum(axis.crop) * (axis.old_extent - 1) / 2
    ),
}  # fmt: skip
# Nearest modes: whether to take the later of two neighbours, by the distance from the earlier one (above 0, up to 1).
TAKES_LATER: dict[str, Callable[[Any], Any]] = {
    "round_prefer_floor": lambda distance: distance > 0.5, "round_prefer_ceil": lambda distance: distance >= 0.5,
    "floor": lambda distance: distance >= 1.0, "ceil": lambda distance: distance >= 0.0,
}  # fmt: skip


def _aligned_step(axis: Axis) -> float:
    """The distance in the old axis between two new entries, if the first and the last entries are aligned."""
    resized_extent = axis.scale * axis.old_extent
    return (axis.old_extent - 1) / (resized_extent - 1) if resized_extent != 1 else 0.0


def _cubic_kernel(offset: Any, options: Mapping[str, Any]) -> Any:
    a, distance = options["cubic_coeff_a"], abs(offset)
    return np.where(distance <= 1.0, cubic_near(a, distance), np.where(distance < 2.0, cubic_far(a, distance), 0.0))


def cubic_near(a: float, distance: Any) -> Any:
    """Cubic convolution kernel at distances up to 1."""
    return ((a + 2.0) * distance - (a + 3.0)) * distance * distance + 1.0


def cubic_far(a: float, distance: Any) -> Any:
    """Cubic convolution kernel at distances from 1 to 2."""
    return ((a * distance - 5.0 * a) * distance + 8.0 * a) * distance - 4.0 * a


# Mode -> (distance at which the kernel becomes 0, kernel: weight of a neighbour by its offset from the position).
KERNELS: dict[str, tuple[int, Callable[..., Any]]] = {
    "linear": (1, lambda offset, options: np.clip(1.0 - abs(offset), 0.0, None)), "cubic": (2, _cubic_kernel),
}  # fmt: skip


@import_rule("Resize", "Upsample")
def resize(builder: OnnxBuilder, step: OnnxStep) -> Sequence[Any]:
    """Resize x axis by axis. Inputs: x, roi (the crop), scales, sizes; before opset 11 only x and scales."""
    x, is_old = builder.operand(step, 0), step.op == "Upsample" or step.opset < 11
    options = {**DEFAULTS, **(OLD_DEFAULTS if is_old else {}), **attributes_of(step)}
    crop, scales, sizes = (builder.known_array(step, position) for position in (1, 2, 3))
    choices = {"mode": ("nearest", *KERNELS), "coordinate_transformation_mode": TO_OLD_POSITION,
               "nearest_mode": TAKES_LATER,
               "keep_aspect_ratio_policy": ("stretch", "not_larger", "not_smaller")}  # fmt: skip
    _check_choices(step, options, choices)
    if is_old:
        crop, scales, sizes = None, options.get("scales") or crop, None
    is_outside = np.zeros((), bool)
    for position, axis in _resized_axes(x, scales, sizes, crop, options).items():
        if axis.old_extent == axis.new_extent and axis.scale == 1.0 and axis.crop == (0.0, 1.0):
            continue  # it stays as it is
        x, beyond = _resize_axis(x, position, axis, options, f"{step.name}/axis_{position}")
        is_outside = is_outside | beyond.reshape([-1 if dim == position else 1 for dim in range(x.rank)])
    if options["coordinate_transformation_mode"] == "tf_crop_and_resize" and is_outside.any():
        x = TABLE["where"](np.broadcast_to(is_outside, x.shape).astype(float), options["extrapolation_value"], x)
    return [TABLE["identity"](x, name=step.name)]


def _check_choices(step: OnnxStep, options: Mapping[str, Any], choices: Mapping[str, Collection[str]]) -> None:
    """Raise ImportAttributeError for an option that is none of its choices."""
    for name, allowed in choices.items():
        if options[name] not in allowed:
            raise ImportAttributeError(step.label, name, options[name], f"There are {', '.join(allowed)}.")


def _resized_axes(x: TensorNode, scales: Any, sizes: Any, crop: Any, options: Mapping[str, Any]) -> dict[int, Axis]:
    """The axes named by the attribute `axes` (all by default), by position; the new extents come from sizes or scales.

    crop: the starts of all these axes, then their ends. Each of these arrays may be None.
    """
    positions = range(x.rank) if options["axes"] is None else [axis % x.rank for axis in options["axes"]]
    old_extents = [x.shape[position] for position in positions]
    if sizes is not None and np.size(sizes):
        new_extents = [int(size) for size in sizes]
        factors = [new / old for new, old in zip(new_extents, old_extents)]
        if options["keep_aspect_ratio_policy"] != "stretch":
            choose = min if options["keep_aspect_ratio_policy"] == "not_larger" else max
            common_factor = choose(factors)
            factors = [common_factor] * len(factors)
            new_extents = [math.floor(common_factor * extent + 0.5) for extent in old_extents]
    else:
        factors = [float(scale) for scale in scales]
        new_extents = [math.floor(scale * extent) for scale, extent in zip(factors, old_extents)]
    crops = [(0.0, 1.0)] * len(factors)
    if crop is not None and np.size(crop):
        crops = [*zip(crop[: len(factors)], crop[len(factors) :])]
    axes = [Axis(*fields) for fields in zip(old_extents, new_extents, factors, crops)]
    return dict(zip(positions, axes))


def _resize_axis(x: TensorNode, position: int, axis: Axis, options: Mapping[str, Any], name: str) -> tuple[Any, Any]:
    """Resize along one axis; also return which new entries lie outside the old axis."""
    positions = TO_OLD_POSITION[options["coordinate_transformation_mode"]](np.arange(float(axis.new_extent)), axis)
    is_outside = (positions < 0) | (positions > axis.old_extent - 1)
    low = np.ceil(positions).astype(int) - 1  # the neighbour strictly before the position
    if options["mode"] == "nearest":
        taps = [(low + TAKES_LATER[options["nearest_mode"]](positions - low), None)]
    else:
        taps = _weighted_taps(positions, low, axis, options)
    result: Any = None
    for tap, (index, weight) in enumerate(taps):
        term = TABLE["gather"](x, np.clip(index, 0, axis.old_extent - 1), axis=position, name=f"{name}/gather_{tap}")
        if weight is not None:
            term = term * weight.reshape([-1 if dim == position else 1 for dim in range(x.rank)])
        result = term if result is None else result + term
    return result, is_outside


def _weighted_taps(positions: Any, low: Any, axis: Axis, options: Mapping[str, Any]) -> list[tuple[Any, Any]]:
    """Neighbours of each new entry, and their weights.

    positions: of the new entries in the old axis; low: the index before each. With `antialias` an axis that
    shrinks gets a kernel wider by 1 / scale, so that every old entry has a share in the result.
    """
    reach, kernel = KERNELS[options["mode"]]
    shrinkage = min(axis.scale, 1.0) if options["antialias"] else 1.0
    count = math.ceil(reach / shrinkage)  # of neighbours on each side
    neighbours = [low + 1 + offset for offset in range(-count, count)]
    weights = np.array([kernel((neighbour - positions) * shrinkage, options) for neighbour in neighbours])
    if options["exclude_outside"]:
        weights = np.where([(neighbour >= 0) & (neighbour < axis.old_extent) for neighbour in neighbours], weights, 0.0)
    if options["exclude_outside"] or options["antialias"]:
        weights = weights / weights.sum(0)
    return list(zip(neighbours, weights))


# --- GridSample ---

CUBIC = -0.75  # the coefficient a of the cubic kernel
Tap = tuple[Any, Any]  # positions along an axis (or, after _clamp_tap, offsets), and their weights (None: 1)


@import_rule("GridSample")
def grid_sample(builder: OnnxBuilder, step: OnnxStep) -> Sequence[Any]:
    """Sum over all combinations of a tap per axis: the entry at the sum of their offsets, times their weights."""
    x, grid = builder.operand(step, 0), builder.operand(step, 1)
    options = {"mode": "linear", "padding_mode": "zeros", "align_corners": 0, **attributes_of(step)}
    _check_choices(step, options, {"mode": TAPS, "padding_mode": ("zeros", "border", "reflection")})
    axes, flat, stride = [], slicing.reshape(x, (*x.shape[:2], -1)), 1
    for index, extent in enumerate(reversed(x.shape[2:])):  # the grid names columns first
        coordinates = slicing.index_axis(grid, grid.rank - 1, index)
        axes.append([_clamp_tap(tap, extent, stride, options) for tap in _taps(coordinates, extent, options)])
        stride *= extent
    terms = []
    for taps in product(*axes):
        samples = TABLE["gather"](flat, reduce(add, [offset for offset, _ in taps]), axis=2, batch_dims=1)
        weights = [weight for _, weight in taps if weight is not None]
        terms.append(samples * arithmetic.expand_dims(reduce(mul, weights), 1) if weights else samples)
    return [TABLE["identity"](reduce(add, terms), name=step.name)]


def _taps(coordinates: Any, extent: int, options: dict[str, Any]) -> list[Tap]:
    """The interpolation taps along an axis, for coordinates from -1 to 1."""
    half, first = ((extent - 1) / 2, 0.0) if options["align_corners"] else (extent / 2, -0.5)
    return TAPS[options["mode"]](map_entries(lambda a: (a + 1.0) * half + first, coordinates))


def _linear_taps(position: Any) -> list[Tap]:
    low = floor(position)
    return [(low, 1.0 - (position - low)), (low + 1.0, position - low)]


def _cubic_taps(position: Any) -> list[Tap]:
    low = floor(position)
    distance = position - low
    near = cubic_near(CUBIC, distance), cubic_near(CUBIC, 1.0 - distance)
    weights = cubic_far(CUBIC, distance + 1.0), *near, cubic_far(CUBIC, 2.0 - distance)
    return [(low + float(step), weight) for step, weight in zip(range(-1, 3), weights)]


TAPS: dict[str, Callable[[Any], list[Tap]]] = {
    "bilinear": _linear_taps, "bicubic": _cubic_taps, "linear": _linear_taps, "cubic": _cubic_taps,
    "nearest": lambda position: [(round(position), None)],
}  # fmt: skip


def _clamp_tap(tap: Tap, extent: int, stride: int, options: dict[str, Any]) -> Tap:
    """Apply the padding mode to a tap; returns its offset in the flattened image, and its weight.

    stride: of the axis in the flattened image. Padding with zeros sets the weight to 0 outside; reflection and
    border move the position inside.
    """
    position, weight = tap
    last, low = extent - 1.0, 0.0 if options["align_corners"] else -0.5
    if options["padding_mode"] == "zeros":
        inside = map_entries(lambda p: where(less(p, 0.0), 0.0, where(less(last, p), 0.0, 1.0)), position)
        weight = inside if weight is None else weight * inside
    elif options["padding_mode"] == "reflection":
        width = max(last - 2.0 * low, 1.0)
        wrapped = map_entries(lambda p: mod(p - low, 2.0 * width), position)
        position = map_entries(lambda b: where(less(width, b), 2.0 * width - b, b) + low, wrapped)
    return map_entries(lambda p: minimum(maximum(p, 0.0), last) * float(stride), position), weight
