"""The lessons are built from their sources: the same each time, standing alone, and solved wrong and right."""

from __future__ import annotations

import ast
import io
import os
import re
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import redirect_stderr, redirect_stdout
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from lesson_files import (
    FOLDER,
    ROOT,
    builder_in,
    every_lesson_some_always,
    every_lesson_some_quickly,
    nbformat,
    notebook,
    outputs,
)
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
def executed(
    tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest
) -> tuple[Path, dict[str, list[Any]]]:
    """A folder in which the lessons that are asked for were built anew, and the cells that solved some of them then.

    Each lesson has a fresh kernel and an empty folder. It runs as it is; then the same kernel is given the answers,
    where a test asks for them.
    """
    folder = tmp_path_factory.mktemp("rebuilt")
    builder = builder_in()
    asked: dict[str, set[Any]] = {}  # by lesson, the tests that ask for it
    for item in request.session.items:
        if item.path == request.path and hasattr(item, "callspec") and "lesson" in item.callspec.params:
            asked.setdefault(item.callspec.params["lesson"].stem, set()).add(item.function)
    lessons = []
    for name, tests in sorted(asked.items()):
        book = builder.read(builder.SOURCES / f"{name}.md")
        is_solved = test_a_lesson_is_solved_wrong_first_and_then_right in tests
        lessons.append((name, book, answered(book.cells) if is_solved else []))

    def run(lesson: tuple[str, Any, list[Any]]) -> tuple[str, list[Any]]:
        name, book, answers = lesson
        shown, book.cells = book.cells, book.cells + answers
        builder.execute(book, name)
        book.cells, solved = book.cells[: len(shown)], book.cells[len(shown) :]
        builder.write(book, folder / f"{name}.ipynb")
        return name, solved

    builder.solutions()  # as it does itself before there are threads
    with pytest.MonkeyPatch.context() as patch, ThreadPoolExecutor(os.cpu_count()) as pool:
        patch.setenv("PYTHONPATH", OUR_COPY)
        return folder, dict(pool.map(run, lessons))


@pytest.fixture
def rebuilt(executed: tuple[Path, dict[str, list[Any]]]) -> Path:
    return executed[0]


@every_lesson_some_always
def test_a_lesson_stands_alone_and_shows_what_was_committed(lesson: Path, rebuilt: Path, build: Any) -> None:
    fresh, committed = (
        [build.comparable(cell) for cell in notebook(path).cells] for path in (rebuilt / lesson.name, lesson)
    )
    assert fresh == committed


@every_lesson_some_quickly
def test_two_builds_give_the_same_bytes(lesson: Path, rebuilt: Path, tmp_path: Path) -> None:
    """The committed notebook is a build as well, and another is made where this machine's fonts draw otherwise."""
    fresh, other = rebuilt / lesson.name, lesson
    if other.read_bytes() != fresh.read_bytes():
        for beside in ("sources", "notes"):  # the glossary is in the notes
            shutil.copytree(FOLDER / beside, tmp_path / beside)
        assert run_build(builder_in(tmp_path), lesson.stem) == (0, "")
        other = tmp_path / lesson.name
    assert unmeasured(other) == unmeasured(fresh)


def unmeasured(lesson: Path) -> bytes:
    """The bytes of a notebook, but for those that say how long something took."""
    book = notebook(lesson)
    timed = [cell for cell in book.cells if "measured" in cell.metadata.get("tags", [])]
    for cell in timed:
        cell.outputs = []
    return nbformat().writes(book).encode() if timed else lesson.read_bytes()


PICTURE = "__import__('IPython').display.Image(b'a picture', format='png')"
CLOCK = ":tags: [measured]\n\n__import__('time').perf_counter()"
SMALL = {
    "01_small": 'print("a")',
    "02_changed": "__import__('sys').executable",
    "03_picture": PICTURE,
    "05_clock": CLOCK,
}


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
    for script in ("build.py", "linking.py"):
        shutil.copy(FOLDER / script, folder)
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
    status, told = run_build(builder_in(folder), "--check", "03", "05")
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


def names_in(source: str) -> set[str]:
    """The names that Python reads in a cell; lines for IPython have none."""
    if source.startswith("%%"):
        return set()
    tree = ast.parse(re.sub(r"^[%!].*", "", source, flags=re.MULTILINE))
    return {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}


def waits(source: str) -> bool:
    return source in BLANKS or source.startswith(("check(", "predict("))


def going_on(sources: list[str], due: set[str], whole: bool) -> list[str]:
    """The cells that wait for a learner, and those that go on with an answer. due: the answers given so far.

    whole: with all cells before the last of them, since the graph that they speak of was cleared.
    """
    kept = []
    for source in sources:
        due |= {BLANKS[source].name} if source in BLANKS else set()
        kept.append(waits(source) or bool(due & names_in(source)))
    later = [place for place, source in enumerate(sources) if kept[place] and not waits(source)]
    first = later[-1] if whole and later else 0
    return [source for place, source in enumerate(sources) if kept[place] or place < first]


def answered(cells: list[Any]) -> list[Any]:
    """What solves a lesson after it ran: each waiting cell answered wrong, then right, and what goes on with it."""
    sources = [cell.source for cell in cells if cell.cell_type == "code"]
    begins = [place for place, source in enumerate(sources) if "Graph.clear()" in source] + [len(sources)]
    texts: list[str] = []
    due: set[str] = set()
    for begin, end in pairwise(begins):
        code = iter(going_on(sources[begin:end], due, whole=end < len(sources)))
        for source in code:
            check = [next(code)] if source in BLANKS else []
            for answer in typed(source) or [source]:
                texts += [answer, *check]
    return [nbformat().v4.new_code_cell(text) for text in texts]


@every_lesson_some_quickly
def test_a_lesson_is_solved_wrong_first_and_then_right(lesson: Path, executed: Any) -> None:
    cells = executed[1][lesson.stem]
    shown: dict[str, list[str]] = {"check": [], "predict": []}
    for cell in cells:
        if (kind := cell.source.partition("(")[0]) in shown:
            shown[kind].append(cell.outputs[-1].data["text/plain"])
    for kind, beginning in (("check", "Not yet: "), ("predict", "")):
        wrong, right = shown[kind][::2], shown[kind][1::2]
        assert wrong and all(each.startswith(beginning) and not each.startswith("Right") for each in wrong)
        assert right and all(each.startswith("Right") for each in right)
    assert "The lesson goes on with a solution" not in str(cells)
