"""Every test starts from an empty graph, and leaves the session's as it was."""

import pytest

from naive_graph import Graph
from naive_graph.engines.choice import ENGINES, Setting

# Files whose laws hold on every engine: each of their tests runs once for each.
ON_EVERY_ENGINE = {
    "test_accuracy", "test_conventions", "test_graph", "test_histories", "test_merging", "test_modes",
    "test_on_invalid", "test_seed_defects", "test_staleness", "test_lower",
}  # fmt: skip


def pytest_generate_tests(metafunc):
    if metafunc.module.__name__ in ON_EVERY_ENGINE:
        metafunc.fixturenames.append("engine")
        metafunc.parametrize("engine", tuple(ENGINES), indirect=True)


@pytest.fixture
def engine(request):
    """The engine that runs where none is named."""
    before, Setting.default = Setting.default, request.param
    yield request.param
    Setting.default = before


@pytest.fixture(autouse=True, scope="session")
def compiled_code_apart(tmp_path_factory):
    """Tests keep compiled code in a folder of their own."""
    patch = pytest.MonkeyPatch()
    patch.setenv("NAIVE_GRAPH_CACHE", str(tmp_path_factory.mktemp("compiled")))
    yield
    patch.undo()


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
