"""The wheel carries the lessons, and its commands run where there is no repository.

NAIVE_GRAPH_WHEEL names a wheel that was built before, as .ci/run does:
pip wheel --no-deps -w wheels . && NAIVE_GRAPH_WHEEL=wheels/naive_graph-*.whl python -m pytest tests/test_wheel.py
"""

import os
import subprocess
import sys
import venv
import zipfile
from pathlib import Path

import pytest

from naive_graph.cli.lessons import hand_out

ROOT = Path(__file__).resolve().parents[1]
WHEEL = os.environ.get("NAIVE_GRAPH_WHEEL", "")
pytestmark = pytest.mark.skipif(not WHEEL, reason="NAIVE_GRAPH_WHEEL names no wheel")


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """The folder of commands of an environment that has the wheel and nothing else."""
    folder = tmp_path_factory.mktemp("installed")
    venv.create(folder, with_pip=True)
    scripts = folder / ("Scripts" if sys.platform == "win32" else "bin")
    subprocess.run([scripts / "python", "-m", "pip", "install", "-q", "--no-index", WHEEL], check=True)
    return scripts


def run(installed, *arguments, **options):
    return subprocess.run([installed / "naive-graph", *arguments], capture_output=True, text=True, **options)


def test_the_wheel_has_every_lesson_and_every_file_that_runs():
    names = set(zipfile.ZipFile(WHEEL).namelist())
    files = [path for path in (ROOT / "naive_graph").rglob("*") if path.suffix in (".py", ".js", ".css")]
    modules = {path.relative_to(ROOT).as_posix() for path in files}
    lessons = {f"naive_graph/lessons/{path.name}" for path in (ROOT / "lessons").glob("*.ipynb")}
    notes = {f"naive_graph/lessons/notes/{path.name}" for path in (ROOT / "lessons" / "notes").glob("*.md")}
    assert lessons and notes and modules | lessons | notes <= names


def test_an_installed_wheel_copies_the_lessons(installed, tmp_path):
    ended = run(installed, "lessons", "mine", "--copy-only", cwd=tmp_path)
    assert (ended.returncode, ended.stderr) == (0, "")
    theirs = {path.name: path.read_bytes() for path in (tmp_path / "mine").glob("*.ipynb")}
    hand_out(sorted((ROOT / "lessons").glob("*.ipynb")), tmp_path / "ours")
    assert theirs == {path.name: path.read_bytes() for path in (tmp_path / "ours").glob("*.ipynb")}


def test_an_installed_wheel_makes_a_course(installed, tmp_path):
    ended = run(installed, "class", "new", "course", "01", "02", cwd=tmp_path)
    assert (ended.returncode, ended.stderr) == (0, "")
    for folder in ("source", "release"):
        assert len(list((tmp_path / "course" / folder).glob("*/*.ipynb"))) == 2
    assert (tmp_path / "course" / "notes" / "README.md").is_file()


@pytest.mark.parametrize(("command", "extra"), [("lessons", "naive-graph[lessons]"), ("tour", "naive-graph[draw")])
def test_a_missing_tool_is_one_line_that_names_the_extra(installed, tmp_path, command, extra):
    ended = run(installed, command, cwd=tmp_path)
    assert (ended.returncode, ended.stderr.count("\n")) == (1, 1)
    assert extra in ended.stderr


def test_draw_works_with_nothing_installed(installed, tmp_path):
    ended = run(installed, "draw", "x*x", "x=3", cwd=tmp_path)
    assert (ended.returncode, ended.stderr) == (0, "")
    assert (tmp_path / "graph.svg").read_text(encoding="utf-8").lstrip().startswith("<svg")
