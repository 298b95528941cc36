"""`naive-graph lessons`: copies for the learner, whose work is never overwritten."""

import contextlib
import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
import urllib.request

import pytest

from naive_graph.classroom.language import languages
from naive_graph.cli.lessons import RECORD, copy_lessons, lessons_of_the_package
from naive_graph.cli.main import main
from naive_graph.errors import LessonError


def notebook(text):
    """An executed lesson of one cell."""
    return json.dumps({"cells": [{"cell_type": "code", "source": text, "outputs": ["7"], "execution_count": 1}]})


@pytest.fixture
def lessons(tmp_path):
    """Two lessons as the package would bring them."""
    shelf = tmp_path / "shelf"
    shelf.mkdir()
    for name in ("1.ipynb", "2.ipynb"):
        (shelf / name).write_text(notebook(f"lesson {name}"))
    return sorted(shelf.glob("*.ipynb"))


@pytest.fixture
def mine(tmp_path):
    return tmp_path / "mine"


def files(folder):
    """What stands in each file: the cell, if it is a lesson."""
    texts = {
        path.name: path.read_text(encoding="utf-8") for path in folder.iterdir() if path.name not in (RECORD, "notes")
    }
    return {name: json.loads(text)["cells"][0]["source"] if text[0] == "{" else text for name, text in texts.items()}


def test_every_lesson_is_copied(lessons, mine):
    copy_lessons(lessons, mine)
    assert files(mine) == {"1.ipynb": "lesson 1.ipynb", "2.ipynb": "lesson 2.ipynb"}


def test_a_lesson_is_handed_out_without_outputs_and_is_else_the_same(mine):
    shelf = lessons_of_the_package()
    copy_lessons(shelf, mine)
    for lesson in shelf:
        given, built = (json.loads(path.read_text(encoding="utf-8")) for path in (mine / lesson.name, lesson))
        code = [cell for cell in built["cells"] if cell["cell_type"] == "code"]
        assert any(cell["outputs"] for cell in code)
        for cell in code:
            cell.update(outputs=[], execution_count=None)
        assert given == built


@pytest.mark.parametrize("language", ["", *languages()])
def test_every_page_goes_with_the_lessons_that_lead_to_it(mine, monkeypatch, language):
    monkeypatch.setenv("NAIVE_GRAPH_LANGUAGE", language)
    copy_lessons(lessons_of_the_package(), mine)
    texts = [each.read_text(encoding="utf-8") for each in mine.glob("*.ipynb")]
    pages = {page for text in texts for page in re.findall(r"\]\(([^)#:\s]+\.\w+)(?:#[a-z-]+)?\)", text)}
    assert pages and [page for page in pages if not (mine / page).is_file()] == []


def test_the_glossary_that_somebody_changed_stays_as_it_is(mine):
    copy_lessons(lessons_of_the_package(), mine)
    told = (mine / "notes" / "glossary.md").read_text(encoding="utf-8")
    assert told == (lessons_of_the_package()[0].parent / "notes" / "glossary.md").read_text(encoding="utf-8")
    (mine / "notes" / "glossary.md").write_text("mine")
    assert any(
        "kept, with your changes" in line and "glossary" in line
        for line in copy_lessons(lessons_of_the_package(), mine)
    )


def test_a_second_copying_changes_nothing(lessons, mine):
    copy_lessons(lessons, mine)
    assert copy_lessons(lessons, mine) == [f"already there: {mine / name}" for name in ("1.ipynb", "2.ipynb")]


def test_work_is_kept(lessons, mine):
    copy_lessons(lessons, mine)
    (mine / "1.ipynb").write_text("my work")
    assert copy_lessons(lessons, mine)[0] == f"kept, with your changes: {mine / '1.ipynb'}"
    assert files(mine) == {"1.ipynb": "my work", "2.ipynb": "lesson 2.ipynb"}


def test_a_newer_lesson_is_put_beside_the_work(lessons, mine):
    copy_lessons(lessons, mine)
    (mine / "1.ipynb").write_text("my work")
    lessons[0].write_text(notebook("newer lesson"))
    assert copy_lessons(lessons, mine)[0].endswith(f"the newer lesson is {mine / '1-new.ipynb'}")
    assert files(mine) == {"1.ipynb": "my work", "1-new.ipynb": "newer lesson", "2.ipynb": "lesson 2.ipynb"}


def test_a_newer_lesson_is_put_beside_only_once(lessons, mine):
    copy_lessons(lessons, mine)
    (mine / "1.ipynb").write_text("my work")
    lessons[0].write_text(notebook("newer lesson"))
    copy_lessons(lessons, mine)
    copy_lessons(lessons, mine)
    assert sorted(files(mine)) == ["1-new.ipynb", "1.ipynb", "2.ipynb"]


def test_work_in_the_newer_lesson_is_kept_too(lessons, mine):
    for text in ("second", "third"):
        copy_lessons(lessons, mine)
        for path in mine.glob("1*.ipynb"):
            path.write_text(f"my work before the {text}")
        lessons[0].write_text(notebook(text))
    copy_lessons(lessons, mine)
    assert files(mine)["1-new2.ipynb"] == "third"
    assert files(mine)["1-new.ipynb"] == files(mine)["1.ipynb"] == "my work before the third"


def test_a_lesson_that_was_left_alone_is_renewed(lessons, mine):
    copy_lessons(lessons, mine)
    lessons[0].write_text(notebook("newer lesson"))
    assert copy_lessons(lessons, mine)[0] == f"renewed (you had not changed it): {mine / '1.ipynb'}"
    assert files(mine) == {"1.ipynb": "newer lesson", "2.ipynb": "lesson 2.ipynb"}


def test_a_file_that_was_there_before_counts_as_work(lessons, mine):
    mine.mkdir()
    (mine / "1.ipynb").write_text("somebody's file")
    copy_lessons(lessons, mine)
    assert files(mine)["1.ipynb"] == "somebody's file"
    assert files(mine)["1-new.ipynb"] == "lesson 1.ipynb"


@pytest.mark.parametrize("spoilt", ["", "{", "[]", '{"1.ipynb": 3}', "\x00"])
def test_work_is_kept_when_the_record_is_spoilt(lessons, mine, spoilt):
    copy_lessons(lessons, mine)
    (mine / "1.ipynb").write_text("my work")
    (mine / RECORD).write_text(spoilt)
    copy_lessons(lessons, mine)
    assert files(mine)["1.ipynb"] == "my work"


def test_a_lesson_that_the_learner_removed_comes_back(lessons, mine):
    copy_lessons(lessons, mine)
    (mine / "1.ipynb").unlink()
    copy_lessons(lessons, mine)
    assert files(mine)["1.ipynb"] == "lesson 1.ipynb"


def test_a_folder_that_cannot_be_written_is_refused(lessons, tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(LessonError, match="Choose another folder"):
        copy_lessons(lessons, tmp_path / "file" / "mine")


def test_the_lessons_own_folder_is_refused(lessons):
    with pytest.raises(LessonError, match="where the lessons come from"):
        copy_lessons(lessons, lessons[0].parent)


def test_the_package_brings_lessons_that_are_notebooks():
    assert all(json.loads(path.read_text(encoding="utf-8"))["nbformat"] == 4 for path in lessons_of_the_package())


def test_copy_only_copies_every_lesson_and_starts_nothing(mine, capsys):
    assert main(["lessons", str(mine), "--copy-only"]) == 0
    assert sorted(files(mine)) == [path.name for path in lessons_of_the_package()]
    assert f"next: naive-graph lessons {mine}" in capsys.readouterr().out


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root is refused")
def test_root_is_told_what_to_add(mine, capsys):
    assert main(["lessons", str(mine)]) == 1
    assert capsys.readouterr().err.endswith("Use another account, or add --allow-root.\n")


@pytest.mark.skipif(sys.platform == "win32", reason="Ctrl-C is sent by signal here")
def test_jupyterlab_starts_in_the_folder_with_lesson_1_and_stops_at_ctrl_c(mine, tmp_path):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "naive_graph", "lessons", str(mine)]
    command += ["--no-browser", "--port", str(port), "--allow-root"]
    quiet = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL}
    said = tmp_path / "said"
    with said.open("w") as log, subprocess.Popen(command, start_new_session=True, stderr=log, **quiet) as server:
        try:
            assert "version" in _answer(f"http://127.0.0.1:{port}/api", server)
            for patience in (2, 30, 30):  # two stop it; a third would come while Python itself ends
                os.killpg(server.pid, signal.SIGINT)  # as a terminal does: to both processes
                with contextlib.suppress(subprocess.TimeoutExpired):
                    server.wait(patience)
                    break
            assert server.returncode == 0
            assert "/lab/tree/01_nodes_not_numbers.ipynb" in said.read_text()
        finally:
            if server.poll() is None:
                os.killpg(server.pid, signal.SIGKILL)


def _answer(address, server):
    while server.poll() is None:
        try:
            with urllib.request.urlopen(address) as reply:
                return json.load(reply)
        except OSError:
            time.sleep(0.2)
    return {}
