"""Code that is made beside a loop that runs: no step waits for it, and a later step finds it there.

One thing at a time is made, so that the loop has to share with one thread only.
Python waits for that thread before it ends.
"""

from __future__ import annotations

from collections.abc import Callable
from threading import Thread, main_thread
from typing import Any, ClassVar


class BackgroundTask:
    """What a thread makes, asked for from time to time until it is there.

    make: makes it. It knows nothing that changes meanwhile, and takes no lock that the one who asks may hold.
    """

    busy: ClassVar[Thread] = Thread()  # the one that makes something now

    def __init__(self, make: Callable[[], Any]) -> None:
        self._make = make
        self._made: list[tuple[Any, Exception | None]] = []

    def is_done(self) -> bool:
        """Whether it is made. If not, and nobody is at work, a thread begins.

        So the child of a fork, which has none of its parent's threads, begins again.
        """
        if self._made:
            return True
        nobody = not BackgroundTask.busy.is_alive() and main_thread().is_alive()
        if nobody and not self._made:  # asked again: who has just ended has made it
            BackgroundTask.busy = Thread(target=self._run, name="naive_graph compiler")
            try:
                BackgroundTask.busy.start()
            except RuntimeError:  # there are no threads here, as in a browser, and nobody tries again
                BackgroundTask.busy = main_thread()
        return False

    def _run(self) -> None:
        try:
            self._made.append((self._make(), None))
        except Exception as error:
            self._made.append((None, error))

    def result(self) -> Any:
        """What was made; it is made here and now if it was not. The error that making it ended with is raised."""
        if not self._made:
            self._run()
        made, error = self._made[0]
        if error is not None:
            raise error
        return made
