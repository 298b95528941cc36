"""Every test starts from an empty graph, and leaves the session's as it was."""

import pytest

from naive_graph import Graph


@pytest.fixture(autouse=True)
def empty_graph():
    before = Graph.on_invalid
    with Graph.scratch():
        yield
    Graph.on_invalid = before


@pytest.fixture
def ignoring_invalid():
    Graph.on_invalid = "ignore"
    yield
