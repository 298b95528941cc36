"""Arrays of any library: which library it is, and the conversion of values to arrays."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import Any

import numpy as np

from ...core.number import floats, shortened
from ...core.rules import Arithmetic
from ...errors import NumberError

Array = Any  # of NumPy, torch, JAX or Dask


def as_array(value: object, who: str) -> Array:
    """Convert numbers, nested lists or a NumPy array to float64; arrays of torch, JAX or Dask are returned as is.

    who: the caller's name, for messages. Raises NumberError for anything else.
    """
    if library_of(value) not in ("numpy", "builtins") and hasattr(value, "shape") and hasattr(value, "dtype"):
        return value
    try:
        array = np.asanyarray(value)
    except ValueError:
        raise NumberError(f"{who} takes an array, and this nested list is ragged: {shortened(value)}") from None
    if array.dtype.kind not in "iuf":
        advice = getattr(type(value), "in_expressions", "")  # of a Model's Parameter
        if array.dtype == bool:
            advice = "Write mask.astype(float) for ones and zeros"
        if array.dtype == object and any(isinstance(entry, Arithmetic) for entry in array.flat):
            advice = "Of nodes write LeafNode.of([x, y])"
        message = f"{who} takes an array of real numbers, not {array.dtype.name}: {shortened(value)}"
        raise NumberError(f"{message}. {advice}." if advice else message)
    return np.asarray(floats(array, who))


def namespace(array: Array) -> Any:
    """The array's function namespace: numpy, torch, jax.numpy, dask.array, or its own `__array_namespace__()`."""
    library = library_of(array)
    if library == "naive_graph":
        return array.__array_namespace__()
    return import_module({"torch": "torch", "jax": "jax.numpy", "jaxlib": "jax.numpy", "dask": "dask.array"}.get(
        library, "numpy"
    ))  # fmt: skip


def convert_like(array: Array, value: Any) -> Array:
    """A NumPy array converted to the library, type and device of `array`."""
    library = library_of(array)
    if library == "torch":
        return namespace(array).as_tensor(np.asarray(value, order="C"), dtype=array.dtype, device=array.device)
    return namespace(array).asarray(value, dtype=array.dtype) if library in ("jax", "jaxlib") else value


def to_common_library(arrays: Sequence[Array]) -> list[Array]:
    """Convert NumPy arrays among the operands to the library of the first array that is not NumPy's, if any."""
    other = next((array for array in arrays if library_of(array) != "numpy"), None)
    if other is None:
        return list(arrays)
    return [convert_like(other, array) if library_of(array) == "numpy" else array for array in arrays]


def library_of(value: object) -> str:
    """The package of a value's type: "numpy", "torch", "jax", "jaxlib" or "dask" for an array."""
    return type(value).__module__.partition(".")[0]
