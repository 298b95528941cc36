"""Convert TensorFlow attributes (AttrValue) and tensors (TensorProto) to Python and NumPy values."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np
from tensorboard.compat.proto import types_pb2

from ...errors import ImportAttributeError, ImportModelError

MOST_REPEATED = 2**24  # limit for tensors that a file gives by a few values: repeated, Fill, Range
# By TensorFlow's name of a type: the NumPy type, and the field of TensorProto that lists its values.
TYPES = {
    "DT_FLOAT": (np.float32, "float_val"), "DT_DOUBLE": (np.float64, "double_val"), "DT_HALF": (np.float16, "half_val"),
    "DT_BFLOAT16": (np.float32, "half_val"), "DT_INT8": (np.int8, "int_val"), "DT_INT16": (np.int16, "int_val"),
    "DT_INT32": (np.int32, "int_val"), "DT_INT64": (np.int64, "int64_val"), "DT_UINT8": (np.uint8, "int_val"),
    "DT_UINT16": (np.uint16, "int_val"), "DT_UINT32": (np.uint32, "uint32_val"), "DT_UINT64": (np.uint64, "uint64_val"),
    "DT_BOOL": (np.bool_, "bool_val"),
}  # fmt: skip


@dataclass(frozen=True)
class Type:
    """A TensorFlow type (DataType) as an attribute value, to tell it from an integer attribute."""

    number: int

    def __repr__(self) -> str:
        return type_name(self.number)


def type_name(number: int) -> str:
    """TensorFlow's name of a type: DT_FLOAT."""
    return str(types_pb2.DataType.Name(number)) if number in types_pb2.DataType.values() else f"type {number}"


def dtype(value: Any, op: str, attribute: str = "dtype") -> Any:
    """The NumPy type of a Type. Raises ImportAttributeError for strings, complex numbers and the like."""
    if not isinstance(value, Type) or repr(value) not in TYPES:
        raise ImportAttributeError(op, attribute, value, f"Due is one of {', '.join(TYPES)}.")
    return np.dtype(TYPES[repr(value)][0])


def attribute(value: Any) -> Any:
    """An AttrValue as a Python value: a number, text, list, Type, or a shape as a list (-1 where unknown).

    None for a shape of unknown rank. Text that cannot be decoded stays bytes; a tensor or function stays a protobuf.
    """
    kind = value.WhichOneof("value")
    if kind == "type":
        return Type(value.type)
    if kind == "s":
        return _decode(value.s)
    if kind == "shape":
        return extents(value.shape)
    if kind == "list":
        return _list_values(value.list)
    return None if kind is None else getattr(value, kind)


def _decode(data: bytes) -> Any:
    try:
        return data.decode()
    except UnicodeDecodeError:
        return data


def _list_values(values: Any) -> list[Any]:
    if values.type:
        return [Type(code) for code in values.type]
    if values.shape:
        return [extents(shape) for shape in values.shape]
    return [*values.i, *values.f, *values.b, *map(_decode, values.s)]


def extents(shape: Any) -> list[int] | None:
    """The extents of a TensorShapeProto, -1 where unknown; None if the rank is unknown."""
    return None if shape.unknown_rank else [dim.size for dim in shape.dim]


def tensor(proto: Any, where: str) -> Any:
    """Convert a TensorProto to an array. Raises ImportModelError unless its values fit its shape and type."""
    shape = extents(proto.tensor_shape)
    if shape is None or min(shape, default=0) < 0:
        raise ImportModelError(f"{where}: its shape {shape} is not known, and a constant's must be.")
    kind = dtype(Type(proto.dtype), where)
    size = prod(shape)
    try:
        values = _listed_values(proto, type_name(proto.dtype), kind)
        if proto.tensor_content or len(values) == size:
            return values.reshape(shape)
        if len(values) < size <= MOST_REPEATED:  # the last value stands for all that are left out
            rest = values[-1] if len(values) else kind.type(0)
            return np.concatenate([values, np.broadcast_to(rest, size - len(values))]).reshape(shape)
    except (ValueError, OverflowError) as error:
        raise ImportModelError(f"{where}: its values do not fit {kind.name} and shape {shape}: {error}.") from None
    raise ImportModelError(f"{where}: {len(values):,} values cannot be a tensor of shape {shape}, which has {size:,}.")


def _listed_values(proto: Any, name: str, kind: Any) -> Any:
    """The values of a TensorProto as a flat array, from its list of values or its raw bytes."""
    is_half = TYPES[name][1] == "half_val"
    if proto.tensor_content:
        values = np.frombuffer(proto.tensor_content, "<u2" if name == "DT_BFLOAT16" else kind.newbyteorder("<"))
    else:
        values = np.array(getattr(proto, TYPES[name][1]), np.uint16 if is_half else kind)
        values = values.view(np.float16) if name == "DT_HALF" else values
    return (values.astype(np.uint32) << 16).view(np.float32) if name == "DT_BFLOAT16" else values
