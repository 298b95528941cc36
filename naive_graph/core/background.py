"""Run a task (compilation) in a background thread while a loop runs: no step waits, a later step finds the result.

Only one task runs at a time, so that the loop shares the processor with one thread only.
Python waits for that thread before it exits.
"""

from __future__ import annotations

from collections.abc import Callable
from threading import Thread, main_thread
from typing import Any, ClassVar


class BackgroundTask:
    """A function whose result is computed in a background thread, and polled by `is_done`.

    make: the function. It reads nothing that changes meanwhile, and takes no lock that the polling thread may hold.
    """

    busy: ClassVar[Thread] = Thread()  # the thread that is running now, or ran last

    def __init__(self, make: Callable[[], Any]) -> None:
        self._make = make
        self._outcome: list[tuple[Any, Exception | None]] = []  # empty, or one pair: result, error

    def is_done(self) -> bool:
        """Whether the result is there. If not, and no task is running, starts a thread.

        So the child of a fork, which has none of its parent's threads, starts again.
        """
        if self._outcome:
            return True
        is_free = not BackgroundTask.busy.is_alive() and main_thread().is_alive()  # no new one while Python exits
        if is_free and not self._outcome:  # checked again: the thread may have ended since the check above
            BackgroundTask.busy = Thread(target=self._run, name="naive_graph compiler")
            try:
                BackgroundTask.busy.start()
            except RuntimeError:  # no threads here, as in a browser: never try again
                BackgroundTask.busy = main_thread()
        return False

    def _run(self) -> None:
        try:
            self._outcome.append((self._make(), None))
        except Exception as error:
            self._outcome.append((None, error))

    def result(self) -> Any:
        """The result, computed here and now if it is not there yet. Raises the error that `make` raised."""
        if not self._outcome:
            self._run()
        result, error = self._outcome[0]
        if error is not None:
            raise error
        return result
