"""The wheel carries the lessons, and its commands run where there is no repository.

NAIVE_GRAPH_WHEEL names a wheel that was built before: .ci/run makes it, of the source that is released. By hand:
pip wheel --no-deps -w wheels . && NAIVE_GRAPH_WHEEL=wheels/naive_graph-*.whl python -m pytest tests/test_wheel.py
"""

import json
import os
import re
import subprocess
import sys
import tomllib
import venv
import zipfile
from pathlib import Path

import pytest

from naive_graph import __version__
from naive_graph.cli.lessons import copy_lessons

ROOT = Path(__file__).resolve().parents[1]
WHEEL = os.environ.get("NAIVE_GRAPH_WHEEL", "")
MOST_BYTES = 1_900_000  # of a wheel, 300,000 of them Chinese: no lesson in it has outputs, which are ten times as large
needs_wheel = pytest.mark.skipif(not WHEEL, reason="NAIVE_GRAPH_WHEEL names no wheel")


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


@needs_wheel
def test_the_wheel_has_every_lesson_and_every_file_that_runs():
    names = set(zipfile.ZipFile(WHEEL).namelist())
    files = [path for path in (ROOT / "naive_graph").rglob("*") if path.suffix in (".py", ".js", ".css")]
    modules = {path.relative_to(ROOT).as_posix() for path in files}
    lessons = {f"naive_graph/lessons/{path.name}" for path in (ROOT / "lessons").glob("*.ipynb")}
    notes = {f"naive_graph/lessons/notes/{path.name}" for path in (ROOT / "lessons" / "notes").glob("*.md")}
    fronts = {f"naive_graph/{path.relative_to(ROOT).as_posix()}" for path in ROOT.glob("lessons/*/README.md")}
    assert lessons and notes and len(fronts) > 1 and modules | lessons | notes | fronts <= names


@needs_wheel
def test_the_wheel_is_small_and_its_lessons_show_no_answers():
    assert os.path.getsize(WHEEL) < MOST_BYTES
    with zipfile.ZipFile(WHEEL) as wheel:
        lessons = [json.loads(wheel.read(name)) for name in wheel.namelist() if name.endswith(".ipynb")]
    assert not any(cell.get("outputs") for lesson in lessons for cell in lesson["cells"])


# --- what is said of installing -----------------------------------------------


def test_what_is_to_be_installed_is_an_extra_that_exists_and_no_package_of_an_index():
    """Where we are installed already, pip adds an extra's packages and looks for us in no index."""
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    places = [*(ROOT / "naive_graph").rglob("*.py"), *(ROOT / "lessons").rglob("*.md"), ROOT / "README.md"]
    told = re.findall(r"pip install ([^`\n]*)", "\n".join(each.read_text(encoding="utf-8") for each in places))
    ours = re.compile(
        r"""(?:-e )?\\?"(?:naive-graph|\.|naive_graph-[0-9.]+-py3-none-any\.whl|\$\(ls .*\.whl\)|{})"""
        r"""\[([a-z,{}]+)\]|\.["\s]|\./naive_graph-[0-9.]+-py3-none-any\.whl"""
    )
    others = ("torch onnxscript", "skl2onnx")  # with which a learner writes a file of their own
    told = [each for each in told if not each.startswith(others)]
    assert len(told) > 15 and [each for each in told if not ours.match(each)] == []
    named = {one for each in told for one in (ours.match(each)[1] or "all").split(",")}
    assert named - {"{extra}"} <= set(extras)


def test_the_changes_begin_with_this_version():
    changes = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert re.search("^## ([0-9.]+)", changes, re.MULTILINE)[1] == __version__


@needs_wheel
def test_an_extra_is_added_to_what_is_installed_without_an_index(installed):
    command = [installed / "python", "-m", "pip", "install", "--no-index", "--no-deps", "naive-graph[progress]"]
    ended = subprocess.run(command, capture_output=True, text=True)
    assert (ended.returncode, "already satisfied: naive-graph[progress]" in ended.stdout) == (0, True)


@needs_wheel
def test_an_installed_wheel_copies_the_lessons(installed, tmp_path):
    ended = run(installed, "lessons", "mine", "--copy-only", cwd=tmp_path)
    assert (ended.returncode, ended.stderr) == (0, "")
    theirs = {path.name: path.read_bytes() for path in (tmp_path / "mine").glob("*.ipynb")}
    copy_lessons(sorted((ROOT / "lessons").glob("*.ipynb")), tmp_path / "ours")
    assert theirs == {path.name: path.read_bytes() for path in (tmp_path / "ours").glob("*.ipynb")}


@needs_wheel
def test_an_installed_wheel_makes_a_course(installed, tmp_path):
    ended = run(installed, "class", "new", "course", "01", "02", cwd=tmp_path)
    assert (ended.returncode, ended.stderr) == (0, "")
    for folder in ("source", "release"):
        assert len(list((tmp_path / "course" / folder).glob("*/*.ipynb"))) == 2
    assert (tmp_path / "course" / "notes" / "README.md").is_file()


@needs_wheel
@pytest.mark.parametrize(
    ("command", "extra"),
    [("lessons", "naive-graph[lessons]"), ("tour", "naive-graph[draw"), ("draw x x=1", "naive-graph[draw]")],
)
def test_a_missing_tool_is_one_line_that_names_the_extra(installed, tmp_path, command, extra):
    ended = run(installed, *command.split(), cwd=tmp_path)
    assert (ended.returncode, ended.stderr.count("\n")) == (1, 1)
    assert extra in ended.stderr


@needs_wheel
def test_with_nothing_installed_a_picture_is_handed_out_as_dot(installed, tmp_path):
    ended = run(installed, "draw", "x*x", "x=3", "-o", "graph.dot", cwd=tmp_path)
    assert (ended.returncode, ended.stderr) == (0, "")
    assert (tmp_path / "graph.dot").read_text(encoding="utf-8").startswith("digraph")
