"""The committed lessons: made from their sources, in parts that every lesson has, with their exercises."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

import pytest
from lesson_files import FOLDER, LESSONS, ROOT, builder_in, code_cells, every_lesson, nbformat, notebook, outputs

from naive_graph.classroom.exercises import EXERCISES
from naive_graph.classroom.notebook import predictions


@pytest.fixture(scope="module")
def build() -> Any:
    for tool in ("nbformat", "jupytext", "nbclient"):
        pytest.importorskip(tool)
    return builder_in()


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
    """GitHub and an untrusted notebook run no script and show an img with a data URI; PDF and mail show the PNG."""
    bundles = [output["data"] for output in outputs(lesson) if "data" in output]
    images = [data for data in bundles if "data:image/" in data.get("text/html", "")]
    drawings = [data for data in images if not data["text/plain"].startswith("Not yet")]  # a check's is beside its text
    assert drawings
    for data in drawings:
        still = re.sub(r"<(script|style)\b.*?</\1>", "", data["text/html"], flags=re.DOTALL)
        assert "data:image/" in still and "<script" not in still
        assert data["image/png"]


SOURCES = {
    path.stem.split("_")[0].lstrip("0"): path.read_text(encoding="utf-8")
    for path in sorted(FOLDER.glob("sources/*.md"))
}


@pytest.mark.parametrize("lesson", SOURCES)
def test_a_lesson_holds_its_exercises_and_two_predictions_or_more(lesson):
    asked = re.findall(r"^%exercise (\w+)$", SOURCES[lesson], re.M)
    numbers = {each.number: each.name for each in EXERCISES if each.number.startswith(f"{lesson}.")}
    assert dict(zip((f"{lesson}.{place}" for place in range(1, 99)), asked)) == numbers
    guessed = re.findall(r'^predict\("([\d.abc]+)", (.*)\)$', SOURCES[lesson], re.M)
    due = {
        number: ", ".join(f"{name}=..." for name in told if name != "why")
        for number, told in predictions().items()
        if number.startswith(f"{lesson}.")
    }
    assert dict(guessed) == due and list(dict(guessed)) == sorted(due) and len(due) >= 2


@pytest.mark.parametrize(
    "folder", [FOLDER, *(each.parent for each in FOLDER.glob("*/messages.po"))], ids=lambda each: each.name
)
def test_every_file_that_a_lesson_leads_to_is_there(folder: Path) -> None:
    texts = [cell.source for lesson in folder.glob("*.ipynb") for cell in notebook(lesson).cells]
    links = {link for text in texts for link in re.findall(r"\]\(([^)#:\s]+\.\w+)(?:#[^)\s]*)?\)", text)}
    assert links and [link for link in links if not (folder / link).is_file()] == []
