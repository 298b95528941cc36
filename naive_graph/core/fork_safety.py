"""Take our locks around fork(): a child never inherits a lock that is held by a thread which it does not have."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import ExitStack
from typing import Any

from .optional_deps import defer_sigint

TABLES, ENGINES, COMPILER = range(3)  # the order in which a thread takes these locks, and a fork too
_LOCKS: list[tuple[int, Callable[[], Any]]] = []
_HELD: list[ExitStack] = []  # by forks in progress


def hold_during_forks(order: int, lock: Callable[[], Any]) -> None:
    """Register a lock that every fork takes before it starts, and releases after it in both processes."""
    _LOCKS.append((order, lock))
    _LOCKS.sort(key=lambda entry: entry[0])


def _before() -> None:
    with ExitStack() as held:  # releases what was taken if one of them fails
        held.enter_context(defer_sigint())  # a Ctrl-C in a fork would leave locks held
        for _, lock in _LOCKS:
            held.enter_context(lock())
        _HELD.append(held.pop_all())  # not earlier: another thread's fork waits for the locks


def _after() -> None:
    if _HELD:
        _HELD.pop().close()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before, after_in_parent=_after, after_in_child=_after)
