"""The lessons in a real JupyterLab: they run, their pictures are seen, and they are solved by typing."""

from __future__ import annotations

import json
import re
import secrets
import shutil
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from browsing import PATIENCE, browser_or_skip, free_port, jupyter
from lesson_files import LESSONS, QUICKLY_SEEN, code_cells, every_lesson_some_quickly, outputs
from typed import BLANKS, typed

from naive_graph.classroom.judging import exercise_named
from naive_graph.classroom.solutions import solution_text
from naive_graph.cli.lessons import copy_lessons


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


TAKEN = "[...document.querySelectorAll('.jp-InputPrompt')].some(each => /\\[(\\*|\\d+)\\]/.test(each.innerText))"


def _run_all(page: Any, address: str) -> None:
    """Open a notebook and run all its cells by the menu; return when the last has been executed."""
    from playwright.sync_api import TimeoutError as NotYet

    page.goto(address)
    page.wait_for_selector(".jp-Notebook .jp-CodeCell")
    page.wait_for_selector(".jp-Notebook-ExecutionIndicator[data-status='idle']", state="attached")
    page.locator(".jp-CodeCell").first.click()
    page.get_by_role("menuitem", name="Edit", exact=True).first.click()
    page.locator(".lm-Menu-item:visible", has_text="Clear Outputs of All Cells").first.click()
    page.wait_for_function("document.querySelectorAll('.jp-Notebook .jp-OutputArea-output').length === 0")
    asked: list[str] = []
    for _ in range(5):  # on a busy machine a click may come before the menu is ready for it
        asked += _answered(page)
        with suppress(NotYet):
            page.get_by_role("menuitem", name="Run", exact=True).first.click(timeout=30_000)
            page.locator(".lm-Menu-item:visible", has_text="Run All Cells").first.click(timeout=30_000)
            page.wait_for_function(TAKEN, timeout=60_000)
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
    end = time.monotonic() + PATIENCE / 1000
    while time.monotonic() < end:
        page.keyboard.press("Control+s")
        page.wait_for_timeout(1000)
        if not (text := path.read_text(encoding="utf-8")):
            continue  # it is being written
        saved = json.loads(text)
        code = [cell for cell in saved["cells"] if cell["cell_type"] == "code"]
        failed = [output for cell in code for output in cell["outputs"] if output["output_type"] == "error"]
        assert failed == []
        if [cell["execution_count"] for cell in code] == list(range(1, cells + 1)):
            return saved
    raise AssertionError("not every cell was executed")


# A drawn graph is an image that its script replaces by the drawing itself, a film's stills are replaced by the film.
PICTURES = """
() => [...document.querySelectorAll('.jp-Notebook .jp-OutputArea-output :is(img, .ng-picture)')]
    .filter(each => !each.closest('[data-ng-still], .ng-begun > .ng-stills'))
    .filter(each => !each.parentElement.closest('.ng-picture'))
    .map(each => each.matches('img') ? each : each.querySelector('svg, img'))
    .map(each => each && each.getBoundingClientRect().width > 0 && (each.matches('svg') || each.naturalWidth > 0))
"""


# Into sight with one cell after the other: some pictures are drawn when they are seen first.
THROUGH = """async () => {
  for (const cell of document.querySelectorAll('.jp-Notebook .jp-Cell')) {
    cell.scrollIntoView();
    await new Promise(requestAnimationFrame);
  }
}"""


def _pictures(page: Any, expected: int) -> list[bool]:
    """For each picture in the page, whether it is really shown. A busy machine may take a while to draw them.

    There may be more than in the lesson as it is kept, which is solved: a check draws the case that is not yet right.
    """
    end = time.monotonic() + PATIENCE / 1000
    shown: list[bool] = []
    while time.monotonic() < end and (len(shown) < expected or not all(shown)):
        page.evaluate(THROUGH)
        shown = page.evaluate(PICTURES)
    return shown


def _is_walk(output: Any) -> bool:
    return "To step through it" in "".join(output.get("data", {}).get("text/html", ""))


def _is_picture(output: Any) -> bool:
    data = output.get("data", {})
    if _is_walk(output):
        return False  # in a notebook that runs, the stepper itself is there
    return "image/png" in data or "<img" in "".join(data.get("text/html", ""))


def kinds_of_picture(lesson: Path) -> set[tuple[str, ...]]:
    shown = [each for each in outputs(lesson) if _is_picture(each) or _is_walk(each)]
    return {(each.output_type, *sorted(each.data), *["walk"] * _is_walk(each)) for each in shown}


def test_the_lessons_that_are_always_seen_in_a_browser_hold_every_kind_of_picture() -> None:
    quickly = [each for each in LESSONS if each.name.startswith(QUICKLY_SEEN)]
    assert set().union(*map(kinds_of_picture, LESSONS)) == set().union(*map(kinds_of_picture, quickly))


@pytest.mark.browser
@every_lesson_some_quickly
def test_a_lesson_runs_in_jupyterlab_and_its_pictures_are_seen(lesson: Path, laboratory: Any, browser: Any) -> None:
    address, token, folder = laboratory
    page = browser.new_page(viewport={"width": 1300, "height": 1000})
    try:
        _run_all(page, f"{address}/lab/tree/{lesson.name}?token={token}&reset")
        _saved(page, folder / lesson.name, len(code_cells(lesson)))
        expected = sum(map(_is_picture, outputs(lesson)))
        shown = _pictures(page, expected)
        assert len(shown) >= expected and all(shown)
        assert page.locator(".ng-stepper .ng-drawing svg").count() == sum(map(_is_walk, outputs(lesson)))
        assert page.locator("[data-mime-type='application/vnd.jupyter.stderr']").count() == 0
    finally:
        page.close()


# --- somebody types ------------------------------------------------------------


class Page:
    """A notebook in JupyterLab, and somebody who types into it."""

    def __init__(self, page, address):
        self.page = page
        page.goto(address)
        page.wait_for_selector(".jp-Notebook .jp-CodeCell")
        page.wait_for_selector(".jp-Notebook-ExecutionIndicator[data-status='idle']", state="attached")
        self.cells = page.locator(".jp-Notebook .jp-CodeCell")

    def type_into(self, place, text):
        """Write a text in the place of what the cell holds."""
        self.cells.nth(place).locator(".cm-content").click()
        self.page.keyboard.press("Control+a")
        self.page.keyboard.insert_text(text)

    def run(self, place):
        """Run a cell with the keyboard; what it shows."""
        cell = self.cells.nth(place)
        prompt, before = cell.locator(".jp-InputPrompt"), cell.locator(".jp-InputPrompt").inner_text()
        for wait in range(4000):
            now = prompt.inner_text()
            if now == before and not wait % 250:  # a busy machine may miss a key
                cell.locator(".cm-content").click()
                self.page.keyboard.press("Control+Enter")
            elif now != before and re.search(r"\d", now):
                return "\n".join(cell.locator(".jp-OutputArea-output").all_inner_texts())
            self.page.wait_for_timeout(20)
        raise AssertionError(f"cell {place} did not end: {now}")


SOLVED_QUICKLY = "01_"  # half a minute; the others take minutes, and .ci/run leaves them out


@pytest.mark.browser
@pytest.mark.parametrize(
    "lesson",
    [
        pytest.param(
            each, id=each.stem, marks=[pytest.mark.slow, pytest.mark.typed][: 2 - each.name.startswith(SOLVED_QUICKLY)]
        )
        for each in LESSONS
    ],
)
def test_a_lesson_is_solved_by_typing_into_jupyterlab(lesson, laboratory, browser):
    address, token, folder = laboratory
    copy_lessons([lesson], folder / "mine")
    window = browser.new_page(viewport={"width": 1300, "height": 1000})
    try:
        page = Page(window, f"{address}/lab/tree/mine/{lesson.name}?token={token}&reset")
        sources = [cell.source for cell in code_cells(lesson)]
        for place, source in enumerate(sources):
            wrong, right = typed(source) or (None, source)
            checks = place + 1 if source in BLANKS else place
            if wrong is not None:
                page.type_into(place, wrong)
                shown = page.run(place)
                told = page.run(checks) if checks > place else shown
                assert told and not told.startswith("Right")
                if source in BLANKS and not (folder.parent / "wrong.png").exists():
                    window.screenshot(path=folder.parent / "wrong.png")
                page.type_into(place, right)
            shown = page.run(place)
            assert "Traceback" not in shown, source
            if source.startswith(("check(", "predict(")):
                assert shown.startswith("Right"), source
        window.screenshot(path=folder.parent / f"solved-{lesson.stem}.png")
    finally:
        window.close()


@pytest.mark.browser
@pytest.mark.slow
@pytest.mark.typed
def test_an_engine_of_ones_own_is_written_in_jupyterlabs_editor(laboratory, browser):
    """As lesson 1 says it: run the cell, double-click the file, write at its end, save, check."""
    address, token, folder = laboratory
    lesson, mine = LESSONS[0], folder / "own"
    copy_lessons([lesson], mine)
    window = browser.new_page(viewport={"width": 1300, "height": 1000})
    try:
        page = Page(window, f"{address}/lab/tree/own/{lesson.name}?token={token}&reset")
        sources = [cell.source for cell in code_cells(lesson)]
        page.run(0)
        assert "is written" in page.run(sources.index("start_tiny(1)"))
        assert page.run(sources.index("check_tiny(1)")).startswith("Not yet: tiny.py has no Tiny")
        window.locator(".jp-DirListing-item", has_text="tiny.py").dblclick()
        editor = window.locator(".jp-FileEditor .cm-content")
        editor.click()
        window.keyboard.press("Control+End")
        window.keyboard.insert_text(solution_text(exercise_named("tiny_nodes")))
        window.keyboard.press("Control+s")
        window.wait_for_timeout(2000)
        window.screenshot(path=folder.parent / "tiny-editor.png")
        window.locator(".lm-TabBar-tab", has_text=lesson.name).first.click()
        assert page.run(sources.index("check_tiny(1)")).startswith("Right: tiny.py")
        window.screenshot(path=folder.parent / "tiny-checked.png")
    finally:
        window.close()
