"""Parse course.toml, which a teacher edits (lessons, points of exercises, due dates, limits); make a new one's text."""

from __future__ import annotations

import difflib
import math
import secrets
import tomllib
from collections.abc import Iterable, Mapping
from datetime import date, datetime, time
from hashlib import sha256
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

from ..errors import LessonError
from .custom_exercises import exercise_files, open_course, own_exercise
from .exercise import Exercise
from .exercises import ALL_EXERCISES
from .exercises.tiny import graded_part
from .judging import exercise_named
from .language import check_language
from .notebook import current_number, predictions
from .sandbox import Limits

FILE = "course.toml"
LESSON = """
[lessons.{name}]
# due = 2027-01-31
# late = 0.25  # the share of the points that each day begun after it takes
# extensions = {{ ada = 2027-02-07 }}  # later dates for single students, by the names of their folders
# partial = true  # a wrong answer gets the share of cases in which it is right
{points}"""
Variants = tuple[tuple[str, ...], ...]
PREDICT = "predict "  # begins the name of a prediction: points = { "predict 2.1" = 1 }


class Lesson(NamedTuple):
    """A lesson that is set: its notebook's name, the points of its exercises, and when it is due.

    variants: groups of exercises; each student is set one of a group. extensions: by student another due date.
    late: the share of the points that is lost for each day, or part of a day, after the due date.
    partial: whether a wrong answer gets points for the cases in which it is right.
    """

    name: str
    points: dict[str, float]
    due: datetime | None = None
    late: float = 0.0
    variants: Variants = ()
    extensions: Mapping[str, datetime] = MappingProxyType({})
    partial: bool = False

    def exercises(self, seed: str) -> list[str]:
        """The exercises that are set to the student with this seed: variants are chosen by it."""
        chosen = []
        for group in self.variants:
            draw_hash = sha256(f"{seed} {' '.join(group)}".encode(errors="surrogateescape")).hexdigest()
            chosen.append(group[int(draw_hash, 16) % len(group)])
        others = {name for group in self.variants for name in group}.difference(chosen)
        return [name for name in self.points if not name.startswith(PREDICT) and name not in others]

    @property
    def predictions(self) -> list[str]:
        return [name for name in self.points if name.startswith(PREDICT)]


class Course(NamedTuple):
    """A course: its folder, and the contents of its course.toml."""

    folder: Path
    lessons: dict[str, Lesson]
    limits: Limits
    assessed: bool = False
    seed: str = ""
    language: str = ""

    def student_seed(self, student: str) -> str:
        """A student's secret seed: a hash of the seed in the course file and the student's name."""
        text = f"{self.seed} {student}".encode(errors="surrogateescape")
        return sha256(text).hexdigest()

    def exercise(self, name: str, student: str) -> Exercise:
        """An exercise for a student; a lecturer's exercise with random cases has cases of the student's own as well."""
        if tiny_part := graded_part(name):
            return tiny_part
        exercise = exercise_named(name)
        return own_exercise(exercise_files()[name], self.student_seed(student)) if exercise.own_texts else exercise

    def source(self, lesson: str) -> Path:
        """The teacher's notebook of a lesson."""
        return self.folder / "source" / lesson / f"{lesson}.ipynb"


def course_text(lessons: Iterable[tuple[str, list[str]]], assessed: bool = False) -> str:
    """A course file for lessons and their exercises, a point each."""
    head = Path(__file__).with_name("new_course.txt").read_text(encoding="utf-8")
    parts = [head.format(assessed=str(assessed).lower(), seed=secrets.token_hex(8))]
    for name, exercises in lessons:
        points = ", ".join(f"{exercise} = 1" for exercise in exercises)
        parts.append(LESSON.format(name=name, points=f"points = {{ {points} }}\n" if points else ""))
    return "".join(parts)


def read_course(folder: Path) -> Course:
    """Parse the course file in a folder; from now on the course's own exercises are found. Raises LessonError."""
    file = folder / FILE
    try:
        table = tomllib.loads(file.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise LessonError(f"There is no {file}. Make a course there first: naive-graph class new {folder}") from None
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise LessonError(f"{file} cannot be read: {error}. Mend that place.") from None
    open_course(folder)
    _check_names(file, table, ("assessed", "seed", "language", "limits", "lessons"), "the file")
    assessed, language = _parse_bool(file, table, "assessed"), str(table.get("language", ""))
    if language:
        check_language(language)
    lessons = _subtable(file, table, "lessons", "the file")
    set_lessons = {name: _parse_lesson(file, lessons, name) for name in lessons}
    return Course(folder, set_lessons, _parse_limits(file, table), assessed, str(table.get("seed", "")), language)


def _parse_lesson(file: Path, lessons: dict[str, Any], name: str) -> Lesson:
    table = _subtable(file, lessons, name, "lessons")
    _check_names(file, table, ("due", "late", "points", "variants", "extensions", "partial"), name)
    late = _parse_number(file, table, "late", name, least=0) if "late" in table else 0.0
    points = {_with_current_number(entry): worth for entry, worth in _subtable(file, table, "points", name).items()}
    # The last exercise, tiny_library, is no part of tiny.py that a class can be graded on.
    exercises = [*(exercise.name for exercise in ALL_EXERCISES[:-1]), *exercise_files()]
    _check_names(file, points, [*exercises, *(PREDICT + prediction for prediction in predictions())], f"{name}.points")
    worth = {point: _parse_number(file, points, point, f"{name}.points", least=0) for point in points}
    due_dates = _subtable(file, table, "extensions", name)
    extensions = {student: _parse_due(file, due_dates, student) for student in due_dates}
    due, partial = _parse_due(file, table, "due", f" of {name}"), _parse_bool(file, table, "partial")
    variants = _parse_variants(file, table, name, worth)
    return Lesson(name, worth, due, late, variants, {who: day for who, day in extensions.items() if day}, partial)


def _with_current_number(entry: str) -> str:
    """An entry of `points`, with a prediction's number updated to the current numbering."""
    return PREDICT + current_number(entry.removeprefix(PREDICT)) if entry.startswith(PREDICT) else entry


def _parse_variants(file: Path, table: dict[str, Any], where: str, worth: dict[str, float]) -> Variants:
    groups = table.get("variants", [])
    are_lists = isinstance(groups, list) and all(isinstance(group, list) for group in groups)
    worths = [{worth.get(str(name)) for name in group} for group in groups] if are_lists else [set()]
    if any(len(group_worths) != 1 or None in group_worths for group_worths in worths):
        hint = 'Write groups of exercises that are worth the same: variants = [["kahn", "depends_on"]]'
        raise LessonError(f"{file}: variants in {where} is {groups!r}. {hint}")
    return tuple(tuple(group) for group in groups)


def _parse_limits(file: Path, table: dict[str, Any]) -> Limits:
    limits = _subtable(file, table, "limits", "the file")
    _check_names(file, limits, ("seconds", "megabytes"), "limits")
    options: dict[str, Any] = {limit: int(_parse_number(file, limits, limit, "limits", least=1)) for limit in limits}
    return Limits(**options)


def _parse_due(file: Path, table: dict[str, Any], entry: str, where: str = "") -> datetime | None:
    due = table.get(entry)
    if isinstance(due, date) and not isinstance(due, datetime):
        due = datetime.combine(due, time.max)  # to the end of the day
    if due is not None and not isinstance(due, datetime):
        hint = f"Write it without quotes: {entry} = 2027-01-31"
        raise LessonError(f"{file}: {entry}{where} is {due!r}, no date. {hint}")
    return due.astimezone() if due else None


def _parse_bool(file: Path, table: dict[str, Any], name: str) -> bool:
    switch = table.get(name, False)
    if not isinstance(switch, bool):
        raise LessonError(f"{file}: {name} is {switch!r}. Write {name} = true, or false.")
    return switch


def _parse_number(file: Path, table: dict[str, Any], name: str, where: str, least: float) -> float:
    number = table[name]
    if isinstance(number, bool) or not isinstance(number, (int, float)) or not least <= number < math.inf:
        raise LessonError(f"{file}: {name} in {where} is {number!r}. Write a number from {least}: {name} = 1")
    return float(number)


def _subtable(file: Path, table: dict[str, Any], name: str, where: str) -> dict[str, Any]:
    part = table.get(name, {})
    if not isinstance(part, dict):
        raise LessonError(f"{file}: {name} in {where} is {part!r}. Make it a table: its entries go below [{name}].")
    return part


def _check_names(file: Path, table: dict[str, Any], names: Iterable[str], where: str) -> None:
    """Raise LessonError for an entry that means nothing."""
    allowed = list(names)
    for name in table:
        if name not in allowed:
            suggestions = difflib.get_close_matches(name, allowed, 1)
            hint = f"Did you mean {suggestions[0]!r}?" if suggestions else f"There are: {', '.join(allowed)}."
            raise LessonError(f"{file}: {where} has an entry {name!r}, which means nothing. {hint}")
