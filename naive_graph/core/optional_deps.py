"""Optional imports: Ctrl-C cannot leave a module half imported; a missing package names the extra to install."""

from __future__ import annotations

import gc
import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, ClassVar, NoReturn

from ..errors import MissingToolError

OURS = __name__.partition(".")[0]


@contextmanager
def interrupts_to(handler: Callable[[int, Any], object]) -> Iterator[None]:
    """Call `handler` on Ctrl-C inside the block; in the main thread only, as no other gets SIGINT."""
    before: Any = None
    if threading.current_thread() is threading.main_thread():
        before = signal.getsignal(signal.SIGINT)
    try:
        signal.signal(signal.SIGINT, before)
    except (TypeError, ValueError):  # handler not set from Python; not the main thread or interpreter
        yield
        return
    try:
        try:
            signal.signal(signal.SIGINT, handler)
            yield
        finally:
            signal.signal(signal.SIGINT, before)
    except BaseException:  # raised by another signal's handler (a timer's) before `finally` ran
        signal.signal(signal.SIGINT, before)
        raise


@contextmanager
def defer_sigint() -> Iterator[None]:
    """Delay Ctrl-C until the block has ended: a module whose import is interrupted stays broken.

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


class GcPause:
    """Turns garbage collection off inside the block: a finalizer could wait for a thread that waits for this one.

    Collection belongs to the whole process, so garbage of other threads waits as well. It is turned on when the last
    open block ends. Each block has its own instance; to end it twice does nothing more.

    >>> with GcPause():
    ...     gc.isenabled()
    False
    """

    open: ClassVar[set[GcPause]] = set()  # the open blocks; adding and discarding need no lock
    was_on: ClassVar[bool] = False

    def __enter__(self) -> None:
        GcPause.open.add(self)
        if gc.isenabled():
            GcPause.was_on = True
            gc.disable()

    def __exit__(self, *error: object) -> None:
        GcPause.open.discard(self)
        while not GcPause.open and GcPause.was_on:
            GcPause.was_on = False
            gc.enable()
            if GcPause.open:  # another thread has just entered a block, and may have left it already
                GcPause.was_on = True
                gc.disable()


def _in_child() -> None:
    """After a fork: end the blocks of the parent's other threads, which the child does not have."""
    GcPause.open.clear()
    GcPause().__exit__()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_in_child)


@contextmanager
def door(who: str = "Compiled code needs", extra: str = "engines") -> Iterator[None]:
    """A block that imports optional packages; if one is missing, raises MissingToolError, which names the extra."""
    try:
        with defer_sigint(), GcPause():
            yield
    except ImportError as error:
        missing = (error.name or OURS).partition(".")[0]
        if isinstance(error, ModuleNotFoundError) and missing != OURS:
            what = f'{missing}, which is not installed: pip install "naive-graph[{extra}]".'
        elif error.name is None and not isinstance(error, MissingToolError):  # such as NumPy's, in a second interpreter
            what = f"a package that is installed, and cannot be loaded here: {error.__cause__ or error}"
        else:
            raise
        raise MissingToolError(f"{who} {what}") from error


class MissingModule:
    """Stands for an object that cannot be imported here; any use raises MissingToolError, which names the extra."""

    def __init__(self, name: str, why: str) -> None:
        self._name, self._why = name, why

    def __call__(self, *operands: Any, **named: Any) -> NoReturn:
        raise MissingToolError(self._why)

    def __getattr__(self, name: str) -> NoReturn:
        if name.startswith("__") and name != "__mro_entries__":  # asked of a base class
            raise AttributeError(name)
        raise MissingToolError(self._why)

    __instancecheck__ = __subclasscheck__ = __call__

    def __repr__(self) -> str:
        return f"<{self._name} is missing. {self._why}>"
