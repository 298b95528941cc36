"""Import of GridSample: interpolate an image or volume at coordinates that are a tensor."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from itertools import product
from operator import add, mul
from typing import Any

from ...core.catalogue import floor, less, maximum, minimum, mod, where
from ...core.compositions import round
from ...errors import ImportAttributeError
from ...tensor import arithmetic, slicing
from ...tensor.operators.families import map_entries
from ...tensor.operators.table import TABLE
from .import_graph import OnnxBuilder, import_rule
from .import_rules import attributes_of
from .resize import cubic_far, cubic_near
from .steps import OnnxStep

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
    weights = (
        cubic_far(CUBIC, way + 1.0),
        cubic_near(CUBIC, way),
        cubic_near(CUBIC, 1.0 - way),
        cubic_far(CUBIC, 2.0 - way),
    )
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
