"""Export marks as CSV: all results, Moodle's and Canvas's formats. Who has no mark has an empty cell."""

from __future__ import annotations

import csv
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from ..errors import LessonError
from .grading import Result
from .manual_marks import csv_text, spreadsheet_name

HEAD = ("student", "lesson", "exercise", "points", "of", "mistakes", "late")
IDS = "ids.csv"  # in the course folder: the students' ids in Moodle and Canvas
IDS_HEAD = ("student", "lesson", "system", "id")
Ids = dict[tuple[str, str, str], str]  # (student, lesson, "moodle" or "canvas") -> the number in the ZIP


def points_table(results: Iterable[Result]) -> str:
    """The results as CSV, a line for each answer.

    >>> answer = {"exercise": "kahn", "points": 0.0, "of": 2.0, "mistakes": [["one_leaf", "It ..."]]}
    >>> print(points_table([Result("ada", "02_kahns_order", [answer])]).splitlines()[1])
    ada,02_kahns_order,kahn,0,2,one_leaf,
    """
    rows: list[list[Any]] = [list(HEAD)]
    for result in results:
        late = {None: "", True: "late", False: "in time"}[result.late]
        for answer in result.answers:
            names = " ".join(name for name, _ in answer["mistakes"])
            points = f"{answer['points'] * (1.0 - result.late_penalty):g}" if result.has_mark else ""
            head = spreadsheet_name(result.student), result.lesson, answer["exercise"]
            rows.append([*head, points, f"{answer['of']:g}", names, late])
    return csv_text(rows)


def lms_tables(results: list[Result], ids: Ids) -> dict[str, str]:
    """The marks in the import formats of Moodle and Canvas: {file name: CSV text}.

    moodle-LESSON.csv is Moodle's grading worksheet of one assignment, for the students whose number there is known;
    moodle.csv is for its gradebook, where students are told by their usernames; canvas.csv for Canvas's gradebook.
    Sources: docs.moodle.org/en/Assignment_activity and moodle/mod/assign/feedback/offline/importgradeslib.php;
    docs.moodle.org/en/Grade_import; canvas.instructure.com/doc/api and canvas-lms/lib/gradebook_importer.rb.

    >>> ada = Result("Ada", "own", [{"exercise": "kahn", "points": 2.0, "of": 2.0, "mistakes": []}])
    >>> print(lms_tables([ada], {("Ada", "own", "moodle"): "1234"})["moodle-own.csv"])
    Identifier,Full name,Grade,Maximum Grade,Last modified (grade)
    Participant 1234,Ada,2,2,-
    <BLANKLINE>
    """
    lessons = {result.lesson: sum(answer["of"] for answer in result.answers) for result in results if result.answers}
    marks: dict[str, dict[str, str]] = {}
    for graded in results:
        marks.setdefault(graded.student, {})[graded.lesson] = graded.mark
    tables = {}
    for lesson, max_points in lessons.items():
        worksheet = []
        for who, own in marks.items():
            if number := ids.get((who, lesson, "moodle")):
                row = [f"Participant {number}", spreadsheet_name(who), own.get(lesson, ""), f"{max_points:g}", "-"]
                worksheet.append(row)
        if worksheet:
            head = ["Identifier", "Full name", "Grade", "Maximum Grade", "Last modified (grade)"]
            tables[f"moodle-{lesson}.csv"] = csv_text([head, *worksheet])
    by_name = [mark for mark in marks if not any((mark, lesson, "moodle") in ids for lesson in lessons)]
    gradebook = [[spreadsheet_name(who), *map(marks[who].get, lessons)] for who in by_name]
    tables["moodle.csv"] = csv_text([["username", *lessons], *gradebook])
    numbers = {who: number for (who, _, system), number in ids.items() if system == "canvas"}
    canvas: list[list[Any]] = [
        ["Student", "ID", "SIS User ID", "SIS Login ID", "Section", *lessons],
        ["Points Possible", "", "", "", "", *(f"{points:g}" for points in lessons.values())],
    ]
    for who, by_lesson in marks.items():
        login = "" if who in numbers else spreadsheet_name(who)
        canvas.append([spreadsheet_name(who), numbers.get(who, ""), "", login, "", *map(by_lesson.get, lessons)])
    return {**tables, "canvas.csv": csv_text(canvas)}


def read_ids(folder: Path) -> Ids:
    """Read the LMS ids of students that `collect` saved. Raises LessonError for a malformed file."""
    file = folder / IDS
    try:
        with file.open(encoding="utf-8-sig", newline="") as opened:
            rows = [tuple(map(str.strip, row)) for row in csv.reader(opened) if row]
    except FileNotFoundError:
        return {}
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise LessonError(f"{file} cannot be read: {error}. Mend it, or delete it and collect again.") from error
    if rows[:1] != [IDS_HEAD] or any(len(row) != len(IDS_HEAD) for row in rows):
        raise LessonError(f"{file} is no table of {', '.join(IDS_HEAD)}. Mend it, or delete it and collect again.")
    return {(student, lesson, system): number for student, lesson, system, number in rows[1:]}


def ids_csv(ids: Ids) -> str:
    """The file of these numbers."""
    return csv_text([list(IDS_HEAD), *([*key, number] for key, number in sorted(ids.items()))])
