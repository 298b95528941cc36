"""A fork waits until nobody is half-way: the child would wait for ever for a lock that a thread it lacks holds."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

TABLES, ENGINES, COMPILER = range(3)  # in which order a thread takes these locks, and so the fork does
_LOCKS: list[tuple[int, Callable[[], Any]]] = []
_held: list[Any] = []


def held_over_forks(order: int, lock: Callable[[], Any]) -> None:
    """From now on a fork takes this lock before, and lets it go after, in both processes."""
    _LOCKS.append((order, lock))
    _LOCKS.sort(key=lambda entry: entry[0])


def _before() -> None:
    for _, lock in _LOCKS:
        _held.append(lock())
        _held[-1].acquire()


def _after() -> None:
    while _held:
        _held.pop().release()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before, after_in_parent=_after, after_in_child=_after)
