"""Validate the arguments of layers and networks: names, types, bounds, and the messages for wrong ones."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from numbers import Integral, Real
from typing import Any, NamedTuple

from ..core.did_you_mean import suggest
from ..core.number import shortened
from ..errors import SequentialError


class WrongArgument(Exception):
    """Raised by a validator: the error code, and a phrase for what the value must be."""

    def __init__(self, code: str, expected: str) -> None:
        self.code = code
        self.expected = expected


REQUIRED = inspect.Parameter.empty  # the default of a field without one


KERAS_HINTS = {  # for arguments that layers have in Keras, but not here
    "activation": ', which is a layer of its own: Activation("relu")',
    "input_shape": ", which is the network's: Sequential([...], input_shape)",
}


class Field(NamedTuple):
    """One argument: its name, its validator (which returns the converted value), and its default."""

    name: str
    validate: Callable[[Any], Any]
    default: Any = REQUIRED


def bind(layer_name: str, fields: Sequence[Field], args: Sequence[Any], kwargs: Mapping[str, Any]) -> dict[str, Any]:
    """Bind arguments to fields, and check them. Raises SequentialError, whose `argument` says which one is wrong.

    >>> bind("Dense", [Field("units", int_at_least(1)), Field("use_bias", zero_or_one, 1)], [3], {})
    {'units': 3, 'use_bias': 1}
    """
    names = [field.name for field in fields]
    known = ", ".join(names) or "none"
    if len(args) > len(fields):
        most = f"at most {len(fields)} argument{'s' * (len(fields) != 1)}"
        raise SequentialError(
            "ARG_COUNT", f"it takes {most} ({known}), not {len(args)}.", layer_name, argument=len(fields)
        )
    values = dict(zip(names, args))
    for name, value in kwargs.items():
        if name not in names:
            suggestion = suggest(name, names, " (did you mean {}?)") or KERAS_HINTS.get(name, "")
            raise SequentialError(
                "ARG_COUNT",
                f"it has no argument {name}{suggestion}. It has {known}.",
                layer_name,
                argument=name,
            )
        if name in values:
            raise SequentialError("DUPLICATE_ARG", f"{layer_name} is given it twice. Keep one.", name, argument=name)
        values[name] = value
    for index, field in enumerate(fields):
        if field.name in values:
            argument = index if index < len(args) else field.name
            values[field.name] = validate_field(layer_name, field, values[field.name], argument)
        elif field.default is REQUIRED:
            raise SequentialError("ARG_COUNT", f"it needs {field.name}. It has {known}.", layer_name)
        else:
            values[field.name] = field.default
    return {name: values[name] for name in names}


def validate_field(who: str, field: Field, value: Any, argument: int | str | None = None) -> Any:
    """Check and convert one value by its field. Raises SequentialError."""
    try:
        return field.validate(value)
    except WrongArgument as wrong:
        says = f"of {who} it is {wrong.expected}, not {describe_value(value)}."
        raise SequentialError(wrong.code, says, field.name, argument) from None


def describe_value(value: Any) -> str:
    return shortened(value) if isinstance(value, (str, int, float, tuple)) else f"a {type(value).__name__}"


# --- validators --------------------------------------------------------


def is_integer(value: Any) -> bool:
    """Whether a value is an integer (NumPy's too, such as a computed extent), but not a bool."""
    return isinstance(value, Integral) and not isinstance(value, bool)


def is_number(value: Any) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool)


def require(condition: object, code: str, expected: str) -> None:
    """Raise WrongArgument unless the condition holds."""
    if not condition:
        raise WrongArgument(code, expected)


def int_at_least(least: int) -> Callable[[Any], int]:
    """Validator: an int of at least `least`."""
    requirement = f"a whole number of at least {least}"

    def validate(value: Any) -> int:
        require(is_integer(value), "ARG_TYPE", requirement)
        require(value >= least, "ARG_RANGE", requirement)
        return int(value)

    return validate


def int_pair(least: int) -> Callable[[Any], tuple[int, int]]:
    """Validator: two ints (height, width), or one for both."""
    requirement = f"a whole number of at least {least}, or two of them as (down, across)"

    def validate(value: Any) -> tuple[int, int]:
        both = value if isinstance(value, tuple) else (value, value)
        require(len(both) == 2 and all(map(is_integer, both)), "ARG_TYPE", requirement)
        require(min(both) >= least, "ARG_RANGE", requirement)
        return int(both[0]), int(both[1])

    return validate


def zero_or_one(value: Any) -> int:
    """Validator: 0 or 1; False and True are converted."""
    truth = type(value).__name__ in ("bool", "bool_")  # NumPy's, by its two names
    require(truth or isinstance(value, Integral), "ARG_TYPE", "0 or 1")
    require(value in (0, 1), "ARG_RANGE", "0 or 1")
    return int(value)


def positive_fraction(value: Any) -> float:
    """Validator: a number in (0, 1]."""
    require(is_number(value), "ARG_TYPE", "a number over 0 and up to 1")
    require(0 < value <= 1, "ARG_RANGE", "a number over 0 and up to 1")
    return float(value)


def one_of(*names: str) -> Callable[[Any], str]:
    """Validator: one of a few strings."""
    requirement = "one of " + ", ".join(f'"{name}"' for name in names)

    def validate(value: Any) -> str:
        require(isinstance(value, str), "ARG_TYPE", requirement)
        require(value in names, "BAD_VALUE", requirement)
        return str(value)

    return validate


def identifier(value: Any) -> str:
    """Validator: an ASCII identifier, as the network language writes names."""
    requirement = "a name of letters, digits and _, as of a variable"
    require(isinstance(value, str) and value.isidentifier() and value.isascii(), "BAD_VALUE", requirement)
    return str(value)


def shape(value: Any) -> tuple[int, ...]:
    """Validator: the shape of one sample: an int, or (height, width, channels)."""
    requirement = "a whole number of at least 1, or three as (height, width, channels)"
    extents = value if isinstance(value, tuple) else (value,)
    require(len(extents) in (1, 3) and all(map(is_integer, extents)), "ARG_TYPE", requirement)
    require(min(extents) >= 1, "ARG_RANGE", requirement)
    return tuple(map(int, extents))


METHODS = {"gaussRandom": (0.0, 1.0), "uniformRandom": (-0.5, 0.5), "glorotUniform": ()}  # initializers, their defaults
Initializer = float | tuple[Any, ...]


def initializer(value: Any) -> Initializer:
    """Validator: a number for all weights, a random initializer's name, or (name, arguments...)."""
    requirement = f"a number, or a method of {', '.join(METHODS)}, alone or as (name, arguments...)"
    if is_number(value):
        return float(value)
    name, *arguments = value if isinstance(value, tuple) and value else (value,)
    require(isinstance(name, str) and all(map(is_number, arguments)), "ARG_TYPE", requirement)
    require(name in METHODS and len(arguments) <= len(METHODS[name]), "BAD_VALUE", requirement)
    numbers = (*map(float, arguments), *METHODS[name][len(arguments) :])
    wrong = (name == "gaussRandom" and numbers[1] < 0) or (name == "uniformRandom" and numbers[0] > numbers[1])
    require(not wrong, "ARG_RANGE", "gaussRandom (mean, deviation of at least 0) or uniformRandom (lowest, highest)")
    return (name, *numbers)
