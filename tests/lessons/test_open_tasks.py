"""The open tasks follow lessons, have rubrics that add up, and can be set as cells that a person marks."""

import json
import re

from lesson_files import FOLDER, titles

from naive_graph.classroom.manual_marks import manually_graded_cells

TEXT = (FOLDER / "notes" / "open_tasks.md").read_text(encoding="utf-8")
TASKS = re.findall(r"^## `(\w+)`: .+\n\nAfter \*(.+)\*\. (\d+) points\.\n\n((?:(?!## ).*\n)+)", TEXT, re.MULTILINE)
CRITERION = re.compile(r"^\| (\d+) \| \S.*\. \|$", re.MULTILINE)


def test_there_are_ten_each_after_another_lesson_that_exists():
    after = [title for _, title, _, _ in TASKS]
    assert len(TASKS) == 10 == len(re.findall("^## `", TEXT, re.MULTILINE)) == len({*after})
    assert {*after} <= titles().keys()


def test_each_says_what_to_hand_in_and_has_three_or_four_criteria_that_add_up():
    for name, _, points, text in TASKS:
        worth = [int(each) for each in CRITERION.findall(text)]
        assert "Hand in" in text and len(worth) in (3, 4) and sum(worth) == int(points), name


def test_the_cell_that_is_shown_is_one_that_a_person_marks():
    metadata = json.loads(re.search(r"^ +(\{.*?\}\})\n", TEXT, re.DOTALL | re.MULTILINE)[1])
    (name, _, points, _), *_ = TASKS
    cell = {"cell_type": "markdown", "metadata": metadata, "source": "Since they add."}
    assert manually_graded_cells({"cells": [cell]}) == {name: (float(points), "Since they add.")}
