"""Lazy exports of a package: a name's file is imported when the name is first used (module `__getattr__`).

    __getattr__, __dir__, __all__ = lazy_exports(__name__, {"loop": "fit", "model": "Model parameter"})

So a package lists its names in one place, and a missing optional package affects only
the names that need it. No submodule may share the name of an export: importing the submodule
would overwrite the package's attribute with the module.
"""

from __future__ import annotations

import builtins
import sys
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from importlib import import_module
from importlib.util import find_spec
from itertools import chain
from types import FunctionType
from typing import Any, NoReturn

from ..errors import MissingToolError, UnknownNameError
from .did_you_mean import advice, explain_calls, explains, names_elsewhere, suggest
from .optional_deps import MissingModule, door

ModuleHooks = tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]


# Functions of higher layers that lower ones call but may not import; the package's __init__ registers them by name.
late_bound: dict[str, Callable[..., Any]] = {}


def lazy_exports(
    package: str, files: Mapping[str, str], *more: Mapping[str, Any], subpackages: Iterable[str] = ()
) -> ModuleHooks:
    """A package's `__getattr__`, `__dir__` and `__all__`.

    files: file -> names that it exports. more: further exports, name -> object. subpackages: where a name that
    the package lacks is looked for. `import *` skips names of Python's builtins, such as `sum`.
    """
    file_of = {name: file for file, names in files.items() for name in names.split()}

    def module_getattr(name: str) -> Any:
        if name in file_of:
            value = _import_export(package, file_of[name], name)
            if not isinstance(value, MissingModule):
                setattr(sys.modules[package], name, value)
            return value
        for exports in more:
            if name in exports:
                return exports[name]
        if name.isidentifier() and not name.startswith("_") and find_spec(f"{package}.{name}"):
            return import_module(f".{name}", package)
        raise_unknown_name(package, subpackages, name)

    names = sorted({*file_of, *chain(*more)})
    exported = [name for name in names if not hasattr(builtins, name)]
    return module_getattr, lambda: sorted({*names, *chain(*more)}), exported


def public_names(package: str) -> dict[str, Any]:
    """Everything that a package exports, or the public classes and functions of a file, by name."""
    module = import_module(package)
    defined_here = [name for name, value in vars(module).items() if getattr(value, "__module__", "") == package]
    names = getattr(module, "__all__", defined_here)
    return {name: getattr(module, name) for name in names if name[0] != "_"}


def _import_export(package: str, file: str, name: str) -> Any:
    """Import a name from its file, and let calls with wrong arguments say how it is called.

    Where an optional package is absent, returns a MissingModule that names it, so that `import *` works without it.
    """
    try:
        with door():
            module = import_module(f".{file}", package)
            value = getattr(module, name)
            if isinstance(value, FunctionType) and not hasattr(value, "__wrapped__"):
                setattr(module, name, explains(value))
            elif isinstance(value, type):
                for base in value.__mro__:
                    if base.__module__.startswith(package):
                        explain_calls(base)
            return getattr(module, name)
    except MissingToolError as error:
        return MissingModule(name, str(error))


def raise_unknown_name(package: str, subpackages: Iterable[str], name: str) -> NoReturn:
    """Raise UnknownNameError for a name that the package lacks, with what to write, or the subpackage that has it.

    `from naive_graph import name` would hide that error and its advice: there it is an ImportError of the same words.
    """
    message, hint = f"{package} has no {name!r}.", names_elsewhere("package").get(name)
    for subpackage in () if name.startswith("_") or hint else subpackages:
        with suppress(MissingToolError):
            if name in dir(import_module(f".{subpackage}", package)):
                home = f"{package}.{subpackage}"
                hint = message = f"{name} is in {home}. Write: from {home} import {name}"
                break
    else:
        hint = advice(name, "package")
        message = f"{message} Write {hint}." if hint else message
    if not name.startswith("_") and sys._getframe(2).f_code.co_name == "_handle_fromlist":
        raise ImportError(message if hint else message + suggest(name, dir(sys.modules[package])), name=package)
    raise UnknownNameError(message, name=name, obj=None if hint else sys.modules[package])
