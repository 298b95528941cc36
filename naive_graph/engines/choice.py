"""Which engine runs: the one asked for by name, or the one that pays.

Compiled code pays once it has run often enough. So a plan starts on the
reference engine, and moves to machine code when the reference engine has spent
as long on it as compiling will take: whatever comes next, the choice costs at
most about twice what the better engine would have cost from the start.
"""

from __future__ import annotations

import os
from functools import cache as once
from importlib import import_module
from importlib.util import find_spec
from types import ModuleType
from weakref import WeakKeyDictionary

from ..errors import EngineError
from ..plan import Plan
from . import reference

ENGINES = ("reference", "native")
LARGEST = 500  # steps; straight-line code for more takes seconds to compile
PATIENCE = 25_000  # steps run by the reference engine (some 2 us each) before compiling (some 50 ms) pays
_steps_run: WeakKeyDictionary[Plan, int] = WeakKeyDictionary()


class Setting:
    """The engine that runs where none is named; None chooses. $NAIVE_GRAPH_ENGINE sets it from outside."""

    default: str | None = os.environ.get("NAIVE_GRAPH_ENGINE") or None


def engine_named(name: str | None, plan: Plan) -> ModuleType:
    """The engine of that name; None chooses one for the plan.

    Raises EngineError if there is none of that name, and MissingToolError from
    the engine's first run if it needs a tool that is not installed.
    """
    name = Setting.default if name is None else name
    if name is None:
        return _paying(plan)
    if name not in ENGINES:
        known = ", ".join(repr(each) for each in ENGINES)
        raise EngineError(f"There is no engine {name!r}. The engines are: {known}.")
    return _engine(name)


def _paying(plan: Plan) -> ModuleType:
    steps = _steps_run.get(plan, 0)
    if steps <= PATIENCE:
        _steps_run[plan] = steps + len(plan)
        return reference
    if len(plan) > LARGEST or not _can_compile() or not _engine("native").compiles(plan):
        return reference
    return _engine("native")


@once
def _engine(name: str) -> ModuleType:
    return import_module(f".{name}", __package__)


@once
def _can_compile() -> bool:
    return find_spec("llvmlite") is not None
