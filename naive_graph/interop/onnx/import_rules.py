"""Import rules: ONNX operators that need more than the mapping on our operator definition."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from onnx import TensorProto, helper

from ...errors import ImportAttributeError
from ...tensor import arithmetic, reductions_api, slicing
from ...tensor.base import TensorNode
from ...tensor.nodes import LeafNode, LinearNode
from ...tensor.operators.table import TABLE
from ..builder import truncate_fraction
from .arrays import REFUSED, array_of, dtype_of, entry_type, type_name
from .import_graph import OnnxBuilder, attributes_of, import_rule
from .steps import OnnxStep

WIDE = {TensorProto.INT64, TensorProto.INT32}
FLOATS = {TensorProto.FLOAT, TensorProto.DOUBLE, TensorProto.FLOAT16, TensorProto.BFLOAT16}


def drop_attributes(step: OnnxStep, *names: str) -> OnnxStep:
    return step._replace(attributes={name: proto for name, proto in step.attributes.items() if name not in names})


# --- constants, shapes and types ----------------------------------------------


@import_rule("Constant")
def constant(builder: OnnxBuilder, step: OnnxStep) -> Sequence[Any]:
    (name, value), *_ = attributes_of(step).items() or [("value", None)]
    if name == "value" and value is not None:
        return [array_of(value)]
    if name not in ("value_int", "value_ints", "value_float", "value_floats"):
        raise ImportAttributeError(step.label, name, value, "Numbers are read.")
    return [np.asarray(value, np.int64 if "int" in name else np.float32)]


@import_rule("Shape")
def shape(builder: OnnxBuilder, step: OnnxStep) -> Sequence[Any]:
    attributes, x = attributes_of(step), builder.input(step, 0)
    return [np.array(x.shape[attributes.get("start", 0) : attributes.get("end")], np.int64)]


@import_rule("Size")
def size(builder: OnnxBuilder, step: OnnxStep) -> Sequence[Any]:
    return [np.array(builder.input(step, 0).size, np.int64)]


@import_rule("Cast", "CastLike")
def cast(builder: OnnxBuilder, step: OnnxStep) -> Sequence[Any]:
    """Cast: all entries are float64 here; casting to an integer type drops fractions."""
    x, old = builder.input(step, 0), builder.type(step, 0)
    new = builder.type(step, 1) if step.op == "CastLike" else step.attributes["to"].i
    if type_name(new) in REFUSED:
        raise ImportAttributeError(step.label, "to", type_name(new), "Numbers and truth values are read.")
    if isinstance(x, np.ndarray):
        with np.errstate(invalid="ignore"):
            return [x.astype(helper.tensor_dtype_to_np_dtype(new))]
    x = builder.operand(step, 0)
    if new == TensorProto.BOOL:
        return [x if old == new else TABLE["not_equal"](x, 0.0, name=step.name)]
    if new in FLOATS or old == TensorProto.BOOL or old == new or (old not in FLOATS and new in WIDE):
        return [x]
    if old in FLOATS:
        return [truncate_fraction(x, step.name)]
    bounds = np.iinfo(entry_type(new))  # integers that are too large wrap around
    return [TABLE["mod"](x - float(bounds.min), float(bounds.max - bounds.min + 1)) + float(bounds.min)]


@import_rule("Mod")
def remainder(builder: OnnxBuilder, step: OnnxStep) -> Sequence[Any]:
    row = TABLE["fmod" if attributes_of(step).get("fmod") else "mod"]
    return [row(builder.operand(step, 0), builder.operand(step, 1), name=step.name)]


# --- shapes -------------------------------------------------------------------


@import_rule("Reshape")
def reshape(builder: OnnxBuilder, step: OnnxStep) -> Sequence[Any]:
    """Reshape: 0 keeps the input's extent."""
    attributes, x = attributes_of(step), builder.operand(step, 0)
    wanted = [int(extent) for extent in np.ravel(builder.known_array(step, 1))]
    if not attributes.get("allowzero"):
        wanted = [x.shape[axis] if extent == 0 and axis < x.rank else extent for axis, extent in enumerate(wanted)]
    return builder.apply_operator(step, TABLE["reshape"], {"x": x, "shape": wanted})


@import_rule("Softmax", "LogSoftmax", "Hardmax")
def softmax(builder: OnnxBuilder, step: OnnxStep) -> Sequence[Any]:
    """Softmax: before opset 13 the axes from `axis` on were flattened to one."""
    if step.opset >= 13:
        return builder.by_row(step)
    x, axis = builder.operand(step, 0), attributes_of(step).get("axis", 1)
    flat = TABLE["flatten_to_matrix"](x, axis)
    (y,) = builder.by_row(drop_attributes(step, "axis"), x=flat, axis=1)
    return [TABLE["reshape"](y, x.shape)]


@import_rule("Split")
def split(builder: OnnxBuilder, step: OnnxStep) -> Sequence[Any]:
    """Split: equal parts if no sizes are given; a part without entries becomes an empty array."""
    attributes, known_sizes = attributes_of(step), builder.known_array(step, 1)
    sizes = attributes.get("split") if known_sizes is None else known_sizes.tolist()
    if sizes is None:
        return builder.by_row(step, parts=attributes.get("num_outputs", len(step.outputs)))
    if 0 not in sizes:
        return builder.by_row(step)
    parts = iter(builder.by_row(step, sizes=[part_size for part_size in sizes if part_size]))
    x, axis = builder.operand(step, 0), attributes.get("axis", 0)
    empty = np.zeros((*x.shape[: axis % x.rank], 0, *x.shape[axis % x.rank + 1 :]), np.float32)
    return [next(parts) if part_size else empty for part_size in sizes]


REDUCTIONS = "Sum", "Mean", "Max", "Min", "Prod", "LogSumExp", "L1", "L2", "SumSquare", "LogSum"


@import_rule(*(f"Reduce{suffix}" for suffix in REDUCTIONS))
def reduction(builder: OnnxBuilder, step: OnnxStep) -> Sequence[Any]:
    """Reductions: no axes mean all axes, or none with noop_with_empty_axes."""
    attributes = attributes_of(step)
    axes = attributes.get("axes") if "axes" in attributes else builder.known_array(step, 1)
    whole_mean = step.op == "ReduceMean" and builder.is_integer(step, 0)
    row = TABLE["reduce_sum"] if whole_mean else None  # an exact sum first, as times 1 / count rounds
    step = drop_attributes(step, "noop_with_empty_axes")
    if axes is not None and np.size(axes):
        results = builder.by_row(step, row)
    else:
        none = () if attributes.get("noop_with_empty_axes") else None
        results = builder.by_row(step._replace(inputs=step.inputs[:1]), row, axis=none)
    return [result / (builder.input(step, 0).size / result.size) for result in results] if whole_mean else results


# --- layers with several results ----------------------------------------------


@import_rule("BatchNormalization")
def batch_norm(builder: OnnxBuilder, step: OnnxStep) -> Sequence[Any]:
    """BatchNormalization; in training mode it also returns the running mean and variance."""
    attributes, x = attributes_of(step), builder.operand(step, 0)
    y = builder.by_row(step)
    if not attributes.get("training_mode"):
        return y
    axes, momentum = [axis for axis in range(x.rank) if axis != 1], attributes.get("momentum", 0.9)
    mean = reductions_api.mean(x, axes)
    centred: Any = x - arithmetic.broadcast(reductions_api.mean(x, axes, True), x.shape)
    now = (mean, reductions_api.mean(centred * centred, axes))
    before = [builder.operand(step, position) for position in (3, 4)]
    return [*y, *(momentum * old + (1.0 - momentum) * new for old, new in zip(before, now))]


@import_rule("Dropout")
def dropout(builder: OnnxBuilder, step: OnnxStep) -> Sequence[Any]:
    """Dropout at inference: x, and a mask of ones. Random dropping is refused."""
    x, training = builder.operand(step, 0), builder.known_array(step, 2)
    ratio = builder.known_array(step, 1) if step.opset >= 12 else attributes_of(step).get("ratio")
    if training is not None and training.any() and (ratio is None or np.any(ratio)):
        raise ImportAttributeError(step.label, "training_mode", True, "Set it to False, or ratio to 0.")
    mask = LeafNode.constant(np.ones(x.shape)) if len(step.outputs) > 1 else None
    return [TABLE["identity"](x, name=step.name), mask]


@import_rule("Attention")
def attention(builder: OnnxBuilder, step: OnnxStep) -> Sequence[Any]:
    """Attention: our operator for plain 4-axis inputs; ONNX's own definition for grouped heads, masks and caches."""
    q, k = (builder.operand(step, position) for position in (0, 1))
    masked = builder.input(step, 3) is not None
    plain_ = q.rank == 4 and q.shape[1] == k.shape[1] and not (masked and builder.type(step, 3) == TensorProto.BOOL)
    return builder.by_row(step) if plain_ and not any(step.inputs[4:]) else builder.apply_body(step)


# --- masks and conditions ---------------------------------------


@import_rule("IsNaN", "IsInf")
def is_nan_or_inf(builder: OnnxBuilder, step: OnnxStep) -> Sequence[Any]:
    """IsNaN: x != x. IsInf: x equals infinity, of both signs or of one."""
    x, attributes = builder.operand(step, 0), attributes_of(step)
    if step.op == "IsNaN":
        return [TABLE["not_equal"](x, x, name=step.name)]
    signs = [sign for sign, name in ((1.0, "positive"), (-1.0, "negative")) if attributes.get(f"detect_{name}", 1)]
    masks = [TABLE["equal"](x, sign * np.inf) for sign in signs] or [TABLE["less"](x, x)]
    return [masks[0] if len(masks) == 1 else masks[0] + masks[1]]


@import_rule("Compress")
def compress(builder: OnnxBuilder, step: OnnxStep) -> Sequence[Any]:
    """Compress: gather the entries where a known condition holds."""
    x, axis = builder.operand(step, 0), attributes_of(step).get("axis")
    flat, gather_axis = (TABLE["reshape"](x, [-1]), 0) if axis is None else (x, axis)
    places = builder.known_array(step, 1).nonzero()[0]
    return builder.apply_operator(step, TABLE["gather"], {"x": flat, "places": places, "axis": gather_axis})


# --- quantization --------------------------------------


def _broadcast_along_axis(builder: OnnxBuilder, step: OnnxStep, position: int, shape: tuple[int, ...]) -> Any:
    """Broadcast a scale or zero point given per tensor, per entry along an axis, or per block."""
    attributes, value = attributes_of(step), builder.operand(step, position)
    if value is None or not value.shape or value.size == 1:
        return value if value is None else TABLE["reshape"](value, [])
    axis = attributes.get("axis", 1) % len(shape)
    if attributes.get("block_size"):
        places = np.arange(shape[axis]) // attributes["block_size"]
        return TABLE["gather"](value, places, axis=axis)
    return TABLE["reshape"](value, [extent if index == axis else 1 for index, extent in enumerate(shape)])


def quantize_value(builder: OnnxBuilder, step: OnnxStep, x: Any) -> Any:
    """round(x / scale) + zero point, within what the type holds."""
    scale, zero = (_broadcast_along_axis(builder, step, position, x.shape) for position in (1, 2))
    kind = attributes_of(step).get("output_dtype") or (TensorProto.UINT8 if zero is None else builder.type(step, 2))
    bounds = np.iinfo(dtype_of(kind, step.label))
    rounded = TABLE["round"](x / scale)
    rounded = rounded if zero is None else rounded + zero
    return TABLE["clip"](rounded, min=float(bounds.min), max=float(bounds.max))


def dequantize_input(builder: OnnxBuilder, step: OnnxStep) -> Any:
    """(x - zero point) * scale."""
    x = builder.operand(step, 0)
    scale, zero = (_broadcast_along_axis(builder, step, position, x.shape) for position in (1, 2))
    return (x if zero is None else x - zero) * scale


@import_rule("QuantizeLinear")
def quantize(builder: OnnxBuilder, step: OnnxStep) -> Sequence[Any]:
    return [quantize_value(builder, step, builder.operand(step, 0))]


@import_rule("DequantizeLinear")
def dequantize(builder: OnnxBuilder, step: OnnxStep) -> Sequence[Any]:
    return [dequantize_input(builder, step)]


@import_rule("QLinearMatMul")
def qlinear_matmul(builder: OnnxBuilder, step: OnnxStep) -> Sequence[Any]:
    a, b = (dequantize_input(builder, step._replace(inputs=step.inputs[start : start + 3])) for start in (0, 3))
    return [quantize_value(builder, step._replace(inputs=("", *step.inputs[6:])), a @ b)]


# --- Fourier transforms: products with constant matrices of cosines and sines ---


@import_rule("DFT")
def dft(builder: OnnxBuilder, step: OnnxStep) -> Sequence[Any]:
    attributes, x, length = attributes_of(step), builder.operand(step, 0), builder.known_array(step, 1)
    axis = attributes.get("axis", 1) if step.opset < 20 else builder.known_array(step, 2)
    dft_axis = int(-2 if axis is None else axis) % x.rank
    inverse, half = attributes.get("inverse", 0), attributes.get("onesided", 0)
    count = 2 * (x.shape[dft_axis] - 1) if inverse and half else x.shape[dft_axis]
    return [_spectrum(builder, step, x, dft_axis, count if length is None else int(length), inverse, half)]


@import_rule("STFT")
def stft(builder: OnnxBuilder, step: OnnxStep) -> Sequence[Any]:
    """STFT: the DFT of each frame of a signal."""
    hop, length = builder.known_array(step, 1), builder.known_array(step, 3)
    x, window = builder.operand(step, 0), builder.operand(step, 2)
    size = int(window.size if length is None else length)
    frames = slicing.gather_axis(x, 1, ((x.shape[1] - size) // int(hop) + 1, size), (int(hop), 1))
    windowed: Any = frames if window is None else frames * slicing.reshape(window, (size, 1))
    return [_spectrum(builder, step, windowed, 2, size, False, attributes_of(step).get("onesided", 1))]


def _spectrum(
    builder: OnnxBuilder, step: OnnxStep, x: TensorNode, dft_axis: int, count: int, inverse: Any, onesided: Any
) -> TensorNode:
    """DFT along one axis. The last axis holds the real part, and the imaginary part if there is one."""
    rows = count // 2 + 1 if inverse and onesided else count
    builder.hold(32 * rows * count, step.label)
    j, k = np.ogrid[:rows, : count // 2 + 1 if onesided and not inverse else count]
    wave = np.exp((2j if inverse else -2j) * np.pi * (j * k % count) / count) / (count if inverse else 1)
    if inverse and onesided:  # the other half is the mirror image of this one
        wave = wave * np.where((j == 0) | (2 * j == count), 1.0, 2.0)
    parts = [[wave.real, -wave.imag], [wave.imag, wave.real]]  # to a part, from a part
    table = np.array(parts)[: 1 if inverse and onesided else 2, : x.shape[-1]].transpose(2, 1, 3, 0)  # j, from, k, to
    x, rank = slicing.pad_axis(x, dft_axis, 0, rows - x.shape[dft_axis]), x.rank
    left = [-(axis + 1) if axis in (dft_axis, rank - 1) else axis + 1 for axis in range(rank)]
    dst = [*range(1, rank + 1)]
    dst[-1], dst[dft_axis] = rank + 2, rank + 1
    right = (-(dft_axis + 1), -rank, rank + 1, rank + 2)
    return LinearNode("mul", dst, left, right, x, LeafNode.constant(table.copy()))
