"""Modules that are imported in the middle of a learner's loop: whole, or not there, which is said in words."""

from __future__ import annotations

import gc
import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, ClassVar, NoReturn

from ..errors import MissingToolError

TOOLS = ("numpy", "llvmlite", "opt_einsum", "onnx", "tensorboard", "google")  # of which a door says how to get them


@contextmanager
def interrupts_to(handler: Callable[[int, Any], object]) -> Iterator[None]:
    """Let a Ctrl-C inside the block call this instead; in the main thread, to which alone it comes."""
    before: Any = None
    if threading.current_thread() is threading.main_thread():
        before = signal.getsignal(signal.SIGINT)
    try:
        signal.signal(signal.SIGINT, before)
    except (TypeError, ValueError):  # not set from Python; another thread or interpreter, to which no Ctrl-C comes
        yield
        return
    try:
        try:
            signal.signal(signal.SIGINT, handler)
            yield
        finally:
            signal.signal(signal.SIGINT, before)
    except BaseException:  # of another signal's handler, too, as a timer's, that came before the line above
        signal.signal(signal.SIGINT, before)
        raise


@contextmanager
def defer_sigint() -> Iterator[None]:
    """Hold a Ctrl-C back until the block has ended: a module whose import is broken off stays broken.

    >>> with defer_sigint():
    ...     import fractions
    """
    came: list[int] = []
    try:
        with interrupts_to(lambda number, frame: came.append(number)):
            yield
    finally:
        if came:
            signal.raise_signal(signal.SIGINT)


class Uncollected:
    """Puts garbage collection off while a thread is in the block: a finalizer may wait for who waits for this thread.

    Collection is the whole process's, so what other threads leave waits as well. It goes on with the end of the last
    block that is open. Each block is one of these; to end it twice is to end it once.

    >>> with Uncollected():
    ...     gc.isenabled()
    False
    """

    open: ClassVar[set[Uncollected]] = set()  # who adds or discards needs no lock
    was_on: ClassVar[bool] = False

    def __enter__(self) -> None:
        Uncollected.open.add(self)
        if gc.isenabled():
            Uncollected.was_on = True
            gc.disable()

    def __exit__(self, *error: object) -> None:
        Uncollected.open.discard(self)
        while not Uncollected.open and Uncollected.was_on:
            Uncollected.was_on = False
            gc.enable()
            if Uncollected.open:  # another thread has just come in, and may be gone again
                Uncollected.was_on = True
                gc.disable()


def _in_child() -> None:
    """End the blocks of the parent's other threads, which a child does not have."""
    Uncollected.open.clear()
    Uncollected().__exit__()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_in_child)


@contextmanager
def door(who: str = "Compiled code needs", extra: str = "engines") -> Iterator[None]:
    """A block that imports a room whole. Raises MissingToolError, which names the extra to install."""
    try:
        with defer_sigint(), Uncollected():
            yield
    except ImportError as error:
        missing = str(error.name).partition(".")[0]
        if isinstance(error, ModuleNotFoundError) and missing in TOOLS:
            what = f'{missing}, which is not installed: pip install "naive-graph[{extra}]".'
        elif error.name is None and not isinstance(error, MissingToolError):  # as NumPy in a second interpreter
            what = f"a package that is installed, and cannot be loaded here: {error.__cause__ or error}"
        else:
            raise
        raise MissingToolError(f"{who} {what}") from error


class Missing:
    """Stands for what cannot be imported here. Whoever uses it is told which extra to install."""

    def __init__(self, name: str, why: str) -> None:
        self._name, self._why = name, why

    def __call__(self, *operands: Any, **named: Any) -> NoReturn:
        raise MissingToolError(self._why)

    def __getattr__(self, name: str) -> NoReturn:
        if name.startswith("__") and name != "__mro_entries__":  # which a class asks that is derived from this
            raise AttributeError(name)
        raise MissingToolError(self._why)

    __instancecheck__ = __subclasscheck__ = __call__

    def __repr__(self) -> str:
        return f"<{self._name} is missing. {self._why}>"
