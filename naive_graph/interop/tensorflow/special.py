"""Operators that are no row: constants, inputs, shapes, casts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...core.catalogue import held
from ...errors import ImportModelError
from ...tensor.base import TensorNode, size_of
from ...tensor.operators.table import TABLE
from ..network import InputLeaf
from ..weights import Weight
from .building import KnownArray, TensorFlowBuilder, import_rule, label
from .folding import FOLDED
from .steps import PASSED, GraphStep
from .values import MOST_REPEATED, Type, dtype


@import_rule("Const")
def _const(builder: TensorFlowBuilder, step: GraphStep) -> Sequence[Any]:
    if step.name not in builder.weights:
        return [KnownArray(step.name, builder.constants[step.name])]
    value = builder.weights[step.name]
    leaf = value if isinstance(value, Weight) else builder.weights.constant(step.name)
    return [KnownArray(step.name, leaf._value, leaf)]


@import_rule("Placeholder")
def _placeholder(builder: TensorFlowBuilder, step: GraphStep) -> Sequence[Any]:
    builder.count(builder.shapes[step.name], label(step))
    kind = dtype(step.attributes.get("dtype", Type(1)), label(step))
    leaf = builder.inputs[step.name] = InputLeaf(tuple(builder.shapes[step.name]), step.name, kind)
    if kind.kind != "f":
        builder.whole.add(leaf)
    return [leaf]


@import_rule("NoOp", "Assert")
def _nothing(builder: TensorFlowBuilder, step: GraphStep) -> Sequence[Any]:
    return []


@import_rule(PASSED, "IdentityN")
def _passed(builder: TensorFlowBuilder, step: GraphStep) -> Sequence[Any]:
    return [builder.input(step, place) for place in range(len(step.inputs))]


@import_rule("Identity", "Snapshot", "PlaceholderWithDefault")
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


@import_rule("Shape", "ShapeN")
def _shape(builder: TensorFlowBuilder, step: GraphStep) -> Sequence[Any]:
    return [_constant(step, shape_of(builder.input(step, at)), "out_type") for at in range(len(step.inputs))]


@import_rule("Size")
def _size(builder: TensorFlowBuilder, step: GraphStep) -> Sequence[Any]:
    return [_constant(step, size_of(shape_of(builder.input(step, 0))), "out_type")]


@import_rule("Rank")
def _rank(builder: TensorFlowBuilder, step: GraphStep) -> Sequence[Any]:
    return [_constant(step, len(shape_of(builder.input(step, 0))))]


@import_rule("Fill", "ZerosLike", "OnesLike")
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


@import_rule("Range")
def _range(builder: TensorFlowBuilder, step: GraphStep) -> Sequence[Any]:
    start, limit, delta = (builder.known(step, at).reshape(()) for at in range(3))
    if not delta or not (abs((float(limit) - float(start)) / float(delta)) <= MOST_REPEATED):
        raise ImportModelError(
            f"{label(step)}: {start} to {limit} by {delta} is no range of {MOST_REPEATED:,} or fewer."
        )
    return [KnownArray(step.name, np.arange(start.item(), limit.item(), delta.item()).astype(start.dtype))]


@import_rule("FloorDiv", "FloorMod", "Mod", "TruncateMod")
def _divided(builder: TensorFlowBuilder, step: GraphStep) -> Sequence[Any]:
    inputs = {name: builder.input(step, at) for name, at in (("a", 0), ("b", 1))}
    if any(isinstance(each, TensorNode) for each in inputs.values()):
        if step.op != "FloorDiv":
            return builder.applied(step, TABLE["mod" if step.op == "FloorMod" else "fmod"], inputs)
        a, b = map(builder.node, inputs.values())
        return builder.applied(step, TABLE["div"], {"a": TABLE["sub"](a, TABLE["mod"](a, b)), "b": b})
    a, b = builder.known(step, 0), builder.known(step, 1)
    if not b.all() or a.size > 1 < b.size:
        raise ImportModelError(f"{label(step)} divides {a.shape} by {b.shape}, or by 0. It is for shapes.")
    divide = {"FloorDiv": np.floor_divide, "FloorMod": np.mod}.get(step.op, np.fmod)
    with np.errstate(all="ignore"):
        return [KnownArray(step.name, divide(a, b))]


# --- types --------------------------------------------------------------------


@import_rule("Cast")
def _cast(builder: TensorFlowBuilder, step: GraphStep) -> Sequence[Any]:
    kind = dtype(step.attributes.get("DstT"), label(step), "DstT")
    value = builder.input(step, 0)
    if isinstance(value, KnownArray):
        with np.errstate(all="ignore"):
            return [value if value.learned and kind.kind == "f" else KnownArray(step.name, value.array.astype(kind))]
    if kind.kind == "b":
        return builder.applied(step, TABLE["not_equal"], {"a": value, "b": KnownArray(step.name, np.zeros(()))})
    if kind.kind != "f" and value not in builder.whole:
        return builder.truncated(step, value)
    (made,) = builder.applied(step, TABLE["identity"], {"x": value})
    if kind.kind == "f":
        builder.whole.discard(made)
    return [made]


@import_rule("Div", "TruncateDiv", "Pow", "Mean")
def _with_fractions(builder: TensorFlowBuilder, step: GraphStep) -> Sequence[Any]:
    """Operators that compute fractions of whole numbers, and drop them."""
    values = [builder.input(step, place) for place in range(1 if step.op == "Mean" else len(step.inputs))]
    if step.op == "TruncateDiv":
        step = step._replace(op="Div")
    if not all(map(builder.is_whole, values)):
        return builder.by_row(step)
    if step.op != "Mean":
        (found,) = builder.by_row(step._replace(name=f"{step.name}/fractions"))
        return [found] if isinstance(found, KnownArray) else builder.truncated(step, found)
    (total,) = builder.by_row(step._replace(op="Sum", name=f"{step.name}/sum"))  # a sum times 1 / count may be below
    count = size_of(shape_of(values[0])) // size_of(shape_of(total))
    if isinstance(total, KnownArray):
        return [KnownArray(step.name, FOLDED["div"](total.array, np.array(count, total.array.dtype)))]
    return builder.truncated(step, TABLE["div"](total, float(count)))


@import_rule("StopGradient")
def _held(builder: TensorFlowBuilder, step: GraphStep) -> Sequence[Any]:
    node: Any = held(builder.operand(step, 0))
    node.name = step.name
    return [node]
