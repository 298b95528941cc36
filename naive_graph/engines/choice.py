"""Which engine runs: the one asked for by name, or the best that is there.

An engine has `evaluate(plan, values)` and `differentiate(plan, values, seeds,
wanted)`, as reference.py has. While somebody watches, the watcher is the engine.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from ..errors import EngineError
from . import reference

Engine = Any
ENGINES = {"reference": reference}
WATCHERS: list[Engine] = []


def engine_named(name: str | None) -> Engine:
    """The engine of that name; None chooses."""
    if name is not None and name not in ENGINES:
        known = ", ".join(repr(each) for each in ENGINES)
        raise EngineError(f"There is no engine {name!r}. The engines are: {known}.")
    if WATCHERS:
        return WATCHERS[-1]
    return reference if name is None else ENGINES[name]


@contextmanager
def watched(watcher: Engine) -> Iterator[None]:
    """Let every run inside go through this engine, which keeps what happens."""
    WATCHERS.append(watcher)
    try:
        yield
    finally:
        WATCHERS.remove(watcher)
