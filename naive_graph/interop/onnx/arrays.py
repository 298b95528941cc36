"""Read an ONNX file's tensors (TensorProto) as NumPy arrays: numbers and truth values, also from external files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from onnx import TensorProto, helper, numpy_helper

from ...errors import ImportModelError

REFUSED = ("UNDEFINED", "STRING", "COMPLEX64", "COMPLEX128")
OURS = {np.dtype(kind) for kind in (np.float16, np.float32, np.float64)}


def array_of(tensor: Any, folder: Path | None = None) -> Any:
    """Return the array of a TensorProto; float types that NumPy lacks become float32. Raises ImportModelError.

    folder: of external data files; None if there may be none.
    """
    name, shape = f"Tensor {tensor.name!r}", tuple(tensor.dims)
    dtype_of(tensor.data_type, name)
    if min(shape, default=0) < 0:
        raise ImportModelError(f"{name} has the shape {shape}. No extent is below 0.")
    problem = f"{name} of shape {shape} does not hold what its shape says"
    if tensor.data_location == TensorProto.EXTERNAL:
        location = next((entry.value for entry in tensor.external_data if entry.key == "location"), "")
        problem = f"{name} lies in {location!r:.80}, which cannot be read"
        if folder is None:
            raise ImportModelError(f"{problem}: the model came without a folder. Give a path.")
        tensor = TensorProto.FromString(tensor.SerializeToString())  # a copy, which gets the file's numbers
    try:
        array = np.asarray(numpy_helper.to_array(tensor, str(folder)))
    except Exception as error:  # onnx may raise anything for a missing file or one outside of the folder
        why = str(error).rstrip(".")
        raise ImportModelError(f"{problem}: {why}.") from None
    return array if array.dtype.kind in "biu" or array.dtype in OURS else array.astype(entry_type(tensor.data_type))


def dtype_of(data_type: int, who: str) -> np.dtype[Any]:
    """NumPy's dtype of an ONNX entry type. Raises ImportModelError for texts and complex numbers."""
    if type_name(data_type) in REFUSED:
        raise ImportModelError(f"{who} holds {type_name(data_type)} entries; only numbers and truth values are read.")
    return np.dtype(helper.tensor_dtype_to_np_dtype(data_type))


def entry_type(data_type: int) -> np.dtype[Any]:
    """NumPy's dtype in which entries of an ONNX type are kept here: wider where NumPy lacks the type."""
    dtype = np.dtype(helper.tensor_dtype_to_np_dtype(data_type))
    if dtype.kind in "biuO" or dtype in OURS:
        return dtype
    return np.dtype(np.int8 if "int" in dtype.name else np.float32)


def type_name(data_type: int) -> str:
    """ONNX's name of an entry type, as FLOAT. Raises ImportModelError for an unknown number."""
    try:
        return str(TensorProto.DataType.Name(data_type))
    except ValueError:
        raise ImportModelError(f"There is no type of entries of number {data_type}.") from None
