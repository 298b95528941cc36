"""Check arguments that are names."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from ..core.guesses import near
from ..core.number import shortened
from ..errors import ImportModelError


def check_names(given: Any, what: str) -> list[str]:
    """Return a list of names from one name or several. Raises ImportModelError."""
    names = [given] if isinstance(given, str) else given
    if not isinstance(names, (list, tuple, set, frozenset)) or not all(isinstance(each, str) for each in names):
        raise ImportModelError(f"{what}, not {shortened(given)}.")
    return list(names)


def check_parameter_names(given: Any, arrays: Mapping[str, Any], kind: str) -> Collection[str]:
    """Names of arrays of floats with an axis, which are to be parameters. Raises ImportModelError."""
    names = check_names(given, f"parameters are the names of {kind}s")
    for each in names:
        if each not in arrays or arrays[each].dtype.kind != "f" or not arrays[each].ndim:
            raise ImportModelError(f"There is no {kind} {each!r} of floats with an axis.{near(each, arrays)}")
    return names
