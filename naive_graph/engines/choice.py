"""Which engine runs: the one asked for by name, or the best that is there."""

from __future__ import annotations

from types import ModuleType

from ..errors import EngineError
from . import reference

ENGINES = {"reference": reference}


def engine_named(name: str | None) -> ModuleType:
    """The engine of that name; None chooses."""
    if name is None:
        return reference
    if name not in ENGINES:
        known = ", ".join(repr(each) for each in ENGINES)
        raise EngineError(f"There is no engine {name!r}. The engines are: {known}.")
    return ENGINES[name]
