"""The lessons: built from their sources, executed, standing alone, and alive in a real browser."""

from __future__ import annotations

import importlib.util
import io
import json
import os
import secrets
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import redirect_stderr, redirect_stdout, suppress
from pathlib import Path
from typing import Any

import pytest
from browsing import BROWSER_ARGUMENTS, CHROMIUM, browser_or_skip, free_port, jupyter

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "lessons"
LESSONS = sorted(FOLDER.glob("*.ipynb"))
every_lesson = pytest.mark.parametrize("lesson", LESSONS, ids=lambda lesson: lesson.stem)


def builder_in(folder: Path = FOLDER) -> Any:
    """lessons/build.py as a module that builds the lessons of a folder. What it imports takes seconds to load."""
    spec = importlib.util.spec_from_file_location("lessons_build", FOLDER / "build.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    module.HERE, module.SOURCES = folder, folder / "sources"  # type: ignore[attr-defined]
    return module


@pytest.fixture(scope="module")
def build() -> Any:
    for tool in ("nbformat", "jupytext", "nbclient"):
        pytest.importorskip(tool)
    return builder_in()


def notebook(lesson: Path) -> Any:
    return nbformat().read(lesson, as_version=4)


def nbformat() -> Any:
    return pytest.importorskip("nbformat")


def code_cells(lesson: Path) -> list[Any]:
    return [cell for cell in notebook(lesson).cells if cell.cell_type == "code"]


def outputs(lesson: Path) -> list[Any]:
    return [output for cell in code_cells(lesson) for output in cell.outputs]


# --- the committed notebooks --------------------------------------------------


def test_every_source_has_its_notebook_and_every_notebook_its_source(build: Any) -> None:
    assert [lesson.stem for lesson in LESSONS] == sorted(source.stem for source in build.SOURCES.glob("*.md"))
    assert len(LESSONS) >= 3


@every_lesson
def test_a_lesson_is_a_valid_notebook(lesson: Path) -> None:
    nbformat().validate(notebook(lesson))


@every_lesson
def test_a_lesson_was_built_from_the_source_beside_it(lesson: Path, build: Any) -> None:
    recorded = notebook(lesson).metadata["naive_graph"]["source_sha256"]
    assert recorded == build.digest(build.SOURCES / f"{lesson.stem}.md"), "run `python lessons/build.py`"


@every_lesson
def test_the_cells_of_a_lesson_are_those_of_its_source(lesson: Path, build: Any) -> None:
    fresh = build.read(build.SOURCES / f"{lesson.stem}.md")
    committed = notebook(lesson)
    assert [(cell.id, cell.source) for cell in committed.cells] == [(cell.id, cell.source) for cell in fresh.cells]


@every_lesson
def test_every_cell_was_executed_in_order(lesson: Path) -> None:
    counts = [cell.execution_count for cell in code_cells(lesson)]
    assert counts == list(range(1, len(counts) + 1))


@every_lesson
def test_no_cell_shows_an_error_or_a_warning(lesson: Path) -> None:
    bad = [output for output in outputs(lesson) if output.output_type == "error" or output.get("name") == "stderr"]
    assert bad == []


@every_lesson
def test_no_output_tells_where_or_when_it_was_made(lesson: Path) -> None:
    text = lesson.read_text(encoding="utf-8")
    for trace in (str(ROOT), str(Path.home()) + os.sep, "ipykernel_", " object at 0x", "iopub.execute_input"):
        assert trace not in text


@every_lesson
def test_a_lesson_begins_with_an_empty_graph(lesson: Path) -> None:
    assert "Graph.clear()" in code_cells(lesson)[0].source


@every_lesson
def test_a_lesson_predicts_looks_builds_breaks_and_does_a_real_task(lesson: Path) -> None:
    heads = [line for cell in notebook(lesson).cells for line in cell.source.splitlines() if line.startswith("## ")]
    parts = ["## Predict", "## Look", "## Build", "## Break", "## A real task", "## Exercises"]
    assert len(heads) == len(parts)
    assert all(head.startswith(part) for head, part in zip(heads, parts))


@every_lesson
def test_a_drawing_is_shown_as_an_image_inside_html_and_as_png(lesson: Path) -> None:
    """GitHub and an untrusted notebook show an img with a data URI; PDF and mail show the PNG."""
    bundles = [output["data"] for output in outputs(lesson) if "data" in output]
    images = [data for data in bundles if "data:image/" in data.get("text/html", "")]
    drawings = [data for data in images if not data["text/plain"].startswith("Not yet")]  # a check's is beside its text
    assert drawings
    for data in drawings:
        assert "<script" not in data["text/html"]
        assert data["image/png"]


# --- building -----------------------------------------------------------------


OUR_COPY = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))


def run_build(builder: Any, *arguments: str) -> tuple[int, str]:
    """`python build.py` in a folder of lessons: how it ends, and what it complains of."""
    complaints = io.StringIO()
    with pytest.MonkeyPatch.context() as patch, redirect_stderr(complaints), redirect_stdout(io.StringIO()):
        patch.setenv("PYTHONPATH", OUR_COPY)
        return builder.main(list(arguments)), complaints.getvalue()


@pytest.fixture(scope="module")
def rebuilt(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder in which all lessons were built anew. Each lesson has a fresh kernel and an empty folder."""
    return folder_of_lessons(tmp_path_factory.mktemp("rebuilt"))


def folder_of_lessons(folder: Path, *names: str) -> Path:
    shutil.copytree(FOLDER / "sources", folder / "sources")
    assert run_build(builder_in(folder), *names) == (0, "")
    return folder


@every_lesson
def test_a_lesson_stands_alone_and_shows_what_was_committed(lesson: Path, rebuilt: Path, build: Any) -> None:
    fresh, committed = (
        [build.without_pictures(cell) for cell in notebook(path).cells] for path in (rebuilt / lesson.name, lesson)
    )
    assert fresh == committed


@every_lesson
def test_two_builds_give_the_same_bytes(lesson: Path, rebuilt: Path, tmp_path: Path) -> None:
    """The committed notebook is a build as well, and another is made where this machine's fonts draw otherwise."""
    fresh, other = (rebuilt / lesson.name).read_bytes(), lesson
    if other.read_bytes() != fresh:
        other = folder_of_lessons(tmp_path, lesson.stem) / lesson.name
    assert other.read_bytes() == fresh


PICTURE = "__import__('IPython').display.Image(b'a picture', format='png')"
SMALL = {"01_small": 'print("a")', "02_changed": "__import__('sys').executable", "03_picture": PICTURE}


def write(folder: Path, name: str, code: str) -> None:
    text = f"# A small lesson\n\n```{{code-cell}} ipython3\n{code}\n```\n"
    (folder / "sources" / f"{name}.md").write_text(text, encoding="utf-8")


def amend(path: Path, old: str, new: str) -> None:
    path.write_text(path.read_text(encoding="utf-8").replace(old, new), encoding="utf-8")


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of small lessons, built by the command."""
    folder = tmp_path_factory.mktemp("small")
    (folder / "sources").mkdir()
    for name, code in SMALL.items():
        write(folder, name, code)
    shutil.copy(FOLDER / "build.py", folder)
    subprocess.run([sys.executable, folder / "build.py"], check=True, env={**os.environ, "PYTHONPATH": OUR_COPY})
    return folder


@pytest.fixture(scope="module")
def checked(small: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[int, str]:
    """What `--check` answers once lessons have gone stale in every way."""
    folder = shutil.copytree(small, tmp_path_factory.mktemp("stale") / "lessons")
    write(folder, "00_never", "1")
    write(folder, "02_changed", "2")
    shutil.copy(folder / "01_small.ipynb", folder / "04_lost.ipynb")
    amend(folder / "01_small.ipynb", '"a\\n"', '"c\\n"')
    return run_build(builder_in(folder), "--check")


@pytest.mark.parametrize(
    "complaint",
    [
        "lessons/00_never.ipynb: was never built",
        "lessons/02_changed.ipynb: its source has changed",
        "lessons/01_small.ipynb: cell 1 shows something else now: 'print(\"a\")'",
        "lessons/04_lost.ipynb: it has no source",
    ],
)
def test_check_names_a_stale_lesson(complaint: str, checked: tuple[int, str]) -> None:
    assert checked[0] == 1 and complaint in checked[1]


def test_check_complains_of_no_other_lesson(checked: tuple[int, str]) -> None:
    assert checked[1].count("lessons/0") == 4


def test_check_passes_on_what_shows_the_same_texts_and_tells_another_picture(small: Path, tmp_path: Path) -> None:
    folder = shutil.copytree(small, tmp_path / "lessons")
    amend(folder / "03_picture.ipynb", "YSBwaWN0dXJl", "YSBwaWN0dXJm")
    status, told = run_build(builder_in(folder), "--check")
    assert status == 0 and told.count("note:") == 1 and "cell 1 shows another picture" in told


def test_a_lesson_that_fails_is_named_with_its_error_and_leaves_the_old_notebook(small: Path, tmp_path: Path) -> None:
    folder = shutil.copytree(small, tmp_path / "lessons")
    write(folder, "01_small", "1 / 0")
    status, told = run_build(builder_in(folder), "01")
    assert status == 1 and "Lesson 01_small fails: ZeroDivisionError: division by zero" in told
    assert (folder / "01_small.ipynb").read_bytes() == (small / "01_small.ipynb").read_bytes()


def test_an_unknown_lesson_is_answered_with_the_known_ones(small: Path) -> None:
    status, told = run_build(builder_in(small), "07")
    assert status == 1 and f"There is no lesson '07'. There are: {', '.join(SMALL)}." in told


def test_a_lesson_runs_in_the_python_that_builds_it(small: Path) -> None:
    assert outputs(small / "02_changed.ipynb")[0]["data"]["text/plain"] == repr(sys.executable)


# --- in a browser ---------------------------------------------------------------


@pytest.fixture(scope="module")
def laboratory(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, str, Path]]:
    """A real JupyterLab over a copy of the lessons without their outputs: its address, its token and its folder."""
    browser_or_skip()
    home = tmp_path_factory.mktemp("lab")
    folder = home / "lessons"
    folder.mkdir()
    for lesson in LESSONS:
        shutil.copy(lesson, folder)
    token, port = secrets.token_hex(8), free_port()
    # All cells are in the page, not only those in sight: else a picture is missed by the length of a screen.
    tracker = home / "settings" / "@jupyterlab" / "notebook-extension" / "tracker.jupyterlab-settings"
    tracker.parent.mkdir(parents=True)
    tracker.write_text('{"windowingMode": "none"}', encoding="utf-8")
    with jupyter("jupyterlab", home, folder, token, port) as address:
        yield address, token, folder


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with browser_or_skip()() as playwright:
        chromium = playwright.chromium.launch(executable_path=CHROMIUM, args=BROWSER_ARGUMENTS)
        yield chromium
        chromium.close()


TAKEN = "[...document.querySelectorAll('.jp-InputPrompt')].some(each => /\\[(\\*|\\d+)\\]/.test(each.innerText))"


def _run_all(page: Any, address: str) -> None:
    """Open a notebook and run all its cells by the menu; return when the last has been executed."""
    from playwright.sync_api import TimeoutError as NotYet

    page.goto(address)
    page.wait_for_selector(".jp-Notebook .jp-CodeCell", timeout=90_000)
    page.wait_for_selector(".jp-Notebook-ExecutionIndicator[data-status='idle']", state="attached", timeout=90_000)
    page.locator(".jp-CodeCell").first.click()
    page.get_by_role("menuitem", name="Edit", exact=True).first.click()
    page.locator(".lm-Menu-item:visible", has_text="Clear Outputs of All Cells").first.click()
    page.wait_for_function("document.querySelectorAll('.jp-Notebook .jp-OutputArea-output').length === 0")
    asked: list[str] = []
    for _ in range(5):  # on a busy machine a click may come before the menu is ready for it
        asked += _answered(page)
        with suppress(NotYet):
            page.get_by_role("menuitem", name="Run", exact=True).first.click(timeout=10_000)
            page.locator(".lm-Menu-item:visible", has_text="Run All Cells").first.click(timeout=10_000)
            page.wait_for_function(TAKEN, timeout=15_000)
            return
    raise AssertionError(f"the notebook did not begin to run; JupyterLab asked: {asked}")


def _answered(page: Any) -> list[str]:
    """What dialogs ask that stand in the way of a click; each is given the answer that it offers first."""
    asked = []
    for dialog in page.locator(".jp-Dialog:visible").all():
        asked.append(dialog.inner_text())
        dialog.locator(".jp-mod-accept").first.click()
    return asked


def _saved(page: Any, path: Path, cells: int) -> Any:
    """What the browser saved once every code cell had run."""
    end = time.monotonic() + 120
    while time.monotonic() < end:
        page.keyboard.press("Control+s")
        page.wait_for_timeout(1000)
        saved = json.loads(path.read_text(encoding="utf-8"))
        code = [cell for cell in saved["cells"] if cell["cell_type"] == "code"]
        failed = [output for cell in code for output in cell["outputs"] if output["output_type"] == "error"]
        assert failed == []
        if [cell["execution_count"] for cell in code] == list(range(1, cells + 1)):
            return saved
    raise AssertionError("not every cell was executed")


PICTURES = """
() => [...document.querySelectorAll('.jp-Notebook .jp-OutputArea-output img')]
    .filter(image => !image.closest('[data-ng-still]'))
    .map(image => image.complete && image.naturalWidth > 0 && image.clientWidth > 0)
"""


def _pictures(page: Any, expected: int) -> list[bool]:
    """For each picture in the page, whether it is really shown. A busy machine may take a while to draw them."""
    end = time.monotonic() + 60
    shown: list[bool] = []
    while time.monotonic() < end and shown != [True] * expected:
        for cell in page.locator(".jp-Notebook .jp-Cell").all():
            cell.scroll_into_view_if_needed()
        page.wait_for_timeout(500)
        shown = page.evaluate(PICTURES)
    return shown


def _is_walk(output: Any) -> bool:
    return "To step through it" in "".join(output.get("data", {}).get("text/html", ""))


def _is_picture(output: Any) -> bool:
    data = output.get("data", {})
    if _is_walk(output):
        return False  # in a notebook that runs, the stepper itself is there
    return "image/png" in data or "<img" in "".join(data.get("text/html", ""))


# Drawings, plots and walks: every kind of picture that a lesson shows is in these.
QUICKLY_SEEN = ("03_", "05_")
every_lesson_in_a_browser = pytest.mark.parametrize(
    "lesson",
    [
        pytest.param(each, id=each.stem, marks=[] if each.name.startswith(QUICKLY_SEEN) else [pytest.mark.slow])
        for each in LESSONS
    ],
)


def kinds_of_picture(lesson: Path) -> set[tuple[str, ...]]:
    shown = [each for each in outputs(lesson) if _is_picture(each) or _is_walk(each)]
    return {(each.output_type, *sorted(each.data), *["walk"] * _is_walk(each)) for each in shown}


def test_the_lessons_that_are_always_seen_in_a_browser_hold_every_kind_of_picture() -> None:
    quickly = [each for each in LESSONS if each.name.startswith(QUICKLY_SEEN)]
    assert set().union(*map(kinds_of_picture, LESSONS)) == set().union(*map(kinds_of_picture, quickly))


@pytest.mark.browser
@every_lesson_in_a_browser
def test_a_lesson_runs_in_jupyterlab_and_its_pictures_are_seen(lesson: Path, laboratory: Any, browser: Any) -> None:
    address, token, folder = laboratory
    page = browser.new_page(viewport={"width": 1300, "height": 1000})
    try:
        _run_all(page, f"{address}/lab/tree/{lesson.name}?token={token}&reset")
        _saved(page, folder / lesson.name, len(code_cells(lesson)))
        expected = sum(map(_is_picture, outputs(lesson)))
        shown = _pictures(page, expected)
        assert shown == [True] * expected
        assert page.locator(".ng-stepper .ng-drawing svg").count() == sum(map(_is_walk, outputs(lesson)))
        assert page.locator("[data-mime-type='application/vnd.jupyter.stderr']").count() == 0
        page.screenshot(path=folder.parent / f"{lesson.stem}.png")
    finally:
        page.close()
