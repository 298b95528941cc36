"""Parse an operator function's signature into operands (tensors) and properties, with their kinds and defaults.

A property's annotation names its kind (properties.py); a parameter without one, or with a tensor
type or an `Operand` as its annotation, is an operand.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Hashable
from typing import Annotated, Any, Literal, NamedTuple, get_args, get_origin, get_type_hints

from ...core.number import is_endless, shortened
from ...errors import NaiveGraphError, OperandError, PropertyError
from ..base import TensorNode
from .properties import PLAIN, InvalidValue, Kind, Operand, one_of

MISSING = inspect.Parameter.empty
LONGEST_RANGE = 1_000_000  # the longest `range` in a property's value; a list may be longer
MOST_PARTS_CHECKED = 100  # in lists shorter than this, each entry is checked for a `range` that is too long


class OperatorParameter(NamedTuple):
    """A parameter of an operator: an operand (kind is None), or a property of some kind."""

    name: str
    kind: Kind | None
    operand: Operand
    default: Any

    def keeps(self, node: TensorNode) -> bool:
        """Whether the property stays a tensor, whose value is known only at run time (indices may)."""
        try:
            return self.kind is not None and self.kind.take(node) is node
        except (InvalidValue, NaiveGraphError, TypeError, ValueError):
            return False


def parse_parameters(who: str, function: Callable[..., Any]) -> list[OperatorParameter]:
    """Parse a function's parameters. who: the operator's name. Raises OperandError, PropertyError for a default."""
    try:
        kinds = get_type_hints(function, include_extras=True)
    except NameError as error:
        raise OperandError(f"Operator '{who}': a kind in its signature is not known: {error}.") from None
    parameters = []
    for parameter in inspect.signature(function).parameters.values():
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD) or parameter.name == "name":
            raise OperandError(
                f"Operator '{who}': parameter '{parameter}' cannot be one of an operator. Write each by its name, "
                "and a list of tensors as `xs: Tensors`; `name` is taken."
            )
        kind, operand = interpret_annotation(who, parameter.name, kinds.get(parameter.name))
        default = parameter.default
        if kind is None and default is None:
            operand = operand._replace(optional=True)
        elif kind is None and default is not MISSING:
            declaration = f"{parameter.name}: {type(default).__name__} = {default!r:.60}"
            raise OperandError(
                f"Operator '{who}': '{parameter.name}' has no kind, so it is an operand, and its default can only "
                f"be None. Is it a property? Then say its kind: {declaration}."
            )
        if kind is not None and default is not MISSING:
            default = validate_property(who, OperatorParameter(parameter.name, kind, operand, default), default)
        parameters.append(OperatorParameter(parameter.name, kind, operand, default))
    return parameters


def interpret_annotation(who: str, name: str, hint: Any) -> tuple[Kind | None, Operand]:
    """Interpret an annotation: the kind of a property, or None and the kind of operand. Raises OperandError."""
    if get_origin(hint) is Annotated:
        for annotation in get_args(hint)[1:]:
            if isinstance(annotation, Kind):
                return annotation, Operand()
            if isinstance(annotation, Operand):
                return None, annotation
    if isinstance(hint, Hashable) and hint in PLAIN:
        return PLAIN[hint], Operand()
    if get_origin(hint) is Literal:
        return one_of(*get_args(hint)), Operand()
    if all(argument in (None, Any, type(None)) or _is_tensor_type(argument) for argument in get_args(hint) or [hint]):
        return None, Operand()
    kinds = ", ".join(getattr(kind, "__name__", str(kind)) for kind in PLAIN)
    raise OperandError(
        f"Operator '{who}': '{name}: {getattr(hint, '__name__', hint)}' says no kind of property. Write one of "
        f"{kinds}, or Annotated[float, between(0.0, 1.0)]; of an operand, nothing."
    )


def _is_tensor_type(hint: Any) -> bool:
    return isinstance(hint, type) and issubclass(hint, TensorNode)


def validate_property(who: str, parameter: OperatorParameter, value: Any) -> Any:
    """Validate and normalize a property's value. Raises PropertyError unless its kind accepts it."""
    assert parameter.kind is not None
    try:
        parts = value if isinstance(value, (list, tuple)) and len(value) < MOST_PARTS_CHECKED else [value]
        if any(is_endless(part, LONGEST_RANGE) for part in parts):
            raise InvalidValue
        return parameter.kind.take(value)
    except (InvalidValue, NaiveGraphError, TypeError, ValueError, OverflowError) as error:
        reason = f" {error}." if isinstance(error, InvalidValue) and error.args else ""
        raise PropertyError(
            f"{who}: {parameter.name} is {parameter.kind.what}, not {describe_value(value)}.{reason}"
        ) from None


def describe_value(value: Any) -> str:
    """A value as text for a message, shortened, after its type."""
    return f"{type(value).__name__} {shortened(value)}"
