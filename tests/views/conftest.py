"""Debian's chromium, and walks opened in it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from stepping import Seen, offline_page

from naive_graph import Graph, Variable, record


@pytest.fixture
def opened(browser: Any, tmp_path: Path) -> Iterator[Any]:
    """Open a walk as a saved page, with the network cut."""
    pages: list[Any] = []

    def show(steps: Any, **options: Any) -> Seen:
        view = offline_page(browser, **options)
        pages.append(view)
        view.goto(steps.save(tmp_path / f"walk{len(pages)}.html").as_uri())
        seen = Seen(view)
        if seen.root.locator(".ng-levels").count():
            seen.press("3")  # every event is told
        seen.problems = view.problems  # type: ignore[attr-defined]
        return seen

    yield show
    for view in pages:
        view.context.close()


@pytest.fixture(scope="module")
def million() -> Any:
    """A loop over a graph of some hundred nodes: over a million events."""
    with Graph.scratch():
        w = Variable(0.5, name="w")
        y: Any = w
        for _ in range(60):
            y = (y * 0.9).sin() + w
        with record() as steps:
            for _ in range(1050):
                Graph.forward(y)
                Graph.backward(y)
                w.value -= 1e-4 * w.grad
        yield steps
