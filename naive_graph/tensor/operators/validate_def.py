"""Validation of operator definitions: the decorator's arguments ("facts"), and a custom derivative's results."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any

from ...core.number import shortened
from ...errors import ArityError, NaiveGraphError, OperandError, ShapeError
from ..arithmetic import as_tensor
from ..base import TensorNode
from .examples import Example
from .mapping import ForeignOperator


def _is_list_of(kind: type) -> Callable[[Any], bool]:
    return lambda value: isinstance(value, (list, tuple)) and all(isinstance(part, kind) for part in value)


def _is_interval(value: Any) -> bool:
    return isinstance(value, tuple) and len(value) == 2 and all(type(bound) in (int, float) for bound in value)


# Arguments of an operator definition: name -> (what it must be, for messages; whether a value is that).
FACTS: dict[str, tuple[str, Callable[[Any], bool]]] = {
    "name": ("a text such as 'softclip'", lambda value: isinstance(value, str)),
    "shape": ("a function of the operands' shapes, such as lambda x: x", callable),
    "derivative": ("a function (adjoint, result, *operands, **properties)", callable),
    "onnx": (
        "Onnx(...), or a list of them",
        lambda value: _is_list_of(ForeignOperator)(value) or isinstance(value, ForeignOperator),
    ),
    "tensorflow": (
        "TensorFlow(...), or a list of them",
        lambda value: _is_list_of(ForeignOperator)(value) or isinstance(value, ForeignOperator),
    ),
    "examples": ("a list such as [example((2, 3), axis=0)]", lambda value: _is_list_of(Example)(value)),
    "domain": ("a pair of numbers", _is_interval),
    "smooth": ("True or False", lambda value: isinstance(value, bool)),
    "also": ("a list of names", _is_list_of(str)),
}


def check_definition(who: str, **facts: Any) -> None:
    """Raise OperandError unless every argument of a definition has a valid type; None counts as not given."""
    for name, value in facts.items():
        what, right = FACTS[name]
        if value is not None and not right(value):
            raise OperandError(f"Operator '{who}': {name} is {what}, not {type(value).__name__} {shortened(value)}.")


def check_argument_names(kind: type, facts: Mapping[str, Any]) -> None:
    """Raise OperandError if operators of this kind take no argument of one of these names."""
    parameters = {parameter for base in kind.__mro__[:-1] for parameter in inspect.signature(base.__init__).parameters}  # type: ignore[misc]
    strange = [fact for fact in facts if fact not in parameters & FACTS.keys() | {"since"} & parameters]
    if strange:
        raise OperandError(f"A row says nothing of {strange[0]!r}. It may say: {', '.join(FACTS)}.")


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


def checked_gradients(who: str, found: Any, operands: Mapping[str, TensorNode | None]) -> list[TensorNode | None]:
    """Validate what a custom derivative found: one tensor for each operand, of its shape, or None.

    Raises ArityError, OperandError or ShapeError otherwise.
    """
    slopes = list(found) if isinstance(found, (list, tuple)) else [found]
    if len(slopes) != len(operands):
        raise ArityError(
            f"{who}: its derivative gives {len(slopes)} of {len(operands)} gradients, for {', '.join(operands)}. "
            "Return one for each, in their order; None for one that has none."
        )
    return [
        None if slope is None or operand is None else _checked_gradient(who, name, operand, slope)
        for (name, operand), slope in zip(operands.items(), slopes)
    ]


def _checked_gradient(who: str, name: str, operand: TensorNode, slope: Any) -> TensorNode:
    try:
        tensor = as_tensor(slope)
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
