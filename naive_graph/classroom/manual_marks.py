"""Cells that a person marks: those that nbgrader calls manually graded. Their marks stand in by_hand.csv."""

from __future__ import annotations

import csv
import math
from collections.abc import Iterable
from itertools import chain
from pathlib import Path
from typing import Any

from ..errors import LessonError
from .handout import Notebook

FILE = "by_hand.csv"
HEAD = ("student", "lesson", "cell", "points", "of", "comment")
WAITS = "Not marked yet.\n\n"  # before what somebody wrote
# Of (student, lesson, cell) the points, of how many, a comment.
Marks = dict[tuple[str, str, str], tuple[str, str, str]]


def hand_cells(notebook: Notebook) -> dict[str, tuple[float, str]]:
    """By their grade_id the cells that are marked by hand: their points, and what stands in them."""
    found = {}
    for cell in notebook["cells"]:
        told = cell.get("metadata", {}).get("nbgrader", {})
        if told.get("grade") and (told.get("solution") or told.get("task")):
            found[str(told["grade_id"])] = float(told.get("points", 0)), "".join(cell["source"])
    return found


def hand_answers(cells: dict[str, tuple[float, str]], handed_in: Notebook) -> list[dict[str, Any]]:
    """What somebody wrote in each of these cells, as an answer that waits for its mark."""
    wrote = hand_cells(handed_in)
    return [
        {
            "exercise": name, "passed": False, "points": 0.0, "of": of, "mistakes": [], "picture": "", "by_hand": True,
            "message": WAITS + wrote[name][1] if name in wrote else "Not handed in.",
        }
        for name, (of, _) in cells.items()
    ]  # fmt: skip


def read_marks(folder: Path) -> Marks:
    """The marks that were given. Raises LessonError, which names the line."""
    marks: Marks = {}
    try:
        with (folder / FILE).open(encoding="utf-8-sig", newline="") as file:
            head = next(file, "")  # a spreadsheet may part by semicolons, and it is written anew from what is read
            rows = csv.DictReader(chain([head], file), delimiter=max(",;\t", key=head.count))
            if not set(HEAD) <= set(rows.fieldnames or ()):
                raise LessonError(f"{folder / FILE} begins with {head.strip()!r}. Its first line is: {','.join(HEAD)}")
            for line, row in enumerate(rows, 2):
                told = {each: (row[each] or "").strip() for each in HEAD}
                if told["points"] and not _is_a_mark(told["points"].replace(",", ".")):
                    hint = "Write a number from 0, or nothing where none is given yet."
                    raise LessonError(f"{folder / FILE}, line {line}: points are {told['points']!r}. {hint}")
                marks[told["student"], told["lesson"], told["cell"]] = told["points"], told["of"], told["comment"]
    except FileNotFoundError:
        return {}
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise LessonError(f"{folder / FILE} cannot be read: {error}. Save it as CSV, in UTF-8, with commas.") from error
    return marks


def _is_a_mark(text: str) -> bool:
    try:
        return 0 <= float(text) < math.inf
    except ValueError:
        return False


def marked(student: str, lesson: str, answers: Iterable[dict[str, Any]], marks: Marks) -> list[dict[str, Any]]:
    """The answers with the marks that a person gave them."""
    return [_marked(each, *marks.get((student, lesson, each["exercise"]), ("", "", ""))) for each in answers]


def _marked(answer: dict[str, Any], points: str, _: str, comment: str) -> dict[str, Any]:
    if not answer.get("by_hand") or not points:
        return answer
    given = float(points.replace(",", "."))
    message = "\n\n".join(filter(None, (comment, answer["message"].removeprefix(WAITS))))
    return {**answer, "points": given, "passed": given >= answer["of"], "message": message}


def marks_rows(results: Iterable[tuple[str, str, list[dict[str, Any]]]], marks: Marks) -> list[list[Any]]:
    """The table to be filled in, with all that was filled in. results: student, lesson and answers of each."""
    rows = dict(marks)
    for student, lesson, answers in results:
        for each in answers:
            if each.get("by_hand"):
                points, _, comment = marks.get(place := (student, lesson, each["exercise"]), ("", "", ""))
                rows[place] = points, f"{each['of']:g}", comment
    return [list(HEAD), *([*place, *rows[place]] for place in sorted(rows))] if rows else []
