"""Manual marks in by_hand.csv: for nbgrader's manually graded cells, and to override automatic marks.

A line `student, lesson, part, points, of, reason` with points replaces the part's
automatic mark. Its reason is shown on the student's page.
"""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, NamedTuple

from ..errors import LessonError
from .handed_in import printable_name
from .handout import Notebook

FILE = "by_hand.csv"
HEAD = ("student", "lesson", "part", "points", "of", "reason")
WAITS = "Not marked yet.\n\n"  # prefix of an answer's text until it is marked
MarkKey = tuple[str, str, str]  # student, lesson, part
PointsOfParts = Callable[[str, str], dict[str, float] | None]  # of a student and a lesson; None: no such student


class ManualMark(NamedTuple):
    """A line of the file. points: None where none are given yet."""

    points: float | None
    reason: str
    line: int


def manually_graded_cells(notebook: Notebook) -> dict[str, tuple[float, str]]:
    """The manually graded cells of a notebook: {grade_id: (points, source)}."""
    cells = {}
    for cell in notebook["cells"]:
        metadata = cell.get("metadata", {}).get("nbgrader", {})
        if metadata.get("grade") and (metadata.get("solution") or metadata.get("task")):
            cells[str(metadata["grade_id"])] = float(metadata.get("points", 0)), "".join(cell["source"])
    return cells


def ungraded_answers(cells: dict[str, tuple[float, str]], handed_in: Notebook) -> list[dict[str, Any]]:
    """A student's text in each of these cells, as an answer entry that is not marked yet."""
    student_cells = manually_graded_cells(handed_in)
    return [
        {
            "exercise": name, "passed": False, "points": 0.0, "of": worth, "mistakes": [], "picture": "",
            "by_hand": True,
            "message": WAITS + student_cells[name][1] if name in student_cells else "Not handed in.",
        }
        for name, (worth, _) in cells.items()
    ]  # fmt: skip


def read_marks(folder: Path, points_of_parts: PointsOfParts) -> dict[MarkKey, ManualMark]:
    """Read by_hand.csv: the marks by student, lesson and part.

    points_of_parts(student, lesson): the points of each part; None for an unknown student.
    Raises LessonError, which names the line and the way to mend it.
    """
    file = folder / FILE
    try:
        with file.open(encoding="utf-8-sig", newline="") as stream:
            header_line = next(stream, "")  # spreadsheets may save with semicolons or tabs
            delimiter = max(",;\t", key=header_line.count)
            names = [title.strip() for title in next(csv.reader([header_line], delimiter=delimiter))]
            if not {*HEAD} - {"of"} <= {*names}:
                raise LessonError(f"{file} begins with {header_line.strip()!r}. Its first line is: {','.join(HEAD)}")
            table = csv.DictReader(stream, names, delimiter=delimiter)
            rows: list[tuple[int, dict[str, str]]] = []  # (line of the file, cells by title)
            for record in table:
                line = table.reader.line_num + 1  # the header was read before; empty lines count
                rows.append((line, {name: (record.get(name) or "").strip() for name in HEAD}))
    except FileNotFoundError:
        return {}
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise LessonError(f"{file} cannot be read: {error}. Save it as CSV, in UTF-8, with commas.") from error
    marks: dict[MarkKey, ManualMark] = {}
    for line, row in rows:
        key = row["student"], row["lesson"], row["part"]
        points = _parse_points(f"{file}, line {line}", row, points_of_parts) if row["points"] else None
        if key in marks and points is not None and marks[key].points is not None:
            raise LessonError(f"{file}, line {line}: line {marks[key].line} marks the same. Take out one of them.")
        if points is not None or key not in marks:
            marks[key] = ManualMark(points, row["reason"], line)
    return marks


def _parse_points(where: str, row: dict[str, str], points_of_parts: PointsOfParts) -> float:
    """The points of a line; raises LessonError for a bad number, an unknown student, lesson or part."""
    try:
        points = float(row["points"].replace(",", "."))
    except ValueError:
        points = math.nan
    if not 0 <= points < math.inf:
        hint = "Write a number from 0, or nothing where none is given yet."
        raise LessonError(f"{where}: points are {row['points']!r}. {hint}")
    parts = points_of_parts(row["student"], row["lesson"])
    if parts is None:
        hint = "Write the name of a folder in submitted."
        raise LessonError(f"{where}: there is no student {row['student']!r}. {hint}")
    if not parts:
        raise LessonError(f"{where}: no lesson {row['lesson']!r} gives points. Write its name as course.toml has it.")
    if row["part"] not in parts:
        hint = f"There are: {', '.join(parts)}."
        raise LessonError(f"{where}: {row['lesson']} has no part {row['part']!r} for {row['student']}. {hint}")
    if points > parts[row["part"]]:
        hint = f"Give at most {parts[row['part']]:g}, or more points to the part in course.toml."
        raise LessonError(f"{where}: {points:g} points of {parts[row['part']]:g} for {row['part']}. {hint}")
    return points


def apply_mark(answer: dict[str, Any], mark: ManualMark | None) -> dict[str, Any]:
    """The answer with the mark that a person gave it, if any."""
    if mark is None or mark.points is None:
        return answer
    messages = [mark.reason, answer["message"].removeprefix(WAITS)]
    if not answer.get("by_hand"):
        messages[0] = f"Marked by hand: {mark.points:g} of {answer['of']:g}. {mark.reason}".strip()
    passed = mark.points >= answer["of"]
    changed = {"points": mark.points, "passed": passed, "message": "\n\n".join(filter(None, messages)), "marked": True}
    return {**answer, **changed, **({"mistakes": [], "picture": ""} if passed else {})}


def mark_table_rows(
    results: Iterable[tuple[str, str, list[dict[str, Any]]]], marks: dict[MarkKey, ManualMark]
) -> list[list[Any]]:
    """The rows of by_hand.csv, with the marks given so far: the header and an entry for each; [] if there is none.

    results: (student, lesson, answers) of each.
    """
    rows: dict[MarkKey, list[Any]] = {}
    for student, lesson, answers in results:
        for answer in answers:
            key = student, lesson, answer["exercise"]
            mark = marks.get(key, ManualMark(None, "", 0))
            if answer.get("by_hand") or key in marks:
                points = "" if mark.points is None else f"{mark.points:g}"
                rows[key] = [*key, points, f"{answer['of']:g}", mark.reason]
    for key, mark in marks.items():  # of lessons that nobody has handed in, and notes without points
        rows.setdefault(key, [*key, "" if mark.points is None else f"{mark.points:g}", "", mark.reason])
    return [list(HEAD), *(rows[row] for row in sorted(rows))] if rows else []


def csv_text(rows: Iterable[Iterable[Any]]) -> str:
    """Rows as CSV."""
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(rows)
    return text.getvalue()


def spreadsheet_name(student: str) -> str:
    """The student's name, quoted so that a spreadsheet does not take it for a formula."""
    name = printable_name(student)
    return "'" * (name[0] in "=+-@") + name
