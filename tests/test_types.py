"""What type checkers are told is true, and enough for a learner's files."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from small_programs import PROGRAMS

from naive_graph import Graph
from naive_graph.classroom.exercises import EXERCISES
from naive_graph.classroom.solutions import solution_text

pytest.importorskip("mypy")
pytest.importorskip("opt_einsum")
pytest.importorskip("matplotlib")

ROOT = Path(__file__).resolve().parents[1]
README = "\n".join(
    re.findall(r"^```python\n(.*?)^```", (ROOT / "README.md").read_text("utf-8"), re.DOTALL | re.MULTILINE)
)
# A learner's own functions have no annotations, and neither have their lists.
LEARNERS = '# mypy: allow-untyped-defs, allow-untyped-calls, disable-error-code="var-annotated"\n'
USERS = (Path(__file__).parent / "relied_on.py").read_text(encoding="utf-8")
SMALL = (Path(__file__).parent / "small_programs.py").read_text(encoding="utf-8")


def test_the_stubs_are_what_the_script_writes():
    done = subprocess.run([sys.executable, "tests/stubs.py", "--check"], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


@pytest.fixture
def users(tmp_path):
    """A folder of files that a user may write."""
    solutions = {f"{each.name.lower()}_solved.py": LEARNERS + solution_text(each) for each in EXERCISES}
    for name, text in (solutions | {"readme.py": README, "relied_on.py": USERS, "small.py": SMALL}).items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    return tmp_path


def complaints(folder, *command):
    """What a checker says of the folder's files, if it does not take them."""
    here = {"MYPYPATH": str(ROOT), "PYTHONPATH": os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])}
    done = subprocess.run(
        [sys.executable, "-m", *command], cwd=folder, env={**os.environ, **here}, capture_output=True, text=True
    )
    return "" if done.returncode == 0 else done.stdout + done.stderr


def test_mypy_takes_the_readme_every_solution_and_what_a_user_may_rely_on(users):
    # With our own settings, so that what .ci/run has checked before is not checked again.
    command = ["mypy", "--config-file", str(ROOT / "pyproject.toml"), "--cache-dir", str(ROOT / ".mypy_cache")]
    assert complaints(users, *command, ".") == ""
    (users / "wrong.py").write_text("from naive_graph import Variable\n\ny: int = Variable(1.0).log()\n")
    assert "Node" in complaints(users, *command, "wrong.py")


def test_pyright_takes_them_too(users):
    pytest.importorskip("basedpyright")
    (users / "pyrightconfig.json").write_text('{"typeCheckingMode": "standard"}')
    assert complaints(users, "basedpyright", ".") == ""


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_what_the_checkers_take_runs(program):
    Graph.clear()
    program()
