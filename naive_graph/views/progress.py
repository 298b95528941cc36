"""A progress bar for what takes over a second: in terminals and notebooks, silent elsewhere."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator
from typing import TypeVar

Item = TypeVar("Item")
PATIENCE = 1.0  # seconds before anything is shown


def progress(items: Iterable[Item], label: str = "", total: int | None = None) -> Iterator[Item]:
    """The items, one by one, with a bar on standard error if it takes over a second.

    Silent where nobody watches: in CI (the variable CI is set), and where
    standard error is neither a terminal nor a notebook. Without tqdm, silent
    too. The bar ends its line also on an exception or Ctrl-C.

    >>> sum(progress(range(4)))
    6
    """
    if not is_watched():
        yield from items
        return
    try:
        from tqdm import tqdm
    except ImportError:
        yield from items
        return
    with tqdm(items, desc=label or None, total=total, delay=PATIENCE, file=sys.stderr, leave=True) as bar:
        yield from bar


def is_watched() -> bool:
    """Whether somebody sees standard error as it is written."""
    if os.environ.get("CI"):
        return False
    in_notebook = "ipykernel" in sys.modules and type(sys.stderr).__module__.startswith("ipykernel")
    return in_notebook or bool(getattr(sys.stderr, "isatty", lambda: False)())
