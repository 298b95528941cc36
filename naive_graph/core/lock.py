"""The lock of all graphs, and a guard against re-entrant calls: `with LOCK, GUARD:` around reading, running, writing.

Other threads wait for the lock. The guard is for the thread that holds it: a signal
handler, a finalizer, a callback of gc or an operator's own Python function runs on the
thread that it interrupts, where waiting would be a deadlock. If it uses the graph in the middle of
such a call it gets a ReentrantCallError, and nothing is changed. Building needs
neither lock nor guard.

The package's own calls may nest. So the guard keeps the stack frame of the running call, and
refuses a second call if foreign code lies on the stack between the two. If the kept frame is
not on the stack any more, a Ctrl-C ended that call, and the new one takes its place.
"""

from __future__ import annotations

import os
import sys
from threading import RLock
from types import FrameType
from typing import NoReturn

from ..errors import ReentrantCallError
from .fork_safety import TABLES, hold_during_forks

LOCK = RLock()
hold_during_forks(TABLES, lambda: LOCK)
_HOUSE = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep
_LIBRARY = os.path.dirname(os.path.abspath(os.__file__)) + os.sep
_SITE = os.sep + "site-packages" + os.sep
_NUMPY = os.sep + "numpy" + os.sep
_getframe = sys._getframe
_is_in_between: dict[str, bool] = {}  # by file: whether calls of the package may nest through its code


class Guard:
    """Refuses a call that foreign code makes on the same thread while another call is using the graph."""

    __slots__ = ("holder",)

    def __init__(self) -> None:
        self.holder: FrameType | None = None  # the frame whose `with` block is running

    def __enter__(self) -> None:
        frame = _getframe(1)
        if self.holder is None:
            self.holder = frame
        else:
            self._join(frame)

    def __exit__(self, *error: object) -> None:
        if self.holder is _getframe(1):  # not for a nested call
            self.holder = None

    def _join(self, frame: FrameType) -> None:
        """Allow a nested call of the package; refuse a foreign one; replace a holder that is off the stack."""
        holder, has_foreign_code, caller = self.holder, False, frame.f_back
        while caller is not None and caller is not holder:
            has_foreign_code = has_foreign_code or not is_in_between(caller.f_code.co_filename)
            caller = caller.f_back
        if caller is None:
            self.holder = frame
        elif has_foreign_code:
            refuse(caller)


GUARD = Guard()


def is_in_between(file: str) -> bool:
    """Whether code of this file may lie between two nested calls: the package, Python's library or NumPy."""
    is_ours = _is_in_between.get(file)
    if is_ours is None:
        full_path = os.path.abspath(file)
        library = full_path.startswith(_LIBRARY) and (_SITE not in full_path or _NUMPY in full_path)
        is_ours = _is_in_between[file] = library or full_path.startswith(_HOUSE) or file.startswith("<frozen")
    return is_ours


def refuse(holder: FrameType) -> NoReturn:
    """Raise ReentrantCallError, which names the call that is running."""
    call = holder.f_locals.get("question")  # set where one wrapper in graph/nodes.py serves all of a node's methods
    name = getattr(call, "__qualname__", None) or holder.f_code.co_qualname
    raise ReentrantCallError(
        f"{name} is at work on the graph, and was interrupted by a signal handler, a finalizer, a callback of gc or "
        "an operator's own function, which asks the graph in its turn. It may build there; "
        "for more let it set a flag, and ask when the call is done."
    )
