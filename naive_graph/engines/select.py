"""Select the engine that runs a graph: the one named by the user, or the one that pays (tiered compilation).

An engine with a plan has `evaluate(plan, values)` and `differentiate(plan, values,
seeds, wanted)`, as core/sweep.py has; the direct engine works on the tables. Inside
`watched`, the watcher is the engine.

Compiled code pays only after enough runs. So a process starts on the reference
engine, and switches to the direct engine (machine code that serves all graphs) when
the reference engine has spent about as long as compiling will take. A small graph
that runs very often switches to compiled code of its own in the same way
(`graph/jit.py`). Whatever comes next, this costs at most about twice what the better
engine would have cost from the start. No run that leaves the choice to the
graph waits for the compiler: a background thread compiles (`core/background.py`), and
a later run switches. Only the first run of a very large graph waits, before it takes the
lock: the reference engine would need longer, and memory that the machine may not have.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache as once
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from ..core import sweep
from ..core.background import BackgroundTask
from ..core.optional_deps import GcPause, defer_sigint, door
from ..core.origin import user_stacklevel
from ..core.plan import Plan
from ..core.tables import Tables
from ..errors import EngineError, EngineWarning, MissingToolError

Engine = Any
ENGINES = ("reference", "direct", "runs", "compiled")
FORMER = {"tape": "compiled", "native": "compiled"}  # former names of engines -> their present names
LARGEST = 400  # steps; straight-line code for more takes seconds to compile
PATIENCE = 25_000  # rows of the reference engine (some 3 us each) before compiling (50 ms; 1 s the first time) pays
VERY_LARGE = 1_000_000  # rows: the reference engine takes some 4 s and 0.7 GB for them
ROWS_AT_ONCE = 50  # the direct engine runs so many rows in about the time that a call takes
WATCHERS: list[Engine] = []  # engines that record runs; the last is in use: see `watched`
RUN = "rows run"  # the graph's own count, in its cache, which is cleared when the graph changes


class Setting:
    """The engine that runs where none is named; None chooses. $NAIVE_GRAPH_ENGINE sets it from outside."""

    default: str | None = os.environ.get("NAIVE_GRAPH_ENGINE") or None
    rows_run = 0  # by the whole process, through any graph


def engine_named(name: str | None) -> str | None:
    """Check an engine's name; a former name is replaced by the present one, with a warning the first time.

    Raises EngineError if there is no engine of that name.
    """
    if isinstance(name, str) and name in FORMER:
        _warn_of_former(name)
        return FORMER[name]
    if name not in (None, *ENGINES):
        engine_names = ", ".join(map(repr, ENGINES))
        raise EngineError(f"There is no engine {name!r}. The engines are: {engine_names}.")
    return name


@once
def _warn_of_former(name: str) -> None:
    message = f"The engine {name!r} is called {FORMER[name]!r} now."
    warnings.warn(EngineWarning(message), stacklevel=user_stacklevel())


def engine_without_plan(name: str | None, tables: Tables) -> Engine | None:
    """The direct engine, if any engine but "reference" is named, or if none is and it pays by now.

    None if the graph must run on an engine with a plan.
    """
    name = engine_named(Setting.default if name is None else name)
    if WATCHERS or tables.unset or name == "reference":
        return None
    before = tables.cached(RUN) or 0
    if name is None:
        Setting.rows_run += len(tables)
    waits = name is None and (
        Setting.rows_run <= PATIENCE or tables.cached(sweep.REFERENCE_ONLY) or not (AHEAD.is_done() and AHEAD.result())
    )
    engine = None if waits else _direct()
    tables.cache[RUN] = before + len(tables)
    return engine


def compile_for_large_graph() -> None:
    """Compile the direct engine now, if it may run and is not compiled yet. The caller holds no graph's lock."""
    if Setting.default is None and not WATCHERS:
        AHEAD.result()


def should_compile(tables: Tables) -> bool:
    """Whether this graph has run often enough to be compiled by itself; a larger graph must have run more rows.

    If the default engine is "compiled", always.
    """
    often = tables.cache.get(RUN, 0) > PATIENCE * max(1, len(tables) // ROWS_AT_ONCE)
    return engine_named(Setting.default) == "compiled" or (often and Setting.default is None)


def engine_with_plan(name: str | None) -> Engine:
    """The engine for a plan: the current watcher, or else the reference engine (`core.sweep`).

    Raises EngineError if there is no engine of that name.
    """
    engine_named(Setting.default if name is None else name)
    return WATCHERS[-1] if WATCHERS else sweep


@contextmanager
def watched(watcher: Engine) -> Iterator[None]:
    """Run everything inside on this engine, which records the run."""
    WATCHERS.append(watcher)
    try:
        yield
    finally:
        WATCHERS.remove(watcher)


def is_short(plan: Plan, most: int) -> bool:
    """Whether straight-line code for the plan is: at most so many steps, of some four operands, and none very wide."""
    degrees = map(int.__sub__, plan.starts[1:], plan.starts[:-1])
    return len(plan) <= most and sum(degree * (1 + degree // 32) for degree in degrees) <= 4 * most


@once
def _direct() -> Engine:
    with door():
        from .llvm.compile import LOCK

        with LOCK:  # forks wait for this lock: a child must not inherit a module that is half imported
            engine = import_module(".direct.engine", __package__)
            engine.shared_kernel()
        return engine


@once
def _can_compile() -> bool:
    try:
        with defer_sigint(), GcPause():
            from .llvm.compile import llvmlite

            llvmlite()
    except MissingToolError:
        return False
    return find_spec("numpy") is not None


# Compiles the direct engine ahead of its first run.
AHEAD = BackgroundTask(lambda: _direct() if _can_compile() else None)
