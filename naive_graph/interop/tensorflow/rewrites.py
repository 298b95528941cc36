"""Rows that TensorFlow means a little otherwise: masks, classes below 0, paddings that are not centred."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...errors import ImportAttributeError, ImportModelError
from ...tensor.operators.table import TABLE
from .building import KnownArray, TensorFlowBuilder, import_rule, label, mapping_of
from .special import shape_of
from .steps import GraphStep

MOST_PARTS = 2**12  # that one tensor is taken apart into
COUNTED = {  # the attribute that says how many parts there are
    "Unpack": "num", "Split": "num_split", "SplitV": "num_split", "DynamicPartition": "num_partitions",
}  # fmt: skip


@import_rule("StridedSlice")
def _strided_slice(builder: TensorFlowBuilder, step: GraphStep) -> Sequence[Any]:
    """x[index], which the masks spell out: bit i is about place i of begin, end and steps."""
    row, mapping = mapping_of(step.op)  # type: ignore[misc]
    builder.properties(step, row, mapping)
    begin, end, steps = (builder.known(step, place).ravel().tolist() for place in (1, 2, 3))
    masks = {name: step.attributes.get(name, 0) for name in mapping.prepared}
    for name, bits in masks.items():
        if not isinstance(bits, int) or not 0 <= bits < 2 ** len(begin):
            raise ImportAttributeError(label(step), name, bits, f"Due are bits for {len(begin)} places.")
    if not len(begin) == len(end) == len(steps) or 0 in steps:
        raise ImportModelError(f"{label(step)}: {begin}, {end} and {steps} are no begins, ends and steps.")
    index: list[Any] = []
    for at, (first, last, by) in enumerate(zip(begin, end, steps)):
        bit = {name: bits >> at & 1 for name, bits in masks.items()}
        if bit["ellipsis_mask"]:
            index.append(...)
        elif bit["new_axis_mask"]:
            index.append(None)
        elif bit["shrink_axis_mask"]:
            index.append(first)
        else:
            index.append(slice(None if bit["begin_mask"] else first, None if bit["end_mask"] else last, by))
    return [_indexed(builder, step, builder.input(step, 0), index)]


def _indexed(builder: TensorFlowBuilder, step: GraphStep, value: Any, index: list[Any]) -> Any:
    """x[index]: slices, then without the axes of single places, then with new ones."""
    if isinstance(value, KnownArray) and not value.learned:
        try:
            return KnownArray(step.name, value.array[tuple(index)])
        except IndexError as error:
            raise ImportModelError(f"{label(step)}: {error}.") from None
    x = builder.node(value)
    taken = sum(each is not None and each is not ... for each in index)
    if index.count(...) > 1 or taken > x.rank:
        raise ImportModelError(f"{label(step)}: {len(index)} places are too many for a tensor of shape {x.shape}.")
    at = index.index(...) if ... in index else len(index)
    index = [*index[:at], *[slice(None)] * (x.rank - taken), *index[at + 1 :]]
    axes = [each for each in index if each is not None]
    ranges = [_places(step, part, extent) for part, extent in zip(axes, x.shape)]
    cut = {
        "begin": [each.start for each in ranges],
        "end": [each.stop if each.stop >= 0 else -extent - 1 for each, extent in zip(ranges, x.shape)],
        "steps": [each.step for each in ranges],
    }
    single = [at for at, part in enumerate(axes) if isinstance(part, int)]
    new = [at for at, part in enumerate(each for each in index if not isinstance(each, int)) if part is None]
    acts = [("slice", cut), *[("squeeze", {"axis": single})] * bool(single)]
    acts += [("expand_dims", {"axis": new})] * bool(new)
    for place, (row, properties) in enumerate(acts, 1 - len(acts)):
        own = step if not place else step._replace(name=f"{step.name}/{row}")
        (x,) = builder.applied(own, TABLE[row], {"x": x, **properties})
    return x


def _places(step: GraphStep, part: Any, extent: int) -> range:
    """The places along an axis that a number or a slice means."""
    if isinstance(part, slice):
        return range(*part.indices(extent))
    if not -extent <= part < extent:
        raise ImportModelError(f"{label(step)}: place {part} is beyond an axis of {extent}.")
    return range(part % extent, part % extent + 1)


@import_rule("Select")
def _select(builder: TensorFlowBuilder, step: GraphStep) -> Sequence[Any]:
    """where, whose condition, a vector, may be of whole slices."""
    condition = builder.operand(step, 0)
    rank = builder.operand(step, 1).rank
    if condition.rank == 1 < rank:
        own = step._replace(name=f"{step.name}/condition")
        (spread,) = builder.applied(own, TABLE["expand_dims"], {"x": condition, "axis": range(1, rank)})
        return builder.applied(
            step, TABLE["where"], {"a": spread, "b": builder.operand(step, 1), "c": builder.operand(step, 2)}
        )
    return builder.by_row(step)


@import_rule("OneHot")
def _one_hot(builder: TensorFlowBuilder, step: GraphStep) -> Sequence[Any]:
    """A class below 0 is none; our row counts it from the end."""
    row, mapping = mapping_of(step.op)  # type: ignore[misc]
    properties = builder.properties(step, row, mapping)
    value, depth = builder.input(step, 0), properties["depth"]
    if isinstance(value, KnownArray):
        x: Any = KnownArray(step.name, np.where(value.array < 0, depth, value.array))
    else:
        own = step._replace(name=f"{step.name}/classes")
        below = builder.applied(own, TABLE["less"], {"a": value, "b": KnownArray(step.name, np.zeros(()))})[0]
        own = step._replace(name=f"{step.name}/known")
        (x,) = builder.applied(
            own, TABLE["where"], {"a": below, "b": KnownArray(step.name, np.array(float(depth))), "c": value}
        )
    return builder.applied(step, row, {"x": x, **properties})


@import_rule("Conv2DBackpropInput")
def _convolved_back(builder: TensorFlowBuilder, step: GraphStep) -> Sequence[Any]:
    """Where paddings are explicit, what the result has beyond them lies at its end; our row would centre it."""
    row, mapping = mapping_of(step.op)  # type: ignore[misc]
    values = builder.operands(step, row, mapping) | builder.properties(step, row, mapping)
    if isinstance(values["padding"], tuple):
        wanted = values.pop("output_shape")
        x, w = builder.node(values["x"]), builder.node(values["w"])
        small = row.result_shape(row.bound((), values | {"x": x, "w": w}))
        sides = small[-2:] if values["data_format"] == "NCHW" else small[-3:]
        values["output_padding"] = [each - extent for each, extent in zip(wanted, sides)]
    return builder.applied(step, row, values)


@import_rule("SplitV")
def _split(builder: TensorFlowBuilder, step: GraphStep) -> Sequence[Any]:
    """One of the sizes may be -1: what the others leave."""
    row, mapping = mapping_of(step.op)  # type: ignore[misc]
    properties = builder.properties(step, row, mapping)
    x, sizes = builder.operand(step, 0), np.ravel(properties["sizes"]).tolist()
    axis = properties["axis"]
    if sizes.count(-1) == 1 and -x.rank <= axis < x.rank:
        rest = x.shape[axis] - sum(sizes) - 1
        sizes = [rest if each == -1 else each for each in sizes]
    return builder.applied(step, row, {"x": x, "axis": axis, "sizes": sizes})


@import_rule("Unpack", "Split", "DynamicPartition")
def _parts(builder: TensorFlowBuilder, step: GraphStep) -> Sequence[Any]:
    """How many results there are stands in an attribute, and is not to be enormous."""
    name = COUNTED[step.op]
    count = step.attributes.get(name)
    if type(count) is not int or not 0 < count <= MOST_PARTS:
        raise ImportAttributeError(label(step), name, count, f"Due are 1 to {MOST_PARTS:,} parts.")
    row, mapping = mapping_of(step.op)  # type: ignore[misc]
    if step.op == "Unpack":
        shape, axis = shape_of(builder.input(step, 0)), builder.properties(step, row, mapping)["axis"]
        if -len(shape) <= axis < len(shape) and shape[axis] != count:
            raise ImportAttributeError(label(step), name, count, f"The shape {shape} has other parts along {axis}.")
    return builder.by_row(step)


@import_rule("Erfc")
def _erfc(builder: TensorFlowBuilder, step: GraphStep) -> Sequence[Any]:
    own = step._replace(name=f"{step.name}/erf")
    (below,) = builder.applied(own, TABLE["erf"], {"x": builder.input(step, 0)})
    return builder.applied(step, TABLE["sub"], {"a": KnownArray(step.name, np.ones(())), "b": below})


@import_rule("TopKV2", "Cumsum")
def _pairs(builder: TensorFlowBuilder, step: GraphStep) -> Sequence[Any]:
    """Each entry meets every other one along the axis, all at once."""
    value = builder.input(step, 0)
    axis = -1 if step.op == "TopKV2" else builder.known(step, 1)
    if shape_of(value) and np.size(axis) == 1 and -len(shape_of(value)) <= int(axis) < len(shape_of(value)):
        builder.count((*shape_of(value), shape_of(value)[int(axis)]), label(step))
    return builder.by_row(step)
