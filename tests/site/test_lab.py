"""The laboratory: JupyterLite with the lessons, which a browser runs without a network."""

import shutil
import subprocess
import sys
import urllib.parse

import pytest
from browsing import answering, launched

from naive_graph.classroom.lessons import lessons_of_the_package
from naive_graph.cli.serving import make_server
from naive_graph.errors import MissingToolError
from naive_graph.site.lab import write_lab
from naive_graph.site.wheel import build_wheel


def test_the_wheel_that_is_handed_out_is_installed_with_its_lessons_and_knows_its_extras(tmp_path):
    name, data = build_wheel()
    (tmp_path / name).write_bytes(data)
    pip = [sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--no-index", "--target", str(tmp_path / "there")]
    done = subprocess.run([*pip, str(tmp_path / name)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    copied = [sys.executable, "-m", "naive_graph", "lessons", "mine", "--copy-only"]
    assert subprocess.run(copied, cwd=tmp_path / "there", capture_output=True).returncode == 0
    mine = {each.name for each in (tmp_path / "there" / "mine").glob("*.ipynb")}
    assert mine == {each.name for each in lessons_of_the_package()}
    [told] = (tmp_path / "there").glob("*.dist-info/METADATA")
    assert "Provides-Extra: all" in told.read_text("utf-8")


MISSING = r"does not run here.*naive-graph\[lite\]" if sys.version_info >= (3, 12) else "needs Python 3.12 or newer"


def test_where_jupyterlite_is_missing_it_is_said_how_to_get_it(tmp_path, given, monkeypatch):
    monkeypatch.setattr(sys, "executable", shutil.which("true") or sys.executable)  # which builds nothing
    with pytest.raises(MissingToolError, match=MISSING):
        write_lab(tmp_path / "lite", given)
    assert not (tmp_path / "lite").exists()


@pytest.mark.browser
def test_a_scalar_lesson_runs_in_the_laboratory_and_asks_nobody(tmp_path, given):
    pytest.importorskip("jupyterlite_pyodide_kernel", reason="JupyterLite is missing: the extra lite")
    pytest.importorskip("pyodide_lock", reason="JupyterLite's tool for packages is missing: the extra lite")
    write_lab(tmp_path, given)
    [name] = [each.name for each in lessons_of_the_package() if each.stem.endswith("kahns_order")]
    asked = set()
    with launched() as browser, answering(make_server(tmp_path)) as home:
        page = browser.new_page()
        page.on("request", lambda request: asked.add(urllib.parse.urlsplit(request.url).netloc))
        page.goto(f"{home}notebooks/index.html?path={name}")
        page.locator(".jp-CodeCell .cm-content").first.click()
        page.locator(".jp-Notebook-ExecutionIndicator[data-status='idle']").wait_for()
        for _ in range(4):
            page.keyboard.press("Shift+Enter")
        page.locator(".jp-OutputArea-output", has_text="x*y + sin(y)").wait_for()
        assert asked - {""} == {urllib.parse.urlsplit(home).netloc}
