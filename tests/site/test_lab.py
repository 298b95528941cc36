"""The laboratory: JupyterLite with the lessons, which a browser runs without a network."""

import io
import urllib.parse
import zipfile
from importlib.metadata import distribution

import pytest
from browsing import answering, launched

from naive_graph.classroom.lessons import lessons_of_the_package
from naive_graph.cli.serving import server
from naive_graph.errors import MissingToolError
from naive_graph.site import lab
from naive_graph.site.lab import write_lab


def test_an_installed_package_is_a_wheel_again():
    name, data = lab._packed("mistune")
    inside = zipfile.ZipFile(io.BytesIO(data)).namelist()
    assert name == f"mistune-{distribution('mistune').version}-py3-none-any.whl"
    assert "mistune/__init__.py" in inside and any(each.endswith(".dist-info/METADATA") for each in inside)
    assert lab._entry("mistune", name, data)["imports"] == ["mistune"]


def test_what_is_missing_is_named_before_anything_is_written(tmp_path, given, monkeypatch):
    monkeypatch.setattr(lab, "NEEDED", ("nothing-like-this",))
    with pytest.raises(MissingToolError, match=r"needs nothing-like-this.*naive-graph\[lite\]"):
        write_lab(tmp_path / "lite", given)
    assert not (tmp_path / "lite").exists()


@pytest.mark.browser
def test_a_scalar_lesson_runs_in_the_laboratory_and_asks_nobody(tmp_path, given):
    pytest.importorskip("jupyterlite_pyodide_kernel", reason="JupyterLite is missing: the extra lite")
    pytest.importorskip("micropip", reason="micropip is missing: the extra lite with Python 3.13 or newer")
    write_lab(tmp_path, given)
    [name] = [each.name for each in lessons_of_the_package() if each.stem.endswith("kahns_order")]
    asked = set()
    with launched() as browser, answering(server(tmp_path)) as home:
        page = browser.new_page()
        page.on("request", lambda request: asked.add(urllib.parse.urlsplit(request.url).netloc))
        page.goto(f"{home}notebooks/index.html?path={name}")
        page.locator(".jp-CodeCell .cm-content").first.click()
        page.locator(".jp-Notebook-ExecutionIndicator[data-status='idle']").wait_for()
        for _ in range(4):
            page.keyboard.press("Shift+Enter")
        page.locator(".jp-OutputArea-output", has_text="x*y + sin(y)").wait_for()
        assert asked - {""} == {urllib.parse.urlsplit(home).netloc}
