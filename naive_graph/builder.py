"""Who builds the nodes: Python, or compiled code once there are many.

Python builds a node in about a microsecond. Once some ten thousand were built,
and llvmlite is installed, compiled operators, methods and leaves take over what
is common and leave the rest to Python: the tables are the same. By themselves they
do so only where they were tested, on Linux with Python 3.11.
`use("python")` and `use("compiled")` choose by hand; the environment variable
NAIVE_GRAPH_BUILDER=python does before the start.
"""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from typing import Any

from .errors import EngineError, MissingToolError
from .handles import Building
from .imports import uninterrupted
from .nodes import INFIX, METHODS_OF_ONE, Constant, Node, PlaceHolder, Variable

_REFLECTED = [f"__r{name[2:]}" for name in INFIX]
_PYTHON: dict[tuple[type, str], Any] = {
    **{(Node, name): getattr(Node, name) for name in (*INFIX, *_REFLECTED, *METHODS_OF_ONE)},
    **{(kind, "__init__"): kind.__dict__["__init__"] for kind in (Constant, Variable, PlaceHolder)},
}


def refusal() -> str | None:
    """Why nodes cannot be built by compiled code here; None if they can."""
    if sys.implementation.name != "cpython" or sys.platform == "win32" or sys.byteorder != "little":
        return "it is written for CPython on Linux and macOS"
    if not getattr(sys, "_is_gil_enabled", lambda: True)():
        return "it relies on the interpreter lock, which this Python does without"
    return None


_made: list[Any] = []  # one, when it is there


def use(choice: str) -> None:
    """Build nodes by "compiled" code from now on, or in "python"."""
    if choice not in ("compiled", "python"):
        raise EngineError(f'Nodes are built by "compiled" code or in "python", not by {choice!r}.')
    if choice == "python":
        methods, Building.invite = _PYTHON, None
    else:
        why = refusal()
        if why is not None:
            raise MissingToolError(f"Nodes cannot be built by compiled code: {why}.")
        from .compiled import Compiled

        if not _made:
            _made.append(Compiled())
        _made[0].begin()
        methods, Building.invite = _made[0].methods, _made[0].invite
    Building.many = None  # whoever chooses has chosen
    for (kind, name), function in methods.items():
        setattr(kind, name, function)


def now() -> str:
    """Who builds the nodes now: "compiled" or "python"."""
    return "python" if Building.invite is None else "compiled"


TESTED = ((3, 11),)  # versions of Python on which compiled code takes over by itself, on Linux


def _when_many() -> None:
    """Many nodes were built: go on with compiled code where it is to be had, and was tested."""
    Building.many = None
    if sys.version_info[:2] in TESTED and sys.platform == "linux":
        with suppress(Exception), uninterrupted():  # building goes on in Python, as before
            use("compiled")


if os.environ.get("NAIVE_GRAPH_BUILDER", "") != "python":
    Building.many = _when_many
