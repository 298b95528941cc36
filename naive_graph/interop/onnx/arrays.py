"""Read the tensors of an ONNX file as arrays: every numeric type, inside the file or in files beside it."""

from __future__ import annotations

import re
import sys
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
from onnx import TensorProto, helper, numpy_helper

from ...errors import ImportModelError

REFUSED = ("UNDEFINED", "STRING", "COMPLEX64", "COMPLEX128")
PLAIN = "biuf"  # kinds of dtype that NumPy itself has
OURS = {np.dtype(each) for each in (np.float16, np.float32, np.float64)}


def array_of(tensor: Any, folder: Path | None = None) -> Any:
    """Return the array of a TensorProto; float types that NumPy lacks become float32. Raises ImportModelError.

    folder: where files that hold numbers may lie; None if none may.
    """
    name, shape = f"Tensor {tensor.name!r}", tuple(tensor.dims)
    dtype, kind = dtype_of(tensor.data_type, name), type_name(tensor.data_type)
    if min(shape, default=0) < 0:
        raise ImportModelError(f"{name} has the shape {shape}. No extent is below 0.")
    bits = _bits_of(kind)
    due = (prod(shape) * bits + 7) // 8
    if tensor.data_location == TensorProto.EXTERNAL:
        data: Any = external(tensor, folder, name, due)
    else:
        data = tensor.raw_data if tensor.HasField("raw_data") else None
    if data is not None and len(data) != due:
        raise ImportModelError(f"{name} of shape {shape} and type {kind} needs {due} bytes; {len(data)} are there.")
    if data is not None and dtype.kind in PLAIN and 8 * dtype.itemsize == bits and sys.byteorder == "little":
        return np.frombuffer(data, dtype).reshape(shape)
    return _unpack(tensor, data, name, shape)


def _unpack(tensor: Any, data: Any, name: str, shape: tuple[int, ...]) -> Any:
    """Unpack a tensor whose entries are packed or listed one by one, with onnx's own reader."""
    if tensor.data_location == TensorProto.EXTERNAL:
        tensor = TensorProto(dims=shape, data_type=tensor.data_type, raw_data=bytes(data))
    try:
        array = np.asarray(numpy_helper.to_array(tensor))
    except (ValueError, TypeError) as error:
        raise ImportModelError(f"{name} of shape {shape} does not hold what its shape says: {error}.") from None
    if array.dtype.kind in "biu" or array.dtype in OURS:
        return array
    return array.astype(np.int8 if "int" in array.dtype.name else np.float32)


def dtype_of(data_type: int, who: str) -> np.dtype[Any]:
    """NumPy's dtype of an ONNX entry type. Raises ImportModelError for texts and complex numbers."""
    if type_name(data_type) in REFUSED:
        raise ImportModelError(f"{who} holds {type_name(data_type)} entries; only numbers and truth values are read.")
    return np.dtype(helper.tensor_dtype_to_np_dtype(data_type))


def entry_type(data_type: int) -> np.dtype[Any]:
    """NumPy's dtype in which entries of an ONNX type are kept here: wider where NumPy lacks the type."""
    found = np.dtype(helper.tensor_dtype_to_np_dtype(data_type))
    if found.kind in "biuO" or found in OURS:
        return found
    return np.dtype(np.int8 if "int" in found.name else np.float32)


def type_name(data_type: int) -> str:
    """ONNX's name of an entry type, as FLOAT. Raises ImportModelError for an unknown number."""
    try:
        return str(TensorProto.DataType.Name(data_type))
    except ValueError:
        raise ImportModelError(f"There is no type of entries of number {data_type}.") from None


def _bits_of(kind: str) -> int:
    """How many bits an entry has: the number in its type's name, as FLOAT8E5M2."""
    said = re.search(r"\d+", kind)
    return int(said[0]) if said else {"FLOAT": 32, "DOUBLE": 64, "BOOL": 8}[kind]


def external(tensor: Any, folder: Path | None, name: str, size: int) -> Any:
    """Read a tensor's bytes from a file beside the model's. Raises ImportModelError before reading if unsafe."""
    said = {each.key: each.value for each in tensor.external_data}
    place = said.get("location", "")
    if folder is None:
        raise ImportModelError(f"{name} lies in the file {place!r}, and the model came without a folder. Give a path.")
    try:
        path, within = (folder / place).resolve(), folder.resolve()
        inside = path.is_relative_to(within) and path.is_file()
    except (OSError, ValueError):  # too long, or a NUL
        inside = False
    if not inside:
        raise ImportModelError(f"{name} lies in {place!r:.80}, which is no file inside the model's folder.")
    try:
        start, length = (int(said.get(key, default)) for key, default in (("offset", 0), ("length", size)))
    except ValueError:
        raise ImportModelError(f"{name}: offset and length of {place!r} are whole numbers, not {said}.") from None
    if start < 0 or length != size or start + size > path.stat().st_size:
        raise ImportModelError(
            f"{name} needs {size} bytes; {place!r}, of {path.stat().st_size}, says {length} from {start} on."
        )
    return np.fromfile(path, np.uint8, size, offset=start)
