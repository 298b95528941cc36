"""Read an operator's properties from another framework's attributes and inputs, by its mapping."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from ..errors import ImportAttributeError, PropertyError
from ..tensor.base import TensorNode
from ..tensor.operators.mapping import REQUIRED, Attribute, Extent, Fixed, Input, Name
from ..tensor.operators.properties import LARGEST
from ..tensor.operators.row import Row
from ..tensor.operators.signature import RowParameter, taken

ReadInput = Callable[[int, RowParameter], Any]
ReadShape = Callable[[int], tuple[int, ...]]


def read_properties(
    row: Row, mapping: Name, opset: int | None, label: str, attributes: Mapping[str, Any], read_input: ReadInput,
    read_shape: ReadShape,
) -> dict[str, Any]:  # fmt: skip
    """Return the properties of a row, by name. Raises ImportAttributeError.

    label: what messages call the operator. attributes: its own, as Python's
    values. read_input: the array that an input holds, or the tensor, if the
    property may be one; None if it is left out. read_shape: the shape of an input.
    """
    known = mapping.attributes(opset)
    for name, value in attributes.items():
        if name not in known:
            raise ImportAttributeError(label, name, value, f"{mapping.operator} has no such attribute.")
        if name in mapping.refused and value != mapping.refused[name]:
            raise ImportAttributeError(label, name, value, f"Only {mapping.refused[name]!r} has.")
    homes = mapping.homes(opset)
    defaults = {home.name: _plain(home.default) for home in homes.values() if isinstance(home, Attribute)}
    attributes = {name: value for name, value in defaults.items() if value is not REQUIRED} | dict(attributes)
    found = {}
    for name, home in sorted(homes.items(), key=lambda each: each[0] != "data_format"):  # which the others ask for
        if isinstance(home, Fixed):
            where, value = "value", home.value
        elif isinstance(home, Extent):
            shape = read_shape(home.input)
            where, value = "shape", tuple(shape[axis] for axis in home.axes)
        elif isinstance(home, Attribute):
            where, value = home.name, attributes.get(home.name, REQUIRED)
        else:
            where, value = f"input {home.position}", _number(read_input(home.position, row.by_name[name]))
            value = _plain(home.default) if value is None else value
        found[name] = _adapt(row, name, home, where, value, attributes, label)
    return found


def _adapt(row: Row, name: str, home: Any, where: str, value: Any, attributes: Mapping[str, Any], label: str) -> Any:
    """Convert a property's value to what the row takes, and check it."""
    if value is REQUIRED:
        raise ImportAttributeError(label, where, None, "It must be there.")
    if isinstance(home, (Attribute, Input)) and home.adapt is not None and value is not None:
        try:
            value = home.adapt(value, attributes)
        except Exception as error:  # an adapter meets what the file says
            why = str(error) if isinstance(error, ValueError) else ""
            raise ImportAttributeError(label, where, value, why) from None
    try:
        taken(row.name, row.by_name[name], value)
    except PropertyError as error:
        raise ImportAttributeError(label, where, value, str(error)) from None
    return value


def _plain(default: Any) -> Any:
    return list(default) if isinstance(default, tuple) else default


def _number(array: Any) -> Any:
    """Convert an array to a property's value; integers beyond every extent are clipped."""
    if array is None or isinstance(array, TensorNode):
        return array
    if array.dtype.kind in "iu":
        array = np.clip(array.astype(np.int64), -LARGEST, LARGEST)
    return array.item() if array.ndim == 0 else array
