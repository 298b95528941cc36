"""The notes for teachers are there for every lesson, and speak of its exercises and of mistakes that are known."""

import json
import re
from pathlib import Path

import pytest

from naive_graph.classroom.exercises import ALL_EXERCISES
from naive_graph.classroom.handout import cell_texts, latest_checks

LESSONS = Path(__file__).resolve().parents[2] / "lessons"
each_lesson = pytest.mark.parametrize("lesson", sorted(LESSONS.glob("*.ipynb")), ids=lambda path: path.stem)


def exercises(lesson):
    """The names of those that a lesson checks."""
    return [each.name for _, each, _ in latest_checks(cell_texts(json.loads(lesson.read_text(encoding="utf-8"))))]


def notes(lesson):
    return (LESSONS / "notes" / f"{lesson.stem}.md").read_text(encoding="utf-8")


@each_lesson
def test_notes_tell_goals_minutes_misconceptions_and_questions(lesson):
    assert re.findall(r"^## (.*)", notes(lesson), re.MULTILINE) == [
        "Goals", "Minutes", "Misconceptions", "Questions to ask",
    ]  # fmt: skip
    assert notes(lesson).splitlines()[0].startswith(f"# Lesson {lesson.stem.split('_')[0].lstrip('0')}: ")


@each_lesson
def test_notes_name_every_exercise_of_the_lesson(lesson):
    assert [name for name in exercises(lesson) if f"`{name}`" not in notes(lesson)] == []


@each_lesson
def test_a_mistake_in_brackets_is_one_that_a_check_names(lesson):
    if not exercises(lesson):
        pytest.skip("the lesson has no exercises")
    names = {told.name for each in ALL_EXERCISES for told in each.misconceptions.values()}
    in_brackets = re.findall(r"\(`(\w+)`(?:, `(\w+)`)?(?:\)| in )", notes(lesson).replace("\n ", ""))
    assert [name for found in in_brackets for name in found if name and name not in names] == []
