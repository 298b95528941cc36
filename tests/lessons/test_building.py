"""The lessons are built from their sources: the same each time, standing alone, and solved wrong and right."""

from __future__ import annotations

import io
import os
import shutil
import subprocess
import sys
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any

import pytest
from lesson_files import FOLDER, LESSONS, ROOT, builder_in, every_lesson, nbformat, notebook, outputs
from typed import BLANKS, typed


@pytest.fixture(scope="module")
def build() -> Any:
    for tool in ("nbformat", "jupytext", "nbclient"):
        pytest.importorskip(tool)
    return builder_in()


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


# --- solving -------------------------------------------------------------------


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
            cells += [nbformat().v4.new_code_cell(each) for each in (answer, *(each.source for each in check))]
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
