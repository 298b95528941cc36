"""Whole numbers that stand for others: rounded when they are made, and spread again when they are read."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from onnx import TensorProto

from ...tensor.operators.table import TABLE
from .arrays import dtype_of
from .building import OnnxBuilder, prepared
from .inlining import Application
from .preparing import attributes_of


def _beside(builder: OnnxBuilder, step: Application, place: int, shape: tuple[int, ...]) -> Any:
    """A scale, or a zero point: one, one for each entry along an axis, or one for each block of them."""
    said, value = attributes_of(step), builder.operand(step, place)
    if value is None or not value.shape or value.size == 1:
        return value if value is None else TABLE["reshape"](value, [])
    axis = said.get("axis", 1) % len(shape)
    if said.get("block_size"):
        places = np.arange(shape[axis]) // said["block_size"]
        return TABLE["gather"](value, places, axis=axis)
    return TABLE["reshape"](value, [extent if at == axis else 1 for at, extent in enumerate(shape)])


def quantized(builder: OnnxBuilder, step: Application, x: Any) -> Any:
    """round(x / scale) + zero point, within what the type holds."""
    scale, zero = (_beside(builder, step, place, x.shape) for place in (1, 2))
    kind = attributes_of(step).get("output_dtype") or (TensorProto.UINT8 if zero is None else builder.type(step, 2))
    bounds = np.iinfo(dtype_of(kind, step.label))
    found = TABLE["round"](x / scale)
    found = found if zero is None else found + zero
    return TABLE["clip"](found, min=float(bounds.min), max=float(bounds.max))


def spread(builder: OnnxBuilder, step: Application) -> Any:
    """(x - zero point) * scale."""
    x = builder.operand(step, 0)
    scale, zero = (_beside(builder, step, place, x.shape) for place in (1, 2))
    return (x if zero is None else x - zero) * scale


@prepared("QuantizeLinear")
def quantize(builder: OnnxBuilder, step: Application) -> Sequence[Any]:
    return [quantized(builder, step, builder.operand(step, 0))]


@prepared("DequantizeLinear")
def dequantize(builder: OnnxBuilder, step: Application) -> Sequence[Any]:
    return [spread(builder, step)]


@prepared("QLinearMatMul")
def multiplied(builder: OnnxBuilder, step: Application) -> Sequence[Any]:
    a, b = (spread(builder, step._replace(inputs=step.inputs[at : at + 3])) for at in (0, 3))
    return [quantized(builder, step._replace(inputs=("", *step.inputs[6:])), a @ b)]
