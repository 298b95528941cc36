"""Debian's chromium, and walks opened in it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from stepping import Seen, offline_page, visit


@pytest.fixture(scope="module")
def window(browser: Any) -> Iterator[Any]:
    """The page, without a network, in which all tests of a file open what they look at, one after the other."""
    view = offline_page(browser)
    yield view
    view.context.close()


@pytest.fixture
def opened(window: Any, tmp_path: Path) -> Any:
    """Open a walk as a saved page, in place of the one before; the same walk is saved once."""
    path, saved = tmp_path / "walk.html", None

    def show(steps: Any, **options: Any) -> Seen:
        nonlocal saved
        if steps is not saved:
            steps.save(path)
        saved = steps
        visit(window, path.as_uri(), **options)
        seen = Seen(window)
        if seen.root.locator(".ng-levels").count():
            seen.press("3")  # every event is told
        seen.problems = window.problems  # type: ignore[attr-defined]
        return seen

    return show
