"""Lazy exports of a package: a name's file is imported when the name is first used (module `__getattr__`).

    __getattr__, __dir__, __all__ = lazy_exports(__name__, {"loop": "fit", "model": "Model parameter"})

So a package lists its names in one place, and a missing optional package affects only
the names that need it. No file may have the name of an export of its package:
after the import of the file, the package's attribute would be the file.
"""

from __future__ import annotations

import builtins
import sys
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from importlib import import_module
from itertools import chain
from types import FunctionType
from typing import Any, NoReturn

from ..errors import MissingToolError, UnknownNameError
from .guesses import advice, explain_calls, explains, guesses
from .imports import Missing, door

Found = tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]


# Functions of higher layers that lower ones call but may not import; the package's __init__ registers them.
higher_floors: dict[str, Callable[..., Any]] = {}


def lazy_exports(package: str, files: Mapping[str, str], *more: Mapping[str, Any]) -> Found:
    """A package's `__getattr__`, `__dir__` and `__all__`.

    files: file -> names that it exports. more: further exports, name -> object.
    `import *` skips names of Python's builtins, such as `sum`.
    """
    homes = {name: file for file, names in files.items() for name in names.split()}

    def give(name: str) -> Any:
        if name in homes:
            thing = _from(package, homes[name], name)
            if not isinstance(thing, Missing):
                setattr(sys.modules[package], name, thing)
            return thing
        for things in more:
            if name in things:
                return things[name]
        raise AttributeError(f"{package} has no {name!r}.", name=name, obj=sys.modules[package])

    names = sorted({*homes, *chain(*more)})
    return give, lambda: sorted({*names, *chain(*more)}), [name for name in names if not hasattr(builtins, name)]


def public(package: str) -> dict[str, Any]:
    """Everything that a package exports, or the public classes and functions of a file, by name."""
    room = import_module(package)
    of_its_own = [name for name, thing in vars(room).items() if getattr(thing, "__module__", "") == package]
    names = getattr(room, "__all__", of_its_own)
    return {name: getattr(room, name) for name in names if name[0] != "_"}


def _from(package: str, file: str, name: str) -> Any:
    try:
        with door():
            room = import_module(f".{file}", package)
            thing = getattr(room, name)
            if isinstance(thing, FunctionType) and not hasattr(thing, "__wrapped__"):
                setattr(room, name, explains(thing))
            elif isinstance(thing, type):
                for kind in thing.__mro__:
                    if kind.__module__.startswith(package):
                        explain_calls(kind)
            return getattr(room, name)
    except MissingToolError as error:  # raised when the name is used: `import *` works without optional packages
        return Missing(name, str(error))


def moved(package: str, rooms: Iterable[str], name: str) -> NoReturn:
    """Raise UnknownNameError for a name that the package lacks, with what to write, or the subpackage that has it.

    `from naive_graph import name` would hide that error: there it is an ImportError of the same words.
    """
    message, hint = f"{package} has no {name!r}.", guesses("package").get(name)
    for room in () if name.startswith("_") or hint else rooms:
        with suppress(MissingToolError):
            if name in dir(import_module(f".{room}", package)):
                hint = message = f"{name} is in {package}.{room}. Write: from {package}.{room} import {name}"
                break
    else:
        hint = advice(name, "package")
        message = f"{message} Write {hint}." if hint else message
    if hint and sys._getframe(2).f_code.co_name == "_handle_fromlist":
        raise ImportError(message, name=package)
    raise UnknownNameError(message, name=name, obj=None if hint else sys.modules[package])
