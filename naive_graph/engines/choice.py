"""Which engine runs: the one asked for by name, or the one that pays.

An engine has `evaluate(plan, values)` and `differentiate(plan, values, seeds,
wanted)`, as reference.py has. While somebody watches, the watcher is the engine.

Compiled code pays once it has run often enough. So a process starts on the
reference engine, and moves to the direct engine, which is compiled for no graph,
when the reference engine has spent as long as getting it ready will take. A
graph that is run again and again moves on to code of its own in the same way:
whatever comes next, the choice costs at most about twice what the better engine
would have cost from the start.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache as once
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from ..core import reference
from ..core.imports import door, uninterrupted
from ..core.plan import Plan
from ..core.tables import Tables
from ..errors import EngineError, MissingToolError

Engine = Any
ENGINES = {  # name -> module
    "reference": "..core.reference", "direct": ".direct.engine", "tape": ".tape.engine", "native": ".native",
}  # fmt: skip
LARGEST = 400  # steps; straight-line code for more takes seconds to compile, and the tape is as quick
PATIENCE = 25_000  # rows run by the reference engine (some 3 us each) before compiling (some 50 ms) pays
ROWS_AT_ONCE = 50  # that the direct engine runs in about the time that it takes to call it
WATCHERS: list[Engine] = []
OPAQUE = "direct cannot"  # kept in the cache of a graph that has a rule which direct cannot compile
RUN = "rows run"  # through this very graph, kept in its cache: a graph that changes starts anew


class Setting:
    """The engine that runs where none is named; None chooses. $NAIVE_GRAPH_ENGINE sets it from outside."""

    default: str | None = os.environ.get("NAIVE_GRAPH_ENGINE") or None
    rows_run = 0  # by the whole process, through any graph


def without_plan(name: str | None, tables: Tables) -> Engine | None:
    """The direct engine, which needs no plan, if it is asked for or pays; None where a plan is needed."""
    name = Setting.default if name is None else name
    if WATCHERS or tables.unset or name not in (None, "direct"):
        return None
    before = tables.kept(RUN) or 0
    if name is None:
        Setting.rows_run += len(tables)
        if before > patience(tables) or Setting.rows_run <= PATIENCE or tables.kept(OPAQUE) or not _can_compile():
            tables.cache[RUN] = before + len(tables)
            return None
    engine = _engine("direct")
    engine.settle(tables)
    tables.cache[RUN] = before + len(tables)
    return engine


def patience(tables: Tables) -> int:
    """Rows that one graph may run before code of its own pays: the more rows, the longer that takes to compile."""
    return PATIENCE * max(1, len(tables) // ROWS_AT_ONCE)


def engine_named(name: str | None, plan: Plan, tables: Tables) -> Engine:
    """The engine of that name; None chooses one for the plan.

    Raises EngineError if there is none of that name, and MissingToolError from
    the engine's first run if it needs a tool that is not installed.
    """
    name = Setting.default if name is None else name
    if name is not None and name not in ENGINES:
        known = ", ".join(repr(each) for each in ENGINES)
        raise EngineError(f"There is no engine {name!r}. The engines are: {known}.")
    if WATCHERS:
        return WATCHERS[-1]
    if name in ("reference", "direct"):
        return reference  # which sees to what direct could not run
    return _paying(plan, tables) if name is None else _engine(name)


def is_native(engine: Engine) -> bool:
    """Whether this is the engine of straight-line code."""
    return getattr(engine, "__name__", "") == f"{__package__}.native"


@contextmanager
def watched(watcher: Engine) -> Iterator[None]:
    """Let every run inside go through this engine, which keeps what happens."""
    WATCHERS.append(watcher)
    try:
        yield
    finally:
        WATCHERS.remove(watcher)


def _paying(plan: Plan, tables: Tables) -> Engine:
    if tables.cache.get(RUN, 0) <= patience(tables) + len(tables) or not _can_compile():
        return reference
    engine = _engine("native" if is_short(plan, LARGEST) else "tape")
    return engine if engine.compiles(plan) else reference


def is_short(plan: Plan, most: int) -> bool:
    """Whether straight-line code for the plan is: at most so many steps, of some four operands, and none very wide."""
    degrees = map(int.__sub__, plan.starts[1:], plan.starts[:-1])
    return len(plan) <= most and sum(degree * (1 + degree // 32) for degree in degrees) <= 4 * most


@once
def _engine(name: str) -> Engine:
    with door():
        return import_module(ENGINES[name], __package__)


@once
def _can_compile() -> bool:
    try:
        with uninterrupted():
            from .llvm.compile import llvmlite

            llvmlite()
    except MissingToolError:
        return False
    return find_spec("numpy") is not None
