"""What type checkers are told is true, and enough for a learner's files."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from naive_graph.classroom.exercises import EXERCISES
from naive_graph.classroom.solutions import solution_text

pytest.importorskip("mypy")
pytest.importorskip("opt_einsum")

ROOT = Path(__file__).resolve().parents[1]
README = "\n".join(
    re.findall(r"^```python\n(.*?)^```", (ROOT / "README.md").read_text("utf-8"), re.DOTALL | re.MULTILINE)
)
# A learner's own functions have no annotations, and neither have their lists.
LEARNERS = '# mypy: allow-untyped-defs, allow-untyped-calls, disable-error-code="var-annotated"\n'
USERS = (Path(__file__).parent / "relied_on.py").read_text(encoding="utf-8")


def test_the_stubs_are_what_the_script_writes():
    done = subprocess.run([sys.executable, "tests/stubs.py", "--check"], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_mypy_takes_the_readme_every_solution_and_what_a_user_may_rely_on(tmp_path):
    solutions = {f"{each.name.lower()}_solved.py": LEARNERS + solution_text(each) for each in EXERCISES}
    for name, text in (solutions | {"readme.py": README, "relied_on.py": USERS}).items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "--cache-dir", str(ROOT / ".mypy_cache" / "users"), "."],
        cwd=tmp_path,
        env={**os.environ, "MYPYPATH": str(ROOT)},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout
