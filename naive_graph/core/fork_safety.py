"""A fork waits until nobody is half-way: the child would wait for ever for a lock that a thread it lacks holds."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import ExitStack
from typing import Any

from .imports import defer_sigint

TABLES, ENGINES, COMPILER = range(3)  # in which order a thread takes these locks, and so the fork does
_LOCKS: list[tuple[int, Callable[[], Any]]] = []
_HELD: list[ExitStack] = []  # by forks that are on their way


def held_over_forks(order: int, lock: Callable[[], Any]) -> None:
    """From now on a fork takes this lock before, and lets it go after, in both processes."""
    _LOCKS.append((order, lock))
    _LOCKS.sort(key=lambda entry: entry[0])


def _before() -> None:
    with ExitStack() as held:  # which lets go what was taken, should one of them fail
        held.enter_context(defer_sigint())  # a Ctrl-C in a fork would leave locks held
        for _, lock in _LOCKS:
            held.enter_context(lock())
        _HELD.append(held.pop_all())  # only now: another thread that forks waits for the locks


def _after() -> None:
    if _HELD:
        _HELD.pop().close()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before, after_in_parent=_after, after_in_child=_after)
