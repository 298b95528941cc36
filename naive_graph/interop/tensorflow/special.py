"""Operators that are no row: constants, inputs, shapes, casts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...core.catalogue import held
from ...errors import ImportAttributeError, ImportModelError
from ...tensor.base import TensorNode, size_of
from ...tensor.operators.table import TABLE
from ..network import InputLeaf
from .building import KnownArray, TensorFlowBuilder, label, special
from .steps import PASSED, GraphStep
from .values import MOST_REPEATED, Type, dtype


@special("Const")
def _const(builder: TensorFlowBuilder, step: GraphStep) -> Sequence[Any]:
    if step.name not in builder.weights:
        return [KnownArray(step.name, builder.constants[step.name])]
    leaf = builder.weights[step.name]
    return [KnownArray(step.name, leaf._value, leaf)]


@special("Placeholder")
def _placeholder(builder: TensorFlowBuilder, step: GraphStep) -> Sequence[Any]:
    builder.count(builder.shapes[step.name], label(step))
    kind = dtype(step.attributes.get("dtype", Type(1)), label(step))
    leaf = builder.inputs[step.name] = InputLeaf(tuple(builder.shapes[step.name]), step.name, kind)
    if kind.kind != "f":
        builder.whole.add(leaf)
    return [leaf]


@special("NoOp", "Assert")
def _nothing(builder: TensorFlowBuilder, step: GraphStep) -> Sequence[Any]:
    return []


@special(PASSED, "IdentityN")
def _passed(builder: TensorFlowBuilder, step: GraphStep) -> Sequence[Any]:
    return [builder.input(step, place) for place in range(len(step.inputs))]


@special("Identity", "Snapshot", "PlaceholderWithDefault")
def _identity(builder: TensorFlowBuilder, step: GraphStep) -> Sequence[Any]:
    value = builder.input(step, 0)
    return [value] if isinstance(value, KnownArray) else builder.applied(step, TABLE["identity"], {"x": value})


# --- shapes -------------------------------------------------------------------


def _constant(step: GraphStep, value: Any, attribute: str = "", kind: Any = np.int32) -> KnownArray:
    """A constant of the type that an attribute says."""
    given = step.attributes.get(attribute)
    return KnownArray(step.name, np.asarray(value, dtype(given, label(step), attribute) if given else kind))


def shape_of(value: Any) -> Any:
    return value.array.shape if isinstance(value, KnownArray) else value.shape


@special("Shape", "ShapeN")
def _shape(builder: TensorFlowBuilder, step: GraphStep) -> Sequence[Any]:
    return [_constant(step, shape_of(builder.input(step, at)), "out_type") for at in range(len(step.inputs))]


@special("Size")
def _size(builder: TensorFlowBuilder, step: GraphStep) -> Sequence[Any]:
    return [_constant(step, size_of(shape_of(builder.input(step, 0))), "out_type")]


@special("Rank")
def _rank(builder: TensorFlowBuilder, step: GraphStep) -> Sequence[Any]:
    return [_constant(step, len(shape_of(builder.input(step, 0))))]


@special("Fill", "ZerosLike", "OnesLike")
def _fill(builder: TensorFlowBuilder, step: GraphStep) -> Sequence[Any]:
    if step.op == "Fill":
        shape, value = builder.known(step, 0).ravel().tolist(), builder.known(step, 1).reshape(())
    else:
        given = builder.input(step, 0)
        kind = given.array.dtype if isinstance(given, KnownArray) else np.float64
        shape, value = shape_of(given), np.asarray(float(step.op == "OnesLike"), kind)
    if min(shape, default=0) < 0 or size_of(shape) > MOST_REPEATED:
        raise ImportModelError(f"{label(step)} fills the shape {tuple(shape)}: more than {MOST_REPEATED:,} entries.")
    return [KnownArray(step.name, np.broadcast_to(value, shape))]


@special("Range")
def _range(builder: TensorFlowBuilder, step: GraphStep) -> Sequence[Any]:
    start, limit, delta = (builder.known(step, at).reshape(()) for at in range(3))
    if not delta or not (abs((float(limit) - float(start)) / float(delta)) <= MOST_REPEATED):
        raise ImportModelError(
            f"{label(step)}: {start} to {limit} by {delta} is no range of {MOST_REPEATED:,} or fewer."
        )
    return [KnownArray(step.name, np.arange(start.item(), limit.item(), delta.item()).astype(start.dtype))]


@special("FloorDiv", "FloorMod", "Mod")
def _divided(builder: TensorFlowBuilder, step: GraphStep) -> Sequence[Any]:
    if step.op != "FloorDiv" and any(isinstance(builder.input(step, at), TensorNode) for at in (0, 1)):
        row = TABLE["mod" if step.op == "FloorMod" else "fmod"]
        return builder.applied(step, row, {"a": builder.input(step, 0), "b": builder.input(step, 1)})
    a, b = builder.known(step, 0), builder.known(step, 1)
    if not b.all() or a.size > 1 < b.size:
        raise ImportModelError(f"{label(step)} divides {a.shape} by {b.shape}, or by 0. It is for shapes.")
    with np.errstate(all="ignore"):
        return [KnownArray(step.name, {"FloorDiv": np.floor_divide, "FloorMod": np.mod, "Mod": np.fmod}[step.op](a, b))]


# --- types --------------------------------------------------------------------


@special("Cast")
def _cast(builder: TensorFlowBuilder, step: GraphStep) -> Sequence[Any]:
    kind = dtype(step.attributes.get("DstT"), label(step), "DstT")
    value = builder.input(step, 0)
    if isinstance(value, KnownArray):
        with np.errstate(all="ignore"):
            return [value if value.learned and kind.kind == "f" else KnownArray(step.name, value.array.astype(kind))]
    if kind.kind != "f" and value not in builder.whole:
        if kind.kind != "b":
            raise ImportAttributeError(label(step), "DstT", step.attributes["DstT"], "It would round.")
        return builder.applied(step, TABLE["not_equal"], {"a": value, "b": KnownArray(step.name, np.zeros(()))})
    (made,) = builder.applied(step, TABLE["identity"], {"x": value})
    if kind.kind == "f":
        builder.whole.discard(made)
    return [made]


@special("Div")
def _div(builder: TensorFlowBuilder, step: GraphStep) -> Sequence[Any]:
    values = [builder.input(step, place) for place in range(len(step.inputs))]
    if any(each in builder.whole for each in values if isinstance(each, TensorNode)):
        raise ImportModelError(f"{label(step)} divides whole numbers that are found at run time, which would round.")
    return builder.by_row(step)


@special("StopGradient")
def _held(builder: TensorFlowBuilder, step: GraphStep) -> Sequence[Any]:
    node: Any = held(builder.operand(step, 0))
    node.name = step.name
    return [node]
