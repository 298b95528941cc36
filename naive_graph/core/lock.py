"""One graph, one lock: `with tables.lock, GUARD:` around whatever asks, runs, writes or clears.

Other threads wait for the lock. The guard is for the thread that has it: a signal
handler, a finalizer, a callback of gc or an operator's own Python function runs on the
thread that it interrupts, and nobody can wait for himself. If it asks in the middle of
such a call it gets a ReentrantCallError, and nothing is changed. Building asks for
neither lock nor guard.

Our own calls may nest. So the guard keeps the frame of the call that is at work, and a
second call is refused if on the way from it to that frame there is somebody else's
code. A frame that is on the way no more was left by a Ctrl-C: it counts for nothing.
"""

from __future__ import annotations

import os
import sys
from threading import RLock
from types import FrameType
from typing import NoReturn

from ..errors import ReentrantCallError
from .fork_safety import TABLES, held_over_forks

LOCK = RLock()
held_over_forks(TABLES, lambda: LOCK)
_HOUSE = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep
_LIBRARY = os.path.dirname(os.path.abspath(os.__file__)) + os.sep
_SITE = os.sep + "site-packages" + os.sep
_NUMPY = os.sep + "numpy" + os.sep
_getframe = sys._getframe
_is_in_between: dict[str, bool] = {}  # by file: whether our own calls may pass through it


class Guard:
    """Refuses who comes in the middle of a call that needs the graph as it is, on the same thread."""

    __slots__ = ("holder",)

    def __init__(self) -> None:
        self.holder: FrameType | None = None  # the frame whose `with` block is at work

    def __enter__(self) -> None:
        frame = _getframe(1)
        if self.holder is None:
            self.holder = frame
        else:
            self._join(frame)

    def __exit__(self, *error: object) -> None:
        if self.holder is _getframe(1):  # and not a call of ours inside another
            self.holder = None

    def _join(self, frame: FrameType) -> None:
        """Let our own call go on inside another; refuse a stranger's; take the place of one that was broken off."""
        holder, stranger, on_the_way = self.holder, False, frame.f_back
        while on_the_way is not None and on_the_way is not holder:
            stranger = stranger or not is_in_between(on_the_way.f_code.co_filename)
            on_the_way = on_the_way.f_back
        if on_the_way is None:
            self.holder = frame
        elif stranger:
            refuse(on_the_way)


GUARD = Guard()


def is_in_between(file: str) -> bool:
    """Whether code of this file may stand between two calls of ours: our own, Python's library or NumPy."""
    is_ours = _is_in_between.get(file)
    if is_ours is None:
        full_path = os.path.abspath(file)
        library = full_path.startswith(_LIBRARY) and (_SITE not in full_path or _NUMPY in full_path)
        is_ours = _is_in_between[file] = library or full_path.startswith(_HOUSE) or file.startswith("<frozen")
    return is_ours


def refuse(holder: FrameType) -> NoReturn:
    """Say whom the call has come in the middle of."""
    call = holder.f_locals.get("question")  # of a node, which the same few lines ask for all
    name = getattr(call, "__qualname__", None) or holder.f_code.co_qualname
    raise ReentrantCallError(
        f"{name} is at work on the graph, and was interrupted by a signal handler, a finalizer, a callback of gc or "
        "an operator's own function, which asks the graph in its turn. It may build there; "
        "for more let it set a flag, and ask when the call is done."
    )
