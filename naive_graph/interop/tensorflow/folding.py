"""Constant folding for TensorFlow graphs: evaluate operators whose inputs are all constants, mostly shape arithmetic.

FOLDED has NumPy functions for the common operators: integers stay integers, and
arrays may be empty, which our tensors cannot be. Other operators are evaluated by
their row in float64, and cast back.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import prod
from typing import Any

import numpy as np

from ...errors import ImportModelError
from ...tensor.base import size_of
from ...tensor.nodes import LeafNode
from ...tensor.operators.indexing import take_batched
from ...tensor.operators.operator_def import OperatorDef

MOST = 2**16  # fold up to so many entries; larger results become nodes of the graph


def _axes(axes: Any) -> Any:
    return None if axes is None else tuple(np.ravel(axes).tolist())


def _slice(x: Any, begin: Any, sizes: Any) -> Any:
    ends = (extent if size == -1 else start + size for start, size, extent in zip(begin, sizes, x.shape))
    return x[tuple(map(slice, begin, ends))]


def _div(a: Any, b: Any) -> Any:
    """Division; of integers, truncated towards zero."""
    return a / b if a.dtype.kind == "f" else (np.sign(a) * np.sign(b) * (abs(a) // abs(b))).astype(a.dtype)


def _gather(x: Any, places: Any, axis: int = 0, batch_dims: int = 0) -> Any:
    return take_batched(x, places, axis % x.ndim if batch_dims else axis, batch_dims)


FOLDED: dict[str, Callable[..., Any]] = {
    "add": np.add, "sub": np.subtract, "mul": np.multiply, "div": _div, "neg": np.negative, "abs": np.abs,
    "maximum": np.maximum, "minimum": np.minimum, "greater": np.greater, "less": np.less,
    "greater_equal": np.greater_equal, "less_equal": np.less_equal, "equal": np.equal, "not_equal": np.not_equal,
    "logical_and": np.logical_and, "logical_or": np.logical_or, "logical_not": np.logical_not, "where": np.where,
    "identity": lambda x: x,
    "reshape": lambda x, shape: np.reshape(x, shape),
    "transpose": lambda x, axes: np.transpose(x, axes),
    "squeeze": lambda x, axis: np.squeeze(x, _axes(axis)),
    "expand_dims": lambda x, axis: np.expand_dims(x, _axes(axis)),
    "concat": lambda tensors, axis: np.concatenate(tensors, axis),
    "stack": lambda tensors, axis: np.stack(tensors, axis),
    "slice": _slice,
    "gather": _gather,
    "reduce_sum": lambda x, axis, keepdims: np.sum(x, _axes(axis), x.dtype, keepdims=keepdims),
    "reduce_prod": lambda x, axis, keepdims: np.prod(x, _axes(axis), x.dtype, keepdims=keepdims),
    "reduce_max": lambda x, axis, keepdims: np.max(x, _axes(axis), keepdims=keepdims),
    "reduce_min": lambda x, axis, keepdims: np.min(x, _axes(axis), keepdims=keepdims),
}  # fmt: skip


def is_small(operator_def: OperatorDef, values: Mapping[str, Any]) -> bool:
    """Whether an operator's result on these arrays is small enough to be folded."""
    operands = [x for value in values.values() for x in (value if isinstance(value, list) else [value])]
    shapes = [operand.shape for operand in operands if isinstance(operand, np.ndarray)]
    growth_factor = prod(map(int, np.ravel(values["repeats"]))) if operator_def.name == "tile" else 1
    if operator_def.kind == "elementwise":
        try:
            return size_of(np.broadcast_shapes(*shapes)) <= MOST
        except ValueError:
            return False  # the row will raise a better error
    return sum(map(size_of, shapes)) * growth_factor <= MOST and operator_def.name not in ("expand", "pad", "one_hot")


def evaluate_operator(row: OperatorDef, values: Mapping[str, Any], label: str) -> list[Any]:
    """Evaluate an operator on arrays. Raises ImportModelError."""
    kind = next((value.dtype for value in values.values() if hasattr(value, "dtype")), np.dtype(np.float64))
    try:
        with np.errstate(all="ignore"):
            operands = [values[operand_name] for operand_name in row.operand_names if operand_name in values]
            properties = {name: value for name, value in values.items() if name in row.property_names}
            if row.name in FOLDED:
                return [np.asarray(FOLDED[row.name](*operands, **properties))]
            result = row(*map(_to_constant_leaf, operands), **properties)
    except (ValueError, TypeError, IndexError) as error:  # from NumPy, or from a row (also ValueError)
        raise ImportModelError(f"{label} cannot be computed: {error}") from None
    several = result if isinstance(result, tuple) else [result]
    return [node.eval().astype(kind) for node in several]


def _to_constant_leaf(value: Any) -> Any:
    if isinstance(value, list):
        return [_to_constant_leaf(part) for part in value]
    return LeafNode.constant(np.asarray(value, float))
