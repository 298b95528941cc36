"""Every test starts from an empty graph, and leaves the session's as it was."""

import os

import pytest

from naive_graph import Graph, builder, calls
from naive_graph.engines.choice import ENGINES, Setting

# Files whose laws hold on every engine: each of their tests runs once for each.
ON_EVERY_ENGINE = {
    "test_accuracy", "test_conventions", "test_graph", "test_histories", "test_merging", "test_modes",
    "test_on_invalid", "test_seed_defects", "test_staleness", "test_lower",
}  # fmt: skip
# Files whose laws hold whoever builds the nodes.
WITH_EVERY_BUILDER = {"test_interrupts", "test_tables", "test_threads"}
# Files whose laws hold however the calls of a loop are made.
WITH_EVERY_CALL = {"test_quick", "test_staleness"}


def pytest_generate_tests(metafunc):
    if metafunc.module.__name__ in WITH_EVERY_BUILDER:
        metafunc.fixturenames.append("built")
        metafunc.parametrize("built", ("python", "compiled"), indirect=True)
    if metafunc.module.__name__ in WITH_EVERY_CALL:
        metafunc.fixturenames.append("called")
        metafunc.parametrize("called", ("python", "compiled"), indirect=True)
    if metafunc.module.__name__ in ON_EVERY_ENGINE:
        metafunc.fixturenames.append("engine")
        metafunc.parametrize("engine", tuple(ENGINES), indirect=True)


@pytest.fixture
def engine(request):
    """The engine that runs where none is named."""
    before, Setting.default = Setting.default, request.param
    yield request.param
    Setting.default = before


def _built_by(choice):
    before = builder.now()
    if choice == "compiled":
        pytest.importorskip("llvmlite")
        if builder.refusal() is not None:
            pytest.skip(builder.refusal())
    builder.use(choice)
    yield choice
    builder.use(before)


@pytest.fixture
def built(request):
    """Who builds the nodes."""
    yield from _built_by(request.param)


@pytest.fixture
def compiled_builder():
    """Compiled code builds the nodes."""
    yield from _built_by("compiled")


@pytest.fixture
def called(request):
    """How the calls of a loop are made."""
    before = calls.now()
    if request.param == "compiled":
        pytest.importorskip("llvmlite")
        if not calls.can_be_compiled():
            pytest.skip("the calls of a loop are Python here")
    calls.use(request.param)
    yield request.param
    calls.use(before)


@pytest.fixture(autouse=True, scope="session")
def compiled_code_apart(tmp_path_factory):
    """Tests keep compiled code in a folder of their own."""
    patch = pytest.MonkeyPatch()
    patch.setenv("NAIVE_GRAPH_CACHE", str(tmp_path_factory.mktemp("compiled")))
    if os.environ.get("NAIVE_GRAPH_BUILDER") == "compiled":  # all tests, with compiled code from the first node on
        builder.use("compiled")
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
