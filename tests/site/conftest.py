"""One small site, and all of it, for the tests of the session."""

import subprocess
import sys
from types import SimpleNamespace
from urllib.request import urlopen

import pytest
from browsing import free_port, wait_for

from naive_graph.site.build import build
from naive_graph.views.playground.folder import zip_package

CHOSEN = (
    "02", "04_", "10a", "10b", "Graph", "exp", "less", "AdamTrainer", "step", "tensor.conv2d", "errors.ShapeError",
    "the-function", "three-cells",
)  # fmt: skip


@pytest.fixture(scope="session")
def site(tmp_path_factory):
    """A page and more of each kind."""
    folder = tmp_path_factory.mktemp("site")
    list(build(folder, *CHOSEN))
    return folder


@pytest.fixture(scope="session")
def whole(tmp_path_factory):
    """All of it, as the command makes it beside a playground, and its front page as a server gives it."""
    folder, port = tmp_path_factory.mktemp("whole") / "public", free_port()
    (folder / "playground").mkdir(parents=True)
    (folder / "playground" / "index.html").write_text("<!doctype html><title>playground</title>")
    (folder / "playground" / "package.zip").write_bytes(zip_package())
    command = [sys.executable, "-m", "naive_graph", "site", "-o", str(folder), "--serve", "--no-browser"]
    command += ["--port", str(port)]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as server:
        try:
            wait_for(f"http://127.0.0.1:{port}/", server, 240)
            with urlopen(f"http://127.0.0.1:{port}/index.html") as answer:
                yield SimpleNamespace(folder=folder, served=answer.read())
        finally:
            server.terminate()
