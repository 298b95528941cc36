"""Conversion and validation of arguments: numbers to Python floats, lists, switches, whole numbers."""

from __future__ import annotations

import math
from collections.abc import Mapping, Set
from contextlib import suppress
from decimal import Decimal
from numbers import Real
from operator import index
from typing import Any

from ..errors import NumberError, OperandError


def number(value: object, who: str = "A node") -> float:
    """The float that `value` stands for.

    Accepts int, float, Fraction, Decimal, NumPy scalars and arrays without axes. Refuses bool, str,
    None, complex and arrays, which are mistakes more often than numbers, and
    whole numbers beyond the range of a float.

    >>> from fractions import Fraction
    >>> number(Fraction(1, 4))
    0.25
    >>> number(True)
    Traceback (most recent call last):
    naive_graph.errors.NumberError: A node takes a real number, not bool True. Write 1.0.
    """
    if type(value) is float:
        return value
    if getattr(value, "shape", None) == () and hasattr(value, "item"):
        _check_mask(value, who)
        value = value.item()  # an array without axes is a number
    if isinstance(value, bool) or not isinstance(value, (Real, Decimal)):
        raise NumberError(_refusal(value, who))
    try:
        result = float(value)
    except (OverflowError, ValueError) as error:
        raise NumberError(_out_of_range(value, who)) from error
    if math.isinf(result) and result != value:  # a Decimal may exceed every float and be finite
        raise NumberError(_out_of_range(value, who))
    return result


def floats(array: Any, who: str) -> Any:
    """A NumPy array as float64. Raises NumberError for masked entries, and for numbers beyond the range of a float."""
    import numpy as np

    _check_mask(array, who)
    if array.dtype == np.float64:
        return array
    with np.errstate(over="ignore"):
        converted = array.astype(np.float64)
    if array.dtype.itemsize > converted.dtype.itemsize and (np.isinf(converted) & np.isfinite(array)).any():
        raise NumberError(_out_of_range(array[np.isinf(converted) & np.isfinite(array)][0], who))
    return converted


def _check_mask(array: Any, who: str) -> None:
    mask = getattr(array, "mask", None)
    if mask is not None and str(getattr(mask, "dtype", "")) == "bool" and mask.any():
        raise NumberError(f"{who} takes no masked entries. Choose numbers for them: values.filled(0.0).")


def as_list(things: Any, who: str, what: str) -> list[Any]:
    """The things as a list. Raises OperandError if they are not iterable. what: such as "a list of nodes".

    >>> as_list((1, 2), "sum", "a list of numbers")
    [1, 2]
    """
    has_order = not isinstance(things, (str, bytes, Mapping, Set))
    if has_order and is_iterable(things) and not is_endless(things):
        return list(things)
    raise OperandError(f"{who} takes {what}, not {type(things).__name__} {shortened(things)}.")


def is_iterable(things: Any) -> bool:
    """Whether `for` takes it; an array without axes has `__iter__`, and is refused.

    A TypeError of the learner's own, raised while a generator makes its items, is not taken for a refusal.
    """
    if not (hasattr(type(things), "__iter__") or hasattr(type(things), "__len__")):
        return False  # a node, too, whose [0] raises an error
    try:
        iter(things)
    except TypeError:
        return False
    return True


def is_endless(things: object, most: int = 50_000_000) -> bool:
    """Whether it is a range of more than `most` numbers: listing it could take minutes and all memory.

    >>> is_endless(range(10)), is_endless(range(10**12))
    (False, True)
    """
    return isinstance(things, range) and abs(things.stop - things.start) > most * abs(things.step)


def switch(value: Any, who: str) -> bool:
    """True or False. Raises OperandError if the value is neither, nor 0 or 1."""
    if isinstance(value, int) or type(value).__name__ == "bool_":
        return bool(value)
    raise OperandError(f"{who} is True or False, not {type(value).__name__} {shortened(value)}.")


def whole(value: Any, who: str, least: int = 0) -> int:
    """The value as an int. Raises OperandError unless it is a whole number of at least `least`."""
    with suppress(TypeError):
        if not isinstance(value, bool) and (integer := index(value)) >= least:
            return integer
    raise OperandError(f"{who} is a whole number from {least} on, not {type(value).__name__} {shortened(value)}.")


def _refusal(value: object, who: str) -> str:
    kind = type(value).__name__
    article = f"{who} takes a real number, not {kind}"
    if isinstance(value, bool):
        return f"{article} {value}. Write {float(value)}."
    if isinstance(value, str):
        return f"{article} {shortened(value)}. Convert it first: float(text)."
    if isinstance(value, complex):
        return f"{article} {value}. Use its parts: z.real and z.imag."
    if value is None:
        return f"{article}. Does a function before it forget to return?"
    if mend := getattr(type(value), "in_expressions", ""):  # of a Model's Parameter
        return f"{article}. {mend}."
    if hasattr(value, "shape") or hasattr(value, "__len__"):
        return f"{article}. A node is a single number: make one node for each element."
    return f"{article}. Convert it first: float(value)."


def _out_of_range(value: object, who: str) -> str:
    return (
        f"{who} takes a number that a float can hold (up to about 1.8e308), not the "
        f"{type(value).__name__} {shortened(value)}. Scale it down first."
    )


def shortened(value: object) -> str:
    """The value as error messages show it: at most one line, and never an error of its own."""
    try:
        text = " ".join(repr(value).split())
    except ValueError:  # Python refuses to print ints of over 4,300 digits
        return "of thousands of digits"
    return text if len(text) <= 60 else f"{text[:56]}... ({len(text)} characters)"
