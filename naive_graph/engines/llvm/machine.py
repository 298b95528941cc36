"""`@machine`: a decorator that compiles a function in the small subset of Python (`python.py`) to machine code.

`function.python` is the plain Python function, which gives the same numbers, slowly. The first calls run it: a small
plan has gone through all passes before anything is compiled. Once the arguments of a function have held MANY numbers,
all decorated functions of its file are compiled together, and cached on disk.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator, Sequence
from functools import cache as once
from functools import update_wrapper
from hashlib import sha256
from pathlib import Path
from typing import Any

from .compile import Library, compiled
from .python import TranslatedModule
from .struct_params import words
from .values import SCALARS, Callee


def _call(name: str, kinds: list[str], result: str = "void") -> Callee:
    """A helper that calls the kernel at index k of a table of addresses. kinds, result: types of the kernel."""
    handed = ", ".join(f"{kind} %x{index}" for index, kind in enumerate(kinds))
    call = f"call {result} %kernel({handed})"
    lines = [
        f"define internal {result} @{name}(ptr %table, i64 %k, {handed}) {{",
        "%place = getelementptr ptr, ptr %table, i64 %k",
        "%kernel = load ptr, ptr %place",
        *([call, "ret void"] if result == "void" else [f"%y = {call}", f"ret {result} %y"]),
    ]
    return Callee(name, ["ptr", "i64", *kinds], result, "\n  ".join(lines) + "\n}")


KERNELS = {
    callee.name: callee
    for callee in (
        _call("call_run", ["ptr", "ptr", "i64", "i64", "i64"]),
        _call("call_rule", ["ptr", "i64"], "double"),
        _call("call_partials", ["ptr", "i64", "double", "ptr", "ptr"]),
    )
}
C_TYPES = {"double": ctypes.c_double, "i64": ctypes.c_int64, "void": None}
MANY = 60_000  # numbers in arrays before compiling: some 5 ms of Python; to load a file's code takes 4
_OF_FILE: dict[str, list[Machine]] = {}


class Machine:
    """A function that is compiled once that pays. seen: how many numbers its array arguments have held so far."""

    def __init__(self, function: Callable[..., Any]) -> None:
        update_wrapper(self, function)
        self.python, self.seen = function, 0
        self._call: Callable[..., Any] | None = None
        _OF_FILE.setdefault(function.__module__, []).append(self)

    def __call__(self, *arguments: Any) -> Any:
        """Call the function with NumPy arrays (read and written in place), integers, floats, and records of these.

        Arrays are converted to addresses here: inside a ctypes conversion, a Ctrl-C would become a ctypes error.
        """
        if self._call is None:
            self.seen += sum(argument.size for argument in flatten_records(arguments) if hasattr(argument, "ctypes"))
            if self.seen <= MANY:
                return self.python(*map(_view_as_python, arguments))
            self._call = self.compiled()
        return self._call(*addresses(arguments))

    def compiled(self) -> Callable[..., Any]:
        """The compiled function, which takes `addresses`."""
        types = [C_TYPES[SCALARS[word]] if word in SCALARS else ctypes.c_void_p for word in words(self.python)]
        library = library_of(self.python.__module__)
        return library.function(self.python.__name__, types[-1], types[:-1])


def flatten_records(arguments: Sequence[Any]) -> Iterator[Any]:
    """The arguments of a call, each record replaced by its fields."""
    for argument in arguments:
        yield from argument if isinstance(argument, tuple) else (argument,)


def addresses(arguments: Sequence[Any]) -> list[Any]:
    """Arguments as machine code takes them: records flattened, arrays as addresses, numbers unchanged."""
    return [
        argument.ctypes.data if hasattr(argument, "ctypes") else argument for argument in flatten_records(arguments)
    ]


def _view_as_python(argument: Any) -> Any:
    """An argument for plain Python: arrays as memoryviews, whose elements are Python's own numbers."""
    if isinstance(argument, tuple):
        return type(argument)(*map(_view_as_python, argument))
    return memoryview(argument) if hasattr(argument, "ctypes") else argument


def machine(function: Callable[..., Any]) -> Machine:
    """Run this function as machine code."""
    return Machine(function)


@once
def library_of(module: str, packed: bool = False) -> Library:
    """The compiled @machine functions of one module. packed: export only the NAME.packed variants."""
    ours = module.partition(".")[0] == __name__.partition(".")[0]  # other files are not in the digest
    key = f"{sources()} {module} {packed}" if ours else None
    functions = [function.python for function in _OF_FILE[module]]
    return compiled(lambda: _text(functions, packed), key=key, optimised=True)


def _text(functions: Sequence[Callable[..., Any]], packed: bool = False) -> str:
    program = TranslatedModule(dict(KERNELS))
    for function in functions:
        program.add(function, outside=not packed)
    return "\n".join([str(program), *(map(_entry, functions) if packed else ())])


def _entry(function: Callable[..., Any]) -> str:
    """A wrapper NAME.packed that takes all arguments in one array: one pointer is faster to pass than many."""
    name = function.__name__
    *kinds, result = (SCALARS.get(word, "ptr") for word in words(function))
    lines = [f'define void @"{name}.packed"(ptr %packed) {{']
    for index, kind in enumerate(kinds):
        lines.append(f"%p{index} = getelementptr i64, ptr %packed, i64 {index}")
        lines.append(f"%a{index} = load {kind}, ptr %p{index}")
    call = f"call {result} @{name}({', '.join(f'{kind} %a{place}' for place, kind in enumerate(kinds))})"
    return "\n  ".join([*lines, call if result == "void" else f"%result = {call}", "ret void"]) + "\n}\n"


@once
def sources() -> str:
    """A digest of all source files that machine code is made from: part of the keys of cached code."""
    home = Path(__file__).parent.parent.parent
    files = sorted(file for room in ("core", "engines") for file in (home / room).rglob("*.py"))
    return sha256(b"".join(file.read_bytes() for file in files)).hexdigest()
