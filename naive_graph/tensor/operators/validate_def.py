"""Validation of an operator's custom derivative: its signature and its results."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any

from ...errors import ArityError, NaiveGraphError, OperandError, ShapeError
from ..arithmetic import as_tensor
from ..base import TensorNode


def check_derivative(row: Any, derivative: Callable[..., Any]) -> None:
    """Raise OperandError unless a custom derivative accepts (adjoint, result, *operands, **properties)."""
    if any(parameter.operand.many for parameter in row.parameters):
        raise OperandError(
            f"Operator '{row.name}': an operand that is a list has the derivative of the composition. "
            "Leave derivative= out."
        )
    try:
        inspect.signature(derivative).bind(None, None, *row.operand_names, **dict.fromkeys(row.property_names))
    except TypeError:
        arguments = ", ".join(["adjoint", "result", *row.operand_names, *row.property_names])
        raise OperandError(f"Operator '{row.name}': its derivative is called as f({arguments}). Take these.") from None
    except ValueError:  # some builtins have no signature
        return


def validate_gradients(who: str, result: Any, operands: Mapping[str, TensorNode | None]) -> list[TensorNode | None]:
    """Validate the result of a custom derivative: one tensor for each operand, of its shape, or None.

    Raises ArityError, OperandError or ShapeError otherwise.
    """
    gradients = list(result) if isinstance(result, (list, tuple)) else [result]
    if len(gradients) != len(operands):
        raise ArityError(
            f"{who}: its derivative gives {len(gradients)} of {len(operands)} gradients, for {', '.join(operands)}. "
            "Return one for each, in their order; None for one that has none."
        )
    return [
        None if gradient is None or operand is None else _validate_gradient(who, name, operand, gradient)
        for (name, operand), gradient in zip(operands.items(), gradients)
    ]


def _validate_gradient(who: str, name: str, operand: TensorNode, gradient: Any) -> TensorNode:
    try:
        tensor = as_tensor(gradient)
    except NaiveGraphError as error:
        raise OperandError(
            f"{who}: its derivative gives no tensor for {name}: {error} Build it of the adjoint."
        ) from None
    if tensor.shape != operand.shape:
        mend = f"Sum it over the axes along which {name} was spread" if tensor.size > operand.size else "Spread it"
        raise ShapeError(
            f"{who}: its derivative gives {name} a gradient of shape {tensor.shape}, and {name} has shape "
            f"{operand.shape}. {mend}."
        )
    return tensor
