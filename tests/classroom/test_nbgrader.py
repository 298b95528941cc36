"""The real nbgrader takes a course as it is: it makes the same notebooks for students, grades them, and says why.

NAIVE_GRAPH_NBGRADER names the folder of commands of an environment with naive-graph[nbgrader], as in .ci/run.
Without it, the Python that runs the tests is asked.
"""

import csv
import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from handing_in import LESSON, RIGHT, WRONG, hand_in, new_course

from naive_graph.classroom.exercises import EXERCISES
from naive_graph.classroom.handout import cell_texts
from naive_graph.classroom.sandbox import PACKAGE
from naive_graph.classroom.solutions import solution_text

HERE = Path(sys.executable).parent if importlib.util.find_spec("nbgrader") else None
COMMANDS = os.environ.get("NAIVE_GRAPH_NBGRADER") or HERE
pytestmark = [
    pytest.mark.usefixtures("data_apart"),
    pytest.mark.skipif(not COMMANDS, reason='there is no nbgrader: pip install "naive-graph[nbgrader]"'),
]
KAHN = solution_text(next(each for each in EXERCISES if each.name == "kahn"))


def nbgrader(course, *words):
    """Run one of its commands in a course; what it said."""
    settings = {
        "PATH": f"{COMMANDS}{os.pathsep}{os.environ['PATH']}",
        "PYTHONPATH": str(PACKAGE.parent),
        "HOME": str(course),
    }
    settings |= {"JUPYTER_CONFIG_DIR": str(course / "jupyter"), "IPYTHONDIR": str(course / "ipython")}
    command = [Path(COMMANDS, "python"), "-m", "nbgrader", *words]
    done = subprocess.run(
        command, cwd=course, env={**os.environ, **settings}, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr
    return done.stderr


def texts(path):
    return cell_texts(json.loads(path.read_text(encoding="utf-8")))


def test_nbgrader_makes_the_same_notebooks_grades_them_and_gives_feedback(tmp_path, monkeypatch):
    course = new_course(tmp_path, monkeypatch)
    release = course / "release" / LESSON / f"{LESSON}.ipynb"
    ours, check = texts(release), 'check("{0}", {0})'.format
    for student, slope in ("ada", RIGHT), ("bob", WRONG):
        place = hand_in(course, student)
        made = json.loads(release.read_text(encoding="utf-8"))
        for cell in made["cells"]:
            name = cell["metadata"].get("nbgrader", {}).get("grade_id")
            cell["source"] = {"kahn": KAHN, "slope": slope}.get(name, cell["source"])
        place.write_text(json.dumps(made))
    nbgrader(course, "generate_assignment", LESSON, "--force")
    assert texts(release) == ours and check("slope") in ours
    nbgrader(course, "autograde", LESSON)
    nbgrader(course, "generate_feedback", LESSON)
    nbgrader(course, "export")
    with open(course / "grades.csv", newline="") as file:
        grades = {line["student_id"]: (float(line["score"]), float(line["max_score"])) for line in csv.DictReader(file)}
    assert grades == {"ada": (2.0, 2.0), "bob": (1.0, 2.0)}
    feedback = (course / "feedback" / "bob" / LESSON / f"{LESSON}.html").read_text(encoding="utf-8")
    assert "forward_difference" in feedback or "f(x)" in feedback
