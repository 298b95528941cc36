"""Modules that are imported in the middle of a learner's loop: whole, whatever is pressed meanwhile."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


@contextmanager
def uninterrupted() -> Iterator[None]:
    """Hold a Ctrl-C back until the block has ended: a module whose import is broken off stays broken.

    >>> with uninterrupted():
    ...     import fractions
    """
    if threading.current_thread() is not threading.main_thread():
        yield  # a Ctrl-C comes to the main thread
        return
    before: Any = signal.getsignal(signal.SIGINT)
    if before is None:  # not set from Python, so it cannot be set back
        yield
        return
    came: list[int] = []
    try:
        signal.signal(signal.SIGINT, lambda number, frame: came.append(number))
    except ValueError:  # in a subinterpreter: a Ctrl-C comes to the main one
        yield
        return
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
        if came:
            signal.raise_signal(signal.SIGINT)
