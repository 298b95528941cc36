"""A small lesson, a course of it, and what students hand in."""

import json
import sys
from functools import cache

import pytest

from naive_graph.classroom import sandbox
from naive_graph.classroom.judging import exercise_named
from naive_graph.cli import classes
from naive_graph.cli.main import main
from naive_graph.errors import LessonError

LESSON = "02_small"
KAHN_BY_VALUE = "def kahn(nodes):\n    return sorted(nodes, key=lambda node: node.value)\n"
RIGHT = "def slope(f, x, h=1e-5):\n    return (f(x + h) - f(x - h)) / (2 * h)\n"
WRONG = "def slope(f, x, h=1e-5):\n    return (f(x + h) - f(x)) / h\n"


def code(*sources):
    return [
        {"cell_type": "code", "id": f"cell-{i}", "metadata": {}, "source": each, "outputs": [], "execution_count": None}
        for i, each in enumerate(sources)
    ]


def notebook(*sources):
    kernel = {"display_name": "Python 3 (ipykernel)", "language": "python", "name": "python3"}
    return {"cells": code(*sources), "metadata": {"kernelspec": kernel}, "nbformat": 4, "nbformat_minor": 5}


def lesson():
    """A lesson that ran: the two ways in which it may ask for an answer, and a cell that shows something."""
    made = notebook(
        "from naive_graph.classroom.notebook import check, hint",
        "1 + 1",
        "def kahn(nodes):\n    ...  # your answer\n\ncheck('kahn', kahn)",
        "def slope(f, x, h=1e-5):\n    return None",
        "check('3.3', slope)",
        "hint('slope')",
    )
    made["cells"][1] |= {"outputs": [{"output_type": "stream", "name": "stdout", "text": "2"}], "execution_count": 2}
    return made


def new_course(folder, monkeypatch, *words):
    """A course of the small lesson, made by the command."""
    shelf = folder / "shelf"
    shelf.mkdir(exist_ok=True)
    place = shelf / f"{LESSON}.ipynb"
    place.write_text(json.dumps(lesson()))
    monkeypatch.setattr(classes, "lessons_of_the_package", lambda: [place])
    assert main(["class", "new", str(folder / "course"), *words]) == 0
    return folder / "course"


def hand_in(course, student, *sources):
    """Put a notebook where it is collected."""
    place = course / "submitted" / student / LESSON / f"{LESSON}.ipynb"
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text(json.dumps(notebook("from naive_graph.classroom.notebook import check", *sources)))
    return place


@cache
def no_walls():
    """Why there can be no sandbox here; nothing if there can be one."""
    if sys.platform != "linux":
        return "only Linux has such walls"
    try:
        (verdict,) = sandbox.grade([RIGHT], [(exercise_named("slope"), "slope")], sandbox.Limits(), [])
        assert verdict.passed, "A right answer does not pass in the sandbox."
        return ""
    except (LessonError, OSError) as error:
        if any(each in str(error) for each in ("OSError", "PermissionError", "bwrap: ", "bubblewrap, which is not")):
            return str(error)
        raise  # the fault is ours


# A text is looked at only when such a test has its turn.
walled = pytest.mark.skipif("no_walls()", reason="there is no sandbox here: `naive-graph class grade` says why")
