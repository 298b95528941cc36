"""`@machine`: this function of the small subset of Python runs as machine code.

`function.python` is the plain function, which gives the same numbers, slowly. A call
begins with it: a small plan has gone through all passes before the first of them
is compiled. Once a function has seen many numbers, all of its file are compiled together, and
kept on disk. They are compiled quickly: they run once for a plan, and
LLVM's optimiser took twenty times as long, and gained a tenth. What runs again and
again asks for its file's `library_of`.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from functools import cache as once
from functools import update_wrapper
from hashlib import sha256
from pathlib import Path
from typing import Any

from .compile import Library, compiled
from .fields import flatten_records, words
from .python import TranslatedModule
from .typed import SCALARS, Callee


def _call(name: str, kinds: list[str], result: str = "void") -> Callee:
    """A call of the kernel at a place of a table. kinds, result: what it hands on, and what the kernel gives."""
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
MANY = 60_000  # numbers in arrays: some 5 ms of plain Python, while a file takes 20 ms to compile, and 4 to load
_OF_FILE: dict[str, list[Machine]] = {}


class Machine:
    """A function that compiles once it pays. seen: how many numbers its arguments have held until then."""

    def __init__(self, function: Callable[..., Any]) -> None:
        update_wrapper(self, function)
        self.python, self.seen = function, 0
        self._call: Callable[..., Any] | None = None
        _OF_FILE.setdefault(function.__module__, []).append(self)

    def __call__(self, *arguments: Any) -> Any:
        """Call the function: arrays of NumPy's as they lie, whole numbers and floats.

        The addresses are asked for here: in a conversion by ctypes a Ctrl-C would become an error of ctypes.
        """
        if self._call is None:
            self.seen += sum(argument.size for argument in flatten_records(arguments) if hasattr(argument, "ctypes"))
            if self.seen <= MANY:
                return self.python(*map(_view_as_python, arguments))
            self._call = self.compiled(quick=True)
        return self._call(*addresses(arguments))

    def compiled(self, quick: bool) -> Callable[..., Any]:
        """The compiled function, which takes `addresses`."""
        types = [C_TYPES[SCALARS[word]] if word in SCALARS else ctypes.c_void_p for word in words(self.python)]
        library = library_of(self.python.__module__, quick)
        return library.function(self.python.__name__, types[-1], types[:-1])


def addresses(arguments: Sequence[Any]) -> list[Any]:
    """Arguments as machine code takes them: where arrays lie, and numbers."""
    return [
        argument.ctypes.data if hasattr(argument, "ctypes") else argument for argument in flatten_records(arguments)
    ]


def _view_as_python(argument: Any) -> Any:
    """An argument as plain Python takes it: from a view, numbers come as Python's own."""
    if isinstance(argument, tuple):
        return type(argument)(*map(_view_as_python, argument))
    return memoryview(argument) if hasattr(argument, "ctypes") else argument


def packed(*arguments: Any) -> Any:
    """All arguments of NAME.packed in one array, which keeps none of them alive."""
    import numpy as np

    return np.array(addresses(arguments), np.int64)


def machine(function: Callable[..., Any]) -> Machine:
    """Run this function as machine code."""
    return Machine(function)


@once
def library_of(module: str, quick: bool = False, packed: bool = False) -> Library:
    """The compiled functions of one file. packed: under the names of their entries, and no others."""
    ours = module.partition(".")[0] == __name__.partition(".")[0]  # of other files we have no digest
    key = f"{sources()} {module} {packed}" if ours else None
    functions = [function.python for function in _OF_FILE[module]]
    return compiled(lambda: _text(functions, packed), key=key, optimised=not quick, quick=quick)


def _text(functions: Sequence[Callable[..., Any]], packed: bool = False) -> str:
    program = TranslatedModule(dict(KERNELS))
    for function in functions:
        program.add(function, outside=not packed)
    return "\n".join([str(program), *(map(_entry, functions) if packed else ())])


def _entry(function: Callable[..., Any]) -> str:
    *kinds, result = (SCALARS.get(word, "ptr") for word in words(function))
    return entry(function.__name__, kinds, result)


def entry(name: str, kinds: Sequence[str], result: str = "void") -> str:
    """The function again, as NAME.packed, with all its arguments in one array: one is quicker to pass than many."""
    lines = [f'define void @"{name}.packed"(ptr %packed) {{']
    for index, kind in enumerate(kinds):
        lines.append(f"%p{index} = getelementptr i64, ptr %packed, i64 {index}")
        lines.append(f"%a{index} = load {kind}, ptr %p{index}")
    call = f"call {result} @{name}({', '.join(f'{kind} %a{place}' for place, kind in enumerate(kinds))})"
    return "\n  ".join([*lines, call if result == "void" else f"%result = {call}", "ret void"]) + "\n}\n"


@once
def sources() -> str:
    """A digest of everything that the machine code is made from."""
    home = Path(__file__).parent.parent.parent
    files = sorted(file for room in ("core", "engines") for file in (home / room).rglob("*.py"))
    return sha256(b"".join(file.read_bytes() for file in files)).hexdigest()
