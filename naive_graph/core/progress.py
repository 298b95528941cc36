"""Progress bars for loops that take over a second: in terminals and notebooks, silent elsewhere."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Sized
from typing import Any, TypeVar

from ..errors import OperandError
from .did_you_mean import explain_calls
from .number import shortened

Item = TypeVar("Item")
PrintLine = Callable[[str], Any]  # a function that takes a line of a long call's report, such as print
PATIENCE = 1.0  # seconds before anything is shown
PACE = 0.1  # seconds between two updates
FEW = 20_000  # small steps (such as nodes) that take less than a second
MANY = 100_000  # from so many items, counts are abbreviated: 7.34M
CLOCK_READS = 1_000  # updates of a bar whose number of items is known: tqdm looks at its clock about as often


_NO_ITEMS: Any = object()


class Progress:
    """The items, one by one, with tqdm's bar on standard error if it takes over a second.

    total: how many items there are, if they have no length. Silent without
    tqdm (pip install "naive-graph[progress]"), and where nobody watches: in CI (the variable CI is
    set), and where standard error is neither a terminal nor a notebook. Long calls have
    one: forward, backward, gradients, formula, step, lower, load,
    minimize, and a Program's first, of 20,000 nodes and more. `naive_graph.progress.shown = False` switches
    every bar off. alone: a function whose result `progress()`, without items, returns; the package
    sets it to the learner's progress through the exercises.

    >>> sum(progress(range(4)))
    6
    """

    shown = True
    alone: Callable[[], Any] | None = None

    def __call__(self, items: Iterable[Item] = _NO_ITEMS, label: str = "", total: int | None = None) -> Any:
        if items is _NO_ITEMS and self.alone is not None:
            return self.alone()
        if not isinstance(items, Iterable) or getattr(items, "shape", None) == ():
            raise OperandError(
                f"progress goes through a list or a loop's items, not {type(items).__name__} {shortened(items)}."
            )
        if total is None and isinstance(items, Sized):
            total = len(items)
        bar = open_bar(total, label, items)
        return iter(items if bar is None else bar)


progress = Progress()


def with_progress(items: Iterable[Item], label: str, total: int) -> Iterable[Item]:
    """The items, each a small step; with a progress bar if there are too many for a second."""
    return items if total < FEW else progress(items, label, total)


def shows_bars() -> bool:
    """Whether standard error is shown to somebody (a terminal or notebook, not CI), and bars are not switched off."""
    if os.environ.get("CI") or not progress.shown:
        return False
    in_notebook = "ipykernel" in sys.modules and type(sys.stderr).__module__.startswith("ipykernel")
    return in_notebook or bool(getattr(sys.stderr, "isatty", lambda: False)())


explain_calls(Progress)


def open_bar(total: int | None, label: str, items: Iterable[Any] | None = None) -> Any:
    """tqdm's bar, which gives the items; None where nobody watches, or tqdm is not installed.

    Without items, for a loop that counts its own steps: update the bar, and close it after.
    """
    if not shows_bars():
        return None
    try:
        from tqdm import tqdm
    except ImportError:
        return None

    class Bar(tqdm):  # type: ignore[misc]
        monitor_interval = 0  # tqdm would start a thread of its own

    size = total or 0
    # miniters is fixed: by default tqdm adapts it to fast items, and the bar would freeze when items become slow.
    return Bar(
        items, desc=label or None, total=total, delay=PATIENCE, mininterval=PACE, file=sys.stderr,
        miniters=max(1, size // CLOCK_READS), unit_scale=size >= MANY,
    )  # fmt: skip
