"""The plan for teachers agrees with the notes and the lessons, and its sums are right."""

import re

from lesson_files import FOLDER, LESSONS, titles
from test_notes import exercises, notes

from naive_graph.classroom.exercises.tiny import TINY

TEXT = (FOLDER / "notes" / "README.md").read_text(encoding="utf-8")
ROWS = [
    [cell.strip() for cell in line.strip("|").split("|")] for line in re.findall(r"^\| \*.*\|$", TEXT, re.MULTILINE)
]
COURSES = {2: 4, 3: 8, 4: 14}  # by the table's column: how many weeks


def named(cell):
    return re.findall(r"`(\w+)`", cell)


def test_every_lesson_stands_in_the_plan_once_with_the_minutes_and_exercises_that_it_has():
    lessons = titles()
    assert sorted(row[0].strip("*") for row in ROWS) == sorted(lessons) and len(ROWS) == len(LESSONS)
    for title, minutes, *_, at_school, at_home, _ in ROWS:
        lesson = lessons[title.strip("*")]
        assert minutes == re.search(r"## Minutes\s+(\d+)", notes(lesson))[1], title
        assert sorted(named(at_school) + named(at_home)) == sorted(exercises(lesson)), title


def test_the_parts_of_tiny_stand_in_their_order_beside_the_lessons_that_ask_for_them():
    lessons = titles()
    *parts, _ = TINY  # the last asks the whole file, and is nobody's to write
    assert [name for row in ROWS for name in named(row[7])] == [each.name for each in parts]
    for row in ROWS:
        assert all(name in lessons[row[0].strip("*")].read_text(encoding="utf-8") for name in named(row[7]))


def test_weeks_follow_each_other_and_their_sums_are_those_that_are_told():
    sums, longest = [], []
    for column, weeks in COURSES.items():
        taken = [(int(row[column]), int(row[1])) for row in ROWS if row[column]]
        due = [week for week, _ in taken]
        assert due == sorted(due) and {*due} == {*range(1, weeks + 1)}
        by_week = [sum(minutes for each, minutes in taken if each == week) for week in {*due}]
        sums.append(sum(by_week))
        longest.append(max(by_week))
    told = re.findall(r"^\| in .*? \| (\d+) \| (\d+) \| (\d+) \|$", TEXT, re.MULTILINE)
    assert [[*map(int, row)] for row in told] == [sums, longest]
