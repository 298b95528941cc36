"""Modules that are imported in the middle of a learner's loop: whole, whatever is pressed meanwhile."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any


@contextmanager
def interrupts_to(handler: Callable[[int, Any], object]) -> Iterator[None]:
    """Let a Ctrl-C inside the block call this instead; in the main thread, to which alone it comes."""
    before: Any = None
    if threading.current_thread() is threading.main_thread():
        before = signal.getsignal(signal.SIGINT)
    if before is None:  # another thread, or not set from Python, so that it cannot be set back
        yield
        return
    try:
        signal.signal(signal.SIGINT, handler)
    except ValueError:  # in a subinterpreter: a Ctrl-C comes to the main one
        yield
        return
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


@contextmanager
def uninterrupted() -> Iterator[None]:
    """Hold a Ctrl-C back until the block has ended: a module whose import is broken off stays broken.

    >>> with uninterrupted():
    ...     import fractions
    """
    came: list[int] = []
    try:
        with interrupts_to(lambda number, frame: came.append(number)):
            yield
    finally:
        if came:
            signal.raise_signal(signal.SIGINT)
