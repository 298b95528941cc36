"""A lesson's minutes are counted: what is read, run and looked at, foretold, and written of what is set."""

import ast
import math
import re

import pytest
from lesson_files import FOLDER
from test_course_plan import ROWS, named
from test_notes import notes

from naive_graph.classroom.judging import exercise_named
from naive_graph.classroom.solutions import solution_text

FILES = sorted(FOLDER.glob("sources/*.md"))
SOURCES = {re.search("^# (.+)", text := each.read_text("utf-8"), re.M)[1]: text for each in FILES}
HELD = dict(zip(SOURCES, FILES))
SET = {row[0].strip("*"): named(row[5]) for row in ROWS}


def lines(text):
    return [line for line in text.splitlines() if line.strip()]


def written(name):
    """The lines of a solution, without what it says of itself."""
    tree = ast.parse(solution_text(exercise_named(name)))
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and ast.get_docstring(node):
            node.body = node.body[1:]
    return len(lines(ast.unparse(tree)))


def fives(count):
    return 5 * math.ceil(count / 5)


def writing(names):
    """The minutes for exercises: two for what is asked, and one for each line."""
    return sum(2 + written(each) for each in names)


def at_home(row):
    return fives(writing(named(row[6]) + named(row[7])))


def minutes(title):
    """By the rule that README.md tells, a whole multiple of 5."""
    body = SOURCES[title].split("---", 2)[2].split("\n## Exercises\n")[0]  # what stands below is for home
    cells = re.findall(r"^```\{code-cell\}.*?\n(.*?)^```", body, re.DOTALL | re.MULTILINE)
    shown = [each for each in cells if not each.startswith(("%exercise", "predict("))]
    words = len(re.sub(r"^```.*?^```", "", body, flags=re.DOTALL | re.MULTILINE).split())
    reading = words / 150 + sum(2 * len(lines(each)) for each in shown) / 60
    doing = len(shown) / 4 + sum(each.startswith("predict(") for each in cells)
    return fives(reading + doing + writing(SET[title]))


@pytest.mark.parametrize("title", sorted(SOURCES))
def test_the_minutes_of_a_lesson_are_those_that_are_counted_and_none_takes_longer_than_a_class(title):
    assert int(re.search(r"## Minutes\s+(\d+)", notes(HELD[title]))[1]) == minutes(title)
    assert 25 <= minutes(title) <= 45


def test_what_is_for_home_is_told_with_its_minutes():
    for row in ROWS:
        told = " ".join(notes(HELD[row[0].strip("*")]).split())
        names = [f"`{each}`" for each in named(row[6]) + named(row[7])]
        said = " and ".join(filter(None, [", ".join(names[:-1]), *names[-1:]]))
        assert not names or f"At home {at_home(row)}: {said}." in told, row[0]
