"""Debian's chromium and a real Jupyter, for the tests that look at what a learner sees."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[1]
CHROMIUM = "/usr/bin/chromium"
PATIENCE = 180_000  # milliseconds that a state is waited for: a busy machine is no fault of the page
BROWSER_ARGUMENTS = [
    *("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
]


def browser_or_skip() -> Any:
    """Playwright, where Debian's chromium is; else a visible skip, or a failure if a browser is required."""
    missing = None if Path(CHROMIUM).exists() else f"{CHROMIUM} is not installed"
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        missing = "playwright is not installed"
    if missing and os.environ.get("NAIVE_GRAPH_REQUIRE_BROWSER"):
        pytest.fail(f"{missing}, and NAIVE_GRAPH_REQUIRE_BROWSER asks for the browser tests")
    if missing:
        pytest.skip(missing)
    return sync_playwright


@contextmanager
def launched() -> Iterator[Any]:
    """Chromium, as long as the block lasts; or a skip. Its pages are waited for as on a busy machine."""
    with browser_or_skip()() as playwright:
        chromium = playwright.chromium.launch(executable_path=CHROMIUM, args=BROWSER_ARGUMENTS, timeout=PATIENCE)
        chromium.new_page, chromium.new_context = _patient(chromium.new_page), _patient(chromium.new_context)
        yield chromium
        chromium.close()


def _patient(opening: Callable[..., Any]) -> Callable[..., Any]:
    def opened(**asked: Any) -> Any:
        made = opening(**asked)
        made.set_default_timeout(PATIENCE)
        return made

    return opened


@contextmanager
def answering(serving: ThreadingHTTPServer) -> Iterator[str]:
    """The address of a server that answers in a thread of its own, as long as the block lasts."""
    with serving:
        threading.Thread(target=serving.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{serving.server_port}/"
        serving.shutdown()


# Until nothing moves: colours on their way, as a page turns dark, are not those that somebody reads.
STILL = """Promise.allSettled(document.getAnimations().map((each) => isFinite(each.effect.getComputedTiming().endTime)
    && each.finished)).then(() => 0)"""


def serious(page: Any) -> list[str]:
    """What axe-core finds in a page that keeps somebody from reading or using it."""
    axe = pytest.importorskip(
        "axe_playwright_python", reason="axe-playwright-python, which brings axe-core, is missing"
    )
    if not page.evaluate("Boolean(window.axe)"):
        page.evaluate((Path(axe.__file__).parent / "axe.min.js").read_text(encoding="utf-8"))
    page.evaluate(STILL)
    # It describes each element that breaks a rule, and not all that keep it, which takes most of the time.
    found = page.evaluate("axe.run(document, { resultTypes: ['violations'] })")["violations"]
    return [
        f"{each['id']}: {each['nodes'][0]['html'][:200]}" for each in found if each["impact"] in ("serious", "critical")
    ]


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def wait_for(url: str, server: subprocess.Popen[bytes], seconds: float = PATIENCE / 1000) -> None:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        assert server.poll() is None, "JupyterLab ended before it answered"
        try:
            urllib.request.urlopen(url, timeout=20).close()
            return
        except OSError:
            time.sleep(0.3)
    raise AssertionError("JupyterLab did not answer")


@contextmanager
def jupyter(module: str, home: Path, folder: Path, token: str, port: int) -> Iterator[str]:
    """A server of `jupyterlab` or `notebook` over a folder, with settings and files of its own; its address."""
    settings = {
        # A kernel chooses its own way to show plots, whatever the tests run with.
        **{name: value for name, value in os.environ.items() if name != "MPLBACKEND"},
        "HOME": str(home),
        "JUPYTER_CONFIG_DIR": str(home / "config"),
        "JUPYTER_DATA_DIR": str(home / "data"),
        "JUPYTER_RUNTIME_DIR": str(home / "runtime"),
        "JUPYTERLAB_SETTINGS_DIR": str(home / "settings"),
        "PYTHONPATH": os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")])),
        "CI": "true",
    }
    command = [
        *(sys.executable, "-m", module, "--no-browser", "--ip=127.0.0.1", f"--port={port}"),
        *(f"--IdentityProvider.token={token}", f"--ServerApp.root_dir={folder}", "--ServerApp.port_retries=0"),
        *("--allow-root", "--LabApp.news_url=", "--LabApp.check_for_updates_class=jupyterlab.NeverCheckForUpdate"),
    ]
    with open(home / "log.txt", "wb") as log:
        server = subprocess.Popen(command, env=settings, stdout=log, stderr=subprocess.STDOUT)
        try:
            wait_for(f"http://127.0.0.1:{port}/api?token={token}", server)
            yield f"http://127.0.0.1:{port}"
        finally:
            server.terminate()
            server.wait(30)
