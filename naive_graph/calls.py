"""The calls of a learner's loop as compiled code, once the short way is there.

    Graph.forward(); Graph.backward(f); x.value -= 0.01 * x.grad; Graph.kill_grad()

Machine code does both sweeps of such a loop in a tenth of a microsecond; the
calls took fifteen times as long. By themselves the compiled ones take over only
where they were tested, on Linux with Python 3.11. `use("python")` and
`use("compiled")` choose by hand. What is asked, and answered, stays the same.
"""

from __future__ import annotations

import ctypes
from array import array
from contextlib import suppress
from typing import Any

from . import quick
from .engines.choice import WATCHERS
from .errors import EngineError, MissingToolError
from .graph import Graph
from .handles import CURRENT, Current
from .imports import uninterrupted
from .nodes import Node, PlaceHolder, Variable
from .plan import Plan
from .quick import Calls
from .tables import ZERO, Tables

_FASTCALL_KEYWORDS = 0x80 | 2
_FOREVER: list[Any] = []  # what compiled code points at
_SIGNATURES = {
    "forward": "*targets, feed=None, engine=None",
    "backward": "y=None, accumulate=False, engine=None",
    "kill_grad": "",
}
_PYTHON: dict[tuple[type, str], Any] = {
    **{(Graph, name): Graph.__dict__[name] for name in _SIGNATURES},
    **{(kind, "value"): kind.__dict__["value"] for kind in (Node, Variable, PlaceHolder)},
    (Node, "grad"): Node.__dict__["grad"],
}
_made: list[dict[tuple[type, str], Any]] = []  # one, when it is there


class _Method(ctypes.Structure):
    """PyMethodDef, of Python's stable interface."""

    _fields_ = [
        ("name", ctypes.c_char_p), ("function", ctypes.c_void_p), ("flags", ctypes.c_int), ("doc", ctypes.c_char_p),
    ]  # fmt: skip


class _Column(ctypes.Structure):
    """PyGetSetDef, of Python's stable interface."""

    _fields_ = [
        ("name", ctypes.c_char_p), ("get", ctypes.c_void_p), ("set", ctypes.c_void_p), ("doc", ctypes.c_char_p),
        ("python", ctypes.c_void_p),
    ]  # fmt: skip


def use(choice: str) -> None:
    """Let the calls of a loop be "compiled" code from now on, or "python"."""
    if choice not in ("compiled", "python"):
        raise EngineError(f'Calls are "compiled" code or "python", not {choice!r}.')
    Calls.chosen = True
    if choice == "python":
        found, Calls.taken = _PYTHON, None
    else:
        if not can_be_compiled():
            raise MissingToolError('Calls are compiled code with CPython 3.11 on Linux. Leave them to "python".')
        if not _made:
            _made.append(_compiled())
        _known[0] = 0  # a short way may have come and gone that nobody told of
        found, Calls.taken = _made[0], _take
    for (kind, name), what in found.items():
        setattr(kind, name, what)


def can_be_compiled() -> bool:
    """Whether Python is one that compiled code may be entered from."""
    from .engines.llvm.compile import is_direct  # which needs no NumPy, as these loops need none

    return is_direct()


def arm(tables: Tables, plan: Plan) -> None:
    """Take the short way from now on, if it can be taken; by compiled calls where they were tested."""
    quick.arm(tables, plan)
    if not Calls.chosen and tables.cache[quick.KEY] is not None:
        Calls.chosen = True
        with suppress(Exception), uninterrupted():  # the loop goes on in Python, as before
            use("compiled")


def now() -> str:
    """What the calls of a loop are now: "compiled" or "python"."""
    return "python" if Calls.taken is None else "compiled"


_known = array("q")  # what compiled code knows
_words: list[Any] = [None]  # the words of the short way that it knows, which must live as long


def _take(words: Any) -> None:
    """Let compiled code take this short way."""
    if _words[0] is not words:
        _words.append(words)
        _known[0] = words.buffer_info()[0]
        del _words[:-1]


def _compiled() -> dict[tuple[type, str], Any]:
    """All of them, by class and name."""
    from .engines.llvm import called, calling
    from .engines.llvm.compile import compiled, llvmlite
    from .engines.llvm.objects import place_of_slot, places

    llvm, python = llvmlite(), ctypes.pythonapi
    for name in calling.FUNCTIONS:
        llvm.add_symbol(name, _address(getattr(python, name)))
    library = compiled(called.text(), optimised=True)
    interpreter = python.PyInterpreterState_Get
    interpreter.restype = ctypes.c_void_p
    objects = {
        "CURRENT": CURRENT, "Node": Node, "WATCHERS": WATCHERS, "float": float, "nothing": None, "true": True,
        "false": False, "zero": ZERO, **{name: getattr(Graph, name) for name in _SIGNATURES},
    }  # fmt: skip
    names = ("cache", "quick", "clock", "written", "grads", "grads_are_blank", "lock", "acquire", "release")
    objects |= {name: name for name in names}
    words = {name: id(thing) for name, thing in objects.items()}
    words |= places(Node, Node.__dict__["_home"], Node.__dict__["_row"])
    words |= {"now": 0, "tables": place_of_slot(Current.__dict__["tables"]), "interpreter": interpreter()}
    _known.extend([words[name] for name in calling.KNOWN])
    library.function("know", None, [ctypes.c_void_p])(_known.buffer_info()[0])
    _keep(objects, library, _known)
    found: dict[tuple[type, str], Any] = {}
    for name in _SIGNATURES:
        found[Graph, name] = _function(name, library.address(f"call.{name}"))
    for kind, name in _PYTHON:
        if kind is not Graph:
            found[kind, name] = _column(kind, name, library.address(f"get.{name}"), library.address("set"))
    return found


def _address(function: Any) -> int:
    return ctypes.cast(function, ctypes.c_void_p).value or 0


def _function(name: str, address: int) -> Any:
    doc = f"{name}({_SIGNATURES[name]})\n--\n\n{getattr(Graph, name).__doc__}".encode()
    method = _Method(name.encode(), address, _FASTCALL_KEYWORDS, doc)
    make = ctypes.pythonapi.PyCFunction_NewEx
    make.restype, make.argtypes = ctypes.py_object, [ctypes.c_void_p] * 3
    _keep(method)
    return make(ctypes.addressof(method), None, None)


def _column(kind: type, name: str, getter: int, setter: int) -> Any:
    """A descriptor that asks compiled code, which asks the property that was there."""
    was = _PYTHON[kind, name]

    def refuse(node: Any) -> None:
        raise AttributeError(f"property {name!r} of {type(node).__name__!r} object has no deleter")

    python = [was.fget, was.fset, refuse]
    words = array("q", [*map(id, python), name == "value" and kind is not Node])
    column = _Column(name.encode(), getter, setter, (was.__doc__ or "").encode(), words.buffer_info()[0])
    make = ctypes.pythonapi.PyDescr_NewGetSet
    make.restype, make.argtypes = ctypes.py_object, [ctypes.py_object, ctypes.c_void_p]
    _keep(python, words, column)
    return make(kind, ctypes.addressof(column))


def _keep(*things: Any) -> None:
    """Keep things to the end of the process: loops may run while it ends."""
    for thing in things:
        _FOREVER.append(thing)
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(thing))
