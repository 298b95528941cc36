"""Kinds of operator property: validators that check a value and convert it to a canonical form.

A kind is the annotation of a parameter: `strides: Pair = 1` takes 2 or (2, 1), and the operator gets (2, 2) or
(2, 1). Python's `float`, `int`, `bool` and `str` are kinds, too; `Annotated[float, between(0, 1)]`
defines a new one. A parameter without a kind is an operand (a tensor).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Annotated, Any, NamedTuple, TypeVar

import numpy as np

from ...core.number import number, shortened
from ...errors import NaiveGraphError
from ..base import TensorNode
from ..nodes import LeafNode, LeafType


class Kind(NamedTuple):
    """A kind of property. what: its description in messages. take: validates and converts a value.

    `take` raises some error if a value is invalid; the caller makes the message of it.
    """

    what: str
    take: Callable[[Any], Any]

    def __or__(self, other: Kind | None) -> Kind:
        """Either of two kinds; `kind | None` also takes None."""
        if other is None:
            return Kind(f"{self.what}, or None", lambda value: None if value is None else self.take(value))
        return Kind(f"{self.what}, or {other.what}", lambda value: _take_first_fitting([self, other], value))


Value = TypeVar("Value")
LARGEST = 2**53  # beyond it a float64, which tensors hold, skips whole numbers


class InvalidValue(Exception):
    """Raised by a kind's `take` for an invalid value; the message is made from the kind's description."""


def require_fit(value: Value, is_valid: object) -> Value:
    """Return the value. Raises InvalidValue unless `is_valid`."""
    if not is_valid:
        raise InvalidValue
    return value


class Operand(NamedTuple):
    """A parameter that is a tensor, or a list of tensors."""

    optional: bool = False  # whether it may be left out (None)
    many: bool = False  # whether it is a list


def require_known(value: Any) -> Any:
    """The number or array of a constant tensor given as a property. Raises an error if it is known only at run time."""
    if not isinstance(value, TensorNode):
        return value
    if not isinstance(value, LeafNode) or value.leaf_type != LeafType.CONSTANT:
        raise InvalidValue(f"{value.label} is not known until run time. Give numbers, or LeafNode.constant(...)")
    array = np.asarray(value.value)
    return array.item() if array.ndim == 0 else array


# --- numbers ------------------------------------------------------------------


def between(low: float, high: float, open_low: bool = False) -> Kind:
    """A real number from low to high.

    >>> share = between(0.0, 1.0)
    >>> share.what, share.take(1)
    ('a number from 0.0 to 1.0', 1.0)
    """
    low, high = number(low, "between"), number(high, "between")

    def take(value: Any) -> float:
        result = number(require_known(value))
        return require_fit(result, (low < result if open_low else low <= result) and result <= high)

    upwards = "and up" if high == np.inf else f"to {high}"
    return Kind(f"a number {'above' if open_low else 'from'} {low} {upwards}", take)


def to_int(value: Any) -> int:
    """An int; a constant tensor of one whole float counts too."""
    if isinstance(value, TensorNode):
        value = require_known(value)
        if isinstance(value, float) and value.is_integer():
            value = int(value)
    require_fit(value, isinstance(value, (int, np.integer)) and not isinstance(value, bool))
    return int(require_fit(value, -LARGEST <= value <= LARGEST))


def int_from(least: int) -> Kind:
    """A kind: an int of at least `least`."""

    def take(value: Any) -> int:
        number = to_int(value)
        return require_fit(number, number >= least)

    return Kind(f"a whole number from {least} on", take)


def to_ints(value: Any) -> tuple[int, ...]:
    """A tuple of ints, from a list, an array, or one int."""
    if isinstance(value, TensorNode):
        entries = map(float, np.ravel(require_known(value)))
        value = [int(entry) if entry.is_integer() else to_int(entry) for entry in entries]
    if isinstance(value, np.ndarray):
        value = [*value.reshape(-1)]
    return tuple(map(to_int, value)) if isinstance(value, (list, tuple, range)) else (to_int(value),)


def one_of(*choices: Any) -> Kind:
    """One of a few texts or numbers.

    >>> one_of("sum", "mean").what
    "one of 'sum', 'mean'"
    """

    def take(value: Any) -> Any:
        for choice in choices:
            if type(value) is type(choice) and value == choice:
                return choice
        raise InvalidValue

    return Kind(f"one of {', '.join(map(shortened, choices))}", take)


def int_tuple(count: int, least: int) -> Kind:
    """A kind: `count` ints of at least `least`, or one for all."""

    def take(value: Any) -> tuple[int, ...]:
        numbers = to_ints(value)
        numbers = numbers * count if len(numbers) == 1 else numbers
        return require_fit(numbers, len(numbers) == count and min(numbers) >= least)

    return Kind(f"a whole number from {least} on, or {count} of them", take)


def _distinct_ints(value: Any) -> tuple[int, ...]:
    numbers = to_ints(value)
    return require_fit(numbers, len(set(numbers)) == len(numbers))


def _shape(value: Any) -> tuple[int, ...]:
    """The extents of a shape, of which one may be -1 (inferred); an empty list is the shape of a single number."""
    extents = to_ints(value) if not (isinstance(value, (list, tuple)) and not value) else ()
    return require_fit(extents, extents.count(-1) <= 1 and min(extents, default=1) >= -1 and 0 not in extents)


def _index_array(value: Any) -> Any:
    """An array of whole numbers; a tensor that is not known yet stays a tensor."""
    if isinstance(value, TensorNode):
        if not isinstance(value, LeafNode) or value.leaf_type != LeafType.CONSTANT:
            return value
        value = value.value
    table = np.asarray(value)
    if table.dtype.kind == "f" and (table == np.floor(table)).all() and np.isfinite(table).all():
        table = table.astype(np.int64)  # tensors hold whole numbers as floats
    return require_fit(table, table.dtype.kind in "iu" and table.size).astype(np.int64)


def _padding(value: Any) -> Any:
    """A padding mode, or the widths [top, left, bottom, right]; one number stands for all four."""
    if isinstance(value, str):
        return require_fit(value, value in ("VALID", "SAME", "SAME_UPPER", "SAME_LOWER"))
    widths = to_ints(value)
    widths = widths * 4 if len(widths) == 1 else widths
    return require_fit(widths, len(widths) == 4 and min(widths) >= 0)


def _pairs(value: Any) -> tuple[tuple[int, ...], ...]:
    """Pairs of whole numbers: [[a, b], [c, d]]."""
    value = require_known(value)
    pairs = tuple(tuple(map(int if isinstance(value, np.ndarray) else to_int, pair)) for pair in value)
    return require_fit(pairs, all(len(pair) == 2 for pair in pairs))


def _take_first_fitting(kinds: Iterable[Kind], value: Any) -> Any:
    for kind in kinds:
        try:
            return kind.take(value)
        except (InvalidValue, NaiveGraphError, TypeError, ValueError):
            continue
    raise InvalidValue


REAL = Kind("a real number", lambda value: number(require_known(value)))
WHOLE = Kind("a whole number", to_int)
FLAG = Kind("True or False", lambda value: bool(require_fit(value, isinstance(value, (bool, np.bool_)))))
TEXT = Kind("a text", lambda value: require_fit(value, value and isinstance(value, str)))
WHOLES = Kind("a list of whole numbers", to_ints)
KNOWN = Kind(
    "an array of whole numbers that is known when the node is built", lambda value: _index_array(require_known(value))
)

PLAIN: dict[Any, Kind] = {float: REAL, int: WHOLE, bool: FLAG, str: TEXT, float | None: REAL | None}

# Annotations of operands, then of properties; "Maybe..." also takes None. Places are integer indices along an axis.
Tensor = Annotated[Any, Operand()]
Maybe = Annotated[Any, Operand(optional=True)]
Tensors = Annotated[Sequence[Any], Operand(many=True)]
Axis = Annotated[int, Kind("an axis of the tensor, a whole number", to_int)]
Axes = Annotated[Any, Kind("an axis, or several different ones", _distinct_ints) | None]
Size = Annotated[int, int_from(1)]
MaybeSize = Annotated[Any, int_from(1) | None]
Count = Annotated[int, int_from(0)]
Pair = Annotated[Any, int_tuple(2, 1)]
MaybePair = Annotated[Any, int_tuple(2, 1) | None]
Padding = Annotated[Any, Kind('"VALID", "SAME", "SAME_LOWER", a number, or [top, left, bottom, right]', _padding)]
Layout = Annotated[str, one_of("NHWC", "NCHW")]
Wholes = Annotated[Any, WHOLES]
MaybeWholes = Annotated[Any, WHOLES | None]
MaybeReal = Annotated[Any, REAL | None]
MaybeWhole = Annotated[Any, WHOLE | None]
Shape = Annotated[Any, Kind("a list of whole numbers from 1 on, of which one may be -1", _shape)]
Places = Annotated[Any, Kind("an array of whole numbers", _index_array)]
KnownPlaces = Annotated[Any, KNOWN]
Pairs = Annotated[Any, Kind("a pair of whole numbers for each axis", _pairs)]
Positive = Annotated[float, between(0.0, np.inf, open_low=True)]
Least0 = Annotated[float, between(0.0, np.inf)]
Rate = Annotated[float, between(0.0, 1.0)]
