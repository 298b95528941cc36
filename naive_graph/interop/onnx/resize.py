"""Resize and Upsample: along each axis an entry is a weighted sum of neighbours, gathered at constant places."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import ceil, floor
from typing import Any, NamedTuple

import numpy as np

from ...errors import ImportAttributeError
from ...tensor.base import TensorNode
from ...tensor.operators.table import TABLE
from .import_graph import OnnxBuilder, import_rule
from .import_rules import attributes_of
from .steps import Application

USUAL = {
    "mode": "nearest", "coordinate_transformation_mode": "half_pixel", "nearest_mode": "round_prefer_floor",
    "cubic_coeff_a": -0.75, "exclude_outside": 0, "extrapolation_value": 0.0, "antialias": 0, "axes": None,
    "keep_aspect_ratio_policy": "stretch",
}  # fmt: skip
BEFORE = {"coordinate_transformation_mode": "asymmetric", "nearest_mode": "floor"}  # opset 11


class Axis(NamedTuple):
    """One resized axis: extent before and after, scale, and the part (start, end) that tf_crop_and_resize takes."""

    before: int
    after: int
    scale: float
    part: tuple[float, float]


# Where an entry lies in the old axis.
PLACES: dict[str, Callable[[Any, Axis], Any]] = {
    "half_pixel": lambda at, axis: (at + 0.5) / axis.scale - 0.5,
    "pytorch_half_pixel": lambda at, axis: (at + 0.5) / axis.scale - 0.5 if axis.after > 1 else at * 0.0 - 0.5,
    "asymmetric": lambda at, axis: at / axis.scale,
    "align_corners": lambda at, axis: at * _per_step(axis),
    "half_pixel_symmetric": lambda at, axis: (
        axis.before / 2 * (1.0 - axis.after / (axis.scale * axis.before)) + (at + 0.5) / axis.scale - 0.5
    ),
    "tf_crop_and_resize": lambda at, axis: (
        axis.part[0] * (axis.before - 1) + at * (axis.part[1] - axis.part[0]) * _per_step(axis) if axis.after > 1
        else at + sum(axis.part) * (axis.before - 1) / 2
    ),
}  # fmt: skip
# Whether the later of two neighbours is nearer, by how far behind the earlier one an entry lies.
NEARER: dict[str, Callable[[Any], Any]] = {
    "round_prefer_floor": lambda way: way > 0.5, "round_prefer_ceil": lambda way: way >= 0.5,
    "floor": lambda way: way >= 1.0, "ceil": lambda way: way >= 0.0,
}  # fmt: skip


def _per_step(axis: Axis) -> float:
    wide = axis.scale * axis.before
    return (axis.before - 1) / (wide - 1) if wide != 1 else 0.0


def _straight(way: Any, said: Mapping[str, Any]) -> Any:
    return np.clip(1.0 - abs(way), 0.0, None)


def _cubic(way: Any, said: Mapping[str, Any]) -> Any:
    a, way = said["cubic_coeff_a"], abs(way)
    return np.where(way <= 1.0, near(a, way), np.where(way < 2.0, far(a, way), 0.0))


def near(a: float, way: Any) -> Any:
    """Cubic convolution kernel at distances up to 1."""
    return ((a + 2.0) * way - (a + 3.0)) * way * way + 1.0


def far(a: float, way: Any) -> Any:
    """Cubic convolution kernel at distances from 1 to 2."""
    return ((a * way - 5.0 * a) * way + 8.0 * a) * way - 4.0 * a


REACH = {"linear": (1, _straight), "cubic": (2, _cubic)}


@import_rule("Resize", "Upsample")
def resize(builder: OnnxBuilder, step: Application) -> Sequence[Any]:
    x, old = builder.operand(step, 0), step.op == "Upsample" or step.opset < 11
    said = {**USUAL, **(BEFORE if old else {}), **attributes_of(step)}
    known = [builder.known_array(step, place) for place in range(1, len(step.inputs))]
    choices = {"mode": ("nearest", *REACH), "coordinate_transformation_mode": PLACES, "nearest_mode": NEARER,
               "keep_aspect_ratio_policy": ("stretch", "not_larger", "not_smaller")}  # fmt: skip
    for name, some in choices.items():
        if said[name] not in some:
            raise ImportAttributeError(step.label, name, said[name], f"There are {', '.join(some)}.")
    scales, sizes = ([said["scales"] if "scales" in said else known[0]], []) if old else (known[1:2], known[2:3])
    part, outside = None if old else known[0], np.zeros((), bool)
    for at, axis in _axes(x, scales, sizes, part, said).items():
        if axis.before == axis.after and axis.scale == 1.0 and axis.part == (0.0, 1.0):
            continue
        x, beyond = _resize_axis(x, at, axis, said, f"{step.name}/axis_{at}")
        outside = outside | beyond.reshape([-1 if each == at else 1 for each in range(x.rank)])
    if said["coordinate_transformation_mode"] == "tf_crop_and_resize" and outside.any():
        x = TABLE["where"](np.broadcast_to(outside, x.shape).astype(float), said["extrapolation_value"], x)
    return [TABLE["identity"](x, name=step.name)]


def _axes(
    x: TensorNode, scales: Sequence[Any], sizes: Sequence[Any], part: Any, said: Mapping[str, Any]
) -> dict[int, Axis]:
    """Return the resized axes by position."""
    named = range(x.rank) if said["axes"] is None else [each % x.rank for each in said["axes"]]
    extents = [x.shape[at] for at in named]
    if sizes and sizes[0] is not None and np.size(sizes[0]):
        after = [int(each) for each in sizes[0]]
        by = [new / old for new, old in zip(after, extents)]
        if said["keep_aspect_ratio_policy"] != "stretch":
            one = (min if said["keep_aspect_ratio_policy"] == "not_larger" else max)(by)
            by, after = [one] * len(by), [floor(one * each + 0.5) for each in extents]
    else:
        by = [float(each) for each in scales[0]]
        after = [floor(scale * each) for scale, each in zip(by, extents)]
    parts = [(0.0, 1.0)] * len(by) if part is None or not np.size(part) else zip(part[: len(by)], part[len(by) :])
    return {at: Axis(*each) for at, *each in zip(named, extents, after, by, parts)}  # type: ignore[arg-type]


def _resize_axis(x: TensorNode, at: int, axis: Axis, said: Mapping[str, Any], name: str) -> tuple[Any, Any]:
    """Resize along one axis; also return which new entries lie outside the old axis."""
    spots = PLACES[said["coordinate_transformation_mode"]](np.arange(float(axis.after)), axis)
    beyond = (spots < 0) | (spots > axis.before - 1)
    low = np.ceil(spots).astype(int) - 1  # the neighbour before, of a whole place the one before that
    if said["mode"] == "nearest":
        taps = [(low + NEARER[said["nearest_mode"]](spots - low), None)]
    else:
        taps = _weighted_taps(spots, low, axis, said)
    found: Any = None
    for tap, (place, weight) in enumerate(taps):
        one = TABLE["gather"](x, np.clip(place, 0, axis.before - 1), axis=at, name=f"{name}/gather_{tap}")
        if weight is not None:
            one = one * weight.reshape([-1 if each == at else 1 for each in range(x.rank)])
        found = one if found is None else found + one
    return found, beyond


def _weighted_taps(spots: Any, low: Any, axis: Axis, said: Mapping[str, Any]) -> list[tuple[Any, Any]]:
    """Neighbours of each new entry, and their weights."""
    reach, kernel = REACH[said["mode"]]
    wide = min(axis.scale, 1.0) if said["antialias"] else 1.0
    count = ceil(reach / wide)
    places = [low + 1 + each for each in range(-count, count)]
    weights = np.array([kernel((each - spots) * wide, said) for each in places])
    if said["exclude_outside"]:
        weights = np.where([(each >= 0) & (each < axis.before) for each in places], weights, 0.0)
    if said["exclude_outside"] or said["antialias"]:
        weights = weights / weights.sum(0)
    return list(zip(places, weights))
