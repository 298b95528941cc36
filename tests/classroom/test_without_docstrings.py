"""`python -OO` keeps no docstrings and runs no asserts: what is told to a learner stays the same."""

import subprocess
import sys

from naive_graph.classroom.judging import EXERCISES
from naive_graph.classroom.solutions import solution_text

TOLD = """
from naive_graph.classroom.judging import EXERCISES
from naive_graph.classroom.solutions import solution_text
for exercise in EXERCISES:
    print(exercise.name, exercise.statement, solution_text(exercise), sep=chr(10))
"""


def run(*words):
    done = subprocess.run([sys.executable, "-OO", *words], capture_output=True, encoding="utf-8", check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_statements_and_solutions_are_the_same(monkeypatch):
    monkeypatch.setenv("PYTHONIOENCODING", "utf-8")
    told = [line for each in EXERCISES for line in (each.name, each.statement, solution_text(each))]
    assert run("-c", TOLD) == "\n".join(told) + "\n"


def test_a_class_is_made(tmp_path):
    run("-m", "naive_graph", "class", "new", str(tmp_path / "class"), "1")
    assert any((tmp_path / "class").rglob("*.ipynb"))
