"""Every lesson is solved, wrong first and then right: by its kernel, and by typing into a real JupyterLab."""

import re

import nbformat
import pytest
from test_lessons import FOLDER, LESSONS, browser, builder_in, code_cells, laboratory  # noqa: F401
from typed import BLANKS, typed

from naive_graph.classroom.exercises import EXERCISES
from naive_graph.classroom.notebook import predictions
from naive_graph.cli.lessons import hand_out

SOURCES = {path.stem[:2].lstrip("0"): path.read_text(encoding="utf-8") for path in sorted(FOLDER.glob("sources/*.md"))}


@pytest.mark.parametrize("lesson", SOURCES)
def test_a_lesson_holds_its_exercises_and_two_predictions_or_more(lesson):
    asked = re.findall(r"^%exercise (\w+)$", SOURCES[lesson], re.M)
    assert sorted(asked) == sorted(each.name for each in EXERCISES if each.number.startswith(f"{lesson}."))
    guessed = re.findall(r'^predict\("([\d.]+)", (.*)\)$', SOURCES[lesson], re.M)
    due = {
        number: ", ".join(f"{name}=..." for name in told if name != "why")
        for number, told in predictions().items()
        if number.startswith(f"{lesson}.")
    }
    assert dict(guessed) == due and list(dict(guessed)) == sorted(due) and len(due) >= 2


def answered(notebook):
    """The lesson with every waiting cell answered twice: wrong, then right."""
    cells, code = [], iter(notebook.cells)
    for cell in code:
        answers = typed(cell.source) if cell.cell_type == "code" else None
        if answers is None:
            cells.append(cell)
            continue
        check = [next(code)] if cell.source in BLANKS else []
        for answer in answers:
            cells += [nbformat.v4.new_code_cell(each) for each in (answer, *(each.source for each in check))]
    notebook.cells = cells
    return notebook


@pytest.mark.parametrize(
    "lesson",
    [pytest.param(each, id=each.stem, marks=[pytest.mark.slow] * each.name.startswith("07")) for each in LESSONS],
)  # lesson 7 learns to read once more, and that takes its time
def test_a_lesson_is_solved_wrong_first_and_then_right(lesson):
    builder = builder_in()
    notebook = answered(builder.read(FOLDER / "sources" / f"{lesson.stem}.md"))
    builder.execute(notebook, lesson.stem)
    shown = {"check": [], "predict": []}
    for cell in notebook.cells:
        if cell.cell_type == "code" and (kind := cell.source.partition("(")[0]) in shown:
            shown[kind].append(cell.outputs[-1].data["text/plain"])
    for kind, beginning in (("check", "Not yet: "), ("predict", "")):
        wrong, right = shown[kind][::2], shown[kind][1::2]
        assert wrong and all(each.startswith(beginning) and not each.startswith("Right") for each in wrong)
        assert right and all(each.startswith("Right") for each in right)
    assert "The lesson goes on with a solution" not in str(notebook.cells)


# --- in a browser ---------------------------------------------------------------


class Page:
    """A notebook in JupyterLab, and somebody who types into it."""

    def __init__(self, page, address):
        self.page = page
        page.goto(address)
        page.wait_for_selector(".jp-Notebook .jp-CodeCell", timeout=90_000)
        page.wait_for_selector(".jp-Notebook-ExecutionIndicator[data-status='idle']", state="attached", timeout=90_000)
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


SOLVED_QUICKLY = "01_"


@pytest.mark.browser
@pytest.mark.parametrize(
    "lesson",
    [
        pytest.param(
            each, id=each.stem, marks=[pytest.mark.slow, pytest.mark.typed] * (not each.name.startswith(SOLVED_QUICKLY))
        )
        for each in LESSONS
    ],
)
def test_a_lesson_is_solved_by_typing_into_jupyterlab(lesson, laboratory, browser):  # noqa: F811
    address, token, folder = laboratory
    hand_out([lesson], folder / "mine")
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
