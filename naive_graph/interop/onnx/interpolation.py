"""Import of Resize, Upsample and GridSample: weighted sums of neighbours.

Resize gathers them along each axis at constant indices, GridSample at coordinates that are a tensor.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
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

USUAL = {
    "mode": "nearest", "coordinate_transformation_mode": "half_pixel", "nearest_mode": "round_prefer_floor",
    "cubic_coeff_a": -0.75, "exclude_outside": 0, "extrapolation_value": 0.0, "antialias": 0, "axes": None,
    "keep_aspect_ratio_policy": "stretch",
}  # fmt: skip
BEFORE = {"coordinate_transformation_mode": "asymmetric", "nearest_mode": "floor"}  # before opset 11


class Axis(NamedTuple):
    """One resized axis: extent before and after, scale, and the part (start, end) that tf_crop_and_resize takes."""

    before: int
    after: int
    scale: float
    part: tuple[float, float]


# Coordinate transformations: the position of a new entry in the old axis.
PLACES: dict[str, Callable[[Any, Axis], Any]] = {
    "half_pixel": lambda index, axis: (index + 0.5) / axis.scale - 0.5,
    "pytorch_half_pixel": lambda index, axis: (index + 0.5) / axis.scale - 0.5 if axis.after > 1 else index * 0.0 - 0.5,
    "asymmetric": lambda index, axis: index / axis.scale,
    "align_corners": lambda index, axis: index * _per_step(axis),
    "half_pixel_symmetric": lambda index, axis: (
        axis.before / 2 * (1.0 - axis.after / (axis.scale * axis.before)) + (index + 0.5) / axis.scale - 0.5
    ),
    "tf_crop_and_resize": lambda index, axis: (
        axis.part[0] * (axis.before - 1) + index * (axis.part[1] - axis.part[0]) * _per_step(axis) if axis.after > 1
        else index + sum(axis.part) * (axis.before - 1) / 2
    ),
}  # fmt: skip
# Nearest modes: whether to take the later of two neighbours, by the distance from the earlier one.
NEARER: dict[str, Callable[[Any], Any]] = {
    "round_prefer_floor": lambda way: way > 0.5, "round_prefer_ceil": lambda way: way >= 0.5,
    "floor": lambda way: way >= 1.0, "ceil": lambda way: way >= 0.0,
}  # fmt: skip


def _per_step(axis: Axis) -> float:
    wide = axis.scale * axis.before
    return (axis.before - 1) / (wide - 1) if wide != 1 else 0.0


def _linear_kernel(way: Any, options: Mapping[str, Any]) -> Any:
    return np.clip(1.0 - abs(way), 0.0, None)


def _cubic_kernel(way: Any, options: Mapping[str, Any]) -> Any:
    a, way = options["cubic_coeff_a"], abs(way)
    return np.where(way <= 1.0, cubic_near(a, way), np.where(way < 2.0, cubic_far(a, way), 0.0))


def cubic_near(a: float, way: Any) -> Any:
    """Cubic convolution kernel at distances up to 1."""
    return ((a + 2.0) * way - (a + 3.0)) * way * way + 1.0


def cubic_far(a: float, way: Any) -> Any:
    """Cubic convolution kernel at distances from 1 to 2."""
    return ((a * way - 5.0 * a) * way + 8.0 * a) * way - 4.0 * a


REACH = {"linear": (1, _linear_kernel), "cubic": (2, _cubic_kernel)}


@import_rule("Resize", "Upsample")
def resize(builder: OnnxBuilder, step: OnnxStep) -> Sequence[Any]:
    x, old = builder.operand(step, 0), step.op == "Upsample" or step.opset < 11
    options = {**USUAL, **(BEFORE if old else {}), **attributes_of(step)}
    arrays = [builder.known_array(step, index) for index in range(1, len(step.inputs))]
    choices = {"mode": ("nearest", *REACH), "coordinate_transformation_mode": PLACES, "nearest_mode": NEARER,
               "keep_aspect_ratio_policy": ("stretch", "not_larger", "not_smaller")}  # fmt: skip
    for name, some in choices.items():
        if options[name] not in some:
            raise ImportAttributeError(step.label, name, options[name], f"There are {', '.join(some)}.")
    scales, sizes = arrays[1:2], arrays[2:3]
    if old:
        scales, sizes = [options.get("scales") or arrays[0]], []
    crop, is_outside = None if old else arrays[0], np.zeros((), bool)
    for position, axis in _resized_axes(x, scales, sizes, crop, options).items():
        if axis.before == axis.after and axis.scale == 1.0 and axis.part == (0.0, 1.0):
            continue
        x, beyond = _resize_axis(x, position, axis, options, f"{step.name}/axis_{position}")
        is_outside = is_outside | beyond.reshape([-1 if dim == position else 1 for dim in range(x.rank)])
    if options["coordinate_transformation_mode"] == "tf_crop_and_resize" and is_outside.any():
        x = TABLE["where"](np.broadcast_to(is_outside, x.shape).astype(float), options["extrapolation_value"], x)
    return [TABLE["identity"](x, name=step.name)]


def _resized_axes(
    x: TensorNode, scales: Sequence[Any], sizes: Sequence[Any], part: Any, options: Mapping[str, Any]
) -> dict[int, Axis]:
    """Return the resized axes by position."""
    named = range(x.rank) if options["axes"] is None else [axis % x.rank for axis in options["axes"]]
    extents = [x.shape[axis] for axis in named]
    if sizes and sizes[0] is not None and np.size(sizes[0]):
        after = [int(size) for size in sizes[0]]
        factors = [new / old for new, old in zip(after, extents)]
        if options["keep_aspect_ratio_policy"] != "stretch":
            one = (min if options["keep_aspect_ratio_policy"] == "not_larger" else max)(factors)
            factors, after = [one] * len(factors), [math.floor(one * extent + 0.5) for extent in extents]
    else:
        factors = [float(scale) for scale in scales[0]]
        after = [math.floor(scale * extent) for scale, extent in zip(factors, extents)]
    parts = [(0.0, 1.0)] * len(factors)
    if part is not None and np.size(part):
        parts = [*zip(part[: len(factors)], part[len(factors) :])]
    return {axis: Axis(*fields) for axis, *fields in zip(named, extents, after, factors, parts)}  # type: ignore[arg-type]


def _resize_axis(x: TensorNode, position: int, axis: Axis, options: Mapping[str, Any], name: str) -> tuple[Any, Any]:
    """Resize along one axis; also return which new entries lie outside the old axis."""
    positions = PLACES[options["coordinate_transformation_mode"]](np.arange(float(axis.after)), axis)
    is_outside = (positions < 0) | (positions > axis.before - 1)
    low = np.ceil(positions).astype(int) - 1  # the neighbour strictly before the position
    if options["mode"] == "nearest":
        taps = [(low + NEARER[options["nearest_mode"]](positions - low), None)]
    else:
        taps = _weighted_taps(positions, low, axis, options)
    result: Any = None
    for tap, (index, weight) in enumerate(taps):
        one = TABLE["gather"](x, np.clip(index, 0, axis.before - 1), axis=position, name=f"{name}/gather_{tap}")
        if weight is not None:
            one = one * weight.reshape([-1 if dim == position else 1 for dim in range(x.rank)])
        result = one if result is None else result + one
    return result, is_outside


def _weighted_taps(positions: Any, low: Any, axis: Axis, options: Mapping[str, Any]) -> list[tuple[Any, Any]]:
    """Neighbours of each new entry, and their weights."""
    reach, kernel = REACH[options["mode"]]
    wide = min(axis.scale, 1.0) if options["antialias"] else 1.0
    count = math.ceil(reach / wide)
    neighbours = [low + 1 + offset for offset in range(-count, count)]
    weights = np.array([kernel((neighbour - positions) * wide, options) for neighbour in neighbours])
    if options["exclude_outside"]:
        weights = np.where([(neighbour >= 0) & (neighbour < axis.before) for neighbour in neighbours], weights, 0.0)
    if options["exclude_outside"] or options["antialias"]:
        weights = weights / weights.sum(0)
    return list(zip(neighbours, weights))


# --- GridSample ---

CUBIC = -0.75
Tap = tuple[Any, Any]  # indices along an axis, and their weights (None: 1)


@import_rule("GridSample")
def grid_sample(builder: OnnxBuilder, step: OnnxStep) -> Sequence[Any]:
    x, grid = builder.operand(step, 0), builder.operand(step, 1)
    options = {"mode": "linear", "padding_mode": "zeros", "align_corners": 0, **attributes_of(step)}
    for name, choices in (("mode", {"bilinear": "linear", "bicubic": "cubic"} | {mode: mode for mode in TAPS}),
                       ("padding_mode", {mode: mode for mode in ("zeros", "border", "reflection")})):  # fmt: skip
        if options[name] not in choices:
            raise ImportAttributeError(step.label, name, options[name], f"There are {', '.join(choices)}.")
        options[name] = choices[options[name]]
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


def _linear_taps(spot: Any) -> list[Tap]:
    low = floor(spot)
    return [(low, 1.0 - (spot - low)), (low + 1.0, spot - low)]


def _cubic_taps(spot: Any) -> list[Tap]:
    low = floor(spot)
    way = spot - low
    near = cubic_near(CUBIC, way), cubic_near(CUBIC, 1.0 - way)
    weights = cubic_far(CUBIC, way + 1.0), *near, cubic_far(CUBIC, 2.0 - way)
    return [(low + float(step), weight) for step, weight in zip(range(-1, 3), weights)]


TAPS = {"linear": _linear_taps, "nearest": lambda spot: [(round(spot), None)], "cubic": _cubic_taps}


def _clamp_tap(tap: Tap, extent: int, stride: int, options: dict[str, Any]) -> Tap:
    """Apply the padding mode to a tap; returns its offset in the flattened image, and its weight."""
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
